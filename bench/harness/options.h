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

/* Options of biplane-bench (bench/harness/gateway.c). */
struct bench_options {
	enum bench_payload kind;
	uint32_t connections;
	uint32_t rules;
	uint32_t topics; /* of each connection, in turn */
	uint32_t policy; /* rules of the policy for publications; 0: no policy */
	bool observe;    /* it observes the publications of bench_is_observed() */
	bool enforce;    /* its default refuses */
	bool blank;      /* it overwrites the publications of bench_is_observed() */
	bool acks;       /* brokers acknowledge what clients send */
	uint32_t window; /* values of each rule's window; 0: none */
	uint32_t routes; /* 0: bridged ports */
	uint8_t family;  /* seed of the routes */
	bool inspect;
	bool trust;
	uint32_t messages; /* control messages per second among the data (bench/harness/control.h);
			      0: none */
	bool single;       /* single plane */
	bool learn;        /* three bridged ports: MAC addresses are learned */
	bool nodes;        /* also measure cycles by node (bench/harness/nodes.h) */
	const char *capture; /* a live capture (bench/monitoring/live_capture.h); NULL: none */
	double seconds;
	const char *pcap;
	const char *prefix; /* prefix of DPDK's files */
};

struct bench_attack_run;
struct bench_mix;

/* `phd`, `agg`, `x`, `lcl`, `mix` and `attack`: their option members are set. Exits with the usage
 * if options are invalid or cannot be combined. */
void bench_options_read(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl, struct bench_mix *mix,
	struct bench_attack_run *attack, int argc, char **argv);

#endif
