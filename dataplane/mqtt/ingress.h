/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_INGRESS_H
#define BP_DATAPLANE_MQTT_INGRESS_H

#include <stdbool.h>

#include "dataplane/workers/worker.h"
#include "proto/net/frame.h"

/*
 * Whether routing forwards a segment received on a routed port, or delivers it to the host. Node
 * mqtt runs before nodes ip4 and ip6, and a segment that those drop must not prove a connection.
 * Called only for unproven connections: it may do two route lookups. No side effects, no counters.
 *
 * Packets that the kernel forwards (IPv4 options, hop-by-hop options, an unresolved next hop) count
 * as forwarded. Tagged frames without a subinterface do not: node ip4 punts them.
 */
bool bp_ingress_is_forwarded(const struct bp_worker *w, uint16_t port, const struct bp_frame *f);

#endif
