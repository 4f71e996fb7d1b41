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
 * A line of gateways, in real time, on one worker:
 *
 *   sources ─▶ in0 [gateway] out0 ─wire─▶ in1 [gateway] out1 ─wire─▶ ... ─▶ sinks
 *                                         ▲
 *                                 best effort, which ends after the same gateway
 *
 * Each gateway is a two-port bridge of the worker's graph. With LCL, `out` is an LCL port and `in`
 * trusts labels; on the first gateway rules add the labels. A flow leaves the line after as many
 * gateways as it has hops.
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
	uint32_t burst;           /* frames per burst of a flow */
	double load, best_effort; /* shares of the link rate: of each flow, and of best effort at
				     each gateway */
};

struct bench_lcl_line;
/* Input of a gateway. */
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
	_Atomic uint64_t from_ns;   /* frames due from then on are counted; 0: none */
	_Atomic bool ended;         /* the sources have ended */
	_Atomic uint64_t taken;     /* time-sensitive frames received by sinks */
	_Atomic pthread_t thread;   /* the worker thread */
	uint64_t best_effort;       /* best-effort frames received */
	uint64_t left;              /* frames on the wires when the worker ended */
	uint64_t polled_ns, gap_ns; /* maximum time between two polls of in0 */
};

/* Each of these functions terminates the process with a message on failure. EAL is running. */
void bench_lcl_line_make(struct bench_lcl_line *l);
/* Starts the worker on lcore 1. */
void bench_lcl_line_launch(struct bench_lcl_line *l);
/* Ends the sources, and the worker once no frame is in flight. */
void bench_lcl_line_stop(struct bench_lcl_line *l);
void bench_lcl_line_free(struct bench_lcl_line *l);

#endif
