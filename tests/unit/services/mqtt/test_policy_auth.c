/* SPDX-License-Identifier: BSD-3-Clause */
/* A policy that refuses packets, and enhanced authentication (MQTT 5.0, 4.12): before the CONNACK,
 * only the AUTH that the broker waits for is forwarded. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "policy_ends.h"
#include "websocket_peer.h"

static bool websocket;

/* Appends `mqtt`, which is freed, as `from` sends it. */
static void wrap(struct bytes *b, unsigned from, struct bytes *mqtt)
{
	if (websocket) {
		ws_message(b, from, mqtt);
		return;
	}
	bytes_add(b, mqtt->p, mqtt->n);
	bytes_free(mqtt);
}

static void send(struct peer *c, unsigned from, struct bytes *mqtt)
{
	struct bytes b = {0};

	wrap(&b, from, mqtt);
	rig_send_bytes(&rig, c, from, &b);
}

/* AUTH, "continue authentication", with this number of bytes of data. */
static struct bytes auth(uint16_t n)
{
	static const uint8_t method[] = {0x15, 0, 4, 'S', 'A', 'S', 'L', 0x16};
	struct bytes body = {0}, b = {0};

	bytes_u8(&body, 0x18);
	bytes_varint(&body, (uint32_t)sizeof(method) + 2 + n);
	bytes_add(&body, method, sizeof(method));
	bytes_be16(&body, n);
	for (unsigned i = 0; i < n; i++)
		bytes_u8(&body, '0'); /* a PUBLISH begins with this byte */
	mq_raw(&b, 0xf0, body.p, body.n);
	bytes_free(&body);
	return b;
}

static void send_auth(struct peer *c, unsigned from)
{
	struct bytes b = auth(5);

	send(c, from, &b);
}

static struct bytes secret(void)
{
	struct bytes b = {0};

	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t/secret", .payload = "1"});
	return b;
}

static void accept_client(struct peer *c)
{
	struct bytes b = {0};

	mq_connack(&b, 5, 0, 0, NULL);
	send(c, BROKER, &b);
	rig_ack(&rig, c, CLIENT);
}

/* A connection up to its CONNECT, of MQTT 5.0, with an authentication method. */
static struct peer begun(uint32_t reassembly)
{
	struct bytes b = {0};
	struct peer c;

	open_rig(BP_POLICY_FAIL_CLOSED);
	rig_close(&rig);
	rig.mqtt.reassembly_per_connection = reassembly;
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	rig_open(&rig);
	load();
	c = open_peer();
	if (websocket)
		c.broker_port = WS_PORT;
	rig_handshake(&rig, &c);
	if (websocket) {
		ws_request(&b, "");
		rig_send_bytes(&rig, &c, CLIENT, &b);
		ws_response(&b, "");
		rig_send_bytes(&rig, &c, BROKER, &b);
	}
	mq_raw(&b, 0x10, "\0\4MQTT\5\2\0\74\7\25\0\4SASL\0\5robot", 25);
	send(&c, CLIENT, &b);
	return c;
}

static uint32_t sent(const struct peer *c)
{
	return c->seq[CLIENT] - broker.first;
}

/* The broker has all that was sent, and the connection lives. */
static void assert_all(const struct peer *c)
{
	assert_int_equal(received(&broker), sent(c));
	assert_int_equal(broker.resets + client.resets + client.fins, 0);
}

/* What follows the CONNACK is judged. */
static void assert_judged(struct peer *c)
{
	struct bytes b = secret();
	uint32_t n;

	publish(c, 5, "t/x");
	assert_all(c);
	assert_string_equal(rig_told_values(&rig), "81");
	n = received(&broker);
	send(c, CLIENT, &b);
	assert_int_equal(received(&broker), n);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

static void in_both(void (*check)(void))
{
	for (unsigned i = 0; i < 2; i++) {
		websocket = i;
		check();
	}
	websocket = false;
}

static void assert_judged_of(struct peer *c)
{
	struct bytes b = secret();
	const uint32_t n = received(&broker);

	assert_all(c);
	if (!websocket) {
		bytes_free(&b);
		assert_judged(c);
		return;
	}
	send(c, CLIENT, &b);
	/* without the topic: at most the header of the frame */
	assert_true(received(&broker) <= n + 6);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

static void exchanged(void)
{
	struct peer c = begun(65536);

	for (unsigned i = 0; i < 3; i++) {
		send_auth(&c, BROKER);
		send_auth(&c, CLIENT);
		assert_all(&c);
	}
	accept_client(&c);
	assert_judged_of(&c);
}

static void exchange_is_forwarded(void **state)
{
	(void)state;
	in_both(exchanged);
}

/* A client that authenticates without being asked: its AUTH comes again. */
static void not_asked(void)
{
	struct peer c = begun(65536);
	const uint32_t first = c.seq[CLIENT], has = received(&broker);

	assert_int_equal(has, sent(&c));
	send_auth(&c, CLIENT);
	assert_int_equal(received(&broker), has);
	c.seq[CLIENT] = first;
	send_auth(&c, BROKER);
	send_auth(&c, CLIENT);
	assert_all(&c);
	/* nor a second one */
	send_auth(&c, CLIENT);
	c.seq[CLIENT] = broker.first + received(&broker);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_NOT_READ), 2);
	accept_client(&c);
	assert_judged_of(&c);
}

