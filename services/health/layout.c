/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/net/frame.h"
#include "proto/health/onem2m.h"
#include "proto/health/phd_names.h"
#include "services/health/decode.h"
#include "services/health/source.h"
#include "services/health/token.h"
#include "shm/hash.h"

/* ---- requests ---- */

/* A create request for instances, from the first CoAP option up to the value. */
struct bp_phd_request {
	uint8_t head[1536];
	uint16_t len;
	uint16_t patch[BP_PHD_PATCHES]; /* offsets of the system-id in head, in bytes */
	uint8_t patches;                /* their number */
	uint16_t rqi, rn;               /* the request id, and the name; 0: it has none */
};

/*
 * A field that is patched later is rendered as a run of one of these characters, which also locates
 * it in the output of the CoAP writer. No text of the configuration can contain them, and no option
 * header is that long.
 */
#define MARK_SYSTEM_ID '\1'
#define MARK_RQI '\2'
#define MARK_RN '\3'

#define RENDERED_MAX 512

static bool has_control_character(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	}
	return false;
}

struct placeholder {
	const char *text, *value;
};
#define PLACEHOLDERS 3

/* Replaces the placeholders of `template`. Returns 0, or -1 with an error message in err. */
static int render_template(char out[RENDERED_MAX], const char *template,
	const struct placeholder known[PLACEHOLDERS], char *err, size_t err_size)
{
	size_t n = 0;

	for (const char *p = template; *p != '\0';) {
		const char one[2] = {*p, '\0'}, *value = one;
		size_t taken = 1, len;

		if (*p == '{' || *p == '}') {
			unsigned i = 0;

			while (i < PLACEHOLDERS &&
				strncmp(p, known[i].text, strlen(known[i].text)) != 0)
				i++;
			if (i == PLACEHOLDERS) {
				snprintf(err, err_size,
					"unknown placeholder, expected {system_id}, {type} or "
					"{object}: "
					"'%.64s'",
					template);
				return -1;
			}
			taken = strlen(known[i].text);
			value = known[i].value;
		}
		len = strlen(value);
		if (len >= RENDERED_MAX - n) {
			snprintf(err, err_size, "longer than %d bytes when rendered: '%.64s'",
				RENDERED_MAX - 1, template);
			return -1;
		}
		memcpy(out + n, value, len);
		n += len;
		p += taken;
	}
	out[n] = '\0';
	return 0;
}

/* Writes the body up to the value; services/health/decode.c writes the rest. */
static size_t render_body(char *out, size_t size, const struct bp_phd_settings *plan)
{
	char mark[BP_PHD_RN_TEXT + 1] = "", rn[sizeof("\"rn\":\"\",") + BP_PHD_RN_TEXT] = "";

	memset(mark, MARK_RN, BP_PHD_RN_TEXT);
	if (plan->named != 0)
		snprintf(rn, sizeof(rn), "\"rn\":\"%s\",", mark);
	return (size_t)snprintf(out, size,
		"{\"m2m:cin\":{\"cnf\":\"application/json:0\",%s\"con\":\"%s", rn,
		plan->per_report != 0 ? "[" : "{\\\"v\\\":");
}

/* Finds the runs of `run` bytes `mark` in head[0..len) and writes at most `max` offsets to at[].
 * Returns their number. */
static unsigned find_marks(
	const uint8_t *head, size_t len, char mark, size_t run, uint16_t *at, unsigned max)
{
	unsigned found = 0;
	size_t same = 0;

	for (size_t i = 0; i < len; i++) {
		same = head[i] == (uint8_t)mark ? same + 1 : 0;
		if (same != run)
			continue;
		if (found < max)
			at[found] = (uint16_t)(i + 1 - run);
		found++;
		same = 0;
	}
	return found;
}

/* Writes the options and the body of the request to out->head. False: the path is invalid. */
static bool render_message(
	struct bp_phd_request *out, enum bp_m2m_release release, const struct bp_m2m_request *q)
{
	static const uint8_t token[BP_PHD_TOKEN_LEN];
	const size_t before = BP_COAP_HEADER_LEN + BP_PHD_TOKEN_LEN;
	uint8_t message[BP_COAP_HEADER_LEN + BP_PHD_TOKEN_LEN + sizeof(out->head)];
	struct bp_coap_writer w;
	size_t len;

