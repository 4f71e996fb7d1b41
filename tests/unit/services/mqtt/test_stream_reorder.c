/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments ahead of the stream: how many wait, in how much memory, and what comes of them. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "stream_steps.h"

/* Ahead of the stream: up to reorder_buffer, then counted; lost bytes become a gap. */
static void reorder_bound(void **state)
{
	enum { TAIL = 4000 };
	struct peer c;
	struct bytes b = {0};
	char value[1200];
	size_t ends[100], n = 0;
	uint64_t most;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reorder_buffer = 8192;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 0xfffffe00u, 9);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned i = 0; i < 12; i++) {
		memset(value, ' ', sizeof(value));
		snprintf(value, sizeof(value), "%u", 100 + i);
		value[3] = ' ';
		value[1000] = 0;
		hot(&b, value);
		ends[n++] = b.n;
	}
	for (unsigned i = 1; i < 12; i++)
		piece(&c, &b, ends[i - 1], ends[i]);
	/* eleven of about 1.1 KiB do not fit 8 KiB */
	assert_in_range(rig_count(&rig, BP_C_SEG_REORDER_FULL), 3, 6);
	assert_int_equal(
		rig_count(&rig, BP_C_SEG_REORDER_FULL) + rig_count(&rig, BP_C_SEG_OUT_OF_ORDER),
		11);
	most = bp_mqtt_worker_carried(rig.in);
	assert_true(most <= 8 * 2048 + 128);
	assert_string_equal(told(), "");
	piece(&c, &b, 0, ends[0]);
	n = 1 + rig_count(&rig, BP_C_SEG_OUT_OF_ORDER);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), n);
	assert_int_equal(rig_told_count(&rig), n);
	/* the others come again, as TCP sees to */
	for (unsigned i = 1; i < 12; i++)
		piece(&c, &b, ends[i - 1], ends[i]);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 12);
	assert_int_equal(rig_told_count(&rig), 12 - n);
	bytes_free(&b);
	/* one byte at a time: the list is bounded too */
	peer_init(&c, false, 2, 100, 9);
	rig_connect(&rig, &c, 4, "y");
	for (unsigned i = 0; i < TAIL; i++)
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 10 + 2 * i, c.seq[BROKER],
			"x", 1);
	assert_true(bp_mqtt_worker_carried(rig.in) <= 8192 + 2 * 128);
	rig_close(&rig);
}

/* Small segments share blocks: waiting data needs little more memory than its bytes. */
static void reorder_small(void **state)
{
	struct peer c;
	struct bytes b = {0};
	uint64_t before;

	(void)state;
	rig_defaults(&rig); /* 64 KiB may wait */
	rig.mqtt.reassembly_per_connection = 128 * 1024;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 0xffffe000u, 9);
	rig_connect(&rig, &c, 4, "small");
	before = bp_mqtt_worker_carried(rig.in);
	for (unsigned i = 0; i < 1900; i++)
		hot(&b, "81");
	assert_in_range(b.n, 50000, 60000);
	piece(&c, &b, b.n / 2 + 3, b.n); /* from where they are joined: the others go before */
	for (size_t at = 30; at < b.n / 2 + 3; at += 30)
		piece(&c, &b, at, at + 30 < b.n / 2 + 3 ? at + 30 : b.n / 2 + 3);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	assert_true(bp_mqtt_worker_carried(rig.in) - before <= 64 * 1024);
	piece(&c, &b, 0, 30);
	assert_int_equal(rig_told_count(&rig), 1900);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), before);
	bytes_free(&b);
	rig_close(&rig);
}

/* Backwards, with holes, each twice, overlapping: all of it comes out once and in order. */
static void reorder_odd(void **state)
{
	struct peer c;
	struct bytes b = {0};
	char value[16];

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	bytes_free(&b);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(value, sizeof(value), "%u", 100 + i);
		hot(&b, value);
	}
	for (size_t at = b.n; at > 40; at -= 40) {
		piece(&c, &b, at - 40, at);
		piece(&c, &b, at - 40, at);
		piece(&c, &b, at - 40, at - 10);
		if (at + 10 <= b.n)
			piece(&c, &b, at - 20, at + 10);
	}
	assert_true(rig_count(&rig, BP_C_SEG_DUPLICATE) >= 2 * (b.n / 40 - 1));
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 0);
	piece(&c, &b, 0, 40);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 60);
	assert_int_equal(rig_told_count(&rig), 60);
	bytes_free(&b);
	rig_close(&rig);
}

/* Many holes: a piece finds its place wherever it belongs, and all is well when they close. */
static void reorder_holes(void **state)
{
	enum { BETWEEN = 200 };
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	bytes_free(&b);
	while (b.n < 100 * BETWEEN)
		hot(&b, "81");
	for (size_t at = BETWEEN; at + BETWEEN < b.n; at += BETWEEN)
		piece(&c, &b, at, at + 1);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	/* near the front, and far from either end */
	piece(&c, &b, 10 * BETWEEN + 50, 10 * BETWEEN + 60);
	piece(&c, &b, 90 * BETWEEN + 50, 90 * BETWEEN + 60);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	piece(&c, &b, 0, b.n);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), rig_told_count(&rig));
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* Holes take at most half of what all have: the cut packets of others find room. */
static void reorder_leaves_memory(void **state)
{
	static char filler[1400];
	struct peer c;
	struct bytes b = {0};

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reassembly_total = 256 * 1024;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	for (uint32_t i = 0; i < 12; i++) {
		peer_init(&c, false, 2 + i, 100, 9);
		rig_connect(&rig, &c, 4, "greedy");
		c.seq[CLIENT] += 1;
		for (unsigned k = 0; k < 60; k++)
			rig_send(&rig, &c, CLIENT, filler, sizeof(filler));
	}
	assert_true(rig_count(&rig, BP_C_SEG_REORDER_TOTAL) > 300);
	/* one block more than half at most */
	assert_in_range(bp_mqtt_worker_carried(rig.in), 128 * 1024 - 2048, 128 * 1024 + 8192);
	begin(&c, 1, &b);
	bytes_free(&b);
	hot(&b, "81");
	piece(&c, &b, 0, 10);
	piece(&c, &b, 10, b.n);
	assert_int_equal(rig_told_count(&rig), 1);
	assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_TOTAL), 0);
	bytes_free(&b);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reorder_bound),
		cmocka_unit_test(reorder_small),
		cmocka_unit_test(reorder_odd),
		cmocka_unit_test(reorder_holes),
		cmocka_unit_test(reorder_leaves_memory),
	};

	return cmocka_run_group_tests_name("stream reorder", tests, NULL, NULL);
}
