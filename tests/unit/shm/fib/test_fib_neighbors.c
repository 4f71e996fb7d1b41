/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/fib/fib_rig.h"
#include "shm/fib/neighbors.h"

static struct fib_rig x;

static struct bp_address numbered(unsigned n, bool six)
{
	struct bp_address a = {.family = six ? 6 : 4};

	a.bytes[0] = six ? 0xfd : 10;
	a.bytes[1] = (uint8_t)(n >> 16);
	a.bytes[2] = (uint8_t)(n >> 8);
	a.bytes[3] = (uint8_t)n;
	return a;
}

static enum bp_fib_result set(unsigned interface, const struct bp_address *a, unsigned mac)
{
	return bp_fib_neighbor_set(x.w, interface, a, fib_mac(mac), BP_NEIGHBOR_REACHABLE);
}

/* As a worker looks it up. */
static uint64_t use(unsigned interface, const struct bp_address *a, uint32_t now)
{
	uint32_t four;

	if (a->family == 6)
		return bp_neighbor6_use(x.f, (uint8_t)interface, a->bytes, now);
	memcpy(&four, a->bytes, 4);
	bp_neighbor4_prefetch(x.f, (uint8_t)interface, four);
	return bp_neighbor4_use(x.f, (uint8_t)interface, four, now);
}

static uint64_t unresolved(unsigned interface)
{
	return bp_link_make(BP_LINK_UNRESOLVED, (uint8_t)interface, 0);
}

static uint32_t overflows(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < x.f->neighbor_lines; i++)
		sum += bp_neighbor_overflows(&x.f->neighbors[i]);
	return sum;
}

static void found_by_interface_and_address(void **state)
{
	const struct bp_address four = fib_address("10.0.0.1"), six = fib_address("fe80::1");
	struct bp_address mapped = fib_address("::ffff:10.0.0.2");

	fib_open(&x, 8, 8, 64, 8, 8);
	assert_int_equal(set(1, &four, 1), BP_FIB_DONE);
	assert_int_equal(set(2, &four, 2), BP_FIB_DONE);
	assert_int_equal(set(1, &six, 3), BP_FIB_DONE);
	assert_int_equal(set(1, &six, 3), BP_FIB_SAME);
	assert_int_equal(use(1, &four, 5), fib_resolved(1, 1));
	assert_int_equal(use(2, &four, 6), fib_resolved(2, 2));
	assert_int_equal(use(1, &six, 7), fib_resolved(1, 3));
	assert_int_equal(use(2, &six, 7), unresolved(2));
	assert_int_equal(use(1, &mapped, 7), unresolved(1));
	assert_int_equal(bp_fib_neighbor_used(x.f, 1, &four), 5);
	assert_int_equal(bp_fib_neighbor_used(x.f, 2, &four), 6);
	assert_int_equal(bp_fib_writer_neighbor_used(x.w, 1, &six), 7);
	assert_int_equal(set(1, &four, 9), BP_FIB_DONE);
	assert_int_equal(use(1, &four, 5), fib_resolved(1, 9));
	assert_int_equal(bp_fib_neighbor_delete(x.w, 1, &four), BP_FIB_DONE);
	assert_int_equal(bp_fib_neighbor_delete(x.w, 1, &four), BP_FIB_ABSENT);
	assert_int_equal(use(1, &four, 5), unresolved(1));
	assert_int_equal(set(BP_ALL_INTERFACES, &four, 1), BP_FIB_INVALID);
	mapped.family = 5;
	assert_int_equal(set(1, &mapped, 1), BP_FIB_INVALID);
	assert_int_equal(
		bp_fib_neighbor_set(x.w, 1, &four, fib_mac(1), BP_NEIGHBOR_ABSENT), BP_FIB_INVALID);
	fib_close(&x);
}

/* All that may be there, all of one line's: the worst that a hash can do. */
static void all_entries_fit_with_any_hash(void **state)
{
	enum { N = 64 };
	struct bp_address a[N];
	unsigned found = 0;

	fib_open(&x, 8, 8, N, 8, 8);
	for (unsigned n = 0; found < N; n++) {
		const struct bp_address one = numbered(n, n % 2);

		/* the last line, so that the way goes around */
		if (bp_neighbor_home(x.f, 1, bp_neighbor_key(&one)) == x.f->neighbor_lines - 1)
			a[found++] = one;
	}
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(set(1, &a[i], i), BP_FIB_DONE);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(use(1, &a[i], 1), fib_resolved(1, i));
	fib_take_over(&x);
	assert_int_equal(x.f->control->repairs, 0);
	assert_int_equal(x.f->control->neighbors, N);
	for (unsigned i = 0; i < N; i += 2)
		assert_int_equal(bp_fib_neighbor_delete(x.w, 1, &a[i]), BP_FIB_DONE);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(use(1, &a[i], 1), i % 2 ? fib_resolved(1, i) : unresolved(1));
	for (unsigned i = 1; i < N; i += 2)
		assert_int_equal(bp_fib_neighbor_delete(x.w, 1, &a[i]), BP_FIB_DONE);
	assert_int_equal(overflows(), 0);
	fib_close(&x);
}

