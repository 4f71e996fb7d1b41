/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_SEND_H
#define BP_DATAPLANE_PORTS_PORT_SEND_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/ports/link.h"
#include "dataplane/workers/mbuf_bytes.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/ports/port_prepare.h"
#include "dataplane/workers/worker.h"

/* Sends frames by a port, and drops those that the driver does not accept. */

/* Number of retries when the driver accepts no frame; then the rest is dropped. */
#define BP_TX_RETRIES 4

/* Bytes in a burst. The sum is known if port_rx counted all of the frames. */
static inline uint64_t bp_port_bytes(
	struct bp_worker *w, uint16_t port, struct rte_mbuf *const *m, uint16_t n)
{
	uint32_t frames = w->tx_precounted[port].frames, bytes = w->tx_precounted[port].bytes;

	w->tx_precounted[port].frames = 0;
	w->tx_precounted[port].bytes = 0;
	return likely(frames == n) ? bytes : bp_mbuf_bytes(m, n);
}

/* Frees frames that were to leave by a port, with a drop reason of group DROP. */
static inline void bp_port_drop(
	struct bp_worker *w, uint16_t port, bp_counter_t reason, struct rte_mbuf **m, uint16_t n)
{
	bp_count_drops(w, port, reason, n);
	bp_stat_add(&w->port_stats[port].tx_dropped, n);
	bp_capture_loss(w, port, reason, m, n);
	rte_pktmbuf_free_bulk(m, n);
}

/* Hands frames to the driver. Returns the number that it accepted. */
static inline uint16_t bp_port_transmit(
	uint16_t port, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(port, queue, m, n);
	unsigned retries = 0;

	while (unlikely(sent < n) && retries < BP_TX_RETRIES) {
		uint16_t more = rte_eth_tx_burst(port, queue, m + sent, (uint16_t)(n - sent));

		sent = (uint16_t)(sent + more);
		retries = more == 0 ? retries + 1 : 0;
	}
	return sent;
}

/* Counts the frames of `bytes` in total of which the driver accepted `sent`, and drops the others.
 */
static inline void bp_port_transmitted(struct bp_worker *w, uint16_t port, struct rte_mbuf **m,
	uint16_t n, uint16_t sent, uint64_t bytes)
{
	struct bp_port_stats *st = &w->port_stats[port];
	uint64_t unsent = 0;

	if (unlikely(sent < n)) {
		unsent = bp_mbuf_bytes(m + sent, (uint16_t)(n - sent));
		bp_port_drop(w, port,
			bp_link_get(port) == BP_LINK_UP ? BP_C_DROP_TX_FULL : BP_C_DROP_TX_DOWN,
			m + sent, (uint16_t)(n - sent));
	}
	bp_stat_add(&st->tx_packets, sent);
	bp_stat_add(&st->tx_bytes, bytes - unsent);
}

/*
 * Sends frames of `bytes` in total on the queue of this worker on a port. Returns the number of
 * sent frames; the others were dropped.
 */
static inline uint16_t bp_port_send(struct bp_worker *w, uint16_t port, uint16_t queue,
	struct rte_mbuf **m, uint16_t n, uint64_t bytes)
{
	uint16_t sent;

	if (unlikely(queue == UINT16_MAX)) {
		bp_port_drop(w, port, BP_C_DROP_NO_OUTPUT_PORT, m, n);
		return 0;
	}
	if (unlikely(bp_link_get(port) == BP_LINK_DOWN)) {
		bp_port_drop(w, port, BP_C_DROP_TX_DOWN, m, n);
		return 0;
	}
	if (unlikely((w->prepare | w->capture_tx) >> port & 1)) {
		if (w->prepare >> port & 1)
			n = bp_port_prepare(w, port, queue, m, n, &bytes);
		if (n == 0)
			return 0;
		if (w->capture_tx >> port & 1)
			return bp_capture_transmit(w, port, queue, m, n, bytes);
	}
	sent = bp_port_transmit(port, queue, m, n);
	bp_port_transmitted(w, port, m, n, sent, bytes);
	return sent;
}

#endif
