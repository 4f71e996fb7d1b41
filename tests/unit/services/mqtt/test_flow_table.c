/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow table: lookup, eviction and expiry, case by case. */
#include "tests/unit/services/mqtt/flow_table_rig.h"

/* IPv6 keys are a hash of the addresses: two that collide are still two. */
static void ip6_collision(void **state)
{
	struct table *t = table_open(16, 60 * SECOND, 30 * SECOND);
	uint8_t client[2][16] = {{1}, {2}}, broker[16] = {3};
	uint64_t hash = bp_flow_hash(&t->t, 11, 22);
	struct bp_flow *f[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_null(bp_flow_find(&t->t, hash, 11, 22, client[i], broker));
		f[i] = bp_flow_add(&t->t, &(struct bp_flow_new){.hash = hash,
						  .k0 = 11,
						  .k1 = 22,
						  .list = BP_LIST_PROVEN,
						  .flags = BP_FLOW_IP6,
						  .client_ip6 = client[i],
						  .broker_ip6 = broker});
	}
	for (unsigned i = 0; i < 2; i++)
		assert_ptr_equal(bp_flow_find(&t->t, hash, 11, 22, client[i], broker), f[i]);
	assert_null(bp_flow_find(&t->t, hash, 11, 22, broker, client[0]));
	table_close(t);
}

/* Sixteen and more flows with one hash: the first group, the second, then the oldest goes. */
static void one_hash(void **state)
{
	struct table *t = table_open(1000, 60 * SECOND, 30 * SECOND);
	uint8_t ip[40][16] = {{0}};
	uint64_t hash = bp_flow_hash(&t->t, 5, 6);
	unsigned found = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct bp_flow *f;

		ip[i][0] = (uint8_t)(i + 1);
		table_at(t, t->mono_ns + SECOND);
		f = table_add(t, 5, 6, BP_LIST_PROVEN);
		memcpy(f->client_ip, ip[i], 16);
		table_consistent(&t->t);
	}
	assert_int_equal(t->t.count, 30);
	assert_int_equal(t->counters.v[BP_C_CONN_EVICTED], 10);
	assert_int_equal(table_released, 10);
	for (unsigned i = 0; i < 40; i++) {
		bool there = bp_flow_find(&t->t, hash, 5, 6, ip[i], ip[0]) != NULL ||
			     bp_flow_find(&t->t, hash, 5, 6, ip[i], (uint8_t[16]){0}) != NULL;

		assert_int_equal(there, i >= 10);
		found += there;
	}
	assert_int_equal(found, 30);
	table_close(t);
}

static uint64_t of_client(uint64_t client, uint64_t n)
{
	return client << 32 | n;
}

/* Unproven connections have a bound of their own: a table that is full of proven ones keeps all. */
static void unproven_flood(void **state)
{
	enum { N = 800 };
	struct table *t = table_open(N, 3600 * SECOND, 30 * SECOND);
	unsigned left = 0;

	(void)state;
	for (uint64_t i = 0; t->t.proven < N; i++) {
		table_at(t, t->mono_ns + 1000000);
		table_add(t, of_client(i, 1), 1, BP_LIST_PROVEN);
	}
	for (uint64_t i = 0; i < 20 * N; i++) {
		table_at(t, t->mono_ns + 1000000);
		table_add(t, of_client(i % 77, i), 2, BP_LIST_UNPROVEN);
	}
	for (uint64_t i = 0; i < 2 * N; i++)
		left += table_find(t, of_client(i, 1), 1) != NULL;
	assert_int_equal(left, N);
	assert_true(t->t.unproven <= N / 4 + 1);
	assert_int_equal(t->counters.v[BP_C_CONN_EVICTED], 0);
	table_consistent(&t->t);
	table_close(t);
}

/* One client opens ten thousand flows; those of a hundred others, ten each, remain. */
static void unproven_shares(void **state)
{
	enum { OTHERS = 100, EACH = 10 };
	struct table *t = table_open(8192, 3600 * SECOND, 30 * SECOND);

	(void)state;
	for (uint64_t i = 0; i < OTHERS * EACH; i++)
		table_add(t, of_client(1 + i % OTHERS, i), 1, BP_LIST_UNPROVEN);
	for (uint64_t i = 0; i < 10000; i++) {
		table_at(t, t->mono_ns + 100000);
		assert_non_null(table_add(t, of_client(9999, i), 2, BP_LIST_UNPROVEN));
	}
	assert_int_equal(t->t.unproven, t->t.max_unproven);
	for (uint64_t i = 0; i < OTHERS * EACH; i++)
		assert_non_null(table_find(t, of_client(1 + i % OTHERS, i), 1));
	/* and of the one that floods, the last are there */
	assert_null(table_find(t, of_client(9999, 0), 2));
	assert_non_null(table_find(t, of_client(9999, 9999), 2));
	table_consistent(&t->t);
	table_close(t);
}

