/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_LINK_H
#define BP_DATAPLANE_PORTS_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

/*
 * What is known of each port's link. The main thread asks the drivers (which may take a system
 * call) a few times a second and writes here; workers read one byte a burst.
 *
 * A network card's word is taken: nothing is sent on a link that is down, so that no stale frame
 * waits in its queue for the link to return. The drivers of virtual devices can be wrong (an
 * interface that was moved to another network namespace looks down to net_tap): there a frame is
 * offered all the same, and the link only tells why it was not taken.
 */
enum bp_link { BP_LINK_UP, BP_LINK_DOWN, BP_LINK_UNCERTAIN };

extern _Atomic uint8_t bp_link[BP_MAX_PORTS]; /* enum bp_link */

/* How often a link that was up was no longer: who holds frames back sends them then. Written by the
 * main thread. */
extern _Atomic uint32_t bp_link_losses;

static inline enum bp_link bp_link_get(uint16_t port)
{
	return (enum bp_link)atomic_load_explicit(&bp_link[port], memory_order_relaxed);
}

/* Main thread: forgets everything. */
void bp_link_reset(void);
/* Main thread: the port sits on an interface of the kernel, which knows better than the driver:
 * from now on it is asked (af_packet's link is always up). An interface that is in another network
 * namespace by now counts as up. */
void bp_link_watch(uint16_t port, unsigned ifindex);
/* Main thread: whether the kernel told the state of a watched port's interface when it was polled
 * last.
 */
bool bp_link_is_certain(uint16_t port);
/* Main thread: asks the driver of one port; `trust`: its word is taken. A link counts as down only
 * after it was seen up: some drivers never report one. Returns whether the driver says that it is
 * up. */
bool bp_link_poll(uint16_t port, bool trust);

#endif
