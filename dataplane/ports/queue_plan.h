/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_QUEUE_PLAN_H
#define BP_DATAPLANE_PORTS_QUEUE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * Which worker polls which receive queue and sends on which transmit queue. A pure function of the
 * configuration and of what the ports can do. Both directions of a TCP connection, which arrive on
 * different ports of a bridge, must meet one worker: so a bridge is spread over the workers only
 * when all its ports share out their frames by the same symmetric hash; else one worker serves it
 * whole. The ports that route are one such group; what is routed may leave by any of them, and by
 * the bridges that have a host interface.
 */
#define BP_MAX_QUEUES 256

/* How a port shares out frames among its receive queues. */
enum bp_spread {
	BP_SPREAD_NONE,   /* one queue, or by a hash that isn't known */
	BP_SPREAD_RSS,    /* Toeplitz with a key that we choose */
	BP_SPREAD_FANOUT, /* the kernel's PACKET_FANOUT_HASH, which is symmetric */
};

struct bp_port_caps {
	enum bp_spread spread;
	uint16_t max_rx, max_tx;
	bool all_queues;    /* the device feeds all max_rx queues, whether we poll them or not */
	uint16_t wanted;    /* ports[].rx_queues; 0: as many as there are workers */
	uint64_t rss;       /* RTE_ETH_RSS_* that the driver can hash over */
	uint16_t reta_size; /* entries of the redirection table; 0: none */
};

struct bp_port_queues {
	uint16_t n_rx, n_tx;
	uint8_t rx_worker[BP_MAX_QUEUES];  /* by receive queue */
	uint16_t tx_queue[BP_MAX_WORKERS]; /* by worker; UINT16_MAX: this worker never sends here */
	uint64_t rss;                      /* what to hash over; 0: no RSS */
	uint16_t reta_base; /* entry i of the redirection table is (i % reta_base) % n_rx */
};

struct bp_bridge_workers {
	bool spread;
	uint8_t worker; /* when not spread */
	char why[160];  /* when not spread though there are several workers: a sentence */
};

struct bp_queue_plan {
	unsigned n_workers;
	struct bp_port_queues port[BP_MAX_PORTS];
	struct bp_bridge_workers bridge[BP_MAX_BRIDGES];
	struct bp_bridge_workers router; /* of all ports that route */
};

void bp_queue_plan_make(
	const struct bp_config *c, const struct bp_port_caps *caps, struct bp_queue_plan *plan);

/* The worker that a port's scheduler runs on, where it has one: the first that polls it, and the
 * only one that sends on it. */
uint8_t bp_queue_plan_owner(const struct bp_queue_plan *plan, unsigned port);

/* Set of workers that poll a port; bit per worker. */
uint64_t bp_queue_plan_workers(const struct bp_queue_plan *plan, unsigned port);

#endif
