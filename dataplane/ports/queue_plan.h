/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_QUEUE_PLAN_H
#define BP_DATAPLANE_PORTS_QUEUE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * Assigns receive and transmit queues to workers. It is a pure function of the configuration and
 * the capabilities of the ports. With inspection, both directions of a TCP connection, which arrive
 * on different ports of a bridge, must reach the same worker: so a bridge is distributed over the
 * workers only if all its ports distribute their frames by the same symmetric hash; otherwise one
 * worker serves the whole bridge. All other services need only the frames of a flow in one queue,
 * in order, which also devices without such a hash do. The routed ports are one such group; routed
 * packets may leave by any of them, and by the bridges that have a host interface.
 */
#define BP_MAX_QUEUES 256

/* How a port distributes frames among its receive queues. */
enum bp_spread {
	BP_SPREAD_NONE,   /* one queue, or by an unknown hash */
	BP_SPREAD_RSS,    /* Toeplitz with our key */
	BP_SPREAD_FANOUT, /* PACKET_FANOUT_HASH of the kernel, which is symmetric */
	BP_SPREAD_FLOWS,  /* the device or its peer puts each flow into a queue of its choice */
};

struct bp_port_caps {
	enum bp_spread spread;
	uint16_t max_rx, max_tx;
	/* the device delivers to all max_rx queues, even those that are not polled */
	bool all_queues;
	bool queue_pairs;   /* it needs as many transmit queues as receive queues */
	uint16_t wanted;    /* ports[].rx_queues; 0: the number of workers */
	uint64_t rss;       /* RTE_ETH_RSS_* that the driver can hash over */
	uint16_t reta_size; /* entries of the redirection table; 0: none */
};

struct bp_port_queues {
	uint16_t n_rx, n_tx;
	uint8_t rx_worker[BP_MAX_QUEUES]; /* by receive queue */
	/* by worker; UINT16_MAX: this worker does not send here */
	uint16_t tx_queue[BP_MAX_WORKERS];
	uint64_t rss;       /* hash types; 0: no RSS */
	uint16_t reta_base; /* entry i of the redirection table is (i % reta_base) % n_rx */
};

struct bp_bridge_workers {
	bool spread;
	uint8_t worker; /* if not distributed */
	char why[160];  /* if not distributed although there are several workers: the reason */
};

struct bp_queue_plan {
	unsigned n_workers;
	struct bp_port_queues port[BP_MAX_PORTS];
	struct bp_bridge_workers bridge[BP_MAX_BRIDGES];
	struct bp_bridge_workers router; /* for all routed ports */
};

void bp_queue_plan_make(
	const struct bp_config *c, const struct bp_port_caps *caps, struct bp_queue_plan *plan);

/*
 * The worker that runs the scheduler of a port, if it has one: the first worker that polls the
 * port, and the only one that sends on it.
 */
uint8_t bp_queue_plan_owner(const struct bp_queue_plan *plan, unsigned port);

/* Bit set of the workers that poll a port. */
uint64_t bp_queue_plan_workers(const struct bp_queue_plan *plan, unsigned port);

#endif
