/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of VRFs: their own longest-prefix match, and what another writer finds of them. */
#include <stdlib.h>
#include <string.h>

#include "shm/fib/lpm/lpm.h"
#include "tests/unit/shm/fib/fib_rig.h"
#include "tests/unit/times.h"

static struct fib_rig x;
static uint64_t rnd;

static int start(void **state)
{
	rnd = 1;
	fib_open(&x, 4096, 4096, 64, 4096, 4);
	return 0;
}

static int end(void **state)
{
	fib_close(&x);
	return 0;
}

static void must_set_vrf(unsigned vrf, uint32_t table, const char *name)
{
	struct bp_vrf_info info = {.table = table};

	strcpy(info.name, name);
	assert_int_equal(bp_fib_vrf_set(x.w, vrf, &info), BP_FIB_DONE);
}

static enum bp_fib_result route(unsigned vrf, const char *prefix, const char *gateway)
{
	struct bp_route r = fib_route(prefix, 1, gateway);

	r.prefix.vrf = (uint8_t)vrf;
	return bp_fib_route_set(x.w, &r);
}

static enum bp_fib_result delete_in(unsigned vrf, const char *prefix)
{
	struct bp_prefix p = fib_prefix(prefix);

	p.vrf = (uint8_t)vrf;
	return bp_fib_route_delete(x.w, &p, BP_ORIGIN_KERNEL);
}

static uint32_t lookup(unsigned vrf, const char *address)
{
	const struct bp_address a = fib_address(address);

	return bp_fib_lookup(x.f, vrf, &a);
}

static bool leads_to(unsigned vrf, const char *address, const char *gateway)
{
	const struct bp_address g = fib_address(gateway);
	const struct bp_nexthop *e = &x.f->nexthops[lookup(vrf, address)];

	return memcmp(&e->hop.gateway, &g, sizeof(g)) == 0;
}

static void the_same_prefix_may_be_in_several_vrfs(void **state)
{
	must_set_vrf(1, 10, "blue");
	must_set_vrf(2, 20, "red");
	assert_int_equal(route(0, "10.0.0.0/24", "1.1.1.1"), BP_FIB_DONE);
	assert_int_equal(route(1, "10.0.0.0/24", "2.2.2.2"), BP_FIB_DONE);
	assert_int_equal(route(1, "10.0.0.128/25", "3.3.3.3"), BP_FIB_DONE);
	assert_int_equal(route(2, "2001:db8::/33", "fe80::1"), BP_FIB_DONE);
	assert_true(leads_to(0, "10.0.0.200", "1.1.1.1"));
	assert_true(leads_to(1, "10.0.0.1", "2.2.2.2"));
	assert_true(leads_to(1, "10.0.0.200", "3.3.3.3"));
	assert_int_equal(lookup(2, "10.0.0.1"), BP_NH_NONE);
	assert_true(leads_to(2, "2001:db8::1", "fe80::1"));
	assert_int_equal(lookup(0, "2001:db8::1"), BP_NH_NONE);
	assert_int_equal(lookup(1, "2001:db8::1"), BP_NH_NONE);
	assert_int_equal(x.f->control->routes4, 3);
	assert_int_equal(delete_in(0, "10.0.0.0/24"), BP_FIB_DONE);
	assert_int_equal(lookup(0, "10.0.0.1"), BP_NH_NONE);
	assert_true(leads_to(1, "10.0.0.1", "2.2.2.2"));
	assert_int_equal(delete_in(1, "10.0.0.0/24"), BP_FIB_DONE);
	assert_int_equal(lookup(1, "10.0.0.1"), BP_NH_NONE);
	assert_true(leads_to(1, "10.0.0.200", "3.3.3.3"));
	assert_int_equal(delete_in(1, "10.0.0.128/25"), BP_FIB_DONE);
	assert_int_equal(delete_in(2, "2001:db8::/33"), BP_FIB_DONE);
}