/* Within one client: flows with a complete handshake are evicted last, and recently seen ones
 * later. */
static void unproven_order(void **state)
{
	struct table *t = table_open(400, 3600 * SECOND, 30 * SECOND);
	struct bp_flow *answered, *seen;

	(void)state;
	answered = table_add(t, of_client(1, 0), 1, BP_LIST_UNPROVEN);
	answered->proof |= BP_FLOW_SYN_ACKED | BP_FLOW_HANDSHAKE;
	bp_flow_file(&t->t, answered, BP_LIST_UNPROVEN);
	seen = table_add(t, of_client(1, 1), 1, BP_LIST_UNPROVEN);
	for (uint64_t i = 2; i < 1000; i++) {
		table_at(t, t->mono_ns + 10000000);
		seen->seen = t->t.now;
		table_add(t, of_client(1, i), 1, BP_LIST_UNPROVEN);
		table_consistent(&t->t);
	}
	assert_ptr_equal(table_find(t, of_client(1, 0), 1), answered);
	assert_ptr_equal(table_find(t, of_client(1, 1), 1), seen);
	/* proven, it is no longer among them */
	bp_flow_file(&t->t, answered, BP_LIST_PROVEN);
	assert_int_equal(t->t.proven, 1);
	assert_int_equal(t->t.unproven, 100);
	table_consistent(&t->t);
	table_close(t);
}

/* Two addresses of one /64 are one client, those of two are two. */
static void ip6_client(void **state)
{
	struct table *t = table_open(16, 60 * SECOND, 30 * SECOND);
	uint8_t ip[3][16] = {{0x20, 1, [15] = 1}, {0x20, 1, [8] = 7, [15] = 2}, {0x20, 1, [7] = 1}};
	uint32_t client[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct bp_flow *f =
			bp_flow_add(&t->t, &(struct bp_flow_new){.hash = bp_flow_hash(&t->t, i, 22),
						   .k0 = i,
						   .k1 = 22,
						   .list = BP_LIST_UNPROVEN,
						   .flags = BP_FLOW_IP6,
						   .client_ip6 = ip[i],
						   .broker_ip6 = ip[2]});
		client[i] = bp_flow_client(&t->t, f);
	}
	assert_int_equal(client[0], client[1]);
	assert_int_not_equal(client[0], client[2]);
	table_close(t);
}

/* Picked up mid-stream: kept for the long time, with no memory after the short one. */
static void midstream_rests(void **state)
{
	struct table *t = table_open(400, 3600 * SECOND, 30 * SECOND);

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		struct bp_flow *f = bp_flow_add(&t->t,
			&(struct bp_flow_new){.hash = bp_flow_hash(&t->t, of_client(i, 0), 1),
				.k0 = of_client(i, 0),
				.k1 = 1,
				.list = BP_LIST_UNPROVEN,
				.flags = BP_FLOW_MIDWAY});
		if (i % 2 != 0)
			bp_flow_carries(&t->t, f, 4096);
	}
	assert_int_equal(t->t.unproven_bytes, 50 * 4096);
	t->t.release = NULL;
	for (unsigned calls = 0; calls < 200; calls++)
		bp_flow_expire(&t->t, t->mono_ns + 31 * SECOND, 64);
	assert_int_equal(t->t.unproven_bytes, 0);
	assert_int_equal(t->counters.v[BP_C_CONN_EXPIRED_UNESTABLISHED], 50);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(table_find(t, of_client(i, 0), 1) != NULL, i % 2 == 0);
	table_consistent(&t->t);
	table_at(t, t->mono_ns + 3601 * SECOND);
	table_find(t, of_client(0, 0), 1)->seen = t->t.now;
	for (unsigned calls = 0; calls < 200; calls++)
		bp_flow_expire(&t->t, t->mono_ns, 64);
	assert_int_equal(t->t.count, 1);
	table_consistent(&t->t);
	table_close(t);
}

