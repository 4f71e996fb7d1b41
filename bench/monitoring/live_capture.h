/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MONITORING_LIVE_CAPTURE_H
#define BP_BENCH_MONITORING_LIVE_CAPTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/harness/slices.h"

struct bp_capture_sets;
struct bp_config;
struct bp_shm;
struct bp_worker;

/*
 * A capture of received and sent frames, as `biplane capture` requests it, in every second slice of
 * a measurement: its filter matches nothing (`nothing`; `interpreter`: the same where no native
 * code is possible; `return`: a program of one instruction, the cost of the loop around it), or 1 %
 * of the frames of case text (`sample`), which a thread reads as the command does.
 */
struct bench_live_capture {
	const char *name; /* NULL: none */
	struct bp_shm *shm;
	struct bp_capture_sets *sets;
	uint64_t id; /* of the last capture */
	pthread_t reader;
	_Atomic bool stop;
	/* of the reader */
	uint64_t records, overruns;
};

/* Whether there is such a capture. */
bool bench_live_capture_known(const char *name);
/*
 * Before the graph of the worker is built. Like the functions below, it terminates the process on
 * failure.
 */
void bench_live_capture_set_up(
	struct bench_live_capture *c, struct bp_shm *shm, struct bp_worker *worker);
/* The worker runs. */
void bench_live_capture_measure(struct bench_live_capture *c, struct bench_slices *s,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames);
/* The worker has ended. Prints members of a JSON object. Returns whether the expected frames were
 * captured. */
bool bench_live_capture_report(struct bench_live_capture *c, const struct bench_slices *s);

#endif
