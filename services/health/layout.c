/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "services/health/reading.h"
#include "services/health/render.h"
#include "services/health/request.h"
#include "services/health/source.h"
#include "proto/frame.h"
#include "proto/phd_names.h"
#include "shm/hash.h"

#define NAME_SIZE 48

struct compiler {
	struct bp_phd_layout *out;
	const struct bp_phd_model *m;
	const struct bp_phd_plan *plan;
	const struct bp_phd_target *target;
	const char *type;
	size_t text; /* octets of text[] that are in use */
	char *err;
	size_t err_size;
	struct bp_phd_request request;
	char name[BP_PHD_OBJECTS_MAX][NAME_SIZE];
};

__attribute__((format(printf, 2, 3))) static int fault(struct compiler *c, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(c->err, c->err_size, format, ap);
	va_end(ap);
	return -1;
}

uint64_t bp_phd_target_hash(const struct bp_phd_plan *plan, const struct bp_phd_target *t)
{
	static const uint64_t key[2] = {0x7068642d74617267ull, 0x65742d6861736821ull};
	const uint64_t fixed = plan->release | (uint64_t)(plan->per_report != 0) << 8 |
			       (uint64_t)(plan->named != 0) << 16;

	return bp_fold(bp_hash_bytes(key, t->path, strlen(t->path)) ^ fixed,
		bp_hash_bytes(key, t->originator, strlen(t->originator)) ^ key[0]);
}

/* Adds n octets to text[]. Returns where they are, or -1 with the sentence. */
static int add_text(struct compiler *c, const void *bytes, size_t n)
{
	const size_t at = c->text;

	if (n > BP_PHD_TEXT_MAX - at)
		return fault(c, "its requests take more than %zu octets", (size_t)BP_PHD_TEXT_MAX);
	memcpy(c->out->text + at, bytes, n);
	c->text += n;
	return (int)at;
}

static int add_piece(struct compiler *c, uint16_t *at, uint16_t *len, const char *text)
{
	const size_t n = strlen(text);
	const int where = add_text(c, text, n);

	if (where < 0)
		return -1;
	*at = (uint16_t)where;
	*len = (uint16_t)n;
	return 0;
}

/* ---- names ---- */

/* The name of a type, or its numbers in `buffer`. */
static const char *type_name(uint16_t partition, uint16_t code, char buffer[NAME_SIZE])
{
	const char *name = bp_phd_object_name(partition, code);

	if (name != NULL && strlen(name) + sizeof("-65535") <= NAME_SIZE)
		return name;
	snprintf(buffer, NAME_SIZE, "%u-%u", partition, code);
	return buffer;
}

static bool has_namesake(const struct bp_phd_model *m, unsigned i, const char *name)
{
	char buffer[NAME_SIZE];

	for (unsigned k = 0; k < m->n; k++) {
		if (k != i && strcmp(name, type_name(m->object[k].partition, m->object[k].code,
						   buffer)) == 0)
			return true;
	}
	return false;
}

static void name_objects(struct compiler *c)
{
	for (unsigned i = 0; i < c->m->n; i++) {
		const struct bp_phd_object_model *o = &c->m->object[i];
		char buffer[NAME_SIZE];
		const char *name = type_name(o->partition, o->code, buffer);

		if (has_namesake(c->m, i, name))
			snprintf(c->name[i], NAME_SIZE, "%.40s-%u", name, o->handle);
		else
			snprintf(c->name[i], NAME_SIZE, "%s", name);
	}
}

/* ---- one object ---- */

/* Takes in one attribute of the map, which lies at octet `at`. */
static int map_attribute(
	struct compiler *c, const struct bp_phd_attr_map *m, size_t at, struct bp_phd_object *o)
{
	const struct bp_phd_known *k = bp_phd_known(m->attr);
	unsigned n = 0;

	if (k == NULL)
		return 0;
	if (bp_phd_is_compound(k->value) && m->len >= BP_PHD_COMPOUND_HEAD)
		n = (m->len - BP_PHD_COMPOUND_HEAD) / k->len;
	if (m->len != (bp_phd_is_compound(k->value) ? BP_PHD_COMPOUND_HEAD + n * k->len : k->len))
		return fault(c, "handle %u: attribute %u can't have %u octets", o->handle, m->attr,
			m->len);
	if (at + m->len >= BP_PHD_NOT_THERE)
		return fault(c, "handle %u: its reports are too long", o->handle);
	if (k->value != BP_PHD_VALUE_NONE && o->value == BP_PHD_VALUE_NONE) {
		o->value = k->value;
		o->value_at = (uint8_t)at;
		o->value_n = (uint8_t)n;
	}
	if (k->time != BP_PHD_TIME_NONE && o->time == BP_PHD_TIME_NONE) {
		o->time = k->time;
		o->time_at = (uint8_t)at;
	}
	if (m->attr == BP_PHD_ATTR_STATUS)
		o->status_at = (uint8_t)at;
	return 0;
}

static int compile_map(
	struct compiler *c, const struct bp_phd_object_model *m, struct bp_phd_object *o)
{
	size_t at = 0;

	o->value = BP_PHD_VALUE_NONE;
	o->time = BP_PHD_TIME_NONE;
	o->status_at = BP_PHD_NOT_THERE;
	for (unsigned i = 0; i < m->n_map; i++) {
		if (map_attribute(c, &m->map[i], at, o) != 0)
			return -1;
		at += m->map[i].len;
	}
	if (at > UINT16_MAX)
		return fault(c, "handle %u: its reports are too long", o->handle);
	o->fixed_len = (uint16_t)at;
	return 0;
}

/* What follows the value: ,"u":"%","t": as it stands in a JSON string, and what follows that where
 * there is no time. */
