/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest-prefix-match tables against rte_lpm and rte_lpm6, which were written by others. */
#include "tests/unit/shm/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>

#include "bench/routes/route_mix.h"
#include "dataplane/dpdk_compat.h"
#include "tests/unit/shm/fib/lpm_rig.h"

#define ROUTES 12000u
#define BURST 64u

/* Shared by both: their next hops have 24 and 21 bits. */
static uint32_t any_nexthop(struct lpm_rig *r)
{
	return BP_NH_FIXED + test_below(&r->seed, 100000);
}

/* rte_lpm has no default route, and short prefixes would cover everything. */
static struct bp_prefix any_prefix(struct lpm_rig *r, uint8_t family)
{
	struct bp_prefix p = test_below(&r->seed, 2) != 0 ? bp_route_mix(&r->seed, family)
							  : random_prefix(&r->seed, family);

	if (p.length < 10)
		p = bp_prefix_of(address_near(&r->seed, &p),
			10 + test_below(&r->seed, bp_address_bits(family) - 9));
	return p;
}

static uint32_t host_order(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void compare4(struct lpm_rig *r, struct rte_lpm *lpm, unsigned bursts)
{
	uint32_t dst[BURST], ours[BURST], theirs[BURST];

	for (unsigned i = 0; i < bursts; i++) {
		for (unsigned k = 0; k < BURST; k++) {
			struct bp_address a =
				address_near(&r->seed, &r->prefix[test_below(&r->seed, r->n)]);

			dst[k] = host_order(a.bytes);
		}
		bp_lpm4_lookup(r->fib, dst, ours, BURST);
		rte_lpm_lookup_bulk(lpm, dst, theirs, BURST);
		for (unsigned k = 0; k < BURST; k++) {
			bool found = (theirs[k] & RTE_LPM_LOOKUP_SUCCESS) != 0;

			assert_int_equal(ours[k], found ? theirs[k] & 0xffffff : BP_NH_NONE);
		}
	}
}

static void test_lpm4(void **state)
{
	const struct rte_lpm_config c = {.max_rules = ROUTES, .number_tbl8s = ROUTES};
	struct rte_lpm *lpm = rte_lpm_create("oracle", SOCKET_ID_ANY, &c);
	struct lpm_rig r;

	assert_non_null(lpm);
	rig_start(&r, ROUTES, 0);
	for (unsigned i = 0; i < ROUTES; i++) {
		struct bp_prefix p = any_prefix(&r, 4);
		uint32_t nexthop = any_nexthop(&r);

		rig_set(&r, &p, nexthop);
		assert_int_equal(rte_lpm_add(lpm, host_order(p.bytes), p.length, nexthop), 0);
		if (i % 3 == 0) {
			p = r.prefix[test_below(&r.seed, r.n)];
			if (model_get(r.model, &p) != 0)
				assert_int_equal(
					rte_lpm_delete(lpm, host_order(p.bytes), p.length), 0);
			rig_remove(&r, &p);
		}
		if (i % 100 == 0)
			compare4(&r, lpm, 20);
	}
	compare4(&r, lpm, 5000);
	rte_lpm_free(lpm);
	rig_end(&r);
}

static void compare6(struct lpm_rig *r, struct rte_lpm6 *lpm, unsigned bursts)
{
	uint8_t dst[BURST][16];
	const uint8_t *at[BURST];
	uint32_t ours[BURST];
	int32_t theirs[BURST];

	for (unsigned i = 0; i < bursts; i++) {
		for (unsigned k = 0; k < BURST; k++) {
			struct bp_address a =
				address_near(&r->seed, &r->prefix[test_below(&r->seed, r->n)]);

			memcpy(dst[k], a.bytes, 16);
			at[k] = dst[k];
		}
		bp_lpm6_lookup(r->fib, at, ours, BURST);
		assert_int_equal(
			rte_lpm6_lookup_bulk_func(lpm, BP_LPM6_ADDRESSES(dst), theirs, BURST), 0);
		for (unsigned k = 0; k < BURST; k++)
			assert_int_equal(
				ours[k], theirs[k] >= 0 ? (uint32_t)theirs[k] : BP_NH_NONE);
	}
}

static void test_lpm6(void **state)
{
	const struct rte_lpm6_config c = {.max_rules = ROUTES, .number_tbl8s = 1u << 15};
	struct rte_lpm6 *lpm = rte_lpm6_create("oracle6", SOCKET_ID_ANY, &c);
	struct lpm_rig r;

	assert_non_null(lpm);
	rig_start(&r, ROUTES, 0);
	/* Deep random prefixes take many of rte_lpm6's tables each. */
	for (unsigned i = 0; i < ROUTES / 4; i++) {
		struct bp_prefix p = any_prefix(&r, 6);
		uint32_t nexthop = any_nexthop(&r);

		rig_set(&r, &p, nexthop);
		assert_int_equal(
			rte_lpm6_add(lpm, BP_LPM6_ADDRESSES(p.bytes), p.length, nexthop), 0);
		if (i % 3 == 0) {
			p = r.prefix[test_below(&r.seed, r.n)];
			if (model_get(r.model, &p) != 0)
				assert_int_equal(
					rte_lpm6_delete(lpm, BP_LPM6_ADDRESSES(p.bytes), p.length),
					0);
			rig_remove(&r, &p);
		}
		if (i % 100 == 0)
			compare6(&r, lpm, 20);
	}
	compare6(&r, lpm, 5000);
	rte_lpm6_free(lpm);
	rig_end(&r);
}

static int setup(void **state)
{
	static char dir[] = "/tmp/biplane-oracle-XXXXXX";
	char *args[] = {"test", "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m",
		"512", "--lcores=0"};

	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0)
		return -1;
	*state = dir;
	return rte_eal_init(sizeof(args) / sizeof(args[0]), args) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	char command[64];

	rte_eal_cleanup();
	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lpm4),
		cmocka_unit_test(test_lpm6),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
