/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_IDS_H
#define BP_SHM_HEALTH_PHD_IDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The (port, MID) pairs of one worker, as one number: port = first + number % ports, MID = number /
 * ports. A row is the pairs of one MID. A pair is reused only when its last use is more than
 * BP_PHD_ID_LIFETIME_S ago (RFC 7252 4.8.2, EXCHANGE_LIFETIME).
 */
#define BP_PHD_ID_LIFETIME_S 247u
#define BP_PHD_MIDS 65536u
struct bp_phd_ids {
	_Atomic uint64_t next; /* number of the next pair, below ports * BP_PHD_MIDS */
	uint32_t first, ports; /* 0 ports: bp_phd_ids_setup() was not called */
	/* 1 + CLOCK_MONOTONIC second at which the row was begun last; 0: never. By then the last
	 * use of the row before it was over. */
	uint32_t time_s[BP_PHD_MIDS];
} __attribute__((aligned(64)));

/*
 * Divides source ports first..last among the workers, while none of them runs. The existing state
 * stays valid where the division is unchanged; otherwise a pair counts as used when any worker last
 * used its row. At least one port per worker, or false; also false without memory. `start`: the
 * first row of new tables, which should differ each time, because older tables may have been lost.
 */
bool bp_phd_ids_setup(struct bp_phd_ids *ids, unsigned workers, uint16_t first, uint16_t last,
	uint16_t start, uint32_t now_s);
/*
 * n pairs in a row, 1 to 65536 of them: *number is the first; the others follow, the one after the
 * last being 0. False, and nothing is taken: a row that would be begun was last used within
 * BP_PHD_ID_LIFETIME_S. now_s: CLOCK_MONOTONIC second.
 */
bool bp_phd_ids_take(struct bp_phd_ids *i, uint32_t n, uint32_t now_s, uint32_t *number);
/* Pair `k` of those that began at `number`. */
static inline uint16_t bp_phd_id_at(
	const struct bp_phd_ids *i, uint32_t number, uint32_t k, uint16_t *mid)
{
	const uint64_t all = (uint64_t)i->ports * BP_PHD_MIDS, at = (uint64_t)number + k;
	const uint32_t one = (uint32_t)(at < all ? at : at - all);

	*mid = (uint16_t)(one / i->ports);
	return (uint16_t)(i->first + one % i->ports);
}

/* A pair as one word: port << 16 | MID. */
static inline uint32_t bp_phd_pair(uint16_t port, uint16_t mid)
{
	return (uint32_t)port << 16 | mid;
}
/* The share that owns a port; NULL: none. */
static inline const struct bp_phd_ids *bp_phd_ids_of(
	const struct bp_phd_ids *ids, unsigned workers, uint16_t port)
{
	for (unsigned w = 0; w < workers; w++)
		if ((uint32_t)port - ids[w].first < ids[w].ports)
			return &ids[w];
	return NULL;
}
/* Pair `k` of those that began with `pair`, whose port is of this share. */
static inline uint32_t bp_phd_pair_at(const struct bp_phd_ids *i, uint32_t pair, uint32_t k)
{
	uint32_t column = (pair >> 16) - i->first + k;
	uint16_t mid = (uint16_t)pair;

	for (; column >= i->ports; column -= i->ports)
		mid++;
	return bp_phd_pair((uint16_t)(i->first + column), mid);
}

#endif
