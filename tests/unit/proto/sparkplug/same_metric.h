/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_SPARKPLUG_SAME_METRIC_H
#define BP_TESTS_UNIT_PROTO_SPARKPLUG_SAME_METRIC_H

#include "proto/sparkplug/layout.h"

/* The index of a payload has the same as the functions that read metric by metric. */

static inline bool is_same_metric(
	const struct bp_sparkplug_metric *a, const struct bp_sparkplug_metric *b)
{
	return a->name == b->name && a->name_len == b->name_len && a->datatype == b->datatype &&
	       a->has_alias == b->has_alias && a->alias == b->alias && a->is_null == b->is_null &&
	       a->is_historical == b->is_historical && a->field == b->field &&
	       (a->field >= BP_SPARKPLUG_VALUE_STRING
			       ? a->bytes == b->bytes && a->bytes_len == b->bytes_len
			       : a->field == 0 || a->bits == b->bits);
}

static inline bool is_same_head(
	const struct bp_sparkplug_head *a, const struct bp_sparkplug_head *b)
{
	return a->has_seq == b->has_seq && a->seq == b->seq &&
	       a->has_timestamp == b->has_timestamp && a->timestamp == b->timestamp;
}

/* `index` is of a payload that is not malformed. */
static inline bool is_index_of(const struct bp_sparkplug_index *index, const uint8_t *p, size_t n)
{
	struct bp_sparkplug_metric a, b;
	struct bp_sparkplug_head head, of_index;
	const uint8_t *at = p;
	uint32_t i = 0;

	while (bp_sparkplug_next(&at, p + n, &a) > 0) {
		if (i == index->n)
			return !index->whole;
		bp_sparkplug_index_metric(p, n, index, i++, &b);
		if (index->whole && !is_same_metric(&a, &b))
			return false;
	}
	bp_sparkplug_index_head(p, n, index, &of_index);
	return i == index->n && (!index->whole || (bp_sparkplug_head(p, n, &head) &&
							  is_same_head(&head, &of_index)));
}

/* The layout of a payload has its index, also with other values in the bits that may differ. */
static inline bool is_kept(const uint8_t *p, size_t n, const struct bp_sparkplug_index *index)
{
	struct bp_sparkplug_layout l;
	uint8_t other[BP_SPARKPLUG_LAYOUT_MAX];
	struct bp_sparkplug_index again;

	if (!bp_sparkplug_layout_fits(n, index))
		return true;
	bp_sparkplug_layout_learn(&l, p, n, index);
	if (!bp_sparkplug_layout_matches(&l, p, n) || bp_sparkplug_layout_matches(&l, p, n - 1))
		return false;
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < n; i++)
			other[i] = l.bits[i] | (~l.mask[i] & (round == 0          ? 0
								     : round == 1 ? 0xff
										  : 0x55 * i));
		if (!bp_sparkplug_layout_matches(&l, other, n) ||
			!bp_sparkplug_index_read(other, n, &again) || !again.whole ||
			!is_index_of(&l.index, other, n))
			return false;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t counts = l.mask[i] & -l.mask[i]; /* its lowest bit */

		memcpy(other, p, n);
		other[i] ^= counts;
		if (counts != 0 && bp_sparkplug_layout_matches(&l, other, n))
			return false;
	}
	return true;
}

static inline bool is_indexed(const uint8_t *p, size_t n)
{
	struct bp_sparkplug_metric m;
	struct bp_sparkplug_index index;
	const uint8_t *at = p;
	int more;

	while ((more = bp_sparkplug_next(&at, p + n, &m)) > 0)
		;
	if (bp_sparkplug_index_read(p, n, &index) != (more == 0))
		return false;
	return more < 0 || (is_index_of(&index, p, n) && is_kept(p, n, &index));
}

#endif
