/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/merged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/sim_random.h"

static int run_one(struct sim_merged *m, const struct sim_first_options *o, size_t warm_up,
	uint64_t *left, size_t count)
{
	struct sim_first *f = sim_first_new(o);
	const struct sim_first_counts *c;

	if (f == NULL)
		return -1;
	sim_first_run(f, NULL, warm_up);
	sim_first_restart_counts(f);
	sim_first_run(f, left, count);
	c = sim_first_counts(f);
	m->counts.messages += c->messages;
	m->counts.packets += c->packets;
	m->counts.payload_bytes += c->payload_bytes;
	m->counts.message_bytes += c->message_bytes;
	m->counts.bytes += c->bytes;
	m->counts.wait_ns += c->wait_ns;
	m->counts.wrong += c->wrong;
	if (c->longest_ns > m->counts.longest_ns)
		m->counts.longest_ns = c->longest_ns;
	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		m->flushed[i] +=
			atomic_load_explicit(&sim_first_stats(f)->flushed[i], memory_order_relaxed);
	sim_first_free(f);
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int sim_merged_run(struct sim_merged *m, const struct sim_first_options *o, unsigned streams,
	size_t warm_up, size_t count)
{
	struct sim_random seeds = {o->seed};
	struct sim_first_options one = *o;
	/* Streams do not end at one time: each runs for some more than its share. */
	const double share = (double)count / streams;
	const size_t each = streams == 1 ? count : (size_t)(share + 6 * sqrt(share)) + 16;
	uint64_t from = 0, until = UINT64_MAX;
	size_t kept = 0;

	memset(m, 0, sizeof(*m));
	m->left = malloc(streams * each * sizeof(m->left[0]));
	if (m->left == NULL)
		return -1;
	one.rate = o->rate / streams;
	for (unsigned i = 0; i < streams; i++) {
		uint64_t *left = m->left + i * each;

		one.seed = streams == 1 ? o->seed : sim_random_next(&seeds);
		if (run_one(m, &one, warm_up / streams, left, each) != 0) {
			free(m->left);
			m->left = NULL;
			return -1;
		}
		from = left[0] > from ? left[0] : from;
		until = left[each - 1] < until ? left[each - 1] : until;
	}
	/* The time in which all of them run. */
	for (size_t i = 0; i < streams * each; i++) {
		if (m->left[i] >= from && m->left[i] <= until)
			m->left[kept++] = m->left[i];
	}
	if (streams > 1)
		qsort(m->left, kept, sizeof(m->left[0]), ascending);
	m->count = kept < count ? kept : count;
	return 0;
}
