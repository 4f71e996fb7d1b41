/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attackers who have proven nothing: they send frames with any source address, and never complete a
 * handshake or get a CONNACK. They want the state that inspection keeps for true connections.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "tests/unit/times.h"

#define SECOND 1000000000ull

static struct rig rig;

static void open_with(uint32_t flows)
{
	rig_defaults(&rig);
	rig.mqtt.max_connections = flows;
	rig.mqtt.connection_timeout_ns = 3600 * SECOND;
	rig.mqtt.handshake_timeout_ns = 30 * SECOND;
	rig.mqtt.reassembly_per_connection = 256 * 1024;
	rig.mqtt.reassembly_total = 64 * 1024 * 1024;
	rig.mqtt.max_alarm_states = 65536;
	rig.mqtt.alarm_queue_size = 8 * 1024 * 1024;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static void true_connections(struct peer *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		peer_init(&c[i], i % 4 == 0, i, i * 977, i * 31);
		rig_connect(&rig, &c[i], 4, "true");
		rig_advance(&rig, 100000);
	}
	for (unsigned i = 0; i < n; i++)
		rig_publish_text(&rig, &c[i], "t/x", "1");
}

/* Each is read in place, without a search. */
static void all_are_read(struct peer *c, unsigned n)
{
	const uint64_t seeks = rig_count(&rig, BP_C_RESYNC_STARTED);

	for (unsigned i = 0; i < n; i++)
		rig_publish_text(&rig, &c[i], "t/x", "81");
	assert_int_equal(rig_told_count(&rig), n);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), seeks);
}

/* Attacker: off-path, one address. 4,104 mid-stream segments of one byte, on 4,096 connections. */
static void midstream_bytes_keep_the_table(void **state)
{
	enum { N = 4096 };
	static struct peer c[N];

	(void)state;
	open_with(N);
	true_connections(c, N);
	for (unsigned i = 0; i < 4104; i++) {
		struct peer a;

		peer_init(&a, false, 1000000, i, i);
		a.client_port = (uint16_t)(1024 + i);
		rig_segment(&rig, &a, CLIENT, TH_ACK | TH_PSH, i, i, "x", 1);
		rig_advance(&rig, 100000);
	}
	all_are_read(c, N);
	rig_close(&rig);
}

/* Attacker: off-path, any address. SYN with data: CONNECT and PUBLISH, which no one answers. */
static void unanswered_connect_keeps_the_table(void **state)
{
	enum { N = 4096 };
	static struct peer c[N];
	struct bytes b = {0};

	(void)state;
	open_with(N);
	true_connections(c, N);
	mq_connect(&b, 4, "spoofed", 0);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/y", .payload = "79"});
	for (unsigned i = 0; i < 3 * N; i++) {
		struct peer a;

		peer_init(&a, i & 1, 1000000 + i, i, i);
		rig_segment(&rig, &a, CLIENT, TH_SYN, i, 0, NULL, 0);
		rig_segment(&rig, &a, CLIENT, TH_ACK | TH_PSH, i + 1, 1, b.p, b.n);
		rig_advance(&rig, 100000);
	}
	bytes_free(&b);
	(void)rig_told_count(&rig);
	all_are_read(c, N);
	rig_close(&rig);
}

static const char *long_publish(struct bytes *b, size_t n)
{
	static char payload[40000];

	memset(payload, ' ', sizeof(payload));
	memcpy(payload + n - 2, "82", 2);
	mq_publish(b, &(struct mq_publish){
			      .version = 4, .topic = "t/x", .payload = payload, .payload_len = n});
	return payload;
}

/* A PUBLISH in two segments, for which memory is needed. */
static void cut_publish_is_read(struct peer *c)
{
	struct bytes b = {0};

	(void)long_publish(&b, 30000);
	rig_send(&rig, c, CLIENT, b.p, 29000);
	rig_send(&rig, c, CLIENT, b.p + 29000, b.n - 29000);
	bytes_free(&b);
	assert_string_equal(rig_told_values(&rig), "82");
}

/* A connection that opens now, its CONNECT in two segments. */
static void opens_and_is_read(unsigned number)
{
	struct bytes b = {0};
	struct peer c;

	peer_init(&c, false, number, 5, 6);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "a true client whose CONNECT comes in two segments", 0);
	rig_send(&rig, &c, CLIENT, b.p, 20);
	rig_send(&rig, &c, CLIENT, b.p + 20, b.n - 20);
	bytes_free(&b);
	mq_connack(&b, 4, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	cut_publish_is_read(&c);
}

/* Attacker: off-path. 1,070 segments of 60,000 bytes, each the beginning of a packet that never
 * ends, from one address or from as many: at most a quarter of the memory, and for seconds. */
