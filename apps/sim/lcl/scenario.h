/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_SCENARIO_H
#define BIPLANE_LCL_SIM_SCENARIO_H

#include <stdint.h>

#include "apps/sim/lcl/network.h"

enum lsim_scenario {
	LSIM_MA,     /* Table 1 and Figure 4(b): three nodes in a line, flows of 1, 2, 3, 3 hops */
	LSIM_CHAIN,  /* a flow over all nodes of a line, and cross traffic that joins at each for
			some hops */
	LSIM_RANDOM, /* ports, and flows over random ways through them */
};

enum lsim_phases {
	LSIM_STAGGERED, /* three-nodes: bursts in turn, never at the same time */
	LSIM_WANDERING, /* each source has a random phase and its own rate */
};

struct lsim_scenario_options {
	enum lsim_scenario scenario;
	enum lsim_phases phases;
	enum lsim_kind source; /* of time-sensitive flows */
	struct lsim_port_options port;
	uint64_t seed;
	uint64_t budget_ns; /* d0; 0: that of the paper, or the guaranteed one for this number of
			       hops */
	unsigned hops;      /* chain: nodes; random: of the longest path */
	unsigned nodes;     /* random: output ports */
	unsigned flows;     /* chain: that join at each node; random: in all */
	unsigned bytes;     /* time-sensitive frames, without checksum */
	double load;        /* chain, random: of a slot, how much may be meant for it at most */
	uint64_t best_effort_bps; /* at each port; 0: none */
};

/*
 * Creates the network. port.lcl.queues 0: the number that the labels need; port.lcl.queue_frames 0:
 * the maximum frames of a slot. Both are written back. NULL, or an error message.
 */
const char *lsim_scenario_make(struct lsim_network *w, struct lsim_scenario_options *o);

#endif
