/* SPDX-License-Identifier: BSD-3-Clause */
/* Every bound, reached: what goes, what is counted, and that the rest is still read. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "services/mqtt/flow.h"
#include "proto/net/frame.h"
#include "rig.h"
#include "tests/unit/times.h"

#define SECOND 1000000000ull

static struct rig rig;

static void open_with(uint64_t per_flow, uint64_t total, uint32_t flows)
{
	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = per_flow;
	rig.mqtt.reassembly_total = total;
	rig.mqtt.max_connections = flows;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

/* A number with blanks before it, so that the payload has `n` bytes. */
static void long_value(struct bytes *b, const char *topic, size_t n, const char *value)
{
	char *payload = malloc(n);

	memset(payload, ' ', n);
	memcpy(payload + n - strlen(value), value, strlen(value));
	mq_publish(b, &(struct mq_publish){
			      .version = 4, .topic = topic, .payload = payload, .payload_len = n});
	free(payload);
}

static void send_in(struct peer *c, struct bytes *b, size_t size)
{
	for (size_t at = 0; at < b->n; at += size)
		rig_send(&rig, c, CLIENT, b->p + at, b->n - at < size ? b->n - at : size);
	bytes_free(b);
}

/*
 * A packet as long as reassembly_per_flow allows is read, whatever its segments; a longer one is
 * not. 16 bytes of it say how far the packet is checked.
 */
static void per_flow(void **state)
{
	static const size_t sizes[] = {100, 536, 1460, 9000};

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct bytes b = {0};
		struct peer c;

		open_with(64 * 1024, 1024 * 1024, 100);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&rig, &c, 4, "");
		long_value(&b, "t/x", 64 * 1024 - 16 - 9, "81");
		assert_int_equal(b.n, 64 * 1024 - 16);
		send_in(&c, &b, sizes[k]);
		assert_int_equal(rig_told_count(&rig), 1);
		assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 0);
		assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
		/* one byte more */
		long_value(&b, "t/x", 64 * 1024 - 16 - 8, "82");
		send_in(&c, &b, sizes[k]);
		assert_int_equal(rig_told_count(&rig), 0);
		assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 1);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), 1);
		/* in one segment nothing needs to be carried, and no rule's topic is only counted
		 */
		long_value(&b, "other", 200000, "83");
		send_in(&c, &b, sizes[k]);
		assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 1);
		rig_publish_text(&rig, &c, "t/x", "84");
		assert_int_equal(rig_told_count(&rig), 1);
		assert_int_equal(rig_count(&rig, BP_C_MATCH_NONE), 1);
		rig_close(&rig);
	}
}

/* No rule's topic, too long, and its head in single bytes: no alarm for it and no loss. */
static void long_and_unwanted(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_with(1024, 1024 * 1024, 100);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "");
	long_value(&b, "other/topic", 3000, "81");
	send_in(&c, &b, 1);
	rig_publish_text(&rig, &c, "t/x", "82");
	assert_int_equal(rig_told_count(&rig), 1);
	assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 0);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), 0);
	/* wanted, and known to be too long only when its head is there */
	long_value(&b, "t/topic", 3000, "83");
	send_in(&c, &b, 1);
	rig_publish_text(&rig, &c, "t/x", "84");
	assert_int_equal(rig_told_count(&rig), 1);
	assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 1);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), 1);
	rig_close(&rig);
}

/* reassembly_total: flows without memory lose one packet each, but keep their position. */
static void reassembly_total_limits_all_flows(void **state)
{
	enum { N = 40 };
	struct peer c[N];
	struct bytes b[N];
	uint64_t lost;

	(void)state;
	open_with(16 * 1024, 64 * 1024, 100);
	for (unsigned i = 0; i < N; i++) {
		peer_init(&c[i], false, i, 1, 2);
		rig_connect(&rig, &c[i], 4, "");
		memset(&b[i], 0, sizeof(b[i]));
		long_value(&b[i], "t/x", 8000, "81");
	}
	for (unsigned i = 0; i < N; i++)
		rig_send(&rig, &c[i], CLIENT, b[i].p, 5000);
	assert_true(bp_mqtt_worker_carried(rig.in) <= 64 * 1024);
	lost = rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE);
	assert_int_equal(lost, N - 8);
	assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_TOTAL), lost);
	/* even single bytes of the next packets find no room, and do no harm */
	for (unsigned i = 0; i < N; i++)
		rig_send(&rig, &c[i], CLIENT, b[i].p + 5000, b[i].n - 5000);
	assert_int_equal(rig_told_count(&rig), N - lost);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	for (unsigned i = 0; i < N; i++) {
		rig_publish_text(&rig, &c[i], "t/x", "82");
		bytes_free(&b[i]);
	}
	assert_int_equal(rig_told_count(&rig), N);
	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		assert_int_equal(rig_count(&rig, r), 0);
	rig_close(&rig);
}

