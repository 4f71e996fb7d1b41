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
 * Reports of health devices in, requests to the CSE out. From the capture as fast as the worker
 * takes them, or (wire.rate) from bench/lcl/wire.h, which loses what the worker does not take in
 * time.
 */
struct bench_phd {
	uint32_t sessions; /* 0: no health devices */
	uint32_t apdu;     /* bytes of a report */
	bool each;         /* an instance an object */
	bool stored;       /* the CSE answers */
	bool mixed;        /* the frames come from another (bench/mix/mix.h) */
	const char *store; /* file of the control plane's, where it takes devices up meanwhile */
	struct bench_wire wire;
	struct bench_phd_input input;
	struct bench_phd_cse cse;
	uint8_t *frames;
};

/* The device of port 1. */
const char *bench_phd_cse_device(const struct bench_phd *p);
void bench_phd_configuration(const struct bench_phd *p, FILE *f);

/* The ports are started, and `writer` led the routes of bench_routes_set_up(). Of the worker all
 * but `health` and the graph is there. Ends the process when something is refused. */
void bench_phd_set_up(struct bench_phd *p, struct bp_worker *w, const struct bp_config *c,
	struct bp_fib_writer *writer, struct rte_mempool *pool);
/* Receive queues of the worker; returns how many. */
unsigned bench_phd_queues(const struct bench_phd *p, struct bp_rx_queue queues[2]);
/* After the worker has ended: whether its counters prove the work; prints members of a JSON object.
 * `others`: frames of port 0 that were made something else by others. */
bool bench_phd_report(const struct bench_phd *p, const struct bp_shm *shm, uint64_t others);

#endif
