/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client sends what costs the gateway most for each byte of its own. Work is counted, not timed
 * (services/mqtt/work.h).
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/mqtt/work.h"
#include "rig.h"

static struct rig rig;

static void open_rig(uint32_t n_rules)
{
	struct bp_rule_spec *rules = calloc(n_rules, sizeof(*rules));

	assert_non_null(rules);
	rig_defaults(&rig);
	rig.mqtt.connection_cpu_percent = 20;
	rig.mqtt.worker_cpu_percent = 50;
	rig.mqtt.max_rules = n_rules;
	rig.mqtt.max_topic_aliases = 65535;
	rig.mqtt.reassembly_per_connection = 16 * 1024 * 1024;
	rig.mqtt.reassembly_total = 32 * 1024 * 1024;
	rig.mqtt.alarm_queue_size = 16 * 1024 * 1024;
	rig_open(&rig);
	for (uint32_t i = 0; i < n_rules; i++) {
		char name[32];

		snprintf(name, sizeof(name), "r%u", (unsigned)i);
		rules[i] = rig_rule(name, "#", BP_COND_GT, 80);
	}
	rig_rules(&rig, rules, n_rules);
	free(rules);
}

static void connect_peer(struct peer *c, uint32_t number)
{
	peer_init(c, false, number, 1000 * number, 2);
	rig_connect_alias(&rig, c, "hostile", 65535, 0);
}

/* The bytes in pieces of `size`, one each 1 ms or all at once; returns the work of it all. */
static uint64_t send_paced(struct peer *c, const struct bytes *b, size_t size, bool paced)
{
	uint64_t before = bp_mqtt_worker_work(rig.in);

	for (size_t at = 0; at < b->n; at += size) {
		rig_send(&rig, c, CLIENT, b->p + at, b->n - at < size ? b->n - at : size);
		if (paced)
			rig_advance(&rig, 1000000);
	}
	return bp_mqtt_worker_work(rig.in) - before;
}

static uint64_t send_pieces(struct peer *c, const struct bytes *b, size_t size)
{
	return send_paced(c, b, size, false);
}

static uint64_t not_evaluated(void)
{
	return rig_count(&rig, BP_C_NOT_INSPECTED_CONNECTION_BUDGET) +
	       rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET);
}

/* 48,000 user properties in segments of one byte: the head is read once, not at each of them. */
static void properties_in_one_byte_segments(void **state)
{
	enum { PROPERTIES = 48000 };
	struct bytes properties = {0}, b = {0};
	struct peer c;
	uint64_t work;

	(void)state;
	open_rig(1);
	connect_peer(&c, 1);
	for (unsigned i = 0; i < PROPERTIES; i++)
		bytes_add(&properties, "\x26\0\0\0\0", 5);
	mq_publish(&b, &(struct mq_publish){.version = 5,
			       .topic = "t",
			       .properties = properties.p,
			       .properties_len = properties.n,
			       .payload = "81"});
	work = send_pieces(&c, &b, 1);
	assert_true(work < b.n * BP_WORK_PER_BYTE * 4);
	assert_string_equal(rig_told_values(&rig), "81");
	bytes_free(&properties);
	bytes_free(&b);
	rig_close(&rig);
}

/* Topics of 64 KiB behind aliases: a publication of 8 bytes does not make them read again. */
static void long_topics_behind_aliases(void **state)
{
	static char topic[65535];
	struct bytes b = {0};
	struct peer c;
	uint64_t work;

	(void)state;
	open_rig(1);
	connect_peer(&c, 1);
	memset(topic, 'x', sizeof(topic) - 1);
	for (uint16_t alias = 1; alias <= 2; alias++) {
		topic[0] = (char)('0' + alias);
		mq_publish(
			&b, &(struct mq_publish){
				    .version = 5, .topic = topic, .alias = alias, .payload = "1"});
	}
	(void)send_pieces(&c, &b, 1448);
	b.n = 0;
	for (unsigned i = 0; i < 10000; i++)
		mq_publish(&b, &(struct mq_publish){.version = 5,
				       .topic = "",
				       .alias = (uint16_t)(1 + i % 2),
				       .payload = "1"});
	work = send_pieces(&c, &b, 1440);
	/* at most one reading of a topic in a segment, once the account is used up */
	assert_true(work < b.n * BP_WORK_PER_BYTE * 4 + 1677720);
	bytes_free(&b);
	rig_close(&rig);
}

