/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_HANDOVER_H
#define BP_DATAPLANE_LCL_HANDOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ring.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * What workers share of LCL ports: which worker owns each, and the rings in which the others hand
 * it their frames. One writer after creation: none; rings and flags are made for several.
 */
struct bp_lcl_handover {
	struct rte_ring *ring; /* of mbufs; many producers, the owner takes */
	_Atomic uint64_t full; /* frames that it had no room for */
	uint8_t owner;         /* index of the worker */
};

struct bp_lcl_shared {
	unsigned n; /* as in the configuration's lcl.ports */
	struct bp_lcl_handover port[BP_MAX_PORTS];
	/* Workers that may still hand over frames: an owner that stops waits for them. */
	_Atomic bool producing[BP_MAX_WORKERS];
};

/* `owner[i]`: of entry i of lcl.ports. NULL with a sentence. */
struct bp_lcl_shared *bp_lcl_shared_create(
	const struct bp_config *c, const uint8_t *owner, char *err, size_t err_size);
/* Frees what is left in the rings, too; NULL is allowed. */
void bp_lcl_shared_free(struct bp_lcl_shared *s);

/* Before a worker is started, and when it has handed over its last frame. */
void bp_lcl_shared_producing(struct bp_lcl_shared *s, unsigned worker, bool on);
/* Whether some worker may still hand over frames. */
bool bp_lcl_shared_busy(const struct bp_lcl_shared *s);

#endif
