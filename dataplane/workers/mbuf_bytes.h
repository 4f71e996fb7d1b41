/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_MBUF_BYTES_H
#define BP_DATAPLANE_WORKERS_MBUF_BYTES_H

#include <stdint.h>

#include <rte_mbuf.h>

/* Bytes in a burst. Four independent sums, so that an addition does not wait for the one before. */
static inline uint64_t bp_mbuf_bytes(struct rte_mbuf *const *m, uint16_t n)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;
	uint16_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		a += m[i]->pkt_len;
		b += m[i + 1]->pkt_len;
		c += m[i + 2]->pkt_len;
		d += m[i + 3]->pkt_len;
	}
	for (; i < n; i++)
		a += m[i]->pkt_len;
	return a + b + c + d;
}

#endif
