/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HISTOGRAM_H
#define BP_SHM_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Log-linear histogram of times, in shared memory: one writer, any number of readers. The first 8
 * buckets have 256 ns each; above, each power of two has 8 buckets, so that the upper bound of a
 * bucket exceeds the times in it by at most one eighth. The last bucket also has all times from
 * 2^40 ns (18 minutes).
 */
#define BP_HISTOGRAM_UNIT_BITS 8u /* 256 ns */
#define BP_HISTOGRAM_SUB_BITS 3u  /* 8 buckets per power of two */
#define BP_HISTOGRAM_MAX_BITS 40u
#define BP_HISTOGRAM_BUCKETS                                                                       \
	((BP_HISTOGRAM_MAX_BITS - BP_HISTOGRAM_UNIT_BITS - BP_HISTOGRAM_SUB_BITS + 1)              \
		<< BP_HISTOGRAM_SUB_BITS)

struct bp_histogram {
	_Atomic uint64_t bucket[BP_HISTOGRAM_BUCKETS];
	_Atomic uint64_t sum_ns, max_ns;
};

/* Times are in ns; all are 0 without a value. */
struct bp_histogram_summary {
	uint64_t count, avg_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/* Returns the bucket of a time. */
unsigned bp_histogram_bucket(uint64_t ns);
/* Returns the last time of a bucket, ns; of the last bucket, without the times above its range. */
uint64_t bp_histogram_upper(unsigned bucket);

/* Writer: adds a time. */
void bp_histogram_add(struct bp_histogram *h, uint64_t ns);
/* Writer: removes all times. */
void bp_histogram_reset(struct bp_histogram *h);

/*
 * Reader: summarises the histogram while its writer may add times. A percentile is the upper bound
 * of its bucket, but not more than the maximum. Any contents of a damaged histogram are safe.
 */
void bp_histogram_summarize(const struct bp_histogram *h, struct bp_histogram_summary *s);
/* Returns the time that `permille` of all times do not exceed: the upper bound of its bucket, but
 * not more than `max`. count: the sum of bucket[0..BP_HISTOGRAM_BUCKETS), not 0. */
uint64_t bp_histogram_quantile(
	const uint64_t *bucket, uint64_t count, uint64_t max, unsigned permille);

#endif
