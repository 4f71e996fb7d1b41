/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_NETWORK_H
#define BIPLANE_LCL_SIM_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/sim/lcl/events.h"
#include "apps/sim/lcl/measure.h"
#include "apps/sim/lcl/port.h"
#include "apps/sim/lcl/source.h"

#define LSIM_FLOWS_MAX 4096u
#define LSIM_PORTS_MAX 4096u

struct lsim_flow {
	char name[24];
	struct lsim_source source;
	uint64_t budget_ns;                  /* d0 */
	uint8_t hops;                        /* n0, nodes on its path */
	bool best_effort;                    /* no label: d0 is unused, and it has one hop */
	uint16_t route[BP_LCL_HOPS_MAX];     /* ports, in this order */
	uint64_t last_slot[BP_LCL_HOPS_MAX]; /* state for services/lcl/scheduler.h, at each */
	struct lsim_measured measured;
	struct lsim_next next; /* frame that it sends */
};

/*
 * Output ports, flows over them, and the simulation between them: each source, port and link has
 * one next event. Store and forward: a frame arrives at the next node with its last bit.
 */
struct lsim_network {
	struct lsim_port *ports;
	struct lsim_flow *flows;
	uint32_t n_ports, n_flows;
	uint64_t tau_ns;
	uint64_t series_ps; /* length of a window; 0: none */

	struct lsim_events events; /* flows, then ports, then the links after them */
	struct lsim_frame *spare;  /* that are not in use */
	void **blocks;             /* of memory that frames are in */
	uint32_t n_blocks;
	uint64_t frames;         /* remaining time-sensitive frames to send */
	uint64_t in_use;         /* frames in transit, including best effort */
	uint64_t now_ps, end_ps; /* end: the last frame was sent */
	uint64_t departures;     /* frames by hops */
	bool no_memory;
};

/* Allocates these numbers; the caller fills in ports and flows. 0, or -1: no memory. */
int lsim_network_init(struct lsim_network *w, uint32_t ports, uint32_t flows);
void lsim_network_free(struct lsim_network *w);

/* Runs the sources until `frames` time-sensitive frames were sent, and the network until it is
 * empty. NULL, or an error of a scheduler, or no memory. */
const char *lsim_network_run(struct lsim_network *w, uint64_t frames);

#endif
