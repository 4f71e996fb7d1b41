/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_TURN_H
#define BP_DATAPLANE_HEALTH_TURN_H

#include "dataplane/nodes/edge_batch.h"
#include "dataplane/health/answers.h"
#include "dataplane/health/datagram.h"
#include "dataplane/health/way_out.h"

/* What the steps of node phd share. */

#define BP_PHD_STEP 64u /* datagrams worked on together */

/* Sums of a burst's usual reports (dataplane/health/usual.h). */
struct bp_phd_usual_sums {
	uint64_t reports, confirmed, observations, unacknowledged;
};

/* A burst on its way through the node. */
struct bp_phd_turn {
	struct rte_graph *graph;
	struct rte_node *node;
	struct bp_worker *w;
	struct bp_phd_worker *h;
	struct bp_edge_batch out; /* the requests that are written into the devices' own mbufs */
	struct bp_way_out cse;    /* where they leave */
	bool cse_known;           /* and whether that is known */
	uint32_t room;            /* octets of a frame that fit there, and into a fresh mbuf */
	struct bp_answers answers;

	/* of usual reports */
	struct bp_phd_usual_sums usual;
	uint64_t ether_first; /* bp_ethernet_write() */
	uint32_t ether_rest;
	uint16_t sent_time; /* bp_phd_sent_time() of now */
	bool stored;        /* `confirm: stored` */
};

/* The datagrams of a step. */
struct bp_phd_heads {
	struct bp_datagram d[BP_PHD_STEP];
	uint64_t from[BP_PHD_STEP][2]; /* words of the sender's address */
	uint64_t hash[BP_PHD_STEP];
	uint32_t candidate[BP_PHD_STEP]; /* the slot that is his, most likely */
};

#endif