static void a_vrf_without_a_number_has_no_routes(void **state)
{
	struct bp_vrf_info info = {.table = 10};

	assert_int_equal(route(1, "10.0.0.0/24", "1.1.1.1"), BP_FIB_INVALID);
	assert_int_equal(delete_in(1, "10.0.0.0/24"), BP_FIB_INVALID);
	assert_int_equal(bp_fib_vrf_set(x.w, BP_VRF_MAIN, &info), BP_FIB_INVALID);
	assert_int_equal(bp_fib_vrf_set(x.w, BP_MAX_VRFS + 1, &info), BP_FIB_INVALID);
	assert_int_equal(bp_fib_vrf_set(x.w, BP_MAX_VRFS, &info), BP_FIB_DONE);
	assert_int_equal(bp_fib_vrf_set(x.w, BP_MAX_VRFS, &info), BP_FIB_SAME);
	assert_int_equal(route(BP_MAX_VRFS, "10.0.0.0/24", "1.1.1.1"), BP_FIB_DONE);
	assert_int_equal(route(BP_MAX_VRFS + 1, "10.0.0.0/24", "1.1.1.1"), BP_FIB_INVALID);
	assert_true(leads_to(BP_MAX_VRFS, "10.0.0.1", "1.1.1.1"));
	for (unsigned vrf = BP_MAX_VRFS + 1; vrf <= 0xff; vrf++)
		assert_int_equal(lookup(vrf, "10.0.0.1"), BP_NH_NONE);
	assert_true(bp_fib_vrf(x.f, BP_MAX_VRFS, &info));
	assert_false(bp_fib_vrf(x.f, 1, &info));
	assert_false(bp_fib_vrf(x.f, BP_VRF_KERNEL, &info));
}

/* An address near the prefixes of fill(). */
static struct bp_address random_address(uint8_t family)
{
	struct bp_address a = {.family = family};
	const unsigned bytes = family == 4 ? 4 : 16;

	for (unsigned i = 0; i < bytes; i++)
		a.bytes[i] = (uint8_t)(i < 2 ? 10 + test_below(&rnd, 2) : test_below(&rnd, 4) << 6);
	return a;
}

/* The same random routes in the main VRF, whose tables have another shape, and in VRF 3. */
static void fill(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t family = test_below(&rnd, 2) ? 4 : 6;
		struct bp_route r = fib_route("10.0.0.0/8", 1, "");
		/* a short prefix changes a large part of the table: seldom */
		const unsigned min = test_below(&rnd, 16) == 0 ? 0 : 10;
		const unsigned length =
			min + (unsigned)test_below(&rnd, bp_address_bits(family) + 1 - min);

		r.prefix = bp_prefix_of(random_address(family), length);
		r.hop[0].gateway = random_address(family);
		for (unsigned vrf = 0; vrf <= 3; vrf += 3) {
			enum bp_fib_result got;

			r.prefix.vrf = (uint8_t)vrf;
			if (i % 4 == 3)
				got = bp_fib_route_delete(x.w, &r.prefix, BP_ORIGIN_KERNEL);
			else
				got = bp_fib_route_set(x.w, &r);
			assert_true(
				got == BP_FIB_DONE || got == BP_FIB_SAME || got == BP_FIB_ABSENT);
		}
	}
}

static void compare_with_main(void)
{
	for (unsigned i = 0; i < TEST_TIMES(10000); i++) {
		const struct bp_address a = random_address(i % 2 ? 4 : 6);

		assert_int_equal(bp_fib_lookup(x.f, 3, &a), bp_fib_lookup(x.f, 0, &a));
		assert_int_equal(bp_fib_lookup(x.f, 2, &a), BP_NH_NONE);
	}
}

static void the_longest_prefix_of_a_vrf_matches(void **state)
{
	must_set_vrf(3, 30, "green");
	for (unsigned round = 0; round < 10; round++) {
		fill(200);
		compare_with_main();
	}
}

