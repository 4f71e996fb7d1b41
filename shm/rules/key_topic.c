/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/key_topic.h"

#include <string.h>

struct bp_topic_level bp_topic_level(const char *topic, uint32_t len, uint32_t level)
{
	const char *end = topic + len, *slash;

	for (; level != 0; level--) {
		slash = memchr(topic, '/', (size_t)(end - topic));
		if (slash == NULL)
			return (struct bp_topic_level){end, 0};
		topic = slash + 1;
	}
	slash = memchr(topic, '/', (size_t)(end - topic));
	return (struct bp_topic_level){topic, (uint32_t)((slash != NULL ? slash : end) - topic)};
}

/* The name of a level of the part's filter, or BP_COMBINATION_NAMES_MAX. */
static unsigned name_at(const struct bp_rule *part, unsigned n_names, uint32_t level)
{
	for (unsigned i = 0; i < n_names; i++)
		if (part->part.level[i] == level)
			return i;
	return BP_COMBINATION_NAMES_MAX;
}

uint32_t bp_part_topic(const struct bp_ruleset *rules, const struct bp_rule *from,
	const struct bp_rule *to, const char *topic, uint32_t topic_len, char *out, uint32_t size)
{
	const unsigned n_names = bp_ruleset_rule(rules, to->part.combination)->combination.n_names;
	const char *filter = bp_ruleset_filter(rules, to);
	uint32_t n = 0, level = 0;

	for (uint32_t at = 0; at <= to->filter_len; level++) {
		const char *slash = memchr(filter + at, '/', to->filter_len - at);
		struct bp_topic_level p = {filter + at,
			slash != NULL ? (uint32_t)(slash - (filter + at)) : to->filter_len - at};
		const unsigned name = name_at(to, n_names, level);

		at += p.len + 1;
		if (name < BP_COMBINATION_NAMES_MAX)
			p = bp_topic_level(topic, topic_len, from->part.level[name]);
		if (p.len + 1 > size - n)
			return size + 1;
		if (level != 0)
			out[n++] = '/';
		memcpy(out + n, p.text, p.len);
		n += p.len;
	}
	return n;
}