static int compile_unit(struct compiler *c, uint16_t unit, struct bp_phd_object *o)
{
	char text[BP_PHD_UNIT_TEXT_MAX + sizeof(BP_PHD_NO_TIME)];

	memcpy(text + bp_phd_unit_text(unit, text), BP_PHD_NO_TIME, sizeof(BP_PHD_NO_TIME));
	if (add_piece(c, &o->unit, &o->unit_len, text) != 0)
		return -1;
	o->unit_len = (uint16_t)(o->unit_len - BP_PHD_NO_TIME_LEN);
	return 0;
}

/* The name of the object, as it stands between what begins a member of a list and its value. */
static int compile_name(struct compiler *c, const char *name, struct bp_phd_object *o)
{
	char text[BP_PHD_BEFORE_NAME + NAME_SIZE + BP_PHD_BEHIND_NAME];

	snprintf(text, sizeof(text), "," BP_PHD_MEMBER_BEGIN "%s" BP_PHD_MEMBER_MIDDLE, name);
	if (add_piece(c, &o->name, &o->name_len, text) != 0)
		return -1;
	o->name = (uint16_t)(o->name + BP_PHD_BEFORE_NAME);
	o->name_len = (uint16_t)strlen(name);
	return 0;
}

/* ,"n":["sys","dia","mean"] likewise; nothing where the names are not as many as the numbers. */
static int compile_ids(
	struct compiler *c, const struct bp_phd_object_model *m, struct bp_phd_object *o)
{
	char text[BP_PHD_IDS_MAX * (NAME_SIZE + 8) + 16] = "", buffer[NAME_SIZE];
	size_t n = 0;

	if (!bp_phd_is_compound(o->value))
		o->value_n = (uint8_t)m->n_ids; /* of a variable report's compound */
	if (o->value_n != m->n_ids || m->n_ids == 0)
		return 0;
	for (unsigned i = 0; i < m->n_ids; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\\\"%s\\\"",
			i == 0 ? ",\\\"n\\\":[" : ",", type_name(m->partition, m->ids[i], buffer));
	snprintf(text + n, sizeof(text) - n, "]");
	return add_piece(c, &o->ids, &o->ids_len, text);
}

/* What a checksum needs of it; what is patched is not known yet. */
static uint16_t head_sum(const struct bp_phd_request *r)
{
	uint8_t head[sizeof(r->head)];

	memcpy(head, r->head, r->len);
	for (unsigned i = 0; i < r->patches; i++)
		memset(head + r->patch[i], 0, BP_PHD_SYSTEM_ID_TEXT);
	memset(head + r->rqi, 0, BP_PHD_RQI_TEXT);
	if (r->rn != 0)
		memset(head + r->rn, 0, BP_PHD_RN_TEXT);
	return bp_sum_fold(bp_sum(head, r->len, 0));
}

/* The request of object i; with one instance a report all have the same one. */
static int compile_head(struct compiler *c, unsigned i, struct bp_phd_object *o)
{
	const struct bp_phd_object *first = &c->out->object[0];
	const struct bp_phd_request *r = &c->request;
	const bool shared = c->plan->per_report != 0;
	int at = first->head;

	if (!shared || i == 0) {
		if (bp_phd_request_render(&c->request, c->plan, c->target, c->type,
			    shared ? BP_PHD_REPORT_NAME : c->name[i], c->err, c->err_size) != 0)
			return -1;
		at = add_text(c, r->head, r->len);
		if (at < 0)
			return -1;
	}
	o->head = (uint16_t)at;
	o->head_len = r->len;
	o->patches = r->patches;
	memcpy(o->patch, r->patch, sizeof(o->patch));
	o->rqi = r->rqi;
	o->rn = r->rn;
	o->head_sum = head_sum(r);
	return 0;
}

static int compile_object(struct compiler *c, unsigned i)
{
	const struct bp_phd_object_model *m = &c->m->object[i];
	struct bp_phd_object *o = &c->out->object[i];

	c->out->handle[i] = o->handle = m->handle;
	if (compile_map(c, m, o) != 0 || compile_head(c, i, o) != 0 ||
		compile_name(c, c->name[i], o) != 0 || compile_unit(c, m->unit, o) != 0 ||
		compile_ids(c, m, o) != 0)
		return -1;
	o->bound = (uint16_t)bp_phd_render_bound_fixed(o); /* one line of text and 255 numbers */
	return 0;
}

/* An object without a map has its values in variable reports. */
static bool has_value(const struct bp_phd_layout *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->object[i].fixed_len == 0 || l->object[i].value != BP_PHD_VALUE_NONE)
			return true;
	}
	return false;
}

int bp_phd_layout_compile(struct bp_phd_layout *out, const struct bp_phd_model *m,
	const struct bp_phd_plan *plan, const struct bp_phd_target *target, const char *type,
	char *err, size_t err_size)
{
	struct compiler c = {.out = out,
		.m = m,
		.plan = plan,
		.target = target,
		.type = type,
		.err = err,
		.err_size = err_size};

	if (m->n > BP_PHD_OBJECTS_MAX)
		return fault(&c, "it has %u objects", m->n);
	out->content = m->content;
	out->plan = plan->hash;
	out->config_id = m->config_id;
	out->spec = bp_phd_spec_of_standard(m->config_id);
	out->n = m->n;
	name_objects(&c);
	for (unsigned i = 0; i < m->n; i++) {
		if (compile_object(&c, i) != 0)
			return -1;
	}
	if (!has_value(out))
		return fault(&c, "no object of it has a value that is known");
	out->size = (uint16_t)(sizeof(*out) + c.text);
	return 0;
}
