/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_SOURCE_H
#define BP_BENCH_LCL_LCL_SOURCE_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "bench/lcl/lcl_frames.h"

/*
 * Traffic sources of Ma et al., Table 1, in real time. A time-sensitive source sends bursts of
 * frames of BENCH_LCL_FRAME bytes at the link rate, with pauses between; a best-effort source sends
 * frames of random sizes from 64 to 1,518 bytes at a constant rate. The timestamp of a frame is the
 * time at which it is due, even if it is polled later.
 */
#define BENCH_LCL_SHORTEST 60u /* 64 and 1,518 with FCS */
#define BENCH_LCL_LONGEST 1514u

struct bench_lcl_source {
	struct rte_mempool *pool;
	uint64_t due_ns;   /* when the next frame is due */
	uint64_t frame_ns; /* time-sensitive: interval within a burst */
	uint64_t pause_ns; /* and from the last frame of a burst to the first of the next */
	uint32_t burst;    /* frames per burst; 0: best effort */
	uint32_t left;     /* remaining frames of this burst */
	uint32_t flow;
	uint64_t ps_per_byte; /* best effort: interval at its rate */
	uint64_t seed;
	uint64_t made, no_mbuf;
	uint8_t frame[BENCH_LCL_SHORTEST]; /* headers of its frames */
};

/* `load`: average share of the link rate, above 0 and below 1. */
void bench_lcl_source_bursts(struct bench_lcl_source *s, struct rte_mempool *pool, uint32_t flow,
	uint32_t burst, double load, uint64_t rate_bps);
void bench_lcl_source_best_effort(struct bench_lcl_source *s, struct rte_mempool *pool,
	uint64_t seed, double load, uint64_t rate_bps);
/* Returns its frames that are due, at most `max`, as received on `port`. */
uint16_t bench_lcl_source_take(struct bench_lcl_source *s, uint64_t now_ns, uint16_t port,
	struct rte_mbuf **out, uint16_t max);

#endif
