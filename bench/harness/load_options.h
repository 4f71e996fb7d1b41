/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_LOAD_OPTIONS_H
#define BP_BENCH_HARNESS_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct bench_cpu;

/* What bench/peers/packet_load.c and bench/peers/service_load.c are told alike. */
struct bench_load_options {
	const char *from, *to, *interface; /* -F and -T: namespaces; -i */
	uint8_t mac[6];                    /* -m */
	bool has_mac;
	double rate, seconds; /* -r and -t */
	uint32_t every;       /* -n */
};

/* Their letters, for getopt(). */
#define BENCH_LOAD_OPTIONS "F:T:i:m:r:t:n:P:"

/* Takes one of these into `o`, or with -P whose processor time is asked for into `cpu`; false: it
 * is another one, or its value is none. */
bool bench_load_option(
	struct bench_load_options *o, struct bench_cpu *cpu, int letter, const char *value);
/* Whether they say all that it takes to send from one namespace to the other. */
bool bench_load_complete(const struct bench_load_options *o);

#endif
