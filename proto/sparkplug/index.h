/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_SPARKPLUG_INDEX_H
#define BP_PROTO_SPARKPLUG_INDEX_H

#include "proto/sparkplug/sparkplug.h"

/*
 * Where the fields of a payload are: one pass checks all of it, and finds the metrics for all rules
 * without decoding what no rule reads. A position is never 0, as a tag is before each value.
 */

#define BP_SPARKPLUG_INDEX_METRICS 32u
#define BP_SPARKPLUG_INDEX_LEN UINT16_MAX /* bytes of a payload */

struct bp_sparkplug_entry {
	uint32_t datatype;
	uint16_t name_at, name_len; /* name_at 0: none */
	uint16_t alias_at;          /* 0: none */
	uint16_t value_at, value_len;
	uint8_t field; /* enum bp_sparkplug_field; 0: no value */
	uint8_t alias_len;
	uint8_t is_null : 1, is_historical : 1;
};

struct bp_sparkplug_index {
	uint16_t seq_at, timestamp_at; /* 0: none */
	uint16_t n;
	bool whole; /* all metrics are here; false: there are more, or the payload is too long */
	struct bp_sparkplug_entry metric[BP_SPARKPLUG_INDEX_METRICS];
};

/* False: the payload is malformed, anywhere in it. */
bool bp_sparkplug_index_read(const uint8_t *payload, size_t len, struct bp_sparkplug_index *out);

/* As bp_sparkplug_head(). */
void bp_sparkplug_index_head(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, struct bp_sparkplug_head *out);

/* The i-th metric, i < n. */
void bp_sparkplug_index_metric(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, uint32_t i, struct bp_sparkplug_metric *metric);

/* As bp_sparkplug_find(), for an index that is whole. */
enum bp_sparkplug_found bp_sparkplug_index_find(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, const struct bp_sparkplug_wanted *wanted,
	struct bp_sparkplug_metric *metric);

#endif
