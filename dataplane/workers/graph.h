/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_GRAPH_H
#define BP_DATAPLANE_WORKERS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/workers/worker.h"

struct bp_config;

/* A receive queue that a worker polls. */
struct bp_rx_queue {
	uint16_t port, queue;
	bool partial_checksums; /* the driver marks frames with a partial checksum */
	bool qinq_fix, set_port, restore_tags, distrust, chains; /* see BP_RX_F_* */
};

/* Sets the data of a worker about ports and bridges. All tx_queue become 0. */
void bp_worker_bridges(struct bp_worker *w, const struct bp_config *c);

/* Applies the offload decisions of a port; see struct bp_worker. */
void bp_worker_offloads(struct bp_worker *w, unsigned port, bool leaves_checksums,
	bool sends_checksums, uint8_t tx_segments);

/*
 * Builds the graph `name` of a worker whose other fields are complete, with one source node per
 * queue. A worker without queues gets no graph (w->graph is NULL). DPDK keeps nodes until the
 * process ends: a graph can be rebuilt after bp_graph_free(), with the same number of ports.
 * Returns 0, or -1 with a message in `err`.
 */
int bp_graph_build(struct bp_worker *w, const char *name, unsigned n_ports,
	const struct bp_rx_queue *queues, unsigned n_queues, char *err, size_t err_size);
void bp_graph_free(struct bp_worker *w);

/*
 * Connects the source of each port to the node w->enter, with the burst size of w->small_burst.
 * Called between two walks of this worker.
 */
void bp_graph_enter(struct bp_worker *w);

#endif
