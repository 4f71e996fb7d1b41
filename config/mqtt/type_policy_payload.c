/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/mqtt/schema.h"

/* mqtt.policy.rules[].payload: value and condition, as those of a part of a combination. */

static void read_payload(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_rule_spec *spec = calloc(1, sizeof(*spec));
	const struct bp_yaml *value;

	if (spec == NULL) {
		bp_reader_error(r, s, n, "there is no memory for it");
		return;
	}
	*(struct bp_rule_spec **)field = spec;
	bp_read_section(r, s, n, spec);
	bp_check_value(r, n, spec);
	value = n->kind == BP_YAML_MAP ? bp_yaml_find(n, "value") : NULL;
	if (value != NULL && !value->faulty && spec->value.kind == BP_VALUE_SPARKPLUG)
		bp_error(r->messages, value->line, value->column,
			"%s.value: a rule of the policy reads no metric of Sparkplug B; expected "
			"text, json, cbor, msgpack or binary",
			r->path);
}

static void format_payload(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_write_flow(s, c, *(struct bp_rule_spec *const *)field, out);
}

static void expect_payload(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a mapping with condition, and value unless the payload is a number as text", out);
}

const struct bp_type bp_type_policy_payload = {
	.read = read_payload, .format = format_payload, .expect = expect_payload};
