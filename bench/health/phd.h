/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_H
#define BP_BENCH_HEALTH_PHD_H

#include <stdio.h>

#include "bench/health/phd_cse.h"
#include "bench/health/phd_input.h"
#include "bench/health/phd_place.h"
#include "bench/lcl/wire.h"
#include "dataplane/workers/graph.h"

/*
 * Health device benchmark: reports in, requests to the CSE out. Frames come from the capture as
 * fast as the worker polls, or (wire.rate) from the rate generator of bench/lcl/wire.h, whose ring
 * overflows if the worker is too slow.
 */
struct bench_phd {
	uint32_t sessions; /* 0: no health devices */
	uint32_t apdu;     /* bytes per report */
	bool each;         /* one content instance per object */
	bool stored;       /* the CSE answers */
	bool mixed;        /* the frames come from bench/mix/mix.h */
	const char *store; /* store of the control plane, which registers devices during the
			      measurement */
	struct bench_wire wire;
	struct bench_phd_input input;
	struct bench_phd_cse cse;
	uint8_t *frames;
};

/* The device of port 1. */
const char *bench_phd_cse_device(const struct bench_phd *p);
void bench_phd_configuration(const struct bench_phd *p, FILE *f);

/* Call it after the ports are started and the routes of bench_routes_set_up() are in `writer`. The
 * worker is complete except for `health` and the graph. Terminates the process on failure. */
void bench_phd_set_up(struct bench_phd *p, struct bp_worker *w, const struct bp_config *c,
	struct bp_fib_writer *writer, struct rte_mempool *pool);
/* Sets the receive queues of the worker; returns their number. */
unsigned bench_phd_queues(const struct bench_phd *p, struct bp_rx_queue queues[2]);
/* Call it after the worker has ended: checks the counters and prints members of a JSON object.
 * `others`: frames of port 0 that other callbacks replaced. */
bool bench_phd_report(const struct bench_phd *p, const struct bp_shm *shm, uint64_t others);

#endif
