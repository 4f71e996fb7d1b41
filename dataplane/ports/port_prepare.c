/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/port_prepare.h"

#include <rte_ethdev.h>

#include "biplane/counters/general.h"
#include "dataplane/ports/port_send.h"

static void lose(
	struct bp_worker *w, uint16_t port, bp_counter_t why, struct rte_mbuf *m, uint64_t *bytes)
{
	*bytes -= m->pkt_len;
	bp_port_drop(w, port, why, &m, 1);
}

/* Returns the frame in one buffer. NULL: it is longer than a buffer, or there is no mbuf. */
static struct rte_mbuf *one_buffer(struct bp_worker *w, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	/* appends the other segments to the first, if no other mbuf shares its buffer */
	if (RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 && rte_pktmbuf_linearize(m) == 0)
		return m;
	if (m->pkt_len > (uint32_t)rte_pktmbuf_data_room_size(w->pool) - RTE_PKTMBUF_HEADROOM)
		return NULL;
	copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
	if (copy)
		rte_pktmbuf_free(m);
	return copy;
}

static uint16_t put_together(
	struct bp_worker *w, uint16_t port, struct rte_mbuf **m, uint16_t n, uint64_t *bytes)
{
	const uint8_t most = w->tx_segments[port];
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *one = m[i];

		if (unlikely(one->nb_segs > most)) {
			one = one_buffer(w, m[i]);
			if (one == NULL) {
				lose(w, port, BP_C_DROP_TX_TOO_MANY_SEGMENTS, m[i], bytes);
				continue;
			}
			bp_count(w, BP_C_TX_LINEARIZED, 1);
		}
		m[kept++] = one;
	}
	return kept;
}

/*
 * Calls the prepare function of the driver. Some drivers modify or reject frames there; without
 * this call, a rejected frame could stop a queue.
 */
static uint16_t query_driver(struct bp_worker *w, uint16_t port, uint16_t queue,
	struct rte_mbuf **m, uint16_t n, uint64_t *bytes)
{
	uint16_t done = 0;

	while (done < n) {
		done = (uint16_t)(done +
				  rte_eth_tx_prepare(port, queue, m + done, (uint16_t)(n - done)));
		if (done == n)
			break;
		lose(w, port, BP_C_DROP_TX_CHECKSUM_UNSUPPORTED, m[done], bytes);
		n--;
		for (uint16_t i = done; i < n; i++)
			m[i] = m[i + 1];
	}
	return n;
}

uint16_t bp_port_prepare(struct bp_worker *w, uint16_t port, uint16_t queue, struct rte_mbuf **m,
	uint16_t n, uint64_t *bytes)
{
	if (w->tx_segments[port] != 0)
		n = put_together(w, port, m, n, bytes);
	if (w->sends_checksums >> port & 1)
		n = query_driver(w, port, queue, m, n, bytes);
	return n;
}
