/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_MBUF_STOCK_H
#define BP_DATAPLANE_WORKERS_MBUF_STOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "proto/net/vec16.h"

/*
 * A cache of mbufs for a node that allocates many single-segment frames. rte_pktmbuf_alloc_bulk()
 * reads the data offset of each mbuf and writes its second cache line, and waits for both. A free
 * mbuf of a pool has no next segment, a reference count of 1, and its data where the pool puts it
 * (rte_mbuf_raw_alloc()): so these are written only, and prefetched during other work.
 */
#define BP_STOCK_MOST 255u /* maximum number taken at one time */
#define BP_STOCK_REFILL 64u
#define BP_STOCK_AHEAD 8u

struct bp_mbuf_stock {
	struct rte_mempool *pool; /* created by rte_pktmbuf_pool_create() */
	uint32_t data_at;         /* bytes from an mbuf to its data */
	uint32_t room;            /* bytes of data */
	uint32_t next, n;         /* m[next..n) are available */
	struct rte_mbuf *m[BP_STOCK_MOST + BP_STOCK_REFILL];
};

static inline void bp_mbuf_stock_init(struct bp_mbuf_stock *s, struct rte_mempool *pool)
{
	s->pool = pool;
	s->data_at = (uint32_t)sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(pool) +
		     RTE_PKTMBUF_HEADROOM;
	s->room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	s->next = s->n = 0;
}

static inline uint8_t *bp_mbuf_stock_data(const struct bp_mbuf_stock *s, struct rte_mbuf *m)
{
	return (uint8_t *)m + s->data_at;
}

static inline void bp_mbuf_stock_fetch(const struct bp_mbuf_stock *s, uint32_t i)
{
	__builtin_prefetch(s->m[i], 1, 3);
	__builtin_prefetch(bp_mbuf_stock_data(s, s->m[i]), 1, 3);
}

/* False: the pool has too few. `need`: up to BP_STOCK_MOST. `refill`: number to allocate when the
 * cache must be refilled, if available; up to BP_STOCK_REFILL. */
static inline bool bp_mbuf_stock_fill_by(struct bp_mbuf_stock *s, uint32_t need, uint32_t refill)
{
	uint32_t left = s->n - s->next, more;

	if (likely(left >= need))
		return true;
	for (uint32_t i = 0; i < left; i++)
		s->m[i] = s->m[s->next + i];
	s->next = 0;
	s->n = left;
	more = RTE_MAX(need - left, refill);
	if (unlikely(rte_mempool_get_bulk(s->pool, (void **)&s->m[left], more) != 0)) {
		more = need - left;
		if (rte_mempool_get_bulk(s->pool, (void **)&s->m[left], more) != 0)
			return false;
	}
	s->n = left + more;
	for (uint32_t i = 0; i < RTE_MIN(s->n, BP_STOCK_AHEAD); i++)
		bp_mbuf_stock_fetch(s, i);
	return true;
}

static inline bool bp_mbuf_stock_fill(struct bp_mbuf_stock *s, uint32_t need)
{
	return bp_mbuf_stock_fill_by(s, need, BP_STOCK_REFILL);
}

/* The values that bp_mbuf_stock_begin() writes, as two 16-byte stores. */
#define BP_STOCK_AT(field_, at_)                                                                   \
	_Static_assert(offsetof(struct rte_mbuf, field_) ==                                        \
			       offsetof(struct rte_mbuf, rearm_data) + (at_),                      \
		#field_ " lies where it is written")
BP_STOCK_AT(data_off, 0);
BP_STOCK_AT(refcnt, 2);
BP_STOCK_AT(nb_segs, 4);
BP_STOCK_AT(port, 6);
BP_STOCK_AT(ol_flags, 8);
BP_STOCK_AT(packet_type, 16);
BP_STOCK_AT(pkt_len, 20);
BP_STOCK_AT(data_len, 24);
BP_STOCK_AT(vlan_tci, 26);
BP_STOCK_AT(hash.rss, 28);
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

/* Takes `n` mbufs as frames of `len` bytes with input port `port`. */
static inline void bp_mbuf_stock_begin(
	struct rte_mbuf *const *m, uint32_t n, uint16_t port, uint16_t len)
{
	/* data_off, refcnt 1, nb_segs 1, port; and no flags */
	const bp_v16 rearm = bp_v16_of64(
		RTE_PKTMBUF_HEADROOM | 1ull << 16 | 1ull << 32 | (uint64_t)port << 48, 0);
	/* no packet type, both lengths, nothing else */
	const bp_v16 lens = bp_v16_of64((uint64_t)len << 32, len);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *to = (uint8_t *)&m[i]->rearm_data;

		memcpy(to, &rearm, 16);
		memcpy(to + 16, &lens, 16);
	}
}

/* Takes one as a frame of `len` bytes with input port `port`; the cache is not empty, and `len`
 * fits. */
static inline struct rte_mbuf *bp_mbuf_stock_take(
	struct bp_mbuf_stock *s, uint16_t port, uint16_t len)
{
	struct rte_mbuf *m = s->m[s->next];

	if (likely(s->next + BP_STOCK_AHEAD < s->n))
		bp_mbuf_stock_fetch(s, s->next + BP_STOCK_AHEAD);
	s->next++;
	bp_mbuf_stock_begin(&m, 1, port, len);
	return m;
}

/*
 * Takes the next `n` at s->m[s->next] likewise; the caller has written their data already. If the
 * buffers are in the caches, as those of a burst usually are, a prefetch of each costs more than it
 * gains.
 */
static inline void bp_mbuf_stock_take_bulk(
	struct bp_mbuf_stock *s, uint16_t port, uint16_t len, uint32_t n)
{
	bp_mbuf_stock_begin(&s->m[s->next], n, port, len);
	s->next += n;
}

/* Frees the remaining mbufs. */
static inline void bp_mbuf_stock_return(struct bp_mbuf_stock *s)
{
	if (s->n != s->next)
		rte_mempool_put_bulk(s->pool, (void **)&s->m[s->next], s->n - s->next);
	s->next = s->n = 0;
}

/*
 * Frees frames. Of direct single-segment mbufs with a reference count of 1 (nearly all), only the
 * first cache line is read; m[] is reordered.
 */
static inline void bp_mbuf_free_frames(struct rte_mbuf **m, unsigned n)
{
	struct rte_mempool *pool;
	unsigned whole = 0;

	if (n == 0)
		return;
	pool = m[0]->pool;
	for (unsigned i = 0; i < n; i++) {
		if (likely(m[i]->nb_segs == 1 && rte_mbuf_refcnt_read(m[i]) == 1 &&
			    RTE_MBUF_DIRECT(m[i]) && m[i]->pool == pool))
			m[whole++] = m[i];
		else
			rte_pktmbuf_free(m[i]);
	}
	rte_mempool_put_bulk(pool, (void **)m, whole);
}

#endif