	bp_coap_begin(&w, message, sizeof(message), BP_COAP_CON, BP_COAP_POST, 0, token,
		BP_PHD_TOKEN_LEN);
	len = bp_m2m_create(&w, message, release, q);
	if (len == 0)
		return false;
	out->len = (uint16_t)(len - before);
	memcpy(out->head, message + before, out->len);
	return true;
}

/* `object` replaces {object}, `type` replaces {type}. Returns 0, or -1 with an error message in
 * err. */
static int bp_phd_request_render(struct bp_phd_request *out, const struct bp_phd_settings *plan,
	const struct bp_phd_target *target, const char *type, const char *object, char *err,
	size_t err_size)
{
	char system_id[BP_PHD_SYSTEM_ID_TEXT + 1] = "", rqi[BP_PHD_RQI_TEXT + 1] = "";
	char path[RENDERED_MAX], fr[RENDERED_MAX], body[256];
	const struct placeholder known[PLACEHOLDERS] = {
		{"{system_id}", system_id}, {"{type}", type}, {"{object}", object}};
	const struct bp_m2m_request q = {.ty = BP_M2M_CIN,
		.path = path,
		.query = "rcn=0",
		.fr = fr,
		.rqi = rqi,
		.body = body,
		.body_len = render_body(body, sizeof(body), plan)};
	unsigned n;

	memset(system_id, MARK_SYSTEM_ID, BP_PHD_SYSTEM_ID_TEXT);
	memset(rqi, MARK_RQI, BP_PHD_RQI_TEXT);
	if (has_control_character(target->path) || has_control_character(target->originator) ||
		has_control_character(type)) {
		snprintf(err, err_size, "path, originator and type have no control characters");
		return -1;
	}
	if (render_template(path, target->path, known, err, err_size) != 0 ||
		render_template(fr, target->originator, known, err, err_size) != 0)
		return -1;
	if (plan->release >= BP_M2M_RELEASES ||
		!render_message(out, (enum bp_m2m_release)plan->release, &q)) {
		snprintf(err, err_size, "no request can be made: path '%.64s', originator '%.64s'",
			target->path, target->originator);
		return -1;
	}
	n = find_marks(out->head, out->len, MARK_SYSTEM_ID, BP_PHD_SYSTEM_ID_TEXT, out->patch,
		BP_PHD_PATCHES);
	if (n > BP_PHD_PATCHES) {
		snprintf(err, err_size, "path and originator have {system_id} more than %u times",
			BP_PHD_PATCHES);
		return -1;
	}
	out->patches = (uint8_t)n;
	out->rqi = out->rn = 0;
	find_marks(out->head, out->len, MARK_RQI, BP_PHD_RQI_TEXT, &out->rqi, 1);
	find_marks(out->head, out->len, MARK_RN, BP_PHD_RN_TEXT, &out->rn, 1);
	return 0;
}

#define NAME_SIZE 48

