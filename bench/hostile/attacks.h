/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HOSTILE_ATTACKS_H
#define BP_BENCH_HOSTILE_ATTACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "biplane/counters.h"
#include "bench/mix/mix.h"

/*
 * What frames of others wait for while an attacker sends the worst that is known for a parser or a
 * table, 1 Mbit/s in bursts of 100 ms. Through the whole graph of a worker with all services, whose
 * tables and caches ordinary traffic (bench/mix/mix.h) uses between two bursts: what the worker
 * takes for a burst, its own processor time, is the longest that another frame waits.
 *
 * bench/hostile/hostile.c does the same for inspection, whose attacks are streams.
 */
#define BENCH_ATTACK_BYTES 12500u /* of the line in a burst */
#define BENCH_ATTACK_BURSTS 65536u
#define BENCH_ATTACK_NEIGHBORS 0x0a090000u /* 10.9.0.0/16, connected to port cloud */

struct bench_attack {
	const char *name, *what;
	/* Writes the next frame; returns its length. */
	uint32_t (*make)(uint64_t *seed, uint8_t *frame);
	/* counts that the frames came where they should; BP_C_COUNT: there are none */
	bp_counter_t reached;
	enum bench_attack_gateway {
		BENCH_ATTACK_SERVICES,  /* routed ports, all services but the next */
		BENCH_ATTACK_BRIDGE,    /* bridged ports */
		BENCH_ATTACK_AGGREGATES /* bridged ports, and aggregates are taken apart */
	} gateway;
};
extern const struct bench_attack bench_attacks[];
extern const unsigned bench_n_attacks;

struct bench_attack_run {
	const struct bench_attack *attack; /* NULL: none is asked for */
	struct bench_mix *mix;
	uint64_t seed, frames;
	uint64_t ordinary; /* frames of others that come before the next burst */
	/* of the burst that is under way: bytes on the line, and what it took so far */
	uint64_t bytes, ns, left_ns;
	enum { BENCH_ATTACK_OTHERS, BENCH_ATTACK_BURST, BENCH_ATTACK_BEHIND } last;
	uint32_t n_bursts;
	uint64_t burst_ns[BENCH_ATTACK_BURSTS];
};

/* Asks for the gateway that `name` attacks. False: there is no such attack. "list": prints all, and
 * exits. */
bool bench_attack_options(struct bench_attack_run *r, const char *name, struct bench_options *o,
	struct bench_phd *phd, struct bench_agg *agg, struct bench_transform *x,
	struct bench_lcl *lcl, struct bench_mix *mix);
/* Behind all other parts of the worker. `warm_up`: ordinary frames before the first burst. */
void bench_attack_set_up(struct bench_attack_run *r, struct rte_mempool *pool,
	const struct bench_traffic *mqtt, uint64_t warm_up);
/* Prints members of a JSON object. Returns whether the frames came where they should. */
bool bench_attack_report(struct bench_attack_run *r, const uint64_t *counters);

#endif
