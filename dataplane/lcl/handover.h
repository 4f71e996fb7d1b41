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
 * The state of LCL ports that workers share: the owner of each port, and the rings in which other
 * workers hand frames over to the owner. It is not modified after creation, except for the rings
 * and flags, which are safe for several writers.
 */
struct bp_lcl_handover {
	struct rte_ring *ring; /* of mbufs; many producers, the owner takes */
	_Atomic uint64_t full; /* frames dropped because the ring was full */
	uint8_t owner;         /* index of the worker */
};

struct bp_lcl_shared {
	unsigned n; /* as in the configuration's lcl.ports */
	struct bp_lcl_handover port[BP_MAX_PORTS];
	/* Workers that may still hand over frames. An owner that stops waits for them. */
	_Atomic bool producing[BP_MAX_WORKERS];
};

/*
 * `owner[i]` is the worker that owns entry i of lcl.ports. The caller frees the result with
 * bp_lcl_shared_free(). NULL on error, with a message in `err`.
 */
struct bp_lcl_shared *bp_lcl_shared_create(
	const struct bp_config *c, const uint8_t *owner, char *err, size_t err_size);
/* Frees `s` and the frames that are left in its rings. NULL is allowed. */
void bp_lcl_shared_free(struct bp_lcl_shared *s);

/*
 * Called with true before a worker starts, and with false after it has handed over its last frame.
 */
void bp_lcl_shared_producing(struct bp_lcl_shared *s, unsigned worker, bool on);
/* Whether any worker may still hand over frames. */
bool bp_lcl_shared_busy(const struct bp_lcl_shared *s);

#endif
