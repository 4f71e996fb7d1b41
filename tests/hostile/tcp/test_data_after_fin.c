/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client continues to send after its own FIN, or after the broker's: no broker reads these bytes,
 * and they raise no alarm. Bytes sent before the FIN, in any order of arrival, are read. A client
 * ends connections in a way that inspection does not detect, or keeps many open: it uses only its
 * own entries. An off-path attacker ends connections that are not inspected: they remain listed,
 * and their wills raise no alarm.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "services/mqtt/flow_show.h"
#include "stream_steps.h"

#define TOPIC "plant/oven0/temperature"

static void start(struct peer *c, bool fast)
{
	open_rig();
	rig.bursts = fast;
	peer_init(c, false, 1, 0xffffff00u, 0xfffffff0u);
	rig_connect(&rig, c, 4, "x");
	for (unsigned i = 0; i < 2; i++) {
		rig_publish_text(&rig, c, TOPIC, "81");
		rig_ack(&rig, c, BROKER);
	}
	assert_int_equal(rig_told_count(&rig), 2);
}

/* Publications at the number of the client's FIN, and at the next one. */
static void behind_client_fin(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct peer c;

		start(&c, k & 1);
		rig_segment(
			&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
		c.seq[CLIENT] += k / 2;
		for (unsigned i = 0; i < 5; i++)
			rig_publish_text(&rig, &c, TOPIC, "99");
		assert_string_equal(told(), "");
		assert_true(rig_count(&rig, BP_C_AFTER_DISCONNECT) >= 1);
		rig_close(&rig);
	}
}

/* Publications behind the broker's FIN, which are answered with RST. */
static void behind_broker_fin(void **state)
{
	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct peer c;

		start(&c, fast);
		rig_segment(
			&rig, &c, BROKER, TH_FIN | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
		c.seq[BROKER]++;
		for (unsigned i = 0; i < 5; i++)
			rig_publish_text(&rig, &c, TOPIC, "99");
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_AFTER_DISCONNECT), 5);
		/* and the client's end is still seen */
		rig_segment(
			&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
		rig_close(&rig);
	}
}

/* The FIN overtakes what was sent before it, up to all of it. */
static void fin_overtakes(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	start(&c, false);
	hot(&b, "82");
	hot(&b, "83");
	rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT] + (uint32_t)b.n, c.seq[BROKER],
		NULL, 0);
	piece(&c, &b, b.n / 2, b.n);
	piece(&c, &b, 0, b.n / 2);
	assert_string_equal(told(), "82 83");
	c.seq[CLIENT] += (uint32_t)b.n;
	bytes_free(&b);
	rig_publish_text(&rig, &c, TOPIC, "99");
	assert_string_equal(told(), "");
	/* the broker has all of it, and answers: it is no gap */
	rig_segment(&rig, &c, BROKER, TH_FIN | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	rig_close(&rig);
}

/* A client publishes and closes before the broker has answered its CONNECT. */
static void closed_before_connack(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 100, 900);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "x", 0);
	hot(&b, "82");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	memset(&b, 0, sizeof(b));
	hot(&b, "99");
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	bytes_free(&b);
	rig_accept(&rig, &c, 4);
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/* A FIN near a stream that is searched is not exact: the stream is read on where it is proven. */
static void fin_in_a_search(void **state)
{
	(void)state;
	for (unsigned off = 0; off < 2; off++) {
		struct bytes b = {0};
		struct peer c;

		open_rig();
		peer_init(&c, false, 1, 1000, 9);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){
				.version = 4, .qos = 1, .id = 7, .topic = TOPIC, .payload = "99"});
		rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT] + 999 * off,
			c.seq[BROKER], NULL, 0);
		mq_ack(&b, MQ_PUBACK, 7);
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), 1);
		rig_publish_text(&rig, &c, TOPIC, "81");
		assert_string_equal(told(), off ? "81" : "");
		rig_close(&rig);
	}
}

/* Once its sender's FIN was seen, a RST has the number behind it, or that of an older answer. */
static void rst_behind_fin(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		const unsigned from = k & 1;
		struct peer c;

		start(&c, k & 2);
		rig_segment(&rig, &c, from, TH_FIN | TH_ACK, c.seq[from], c.seq[!from], NULL, 0);
		rig_segment(&rig, &c, from, TH_RST, c.seq[from] + 2, 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST_IGNORED), 1);
		rig_segment(&rig, &c, from, TH_RST, c.seq[from] + k / 4, 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
		rig_close(&rig);
	}
}

/*
 * One address opens three times the maximum of accepted connections, and ends them with FIN and
 * RST, or in a way that inspection does not accept, or keeps them open. Connections of other
 * addresses remain.
 */
