/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_SINK_H
#define BP_BENCH_LCL_LCL_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * End-to-end delays of a flow, as in Ma et al., Figure 4: over the whole run, and by intervals of
 * 0.1 s. A delay is the time from the arrival of a frame at the first gateway to the start of its
 * transmission at the last one, without the time on the links between.
 */
#define BENCH_LCL_BINS 4096u
#define BENCH_LCL_INTERVAL_NS 100000000u
#define BENCH_LCL_INTERVALS 1000u

struct bench_lcl_sink {
	uint64_t from_ns; /* frames due before are not counted; 0: none are */
	uint64_t bin_ns;
	uint64_t lowest_ns, highest_ns; /* the delay bound */
	uint64_t frames, inside, early, sum_ns, min_ns, max_ns;
	uint64_t bin[BENCH_LCL_BINS]; /* the last one: all above */
	struct {
		uint64_t frames, sum_ns, min_ns, max_ns;
	} interval[BENCH_LCL_INTERVALS];
};

/* Sets d0 and tau; without LCL the bound is not used. */
void bench_lcl_sink_begin(struct bench_lcl_sink *s, uint64_t budget_ns, uint64_t tau_ns);
void bench_lcl_sink_take(struct bench_lcl_sink *s, uint64_t due_ns, uint64_t delay_ns);
/* Prints members of a JSON object. */
void bench_lcl_sink_print(const struct bench_lcl_sink *s, FILE *f);

#endif
