/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_INPUT_H
#define BP_BENCH_MIX_MIX_INPUT_H

#include <rte_ethdev.h>

#include "bench/harness/advance.h"
#include "bench/mix/mix_shares.h"
#include "bench/health/phd_input.h"
#include "bench/lcl/wire.h"

/*
 * Frames of several services in one stream, as a receive callback of a device that receives nothing
 * itself. The frames of each part are those of its own case, in order and modified in the same way,
 * so that the cost of a part alone and within the mix can be compared. They come as fast as the
 * worker polls or, while wire.rate is set, at that rate through the ring of bench/lcl/wire.h.
 */
struct bench_mix_input {
	struct bench_wire wire; /* offered, lost and waiting are totals of all parts */
	uint8_t pattern[BENCH_MIX_PATTERN];
	uint32_t n_pattern, at, calls;
	_Atomic bool closed; /* no more frames */
	/* Frames that the ring lost during or shortly after a preemption of the worker (cold
	 * caches); and the maximum time between two polls otherwise. */
	uint64_t lost_shared, longest_ns;
	uint64_t polled_tsc,
		shared_tsc; /* time of the last poll, and of the end of the last preemption */
	uint64_t paced;     /* frames from the ring of the wire */
	struct bench_mix_source {
		uint8_t *
			frames; /* n frames with a distance of BENCH_MIX_STRIDE, each len[] bytes */
		uint16_t *len;
		uint32_t n, next;
		/* receive callback of its case that modifies the frames, with its argument; or NULL
		 */
		rte_rx_callback_fn renew;
		void *arg;
		_Atomic uint64_t made;
	} source[BENCH_MIX_PARTS];
};

#define BENCH_MIX_STRIDE 128u
/* A preemption is a gap this much longer than the CPU time of the worker; losses within this time
 * after it are attributed to it. */
#define BENCH_MIX_OTHERS_US 50u
#define BENCH_MIX_COLD_US 1000u

/* Creates the frames of all parts with a share; renew and arg are not changed. Returns 0, or -1:
 * out of memory. */
int bench_mix_input_init(struct bench_mix_input *in, const struct bench_mix_shares *s,
	const struct bench_traffic *mqtt, struct rte_mempool *pool);
uint16_t bench_mix_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
