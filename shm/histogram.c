/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/histogram.h"

#define SUB (1u << BP_HISTOGRAM_SUB_BITS)

unsigned bp_histogram_bucket(uint64_t ns)
{
	const uint64_t units = ns >> BP_HISTOGRAM_UNIT_BITS;
	unsigned octave;

	if (units < SUB)
		return (unsigned)units;
	if (ns >> BP_HISTOGRAM_MAX_BITS != 0)
		return BP_HISTOGRAM_BUCKETS - 1;
	octave = 63 - (unsigned)__builtin_clzll(units) - BP_HISTOGRAM_SUB_BITS;
	return (octave + 1) * SUB + (unsigned)(units >> octave) % SUB;
}

uint64_t bp_histogram_upper(unsigned bucket)
{
	const unsigned octave = bucket < SUB ? 0 : bucket / SUB - 1;
	const uint64_t last = bucket < SUB ? bucket : SUB + bucket % SUB;

	return ((last + 1) << (octave + BP_HISTOGRAM_UNIT_BITS)) - 1;
}

static void add(_Atomic uint64_t *to, uint64_t n, memory_order order)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, order);
}

void bp_histogram_add(struct bp_histogram *h, uint64_t ns)
{
	add(&h->sum_ns, ns, memory_order_relaxed);
	if (ns > atomic_load_explicit(&h->max_ns, memory_order_relaxed))
		atomic_store_explicit(&h->max_ns, ns, memory_order_relaxed);
	/* last: a reader that has this count also has the sum and the maximum */
	add(&h->bucket[bp_histogram_bucket(ns)], 1, memory_order_release);
}

void bp_histogram_reset(struct bp_histogram *h)
{
	for (unsigned i = 0; i < BP_HISTOGRAM_BUCKETS; i++)
		atomic_store_explicit(&h->bucket[i], 0, memory_order_relaxed);
	atomic_store_explicit(&h->sum_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&h->max_ns, 0, memory_order_relaxed);
}

uint64_t bp_histogram_quantile(
	const uint64_t *bucket, uint64_t count, uint64_t max, unsigned permille)
{
	const uint64_t above =
		count / 1000 * (1000 - permille) + count % 1000 * (1000 - permille) / 1000;
	uint64_t seen = 0, upper;
	unsigned b = 0;

	for (; b < BP_HISTOGRAM_BUCKETS - 1; b++) {
		seen += bucket[b];
		if (seen >= count - above)
			break;
	}
	upper = bp_histogram_upper(b);
	return b == BP_HISTOGRAM_BUCKETS - 1 || upper > max ? max : upper;
}

void bp_histogram_summarize(const struct bp_histogram *h, struct bp_histogram_summary *s)
{
	uint64_t bucket[BP_HISTOGRAM_BUCKETS], count = 0, max;

	*s = (struct bp_histogram_summary){0};
	for (unsigned i = 0; i < BP_HISTOGRAM_BUCKETS; i++) {
		bucket[i] = atomic_load_explicit(&h->bucket[i], memory_order_acquire);
		count += bucket[i];
	}
	if (count == 0)
		return;
	max = atomic_load_explicit(&h->max_ns, memory_order_relaxed);
	*s = (struct bp_histogram_summary){
		.count = count,
		.avg_ns = atomic_load_explicit(&h->sum_ns, memory_order_relaxed) / count,
		.p50_ns = bp_histogram_quantile(bucket, count, max, 500),
		.p90_ns = bp_histogram_quantile(bucket, count, max, 900),
		.p99_ns = bp_histogram_quantile(bucket, count, max, 990),
		.p999_ns = bp_histogram_quantile(bucket, count, max, 999),
		.max_ns = max,
	};
}