/* Each list by its own time, in bounded steps, and not before. */
static void each_list_expires_after_its_timeout(void **state)
{
	struct table *t = table_open(4096, 60 * SECOND, 10 * SECOND);
	const uint64_t start = t->mono_ns, tick = 1u << 20;
	unsigned expired = 0, calls = 0;
	struct bp_flow *f;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		table_add(t, i, 1, BP_LIST_PROVEN);
		table_add(t, i, 2, BP_LIST_UNPROVEN);
		f = table_add(t, i, 3, BP_LIST_PROVEN);
		f->flags |= BP_FLOW_CLOSED;
		bp_flow_file(&t->t, f, BP_LIST_CLOSED);
	}
	assert_int_equal(bp_flow_expire(&t->t, start + 10 * SECOND - 2 * tick, 10000), 0);
	while ((expired += bp_flow_expire(&t->t, start + 10 * SECOND + 2 * tick, 64)) < 2000) {
		assert_true(++calls < 2000);
		table_consistent(&t->t);
	}
	assert_true(calls >= 2000 / (2 * 64) - 1); /* a call does not more than it is allowed */
	assert_int_equal(t->t.count, 1000);
	/* closed ones were counted when they closed */
	assert_int_equal(t->counters.v[BP_C_CONN_EXPIRED_UNESTABLISHED], 1000);
	/* half of them are seen again */
	table_at(t, start + 30 * SECOND);
	for (uint64_t i = 0; i < 1000; i += 2)
		table_find(t, i, 1)->seen = t->t.now;
	for (calls = 0; calls < 3000; calls++)
		bp_flow_expire(&t->t, start + 60 * SECOND - 100 * tick, 64);
	assert_int_equal(t->t.count, 1000);
	for (calls = 0; calls < 3000; calls++)
		bp_flow_expire(&t->t, start + 60 * SECOND + 100 * tick, 64);
	assert_int_equal(t->t.count, 500);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(table_find(t, i, 1) != NULL, i % 2 == 0);
	for (calls = 0; calls < 3000; calls++)
		bp_flow_expire(&t->t, start + 90 * SECOND + 100 * tick, 64);
	assert_int_equal(t->t.count, 0);
	assert_int_equal(table_released, 3000);
	table_consistent(&t->t);
	table_close(t);
}

/* A worker that slept through several turns of the wheel, and a clock near the end of its ticks. */
static void long_sleep(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		struct table *t = table_open(64, 3600 * SECOND, 30 * SECOND);
		uint64_t wrap = (uint64_t)1 << 52; /* 2^32 ticks */

		if (round >= 2)
			table_at(t, wrap - 1800 * SECOND);
		for (uint64_t i = 0; i < 64; i++) {
			table_at(t, t->mono_ns + 60 * SECOND);
			table_add(t, i, 1, BP_LIST_PROVEN);
		}
		if (round % 2 != 0)
			table_at(t, t->mono_ns + 40 * 3600 * SECOND);
		else
			table_at(t, t->mono_ns + 3700 * SECOND);
		for (unsigned i = 0; i < 1000 && t->t.count != 0; i++)
			bp_flow_expire(&t->t, t->mono_ns, 64);
		assert_int_equal(t->t.count, 0);
		table_consistent(&t->t);
		table_close(t);
	}
}

/*
 * Random gaps between checks of the timer wheel, from none to nearly a turn, also over the wrap of
 * the ticks: expired flows are removed at the next check, and no others.
 */
static void irregular_ticks(void **state)
{
	static const uint64_t idle[] = {60 * SECOND, 3600 * SECOND, 30 * 86400 * SECOND};

	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		uint64_t idle_ns = idle[round % 3], s = 5 + round, pause = 0;
		struct table *t = table_open(200, idle_ns, 30 * SECOND);
		uint32_t seen[100], limit = (uint32_t)(idle_ns >> 20) + 1;
		bool live[100] = {false};

		if (round % 2 != 0)
			table_at(t, ((uint64_t)1 << 52) - 5 * idle_ns);
		if (limit > INT32_MAX)
			limit = INT32_MAX;
		for (unsigned step = 0; step < 3000; step++) {
			unsigned i = test_below(&s, 100);
			uint64_t gap = idle_ns / 1000 * test_below(&s, 30);

			/* after more than a turn (twice the timeout) it goes late; see long_sleep
			 */
			if (test_below(&s, 300) == 0 && round % 3 != 2)
				gap = idle_ns / 10 * test_below(&s, 15);
			pause += gap;
			table_at(t, t->mono_ns + gap);
			/* a month is near the range of the ticks: checked without pauses */
			if (test_below(&s, 8) == 0 || round % 3 == 2 || pause > idle_ns / 5) {
				pause = 0;
				for (unsigned k = 0; k < 8; k++) /* 100 flows, each checked twice */
					bp_flow_expire(&t->t, t->mono_ns, 64);
				for (unsigned k = 0; k < 100; k++) {
					uint32_t ago = t->t.now - seen[k];
					bool there = table_find(t, k, 1) != NULL;

					/* exact to within one list of the wheel */
					if (live[k] && there)
						assert_true(
							ago <= limit + (1u << t->t.wheel_shift));
					if (live[k] && !there)
						assert_true(ago >= limit);
					if (!live[k])
						assert_false(there);
					live[k] = there;
				}
			}
			if (table_find(t, i, 1) == NULL)
				table_add(t, i, 1, BP_LIST_PROVEN);
			table_find(t, i, 1)->seen = seen[i] = t->t.now;
			live[i] = true;
		}
		table_consistent(&t->t);
		table_close(t);
	}
}