/* The arena is full, and packets are cut inside their fixed headers: positions are kept. */
static void header_cut_when_full(void **state)
{
	struct peer hog[4], c;
	struct bytes b = {0};

	(void)state;
	open_with(1024, 1024, 100);
	for (unsigned i = 0; i < 4; i++) {
		peer_init(&hog[i], false, 10 + i, 1, 2);
		rig_connect(&rig, &hog[i], 4, "");
		long_value(&b, "t/x", 900, "81");
		rig_send(&rig, &hog[i], CLIENT, b.p, 850);
		bytes_free(&b);
	}
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 1024);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "nameless"); /* its identifier finds no room either */
	long_value(&b, "t/x", 500, "82");
	rig_send(&rig, &c, CLIENT, b.p, 1);
	rig_send(&rig, &c, CLIENT, b.p + 1, 1);
	rig_send(&rig, &c, CLIENT, b.p + 2, b.n - 2);
	bytes_free(&b);
	assert_int_equal(rig_told_count(&rig), 0);
	long_value(&b, "t/x", 500, "83");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(rig_told_count(&rig), 1);
	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		assert_int_equal(rig_count(&rig, r), 0);
	rig_close(&rig);
}

/* CONNECT and CONNACK that find no room. */
static void connect_without_capacity(void **state)
{
	char name[3000];
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_with(1024, 1024 * 1024, 100);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, name, 0);
	send_in(&c, &b, 100);
	assert_int_equal(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CONNECTION), 1);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_CONNECT), 1);
	/* whole it needs no room, but its name does: unknown, and the rest is read */
	peer_init(&c, false, 2, 1, 2);
	rig_connect(&rig, &c, 4, name);
	rig_publish_text(&rig, &c, "t/x", "81");
	assert_int_equal(rig_told_count(&rig), 1);
	/* a CONNACK that cannot be carried: the broker's next packets are in turn, and what the
	 * client publishes is read when an answer has proven it */
	peer_init(&c, false, 3, 1, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "x", 0);
	send_in(&c, &b, 100);
	mq_connack(&b, 5, 0, 0, name);
	rig_send(&rig, &c, BROKER, b.p, 1000);
	rig_send(&rig, &c, BROKER, b.p + 1000, b.n - 1000);
	bytes_free(&b);
	mq_suback(&b, 5, 4, 0);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = 5, .topic = "t/x", .payload = "82", .qos = 1, .id = 7});
	assert_int_equal(rig_told_count(&rig), 0);
	mq_ack(&b, MQ_PUBACK, 7);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "t/x", .payload = "83"});
	assert_int_equal(rig_told_count(&rig), 1);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_PROTOCOL), 0);
	rig_close(&rig);
}

static uint32_t mono_ticks(void)
{
	return bp_ticks(rig.mono_ns);
}

static bool still_read(struct peer *c)
{
	rig_publish_text(&rig, c, "t/x", "99");
	return rig_told_count(&rig) == 1;
}

/* At the bound: closed ones first, then the one that was idle longest, by its last segment. */
static void oldest_connection_is_evicted(void **state)
{
	enum { N = 64 };
	struct peer c[N + 40];
	uint64_t s = 3;
	uint32_t seen[N];
	unsigned gone = 0;

	(void)state;
	open_with(64 * 1024, 4 * 1024 * 1024, N);
	for (unsigned i = 0; i < N; i++) {
		peer_init(&c[i], false, i, 1, 2);
		rig_connect(&rig, &c[i], 4, "n");
		rig_advance(&rig, SECOND / 10);
	}
	for (unsigned i = 0; i < 400; i++) {
		unsigned k = test_below(&s, N);

		rig_ack(&rig, &c[k], test_below(&s, 2));
		seen[k] = mono_ticks();
		rig_advance(&rig, SECOND / 20);
	}
	assert_int_equal(bp_mqtt_worker_flows(rig.in), N);
	/* three that are closed are none of the proven ones */
	for (unsigned i = 5; i < 8; i++)
		rig_fin_both(&rig, &c[i]);
	for (unsigned i = N; i < N + 3; i++) {
		peer_init(&c[i], false, i, 1, 2);
		rig_connect(&rig, &c[i], 4, "n");
	}
	assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED), 0);
	for (unsigned i = 5; i < 8; i++)
		seen[i] = UINT32_MAX;
	/* now the oldest twenty, exactly to within the wheel's step (2^5 ticks for a minute) */
	for (unsigned i = N + 3; i < N + 23; i++) {
		rig_advance(&rig, SECOND / 10);
		peer_init(&c[i], false, i, 1, 2);
		rig_connect(&rig, &c[i], 4, "n");
	}
	assert_int_equal(bp_mqtt_worker_flows(rig.in), N + 3);
	assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED), 20);
	for (unsigned i = 0; i < N; i++) {
		uint64_t midway = rig_count(&rig, BP_C_CONN_MIDSTREAM);
		unsigned older = 0;
		struct bytes b = {0};

		for (unsigned k = 0; k < N; k++)
			older += seen[k] != UINT32_MAX && seen[k] >> 5 < seen[i] >> 5;
		if (seen[i] == UINT32_MAX || (older < 20 && older + 3 > 20))
			continue; /* closed before, or too close to call */
		/* only those known are asked, so that asking evicts no one */
		if (older >= 20) {
			assert_true(still_read(&c[i]));
			assert_int_equal(rig_count(&rig, BP_C_CONN_MIDSTREAM), midway);
		} else {
			gone++;
		}
		bytes_free(&b);
	}
	assert_true(gone >= 15);
	/* and those that went are met again */
	for (unsigned i = 0; i < N; i++) {
		unsigned older = 0;

		for (unsigned k = 0; k < N; k++)
			older += seen[k] != UINT32_MAX && seen[k] >> 5 < seen[i] >> 5;
		if (seen[i] != UINT32_MAX && older + 3 <= 20) {
			uint64_t midway = rig_count(&rig, BP_C_CONN_MIDSTREAM);

			assert_false(still_read(&c[i]));
			assert_int_equal(rig_count(&rig, BP_C_CONN_MIDSTREAM), midway + 1);
			break;
		}
	}
	rig_close(&rig);
}

