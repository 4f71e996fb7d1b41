/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/rule.h"
#include "config/schema.h"

/*
 * Integers, and integers with a unit. The unit is part of the text: "30s", "64KiB". A number
 * without a unit is a plain number, or bytes.
 */

struct unit {
	const char *name;
	uint64_t factor;
};

/* The first unit that divides a value is used for printing. */
static const struct unit durations[] = {
	{"d", 86400000000000},
	{"h", 3600000000000},
	{"m", 60000000000},
	{"s", 1000000000},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
	{NULL, 0},
};
static const struct unit sizes[] = {
	{"TiB", (uint64_t)1 << 40},
	{"GiB", (uint64_t)1 << 30},
	{"MiB", (uint64_t)1 << 20},
	{"KiB", (uint64_t)1 << 10},
	{"", 1},
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", 1000000000000},
	{NULL, 0},
};

static const struct unit rates[] = {
	{"Tbps", 1000000000000},
	{"Gbps", 1000000000},
	{"Mbps", 1000000},
	{"kbps", 1000},
	{"bps", 1},
	{NULL, 0},
};

/* `zero_unit`: the factor of the unit of zero. */
static void write_with_unit(const struct unit *units, uint64_t v, uint64_t zero_unit, FILE *out)
{
	const struct unit *u = units;

	while (u->factor > 1 && (v == 0 ? u->factor != zero_unit : v % u->factor != 0))
		u++;
	fprintf(out, "%llu%s", (unsigned long long)(v / u->factor), u->name);
}

/* Digits in base 10, or 16 after 0x, or 8 after 0o, as in the integers of YAML's core schema. */
static bool read_digits(
	const char *text, const char **end, uint64_t *v, const char *what, struct bp_fault *fault)
{
	const char *p = text + (*text == '+');
	int base = 10;
	char *stop, shown[BP_SHOWN];

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'o')) {
		base = p[1] == 'x' ? 16 : 8;
		p += 2;
	}
	/* strtoull() also accepts signs and blanks, which are invalid here. */
	if (*p == '-' || *p == '+' || *p == ' ' || *p == '\t')
		return bp_fault_set(
			fault, 0, "'%s' is not %s", bp_shown(text, strlen(text), shown), what);
	errno = 0;
	*v = strtoull(p, &stop, base);
	if (stop == p || (base == 16 && (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))))
		return bp_fault_set(
			fault, 0, "'%s' is not %s", bp_shown(text, strlen(text), shown), what);
	if (errno == ERANGE)
		return bp_fault_set(
			fault, 0, "%s is too large", bp_shown(text, (size_t)(stop - text), shown));
	*end = stop;
	return true;
}

static bool in_bounds(
	const struct bp_setting *s, uint64_t v, const char *text, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	if (v == 0 && (s->flags & BP_OR_ZERO) != 0)
		return true;
	if (v < s->min || v > s->max)
		return bp_fault_set(fault, 0, "%s is too %s", bp_shown(text, strlen(text), shown),
			v < s->min ? "small" : "large");
	return true;
}

/* Returns whether the text is the setting's word for 0; 0 is stored then. */
static bool read_zero(const struct bp_setting *s, const char *text, void *field)
{
	if (s->zero == NULL || strcmp(text, s->zero) != 0)
		return false;
	bp_field_store(s, field, 0);
	return true;
}

static bool write_zero(const struct bp_setting *s, const void *field, FILE *out)
{
	if (s->zero == NULL || bp_field_load(s, field) != 0)
		return false;
	fputs(s->zero, out);
	return true;
}

static void expect_zero(const struct bp_setting *s, FILE *out)
{
	if (s->zero != NULL)
		fprintf(out, ", or %s", s->zero);
}

static bool parse_uint(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const char *end = NULL;
	char shown[BP_SHOWN];
	uint64_t v = 0;

	(void)c;
	if (read_zero(s, text, field))
		return true;
	if (!read_digits(text, &end, &v, "a whole number", fault))
		return false;
	if (*end != '\0')
		return bp_fault_set(fault, 0, "'%s' is not a whole number",
			bp_shown(text, strlen(text), shown));
	if (!in_bounds(s, v, text, fault))
		return false;
	bp_field_store(s, field, v);
	return true;
}

