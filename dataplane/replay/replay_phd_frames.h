/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_FRAMES_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_FRAMES_H

#include "dataplane/replay/replay_phd_peers.h"
#include "dataplane/workers/worker.h"
#include "services/health/manager.h"

/*
 * A frame of an APDU from us to a device, from the UDP port `listen`, in a fresh mbuf that has its
 * interface (bp_exception_interface_set()). Its way is that of the forwarding tables; where they do
 * not know it, back to where the device was heard. NULL with *no_way: neither is known; without:
 * there is no mbuf.
 */
struct rte_mbuf *bp_replay_phd_frame(struct bp_worker *w, const struct bp_replay_peers *peers,
	const struct bp_phd_peer *to, uint16_t listen, const uint8_t *apdu, size_t len,
	bool *no_way);

#define BP_REPLAY_STORED_MAX 128u
/*
 * The frame in which a CSE says that it stored what is asked for in frame[0..len): 2.01 Created
 * with response status code 2001, piggybacked on the acknowledgement of a CON (RFC 7252 5.2.1),
 * else a NON. Returns its length, or 0: `frame` is no request of ours to the CSE.
 */
uint32_t bp_replay_stored_frame(const struct bp_phd_settings *plan, const uint8_t *frame,
	uint32_t len, uint8_t out[BP_REPLAY_STORED_MAX]);

#endif