static void the_configured_number_fits(void **state)
{
	enum { N = 65536 };
	uint32_t far = 0;

	fib_open(&x, 8, 8, N, 8, 8);
	for (unsigned i = 0; i < N; i++) {
		const struct bp_address a = numbered(i, i % 3 == 0);

		assert_int_equal(set(i % BP_ALL_INTERFACES, &a, i), BP_FIB_DONE);
	}
	for (unsigned i = 0; i < N; i++) {
		const struct bp_address a = numbered(i, i % 3 == 0);

		assert_int_equal(
			use(i % BP_ALL_INTERFACES, &a, 1), fib_resolved(i % BP_ALL_INTERFACES, i));
		far += bp_neighbor_overflows(&x.f->neighbors[i]) != 0;
	}
	assert_in_range(far, 1, N / 5); /* a lookup hardly ever reads a second line */
	fib_close(&x);
}

static void requests_wait_for_capacity(void **state)
{
	const struct bp_address one = numbered(1, false), two = numbered(2, false),
				three = numbered(3, true), four = numbered(4, true);
	struct bp_route r = fib_route("20.0.0.0/8", 0, "10.0.0.3");

	fib_open(&x, 8, 8, 2, 8, 8);
	r.hop[0].gateway = three;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	assert_int_equal(set(0, &one, 1), BP_FIB_DONE);
	assert_int_equal(set(0, &two, 2), BP_FIB_DONE);
	assert_int_equal(set(0, &three, 3), BP_FIB_FULL);
	assert_int_equal(set(0, &three, 33), BP_FIB_FULL);
	assert_int_equal(set(0, &four, 4), BP_FIB_FULL);
	assert_int_equal(x.f->control->neighbors_refused, 2);
	assert_int_equal(x.f->control->rejected_total, 2);
	assert_int_equal(use(0, &three, 1), unresolved(0)); /* to the kernel */
	assert_int_equal(fib_link(x.f, "20.1.1.1", 0), unresolved(0));
	assert_true(bp_fib_settle(x.w));
	assert_int_equal(bp_fib_neighbor_delete(x.w, 0, &four), BP_FIB_DONE);
	assert_int_equal(x.f->control->neighbors_refused, 1);
	assert_int_equal(bp_fib_neighbor_delete(x.w, 0, &one), BP_FIB_DONE);
	assert_false(bp_fib_settle(x.w));
	assert_int_equal(x.f->control->neighbors_refused, 0);
	assert_int_equal(use(0, &three, 1), fib_resolved(0, 33));
	assert_int_equal(fib_link(x.f, "20.1.1.1", 0), fib_resolved(0, 33));
	fib_close(&x);
}

static void static_route_precedes_kernel_route(void **state)
{
	const struct bp_address a = numbered(1, false);

	fib_open(&x, 8, 8, 8, 8, 8);
	assert_int_equal(
		bp_fib_neighbor_set(x.w, 0, &a, fib_mac(1), BP_NEIGHBOR_PERMANENT), BP_FIB_DONE);
	assert_int_equal(set(0, &a, 2), BP_FIB_SAME);
	assert_int_equal(bp_fib_neighbor_set(x.w, 0, &a, NULL, BP_NEIGHBOR_FAILED), BP_FIB_SAME);
	assert_int_equal(use(0, &a, 1), fib_resolved(0, 1));
	bp_fib_mark(x.w, BP_ORIGIN_KERNEL);
	assert_int_equal(bp_fib_sweep(x.w, BP_ORIGIN_KERNEL), 0);
	bp_fib_mark(x.w, BP_ORIGIN_STATIC);
	assert_int_equal(bp_fib_sweep(x.w, BP_ORIGIN_STATIC), 1);
	assert_int_equal(use(0, &a, 1), unresolved(0));
	fib_close(&x);
}

