/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_KEY_TOPIC_H
#define BP_SHM_RULES_KEY_TOPIC_H

#include "shm/rules/ruleset.h"

/* The topics of the parts of one key. That of the first part is the topic of the key. */

struct bp_topic_level {
	const char *text;
	uint32_t len;
};
/* A level of a topic or a filter; 0: the first. Empty where it has no such level. */
struct bp_topic_level bp_topic_level(const char *topic, uint32_t len, uint32_t level);

/* Writes the topic of part `to` with the named levels of `topic`, which is one of part `from` of
 * the same combination. Returns its length; over `size`: it is too long. */
uint32_t bp_part_topic(const struct bp_ruleset *rules, const struct bp_rule *from,
	const struct bp_rule *to, const char *topic, uint32_t topic_len, char *out, uint32_t size);

#endif
