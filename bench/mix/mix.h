/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_H
#define BP_BENCH_MIX_MIX_H

#include <stdbool.h>

#include "bench/mix/mix_input.h"
#include "bench/harness/options.h"

struct bp_config;

/*
 * All five services at the same time on one gateway with one worker: routed ports, MQTT inspection,
 * health devices with sessions, and sections aggregation, transform and lcl on the same port. The
 * gateway is the same for any mix of traffic (bench/mix/mix_shares.h), so that a part can be
 * measured alone and within the mix. LCL schedules in real time, not in virtual time as in its own
 * case, because reports, alarms and aggregates depend on time. Alarms and requests to the CSE leave
 * on port edge, all other traffic on port cloud, through its scheduler.
 */
struct bench_mix {
	bool on;
	bool driven; /* frames are requested by another callback (bench/hostile/attacks.h) */
	struct bench_mix_shares shares;
	/* Offered rate as a fraction of the maximum rate; 0: the maximum rate. */
	double fraction;
	double rate; /* average of this rate, frames/s */
	struct bench_mix_input input;
};

/* Sets the options of all services; other options must not be set (bench/harness/options.c). */
void bench_mix_options(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl);
/* Call it after the setup of all other parts of the worker: its input is one callback, which calls
 * theirs. Terminates the process on failure. */
void bench_mix_set_up(struct bench_mix *mix, struct bench_advance *advance, struct bench_phd *phd,
	struct bench_lcl *lcl, const struct bench_traffic *mqtt, struct bp_fib_writer *writer,
	struct rte_mempool *pool);
/* Warm-up frames before a measurement: every connection has published. */
uint64_t bench_mix_warm_up(const struct bench_mix *mix);
/*
 * Runs for the given time in short intervals, alternately at the maximum rate and at `fraction` of
 * it. The speed of a shared machine varies, so the maximum rate is measured again before each
 * interval. `frames`: received.
 */
void bench_mix_pace(
	struct bench_mix *mix, double seconds, pthread_t worker, const _Atomic uint64_t *frames);
/* Ends the input, and waits until no frame is in flight. */
void bench_mix_close(struct bench_mix *mix);
/*
 * Call it after the worker has ended: whether the counters prove the work of each part, and no
 * received frame was dropped; prints members of a JSON object. Frames lost in the ring of the wire
 * are reported, but are no error, because the gateway did not receive them.
 */
bool bench_mix_report(const struct bench_mix *mix, const struct bench_advance *advance,
	const struct bench_phd *phd, const struct bp_config *c, const struct bp_shm *shm);

#endif
