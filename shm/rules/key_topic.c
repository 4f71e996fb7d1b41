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

uint32_t bp_key_topic(const struct bp_ruleset *rules, const struct bp_rule *part, const char *topic,
	uint32_t topic_len, char *out, uint32_t size)
{
	const struct bp_rule *rule = bp_ruleset_rule(rules, part->part.combination);
	const struct bp_rule *first = bp_ruleset_rule(rules, rule->combination.first_part);
	const char *filter = bp_ruleset_filter(rules, first);
	uint32_t n = 0, level = 0, name = 0;

	for (uint32_t at = 0; at <= first->filter_len; level++) {
		const char *slash = memchr(filter + at, '/', first->filter_len - at);
		struct bp_topic_level p = {filter + at,
			slash != NULL ? (uint32_t)(slash - (filter + at)) : first->filter_len - at};

		at += p.len + 1;
		if (name < rule->combination.n_names && first->part.level[name] == level)
			p = bp_topic_level(topic, topic_len, part->part.level[name++]);
		if (p.len + 1 > size - n)
			return size + 1;
		if (level != 0)
			out[n++] = '/';
		memcpy(out + n, p.text, p.len);
		n += p.len;
	}
	return n;
}
