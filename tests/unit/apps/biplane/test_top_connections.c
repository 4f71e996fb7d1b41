/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of connections in `biplane top`, from flow tables with known contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/top/connections.h"
#include "services/mqtt/flow.h"

#define WORKERS 2
#define S 1000000000ull

static struct bp_shm shm;
static struct bp_flow_table flows[WORKERS];
static struct bp_counters counters;
static struct bp_top_connections c;
static struct bp_top_connection out[64];

static void release(void *arg, struct bp_flow *f)
{
	(void)arg;
	(void)f;
}

static void open_tables(uint32_t capacity)
{
	static const uint64_t key[2] = {1, 2};
	const struct bp_flow_bounds bounds = {capacity, 64};
	const uint64_t bytes = (bp_flow_table_bytes(bounds) + 63) & ~63ull;

	memset(&shm, 0, sizeof(shm));
	memset(&c, 0, sizeof(c));
	shm.workers = WORKERS;
	shm.flows_len = WORKERS * bytes;
	shm.flows = aligned_alloc(64, shm.flows_len);
	memset(shm.flows, 0, shm.flows_len);
	for (unsigned w = 0; w < WORKERS; w++) {
		bp_flow_table_init(&flows[w], shm.flows + w * bytes, bounds, key, 3600 * S, 10 * S);
		flows[w].counters = &counters;
		flows[w].release = release;
	}
}

static int close_tables(void **state)
{
	(void)state;
	bp_top_connections_free(&c);
	free(shm.flows);
	return 0;
}

/* A connection from 10.0.0.n, port n. */
static struct bp_flow *add(unsigned worker, uint32_t n)
{
	const uint8_t client[4] = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	const uint8_t broker[4] = {192, 0, 2, 1};
	struct bp_flow_new new = {.k0 = bp_flow_k0_ip4(client, broker),
		.k1 = (uint64_t)(n & 0xffff) << 16 | 1883,
		.list = BP_LIST_PROVEN};
	struct bp_flow *f;

	new.hash = bp_flow_hash(&flows[worker], new.k0, new.k1);
	f = bp_flow_add(&flows[worker], &new);
	assert_non_null(f);
	memcpy(f->client_ip, client, 4);
	memcpy(f->broker_ip, broker, 4);
	return f;
}

static unsigned first(enum bp_top_connection_order order, bool ascending, unsigned n)
{
	return bp_top_connections_first(&c, &shm, 100 * S, order, ascending, out, n);
}

static void rates_are_of_the_time_between_two_readings(void **state)
{
	struct bp_flow *a, *b;

	(void)state;
	open_tables(1000);
	a = add(0, 1);
	b = add(1, 2);
	a->publishes = UINT32_MAX; /* the count wraps */
	assert_true(bp_top_connections_update(&c, &shm, 10 * S));
	assert_int_equal(c.updates, 1);
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 2);
	assert_true(isnan(out[0].rate));
	a->publishes += 20;
	b->publishes += 50;
	assert_true(bp_top_connections_update(&c, &shm, 12 * S));
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 2);
	assert_true(out[0].rate == 25 && out[0].view.worker == 1);
	assert_true(out[1].rate == 10 && out[1].view.client_port == 1);
	/* the connection ends, and another one is in its slot */
	bp_flow_remove(&flows[1], b);
	b = add(1, 2);
	b->publishes = 1000;
	assert_true(bp_top_connections_update(&c, &shm, 13 * S));
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 2);
	assert_true(isnan(out[1].rate) && out[1].view.publishes == 1000);
	bp_flow_remove(&flows[1], b);
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 1);
}

static void the_first_rows_of_an_order_are_selected(void **state)
{
	(void)state;
	open_tables(1000);
	for (uint32_t i = 1; i <= 500; i++)
		add(i % 2, i)->publishes = i * 37 % 501;
	assert_true(bp_top_connections_update(&c, &shm, S));
	assert_int_equal(first(BP_TOP_BY_PUBLISHES, false, 10), 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(out[i].view.publishes, 500 - i);
	assert_int_equal(first(BP_TOP_BY_PUBLISHES, true, 10), 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(out[i].view.publishes, i + 1);
	assert_int_equal(first(BP_TOP_BY_PUBLISHES, true, 0), 0);
}

/* An update reads a bounded number of slots; after c.updates of them all were read. */
static void the_work_of_an_update_is_bounded(void **state)
{
	struct bp_flow *last;
	uint64_t t = S;

	(void)state;
	open_tables(100000);
	for (uint32_t i = 1; i < 2000; i++)
		add(0, i);
	last = add(1, 70000);
	assert_true(bp_top_connections_update(&c, &shm, t));
	assert_int_equal(c.updates, 2);
	assert_int_equal(c.updates, (c.slots + BP_TOP_SLOTS - 1) / BP_TOP_SLOTS);
	assert_true(c.at >= BP_TOP_SLOTS && c.at < BP_TOP_SLOTS + 4096);
	for (unsigned i = 0; i < 2 * c.updates; i++) {
		last->publishes += 100;
		t += S;
		assert_true(bp_top_connections_update(&c, &shm, t));
	}
	assert_int_equal(first(BP_TOP_BY_RATE, false, 1), 1);
	assert_true(out[0].view.client_port == (uint16_t)70000 && out[0].rate == 100);
}

/* A restart with another configuration: tables of other sizes, and then none. */
static void other_tables_begin_anew(void **state)
{
	struct bp_shm old;

	(void)state;
	open_tables(1000);
	add(0, 1);
	assert_true(bp_top_connections_update(&c, &shm, S));
	old = shm;
	struct bp_top_connections kept = c;

	open_tables(3000);
	c = kept;
	add(0, 1);
	add(0, 2);
	assert_true(bp_top_connections_update(&c, &shm, 2 * S));
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 2);
	assert_true(isnan(out[0].rate));
	free(old.flows);
	old = shm;
	shm.flows_len = 0;
	assert_true(bp_top_connections_update(&c, &shm, 3 * S));
	assert_int_equal(first(BP_TOP_BY_RATE, false, 10), 0);
	shm = old;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rates_are_of_the_time_between_two_readings, close_tables),
		cmocka_unit_test_teardown(the_first_rows_of_an_order_are_selected, close_tables),
		cmocka_unit_test_teardown(the_work_of_an_update_is_bounded, close_tables),
		cmocka_unit_test_teardown(other_tables_begin_anew, close_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