static void auth_waits_for_that_of_the_broker(void **state)
{
	(void)state;
	in_both(not_asked);
}

static void single_bytes(void)
{
	struct peer c = begun(65536);
	struct bytes mqtt = auth(300), b = {0};

	send_auth(&c, BROKER);
	wrap(&b, CLIENT, &mqtt);
	for (unsigned i = 0; i < b.n; i++) {
		/* a header of a WebSocket is not forwarded in parts */
		const uint32_t n = i == 0 && websocket ? 8 : 1;

		rig_send(&rig, &c, CLIENT, b.p + i, n);
		assert_all(&c);
		i += n - 1;
	}
	bytes_free(&b);
	accept_client(&c);
	assert_judged_of(&c);
}

static void auth_in_single_bytes(void **state)
{
	(void)state;
	in_both(single_bytes);
}

/* AUTH, and a refused PUBLISH behind it, in one segment. */
static void followed_by_publish(void)
{
	struct peer c = begun(65536);
	struct bytes mqtt = auth(5), b = {0};
	uint32_t end;

	send_auth(&c, BROKER);
	wrap(&b, CLIENT, &mqtt);
	end = sent(&c) + (uint32_t)b.n;
	mqtt = secret();
	wrap(&b, CLIENT, &mqtt);
	for (unsigned i = 0; i < 3; i++) {
		rig_segment(
			&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
		assert_int_equal(received(&broker), end);
	}
	/* nor when the broker asks again: the header of a WebSocket is all that may follow */
	send_auth(&c, BROKER);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	assert_true(received(&broker) <= end + (websocket ? 6 : 0));
	assert_int_equal(broker.resets + client.resets + client.fins, 0);
	accept_client(&c);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	assert_true(received(&broker) <= end + (websocket ? 6 : 0));
	assert_int_equal(broker.resets, 1);
	bytes_free(&b);
	rig_close(&rig);
}

static void publish_behind_auth_waits(void **state)
{
	(void)state;
	in_both(followed_by_publish);
}

/* Longer than the memory of the connection. */
static void long_auth(void)
{
	struct peer c = begun(4096);
	struct bytes mqtt = auth(20000), b = {0};

	send_auth(&c, BROKER);
	wrap(&b, CLIENT, &mqtt);
	for (uint32_t at = 0; at < b.n; at += 1000) {
		const uint32_t left = (uint32_t)b.n - at;

		rig_send(&rig, &c, CLIENT, b.p + at, left < 1000 ? left : 1000);
		assert_all(&c);
		rig_ack(&rig, &c, BROKER);
	}
	bytes_free(&b);
	mqtt = secret();
	wrap(&b, CLIENT, &mqtt);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	assert_true(received(&broker) <= sent(&c) + (websocket ? 6 : 0));
	bytes_free(&b);
	c.seq[CLIENT] = broker.first + received(&broker);
	rig_close(&rig);
}

static void long_auth_is_forwarded(void **state)
{
	(void)state;
	in_both(long_auth);
}

/* Without an authentication method, there is no AUTH. */
static void no_method(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		struct bytes b = {0};
		struct peer c;
		uint32_t n;

		open_rig(BP_POLICY_FAIL_CLOSED);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = open_peer();
		rig_handshake(&rig, &c);
		mq_connect(&b, version, "pump-1", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		n = received(&broker);
		send_auth(&c, CLIENT);
		c.seq[CLIENT] = broker.first + n;
		send_auth(&c, BROKER);
		send_auth(&c, CLIENT);
		assert_int_equal(received(&broker), n);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_is_forwarded),
		cmocka_unit_test(auth_waits_for_that_of_the_broker),
		cmocka_unit_test(auth_in_single_bytes),
		cmocka_unit_test(publish_behind_auth_waits),
		cmocka_unit_test(long_auth_is_forwarded),
		cmocka_unit_test(no_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
