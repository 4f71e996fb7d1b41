/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HOSTILE_ATTACKS_H
#define BP_BENCH_HOSTILE_ATTACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "biplane/counters.h"
#include "bench/mix/mix.h"

/*
 * Delay of ordinary frames during an attack: the attacker sends the most expensive known frames for
 * a parser or a table, at 1 Mbit/s in bursts of 100 ms. The frames pass the whole graph of a worker
 * with all services; ordinary traffic (bench/mix/mix.h) uses the same tables and caches between two
 * bursts. The CPU time of the worker for a burst is the maximum delay of another frame.
 *
 * bench/hostile/hostile.c is the same for attacks on inspection, which are TCP streams.
 */
#define BENCH_ATTACK_BYTES 12500u /* bytes on the link per burst */
#define BENCH_ATTACK_BURSTS 65536u
#define BENCH_ATTACK_NEIGHBORS 0x0a090000u /* 10.9.0.0/16, connected to port cloud */

struct bench_attack {
	const char *name, *what;
	/* Writes the next frame; returns its length. */
	uint32_t (*make)(uint64_t *seed, uint8_t *frame);
	/* counts the frames that reached the intended code; BP_C_COUNT: no such counter */
	bp_counter_t reached;
	enum bench_attack_gateway {
		BENCH_ATTACK_SERVICES,  /* routed ports, all services except that of the next */
		BENCH_ATTACK_BRIDGE,    /* bridged ports */
		BENCH_ATTACK_AGGREGATES /* bridged ports with decapsulation */
	} gateway;
};
extern const struct bench_attack bench_attacks[];
extern const unsigned bench_n_attacks;

struct bench_attack_run {
	const struct bench_attack *attack; /* NULL: none */
	struct bench_mix *mix;
	uint64_t seed, frames;
	uint64_t ordinary; /* ordinary frames before the next burst */
	/* current burst: bytes on the link, and CPU time so far */
	uint64_t bytes, ns, left_ns;
	enum { BENCH_ATTACK_OTHERS, BENCH_ATTACK_BURST, BENCH_ATTACK_BEHIND } last;
	uint32_t n_bursts;
	uint64_t burst_ns[BENCH_ATTACK_BURSTS];
};

/* Sets the options of the gateway that `name` attacks. Returns false if there is no such attack.
 * "list": prints all attacks and exits. */
bool bench_attack_options(struct bench_attack_run *r, const char *name, struct bench_options *o,
	struct bench_phd *phd, struct bench_agg *agg, struct bench_transform *x,
	struct bench_lcl *lcl, struct bench_mix *mix);
/* Call it after the setup of all other parts of the worker. `warm_up`: ordinary frames before the
 * first burst. */
void bench_attack_set_up(struct bench_attack_run *r, struct rte_mempool *pool,
	const struct bench_traffic *mqtt, uint64_t warm_up);
/* Prints members of a JSON object. Returns whether the frames reached the intended code. */
bool bench_attack_report(struct bench_attack_run *r, const uint64_t *counters);

#endif