/* Half-open connections take slots from each other alone. */
static void syn_flood(void **state)
{
	enum { N = 400 };
	static struct peer c[N];
	unsigned left = 0;

	(void)state;
	open_with(64 * 1024, 4 * 1024 * 1024, N);
	for (unsigned i = 0; i < N; i++) {
		peer_init(&c[i], false, i, 1, 2);
		rig_connect(&rig, &c[i], 4, "n");
		rig_advance(&rig, 1000000);
	}
	for (unsigned i = 0; i < 20 * N; i++) {
		struct peer flood;

		peer_init(&flood, i & 1, 100000 + i, i * 7919, 2);
		rig_segment(&rig, &flood, CLIENT, TH_SYN, i * 7919, 0, NULL, 0);
		rig_advance(&rig, 10000);
	}
	assert_int_equal(bp_mqtt_worker_flows(rig.in), N + N / 4 + 1);
	for (unsigned i = 0; i < N; i++)
		left += still_read(&c[i]);
	assert_int_equal(left, N);
	rig_close(&rig);
}

/* handshake_timeout, connection_timeout, and ten seconds for closed flows, in virtual time. */
static void each_list_has_its_timeout(void **state)
{
	struct peer half, idle, busy, shut, slow;

	(void)state;
	open_with(64 * 1024, 4 * 1024 * 1024, 100); /* a minute, ten seconds */
	peer_init(&half, false, 1, 1, 2);
	rig_handshake(&rig, &half); /* and never a CONNECT */
	peer_init(&idle, false, 2, 1, 2);
	rig_connect(&rig, &idle, 4, "idle");
	peer_init(&busy, false, 3, 1, 2);
	rig_connect(&rig, &busy, 4, "busy");
	peer_init(&shut, false, 4, 1, 2);
	rig_connect(&rig, &shut, 4, "shut");
	rig_fin_both(&rig, &shut);
	peer_init(&slow, false, 5, 1, 2);
	rig_handshake(&rig, &slow);
	for (unsigned second = 1; second <= 130; second++) {
		uint32_t want = (second < 58) + 1 + 1 + (second < 10) * 2;

		rig_advance(&rig, SECOND);
		if (second % 20 == 0)
			rig_ack(&rig, &busy, CLIENT);
		if (second % 5 == 0) {
			/* no CONNECT, but alive */
			rig_ack(&rig, &slow, BROKER);
		}
		for (unsigned i = 0; i < 5; i++)
			bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		if (second == 10 || second == 11 || (second >= 58 && second <= 62))
			continue; /* about now */
		assert_int_equal(bp_mqtt_worker_flows(rig.in), want);
	}
	assert_int_equal(rig_count(&rig, BP_C_CONN_EXPIRED), 1);
	assert_int_equal(rig_count(&rig, BP_C_CONN_EXPIRED_UNESTABLISHED), 1);
	assert_true(still_read(&busy));
	rig_close(&rig);
}

