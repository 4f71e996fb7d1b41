/* SPDX-License-Identifier: BSD-3-Clause */
/* Readings from aggregates: node disaggregate restores them, and node transform follows. */
#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include <string.h>

/* Readings that arrive at a are encapsulated; aggregates that arrive at b contain readings. */
#define ENCAPSULATE                                                                                \
	"aggregation:\n  encapsulate:\n"                                                           \
	"  - {port: a, to: {address: 10.1.0.0/24, udp_port: 1-10000}, max_messages: 4}\n"          \
	"  - {port: a, to: {address: \"fd01::/16\", udp_port: 10000}, max_messages: 4}\n"
#define DECAPSULATE                                                                                \
	"  decapsulate:\n"                                                                         \
	"  - {port: b, to: {address: \"fd01::/16\", udp_port: 10000}, allowed_senders: "           \
	"[\"fd00::/16\"]}\n"                                                                       \
	"  - {port: b, to: {address: 10.1.0.0/24, udp_port: 1-10000}, allowed_senders: "           \
	"[10.0.0.0/24]"
#define PLAIN X_WIRE ENCAPSULATE DECAPSULATE "}\n"
#define PACED X_WIRE ENCAPSULATE DECAPSULATE ", pacing_gap: 10us}\n"
#define GAP 10000u

enum { A, B, C };

static void begin(struct xrig *x, const char *yaml, const struct bp_transform_receiver *to)
{
	const struct bp_transform_rule rule = x_rule(B, 10000);

	memset(&x->file, 0, sizeof(x->file));
	x_add_rule(&x->file, &rule);
	x_add_source(&x->file, "10.0.0.5/32", to, 1);
	x_add_source(&x->file, "fd00::5/128", to, 1);
	x_start(x, yaml, false);
}

/* Don't Fragment: a restored message has no identification of its own. */
static struct udp reading(unsigned i)
{
	struct udp u = x_reading(i);

	u.df = true;
	return u;
}

static struct udp result(unsigned i, const struct bp_transform_receiver *to)
{
	struct udp u = x_result(i, to);

	u.df = true;
	return u;
}

/* Four messages become an aggregate, which is put in at port b. */
static void put_aggregate(struct xrig *x, const struct udp u[4])
{
	struct agg_seen s;

	for (unsigned i = 0; i < 4; i++)
		agg_put_udp(&x->r, A, &u[i]);
	rig_walk(&x->r);
	agg_take(&x->r, B, &s);
	assert_int_equal(s.head.count, 4);
	rig_put(&x->r, B, s.frame, s.len);
}

static void put_readings(struct xrig *x, unsigned first)
{
	const struct udp u[4] = {
		reading(first), reading(first + 1), reading(first + 2), reading(first + 3)};

	put_aggregate(x, u);
}

static void expect_results(
	struct xrig *x, unsigned first, unsigned n, const struct bp_transform_receiver *to)
{
	for (unsigned i = first; i < first + n; i++) {
		const struct udp u = result(i, to);

		agg_expect_udp(&x->r, A, &u);
	}
}

/* A reading that the sending gateway did not encapsulate keeps its place between the others. */
static void readings_are_transformed_in_order(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	const struct udp plain = reading(8);
	struct xrig x;

	begin(&x, PLAIN, &to);
	put_readings(&x, 0);
	put_readings(&x, 4);
	agg_put_udp(&x.r, B, &plain);
	put_readings(&x, 9);
	rig_walk(&x.r);
	expect_results(&x, 0, 13, &to);
	rig_expect_none(&x.r, A);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_DECAP_AGGREGATE), 3);
	assert_int_equal(rig_counter(&x.r, BP_C_DECAP_MESSAGE), 12);
	assert_int_equal(rig_counter(&x.r, BP_C_DECAP_BYPASS), 1);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 13);
	assert_int_equal(x.r.shm.transform.rule_stats[0].sent, 13);
	x_stop(&x);
}

/* A receiver that keeps destination and UDP port: the result matches the entry of `transform` and
 * that of `decapsulate`, and is transformed once. */
static void once(void **state)
{
	const struct bp_transform_receiver to = x_receiver(NULL, 0, 0.5);
	const struct udp plain = reading(4);
	struct xrig x;

	begin(&x, PLAIN, &to);
	put_readings(&x, 0);
	agg_put_udp(&x.r, B, &plain);
	rig_walk(&x.r);
	expect_results(&x, 0, 5, &to);
	rig_expect_none(&x.r, A);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 5);
	x_stop(&x);
}

static void over_ip6(void **state)
{
	const struct bp_transform_receiver to = x_receiver("fd01::9", 20000, 0.5);
	struct udp u[4];
	struct xrig x;

	begin(&x, PLAIN, &to);
	for (unsigned i = 0; i < 4; i++) {
		u[i] = reading(i);
		u[i].src = "fd00::5";
		u[i].dst = "fd01::1";
	}
	put_aggregate(&x, u);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 4; i++) {
		u[i] = result(i, &to);
		u[i].src = "fd00::5";
		agg_expect_udp(&x.r, A, &u[i]);
	}
	rig_expect_none(&x.r, A);
	x_stop(&x);
}