static void format_uint(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)c;
	if (!write_zero(s, field, out))
		fprintf(out, "%llu", (unsigned long long)bp_field_load(s, field));
}

static void expect_uint(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a whole number from %llu to %llu%s", (unsigned long long)s->min,
		(unsigned long long)s->max, (s->flags & BP_OR_ZERO) != 0 ? ", or 0" : "");
	expect_zero(s, out);
}

const struct bp_type bp_type_uint = {
	.parse = parse_uint, .format = format_uint, .expect = expect_uint};

/* A number and its unit; a blank between them is allowed. */
static bool read_with_unit(const struct unit *units, const char *text, const char *what,
	uint64_t *v, struct bp_fault *fault)
{
	const char *end = NULL;
	char shown[BP_SHOWN];

	if (!read_digits(text, &end, v, what, fault))
		return false;
	end += *end == ' ';
	for (const struct unit *u = units; u->name != NULL; u++) {
		if (strcmp(u->name, end) != 0)
			continue;
		if (__builtin_mul_overflow(*v, u->factor, v))
			return bp_fault_set(
				fault, 0, "%s is too large", bp_shown(text, strlen(text), shown));
		return true;
	}
	if (*end == '\0')
		return bp_fault_set(
			fault, 0, "'%s' has no unit", bp_shown(text, strlen(text), shown));
	if (*end == '.')
		return bp_fault_set(fault, 0, "'%s' is not a whole number with a unit",
			bp_shown(text, strlen(text), shown));
	return bp_fault_set(fault, (size_t)(end - text), "'%s' is not a known unit",
		bp_shown(end, strlen(end), shown));
}

static bool store_scaled(const struct bp_setting *s, const struct unit *units, uint64_t v,
	const char *text, void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	uint64_t scale = s->scale > 0 ? s->scale : 1;

	if (!in_bounds(s, v, text, fault))
		return false;
	if (v % scale != 0) {
		const struct unit *u = units;

		while (u->factor != scale)
			u++;
		return bp_fault_set(fault, 0, "%s is not a multiple of 1%s",
			bp_shown(text, strlen(text), shown), u->name);
	}
	bp_field_store(s, field, v / scale);
	return true;
}

static uint64_t load_scaled(const struct bp_setting *s, const void *field)
{
	return bp_field_load(s, field) * (s->scale > 0 ? s->scale : 1);
}

/* The quantity of a setting with a unit, by its type. */
struct measure {
	const struct bp_type *type;
	const struct unit *units;
	const char *what;
};

static const struct measure *measure_of(const struct bp_setting *s)
{
	static const struct measure measures[] = {
		{&bp_type_size, sizes, "a size"},
		{&bp_type_duration, durations, "a duration"},
		{&bp_type_rate, rates, "a rate"},
	};
	const struct measure *m = measures;

	while (m->type != s->type)
		m++;
	return m;
}

/* "0" needs no unit where the setting has a word for 0. */
static bool zero_alone(const struct bp_setting *s)
{
	return (s->flags & BP_OR_ZERO) != 0 && s->type == &bp_type_duration;
}

static bool parse_measure(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct measure *m = measure_of(s);
	uint64_t v = 0;

	(void)c;
	if (read_zero(s, text, field))
		return true;
	if (zero_alone(s) && strcmp(text, "0") == 0) {
		bp_field_store(s, field, 0);
		return true;
	}
	return read_with_unit(m->units, text, m->what, &v, fault) &&
	       store_scaled(s, m->units, v, text, field, fault);
}

static void format_measure(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)c;
	if (write_zero(s, field, out))
		return;
	if (zero_alone(s) && bp_field_load(s, field) == 0)
		fputc('0', out);
	else
		write_with_unit(measure_of(s)->units, load_scaled(s, field), s->scale, out);
}

static void expect_measure(const struct bp_setting *s, FILE *out)
{
	const struct measure *m = measure_of(s);

	fprintf(out, "%s from ", m->what);
	write_with_unit(m->units, s->min, s->scale, out);
	fputs(" to ", out);
	write_with_unit(m->units, s->max, s->scale, out);
	fputs(zero_alone(s) ? ", or 0" : "", out);
	expect_zero(s, out);
}

