/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_SOURCE_H
#define BP_BENCH_LCL_LCL_SOURCE_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "bench/lcl/lcl_frames.h"

/*
 * Sources of Ma et al., Table 1, in real time. A time-sensitive one sends bursts of frames of
 * BENCH_LCL_FRAME bytes at the wire's rate, with pauses between; best effort sends frames of 64 to
 * 1,518 bytes, drawn, at a constant rate. Frames have their time when they are due, however late
 * somebody asks for them.
 */
#define BENCH_LCL_SHORTEST 60u /* 64 and 1,518 with their checksum */
#define BENCH_LCL_LONGEST 1514u

struct bench_lcl_source {
	struct rte_mempool *pool;
	uint64_t due_ns;   /* of the next frame */
	uint64_t frame_ns; /* time-sensitive: from one of a burst to the next */
	uint64_t pause_ns; /* and from a burst's last to the next one's first */
	uint32_t burst;    /* frames; 0: best effort */
	uint32_t left;     /* of this burst */
	uint32_t flow;
	uint64_t ps_per_byte; /* best effort: of its own rate */
	uint64_t seed;
	uint64_t made, no_mbuf;
	uint8_t frame[BENCH_LCL_SHORTEST]; /* what its frames begin with */
};

/* `load`: of the rate that it has in the long run, above 0 and below 1. */
void bench_lcl_source_bursts(struct bench_lcl_source *s, struct rte_mempool *pool, uint32_t flow,
	uint32_t burst, double load, uint64_t rate_bps);
void bench_lcl_source_best_effort(struct bench_lcl_source *s, struct rte_mempool *pool,
	uint64_t seed, double load, uint64_t rate_bps);
/* Its frames that are due by now, at most `max`; returns how many. They are to have come in on
 * `port`. */
uint16_t bench_lcl_source_take(struct bench_lcl_source *s, uint64_t now_ns, uint16_t port,
	struct rte_mbuf **out, uint16_t max);

#endif
