/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>
#include <time.h>

/*
 * Random configurations and random reports of them, encoded here, and next to each byte the JSON
 * that must become of it, written here too: from mantissas and exponents, calendars and bits, not
 * from the bytes.
 */

static uint64_t random_state = 0x110730;

static unsigned any(unsigned n)
{
	return (unsigned)(next_random(&random_state) % n);
}

/* Bytes, big-endian, one after the other. */
struct bytes {
	uint8_t p[4096];
	size_t n;
};

static void put(struct bytes *o, uint64_t v, unsigned width)
{
	while (width-- > 0)
		o->p[o->n++] = (uint8_t)(v >> (8 * width));
}

static void put_bytes(struct bytes *o, const struct bytes *more)
{
	memcpy(o->p + o->n, more->p, more->n);
	o->n += more->n;
}

/* A list: how many entries, how many bytes, and they. */
static void put_list(struct bytes *o, unsigned count, const struct bytes *entries)
{
	put(o, count, 2);
	put(o, entries->n, 2);
	put_bytes(o, entries);
}

/* An attribute or an entry: a number, how many bytes, and they. */
static void put_any(struct bytes *o, unsigned id, const struct bytes *value)
{
	put(o, id, 2);
	put(o, value->n, 2);
	put_bytes(o, value);
}

struct text {
	char p[4096];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	t->n += (size_t)vsnprintf(t->p + t->n, sizeof(t->p) - t->n, format, ap);
	va_end(ap);
	assert_true(t->n < sizeof(t->p));
}

/* ---- values ---- */

static const char *const specials[] = {"+INF", "NaN", "NRes", "reserved", "-INF"};

/* A number in decimal: digits, with a point or zeros where the exponent says so. */
static void say_number(struct text *t, int mantissa, int exponent)
{
	char digits[64];

	if (exponent < -8 || exponent > 7) {
		say(t, "%de%d", mantissa, exponent);
		return;
	}
	if (exponent >= 0) {
		say(t, "%d%.*s", mantissa, exponent, "0000000");
		return;
	}
	snprintf(digits, sizeof(digits), "%0*d", 1 - exponent, mantissa < 0 ? -mantissa : mantissa);
	say(t, "%s%.*s.%s", mantissa < 0 ? "-" : "", (int)strlen(digits) + exponent, digits,
		digits + strlen(digits) + exponent);
}

/* An SFLOAT or a FLOAT; which special one it is, or NULL. */
static const char *any_float(struct bytes *o, struct text *t, bool is_short)
{
	const int bits = is_short ? 12 : 24, most = 1 << (bits - 1);
	int mantissa, exponent;

	if (any(8) == 0) {
		const unsigned which = any(5);

		put(o, (unsigned)most - 2 + which, is_short ? 2 : 4);
		say(t, "null");
		return specials[which];
	}
	mantissa = (int)any(2u * (unsigned)most - 5) - (most - 3);
	exponent = is_short      ? (int)any(16) - 8
		   : any(2) == 0 ? (int)any(16) - 8
				 : (int)any(256) - 128;
	if (mantissa == 0)
		exponent = 0;
	put(o, ((uint64_t)exponent << bits) | ((uint64_t)mantissa & (2u * (unsigned)most - 1)),
		is_short ? 2 : 4);
	say_number(t, mantissa, exponent);
	return NULL;
}

enum { SFLOAT, FLOAT, SFLOATS, FLOATS, BITS16, BITS32, OID, NOTHING, KINDS };
static const unsigned kind_attribute[KINDS] = {2636, 2646, 2677, 2676, 2662, 2661, 2633, 9100};

/* Writes value v with its attributes; `count` numbers of a compound with `names` names. */
static unsigned any_value(
	struct bytes *o, struct text *t, unsigned kind, unsigned count, unsigned names)
{
	const bool is_short = kind == SFLOAT || kind == SFLOATS;
	const char *why = NULL, *one;
	struct bytes list = {.n = 0};
	unsigned number = any(65536), odd = 0;

