/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_ENFORCED_H
#define BP_DATAPLANE_MQTT_ENFORCED_H

#include <rte_graph_worker.h>

#include "dataplane/workers/worker.h"

/* The frames of node mqtt under a policy that refuses packets: inspects and enqueues each. */
void bp_mqtt_enforce_frames(struct bp_worker *w, struct rte_graph *graph, struct rte_node *node,
	struct rte_mbuf **m, uint16_t n);

#endif
