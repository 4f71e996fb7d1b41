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
	bool partial_checksums; /* the driver tells frames whose checksum is partial */
	bool qinq_fix, set_port, restore_tags, distrust; /* see BP_RX_F_* */
};

/* Fills what a worker needs to know of ports and bridges; tx_queue becomes 0 everywhere. */
void bp_worker_bridges(struct bp_worker *w, const struct bp_config *c);

/* What was decided of a port's offloads; see struct bp_worker. */
void bp_worker_offloads(struct bp_worker *w, unsigned port, bool leaves_checksums,
	bool sends_checksums, uint8_t tx_segments);

/*
 * Builds the graph `name` of a worker whose other fields are complete, with one source node per
 * queue. A worker without queues gets no graph (w->graph is NULL). Nodes are DPDK's for the life of
 * the process: a graph may be built again after bp_graph_free(), with the same number of ports.
 * Returns 0, or -1 with a sentence.
 */
int bp_graph_build(struct bp_worker *w, const char *name, unsigned n_ports,
	const struct bp_rx_queue *queues, unsigned n_queues, char *err, size_t err_size);
void bp_graph_free(struct bp_worker *w);

/* Makes the frames of each port enter where w->enter says, in bursts as w->small_burst says;
 * between two nodes of this worker. */
void bp_graph_enter(struct bp_worker *w);

#endif
