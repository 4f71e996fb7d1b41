/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/schema.h"

/* mqtt.policy.rules[].hours: a time of day, in minutes, and days of the week, bit 0 is Monday. */

static const char *const day_names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
#define N_DAYS (sizeof(day_names) / sizeof(day_names[0]))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool parse_time(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const char *t = text;
	char shown[BP_SHOWN];
	unsigned minutes = UINT16_MAX;

	(void)c;
	if (strlen(t) == 5 && is_digit(t[0]) && is_digit(t[1]) && t[2] == ':' && t[3] >= '0' &&
		t[3] <= '5' && is_digit(t[4]))
		minutes = (unsigned)((t[0] - '0') * 10 + t[1] - '0') * 60 +
			  (unsigned)((t[3] - '0') * 10 + t[4] - '0');
	if (minutes < s->min || minutes > s->max)
		return bp_fault_set(
			fault, 0, "'%s' is not a time of day", bp_shown(text, strlen(text), shown));
	*(uint16_t *)field = (uint16_t)minutes;
	return true;
}

static void format_time(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint16_t minutes = *(const uint16_t *)field;

	(void)s;
	(void)c;
	fprintf(out, "\"%02u:%02u\"", minutes / 60u, minutes % 60u);
}

static void expect_time(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a time of day in quotes from \"%02u:%02u\" to \"%02u:%02u\"",
		(unsigned)s->min / 60, (unsigned)s->min % 60, (unsigned)s->max / 60,
		(unsigned)s->max % 60);
}

const struct bp_type bp_type_time_of_day = {
	.parse = parse_time, .format = format_time, .expect = expect_time};

/* ---- days ---- */

static void read_days(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	uint8_t *days = field;
	char shown[BP_SHOWN];

	if (n->kind != BP_YAML_LIST || n->n == 0) {
		bp_reader_error(r, s, n, "no list of days is given");
		return;
	}
	for (struct bp_yaml *e = n->first; e != NULL; e = e->next) {
		unsigned i = 0;

		while (i < N_DAYS &&
			(e->kind != BP_YAML_SCALAR || strcmp(e->text, day_names[i]) != 0))
			i++;
		if (i == N_DAYS) {
			bp_reader_error(r, s, e, "'%s' is not a day",
				e->kind == BP_YAML_SCALAR ? bp_shown(e->text, e->n, shown)
							  : "a list");
			return;
		}
		*days |= (uint8_t)(1u << i);
	}
}

static void format_days(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint8_t days = *(const uint8_t *)field;
	const char *before = "[";

	(void)s;
	(void)c;
	for (unsigned i = 0; i < N_DAYS; i++) {
		if ((days >> i & 1) == 0)
			continue;
		fprintf(out, "%s%s", before, day_names[i]);
		before = ", ";
	}
	fputc(']', out);
}

static void expect_days(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a list of days: mon, tue, wed, thu, fri, sat, sun", out);
}

const struct bp_type bp_type_days = {
	.read = read_days, .format = format_days, .expect = expect_days};