	say(t, "{\"v\":");
	switch (kind) {
	case SFLOAT:
	case FLOAT:
		why = any_float(o, t, is_short);
		odd = why != NULL;
		break;
	case SFLOATS:
	case FLOATS:
		for (unsigned i = 0; i < count; i++) {
			say(t, i == 0 ? "[" : ",");
			one = any_float(&list, t, is_short);
			odd += one != NULL;
			why = why == NULL ? one : why;
		}
		say(t, count == 0 ? "[]" : "]");
		put_list(o, count, &list);
		break;
	case BITS16:
		put(o, number, 2);
		say(t, "\"%04x\"", number);
		break;
	case BITS32:
		put(o, (uint64_t)number << 16 | 0x0a0f, 4);
		say(t, "\"%04x0a0f\"", number);
		break;
	case OID:
		put(o, number, 2);
		say(t, "%u", number);
		break;
	default:
		say(t, "null");
		why = "absent";
	}
	if (why != NULL)
		say(t, ",\"why\":\"%s\"", why);
	if (names != 0 && count == names && (kind == SFLOATS || kind == FLOATS)) {
		for (unsigned i = 0; i < names; i++)
			say(t, "%s\"2-%u\"", i == 0 ? ",\"n\":[" : ",", 3000 + i);
		say(t, "]");
	}
	return odd;
}

/* ---- units, times, status ---- */

static const struct {
	unsigned code;
	const char *text;
} units[] = {{0, "null"}, {544, "\"%\""}, {2720, "\"bpm\""}, {1280, "\"m\""}, {64000, "\"64000\""},
	{6656, "\"steps\""}};
#define UNITS 6

enum { ABSOLUTE, BASE_OFFSET, RELATIVE, TIMELESS, TIMES };
static const unsigned time_attribute[TIMES] = {2448, 2690, 2449, 9101};

static unsigned bcd(unsigned v)
{
	return v / 10 * 16 + v % 10;
}

static void say_date(struct text *t, time_t unix_s, unsigned hundredths)
{
	struct tm tm;

	gmtime_r(&unix_s, &tm);
	say(t, "%04d-%02d-%02dT%02d:%02d:%02d.%02u", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		tm.tm_hour, tm.tm_min, tm.tm_sec, hundredths);
}