static void incomplete_packets_use_a_quarter_of_the_memory(void **state)
{
	(void)state;
	for (unsigned addresses = 0; addresses < 2; addresses++) {
		uint8_t *head = calloc(1, 60000);
		struct peer c;

		open_with(65536);
		true_connections(&c, 1);
		(void)rig_told_count(&rig);
		memcpy(head, "\x10\x90\xa1\x0f\x00\x04MQTT\x04\x02", 12);
		for (unsigned i = 0; i < 1070; i++) {
			struct peer a;

			peer_init(&a, false, 1000000 + (addresses ? i : 0), i, i);
			a.client_port = (uint16_t)(1024 + i);
			rig_segment(&rig, &a, CLIENT, TH_SYN, i, 0, head, 60000);
			rig_advance(&rig, 100000);
		}
		assert_true(bp_mqtt_worker_carried(rig.in) <= 17 * 1024 * 1024);
		cut_publish_is_read(&c);
		opens_and_is_read(7);
		rig_advance(&rig, 31 * SECOND);
		for (unsigned i = 0; i < 1000; i++)
			bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		assert_true(bp_mqtt_worker_carried(rig.in) < 1024);
		free(head);
		rig_close(&rig);
	}
}

/* Attacker: a client with one address and 300 true connections, each with an unfinished packet of
 * 250,000 bytes. It gets a third of the memory, and others still have room. */
static void one_client_cannot_use_all_memory(void **state)
{
	uint8_t *head = calloc(1, 60000);
	struct peer c;

	(void)state;
	open_with(65536);
	true_connections(&c, 1);
	(void)rig_told_count(&rig);
	memcpy(head, "\x30\xff\xff\x0e\x00\x03t/x", 9);
	for (unsigned i = 0; i < 300; i++) {
		struct peer a;

		peer_init(&a, false, 1000000, i, i);
		a.client_port = (uint16_t)(1024 + i);
		rig_connect(&rig, &a, 4, "");
		rig_send(&rig, &a, CLIENT, head, 60000);
		for (unsigned k = 0; k < 3; k++)
			rig_send(&rig, &a, CLIENT, head + 100, 59000);
	}
	assert_true(bp_mqtt_worker_carried(rig.in) <= 22 * 1024 * 1024);
	assert_true(rig_count(&rig, BP_C_REASSEMBLY_LIMIT_CLIENT) > 0);
	cut_publish_is_read(&c);
	free(head);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- ten thousand frames a second */

#define TRUE_CLIENTS 1000
#define RATE 10000
#define SECONDS (TEST_SANITIZED ? 20 : 60)

/* One frame of an attacker: of each kind that makes state. */
static void attack(uint64_t *s, const uint8_t *blob)
{
	struct bytes b = {0};
	struct peer a;
	const unsigned kind = test_below(s, 8);
	/* half of them from anywhere, half from ten addresses */
	const uint32_t number =
		2000000 + (test_below(s, 2) ? test_below(s, 8000000) : test_below(s, 10));

	peer_init(&a, test_below(s, 4) == 0, number, (uint32_t)test_random(s), 7);
	a.client_port = (uint16_t)(1024 + test_below(s, 60000));
	switch (kind) {
	case 0:
		rig_segment(&rig, &a, CLIENT, TH_SYN, a.seq[CLIENT], 0, NULL, 0);
		break;
	case 1:
		rig_segment(&rig, &a, BROKER, TH_SYN | TH_ACK, 7, a.seq[CLIENT], NULL, 0);
		break;
	case 2:
		rig_segment(&rig, &a, CLIENT, TH_ACK, a.seq[CLIENT], 7, "x", 1);
		break;
	case 3:
		mq_connect(&b, 4, "spoofed", 0);
		rig_segment(&rig, &a, CLIENT, TH_SYN, a.seq[CLIENT], 0, b.p, b.n);
		break;
	case 4: /* unfinished */
		rig_segment(&rig, &a, CLIENT, TH_SYN, a.seq[CLIENT], 0, blob, 1400);
		break;
	case 5: /* ahead of the stream */
		rig_segment(&rig, &a, CLIENT, TH_SYN, a.seq[CLIENT], 0, NULL, 0);
		rig_segment(&rig, &a, CLIENT, TH_ACK, a.seq[CLIENT] + 5000, 7, blob, 1400);
		break;
	case 6:
		mq_publish(&b,
			&(struct mq_publish){.version = 4, .topic = "t/made/up", .payload = "99"});
		rig_segment(&rig, &a, CLIENT, TH_ACK, a.seq[CLIENT], 7, b.p, b.n);
		break;
	case 7:
		mq_empty(&b, MQ_PINGRESP);
		rig_segment(&rig, &a, BROKER, TH_ACK, 7, a.seq[CLIENT], b.p, b.n);
		break;
	}
	bytes_free(&b);
}

/* One millisecond of real connections: each publishes once per second, some in two segments, some
 * reordered, and one reconnects every 50 ms. */
static void true_traffic(struct peer *c, unsigned ms)
{
	const unsigned i = ms % TRUE_CLIENTS, second = ms / 1000;
	struct bytes b = {0};
	char value[16];

	if (ms % 50 == 7) {
		const unsigned k = (ms / 50 * 7) % TRUE_CLIENTS;

		rig_fin_both(&rig, &c[k]);
		c[k].client_port++;
		rig_handshake(&rig, &c[k]);
		mq_connect(&b, 4, "true", 0);
		rig_send(&rig, &c[k], CLIENT, b.p, 9);
		rig_send(&rig, &c[k], CLIENT, b.p + 9, b.n - 9);
		bytes_free(&b);
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c[k], BROKER, &b);
	}
	snprintf(value, sizeof(value), "%u", (i * 7 + second * 13) % 160);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = value});
	if (i % 3 == 0) {
		rig_send_bytes(&rig, &c[i], CLIENT, &b);
		return;
	}
	if (i % 3 == 1) {
		rig_send(&rig, &c[i], CLIENT, b.p, 4);
		rig_send(&rig, &c[i], CLIENT, b.p + 4, b.n - 4);
	} else {
		rig_segment(&rig, &c[i], CLIENT, TH_ACK, c[i].seq[CLIENT] + 4, c[i].seq[BROKER],
			b.p + 4, b.n - 4);
		rig_send(&rig, &c[i], CLIENT, b.p, 4);
		c[i].seq[CLIENT] += (uint32_t)b.n - 4;
	}
	bytes_free(&b);
}

