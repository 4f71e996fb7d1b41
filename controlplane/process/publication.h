/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PUBLICATION_H
#define BP_CONTROLPLANE_PROCESS_PUBLICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/service.h"

/*
 * Puts the rules of a configuration in force, those of all services together: they are built aside,
 * and written to the segment as soon as no worker can still read the memory in which they are to
 * be. What the service that is last in the list publishes is in force last, so that a worker that
 * has seen that can see the others; each frame is handled by exactly the old or the new rules of a
 * service.
 */
struct bp_publication;

/* Called once per bp_publication_start() that returned 0, from the event loop. `error`: a sentence
 * when it was refused, and nothing has changed; NULL: they are in force. */
typedef void (*bp_publication_done)(void *arg, const char *error);

/* Of the services whose state is in `x`; NULL without memory. */
struct bp_publication *bp_publication_new(struct bp_plane_context *x);
void bp_publication_free(
	struct bp_publication *p); /* a pending one is forgotten, `done` not called */

/*
 * keep_same: services with generations keep that in force where the configuration says the same.
 * wait_ns: how long to wait for a worker that still reads an earlier generation (0: for ever)
 * before giving up. Returns 0 and calls `done` later (or at once), or -1 with a sentence when the
 * rules cannot be built or another publication is under way. `c` must stay until `done`.
 */
int bp_publication_start(struct bp_publication *p, const struct bp_config *c, bool keep_same,
	uint64_t wait_ns, bp_publication_done done, void *arg, char *err, size_t err_size);

/* Whether one is under way. */
bool bp_publication_busy(const struct bp_publication *p);

#endif
