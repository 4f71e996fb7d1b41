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

/* Ports in memory, for replay and tests: what is put in comes in, what goes out is taken out. */
struct bp_ring_ports {
	unsigned n;
	struct rte_ring *in[BP_MAX_PORTS], *out[BP_MAX_PORTS];
	char device[BP_MAX_PORTS][64];
};

/* Starts EAL as a replay or a test needs it: any user, no hugepages, no devices, one lcore. Does
 * nothing when it runs already. Returns 0, or -1 with a sentence. */
int bp_ring_eal(char *err, size_t err_size);
/* The same, with `more` MiB of memory beside what those need that have no wishes. Pages that are
 * not used are not taken. */
int bp_ring_eal_more(unsigned more, char *err, size_t err_size);

/* Makes and starts a port for each of the configuration; ids are the indices. `depth`: frames that
 * a ring holds, a power of two. Returns 0, or -1 with a sentence. */
int bp_ring_ports_create(struct bp_ring_ports *r, const struct bp_config *c, unsigned depth,
	struct rte_mempool *pool, char *err, size_t err_size);
/* Frees the frames that are still in it, too. */
void bp_ring_ports_free(struct bp_ring_ports *r);

/* Puts a frame in, as one buffer or a chain. False: no room. */
bool bp_ring_ports_put(struct bp_ring_ports *r, unsigned port, struct rte_mempool *pool,
	const uint8_t *data, uint32_t len);
/* Takes out the next frame that left by a port, or NULL; the caller frees it. */
struct rte_mbuf *bp_ring_ports_take(struct bp_ring_ports *r, unsigned port);

#endif
