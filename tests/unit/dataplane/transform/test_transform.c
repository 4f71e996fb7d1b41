/* SPDX-License-Identifier: BSD-3-Clause */
/* Node transform on a bridge: transformed, refused and forwarded readings. */
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include <string.h>

enum { A, B };

static void start(struct xrig *x, const struct bp_transform_receiver *to, unsigned n)
{
	const struct bp_transform_rule rule = x_rule(A, 10000);

	memset(&x->file, 0, sizeof(x->file));
	x_add_rule(&x->file, &rule);
	x_add_source(&x->file, "10.0.0.5/32", to, n);
	x_start(x, X_WIRE, false);
}

static void put(struct xrig *x, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		const struct udp u = x_reading(i);

		agg_put_udp(&x->r, A, &u);
	}
}

static void expect(struct xrig *x, unsigned i, const struct bp_transform_receiver *to)
{
	const struct udp u = x_result(i, to);

	agg_expect_udp(&x->r, B, &u);
}

static void one_receiver(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	const struct bp_transform_rule_stats *s;
	struct xrig x;

	start(&x, &to, 1);
	put(&x, 0, 50);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 50; i++)
		expect(&x, i, &to);
	rig_expect_none(&x.r, B);
	rig_expect_none(&x.r, A);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 50);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_NO_MATRIX), 0);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_COPY), 0);
	s = x.r.shm.transform.rule_stats;
	assert_int_equal(s->readings, 50);
	assert_int_equal(s->sent, 50);
	assert_int_equal(s->saturated, 0);
	assert_int_equal(x.r.shm.transform.source_stats[0].readings, 50);
	assert_int_equal(x.r.shm.transform.source_stats[0].uid, x.view.source[0].uid);
	assert_int_equal(x.r.shm.port_stats[B].tx_packets, 50);
	assert_int_equal(x.r.shm.port_stats[B].tx_bytes, 50 * 82);
	/* the other way nothing is checked */
	assert_int_equal(x.r.worker->enter[A], BP_EDGE_TRANSFORM);
	assert_int_equal(x.r.worker->enter[B], BP_EDGE_PORT + A);
	x_stop(&x);
}

/* Each in its own frame, all of one reading before those of the next. */
static void several_receivers(void **state)
{
	const struct bp_transform_receiver to[] = {x_receiver("10.1.0.9", 20000, 0.5),
		x_receiver("10.1.0.10", 0, 1.5), x_receiver(NULL, 20002, 0),
		x_receiver(NULL, 0, 2.5)};
	struct xrig x;

	start(&x, to, 4);
	put(&x, 0, 15);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 15; i++)
		for (unsigned k = 0; k < 4; k++)
			expect(&x, i, &to[k]);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 15);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_COPY), 45);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_NO_MATRIX), 15);
	assert_int_equal(x.r.shm.transform.rule_stats->sent, 60);
	assert_int_equal(x.r.shm.transform.rule_stats->bare, 15);
	assert_int_equal(x.r.shm.transform.source_stats[0].readings, 15);
	x_stop(&x);
}

/* Sent back to the tracker, on the input port. */
static void result_is_sent_back_to_the_tracker(void **state)
{
	static const uint8_t hops[3] = {2, 65, 255};
	struct bp_transform_receiver to[2] = {x_receiver(NULL, 0, 0.5), x_receiver(NULL, 7, 1)};
	struct xrig x;

	to[0].flags |= BP_TRANSFORM_REFLECT;
	to[1].flags |= BP_TRANSFORM_REFLECT;
	start(&x, to, 2);
	for (unsigned i = 0; i < 3; i++) {
		struct udp u = x_reading(i);

		u.hops = hops[i];
		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 2; k++) {
			struct udp u = x_result(i, &to[k]);

			u.hops = hops[i] > 64 ? 64 : hops[i] - 1;
			agg_expect_udp(&x.r, A, &u);
		}
	}
	rig_expect_none(&x.r, B);
	x_stop(&x);
}