/* The alarms of a minute, as text: all that a consumer would see of them but their times. */
static struct bytes minute(bool attacked)
{
	static struct peer c[TRUE_CLIENTS];
	uint8_t blob[1400] = "\x10\x90\xa1\x0f\x00\x04MQTT\x04\x02";
	struct bytes alarms = {0};
	struct bp_rule_spec rule = rig_rule("r", "t/#", BP_COND_GT, 80);
	uint64_t s = 99;

	open_with(65536);
	rule.has_clear = true;
	rule.clear.op = BP_COND_LT;
	rule.clear.a = 40;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rig_rules(&rig, &rule, 1);
	for (unsigned i = 0; i < TRUE_CLIENTS; i++) {
		peer_init(&c[i], i % 4 == 0, i, i * 977, i * 31);
		rig_connect(&rig, &c[i], 4, "true");
	}
	for (unsigned ms = 0; ms < SECONDS * 1000; ms++) {
		struct told_list l;

		true_traffic(c, ms);
		for (unsigned k = 0; k < RATE / 1000; k++) {
			if (attacked)
				attack(&s, blob);
			rig_advance(&rig, 1000000 / (RATE / 1000));
		}
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		l = rig_told(&rig);
		for (size_t i = 0; i < l.n; i++) {
			char line[128];
			const int n = snprintf(line, sizeof(line), "%u %u %s %s %g\n",
				l.a[i].client_port, l.a[i].client_ip[3], l.a[i].topic,
				l.a[i].state == BP_ALARM_RAISED ? "raised" : "cleared",
				l.a[i].value);

			bytes_add(&alarms, line, (size_t)n);
		}
		told_free(&l);
	}
	if (attacked) {
		assert_true(rig_count(&rig, BP_C_CONN_EVICTED_UNESTABLISHED) > RATE * SECONDS / 6);
		assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED), 0);
		printf("# %llu unproven connections evicted\n",
			(unsigned long long)rig_count(&rig, BP_C_CONN_EVICTED_UNESTABLISHED));
	}
	rig_close(&rig);
	bytes_u8(&alarms, 0);
	return alarms;
}

/* Attackers: off-path, many. Default sizes, 10,000 frames a second for a minute: not one alarm of a
 * thousand true connections is missed, added, or other than without them. */
static void flood_changes_no_alarm(void **state)
{
	struct bytes quiet = minute(false), attacked = minute(true);

	(void)state;
	assert_true(quiet.n > 1500u * SECONDS);
	assert_string_equal((const char *)attacked.p, (const char *)quiet.p);
	bytes_free(&quiet);
	bytes_free(&attacked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(midstream_bytes_keep_the_table),
		cmocka_unit_test(unanswered_connect_keeps_the_table),
		cmocka_unit_test(incomplete_packets_use_a_quarter_of_the_memory),
		cmocka_unit_test(one_client_cannot_use_all_memory),
		cmocka_unit_test(flood_changes_no_alarm),
	};

	return cmocka_run_group_tests_name("unproven", tests, NULL, NULL);
}
