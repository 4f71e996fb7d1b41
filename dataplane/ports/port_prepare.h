/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_PREPARE_H
#define BP_DATAPLANE_PORTS_PORT_PREPARE_H

#include "dataplane/workers/worker.h"

/*
 * Prepares frames for the driver of a port in worker.prepare; no other port needs it. Frames with
 * more segments than the port can send (worker.tx_segments) are linearized, and the driver checks
 * partial checksums (worker.sends_checksums). Returns how many of the n > 0 frames remain, as the
 * first of `m`. *bytes is reduced by the bytes of the dropped frames: too long for one buffer, or
 * no mbuf (tx_too_many_segments), or a checksum that the driver does not support
 * (tx_checksum_unsupported). Allocates only mbufs.
 */
uint16_t bp_port_prepare(struct bp_worker *w, uint16_t port, uint16_t queue, struct rte_mbuf **m,
	uint16_t n, uint64_t *bytes);

#endif
