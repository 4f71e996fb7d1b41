/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_LINK_H
#define BP_DATAPLANE_PORTS_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

/*
 * The link state of each port. The main thread polls the drivers (which may take a system call) a
 * few times a second and writes here; workers read one byte per burst. The state of a network card
 * is reliable: no frame is sent on a link that is down, so that no stale frame waits in its queue
 * until the link is up again. The drivers of virtual devices can report a wrong state (net_tap
 * reports down for an interface that was moved to another network namespace): there a frame is sent
 * in any case, and the link state only gives the reason if the driver rejects it.
 */
enum bp_link { BP_LINK_UP, BP_LINK_DOWN, BP_LINK_UNCERTAIN };

extern _Atomic uint8_t bp_link[BP_MAX_PORTS]; /* enum bp_link */

/*
 * Number of transitions from up to down. Services that hold frames send them when it changes.
 * Written by the main thread.
 */
extern _Atomic uint32_t bp_link_losses;

static inline enum bp_link bp_link_get(uint16_t port)
{
	return (enum bp_link)atomic_load_explicit(&bp_link[port], memory_order_relaxed);
}

/* Main thread: resets all state. */
void bp_link_reset(void);
/*
 * Main thread: the port uses an interface of the kernel, whose link state is read from the kernel
 * from now on, because the driver is less reliable (the link of af_packet is always up). An
 * interface that is now in another network namespace counts as up.
 */
void bp_link_watch(uint16_t port, unsigned ifindex);
/*
 * Main thread: whether the kernel reported the link state of the interface of a watched port at the
 * last poll.
 */
bool bp_link_is_certain(uint16_t port);
/*
 * Main thread: polls the driver of one port. `trust`: the reported state is reliable. A link counts
 * as down only after it was up once: some drivers never report a link. Returns whether the driver
 * reports up.
 */
bool bp_link_poll(uint16_t port, bool trust);

#endif