/* The largest table that is promised, full of connections that publish, in about 530 MB. */
static void many_flows(void **state)
{
	enum { N = TEST_SANITIZED ? 131072 : 1048576 };
	static uint8_t frame[5][PEER_FRAME_MAX]; /* SYN, SYN-ACK, CONNECT, CONNACK, PUBLISH */
	size_t n[5];
	struct bytes b = {0};
	struct peer c;
	uint64_t told = 0;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_connections = N;
	rig.mqtt.alarm_queue_size = 1024 * 1024;
	rig_open(&rig);
	assert_true(rig.shm.flows_len <=
		    (uint64_t)N * 5 / 4 * (320 * 5 / 4 + 3ull) + (uint64_t)N * 32 + 65536);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 0, 99, 2);
	n[0] = peer_frame(&c, CLIENT, TH_SYN, 99, 0, NULL, 0, frame[0]);
	n[1] = peer_frame(&c, BROKER, TH_SYN | TH_ACK, 2, 100, NULL, 0, frame[1]);
	mq_connect(&b, 4, "", 0);
	n[2] = peer_frame(&c, CLIENT, TH_ACK, 100, 3, b.p, b.n, frame[2]);
	c.seq[CLIENT] = 100 + (uint32_t)b.n;
	bytes_free(&b);
	mq_connack(&b, 4, 0, 0, NULL);
	n[3] = peer_frame(&c, BROKER, TH_ACK, 3, c.seq[CLIENT], b.p, b.n, frame[3]);
	c.seq[BROKER] = 3 + (uint32_t)b.n;
	bytes_free(&b);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	n[4] = peer_frame(&c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, b.n, frame[4]);
	bytes_free(&b);
	/* each is connected, and then all publish */
	for (uint32_t i = 0; i < 2 * N; i++) {
		for (unsigned step = i < N ? 0 : 4; step < (i < N ? 4 : 5); step++) {
			const bool to_broker = step != 1 && step != 3;
			uint8_t *client = frame[step] + (to_broker ? 26 : 30);
			struct bp_frame f;

			client[0] = 10;
			client[1] = (uint8_t)((i % N) >> 16);
			client[2] = (uint8_t)(i >> 8);
			client[3] = (uint8_t)i;
			assert_int_equal(bp_frame_parse(frame[step], (uint32_t)n[step],
						 (uint32_t)n[step], &f),
				BP_FRAME_TCP);
			f.to_broker = to_broker;
			bp_inspect_one(rig.in, &f);
		}
		if (i >= N && i % 4096 == 4095)
			told += rig_told_count(&rig);
	}
	assert_int_equal(told, N);
	assert_int_equal(bp_mqtt_worker_flows(rig.in), N);
	assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_OPENED), N);
	rig_close(&rig);
}

/* Many flows with reassembly memory, closed in every way: all memory is released. */
static void closed_flows_release_their_memory(void **state)
{
	uint64_t s = 11;

	(void)state;
	open_with(8 * 1024, 128 * 1024, 50);
	for (unsigned round = 0; round < TEST_TIMES(8000); round++) {
		struct bytes b = {0};
		struct peer c;

		peer_init(&c, round % 2, test_below(&s, 120), (uint32_t)test_random(&s), 2);
		rig_connect_alias(&rig, &c, "a client with a name", 10, 10);
		mq_publish(&b, &(struct mq_publish){.version = 5,
				       .topic = "t/some/where",
				       .alias = 1,
				       .payload = "79"});
		rig_send(&rig, &c, CLIENT, b.p, b.n);
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 500, c.seq[BROKER], b.p, b.n);
		rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 500, c.seq[CLIENT], b.p, b.n);
		rig_send(&rig, &c, CLIENT, b.p, test_below(&s, (uint32_t)b.n));
		bytes_free(&b);
		switch (test_below(&s, 5)) {
		case 0:
			rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, c.seq[BROKER], 0, NULL, 0);
			break;
		case 1:
			rig_send(&rig, &c, CLIENT, "\xff\xff\xff\xff\xff\xff", 6);
			break;
		case 2:
			rig_advance(&rig, SECOND);
			bp_mqtt_worker_tick(rig.in, rig.mono_ns);
			break;
		case 3:
			rig_fin_both(&rig, &c);
			break;
		default:
			break;
		}
		assert_true(bp_mqtt_worker_carried(rig.in) <= 128 * 1024);
		assert_true(bp_mqtt_worker_flows(rig.in) <= 50 + 50 / 4 + 1);
	}
	assert_true(rig_count(&rig, BP_C_CONN_EVICTED) > 100);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_flow),
		cmocka_unit_test(long_and_unwanted),
		cmocka_unit_test(reassembly_total_limits_all_flows),
		cmocka_unit_test(header_cut_when_full),
		cmocka_unit_test(connect_without_capacity),
		cmocka_unit_test(oldest_connection_is_evicted),
		cmocka_unit_test(syn_flood),
		cmocka_unit_test(each_list_has_its_timeout),
		cmocka_unit_test(many_flows),
		cmocka_unit_test(closed_flows_release_their_memory),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