/* The default bound and the largest promised: full, and no flow pushed out before that. */
static void fills_to_the_bound(void **state)
{
	static const uint32_t capacities[] = {1024, 65536, 1048576};

	(void)state;
	for (unsigned c = 0; c < 3; c++) {
		uint32_t capacity = capacities[c];
		struct table *t = table_open(capacity, 3600 * SECOND, 30 * SECOND);
		uint64_t evicted;

		/* 320 bytes a flow, unproven ones too, a quarter more of them, the tags, and two to
		 * four sessions */
		assert_true(t->bytes <= (uint64_t)capacity * 5 / 4 * (320 * 5 / 4 + 3) +
						(uint64_t)capacity * 32 + 65536);
		for (uint64_t i = 0; i < capacity; i++)
			table_add(
				t, 0x0a000000ull << 32 | i << 20, 40000 + i % 999, BP_LIST_PROVEN);
		evicted = t->counters.v[BP_C_CONN_EVICTED];
		assert_int_equal(t->t.count + evicted, capacity);
		/* the price of looking at two groups only: less than one in a thousand */
		assert_true(evicted <= capacity / 1000);
		for (uint64_t i = 0; i < capacity / 4; i++)
			table_add(
				t, 0x0b000000ull << 32 | i << 20, 40000 + i % 999, BP_LIST_PROVEN);
		assert_int_equal(t->t.count, capacity);
		table_consistent(&t->t);
		table_close(t);
	}
}

/* A full table of connections that were all seen since they were filed: a new one moves a bounded
 * number of them, and of these evicts the one that was not seen for the longest time. */
static void checks_few_entries(void **state)
{
	enum { FLOWS = 1000, FEW = 64 };
	struct table *t = table_open(FLOWS, 3600 * SECOND, 30 * SECOND);
	const uint64_t places = (uint64_t)t->t.groups * BP_FLOW_WAYS;
	struct was {
		uint32_t seen;
		uint16_t list;
	} *was = calloc(places, sizeof(*was));
	uint32_t evicted = 0, least = UINT32_MAX;
	unsigned moved = 0, n = 0;

	(void)state;
	assert_non_null(was);
	for (uint64_t i = 0; t->t.proven < FLOWS; i++)
		table_add(t, 0x0a000000ull << 32 | i << 20, 40000, BP_LIST_PROVEN);
	for (uint64_t i = 0; i < places; i++) {
		struct bp_flow *f = &t->t.flow[i];

		if (f->proof == 0)
			continue;
		/* not in the order in which they are filed */
		table_at(t, (5100 + n++ * 7 % FLOWS) * SECOND);
		f->seen = t->t.now;
		was[i] = (struct was){f->seen, f->list};
	}
	table_at(t, 7000 * SECOND);
	table_released = 0;
	table_add(t, 0x0c000000ull << 32, 40000, BP_LIST_PROVEN);
	assert_int_equal(table_released, 1);
	for (uint64_t i = 0; i < places; i++) {
		const struct bp_flow *f = &t->t.flow[i];

		if (was[i].seen == 0)
			continue;
		if (f->proof == 0 || f->k0 == 0x0c000000ull << 32) {
			evicted = was[i].seen;
		} else if (f->list != was[i].list) {
			moved++;
			least = f->seen < least ? f->seen : least;
		}
	}
	assert_int_equal(moved, FEW - 1);
	assert_true(evicted != 0 && evicted < least);
	table_consistent(&t->t);
	free(was);
	table_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_few_entries),
		cmocka_unit_test(ip6_collision),
		cmocka_unit_test(one_hash),
		cmocka_unit_test(unproven_flood),
		cmocka_unit_test(unproven_shares),
		cmocka_unit_test(unproven_order),
		cmocka_unit_test(ip6_client),
		cmocka_unit_test(midstream_rests),
		cmocka_unit_test(each_list_expires_after_its_timeout),
		cmocka_unit_test(long_sleep),
		cmocka_unit_test(irregular_ticks),
		cmocka_unit_test(fills_to_the_bound),
	};

	return cmocka_run_group_tests_name("flow_table", tests, NULL, NULL);
}
