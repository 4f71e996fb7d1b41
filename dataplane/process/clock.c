/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/clock.h"

#include <time.h>

#include <rte_cycles.h>

/* With a shorter baseline, the frequency from EAL is more accurate than one measured here. */
#define BASELINE_NS 2000000000ull
#define TRIES 5

static uint64_t now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t scale(uint64_t cycles, uint64_t mult)
{
	return (uint64_t)((__extension__(unsigned __int128) cycles * mult) >> 32);
}

struct moment {
	uint64_t tsc, real_ns, mono_ns;
};

/*
 * Reads the counter and both clocks at one moment: the fastest of a few attempts is the most
 * accurate.
 */
static struct moment sample(void)
{
	struct moment best = {0};
	uint64_t best_width = UINT64_MAX;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t t0 = rte_rdtsc(), mono = now(CLOCK_MONOTONIC), real = now(CLOCK_REALTIME);
		uint64_t t1 = rte_rdtsc();

		if (t1 - t0 < best_width) {
			best_width = t1 - t0;
			best = (struct moment){t0 + (t1 - t0) / 2, real, mono};
		}
	}
	return best;
}

static void publish(struct bp_clock *c, const struct moment *m, uint64_t mult)
{
	uint32_t seq = atomic_load_explicit(&c->seq, memory_order_relaxed);

	atomic_store_explicit(&c->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&c->tsc, m->tsc, memory_order_relaxed);
	atomic_store_explicit(&c->real_ns, m->real_ns, memory_order_relaxed);
	atomic_store_explicit(&c->mono_ns, m->mono_ns, memory_order_relaxed);
	atomic_store_explicit(&c->mult, mult, memory_order_relaxed);
	atomic_store_explicit(&c->seq, seq + 2, memory_order_release);
}

void bp_clock_init(struct bp_clock *c)
{
	struct moment m = sample();

	atomic_store(&c->seq, 0);
	c->first_tsc = m.tsc;
	c->first_mono_ns = m.mono_ns;
	publish(c, &m,
		(uint64_t)(((__extension__(unsigned __int128) NS_PER_S) << 32) / rte_get_tsc_hz()));
}

void bp_clock_sync(struct bp_clock *c)
{
	struct moment m = sample();
	uint64_t mult = atomic_load_explicit(&c->mult, memory_order_relaxed);
	uint64_t cycles = m.tsc - c->first_tsc, ns = m.mono_ns - c->first_mono_ns;

	if (ns >= BASELINE_NS && cycles != 0)
		mult = (uint64_t)(((__extension__(unsigned __int128) ns) << 32) / cycles);
	publish(c, &m, mult);
}

void bp_clock_read(const struct bp_clock *c, uint64_t tsc, uint64_t *real_ns, uint64_t *mono_ns)
{
	uint64_t base, real, mono, mult;
	uint32_t seq;

	do {
		seq = atomic_load_explicit(&c->seq, memory_order_acquire);
		base = atomic_load_explicit(&c->tsc, memory_order_relaxed);
		real = atomic_load_explicit(&c->real_ns, memory_order_relaxed);
		mono = atomic_load_explicit(&c->mono_ns, memory_order_relaxed);
		mult = atomic_load_explicit(&c->mult, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while (seq & 1 || seq != atomic_load_explicit(&c->seq, memory_order_relaxed));
	/* The sample may be slightly later than a counter that was read before it. */
	if (tsc < base) {
		uint64_t back = scale(base - tsc, mult);

		*real_ns = real - back;
		*mono_ns = mono - back;
		return;
	}
	*real_ns = real + scale(tsc - base, mult);
	*mono_ns = mono + scale(tsc - base, mult);
}
