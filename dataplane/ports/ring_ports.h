/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_RING_PORTS_H
#define BP_DATAPLANE_PORTS_RING_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * Ports in memory, for replay and tests: frames of ring `in` are received, and sent frames are in
 * ring `out`.
 */
struct bp_ring_ports {
	unsigned n;
	struct rte_ring *in[BP_MAX_PORTS], *out[BP_MAX_PORTS];
	char device[BP_MAX_PORTS][64];
};

/*
 * Starts EAL as a replay or a test needs it: any user, no hugepages, no devices, one lcore. No
 * effect if it is running. Returns 0, or -1 with a message in `err`.
 */
int bp_ring_eal(char *err, size_t err_size);
/*
 * The same, with `more` MiB of memory in addition to the default. Unused pages are not allocated.
 */
int bp_ring_eal_more(unsigned more, char *err, size_t err_size);

/*
 * Creates and starts one port for each port of the configuration; the ids are the indices. `depth`:
 * frames that a ring holds, a power of two. Returns 0, or -1 with a message in `err`.
 */
int bp_ring_ports_create(struct bp_ring_ports *r, const struct bp_config *c, unsigned depth,
	struct rte_mempool *pool, char *err, size_t err_size);
/* Frees the ports and the frames that are still in them. */
void bp_ring_ports_free(struct bp_ring_ports *r);

/* Enqueues a frame as received, as one buffer or a chain. False: the ring is full. */
bool bp_ring_ports_put(struct bp_ring_ports *r, unsigned port, struct rte_mempool *pool,
	const uint8_t *data, uint32_t len);
/* Dequeues the next frame that was sent by a port, or NULL; the caller frees it. */
struct rte_mbuf *bp_ring_ports_take(struct bp_ring_ports *r, unsigned port);

#endif