/* No sender answers from a group's address, or for ever. */
static void not_answered(void **state)
{
	static const char *const to4[] = {"224.0.0.5", "255.255.255.255", "127.0.0.1", "0.0.0.0"};
	static const char *const to6[] = {"ff02::1", "::1", "::"};
	struct bp_transform_receiver to = x_receiver(NULL, 0, 0.5);
	struct bp_transform_rule rule = x_rule(A, 10000);
	struct udp u;
	struct xrig x;

	to.flags |= BP_TRANSFORM_REFLECT;
	memset(&x.file, 0, sizeof(x.file));
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_add_source(&x.file, "2001:db8::5/128", &to, 1);
	x_start(&x, X_WIRE, false);
	for (unsigned i = 0; i < 4; i++) {
		u = x_reading(i);
		u.dst = to4[i];
		agg_put_udp(&x.r, A, &u);
	}
	for (unsigned i = 0; i < 3; i++) {
		u = x_reading(4 + i);
		u.src = "2001:db8::5";
		u.dst = to6[i];
		agg_put_udp(&x.r, A, &u);
	}
	for (unsigned hops = 0; hops < 2; hops++) {
		u = x_reading(7 + hops);
		u.hops = (uint8_t)hops;
		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	rig_expect_none(&x.r, A);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 9);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_REPLY), 9);
	x_stop(&x);
}

/* Two gateways that answer each other: an answer has less hops to go than what it answers. */
static void answers_to_answers_end(void **state)
{
	struct bp_transform_receiver to = x_receiver(NULL, 0, 0.5);
	unsigned rounds = 0;
	struct rte_mbuf *m;
	struct xrig x;
	struct udp u;

	to.flags |= BP_TRANSFORM_REFLECT;
	memset(&x.file, 0, sizeof(x.file));
	for (unsigned port = A; port <= B; port++) {
		const struct bp_transform_rule rule = x_rule(port, 10000);

		x_add_rule(&x.file, &rule);
		x_add_source(&x.file, "10.0.0.0/8", &to, 1);
	}
	x_start(&x, X_WIRE, false);
	u = x_reading(0);
	u.hops = 255;
	agg_put_udp(&x.r, A, &u);
	for (rig_walk(&x.r); (m = bp_ring_ports_take(&x.r.ports, A)) != NULL; rig_walk(&x.r)) {
		rig_put(&x.r, A, rte_pktmbuf_mtod(m, const void *), m->data_len);
		rte_pktmbuf_free(m);
		assert_true(++rounds <= 64);
	}
	assert_int_equal(rounds, 64);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_REPLY), 1);
	x_stop(&x);
}

/* Other frames keep their position among the readings. */
static void other_sessions_continue(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	uint8_t f[200], group[UDP_FRAME_MAX];
	struct udp u = x_reading(0);
	struct xrig x;
	uint32_t len;

	start(&x, &to, 1);
	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	len = agg_frame(&u, group);
	group[0] |= 1; /* to a group of stations */
	for (unsigned i = 0; i < 10; i++) {
		rig_put(&x.r, A, f, 60 + i);
		put(&x, i, 1);
		u = x_reading(i);
		u.dport = 10001;
		agg_put_udp(&x.r, A, &u);
		rig_put(&x.r, A, group, len);
		put(&x, i, 1);
	}
	rig_put(&x.r, A, f, 13);
	put(&x, 49, 1);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 10; i++) {
		rig_expect(&x.r, B, f, 60 + i);
		expect(&x, i, &to);
		u = x_reading(i);
		u.dport = 10001;
		agg_expect_udp(&x.r, B, &u);
		rig_expect(&x.r, B, group, len);
		expect(&x, i, &to);
	}
	rig_expect(&x.r, B, f, 13);
	expect(&x, 49, &to);
	rig_expect_none(&x.r, B);
	x_stop(&x);
}

