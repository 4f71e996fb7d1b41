/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_LINE_H
#define BP_BENCH_LCL_LCL_LINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/lcl/lcl_sink.h"
#include "bench/lcl/lcl_source.h"
#include "bench/lcl/lcl_wire.h"
#include "dataplane/process/clock.h"
#include "dataplane/ports/ring_ports.h"
#include "dataplane/workers/worker_loop.h"
#include "shm/layout.h"

struct bp_config;

/*
 * Gateways in a line, in real time, on one worker:
 *
 *   sources ─▶ in0 [gateway] out0 ─wire─▶ in1 [gateway] out1 ─wire─▶ ... ─▶ sinks
 *                                         ▲
 *                                 best effort, which leaves behind the same gateway
 *
 * Each gateway is a two-port bridge of the worker's graph; where it schedules, out is an LCL port
 * and in trusts labels, but for the first, where rules add them. Flows leave behind as many
 * gateways as they have hops.
 */
#define BENCH_LCL_LINE_MOST 8u /* gateways */
#define BENCH_LCL_LINE_FLOWS 8u

struct bench_lcl_line_options {
	bool plain; /* ports without LCL */
	unsigned n_flows;
	uint8_t hops[BENCH_LCL_LINE_FLOWS];
	uint64_t budget_ns[BENCH_LCL_LINE_FLOWS];
	uint64_t tau_ns, rate_bps;
	unsigned queues;
	uint32_t burst;           /* frames of a flow's burst */
	double load, best_effort; /* of the rate: of each flow, and at each gateway */
};

struct bench_lcl_line;
/* What comes in at a gateway. */
struct bench_lcl_entry {
	struct bench_lcl_line *line;
	unsigned gateway;
	struct bench_lcl_source best_effort;
};

struct bench_lcl_line {
	struct bench_lcl_line_options o;
	unsigned n; /* gateways */
	struct bp_config *config;
	struct bp_ring_ports ports;
	struct rte_mempool *pool;
	struct bp_shm shm;
	struct bp_fdb fdb;
	struct bp_worker *worker;
	struct bp_clock clock;
	struct bp_worker_args args;
	struct bench_lcl_wire wire[BENCH_LCL_LINE_MOST];
	struct bench_lcl_entry entry[BENCH_LCL_LINE_MOST];
	struct bench_lcl_source source[BENCH_LCL_LINE_FLOWS];
	struct bench_lcl_sink sink[BENCH_LCL_LINE_FLOWS];
	_Atomic uint64_t from_ns;   /* frames that are due from then on are counted; 0: none */
	_Atomic bool ended;         /* sources make no more */
	_Atomic uint64_t taken;     /* time-sensitive frames that came to sinks */
	_Atomic pthread_t thread;   /* the worker's */
	uint64_t best_effort;       /* frames that came through */
	uint64_t left;              /* frames on wires when the worker ended */
	uint64_t polled_ns, gap_ns; /* the worker's longest time between two checks of in0 */
};

/* Each of these ends the process, with a sentence, when something is refused. EAL runs. */
void bench_lcl_line_make(struct bench_lcl_line *l);
/* On lcore 1. */
void bench_lcl_line_launch(struct bench_lcl_line *l);
/* Ends the sources, and when all is through, the worker. */
void bench_lcl_line_stop(struct bench_lcl_line *l);
void bench_lcl_line_free(struct bench_lcl_line *l);

#endif
