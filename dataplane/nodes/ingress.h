/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_INGRESS_H
#define BP_DATAPLANE_NODES_INGRESS_H

#include <stdbool.h>

#include "dataplane/worker.h"
#include "proto/frame.h"

/*
 * Whether a segment that came in on a routed port goes on: node mqtt reads before nodes ip4 and ip6
 * route, and what those drop must prove no connection. Asked of connections that have proven
 * nothing yet, so it may take a lookup or two. Changes nothing, and counts nothing.
 *
 * What the kernel forwards in our place (IPv4 options, hop-by-hop options, a next hop without MAC)
 * goes on; frames under a tag, and of any type that nodes ip4 and ip6 give to the kernel, do not.
 */
bool bp_ingress_goes_on(const struct bp_worker *w, uint16_t port, const struct bp_frame *f);

#endif
