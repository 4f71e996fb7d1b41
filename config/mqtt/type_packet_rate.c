/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/policy.h"
#include "config/mqtt/schema.h"

/* A number of packets in a second, minute or hour: 10/s, 30/m, 5/h. */

static const struct {
	char name;
	uint32_t seconds;
} intervals[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
#define N_INTERVALS (sizeof(intervals) / sizeof(intervals[0]))

static bool parse_packet_rate(const struct bp_setting *s, const struct bp_config *c,
	const char *text, void *field, struct bp_fault *fault)
{
	struct bp_policy_rate *rate = field;
	char shown[BP_SHOWN];
	char *end;
	uint64_t n;

	(void)c;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (end == text || text[0] < '0' || text[0] > '9')
		return bp_fault_set(fault, 0, "'%s' does not begin with a whole number",
			bp_shown(text, strlen(text), shown));
	if (errno == ERANGE || n < s->min || n > s->max)
		return bp_fault_set(fault, 0, "%s is too %s",
			bp_shown(text, (size_t)(end - text), shown),
			n < s->min ? "small" : "large");
	for (unsigned i = 0; i < N_INTERVALS; i++) {
		if (end[0] != '/' || end[1] != intervals[i].name || end[2] != '\0')
			continue;
		*rate = (struct bp_policy_rate){(uint32_t)n, intervals[i].seconds};
		return true;
	}
	return bp_fault_set(fault, (size_t)(end - text), "'%s' does not end with an interval",
		bp_shown(text, strlen(text), shown));
}

static void format_packet_rate(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_policy_rate *rate = field;
	unsigned i = 0;

	(void)s;
	(void)c;
	while (i + 1 < N_INTERVALS && intervals[i].seconds != rate->interval_s)
		i++;
	fprintf(out, "%u/%c", rate->packets, intervals[i].name);
}

static void expect_packet_rate(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a number of packets from %u to %u in a second, minute or hour, such as 10/s, "
		"30/m or 5/h",
		(unsigned)s->min, (unsigned)s->max);
}

const struct bp_type bp_type_packet_rate = {
	.parse = parse_packet_rate, .format = format_packet_rate, .expect = expect_packet_rate};
