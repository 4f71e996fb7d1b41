/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_MBUF_FAST_FREE_H
#define BP_DATAPLANE_WORKERS_MBUF_FAST_FREE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

/*
 * Whether all frames of a burst can be freed fast: each a direct mbuf of one segment with a
 * reference count of 1, all of one pool and from one port. Drivers deliver no others, unless they
 * scatter or share mbufs. Computed without a branch from fields that are read in any case.
 */
struct bp_mbuf_fast_free {
	struct rte_mempool *pool;
	uint64_t first;  /* rearm_data of the first mbuf: data offset, references, segments, port */
	uint64_t differ; /* differences of the others, except in the offset; flags; pools */
};

#define BP_MBUF_ONE_HOLDER_ONE_PIECE 0x10001u
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

/* data_off, refcnt, nb_segs and port, from the lowest bit. */
#define BP_MBUF_REARM_PORT 48
static inline uint64_t bp_mbuf_rearm(const struct rte_mbuf *m)
{
	uint64_t v;

	memcpy(&v, &m->rearm_data, sizeof(v));
	return v;
}

/* Called before the first frame. */
static inline struct bp_mbuf_fast_free bp_mbuf_fast_free_begin(const struct rte_mbuf *m)
{
	const uint64_t first = bp_mbuf_rearm(m);

	return (struct bp_mbuf_fast_free){.pool = m->pool,
		.first = first,
		.differ = (uint32_t)(first >> 16) ^ BP_MBUF_ONE_HOLDER_ONE_PIECE};
}

static inline void bp_mbuf_fast_free_add(struct bp_mbuf_fast_free *p, const struct rte_mbuf *m)
{
	p->differ |= (bp_mbuf_rearm(m) ^ p->first) >> 16 |
		     ((uintptr_t)m->pool ^ (uintptr_t)p->pool) |
		     (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL));
}

static inline bool bp_mbuf_fast_free_all(const struct bp_mbuf_fast_free *p)
{
	return p->differ == 0;
}

/* Frees plain frames of one pool. */
static inline void bp_mbuf_free_fast(struct rte_mbuf *const *m, unsigned n)
{
	if (n != 0)
		rte_mempool_put_bulk(m[0]->pool, (void *const *)m, n);
}

#endif