static void a_deleted_entry_is_not_reused_before_the_workers_passed(void **state)
{
	const struct bp_address one = numbered(1, false), two = numbered(2, false);
	struct bp_neighbor_entry *e;
	uint64_t known = 0, link;

	fib_open(&x, 8, 8, 1, 8, 8); /* two lines */
	bp_fib_quiesce(x.f, 0, &known);
	assert_int_equal(set(0, &one, 1), BP_FIB_DONE);
	use(0, &one, 9);
	e = bp_neighbor_find(x.f, 0, bp_neighbor_key(&one), &link);
	for (unsigned i = 0; i < 5; i++) {
		bp_fib_neighbor_delete(x.w, 0, &one);
		assert_int_equal(set(0, &two, 2), i < 3 ? BP_FIB_DONE : BP_FIB_FULL);
		bp_fib_neighbor_delete(x.w, 0, &two);
		bp_fib_settle(x.w);
		assert_true(e->hi == bp_neighbor_key(&one).hi);
		if (i == 0)
			fib_take_over(&x); /* nor by the next writer */
	}
	bp_fib_quiesce(x.f, 0, &known);
	bp_fib_settle(x.w);
	assert_int_equal(set(0, &two, 2), BP_FIB_DONE);
	assert_int_equal(bp_fib_neighbor_used(x.f, 0, &two), 0);
	fib_close(&x);
}

static void random_changes(void **state)
{
	enum { N = 200 };
	unsigned mac[N] = {0}; /* 0: absent */
	uint64_t rnd = 5, known = 0;

	fib_open(&x, 8, 8, 150, 8, 8);
	bp_fib_quiesce(x.f, 3, &known);
	for (unsigned i = 0, there = 0; i < TEST_TIMES(100000); i++) {
		const unsigned n = test_below(&rnd, N), to = 1 + test_below(&rnd, 1000);
		const struct bp_address a = numbered(n, n % 2);

		if (test_below(&rnd, 2) && mac[n]) {
			assert_int_equal(bp_fib_neighbor_delete(x.w, n % 3, &a), BP_FIB_DONE);
			mac[n] = 0;
			there--;
		} else if (mac[n] || there < 150) {
			assert_in_range(set(n % 3, &a, to), BP_FIB_DONE, BP_FIB_SAME);
			there += mac[n] == 0;
			mac[n] = to;
		}
		if (i % 16 == 0)
			bp_fib_quiesce(x.f, 3, &known);
		bp_fib_settle(x.w);
		if (i % 10000 == 0)
			fib_take_over(&x);
		for (unsigned k = 0; k < 4; k++) {
			const unsigned l = test_below(&rnd, N);
			const struct bp_address b = numbered(l, l % 2);

			assert_int_equal(use(l % 3, &b, 1),
				mac[l] ? fib_resolved(l % 3, mac[l]) : unresolved(l % 3));
		}
	}
	assert_int_equal(x.f->control->repairs, 0);
	fib_close(&x);
}

/* Whatever the memory holds: a lookup ends, and the next writer makes sense of it. */
static void garbage_is_repaired(void **state)
{
	uint64_t rnd = 6;

	for (unsigned round = 0; round < TEST_TIMES(40); round++) {
		const struct bp_address a = numbered(round, false);

		fib_open(&x, 8, 8, 40, 8, 8);
		for (uint32_t i = 0; i < x.f->neighbor_lines * sizeof(*x.f->neighbors) / 8; i++) {
			if (test_below(&rnd, 4))
				((uint64_t *)x.f->neighbors)[i] = test_random(&rnd);
			if (i % 4 == 0 && test_below(&rnd, 2)) /* nearly right */
				((uint64_t *)x.f->neighbors)[i] =
					fib_resolved(test_below(&rnd, 100), i);
		}
		use(1, &a, 1);
		fib_take_over(&x);
		assert_true(x.f->control->repairs > 0);
		const bool full = x.f->control->neighbors == 40;

		assert_int_equal(set(1, &a, 5), full ? BP_FIB_FULL : BP_FIB_DONE);
		fib_take_over(&x);
		bp_fib_settle(x.w);
		bp_fib_mark(x.w, BP_ORIGIN_KERNEL);
		bp_fib_mark(x.w, BP_ORIGIN_STATIC);
		bp_fib_sweep(x.w, BP_ORIGIN_KERNEL);
		bp_fib_sweep(x.w, BP_ORIGIN_STATIC);
		bp_fib_settle(x.w);
		assert_int_equal(x.f->control->neighbors, 0);
		assert_int_equal(overflows(), 0);
		for (uint32_t i = 0; i < x.f->neighbor_lines * 2; i++)
			assert_int_equal(x.f->neighbors[i / 2].entry[i % 2].link |
						 x.f->neighbors[i / 2].entry[i % 2].meta,
				0);
		fib_close(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_interface_and_address),
		cmocka_unit_test(all_entries_fit_with_any_hash),
		cmocka_unit_test(the_configured_number_fits),
		cmocka_unit_test(requests_wait_for_capacity),
		cmocka_unit_test(static_route_precedes_kernel_route),
		cmocka_unit_test(a_deleted_entry_is_not_reused_before_the_workers_passed),
		cmocka_unit_test(random_changes),
		cmocka_unit_test(garbage_is_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
