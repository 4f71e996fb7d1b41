/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EXPLAIN_FILTER_MATCH_H
#define BP_APPS_BIPLANE_EXPLAIN_FILTER_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a topic matches a topic filter, or does not, level by level (MQTT 5.0, 4.7). */

#define BP_FILTER_REASON 400u
#define BP_FILTER_SUGGESTION 1100u
struct bp_filter_match {
	bool matches;
	unsigned distance;                     /* 0: it matches; small: probably a typing error */
	char reason[BP_FILTER_REASON];         /* a clause: "level 2 is 'x', the filter has 'y'" */
	char suggestion[BP_FILTER_SUGGESTION]; /* a topic that matches and is similar, or "" */
};

/* The texts need no NUL. */
void bp_filter_match(const char *filter, size_t filter_len, const char *topic, size_t topic_len,
	struct bp_filter_match *m);

/* Levenshtein's distance of two texts, at most `max`. */
unsigned bp_edit_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned max);

/* Whether it is a topic name, in which a client can publish: NULL, or why it is not. */
const char *bp_topic_error(const char *topic);

#endif
