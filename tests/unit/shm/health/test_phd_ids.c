/* SPDX-License-Identifier: BSD-3-Clause */
/* (port, MID): no pair twice within EXCHANGE_LIFETIME, whatever the rate and whatever becomes of
 * the ports. Virtual time, in milliseconds; the code sees whole seconds. */
#include <stdlib.h>
#include <string.h>

#include "shm/health/phd_ids.h"
#include "tests/unit/shm/test.h"

#define LIFETIME_MS 247000ull
#define FIRST 1024
#define PORTS 40u

static struct bp_phd_ids ids[4];
/* when it was used last, in ms + 1 */
static uint64_t used[PORTS][BP_PHD_MIDS];
static uint64_t rnd, now;

static void begin(void)
{
	memset(ids, 0, sizeof(ids));
	memset(used, 0, sizeof(used));
	rnd = 7252;
	now = 1000;
}

static void use(const struct bp_phd_ids *i, uint32_t number, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint16_t mid;
		const uint16_t port = bp_phd_id_at(i, number, k, &mid);
		uint64_t *last;

		assert_in_range(port, FIRST, FIRST + PORTS - 1);
		assert_in_range(port, i->first, i->first + i->ports - 1);
		last = &used[port - FIRST][mid];
		if (*last != 0 && now + 1 - *last < LIFETIME_MS)
			fail_msg("port %u MID %u after %llu ms", port, mid,
				(unsigned long long)(now + 1 - *last));
		*last = now + 1;
	}
}

static bool take(struct bp_phd_ids *i, uint32_t n)
{
	uint32_t number;

	if (!bp_phd_ids_take(i, n, (uint32_t)(now / 1000), &number))
		return false;
	use(i, number, n);
	return true;
}

/* All at once, until there are no more; and again after the lifetime. */
static void test_burst(void **state)
{
	uint32_t n = 0;

	begin();
	assert_true(bp_phd_ids_setup(ids, 1, FIRST, FIRST + 2, 5, 1));
	for (unsigned round = 0; round < 5; round++) {
		for (n = 0; take(&ids[0], 1); n++)
			;
		/* all but those of the row that is under way, and of the one before it */
		assert_in_range(n, 3 * (BP_PHD_MIDS - 2), 3 * BP_PHD_MIDS);
		assert_false(take(&ids[0], 1));
		now += LIFETIME_MS + 1001;
	}
}

/* The rate that the manual names never finds none. */
static void test_rate(void **state)
{
	begin();
	assert_true(bp_phd_ids_setup(ids, 1, FIRST, FIRST + 1, 0, 1));
	for (uint64_t i = 0; i < 3ull * 2 * BP_PHD_MIDS; i++) {
		now = 1000 + i * 1000 / (2 * 264);
		assert_true(take(&ids[0], 1));
	}
}

/* Slow and fast by turns, several at a time. */
static void test_any_rate(void **state)
{
	begin();
	assert_true(bp_phd_ids_setup(ids, 2, FIRST, FIRST + 4, 65000, 1));
	assert_int_equal(ids[0].ports + ids[1].ports, 5);
	for (unsigned phase = 0; phase < 400; phase++) {
		const uint32_t pause = 1u << test_below(&rnd, 15), n = 1 + test_below(&rnd, 3000);

		for (uint32_t i = 0; i < n; i++) {
			const uint32_t parts = 1 + test_below(&rnd, 32);

			now += test_below(&rnd, pause) / (1 + test_below(&rnd, 50));
			take(&ids[test_below(&rnd, 2)], parts);
		}
	}
	now += LIFETIME_MS + 1001;
	assert_true(take(&ids[0], 32) && take(&ids[1], 32));
	assert_false(take(&ids[0], 0));
}

/* Other ports, other shares: ids used before remain used. */
static uint32_t change_ports(unsigned workers)
{
	uint32_t taken = 0;

	begin();
	assert_true(bp_phd_ids_setup(ids, workers, FIRST, FIRST + 9, 0, 1));
	for (unsigned round = 0; round < 60; round++) {
		uint16_t first = (uint16_t)(FIRST + test_below(&rnd, 20)),
			 last = (uint16_t)(first + 3 + test_below(&rnd, 17));
		const uint32_t n = test_below(&rnd, 20000);

		for (uint32_t i = 0; i < n; i++) {
			taken += take(&ids[test_below(&rnd, workers)], 1 + test_below(&rnd, 4));
			now += test_below(&rnd, 4);
		}
		/* once a restart without a change */
		if (round % 4 == 0) {
			first = (uint16_t)ids[0].first;
			last = (uint16_t)(ids[workers - 1].first + ids[workers - 1].ports - 1);
		}
		assert_true(bp_phd_ids_setup(ids, workers, first, last, 0, (uint32_t)(now / 1000)));
		for (unsigned w = 0; w < workers; w++) {
			assert_int_equal(
				ids[w].first, w == 0 ? first : ids[w - 1].first + ids[w - 1].ports);
			assert_true(ids[w].ports > 0);
		}
		assert_int_equal(ids[workers - 1].first + ids[workers - 1].ports, last + 1);
	}
	return taken;
}

static void test_shares(void **state)
{
	for (unsigned workers = 1; workers <= 4; workers++)
		assert_true(change_ports(workers) > 100000);
}

static void test_refused(void **state)
{
	uint32_t number;

	begin();
	assert_false(bp_phd_ids_take(&ids[0], 1, 1, &number)); /* not set up */
	assert_false(bp_phd_ids_setup(ids, 4, FIRST, FIRST + 2, 0, 1));
	assert_false(bp_phd_ids_setup(ids, 1, FIRST, FIRST - 1, 0, 1));
	assert_true(bp_phd_ids_setup(ids, 1, 65535, 65535, 0, 1));
	assert_int_equal(ids[0].ports, 1);
	/* a segment that others wrote */
	ids[0].next = UINT64_MAX;
	assert_false(bp_phd_ids_take(&ids[0], 1, 1, &number));
	assert_true(bp_phd_ids_setup(ids, 1, 65535, 65535, 0, 1));
	assert_true(bp_phd_ids_take(&ids[0], 1, 1, &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_any_rate),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