static void many_addresses_are_looked_up_together(void **state)
{
	struct bp_address a[64];
	const uint8_t *dst[64];
	uint32_t nexthop[64];
	uint8_t vrf[64];

	must_set_vrf(3, 30, "green");
	fill(1000);
	for (unsigned family = 4; family <= 6; family += 2) {
		for (unsigned i = 0; i < 64; i++) {
			a[i] = random_address((uint8_t)family);
			dst[i] = a[i].bytes;
			vrf[i] = i % 4 == 0 ? BP_VRF_KERNEL : (uint8_t)(2 + i % 2);
		}
		bp_lpm_vrf_lookup(x.f, family, vrf, dst, nexthop, 64);
		for (unsigned i = 0; i < 64; i++)
			assert_int_equal(nexthop[i], bp_fib_lookup(x.f, vrf[i], &a[i]));
	}
}

static void another_writer_finds_the_routes_of_vrfs(void **state)
{
	struct bp_vrf_info info;
	uint32_t lines;

	must_set_vrf(3, 30, "green");
	fill(1000);
	lines = x.f->control->lines;
	fib_take_over(&x);
	assert_int_equal(x.f->control->repairs, 0);
	assert_true(x.f->control->lines <= lines); /* new nodes have no runs too many */
	compare_with_main();
	assert_true(bp_fib_vrf(x.f, 3, &info));
	assert_int_equal(info.table, 30);
	assert_string_equal(info.name, "green");
	fill(500);
	compare_with_main();
}

static void damaged_tables_of_vrfs_are_repaired(void **state)
{
	must_set_vrf(3, 30, "green");
	fill(1000);
	for (unsigned round = 0; round < 5; round++) {
		_Atomic uint32_t *roots = x.f->vrf_roots;

		for (unsigned i = 0; i < 6 * BP_VRF_ROOT; i += 1 + (unsigned)test_below(&rnd, 4))
			atomic_store_explicit(
				&roots[i], (uint32_t)test_random(&rnd), memory_order_relaxed);
		/* as if the earlier writer had ended while it wrote */
		atomic_fetch_add(&x.f->vrfs[2].seq, 1);
		fib_take_over(&x);
		assert_true(x.f->control->repairs > 0);
		compare_with_main();
	}
}

/* The number of VRFs is what bounds the roots that a writer reads. */
static void a_lost_number_of_vrfs_loses_their_routes_alone(void **state)
{
	must_set_vrf(3, 30, "green");
	assert_int_equal(route(3, "10.0.0.0/25", "2.2.2.2"), BP_FIB_DONE);
	assert_int_equal(route(0, "10.0.0.0/25", "1.1.1.1"), BP_FIB_DONE);
	atomic_store(&x.f->control->vrfs, 0);
	fib_take_over(&x);
	assert_int_equal(x.f->control->routes4, 1);
	assert_true(leads_to(0, "10.0.0.1", "1.1.1.1"));
	must_set_vrf(3, 31, "green");
	assert_int_equal(lookup(3, "10.0.0.1"), BP_NH_NONE);
	atomic_store(&x.f->control->vrfs, UINT32_MAX);
	assert_int_equal(bp_fib_vrfs(x.f), BP_MAX_VRFS);
	fib_take_over(&x);
	assert_true(leads_to(0, "10.0.0.1", "1.1.1.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_prefix_may_be_in_several_vrfs, start, end),
		cmocka_unit_test_setup_teardown(a_vrf_without_a_number_has_no_routes, start, end),
		cmocka_unit_test_setup_teardown(the_longest_prefix_of_a_vrf_matches, start, end),
		cmocka_unit_test_setup_teardown(many_addresses_are_looked_up_together, start, end),
		cmocka_unit_test_setup_teardown(
			another_writer_finds_the_routes_of_vrfs, start, end),
		cmocka_unit_test_setup_teardown(damaged_tables_of_vrfs_are_repaired, start, end),
		cmocka_unit_test_setup_teardown(
			a_lost_number_of_vrfs_loses_their_routes_alone, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
