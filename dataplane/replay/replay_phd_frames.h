/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_FRAMES_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_FRAMES_H

#include "dataplane/replay/replay_phd_peers.h"
#include "dataplane/workers/worker.h"
#include "services/health/manager.h"

/*
 * Creates a frame with an APDU to a device, from the UDP port `listen`, in a new mbuf with its
 * interface set (bp_exception_interface_set()). The path is that of the forwarding tables; if they
 * have none, it is the interface and MAC on which the device was received. NULL with *no_way:
 * neither is known; without: there is no mbuf.
 */
struct rte_mbuf *bp_replay_phd_frame(struct bp_worker *w, const struct bp_replay_peers *peers,
	const struct bp_phd_peer *to, uint16_t listen, const uint8_t *apdu, size_t len,
	bool *no_way);

#define BP_REPLAY_STORED_MAX 128u
/*
 * Writes the frame by which a CSE acknowledges the request in frame[0..len) as stored: 2.01 Created
 * with response status code 2001, piggybacked on the acknowledgement of a CON (RFC 7252 5.2.1),
 * otherwise a NON. Returns its length in bytes, or 0: `frame` is not a request of this gateway to
 * the CSE.
 */
uint32_t bp_replay_stored_frame(const struct bp_phd_settings *plan, const uint8_t *frame,
	uint32_t len, uint8_t out[BP_REPLAY_STORED_MAX]);

#endif
