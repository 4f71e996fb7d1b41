/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ASSOCIATION_LOAD_H
#define BP_BENCH_ASSOCIATION_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Pulse oximeters that associate, each from an address of its own, over one UDP socket: AARQ with a
 * configuration of the device's own, its configuration report, and the answer to the manager's
 * question for the MDS. A certain number of them is under way at any time, so that the manager is
 * never idle and its socket never full.
 */
#define BENCH_DEVICES_FIRST 0x0a400000u /* 10.64.0.0 on, a /10 of addresses of this machine */
#define BENCH_DEVICES_MAX (1u << 22)
#define BENCH_MANAGER 0x0a000001u /* 10.0.0.1 */
#define BENCH_MANAGER_PORT 6024u

struct bench_association_load {
	uint32_t under_way; /* at most so many at a time */
	uint32_t at_least;  /* devices, */
	uint64_t for_ns;    /* and so long at least */
	uint32_t at_most;
	/* what came of it */
	uint32_t begun, done;
	uint64_t took_ns;
	uint64_t aares, configured, told; /* answers to AARQ and to configurations; MDS reported */
	uint64_t others;                  /* what none of that is: not one may come */
	bool stuck;                       /* nothing came any more */
};

/* Ends the process when something is refused. */
void bench_association_load(struct bench_association_load *l);

#endif
