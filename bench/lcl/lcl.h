/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_H
#define BP_BENCH_LCL_LCL_H

#include <stdio.h>

#include "dataplane/process/clock.h"
#include "dataplane/workers/worker.h"

/*
 * LCL scheduling on one worker, in virtual time at full load: labelled frames of
 * bench/lcl/lcl_frames.h come in on a port whose labels are trusted and leave by one that
 * schedules. The worker's clock stands still but for the frames: with each of them it continues by
 * as long as a frame keeps the wire. So the scheduler is offered exactly what its wire carries,
 * however fast the worker is.
 */
struct bench_lcl {
	bool on;
	bool real; /* in real time, and the frames come from another (bench/mix/mix.h) */
	struct bp_clock *clock; /* the worker's */
	uint32_t next;          /* frame */
	uint64_t ps;            /* of time that are no whole nanosecond yet */
	uint64_t outside;       /* when the measurement was over */
};

void bench_lcl_configuration(FILE *f);
/* The ports are started. Of the worker all but `lcl` and the graph is there; `clock` is kept by
 * no one else. Ends the process when something is refused. */
void bench_lcl_set_up(struct bench_lcl *l, struct bp_clock *clock);
/* The frames' sequence numbers continue, which in the capture begin again: a receive callback. */
uint16_t bench_lcl_sequence_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);
/* What the figures of the flows of the port that schedules say together. */
struct bench_lcl_flows {
	uint64_t n, frames, missing, reordered, late, labelled;
};
struct bench_lcl_flows bench_lcl_flows(const struct bp_shm *shm);
/* When the measurement is over, and the worker not yet told to stop: then frames leave early. */
void bench_lcl_note(struct bench_lcl *l, const struct bp_shm *shm);
/* After the worker has ended: whether its counters prove the work; prints members of a JSON object.
 * `frames`: received on port 0. */
bool bench_lcl_report(const struct bench_lcl *l, const struct bp_shm *shm, uint64_t frames);

#endif