/* Says t; 1 when it is no time. */
static unsigned any_time(struct bytes *o, struct text *t, unsigned kind)
{
	const uint32_t ticks = (uint32_t)next_random(&random_state);
	const unsigned fraction = any(65536);
	const int offset = (int)any(2 * 1439 + 1) - 1439;
	/* what 8 digits and 32 bits both hold: 1970 to 2036 */
	const time_t unix_s = (time_t)(ticks % 2082758400u);
	struct tm tm;

	say(t, ",\"t\":");
	switch (kind) {
	case ABSOLUTE:
		gmtime_r(&unix_s, &tm);
		if (any(10) == 0)
			tm.tm_mon = 12;
		put(o, bcd((unsigned)tm.tm_year / 100 + 19), 1);
		put(o, bcd((unsigned)tm.tm_year % 100), 1);
		put(o, bcd((unsigned)tm.tm_mon + 1), 1);
		put(o, bcd((unsigned)tm.tm_mday), 1);
		put(o, bcd((unsigned)tm.tm_hour), 1);
		put(o, bcd((unsigned)tm.tm_min), 1);
		put(o, bcd((unsigned)tm.tm_sec), 1);
		put(o, bcd(fraction % 100), 1);
		if (tm.tm_mon == 12) {
			say(t, "null");
			return 1;
		}
		say(t, "\"");
		say_date(t, unix_s, fraction % 100);
		say(t, "\"");
		break;
	case BASE_OFFSET:
		put(o, (uint64_t)unix_s + 2208988800u, 4);
		put(o, fraction, 2);
		put(o, (uint64_t)offset, 2);
		say(t, "\"");
		say_date(t, unix_s + 60 * offset, fraction * 100 / 65536);
		say(t, "%c%02d:%02d\"", offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
		break;
	case RELATIVE:
		put(o, ticks, 4);
		say(t, "null,\"r\":%u.%06u", ticks / 8000, ticks % 8000 * 125);
		break;
	default:
		say(t, "null");
	}
	return 0;
}

static void any_status(struct bytes *o, struct text *t)
{
	static const char *const names[] = {"invalid", "questionable", "not-available",
		"calibration-ongoing", "test-data", "demo-data", "bit-6", "bit-7", "validated-data",
		"early-indication", "msmt-ongoing", "bit-11", "bit-12", "bit-13", "bit-14",
		"bit-15"};
	const unsigned bits = any(3) == 0 ? any(65536) : any(2) << any(16);
	unsigned said = 0;

	put(o, bits, 2);
	for (unsigned i = 0; i < 16; i++) {
		if ((bits >> (15 - i) & 1) != 0)
			say(t, "%s%s", said++ == 0 ? ",\"s\":\"" : ",", names[i]);
	}
	if (said != 0)
		say(t, "\"");
}

/* ---- configurations ---- */

#define OBJECTS 10
enum { VALUE, TIME, STATUS, JUNK, FIELDS };

struct configured {
	struct bp_phd_model m;
	struct {
		char name[32];
		unsigned unit, kind, count, names, time, order[FIELDS], junk;
		bool status;
	} object[OBJECTS];
};

static const struct {
	unsigned partition, code;
	const char *name;
} types[] = {{2, 19384, "spo2"}, {129, 103, "distance"}, {130, 1, "fall"}, {2, 777, "2-777"}};

static void shuffle(unsigned order[FIELDS])
{
	for (unsigned i = 0; i < FIELDS; i++)
		order[i] = i;
	for (unsigned i = FIELDS; i > 1; i--) {
		const unsigned k = any(i), was = order[i - 1];

		order[i - 1] = order[k];
		order[k] = was;
	}
}

static void map_field(struct bp_phd_object_model *o, unsigned attr, unsigned len)
{
	o->map[o->n_map++] = (struct bp_phd_attr_map){(uint16_t)attr, (uint16_t)len};
}

static void configure_object(struct configured *c, unsigned i)
{
	static const unsigned value_len[KINDS] = {2, 4, 2, 4, 2, 4, 2, 5};
	static const unsigned time_len[TIMES] = {8, 8, 4, 0};
	struct bp_phd_object_model *o = &c->m.object[i];

	c->object[i].kind = i == 0 ? any(NOTHING) : any(KINDS);
	c->object[i].count = any(5);
	c->object[i].names = any(2) == 0 ? 0 : c->object[i].count;
	c->object[i].time = any(TIMES);
	c->object[i].status = any(2) == 0;
	c->object[i].junk = any(7);
	c->object[i].unit = any(UNITS);
	shuffle(c->object[i].order);
	*o = (struct bp_phd_object_model){.class = 6,
		.handle = (uint16_t)(1 + i * 1000 + any(1000)),
		.partition = 2,
		.code = (uint16_t)(1000 + i),
		.unit = (uint16_t)units[c->object[i].unit].code,
		.n_ids = (uint16_t)c->object[i].names,
		.ids = {3000, 3001, 3002, 3003}};
	snprintf(c->object[i].name, sizeof(c->object[i].name), "2-%u", 1000 + i);
	if (i < 4 && any(2) == 0) {
		o->partition = (uint16_t)(c->object[i].names != 0 ? 2 : types[i].partition);
		o->code = (uint16_t)(o->partition == types[i].partition ? types[i].code : 900 + i);
		snprintf(c->object[i].name, sizeof(c->object[i].name), "%s",
			o->partition == types[i].partition ? types[i].name : "");
		if (o->code == 900 + i)
			snprintf(c->object[i].name, sizeof(c->object[i].name), "2-%u", 900 + i);
	}
	for (unsigned k = 0; k < FIELDS; k++) {
		const unsigned kind = c->object[i].kind;

		switch (c->object[i].order[k]) {
		case VALUE:
			map_field(o, kind_attribute[kind],
				kind == SFLOATS || kind == FLOATS
					? 4 + c->object[i].count * value_len[kind]
					: value_len[kind]);
			break;
		case TIME:
			map_field(
				o, time_attribute[c->object[i].time], time_len[c->object[i].time]);
			break;
		case STATUS:
			if (c->object[i].status)
				map_field(o, 2375, 2);
			break;
		default:
			map_field(o, 9102, c->object[i].junk);
		}
	}
}

/* ---- reports ---- */

struct expected {
	unsigned n, unknown, special_values, bad_times;
	unsigned object[64];
	struct text con[64]; /* without person and last brace */
};

static struct expected expected;

/* The bytes of an observation, and their text in the order of the JSON. */
struct parts {
	struct bytes value, time, status, unit;
	struct text json, rest;
};

static void make_parts(struct parts *p, const struct configured *c, unsigned i, unsigned kind,
	unsigned count, unsigned time, unsigned unit, bool status)
{
	p->value.n = p->time.n = p->status.n = p->unit.n = p->json.n = p->rest.n = 0;
	p->rest.p[0] = '\0';
	expected.special_values += any_value(&p->value, &p->json, kind, count, c->object[i].names);
	if (kind == NOTHING)
		put(&p->value, 0x1122334455, 5);
	say(&p->json, ",\"u\":%s", units[unit].text);
	put(&p->unit, units[unit].code, 2);
	expected.bad_times += any_time(&p->time, &p->json, time);
	if (status)
		any_status(&p->status, &p->rest);
	say(&p->json, "%s", p->rest.p);
}

static void any_fixed(struct bytes *o, const struct configured *c, unsigned i)
{
	static struct parts p;
	struct bytes data = {.n = 0};

	make_parts(&p, c, i, c->object[i].kind, c->object[i].count, c->object[i].time,
		c->object[i].unit, c->object[i].status);
	for (unsigned k = 0; k < FIELDS; k++) {
		switch (c->object[i].order[k]) {
		case VALUE:
			put_bytes(&data, &p.value);
			break;
		case TIME:
			put_bytes(&data, &p.time);
			break;
		case STATUS:
			put_bytes(&data, &p.status);
			break;
		default:
			put(&data, 0xffffffffffffffff, c->object[i].junk);
		}
	}
	put_any(o, c->m.object[i].handle, &data);
	expected.con[expected.n] = p.json;
}

static void any_variable(struct bytes *o, const struct configured *c, unsigned i)
{
	static struct parts p;
	const bool other_unit = any(4) == 0, status = any(2) == 0;
	const unsigned kind = any(KINDS), time = any(TIMES);
	const unsigned unit = other_unit ? any(UNITS) : c->object[i].unit;
	struct bytes list = {.n = 0};
	unsigned order[FIELDS], n = 0;

	make_parts(&p, c, i, kind, any(6), time, unit, status);
	shuffle(order);
	for (unsigned k = 0; k < FIELDS; k++) {
		switch (order[k]) {
		case VALUE:
			put_any(&list, kind_attribute[kind], &p.value);
			n++;
			break;
		case TIME:
			put_any(&list, time_attribute[time], &p.time);
			n++;
			break;
		case STATUS:
			if (status) {
				put_any(&list, 2375, &p.status);
				n++;
			}
			break;
		default:
			if (other_unit) {
				put_any(&list, 2454, &p.unit);
				n++;
			}
		}
	}
	put(o, c->m.object[i].handle, 2);
	put_list(o, n, &list);
	expected.con[expected.n] = p.json;
}

static void any_observation(struct bytes *o, const struct configured *c, bool variable, int person)
{
	const unsigned i = any(c->m.n);
	struct bytes junk = {.n = 0};

	if (any(12) == 0) {
		put(&junk, 0, variable ? 0 : any(5));
		if (variable) {
			put(o, 60000, 2);
			put_list(o, 0, &junk);
		} else {
			put_any(o, 60000, &junk);
		}
		expected.unknown++;
		return;
	}
	if (variable)
		any_variable(o, c, i);
	else
		any_fixed(o, c, i);
	if (person >= 0)
		say(&expected.con[expected.n], ",\"p\":%d", person);
	say(&expected.con[expected.n], "}");
	expected.object[expected.n++] = i;
}

/* A report of `type`; its bytes. */
static void any_report(struct bytes *apdu, const struct configured *c, unsigned type,
	unsigned number, bool confirmed)
{
	const bool variable = type == 3358 || type == 3360, mp = type >= 3359;
	static struct bytes list, inner, info, event, data;
	const unsigned persons = any(4), most = any(40) == 0 ? 20 : 6;
	unsigned n = 0;

	memset(&expected, 0, offsetof(struct expected, con));
	list.n = info.n = event.n = data.n = apdu->n = 0;
	if (mp) {
		for (; n < persons; n++) {
			const unsigned person = any(65536), each = any(3);

			inner.n = 0;
			for (unsigned i = 0; i < each; i++)
				any_observation(&inner, c, variable, (int)person);
			put(&list, person, 2);
			put_list(&list, each, &inner);
		}
	} else {
		for (const unsigned all = any(most); n < all; n++)
			any_observation(&list, c, variable, -1);
	}
	put(&info, 0xf000, 2);
	put(&info, number, 2);
	put_list(&info, n, &list);
	put(&event, 0, 2);
	put(&event, any(2) == 0 ? 0xffffffff : any(1u << 31), 4);
	put_any(&event, type, &info);
	put(&data, number ^ 0x5555, 2);
	put_any(&data, confirmed ? 0x0101 : 0x0100, &event);
	put(apdu, 0xe700, 2);
	put(apdu, data.n + 2, 2);
	put(apdu, data.n, 2);
	put_bytes(apdu, &data);
}

/* ---- judging ---- */

static struct plain plain;

static void assert_expected(const struct configured *c, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, struct bp_phd_conversion *v)
{
	static struct text list;
	struct rig_request q = {{"cse-in", "1122334455667788", "report"}, "Cbiplane"};

	list.n = 0;
	for (unsigned i = 0; i < expected.n; i++) {
		const char *name = c->object[expected.object[i]].name;

		if (plan->per_report) {
			say(&list, "%c{\"o\":\"%s\",%s", i == 0 ? '[' : ',', name,
				expected.con[i].p + 1);
			continue;
		}
		q.segment[2] = name;
		rig_expect(&plain, plan, &q, i, expected.con[i].p);
		rig_assert_part(l, plan, apdu, v, i, &plain);
	}
	if (plan->per_report) {
		char *con;

		say(&list, "]");
		rig_expect(&plain, plan, &q, 0, list.p);
		rig_assert_part(l, plan, apdu, v, 0, &plain);
		con = rig_content(plain.bytes, plain.len);
		assert_non_null(con); /* the expected text is JSON within JSON */
		free(con);
	}
	assert_int_equal(v->odd.special_values, expected.special_values);
	assert_int_equal(v->odd.bad_times, expected.bad_times);
}

static unsigned judge_report(const struct configured *c, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan)
{
	static struct bytes apdu;
	const unsigned type = 3357 + any(4), number = any(65536);
	const bool confirmed = any(2) == 0;
	struct bp_phd_conversion v;
	enum bp_phd_verdict verdict;
	uint8_t *exact;

	any_report(&apdu, c, type, number, confirmed);
	exact = exact_copy(apdu.p, apdu.n);
	verdict = bp_phd_convert_plan(l, plan, exact, apdu.n, &v);
	assert_int_equal(verdict, expected.n != 0         ? BP_PHD_CONVERT
				  : expected.unknown != 0 ? BP_PHD_NO_HANDLE
							  : BP_PHD_EMPTY);
	assert_int_equal(v.invoke_id, number ^ 0x5555);
	assert_int_equal(v.report_no, number);
	assert_int_equal(v.type, type);
	assert_int_equal(v.confirmed, confirmed);
	assert_int_equal(v.observations, expected.n);
	assert_int_equal(v.unknown_handles, expected.unknown);
	if (expected.n != 0) {
		assert_int_equal(v.parts, plan->per_report ? 1 : expected.n);
		assert_expected(c, l, plan, exact, &v);
	}
	free(exact);
	return expected.n;
}

static void any_report_of_any_configuration(void **state)
{
	static struct configured c;
	unsigned instances = 0;

	for (int i = 0; i < 400; i++) {
		struct bp_phd_settings plan = rig_plan;
		struct bp_phd_layout *l;

		plan.per_report = any(2) == 0;
		plan.release = (uint8_t)any(BP_M2M_RELEASES);
		plan.named = any(2) == 0;
		plan.max_message = 60000;
		c.m.n = (uint16_t)(1 + any(OBJECTS));
		for (unsigned k = 0; k < c.m.n; k++)
			configure_object(&c, k);
		l = rig_compile(&c.m, &plan, &rig_target, "");
		for (int k = 0; k < 40; k++)
			instances += judge_report(&c, l, &plan);
		free(l);
	}
	assert_true(instances > 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_report_of_any_configuration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