/* Each reading is transformed when its pacing gap has passed. */
static void paced(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct xrig x;

	begin(&x, PACED, &to);
	put_readings(&x, 0);
	rig_walk(&x.r);
	expect_results(&x, 0, 1, &to);
	rig_expect_none(&x.r, A);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 1);
	for (unsigned i = 1; i < 4; i++) {
		agg_pass(&x.r, GAP);
		rig_walk(&x.r);
		expect_results(&x, i, 1, &to);
		rig_expect_none(&x.r, A);
	}
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 4);
	x_stop(&x);
}

/* Other messages are forwarded unchanged, and readings that are refused are counted. */
static void others_and_refused(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct udp u[4] = {reading(0), reading(1), reading(2), reading(3)}, other[4];
	struct xrig x;

	begin(&x, PLAIN, &to);
	u[2].src = "10.0.0.6";
	u[3].len = 39;
	put_aggregate(&x, u);
	for (unsigned i = 0; i < 4; i++) {
		other[i] = reading(4 + i);
		other[i].dport = 9999;
	}
	put_aggregate(&x, other);
	rig_walk(&x.r);
	expect_results(&x, 0, 2, &to);
	for (unsigned i = 0; i < 4; i++)
		agg_expect_udp(&x.r, A, &other[i]);
	rig_expect_none(&x.r, A);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE), 1);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_LENGTH), 1);
	assert_int_equal(rig_counter(&x.r, BP_C_DECAP_MESSAGE), 8);
	x_stop(&x);
}

/* Entries of all three kinds at one port: results are encapsulated, and frames that are none of
 * these are inspected. */
static void then_aggregated(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.2.0.9", 20000, 0.5);
	struct agg_seen s;
	struct xrig x;

	begin(&x,
		X_WIRE "mqtt:\n  publisher: {broker: \"mqtt://127.0.0.1\"}\n" ENCAPSULATE
		       "  - {port: b, to: {address: 10.2.0.9, udp_port: 20000}, max_messages: "
		       "4}\n" DECAPSULATE "}\n",
		&to);
	assert_int_equal(x.r.worker->enter[B], BP_EDGE_DISAGGREGATE);
	assert_int_equal(x.r.worker->inner[B], BP_EDGE_AGGREGATE);
	assert_int_equal(bp_agg_worker_of(x.r.worker)->after_aggregate[B], BP_EDGE_ETHERNET);
	put_readings(&x, 0);
	rig_walk(&x.r);
	agg_take(&x.r, A, &s);
	assert_int_equal(s.head.count, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_memory_equal(
			s.payload + s.message[i].offset, result(i, &to).payload, X_READING);
	rig_expect_none(&x.r, A);
	x_stop(&x);
}

/* Answers leave by the port of the aggregate. */
static void reply(void **state)
{
	struct bp_transform_receiver to = x_receiver(NULL, 0, 0.5);
	struct xrig x;

	to.flags |= BP_TRANSFORM_REFLECT;
	begin(&x, PLAIN, &to);
	put_readings(&x, 0);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 4; i++) {
		const struct udp u = result(i, &to);

		agg_expect_udp(&x.r, B, &u);
	}
	rig_expect_none(&x.r, A);
	x_stop(&x);
}

/* Entries of either kind that a reload adds or removes. */
static void reload(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct bp_transform_rule rule = x_rule(C, 10000);
	struct xrig x;

	begin(&x, PLAIN, &to);
	put_readings(&x, 0);
	rig_walk(&x.r);
	expect_results(&x, 0, 4, &to);

	/* no entry at port b any more */
	x_clear(&x);
	x_add_rule(&x.file, &rule);
	x_reload(&x, false);
	put_readings(&x, 4);
	rig_walk(&x.r);
	for (unsigned i = 4; i < 8; i++) {
		const struct udp u = reading(i);

		agg_expect_udp(&x.r, A, &u);
	}
	rig_expect_none(&x.r, A);

	/* one again */
	rule.port = B;
	x_clear(&x);
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.0/24", &to, 1);
	x_reload(&x, false);
	put_readings(&x, 8);
	rig_walk(&x.r);
	expect_results(&x, 8, 4, &to);
	rig_expect_none(&x.r, A);
	x_stop(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_are_transformed_in_order),
		cmocka_unit_test(once),
		cmocka_unit_test(over_ip6),
		cmocka_unit_test(paced),
		cmocka_unit_test(others_and_refused),
		cmocka_unit_test(then_aggregated),
		cmocka_unit_test(reply),
		cmocka_unit_test(reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
