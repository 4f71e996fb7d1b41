/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_USUAL8_H
#define BP_DATAPLANE_TRANSFORM_USUAL8_H

#include <rte_mbuf.h>

#include "dataplane/transform/usual.h"
#include "dataplane/workers/worker.h"
#include "services/transform/method.h"

/*
 * Usual readings eight at a time, for processors with AVX-512: of the paper's packet of 40 octets,
 * which bp_usual_is_paper() says. Either bp_usual_judge() alone, or all that is done with a burst
 * of one tracker but the arithmetic between.
 */
bool bp_usual8_possible(void);

static inline bool bp_usual_is_paper(const struct bp_usual *u)
{
	return u->outputs == BP_USUAL_PAYLOAD + 12 && u->end == BP_USUAL_PAYLOAD + 40;
}

/*
 * Judges m[0..n) up to the first eight of which one is not usual; returns how many are. r[] and
 * payload[] are theirs then, and *others has a bit set where their sources differ from that of
 * `first`, which may be r[0].
 */
unsigned bp_usual8_judge(const struct bp_usual *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_reading *r, uint8_t **payload, const struct bp_reading *first, uint64_t *others);

/* What is noted of a burst of one tracker until its results are written. */
struct bp_usual8_burst {
	uint32_t before[BP_RX_BURST]; /* sum of the UDP checksum and the outputs, as they came */
	uint32_t ip[BP_RX_BURST];     /* checksum of the IPv4 header, as it came */
	uint8_t *frame[BP_RX_BURST];  /* behind the last: `nowhere` */
	uint8_t nowhere[2 * RTE_CACHE_LINE_SIZE];
} __rte_cache_aligned;

/*
 * Whether all of m[0..n), at least one and at most BP_RX_BURST, are usual readings from the source
 * of m[0], and as long as that. Then *b is noted and p has their points; up to the next multiple
 * of 8 there are zeros behind.
 */
bool bp_usual8_read(const struct bp_usual *u, struct rte_mbuf *const *m, unsigned n,
	struct bp_usual8_burst *b, struct bp_transform_points *p);

/*
 * Writes the results p of those readings and what makes them `to`'s, eight after eight up to the
 * first of which one may be saturated. Returns how many are written; the others are as they came.
 */
unsigned bp_usual8_write(const struct bp_usual8_burst *b, unsigned n, const struct bp_usual_to *to,
	const struct bp_transform_points *p);

/* Reading j of those that bp_usual8_read() found, as bp_usual_judge() has it. */
static inline void bp_usual8_reading(
	const struct bp_usual *u, const struct bp_usual8_burst *b, unsigned j, struct bp_reading *r)
{
	r->frame = b->frame[j];
	r->from[0] = bp_reading_half(r->frame + BP_USUAL_AT_SRC);
	r->from[1] = 0;
	r->rest = ~(uint64_t)b->before[j];
	r->kind = u->kind;
}

#endif
