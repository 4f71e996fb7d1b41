/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_KEY_TOPIC_H
#define BP_SHM_RULES_KEY_TOPIC_H

#include "shm/rules/ruleset.h"

/* The topic of a key of a combination is that of its first part. */

struct bp_topic_level {
	const char *text;
	uint32_t len;
};
/* A level of a topic or a filter; 0: the first. Empty where it has no such level. */
struct bp_topic_level bp_topic_level(const char *topic, uint32_t len, uint32_t level);

/* Writes the topic of the combination's first part with the named levels of `topic`, which is one
 * of `part`. Returns its length; over `size`: it is too long. */
uint32_t bp_key_topic(const struct bp_ruleset *rules, const struct bp_rule *part, const char *topic,
	uint32_t topic_len, char *out, uint32_t size);

#endif
