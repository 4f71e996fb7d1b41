/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer that takes over tables which say nonsense: it mends them, and nothing of it is left. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/fib/fib_rig.h"
#include "shm/fib/neighbors.h"

static struct fib_rig x;
static uint64_t rnd;

static void fill(void)
{
	for (unsigned i = 0; i < 200; i++) {
		struct bp_route r;
		struct bp_address a = {.family = i % 2 ? 4 : 6};

		memset(&r, 0, sizeof(r));
		for (unsigned b = 0; b < bp_address_bits(a.family) / 8; b++)
			a.bytes[b] = (uint8_t)(1 + test_below(&rnd, 200));
		r.prefix = bp_prefix_of(a, 1 + test_below(&rnd, bp_address_bits(a.family)));
		r.type = test_below(&rnd, 3) ? BP_ROUTE_UNICAST : (uint8_t)test_below(&rnd, 6);
		r.n_hops = 1 + test_below(&rnd, 3);
		r.object = test_below(&rnd, 3) ? 0 : 1 + i % 5;
		for (unsigned h = 0; h < r.n_hops; h++) {
			r.hop[h].interface = (uint8_t)test_below(&rnd, 4);
			r.hop[h].weight = (uint16_t)(1 + test_below(&rnd, 5));
			r.hop[h].gateway = fib_address(test_below(&rnd, 2) ? "fe80::1" : "fe80::2");
		}
		if (r.object)
			bp_fib_object_set(x.w, r.object, BP_ROUTE_UNICAST, r.hop, r.n_hops);
		bp_fib_route_set(x.w, &r);
		a.bytes[0] = 0xfe;
		bp_fib_neighbor_set(x.w, i % 4, &a, fib_mac(i), BP_NEIGHBOR_REACHABLE);
	}
}

/* Some bytes of it, or all. */
static void damage(void *table, size_t bytes, unsigned one_in)
{
	uint8_t *b = table;

	for (size_t i = 0; i < bytes; i++) {
		if (test_below(&rnd, one_in) == 0)
			b[i] = test_below(&rnd, 2) ? (uint8_t)test_random(&rnd)
						   : (uint8_t)test_below(&rnd, 8);
	}
}

static void show_all(void)
{
	struct bp_neighbor_info n;
	struct bp_interface_info info;
	struct bp_route r;
	uint32_t cursor = 0;

	while (bp_fib_next_route(x.f, &cursor, &r))
		assert_in_range(r.n_hops, 0, BP_HOPS_MAX);
	cursor = 0;
	while (bp_fib_next_neighbor(x.f, &cursor, &n))
		;
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++)
		bp_fib_interface(x.f, i, &info);
}

static void damage_all(unsigned one_in)
{
	const struct bp_fib *f = x.f;

	damage(f->interfaces, BP_ALL_INTERFACES * sizeof(*f->interfaces), one_in);
	damage(f->neighbors, f->neighbor_lines * sizeof(*f->neighbors), one_in);
	damage(f->nexthops, f->max_nexthops * sizeof(*f->nexthops), one_in);
	damage(f->groups, f->max_groups * sizeof(*f->groups), one_in);
	damage(f->routes4, (f->max_routes4 + 1) * sizeof(*f->routes4), one_in);
	damage(f->routes6, (f->max_routes6 + 1) * sizeof(*f->routes6), one_in);
	damage(f->lpm6_root, BP_LPM6_ROOT * sizeof(uint32_t), one_in);
	damage(f->lpm4_root, BP_LPM6_ROOT * sizeof(uint32_t), one_in);
	damage(f->vrfs, BP_MAX_VRFS * sizeof(*f->vrfs), one_in);
	damage(f->vrf_roots, (size_t)2 * BP_MAX_VRFS * BP_VRF_ROOT * sizeof(uint32_t), one_in);
	damage(f->lines, (size_t)f->max_lines * BP_LPM_LINE_SIZE, one_in);
}

/* Every index that a worker follows is one of its table's. */
static void check_links(void)
{
	for (uint32_t i = 0; i < x.f->max_nexthops; i++) {
		const uint64_t link = x.f->nexthops[i].link;

		if ((x.f->nexthops[i].state & 0xff) != 2 || bp_link_kind(link) != BP_LINK_GROUP)
			continue;
		assert_true((uint32_t)link < x.f->max_groups);
		for (unsigned s = 0; s < BP_GROUP_SHARES; s++) {
			const uint32_t n = x.f->groups[(uint32_t)link].nexthop[s];

			assert_true(n < x.f->max_nexthops);
			assert_int_not_equal(bp_link_kind(x.f->nexthops[n].link), BP_LINK_GROUP);
		}
	}
	for (unsigned i = 0; i < 2000; i++) {
		struct bp_address a = {.family = i % 2 ? 4 : 6};
		uint32_t n;

		for (unsigned b = 0; b < 16; b++)
			a.bytes[b] = (uint8_t)(1 + test_below(&rnd, 200));
		n = bp_fib_lookup(x.f, BP_VRF_MAIN, &a);
		assert_true(n < x.f->max_nexthops);
		assert_true(bp_link_kind(x.f->nexthops[n].link) < BP_LINK_KINDS);
		assert_int_equal(x.f->nexthops[n].state & 0xff, 2);
	}
}

static void invalid_state_is_repaired(void **state)
{
	static const unsigned one_in[] = {1, 3, 20, 200, 3000, 100000};

	for (unsigned round = 0; round < TEST_TIMES(30); round++) {
		rnd = 1 + round;
		fib_open(&x, 100, 100, 150, 100, 20);
		fill();
		damage_all(one_in[round % 6]);
		show_all();
		fib_take_over(&x);
		check_links();
		show_all();
		bp_fib_settle(x.w);
		fill();
		check_links();
		/* invented entries are removed if they are not set again */
		for (unsigned o = 0; o < 2; o++) {
			bp_fib_mark(x.w, (enum bp_origin)o);
			bp_fib_sweep(x.w, (enum bp_origin)o);
		}
		while (bp_fib_settle(x.w))
			;
		assert_int_equal(x.f->control->routes4 + x.f->control->routes6, 0);
		assert_int_equal(x.f->control->neighbors, 0);
		assert_int_equal(x.f->control->nexthops, 0);
		assert_int_equal(x.f->control->groups, 0);
		assert_int_equal(x.f->control->lines, 0);
		fib_close(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_state_is_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
