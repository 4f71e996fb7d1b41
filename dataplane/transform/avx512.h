/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_AVX512_H
#define BP_DATAPLANE_TRANSFORM_AVX512_H

#include <rte_mbuf.h>

#include "dataplane/transform/same_template.h"
#include "dataplane/workers/worker.h"
#include "services/transform/method.h"

/*
 * Readings of the template eight at a time, for processors with AVX-512: of layout paper, 40
 * octets, which bp_template_is_kunze2021() checks. Either bp_template_validate() alone, or all that
 * is done with a burst of one tracker except the arithmetic between.
 */
bool bp_transform_avx512_supported(void);

static inline bool bp_template_is_kunze2021(const struct bp_template *u)
{
	return u->outputs == BP_TEMPLATE_PAYLOAD + 12 && u->end == BP_TEMPLATE_PAYLOAD + 40;
}

/*
 * Validates m[0..n) up to the first eight of which one is not like the template; returns how many
 * are. r[] and
 * payload[] are theirs then, and *others has a bit set where their sources differ from that of
 * `first`, which may be r[0].
 */
unsigned bp_transform_avx512_validate(const struct bp_template *u, struct rte_mbuf *const *m,
	unsigned n, struct bp_transform_sample *r, uint8_t **payload,
	const struct bp_transform_sample *first, uint64_t *others);

/* What is noted of a burst of one tracker until its results are written. */
struct bp_transform_avx512_burst {
	uint32_t before[BP_RX_BURST]; /* sum of the UDP checksum and the outputs, as they came */
	uint32_t ip[BP_RX_BURST];     /* checksum of the IPv4 header, as it came */
	uint8_t *frame[BP_RX_BURST];  /* behind the last: `nowhere` */
	uint8_t nowhere[2 * RTE_CACHE_LINE_SIZE];
} __rte_cache_aligned;

/*
 * Whether all of m[0..n), at least one and at most BP_RX_BURST, are readings like the template from
 * the source of m[0], and as long as that. Then *b is noted and p has their points; up to the next
 * multiple of 8 there are zeros behind.
 */
bool bp_transform_avx512_read(const struct bp_template *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_transform_avx512_burst *b, struct bp_transform_points *p);

/*
 * Writes the results p of those readings and what makes them `to`'s, eight after eight up to the
 * first of which one may be saturated. Returns how many are written; the others are as they came.
 */
unsigned bp_transform_avx512_write(const struct bp_transform_avx512_burst *b, unsigned n,
	const struct bp_template_receiver *to, const struct bp_transform_points *p);

/* Reading j of those that bp_transform_avx512_read() found, as bp_template_validate() has it. */
static inline void bp_transform_avx512_sample(const struct bp_template *u,
	const struct bp_transform_avx512_burst *b, unsigned j, struct bp_transform_sample *r)
{
	r->frame = b->frame[j];
	r->from[0] = bp_transform_sample_half(r->frame + BP_TEMPLATE_AT_SRC);
	r->from[1] = 0;
	r->rest = ~(uint64_t)b->before[j];
	r->kind = u->kind;
}

#endif