const struct bp_type bp_type_size = {
	.parse = parse_measure, .format = format_measure, .expect = expect_measure};
const struct bp_type bp_type_duration = {
	.parse = parse_measure, .format = format_measure, .expect = expect_measure};
const struct bp_type bp_type_rate = {
	.parse = parse_measure, .format = format_measure, .expect = expect_measure};

static bool parse_version(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	(void)c;
	if (strcmp(text, "1") != 0)
		return bp_fault_set(
			fault, 0, "version '%s' is unknown", bp_shown(text, strlen(text), shown));
	bp_field_store(s, field, 1);
	return true;
}

static void expect_version(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("version: 1, the only version of this file's format", out);
}

const struct bp_type bp_type_version = {
	.parse = parse_version, .format = format_uint, .expect = expect_version};

/* Routing tables of the kernel, with the names of some (RT_TABLE_* of linux/rtnetlink.h). */
static const struct {
	const char *name;
	uint32_t number;
} tables[] = {{"main", 254}, {"local", 255}, {"default", 253}};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

static bool parse_table(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	for (uint32_t i = 0; i < N_TABLES; i++) {
		if (strcmp(text, tables[i].name) == 0) {
			bp_field_store(s, field, tables[i].number);
			return true;
		}
	}
	return parse_uint(s, c, text, field, fault);
}

static void format_table(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	for (uint32_t i = 0; i < N_TABLES; i++) {
		if (bp_field_load(s, field) == tables[i].number) {
			fputs(tables[i].name, out);
			return;
		}
	}
	format_uint(s, c, field, out);
}

static void expect_table(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "main, local, default or a number from %llu to %llu",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_table = {
	.parse = parse_table, .format = format_table, .expect = expect_table};

/* "3 samples" is a number of consecutive values, "10s" is a time. */
#define HOLD_NS_MIN 1000000ull           /* 1ms */
#define HOLD_NS_MAX 31536000000000000ull /* 365d */

static bool parse_hold_time(const char *text, struct bp_rule_spec *rule, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	uint64_t v = 0;

	if (!read_with_unit(durations, text, "a duration", &v, fault))
		return false;
	if (v < HOLD_NS_MIN || v > HOLD_NS_MAX)
		return bp_fault_set(fault, 0, "%s is too %s", bp_shown(text, strlen(text), shown),
			v < HOLD_NS_MIN ? "short" : "long");
	rule->hold = BP_HOLD_TIME;
	rule->hold_ns = v;
	return true;
}

static bool parse_hold(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_rule_spec *rule = field;
	const char *end = NULL;
	uint64_t v = 1;

	(void)c;
	if (strcmp(text, "off") != 0) {
		if (!read_digits(text, &end, &v, "a number of samples or a duration", fault))
			return false;
		if (*end == '\0')
			return bp_fault_set(fault, 0,
				"%llu has no unit; write %llu samples or %llus",
				(unsigned long long)v, (unsigned long long)v,
				(unsigned long long)v);
		if (strcmp(end, " samples") != 0 && strcmp(end, " sample") != 0 &&
			strcmp(end, "samples") != 0)
			return parse_hold_time(text, rule, fault);
		if (!in_bounds(s, v, text, fault))
			return false;
	}
	rule->hold = v > 1 ? BP_HOLD_COUNT : BP_HOLD_NONE;
	rule->hold_count = v > 1 ? (uint32_t)v : 0;
	return true;
}

static void format_hold(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_rule_spec *rule = field;

	(void)c;
	if (rule->hold == BP_HOLD_TIME)
		write_with_unit(durations, rule->hold_ns, 1, out);
	else if (rule->hold == BP_HOLD_COUNT)
		fprintf(out, "%u samples", rule->hold_count);
	else
		fputs("off", out);
}

static void expect_hold(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "3 samples (1 to %llu), a duration from ", (unsigned long long)s->max);
	write_with_unit(durations, HOLD_NS_MIN, 1, out);
	fputs(" to ", out);
	write_with_unit(durations, HOLD_NS_MAX, 1, out);
	fputs(", or off", out);
}

const struct bp_type bp_type_hold = {
	.parse = parse_hold, .format = format_hold, .expect = expect_hold};