/* Publications of eight bytes on a topic that 2,000 rules match, as fast as the line takes them. */
static void all_rules_on_one_topic(void **state)
{
	struct bytes b = {0};
	struct peer c, other;
	uint64_t work, evaluated;

	(void)state;
	open_rig(2000);
	connect_peer(&c, 1);
	connect_peer(&other, 2);
	mq_publish(
		&b, &(struct mq_publish){.version = 5, .topic = "t", .alias = 1, .payload = "1"});
	for (unsigned i = 0; i < 5000; i++)
		mq_publish(&b, &(struct mq_publish){
				       .version = 5, .topic = "", .alias = 1, .payload = "1"});
	work = send_paced(&c, &b, 1440, true);
	/* a fifth of the time, and what the account holds at first */
	assert_true(work < b.n * (BP_WORK_PER_BYTE * 4 + 1000000 / 1440 / 5) + 1677720);
	assert_true(not_evaluated() > 4800);
	/* the stream is followed, aliases and all: the next is evaluated once the account allows */
	rig_advance(&rig, 10 * 1000 * 1000);
	evaluated = rig_count(&rig, BP_C_MATCH);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "", .alias = 1, .payload = "1"});
	assert_int_equal(rig_count(&rig, BP_C_MATCH) - evaluated, 2000);
	/* and of another connection all the time */
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET), 0);
	(void)send_paced(&c, &b, 1440, true);
	evaluated = rig_count(&rig, BP_C_MATCH);
	rig_publish(&rig, &other, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "o", .payload = "1"});
	assert_int_equal(rig_count(&rig, BP_C_MATCH) - evaluated, 2000);
	bytes_free(&b);
	rig_close(&rig);
}

/* The same from 500 connections: together they do not take more of the worker than its budget. */
static void many_connections(void **state)
{
	enum { CONNECTIONS = 500, MS = 100 };
	static struct peer c[CONNECTIONS];
	struct bytes b = {0};
	uint64_t begin, work, sent = 0;

	(void)state;
	open_rig(2000);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		connect_peer(&c[i], i + 1);
	for (unsigned i = 0; i < 100; i++)
		mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t", .payload = "1"});
	begin = bp_mqtt_worker_work(rig.in);
	for (unsigned i = 0; i < CONNECTIONS * MS / 10; i++) {
		(void)send_pieces(&c[i % CONNECTIONS], &b, 1440);
		sent += b.n;
		if (i % 50 == 49)
			rig_advance(&rig, 1000 * 1000);
	}
	work = bp_mqtt_worker_work(rig.in) - begin;
	/* half of the time that passed, and what was there at first */
	assert_true(work < sent * BP_WORK_PER_BYTE * 4 + (uint64_t)MS * 1000000 / 2 + 2 * 524288);
	assert_true(rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET) > 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* Arrays of 4,000 elements, each of which is compared: an element is more work than its two bytes.
 */
static void elements_of_arrays(void **state)
{
	enum { ELEMENTS = 4000, PUBLICATIONS = 100 };
	static char payload[2 * ELEMENTS + 2];
	struct bp_rule_spec rule = rig_rule("r", "#", BP_COND_GT, 80);
	struct bytes b = {0};
	struct peer c;
	const char *why;
	size_t at;

	(void)state;
	open_rig(1);
	rule.value.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile("$[*]", &rule.value.json, &why, &at), 0);
	rig_rules(&rig, &rule, 1);
	connect_peer(&c, 1);
	for (unsigned i = 0; i < ELEMENTS; i++)
		memcpy(payload + 2 * i, i == 0 ? "[1" : ",1", 2);
	payload[2 * ELEMENTS] = ']';
	for (unsigned i = 0; i < PUBLICATIONS; i++)
		mq_publish(
			&b, &(struct mq_publish){.version = 5, .topic = "t", .payload = payload});
	(void)send_pieces(&c, &b, 1440);
	assert_true(rig_count(&rig, BP_C_MATCH) > 0);
	assert_true(rig_count(&rig, BP_C_MATCH) < PUBLICATIONS / 2);
	assert_int_equal(rig_count(&rig, BP_C_MATCH) + not_evaluated(), PUBLICATIONS);
	bytes_free(&b);
	rig_close(&rig);
}

