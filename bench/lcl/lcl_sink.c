/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl_sink.h"

#include <inttypes.h>
#include <string.h>

#define BINS_OF_TAU 32u

void bench_lcl_sink_begin(struct bench_lcl_sink *s, uint64_t budget_ns, uint64_t tau_ns)
{
	memset(s, 0, sizeof(*s));
	s->bin_ns = tau_ns / BINS_OF_TAU;
	s->lowest_ns = budget_ns > tau_ns ? budget_ns - tau_ns : 0;
	s->highest_ns = budget_ns + tau_ns;
	s->min_ns = UINT64_MAX;
}

void bench_lcl_sink_take(struct bench_lcl_sink *s, uint64_t due_ns, uint64_t delay_ns)
{
	const uint64_t bin = delay_ns / s->bin_ns,
		       i = (due_ns - s->from_ns) / BENCH_LCL_INTERVAL_NS;

	if (s->from_ns == 0 || due_ns < s->from_ns)
		return;
	s->frames++;
	s->inside += delay_ns >= s->lowest_ns && delay_ns <= s->highest_ns;
	s->early += delay_ns < s->lowest_ns;
	s->sum_ns += delay_ns;
	s->min_ns = delay_ns < s->min_ns ? delay_ns : s->min_ns;
	s->max_ns = delay_ns > s->max_ns ? delay_ns : s->max_ns;
	s->bin[bin < BENCH_LCL_BINS ? bin : BENCH_LCL_BINS - 1]++;
	if (i >= BENCH_LCL_INTERVALS)
		return;
	if (s->interval[i].frames++ == 0)
		s->interval[i].min_ns = UINT64_MAX;
	s->interval[i].sum_ns += delay_ns;
	if (delay_ns < s->interval[i].min_ns)
		s->interval[i].min_ns = delay_ns;
	if (delay_ns > s->interval[i].max_ns)
		s->interval[i].max_ns = delay_ns;
}

/* The centre of the bin at a quantile, in parts of ten thousand. */
static uint64_t below(const struct bench_lcl_sink *s, uint64_t part)
{
	const uint64_t rank = s->frames / 10000 * part + s->frames % 10000 * part / 10000;
	uint64_t n = 0;

	for (unsigned i = 0; i + 1 < BENCH_LCL_BINS; i++) {
		n += s->bin[i];
		if (n > rank)
			return i * s->bin_ns + s->bin_ns / 2;
	}
	return s->max_ns;
}

void bench_lcl_sink_print(const struct bench_lcl_sink *s, FILE *f)
{
	static const unsigned parts[] = {1, 10, 100, 5000, 9900, 9990, 9999};
	const uint64_t n = s->frames != 0 ? s->frames : 1;

	fprintf(f,
		"\"frames\": %" PRIu64 ", \"inside\": %" PRIu64 ", \"early\": %" PRIu64
		", \"mean_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64,
		s->frames, s->inside, s->early, s->sum_ns / n, s->frames != 0 ? s->min_ns : 0,
		s->max_ns);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fprintf(f, ", \"p%04u_ns\": %" PRIu64, parts[i], below(s, parts[i]));
	fprintf(f, ", \"series\": [");
	for (unsigned i = 0; i < BENCH_LCL_INTERVALS && s->interval[i].frames != 0; i++)
		fprintf(f, "%s[%.1f, %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i != 0 ? ", " : "",
			(i + 1) * (BENCH_LCL_INTERVAL_NS / 1e9), s->interval[i].min_ns,
			s->interval[i].sum_ns / s->interval[i].frames, s->interval[i].max_ns);
	fprintf(f, "]");
}
