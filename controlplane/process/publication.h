/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PUBLICATION_H
#define BP_CONTROLPLANE_PROCESS_PUBLICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/service.h"

/*
 * Activates the rules of a configuration, those of all services: they are built in private memory,
 * and written to the segment as soon as no worker can still read the memory for them. The rules of
 * the service that is last in the list are activated last: a worker that uses them can see all
 * others. Each frame is handled by exactly the old or the new rules of a service.
 */
struct bp_publication;

/* Called once per bp_publication_start() that returned 0, from the event loop. `error`: a sentence
 * if it was rejected, and nothing has changed; NULL: the rules are active. `retry`: the rules are
 * not the reason, but a worker that is behind. */
typedef void (*bp_publication_done)(void *arg, const char *error, bool retry);

/* Of the services whose state is in `x`; NULL without memory. */
struct bp_publication *bp_publication_new(struct bp_plane_context *x);
void bp_publication_free(
	struct bp_publication *p); /* a pending one is forgotten, `done` not called */

/*
 * keep_same: services with generations keep the active one if the configuration is unchanged.
 * wait_ns: how long to wait for a worker that still reads an earlier generation (0: for ever)
 * before it fails. Returns 0 and calls `done` later (or immediately), or -1 with a sentence if the
 * rules cannot be built or another publication is pending. `c` must stay valid until `done`.
 */
int bp_publication_start(struct bp_publication *p, const struct bp_config *c, bool keep_same,
	uint64_t wait_ns, bp_publication_done done, void *arg, char *err, size_t err_size);

/* Whether one is pending. */
bool bp_publication_busy(const struct bp_publication *p);

#endif
