/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_PREPARE_H
#define BP_DATAPLANE_PORTS_PORT_PREPARE_H

#include "dataplane/workers/worker.h"

/*
 * What a port needs before its driver gets frames: those that lie in more buffers than it can send
 * (worker.tx_segments) are put together in one, and its driver looks at partial checksums
 * (worker.sends_checksums). For ports of worker.prepare alone.
 *
 * Returns how many of the n > 0 frames are left, the first of `m`; *bytes grows less by the others,
 * which were dropped: too long for one buffer, or there was none (tx_too_many_segments), or their
 * checksum is none that the driver knows (tx_checksum_unsupported). No allocation but of mbufs.
 */
uint16_t bp_port_prepare(struct bp_worker *w, uint16_t port, uint16_t queue, struct rte_mbuf **m,
	uint16_t n, uint64_t *bytes);

#endif
