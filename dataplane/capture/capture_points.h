/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_CAPTURE_CAPTURE_POINTS_H
#define BP_DATAPLANE_CAPTURE_CAPTURE_POINTS_H

#include "dataplane/workers/worker.h"

/* Where frames are captured. Each is called only while a capture of that kind runs. */

#define BP_CAPTURE_INPUT_PORT UINT16_MAX

/* Received frames. */
void bp_capture_received(struct bp_worker *w, uint16_t port, struct rte_mbuf *const *m, uint16_t n);
/* As bp_port_send() on a port whose link is up, with a record of each frame that the driver
 * accepts. */
uint16_t bp_capture_transmit(struct bp_worker *w, uint16_t port, uint16_t queue,
	struct rte_mbuf **m, uint16_t n, uint64_t bytes);
/* The frames of node drop, with their reasons. */
void bp_capture_dropped(struct bp_worker *w, struct rte_mbuf *const *m, uint16_t n);
/* Frames that are lost elsewhere. port: the output port, or BP_CAPTURE_INPUT_PORT. */
void bp_capture_lost(struct bp_worker *w, uint16_t port, bp_counter_t reason,
	struct rte_mbuf *const *m, uint16_t n);

/* Called before frames are freed that were lost outside of node drop. */
static inline void bp_capture_loss(struct bp_worker *w, uint16_t port, bp_counter_t reason,
	struct rte_mbuf *const *m, uint16_t n)
{
	if (unlikely(w->capture_drops))
		bp_capture_lost(w, port, reason, m, n);
}

#endif