/* Of a burst of one head, a reading of no one known and one of another rule: the latter stays its
 * own rule's, in its own layout. */
static void unknown_and_another_rule(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct bp_transform_rule rule = x_rule(A, 10000);
	struct udp u;
	double xyz[3];
	struct xrig x;
	struct rte_mbuf *m;

	memset(&x.file, 0, sizeof(x.file));
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	rule.udp = 10001;
	rule.layout.cartesian = true;
	rule.layout.kunze2021 = false;
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x, X_WIRE, false);
	put(&x, 0, 1);
	u = x_reading(1);
	u.src = "10.0.0.6";
	agg_put_udp(&x.r, A, &u);
	u = x_reading(2);
	u.dport = 10001;
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	expect(&x, 0, &to);
	m = bp_ring_ports_take(&x.r.ports, B);
	assert_non_null(m);
	x_outputs(rte_pktmbuf_mtod_offset(m, const uint8_t *, 42), xyz);
	rte_pktmbuf_free(m);
	assert_true(xyz[0] == -3 + 0.5);
	assert_true(xyz[1] == 1);
	assert_true(xyz[2] == 1.5);
	rig_expect_none(&x.r, B);
	x_stop(&x);
}

/* One matrix, set between two readings of a walk and between two walks. */
static void matrix_is_set(void **state)
{
	struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct xrig x;

	start(&x, &to, 1);
	put(&x, 0, 3);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++)
		expect(&x, i, &to);
	for (unsigned times = 0; times < 3; times++) {
		to = x_receiver("10.1.0.9", 20000, 1.5 + times);
		x_set(&x, 0, "10.0.0.5/32", 0, to.m);
		put(&x, 0, 3);
		rig_walk(&x.r);
		for (unsigned i = 0; i < 3; i++)
			expect(&x, i, &to);
	}
	x_stop(&x);
}

/* All of them, by a bank. */
static void generation_changes(void **state)
{
	struct bp_transform_receiver to[2] = {
		x_receiver("10.1.0.9", 20000, 0.5), x_receiver("10.1.0.7", 20001, 3)};
	struct bp_transform_rule rule = x_rule(B, 10000);
	struct xrig x;
	uint32_t uid;

	start(&x, &to[0], 1);
	uid = x.view.source[0].uid;
	put(&x, 0, 3);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++)
		expect(&x, i, &to[0]);
	x_clear(&x);
	x_add_rule(&x.file, &rule);
	rule.port = A;
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to[1], 1);
	x_reload(&x, false);
	put(&x, 0, 3);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++)
		expect(&x, i, &to[1]);
	assert_int_equal(x.r.worker->enter[B], BP_EDGE_TRANSFORM);
	assert_int_equal(
		x.r.shm.transform.generation.seen[0], x.generation << 1 | (x.generation & 1));
	/* figures are those of the rule and of the source that have the number now */
	assert_int_equal(x.r.shm.transform.rule_stats[0].readings, 0);
	assert_int_equal(x.r.shm.transform.rule_stats[1].readings, 3);
	assert_int_equal(x.r.shm.transform.source_stats[0].readings, 6);
	assert_int_equal(x.view.source[0].uid, uid);
	/* another source has the number */
	x_clear(&x);
	rule.port = A;
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.0/24", &to[1], 1);
	x_reload(&x, false);
	put(&x, 0, 2);
	rig_walk(&x.r);
	expect(&x, 0, &to[1]);
	expect(&x, 1, &to[1]);
	assert_int_not_equal(x.view.source[0].uid, uid);
	assert_int_equal(x.r.shm.transform.source_stats[0].uid, x.view.source[0].uid);
	assert_int_equal(x.r.shm.transform.source_stats[0].readings, 2);
	assert_int_equal(x.r.shm.transform.rule_stats[0].readings, 2);
	/* a port without entries is checked no more */
	x_clear(&x);
	rule.port = B;
	x_add_rule(&x.file, &rule);
	x_reload(&x, false);
	put(&x, 0, 1);
	rig_walk(&x.r);
	{
		const struct udp u = x_reading(0);

		agg_expect_udp(&x.r, B, &u);
	}
	assert_int_equal(x.r.worker->enter[A], BP_EDGE_PORT + B);
	x_stop(&x);
}

