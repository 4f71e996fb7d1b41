/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/mqtt/schema.h"
#include "proto/sparkplug/sparkplug.h"

/* Whether one of the words is the level. */
static bool is_one_of(const char *level, size_t len, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (strlen(*words) == len && memcmp(level, *words, len) == 0)
			return true;
	}
	return false;
}

/* Whether a filter can match the data messages of a node or device. In a part, {NAME} is any
 * level. */
static bool matches_data(const char *filter, bool part)
{
	static const char *const first[] = {"spBv1.0", "+", NULL}, *const third[] = {"NDATA",
									   "DDATA", "+", NULL};
	unsigned level = 0;

	for (const char *at = filter;; at++, level++) {
		const size_t len = strcspn(at, "/");
		const bool any = part && *at == '{';

		if (len == 1 && *at == '#')
			return true;
		if (!any && ((level == 0 && !is_one_of(at, len, first)) ||
				    (level == 2 && !is_one_of(at, len, third))))
			return false;
		at += len;
		if (*at == '\0')
			return level == 3 || level == 4;
	}
}

void bp_check_sparkplug(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule, bool part)
{
	const struct bp_yaml *topic = bp_good(n, "topic");
	const struct bp_yaml *value = bp_yaml_find(n, "value");
	const struct bp_yaml *at = value ? bp_good(value, "member") : NULL;
	struct bp_sparkplug_member member;

	if (at != NULL && rule->value.kind == BP_VALUE_SPARKPLUG &&
		!bp_sparkplug_member_parse(rule->value.names.member, &member))
		bp_error(r->messages, at->line, at->column,
			"%s.value.member: the index is not a number; expected COLUMN[ROW], METRIC "
			"or [INDEX], such as temperature[0]",
			r->path);
	if (rule->value.kind != BP_VALUE_SPARKPLUG || topic == NULL ||
		matches_data(rule->filter, part))
		return;
	bp_error(r->messages, topic->line, topic->column,
		"%s.topic: the filter matches no data message of Sparkplug B; expected a filter "
		"such as spBv1.0/GROUP/+/NODE/#, whose third level is +, NDATA or DDATA (births "
		"and deaths are read without it)",
		r->path);
}
