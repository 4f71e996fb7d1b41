/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_E2E_ROUTE_LOAD_H
#define BP_TESTS_E2E_ROUTE_LOAD_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

/* Set by SIGTERM and SIGINT. */
extern volatile sig_atomic_t route_load_stop;

static inline uint64_t route_load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The value of option `name` among `argv`, or `fallback`; ends the program when there is none and
 * no fallback either. */
const char *route_load_option(int argc, char **argv, const char *name, const char *fallback);

/* The mode flood: frames as fast as the machine sends them. In route_flood.c. */
int route_flood(int argc, char **argv);

#endif
