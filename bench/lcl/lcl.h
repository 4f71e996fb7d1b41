/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_H
#define BP_BENCH_LCL_LCL_H

#include <stdio.h>

#include "dataplane/process/clock.h"
#include "dataplane/workers/worker.h"

/*
 * LCL scheduling with one worker, in virtual time at full load: labelled frames of
 * bench/lcl/lcl_frames.h arrive on a trusted port and leave on an LCL port. The clock of the worker
 * advances only with the frames, by the transmission time of each. So the scheduler is offered
 * exactly the link rate, at any speed of the worker.
 */
struct bench_lcl {
	bool on;
	bool real;              /* in real time, and the frames come from bench/mix/mix.h */
	struct bp_clock *clock; /* the worker's clock */
	uint32_t next;          /* frame */
	uint64_t ps;            /* time below one nanosecond */
	uint64_t outside;       /* value at the end of the measurement */
};

void bench_lcl_configuration(FILE *f);
/* Call it after the ports are started. The worker is complete except for `lcl` and the graph; only
 * this code sets `clock`. Terminates the process on failure. */
void bench_lcl_set_up(struct bench_lcl *l, struct bp_clock *clock);
/* Receive callback: continues the sequence numbers, which restart in the replayed capture. */
uint16_t bench_lcl_sequence_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);
/* Sums of the flow counters of the LCL port. */
struct bench_lcl_flows {
	uint64_t n, frames, missing, reordered, late, labelled;
};
struct bench_lcl_flows bench_lcl_flows(const struct bp_shm *shm);
/* Records the counters at the end of the measurement, before the worker is stopped, because
 * stopping flushes frames early. */
void bench_lcl_note(struct bench_lcl *l, const struct bp_shm *shm);
/* Call it after the worker has ended: checks the counters and prints members of a JSON object.
 * `frames`: received on port 0. */
bool bench_lcl_report(const struct bench_lcl *l, const struct bp_shm *shm, uint64_t frames);

#endif
