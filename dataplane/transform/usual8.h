/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_USUAL8_H
#define BP_DATAPLANE_TRANSFORM_USUAL8_H

#include <rte_mbuf.h>

#include "dataplane/transform/usual.h"

/*
 * bp_usual_judge() of eight frames at a time, for processors with AVX-512: of the paper's packet of
 * 40 octets, which bp_usual_is_paper() says.
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

#endif
