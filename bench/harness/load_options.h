/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_LOAD_OPTIONS_H
#define BP_BENCH_HARNESS_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct bench_cpu;

/* Common options of bench/peers/packet_load.c and bench/peers/service_load.c. */
struct bench_load_options {
	const char *from, *to, *interface; /* -F and -T: namespaces; -i */
	uint8_t mac[6];                    /* -m */
	bool has_mac;
	double rate, seconds; /* -r and -t */
	uint32_t every;       /* -n */
};

/* The option letters for getopt(). */
#define BENCH_LOAD_OPTIONS "F:T:i:m:r:t:n:P:"

/* Parses one of these options into `o`, or -P (processes to measure) into `cpu`. Returns false if
 * it is another option, or its value is invalid. */
bool bench_load_option(
	struct bench_load_options *o, struct bench_cpu *cpu, int letter, const char *value);
/* Whether all options required to send from one namespace to the other are set. */
bool bench_load_complete(const struct bench_load_options *o);

#endif
