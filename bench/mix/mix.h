/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_H
#define BP_BENCH_MIX_MIX_H

#include <stdbool.h>

#include "bench/mix/mix_input.h"
#include "bench/harness/options.h"

struct bp_config;

/*
 * All five systems at once on one gateway with one worker: its ports route, what TCP carries is
 * inspected, health devices have sessions, and sections aggregate, transform and lcl are for the
 * same port. The gateway is the same whatever the input is made of (bench/mix/mix_shares.h), so a
 * part can be measured by itself and among all others. LCL schedules in real time, not, as in its
 * own case, in virtual time: reports, alarms and aggregates have times of their own. Alarms and
 * requests to the CSE leave by port edge, all else by port cloud, whose scheduler it passes.
 */
struct bench_mix {
	bool on;
	bool driven; /* another callback asks for its frames (bench/hostile/attacks.h) */
	struct bench_mix_shares shares;
	/* Of what the gateway can take at most, how much it is offered; 0: as much as it takes. */
	double fraction;
	double rate; /* frames a second that this was on average */
	struct bench_mix_input input;
};

/* Asks for all services; what else was asked for must not be there (bench/harness/options.c). */
void bench_mix_options(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl);
/* Behind all other parts of the worker: its input is one callback, which calls theirs. Ends the
 * process when something is refused. */
void bench_mix_set_up(struct bench_mix *mix, struct bench_advance *advance, struct bench_phd *phd,
	struct bench_lcl *lcl, const struct bench_traffic *mqtt, struct bp_fib_writer *writer,
	struct rte_mempool *pool);
/* Frames after which a measurement begins: every connection has published. */
uint64_t bench_mix_warm_up(const struct bench_mix *mix);
/*
 * For so many seconds, in short turns: as much as the worker takes, and then `fraction` of that. A
 * shared machine is not equally fast for long, so what it can do at most is measured again before
 * each of them. `frames`: received.
 */
void bench_mix_pace(
	struct bench_mix *mix, double seconds, pthread_t worker, const _Atomic uint64_t *frames);
/* Lets nothing come any more, and what is under way leave. */
void bench_mix_close(struct bench_mix *mix);
/*
 * After the worker has ended: whether the counters prove each part's work, and every frame that
 * came has an outcome that is no drop; prints members of a JSON object. Frames that the ring of the
 * wire lost are a figure, and no error: the gateway never saw them.
 */
bool bench_mix_report(const struct bench_mix *mix, const struct bench_advance *advance,
	const struct bench_phd *phd, const struct bp_config *c, const struct bp_shm *shm);

#endif