/* A connection that sends what connections send is evaluated at any rate. */
static void ordinary_traffic_is_free(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(1);
	connect_peer(&c, 1);
	for (unsigned i = 0; i < 20000; i++) {
		char topic[64], value[32];

		snprintf(topic, sizeof(topic), "plant/line-%u/temperature", i % 50);
		snprintf(value, sizeof(value), "%u.5", 20 + i % 50);
		mq_publish(&b,
			&(struct mq_publish){
				.version = 5, .topic = topic, .payload = value, .qos = 1, .id = 1});
	}
	(void)send_pieces(&c, &b, 1448);
	(void)send_pieces(&c, &b, 100);
	assert_int_equal(not_evaluated(), 0);
	assert_int_equal(rig_count(&rig, BP_C_MATCH), 40000);
	bytes_free(&b);
	rig_close(&rig);
}

/* A client that is over its budget just before others' wills are due takes nothing of theirs. */
static void wills_have_separate_limits(void **state)
{
	enum { WILLS = 10 };
	/* "MQTT", 3.1.1, clean session and will, 10 s of keep alive, client x, will t: 99 */
	static const uint8_t connect[] = {
		0, 4, 'M', 'Q', 'T', 'T', 4, 0x06, 0, 10, 0, 1, 'x', 0, 1, 't', 0, 2, '9', '9'};
	static struct peer dying[WILLS];
	struct bytes b = {0};
	struct peer busy;
	uint64_t missed;

	(void)state;
	open_rig(100);
	for (unsigned i = 0; i < WILLS; i++) {
		peer_init(&dying[i], false, 100 + i, 1000, 2);
		rig_handshake(&rig, &dying[i]);
		b.n = 0;
		mq_raw(&b, 0x10, connect, sizeof(connect));
		rig_send_bytes(&rig, &dying[i], CLIENT, &b);
		b.n = 0;
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &dying[i], BROKER, &b);
	}
	rig_advance(&rig, rig.mqtt.connection_timeout_ns - 1000000000ull);
	connect_peer(&busy, 1);
	rig_advance(&rig, 3000000000ull);
	b.n = 0;
	for (unsigned i = 0; i < 150; i++)
		mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t", .payload = "1"});
	while (not_evaluated() == 0)
		(void)send_pieces(&busy, &b, 1448);
	assert_int_equal(rig_told_count(&rig), 0);
	missed = not_evaluated();
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), WILLS);
	assert_int_equal(not_evaluated(), missed);
	/* all rules are for all topics */
	assert_int_equal(rig_told_count(&rig), WILLS * 100);
	bytes_free(&b);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties_in_one_byte_segments),
		cmocka_unit_test(long_topics_behind_aliases),
		cmocka_unit_test(all_rules_on_one_topic),
		cmocka_unit_test(many_connections),
		cmocka_unit_test(elements_of_arrays),
		cmocka_unit_test(ordinary_traffic_is_free),
		cmocka_unit_test(wills_have_separate_limits),
	};

	return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