/* Until the control plane has said the rules, nothing for them leaves untransformed. */
static void missing_table_rejects_all(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	const struct bp_transform_rule rule = x_rule(A, 10000);
	struct udp other = x_reading(0);
	struct xrig x;

	other.dport = 10001;
	memset(&x.file, 0, sizeof(x.file));
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x, X_WIRE, true);
	for (unsigned step = 0; step < 4; step++) {
		if (step == 1 || step == 3)
			x_reload(&x, step == 1);
		put(&x, 0, 2);
		agg_put_udp(&x.r, A, &other);
		rig_walk(&x.r);
		if (step == 3) {
			expect(&x, 0, &to);
			expect(&x, 1, &to);
		}
		agg_expect_udp(&x.r, B, &other);
		rig_expect_none(&x.r, B);
	}
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_NO_RULES), 6);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 2);
	x_stop(&x);
}

/* A damaged bank: more dropped frames than receivers of a burst. */
static void receivers_of_the_other_version(void **state)
{
	struct bp_transform_receiver to[BP_TRANSFORM_RECEIVERS_MAX];
	struct xrig x;

	for (unsigned i = 0; i < BP_TRANSFORM_RECEIVERS_MAX; i++)
		to[i] = x_receiver("10.1.0.9", 20000, 0.5);
	start(&x, to, BP_TRANSFORM_RECEIVERS_MAX);
	for (unsigned i = 0; i < x.view.source[0].n; i++)
		x.view.row[x.view.source[0].first + i].family = 6;
	put(&x, 0, 10);
	rig_walk(&x.r);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_FAMILY) +
				 rig_counter(&x.r, BP_C_TRANSFORM_NO_MBUF),
		10 * BP_TRANSFORM_RECEIVERS_MAX);
	x_stop(&x);
}

/* The first receiver has the reading's own frame; the others need one. */
static void no_buffers(void **state)
{
	const struct bp_transform_receiver to[] = {x_receiver("10.1.0.9", 20000, 0.5),
		x_receiver("10.1.0.10", 0, 1.5), x_receiver(NULL, 20002, 2)};
	struct rte_mbuf *held[RIG_MBUFS];
	struct xrig x;
	unsigned n = 0;

	start(&x, to, 3);
	put(&x, 0, 3);
	while (n < RIG_MBUFS && (held[n] = rte_pktmbuf_alloc(x.r.pool)) != NULL)
		n++;
	rte_pktmbuf_free(held[--n]); /* one is left */
	rig_walk(&x.r);
	rte_pktmbuf_free_bulk(held, n);
	expect(&x, 0, &to[0]);
	expect(&x, 0, &to[1]);
	expect(&x, 1, &to[0]);
	expect(&x, 2, &to[0]);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_NO_MBUF), 5);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_COPY), 1);
	assert_int_equal(x.r.shm.transform.rule_stats->no_mbuf, 5);
	x_stop(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_receiver),
		cmocka_unit_test(several_receivers),
		cmocka_unit_test(result_is_sent_back_to_the_tracker),
		cmocka_unit_test(not_answered),
		cmocka_unit_test(answers_to_answers_end),
		cmocka_unit_test(other_sessions_continue),
		cmocka_unit_test(unknown_and_another_rule),
		cmocka_unit_test(matrix_is_set),
		cmocka_unit_test(generation_changes),
		cmocka_unit_test(missing_table_rejects_all),
		cmocka_unit_test(receivers_of_the_other_version),
		cmocka_unit_test(no_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
