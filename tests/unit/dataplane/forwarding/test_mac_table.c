/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"
#include "dataplane/forwarding/mac_table.h"

#include <stdlib.h>

#define S 1000000000ull
#define AGEING (300 * S)

static struct bp_mac_table *make(uint32_t entries)
{
	struct bp_mac_table *t = bp_mac_table_create(entries, AGEING);

	assert_non_null(t);
	for (uint8_t p = 0; p < 4; p++)
		bp_mac_table_set_bridge(t, p, 0);
	for (uint8_t p = 4; p < 8; p++)
		bp_mac_table_set_bridge(t, p, 1);
	return t;
}

static void learns_and_moves(void **state)
{
	struct bp_mac_table *t = make(64);

	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S), BP_MAC_UNKNOWN);
	assert_int_equal(bp_mac_learn(t, 0x10, 1, S), BP_MAC_NEW);
	assert_int_equal(bp_mac_learn(t, 0x10, 1, S), BP_MAC_SAME);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S), 1);
	assert_int_equal(bp_mac_learn(t, 0x10, 3, S), BP_MAC_MOVED);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S), 3);
	assert_int_equal(bp_mac_table_count(t, S), 1);
	bp_mac_table_free(t);
}

static void bridges_are_separate(void **state)
{
	struct bp_mac_table *t = make(64);

	bp_mac_learn(t, 0x10, 1, S);
	assert_int_equal(bp_mac_lookup(t, 0x10, 1, S), BP_MAC_UNKNOWN);
	assert_int_equal(bp_mac_learn(t, 0x10, 5, S), BP_MAC_NEW);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S), 1);
	assert_int_equal(bp_mac_lookup(t, 0x10, 1, S), 5);
	bp_mac_table_free(t);
}

/* Port 0 and address 0 take a word like any other: a free word is neither. */
static void port_zero(void **state)
{
	struct bp_mac_table *t = make(4);

	assert_int_equal(bp_mac_lookup(t, 0, 0, S), BP_MAC_UNKNOWN);
	bp_mac_learn(t, 0, 0, S);
	assert_int_equal(bp_mac_lookup(t, 0, 0, S), 0);
	bp_mac_table_free(t);
}

static void entries_expire_after_the_aging_time(void **state)
{
	struct bp_mac_table *t = make(64);
	uint64_t entries, capacity;

	bp_mac_learn(t, 0x10, 1, S);
	bp_mac_table_usage(t, &entries, &capacity);
	assert_int_equal(entries, 1);
	assert_int_equal(capacity, 64);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S + AGEING), 1);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S + AGEING + AGEING / 16), BP_MAC_UNKNOWN);
	/* sending again makes it young */
	bp_mac_learn(t, 0x10, 1, S + AGEING);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, S + 2 * AGEING), 1);
	assert_int_equal(bp_mac_table_count(t, S + 4 * AGEING), 0);
	bp_mac_table_free(t);
}

/* A bound of every ageing that may be configured. */
static void any_ageing(void **state)
{
	for (uint64_t ageing = S; ageing < 2000000 * S; ageing = ageing * 7 / 3) {
		struct bp_mac_table *t = bp_mac_table_create(16, ageing);

		bp_mac_table_set_bridge(t, 0, 0);
		for (uint64_t at = 5; at < 5 + ageing; at += ageing / 5) {
			bp_mac_learn(t, 7, 0, at);
			assert_int_equal(bp_mac_lookup(t, 7, 0, at + ageing), 0);
			assert_int_equal(
				bp_mac_lookup(t, 7, 0, at + ageing + ageing / 16), BP_MAC_UNKNOWN);
		}
		bp_mac_table_free(t);
	}
}

/* Steps are counted modulo 256: the sweep must come first. */
static void sweeping_forgets(void **state)
{
	struct bp_mac_table *t = make(4096);
	uint64_t step = 1ull << t->shift;

	for (uint64_t m = 1; m <= 500; m++)
		bp_mac_learn(t, m, (uint8_t)(m % 4), S);
	for (uint64_t now = S; now < S + 256 * step; now += step / 64)
		bp_mac_table_tick(t, now);
	for (uint64_t m = 1; m <= 500; m++)
		assert_int_equal(bp_mac_lookup(t, m, 0, S + 256 * step), BP_MAC_UNKNOWN);
	bp_mac_table_free(t);
}

static void clock_jump_clears_the_table(void **state)
{
	struct bp_mac_table *t = make(64);
	uint64_t step = 1ull << t->shift, start = 1000 * step;

	bp_mac_table_tick(t, start);
	bp_mac_learn(t, 0x10, 1, start);
	bp_mac_table_tick(t, start + 256 * step);
	assert_int_equal(bp_mac_lookup(t, 0x10, 0, start + 256 * step), BP_MAC_UNKNOWN);
	bp_mac_table_free(t);
}

/* Bounded: a port has what it may have, and then gives up its oldest. With some keys of the hash,
 * one of the buckets is full of its entries a little earlier. */
static void full_table_evicts(void **state)
{
	struct bp_mac_table *t = make(64);
	unsigned evicted = 0;

	for (uint64_t m = 1; m <= 1000; m++) {
		enum bp_mac_change c = bp_mac_learn(t, m, 1, S + m * S / 10);

		assert_true(c == BP_MAC_NEW || c == BP_MAC_EVICTED);
		assert_true(c == BP_MAC_EVICTED || m - 1 - evicted < 64);
		evicted += c == BP_MAC_EVICTED;
		assert_int_equal(bp_mac_lookup(t, m, 0, S + m * S / 10), 1);
	}
	assert_int_equal(bp_mac_table_count(t, S + 100 * S), 1000 - evicted);
	assert_in_range(1000 - evicted, 60, 64);
	bp_mac_table_free(t);
}

static void oldest_entry_is_evicted(void **state)
{
	struct bp_mac_table *t = make(4);
	uint64_t step = 1ull << t->shift;

	for (uint64_t m = 1; m <= 4; m++)
		bp_mac_learn(t, m, 1, S + m * step);
	bp_mac_learn(t, 1, 1, S + 5 * step);
	assert_int_equal(bp_mac_learn(t, 5, 1, S + 6 * step), BP_MAC_EVICTED);
	assert_int_equal(bp_mac_lookup(t, 2, 0, S + 6 * step), BP_MAC_UNKNOWN);
	assert_int_equal(bp_mac_lookup(t, 1, 0, S + 6 * step), 1);
	bp_mac_table_free(t);
}

static void loads_six_bytes(void **state)
{
	const uint8_t head[14] = {1, 2, 3, 4, 5, 6, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x80, 0x00};

	assert_int_equal(bp_mac_load(head), 0x060504030201ull);
	assert_int_equal(bp_mac_load(head + 6), 0x161514131211ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_and_moves),
		cmocka_unit_test(bridges_are_separate),
		cmocka_unit_test(port_zero),
		cmocka_unit_test(entries_expire_after_the_aging_time),
		cmocka_unit_test(any_ageing),
		cmocka_unit_test(sweeping_forgets),
		cmocka_unit_test(clock_jump_clears_the_table),
		cmocka_unit_test(full_table_evicts),
		cmocka_unit_test(oldest_entry_is_evicted),
		cmocka_unit_test(loads_six_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
