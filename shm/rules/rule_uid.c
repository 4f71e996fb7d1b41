/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/rule_uid.h"

#include <stddef.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/combination.h"

/* Each field is hashed with the result of the fields before it as its key: 128 bits are carried,
 * 64 are returned. */
struct sum {
	uint64_t h[2];
};

static void sum_init(struct sum *s)
{
	s->h[0] = 0x6c62272e07bb0142ull;
	s->h[1] = 0x62b821756295c58dull;
}

static void add_bytes(struct sum *s, const void *p, uint64_t len)
{
	const uint64_t h = bp_hash_bytes(s->h, p, len);

	s->h[1] = bp_mix64(s->h[1] + s->h[0]);
	s->h[0] = h;
}

static void add_number(struct sum *s, uint64_t v)
{
	const uint64_t le = htole64(v);

	add_bytes(s, &le, sizeof(le));
}

/* With its length first, so that the boundary between two adjacent strings is unambiguous. */
static void add_string(struct sum *s, const char *text, uint64_t max)
{
	const uint64_t len = strnlen(text, max);

	add_number(s, len);
	add_bytes(s, text, len);
}

static void add_double(struct sum *s, double d)
{
	uint64_t v;

	d += 0.0; /* -0 is 0 */
	memcpy(&v, &d, sizeof(v));
	add_number(s, v);
}

static void add_condition(struct sum *s, const struct bp_condition *c)
{
	add_number(s, c->op);
	add_double(s, c->a);
	if (c->op == BP_COND_INSIDE || c->op == BP_COND_OUTSIDE)
		add_double(s, c->b);
}

static void add_window(struct sum *s, const struct bp_window_spec *w)
{
	add_string(s, "window", sizeof("window"));
	add_number(s, w->function);
	add_number(s, w->tumbling);
	add_number(s, w->values);
	if (w->values == 0)
		add_number(s, w->time_ns);
	if (w->function == BP_WINDOW_PERCENTILE)
		add_double(s, w->percentile);
}

/* Never 0. */
static uint64_t sum_result(const struct sum *s)
{
	const uint64_t v = bp_mix64(s->h[0] ^ s->h[1]);

	return v ? v : 1;
}

uint64_t bp_stable_hash(const void *p, uint64_t len)
{
	struct sum s;

	sum_init(&s);
	add_bytes(&s, p, len);
	return sum_result(&s);
}

static void sparkplug_canonical(struct bp_value_source *out, const struct bp_value_source *in)
{
	struct bp_sparkplug_source *s = &out->sparkplug;
	const struct bp_sparkplug_names *names = &in->names;

	s->what = in->sparkplug.what;
	if (s->what == BP_SPARKPLUG_ONLINE)
		return;
	s->historical = in->sparkplug.historical != 0;
	s->has_death = in->sparkplug.has_death;
	s->death = s->has_death ? in->sparkplug.death + 0.0 : 0.0; /* -0 is 0 */
	s->name_len = (uint8_t)strnlen(names->metric, BP_SPARKPLUG_NAME_MAX);
	memcpy(out->names.metric, names->metric, s->name_len);
	memcpy(out->names.member, names->member, strnlen(names->member, BP_SPARKPLUG_MEMBER_MAX));
	s->key = bp_stable_hash(names->metric, s->name_len);
}

void bp_value_source_canonical(struct bp_value_source *out, const struct bp_value_source *in)
{
	memset(out, 0, sizeof(*out));
	out->kind = in->kind;
	if (in->kind == BP_VALUE_BINARY) {
		out->binary.offset = in->binary.offset;
		out->binary.type = in->binary.type;
		out->binary.little_endian = in->binary.little_endian;
	} else if (bp_value_has_path(in)) {
		memcpy(&out->json, &in->json, sizeof(out->json));
	} else if (in->kind == BP_VALUE_SPARKPLUG) {
		sparkplug_canonical(out, in);
	}
	out->type = in->type;
	out->match = bp_value_has_elements(in) ? in->match : 0;
	if (in->scaled) {
		out->scaled = 1;
		out->scale = in->scale;
		out->offset = in->offset + 0.0; /* -0 is 0 */
	}
	out->extended = out->type != BP_VALUE_NUMBER || bp_value_has_elements(in) ||
			out->scaled != 0 || in->kind == BP_VALUE_CBOR ||
			in->kind == BP_VALUE_MSGPACK;
}

/* The members of all sources, as when there were no others: the uids of their rules remain. */
struct plain_source {
	uint32_t kind;
	struct bp_binary_source binary;
	struct bp_json_path json;
};

static void add_source(struct sum *s, const struct bp_rule_spec *r)
{
	struct bp_value_source source;
	struct plain_source plain;
	bool extended;

	bp_value_source_canonical(&source, &r->value);
	extended = source.extended;
	source.extended = 0; /* it follows from the others */
	if (source.kind == BP_VALUE_SPARKPLUG) {
		add_bytes(s, &source, offsetof(struct bp_value_source, type));
	} else {
		memset(&plain, 0, sizeof(plain));
		plain.kind = source.kind;
		plain.binary = source.binary;
		memcpy(&plain.json, &source.json, sizeof(plain.json));
		add_bytes(s, &plain, sizeof(plain));
	}
	if (!extended)
		return;
	add_number(s, source.type);
	add_number(s, source.match);
	add_number(s, source.scaled);
	add_double(s, source.scale);
	add_double(s, source.offset);
	for (uint32_t i = 0; source.type == BP_VALUE_STRING && i < r->strings.n; i++)
		add_string(s, r->strings.text[i], sizeof(r->strings.text[i]));
}

static void add_combination(struct sum *s, const struct bp_combination_spec *c)
{
	add_number(s, c->program.len);
	add_bytes(s, c->program.step, c->program.len);
	for (unsigned i = 0; i < c->n_parts; i++) {
		add_number(s, bp_rule_uid(&c->part[i]));
		add_number(s, c->part[i].max_age_ns);
	}
}

uint64_t bp_part_uid(uint64_t combination, unsigned part)
{
	return bp_mix64(combination + part + 1) | 1;
}

uint64_t bp_rule_uid(const struct bp_rule_spec *r)
{
	struct sum s;

	sum_init(&s);
	add_string(&s, r->name, sizeof(r->name));
	add_string(&s, r->filter, sizeof(r->filter));
	add_source(&s, r);
	if (r->window.given)
		add_window(&s, &r->window);
	add_condition(&s, &r->raise);
	add_number(&s, r->has_clear);
	if (r->has_clear)
		add_condition(&s, &r->clear);
	add_number(&s, r->hold);
	if (r->hold == BP_HOLD_COUNT)
		add_number(&s, r->hold_count);
	if (r->hold == BP_HOLD_TIME)
		add_number(&s, r->hold_ns);
	add_number(&s, r->repeat);
	if (r->quiet_ns != 0 || r->deadband != 0) { /* as before they existed */
		add_number(&s, r->quiet_ns);
		add_double(&s, r->deadband);
	}
	add_number(&s, r->action);
	add_number(&s, r->payload);
	if (r->destination != BP_DESTINATION_MQTT) /* the default, as before there were others */
		add_number(&s, r->destination);
	add_string(&s, r->to, sizeof(r->to));
	if (r->absent_ns != 0) {
		add_string(&s, "absent", sizeof("absent"));
		add_number(&s, r->absent_ns);
	}
	if (r->combination != NULL)
		add_combination(&s, r->combination);
	return sum_result(&s);
}
