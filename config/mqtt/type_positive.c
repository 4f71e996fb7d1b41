/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/condition.h"
#include "config/mqtt/schema.h"

/* A double above 0; 0: the file has none. */

static bool parse_positive(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	double v;

	if (!bp_type_bound.parse(s, c, text, &v, fault))
		return false;
	if (!(v > 0))
		return bp_fault_set(
			fault, 0, "%s is not greater than 0", bp_shown(text, strlen(text), shown));
	memcpy(field, &v, sizeof(v));
	return true;
}

static void format_positive(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_type_bound.format(s, c, field, out);
}

static void expect_positive(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a finite decimal number greater than 0", out);
}

const struct bp_type bp_type_positive = {
	.parse = parse_positive, .format = format_positive, .expect = expect_positive};
