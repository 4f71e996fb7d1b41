/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"
#include "dataplane/process/clock.h"

#include <time.h>

#include <rte_cycles.h>

#include "dataplane/ports/ring_ports.h"

static int start(void **state)
{
	char err[256];

	return bp_ring_eal(err, sizeof(err));
}

static uint64_t ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A moment of our choice, so that the arithmetic can be checked exactly. */
static void fix(struct bp_clock *c, uint64_t tsc, uint64_t real, uint64_t mono, uint64_t mult)
{
	atomic_store(&c->seq, 0);
	atomic_store(&c->tsc, tsc);
	atomic_store(&c->real_ns, real);
	atomic_store(&c->mono_ns, mono);
	atomic_store(&c->mult, mult);
}

static void scales_cycles(void **state)
{
	static struct bp_clock c;
	uint64_t real, mono;

	fix(&c, 1000, 1700000000000000000ull, 5000000000ull, 1ull << 31); /* two cycles a ns */
	bp_clock_read(&c, 1000, &real, &mono);
	assert_true(real == 1700000000000000000ull && mono == 5000000000ull);
	bp_clock_read(&c, 1000 + 2000000000ull, &real, &mono);
	assert_true(real == 1700000001000000000ull && mono == 6000000000ull);
	/* a day without being kept must not overflow */
	bp_clock_read(&c, 1000 + 2 * 86400000000000ull, &real, &mono);
	assert_true(mono == 5000000000ull + 86400000000000ull);
	/* a counter read just before the moment */
	bp_clock_read(&c, 1000 - 20, &real, &mono);
	assert_true(real == 1700000000000000000ull - 10 && mono == 5000000000ull - 10);
}

/* A counter value read between two readings of the system's clocks is converted to a time between
 * them; the frequency is as good as EAL's, so with a margin of one in a thousand of the time since
 * the sync, and of the interval between the readings. */
static void follows_the_system(void **state)
{
	static struct bp_clock c;
	uint64_t m0, m1, r0, real, mono, synced;

	bp_clock_init(&c);
	for (unsigned i = 0; i < 100; i++) {
		bp_clock_sync(&c);
		synced = atomic_load(&c.mono_ns);
		m0 = ns(CLOCK_MONOTONIC);
		r0 = ns(CLOCK_REALTIME);
		bp_clock_read(&c, rte_rdtsc(), &real, &mono);
		m1 = ns(CLOCK_MONOTONIC);
		uint64_t margin = (m1 - synced) / 1000 + (m1 - m0) + 1000000;

		assert_true(mono + margin >= m0 && mono <= m1 + margin);
		assert_true(real + margin >= r0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scales_cycles),
		cmocka_unit_test(follows_the_system),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
