/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_OPTIONS_H
#define BP_BENCH_HARNESS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/aggregation/agg.h"
#include "bench/lcl/lcl.h"
#include "bench/health/phd.h"
#include "bench/harness/traffic.h"
#include "bench/transform/transform.h"

/* What biplane-bench (bench/harness/gateway.c) is asked to measure. */
struct bench_options {
	enum bench_payload kind;
	uint32_t connections;
	uint32_t rules;
	uint32_t routes; /* 0: the ports are bridged */
	uint8_t family;  /* of the routes */
	bool inspect;
	bool trust;
	uint32_t messages; /* control messages per second among the data; 0: bench/harness/control.h
			      is not used */
	bool single;       /* one plane */
	bool learn;        /* three ports are bridged: MAC addresses are learned */
	bool nodes;        /* where the cycles go, too (bench/harness/nodes.h) */
	double seconds;
	const char *pcap;
	const char *prefix; /* of DPDK's files */
};

struct bench_attack_run;
struct bench_mix;

/* `phd`, `agg`, `x`, `lcl`, `mix` and `attack`: what their first members say. Exits with the usage
 * when they are wrong, or do not fit together. */
void bench_options_read(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl, struct bench_mix *mix,
	struct bench_attack_run *attack, int argc, char **argv);

#endif
