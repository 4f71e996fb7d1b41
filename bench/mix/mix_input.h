/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_INPUT_H
#define BP_BENCH_MIX_MIX_INPUT_H

#include <rte_ethdev.h>

#include "bench/harness/advance.h"
#include "bench/mix/mix_shares.h"
#include "bench/health/phd_input.h"
#include "bench/lcl/wire.h"

/*
 * Frames of several systems in one stream, as a receive callback of a device that receives nothing
 * itself. Each part's frames are those of its own case, one after the other, and made new in the
 * same way; so what a part costs by itself and among others can be compared. They come as fast as
 * the worker takes them or, while wire.rate is set, at that rate into bench/lcl/wire.h's ring.
 */
struct bench_mix_input {
	struct bench_wire wire; /* offered, lost and waiting are of all parts together */
	uint8_t pattern[BENCH_MIX_PATTERN];
	uint32_t n_pattern, at, calls;
	_Atomic bool closed; /* nothing comes any more */
	/* What the wire's ring lost after others had the worker's processor, and its caches; and
	 * the longest time between two checks of the line otherwise. */
	uint64_t lost_shared, longest_ns;
	uint64_t polled_tsc, shared_tsc; /* the last look, and the end of what others had */
	uint64_t paced;                  /* frames taken from the wire's ring */
	struct bench_mix_source {
		uint8_t *frames; /* n of them, BENCH_MIX_STRIDE apart, each len[] bytes */
		uint16_t *len;
		uint32_t n, next;
		/* makes them new: a receive callback of its case, and what that keeps; or NULL */
		rte_rx_callback_fn renew;
		void *arg;
		_Atomic uint64_t made;
	} source[BENCH_MIX_PARTS];
};

#define BENCH_MIX_STRIDE 128u
/* Others had the processor when so much more time passed than the worker's own; what it lost in so
 * much after that is theirs. */
#define BENCH_MIX_OTHERS_US 50u
#define BENCH_MIX_COLD_US 1000u

/* Makes the frames of all parts that have a share; renew and arg stay as they are. 0, or -1: no
 * memory. */
int bench_mix_input_init(struct bench_mix_input *in, const struct bench_mix_shares *s,
	const struct bench_traffic *mqtt, struct rte_mempool *pool);
uint16_t bench_mix_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