static void one_address_with_all_connections(void **state)
{
	enum { OTHERS = 64, FLOWS = 2000 };

	(void)state;
	for (unsigned k = 0; k < 6; k++) {
		struct bp_rule_spec rule = rig_rule("r", "plant/+/temperature", BP_COND_GT, 80);
		struct peer c[OTHERS], d;

		rig_defaults(&rig);
		rig.mqtt.max_connections = FLOWS;
		rig_open(&rig);
		rig_rules(&rig, &rule, 1);
		for (uint32_t i = 0; i < OTHERS; i++) {
			peer_init(&c[i], k & 1, 1000 + i, 100, 900);
			if (k & 1) /* another /64 */
				c[i].client_ip[7] = (uint8_t)(i + 1);
			rig_connect(&rig, &c[i], 4, "x");
		}
		rig_advance(&rig, 5000000000ull);
		for (uint32_t i = 0; i < 3 * FLOWS; i++) {
			peer_init(&d, k & 1, 1, 100, 900);
			d.client_port = (uint16_t)(1024 + i);
			if (i % 100 == 0)
				rig_advance(&rig, 2000000ull);
			rig_connect(&rig, &d, 4, "a");
			if (k / 2 == 1)
				rig_segment(&rig, &d, CLIENT, TH_FIN | TH_ACK, d.seq[CLIENT],
					d.seq[BROKER], NULL, 0);
			if (k / 2 != 0)
				rig_segment(&rig, &d, CLIENT, TH_RST, d.seq[CLIENT] + k / 2, 0,
					NULL, 0);
		}
		assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED) == 0, k / 2 == 1);
		for (uint32_t i = 0; i < OTHERS; i++)
			rig_publish_text(&rig, &c[i], TOPIC, "99");
		assert_int_equal(rig_told_count(&rig), OTHERS);
		rig_close(&rig);
	}
}

static int visit(const struct bp_flow_view *v, void *arg)
{
	unsigned *unread = arg;

	*unread += v->unread;
	return 0;
}

static unsigned unread(void)
{
	unsigned n = 0;

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, visit, &n), 0);
	return n;
}

/* Each with numbers that are wrong: RST and FIN of either end. */
static void blind_ends(const struct peer *c)
{
	static const uint8_t flags[] = {TH_RST, TH_FIN | TH_ACK, TH_RST | TH_ACK};

	for (unsigned from = 0; from < 2; from++)
		for (unsigned k = 0; k < sizeof(flags); k++)
			for (uint32_t off = 1; off != 0; off *= 8)
				rig_segment(&rig, c, from, flags[k], c->seq[from] + off,
					c->seq[!from] + off, NULL, 0);
}

/* TLS on an inspected port: an off-path attacker cannot take it off the list of the unread. */
static void uninspected_connection_stays_listed(void **state)
{
	static const uint8_t hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 100, 900);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, hello, sizeof(hello));
	for (unsigned i = 0; i < 200; i++) {
		rig_advance(&rig, 5000000000ull);
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		blind_ends(&c);
		assert_int_equal(unread(), 1);
		rig_send(&rig, &c, i & 1, "\x17\x03\x03\x00\x01\x00", 6);
	}
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TLS), 1);
	/* its own end is believed */
	rig_fin_both(&rig, &c);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	assert_int_equal(unread(), 0);
	rig_close(&rig);
}

static void connect_with_will(struct peer *c)
{
	static const uint8_t connect[] = "\0\4MQTT\4\6\0\x3c\0\1w\0\x17" TOPIC "\0\x02"
					 "99";
	struct bytes b = {0};

	peer_init(c, false, 1, 100, 900);
	rig_handshake(&rig, c);
	mq_raw(&b, 0x10, connect, sizeof(connect) - 1);
	rig_send_bytes(&rig, c, CLIENT, &b);
	rig_accept(&rig, c, 4);
}

/*
 * A connection that is given up, and has a will: an off-path attacker's FIN or RST does not raise
 * the will's alarm, nor does the true end where a DISCONNECT may have come before it.
 */
static void will_of_uninspected_connection(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		const bool standard = how & 1;
		struct bp_rule_spec rule = rig_rule("r", "plant/+/temperature", BP_COND_GT, 80);
		struct bytes b = {0};
		struct peer c;

		rig_defaults(&rig);
		if (standard)
			rig.mqtt.strictness = BP_STRICTNESS_STANDARD;
		rig_open(&rig);
		rig_rules(&rig, &rule, 1);
		connect_with_will(&c);
		assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), 1);
		mq_raw(&b, standard ? 0xc5 : 0xf0, "", 0); /* stray flags, or a wrong type */
		rig_send_bytes(&rig, &c, CLIENT, &b);
		assert_int_equal(unread(), 1);
		blind_ends(&c);
		assert_string_equal(told(), "");
		assert_int_equal(unread(), 1);
		if (how >= 2) {
			mq_empty(&b, MQ_DISCONNECT);
			rig_send_bytes(&rig, &c, CLIENT, &b);
		}
		if (how >= 4) /* the broker closes first */
			rig_segment(&rig, &c, BROKER, TH_FIN | TH_ACK, c.seq[BROKER]++,
				c.seq[CLIENT], NULL, 0);
		else
			rig_fin_both(&rig, &c);
		/* mosquitto has closed for the fault, and reads nothing behind it */
		assert_string_equal(told(), standard ? "" : "99");
		assert_int_equal(rig_count(&rig, BP_C_WILL_NOT_INSPECTED), standard);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_client_fin),
		cmocka_unit_test(behind_broker_fin),
		cmocka_unit_test(fin_overtakes),
		cmocka_unit_test(closed_before_connack),
		cmocka_unit_test(fin_in_a_search),
		cmocka_unit_test(rst_behind_fin),
		cmocka_unit_test(one_address_with_all_connections),
		cmocka_unit_test(uninspected_connection_stays_listed),
		cmocka_unit_test(will_of_uninspected_connection),
	};

	return cmocka_run_group_tests_name("data_after_fin", tests, NULL, NULL);
}