struct compiler {
	struct bp_phd_layout *out;
	const struct bp_phd_model *m;
	const struct bp_phd_settings *plan;
	const struct bp_phd_target *target;
	const char *type;
	size_t text; /* bytes of text[] that are in use */
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

uint64_t bp_phd_target_hash(const struct bp_phd_settings *plan, const struct bp_phd_target *t)
{
	static const uint64_t key[2] = {0x7068642d74617267ull, 0x65742d6861736821ull};
	const uint64_t fixed = plan->release | (uint64_t)(plan->per_report != 0) << 8 |
			       (uint64_t)(plan->named != 0) << 16;

	return bp_fold(bp_hash_bytes(key, t->path, strlen(t->path)) ^ fixed,
		bp_hash_bytes(key, t->originator, strlen(t->originator)) ^ key[0]);
}

/* Adds n bytes to text[]. Returns their offset, or -1 with an error message. */
static int add_text(struct compiler *c, const void *bytes, size_t n)
{
	const size_t at = c->text;

	if (n > BP_PHD_TEXT_MAX - at)
		return fault(c, "its requests exceed %zu bytes", (size_t)BP_PHD_TEXT_MAX);
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

/* Evaluates one attribute of the map, which is at offset `at`. */
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
		return fault(c, "handle %u: attribute %u cannot have %u bytes", o->handle, m->attr,
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

/* The text after the value: ,"u":"%","t": escaped for a JSON string, and the text that follows
 * without a time. */
static int compile_unit(struct compiler *c, uint16_t unit, struct bp_phd_object *o)
{
	char text[BP_PHD_UNIT_TEXT_MAX + sizeof(BP_PHD_NO_TIME)];

	memcpy(text + bp_phd_unit_text(unit, text), BP_PHD_NO_TIME, sizeof(BP_PHD_NO_TIME));
	if (add_piece(c, &o->unit, &o->unit_len, text) != 0)
		return -1;
	o->unit_len = (uint16_t)(o->unit_len - BP_PHD_NO_TIME_LEN);
	return 0;
}

/* The name of the object, as between the begin of a list member and its value. */
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

/* ,"n":["sys","dia","mean"] likewise; empty if the number of names differs from the number of
 * values. */
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

/* Its part of the checksum, without the fields that are patched later. */
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
	const struct bp_phd_settings *plan, const struct bp_phd_target *target, const char *type,
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
		return fault(&c, "none of its objects has a known value");
	out->size = (uint16_t)(sizeof(*out) + c.text);
	return 0;
}

static bool inside(size_t at, size_t len, size_t size)
{
	return at <= size && len <= size - at;
}

/* Size of a value in a fixed report, in bytes; for a kind without one: more than the maximum. */
static size_t value_bytes(const struct bp_phd_object *o)
{
	switch (o->value) {
	case BP_PHD_VALUE_NONE:
		return 0;
	case BP_PHD_VALUE_SFLOAT:
	case BP_PHD_VALUE_BITS16:
	case BP_PHD_VALUE_OID:
		return 2;
	case BP_PHD_VALUE_FLOAT:
	case BP_PHD_VALUE_BITS32:
		return 4;
	case BP_PHD_VALUE_COMPOUND_SFLOAT:
		return BP_PHD_COMPOUND_HEAD + 2u * o->value_n;
	case BP_PHD_VALUE_COMPOUND_FLOAT:
		return BP_PHD_COMPOUND_HEAD + 4u * o->value_n;
	default:
		return SIZE_MAX;
	}
}

static size_t time_bytes(const struct bp_phd_object *o)
{
	switch (o->time) {
	case BP_PHD_TIME_NONE:
		return 0;
	case BP_PHD_TIME_ABSOLUTE:
	case BP_PHD_TIME_BASE_OFFSET:
		return 8;
	case BP_PHD_TIME_RELATIVE:
		return 4;
	default:
		return SIZE_MAX;
	}
}

/* All fields that are read are inside the observation. */
static bool map_valid(const struct bp_phd_object *o)
{
	return inside(o->value_at, value_bytes(o), o->fixed_len) &&
	       inside(o->time_at, time_bytes(o), o->fixed_len) &&
	       (o->status_at == BP_PHD_NOT_THERE || inside(o->status_at, 2, o->fixed_len));
}

/* All copied fields are inside the text, all patched fields inside the request. */
static bool text_valid(const struct bp_phd_object *o, size_t text)
{
	if (!inside(o->head, o->head_len, text) ||
		!inside(o->unit, o->unit_len + BP_PHD_NO_TIME_LEN, text) ||
		o->name < BP_PHD_BEFORE_NAME ||
		!inside(o->name, o->name_len + BP_PHD_BEHIND_NAME, text) ||
		!inside(o->ids, o->ids_len, text))
		return false;
	if (o->patches > BP_PHD_PATCHES || !inside(o->rqi, BP_PHD_RQI_TEXT, o->head_len) ||
		(o->rn != 0 && !inside(o->rn, BP_PHD_RN_TEXT, o->head_len)))
		return false;
	for (unsigned i = 0; i < o->patches; i++) {
		if (!inside(o->patch[i], BP_PHD_SYSTEM_ID_TEXT, o->head_len))
			return false;
	}
	return true;
}

bool bp_phd_layout_valid(const struct bp_phd_layout *l)
{
	if (l->n > BP_PHD_OBJECTS_MAX || l->size < sizeof(*l) ||
		l->size > sizeof(*l) + BP_PHD_TEXT_MAX)
		return false;
	for (unsigned i = 0; i < l->n; i++) {
		const struct bp_phd_object *o = &l->object[i];

		if (o->handle != l->handle[i] || !map_valid(o) ||
			!text_valid(o, l->size - sizeof(*l)) ||
			o->bound != bp_phd_render_bound_fixed(o))
			return false;
	}
	return true;
}
