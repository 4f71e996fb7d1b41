/* SPDX-License-Identifier: BSD-3-Clause */
/* Wills of existing connections that a changed policy refuses: the broker is made to discard them,
 * and mqtt.policy.fail decides where nothing of the will is kept. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"
#include "websocket_peer.h"

#define SECOND 1000000000ull

static void mark_all(void)
{
	const uint64_t slots = (uint64_t)rig.in->table.groups * BP_FLOW_WAYS;

	for (uint64_t i = 0; i <= slots; i += 64)
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

static void reload(void)
{
	load();
	mark_all();
}

/* Of pump-1 with the will t/will, whose payload has `n` bytes. */
static struct bytes connect_packet(uint8_t version, size_t n)
{
	static const char payload[8192];
	struct bytes b = {0}, body = {0};

	bytes_be16(&body, 4);
	bytes_add(&body, "MQTT", 4);
	bytes_u8(&body, version);
	bytes_u8(&body, 6);
	bytes_be16(&body, 60);
	bytes_add(&body, "\0", version == 5);
	bytes_be16(&body, 6);
	bytes_add(&body, "pump-1", 6);
	bytes_add(&body, "\0", version == 5);
	bytes_be16(&body, 6);
	bytes_add(&body, "t/will", 6);
	bytes_be16(&body, (uint16_t)n);
	bytes_add(&body, payload, n);
	mq_raw(&b, 0x10, body.p, body.n);
	bytes_free(&body);
	return b;
}

static void begin(uint8_t fail, uint32_t memory)
{
	open_rig(fail);
	rig_close(&rig);
	if (memory != 0)
		rig.mqtt.reassembly_per_connection = memory;
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	rig_open(&rig);
	load();
}

static struct peer with_will(uint8_t version, size_t n)
{
	struct bytes b = connect_packet(version, n);
	struct peer c = open_peer();

	rig_handshake(&rig, &c);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_accept(&rig, &c, version);
	rig_ack(&rig, &c, CLIENT);
	return c;
}

static void refuse_wills(void)
{
	rule(BP_POLICY_CLOSE, BP_POLICY_WILL, "t/will");
	reload();
}

/* The broker has all bytes of the client up to `at`, a DISCONNECT and FIN, and no reset. */
static void assert_discarded(uint32_t at)
{
	assert_int_equal(received(&broker), at + 2);
	assert_memory_equal(broker.byte + at, "\xe0\0", 2);
	assert_int_equal(broker.resets, 0);
	assert_true(broker.fins >= 1);
	assert_int_equal(rig_count(&rig, BP_C_WILL_DISCARDED), 1);
	assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_WILL_LEFT), 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
}

/* With the next segment of either end. */
static void discarded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const uint8_t version = i & 1 ? 5 : 4;
		struct peer c;
		uint32_t at;

		begin(BP_POLICY_FAIL_OPEN, 0);
		c = with_will(version, 1);
		if (i & 4) {
			publish(&c, version, "t/x");
			rig_ack(&rig, &c, BROKER);
		}
		at = received(&broker);
		refuse_wills();
		if (i & 2)
			publish(&c, version, "t/x");
		else
			rig_ack(&rig, &c, BROKER);
		assert_discarded(at);
		if (version == 5) {
			assert_memory_equal(client.byte + received(&client) - 3, "\xe0\x01\x87", 3);
			assert_int_equal(client.fins, 1);
		} else {
			assert_int_equal(client.resets, 1);
		}
		rig_close(&rig);
	}
}

/* An allowed will is published, as after any lost connection. */
static void allowed(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_FAIL_CLOSED, 0);
	c = with_will(4, 1);
	rule(BP_POLICY_CLOSE, BP_POLICY_WILL, "t/other");
	snprintf(rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "")->client, 8, "pump-*");
	reload();
	publish(&c, 4, "t/x");
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.fins, 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_WILL_LEFT), 0);
	assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
	rig_close(&rig);
}

/* A packet is under way: it ends behind it, at each byte. */
static void within_a_packet(void **state)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "81"};
	struct bytes b = {0};

	(void)state;
	mq_publish(&b, &p);
	for (size_t cut = 1; cut < b.n; cut++) {
		struct peer c;
		uint32_t at;

		begin(BP_POLICY_FAIL_OPEN, 0);
		c = with_will(4, 1);
		rig_send(&rig, &c, CLIENT, b.p, cut);
		refuse_wills();
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(broker.fins, 0);
		rig_send(&rig, &c, CLIENT, b.p + cut, b.n - cut);
		at = received(&broker);
		assert_int_equal(at, c.seq[CLIENT] - broker.first);
		/* what follows waits until the broker has this */
		publish(&c, 4, "t/x");
		assert_int_equal(received(&broker), at);
		assert_int_equal(broker.fins + broker.resets, 0);
		rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], broker.first + at, "", 0);
		assert_discarded(at);
		rig_close(&rig);
	}
	bytes_free(&b);
}

/* A client that never ends its packet: some seconds later the broker gets a reset. */
static void packet_without_end(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_FAIL_OPEN, 0);
	c = with_will(4, 1);
	rig_send(&rig, &c, CLIENT, "\x30\x40\0\3t/x", 7);
	refuse_wills();
	for (unsigned i = 0; i < 9; i++) {
		rig_send(&rig, &c, CLIENT, "8", 1);
		rig_advance(&rig, SECOND);
		mark_all();
		assert_int_equal(broker.fins + broker.resets, 0);
	}
	rig_advance(&rig, 2 * SECOND);
	mark_all();
	rig_send(&rig, &c, CLIENT, "8", 1);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.fins, 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_WILL_LEFT), 1);
	rig_close(&rig);
}

/* The DISCONNECT gets lost: it is sent again, and no reset before the broker has read it. */
static void disconnect_is_lost(void **state)
{
	struct peer c;
	uint32_t at, seq;

	(void)state;
	begin(BP_POLICY_FAIL_OPEN, 0);
	c = with_will(4, 1);
	at = received(&broker);
	refuse_wills();
	broker.deaf = true;
	rig_ack(&rig, &c, BROKER);
	broker.deaf = false;
	assert_int_equal(received(&broker), at);
	rig_send(&rig, &c, BROKER, "\xd0\0", 2);
	assert_discarded(at);
	/* its acknowledgement has no answer, its FIN has */
	seq = broker.first + at + 3;
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], seq, "", 0);
	assert_int_equal(broker.resets, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], seq, "", 0);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, seq);
	rig_close(&rig);
}

/* The client continues instead: what it sends is answered, and the DISCONNECT comes again. */
static void client_continues(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	begin(BP_POLICY_FAIL_OPEN, 0);
	c = with_will(4, 1);
	at = received(&broker);
	refuse_wills();
	broker.deaf = true;
	rig_ack(&rig, &c, BROKER);
	broker.deaf = false;
	rig_restart(&rig);
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), at + 2);
	assert_int_equal(broker.fins, 1);
	assert_int_equal(broker.resets, 0);
	rig_close(&rig);
}

static void websocket(void **state)
{
	static const uint8_t disconnect[] = {0x82, 0x82, 0, 0, 0, 0, 0xe0, 0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bytes b = {0}, mqtt = connect_packet(4, 1);
		struct peer c;
		uint32_t at;

		begin(BP_POLICY_FAIL_OPEN, 0);
		c = open_peer();
		c.broker_port = WS_PORT;
		rig_handshake(&rig, &c);
		ws_request(&b, "");
		rig_send_bytes(&rig, &c, CLIENT, &b);
		ws_response(&b, "");
		rig_send_bytes(&rig, &c, BROKER, &b);
		ws_message(&b, CLIENT, &mqtt);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_connack(&mqtt, 4, 0, 0, NULL);
		ws_message(&b, BROKER, &mqtt);
		rig_send_bytes(&rig, &c, BROKER, &b);
		if (i == 1) { /* a message of which a fragment is missing */
			ws_frame(&b, CLIENT, WS_BINARY, "\xc0\0", 2);
			rig_send_bytes(&rig, &c, CLIENT, &b);
		}
		refuse_wills();
		if (i == 1) {
			rig_ack(&rig, &c, BROKER);
			assert_int_equal(broker.fins + broker.resets, 0);
			ws_frame(&b, CLIENT, WS_FIN, "\xc0\0", 2);
			rig_send_bytes(&rig, &c, CLIENT, &b);
		}
		at = received(&broker);
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(received(&broker), at + sizeof(disconnect));
		assert_memory_equal(broker.byte + at, disconnect, sizeof(disconnect));
		assert_int_equal(broker.fins, 1);
		assert_int_equal(broker.resets, 0);
		rig_close(&rig);
	}
}

/* on_reload: leave. A refused packet ends the connection, and the will with it. */
static void ends_by_a_refused_packet(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	begin(BP_POLICY_FAIL_OPEN, 0);
	c = with_will(4, 1);
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_LEAVE;
	refuse_wills();
	publish(&c, 4, "t/x");
	at = received(&broker);
	assert_int_equal(broker.fins, 0);
	publish(&c, 4, "t/secret");
	assert_discarded(at);
	rig_close(&rig);
}

/* on_reload: leave. The client ends the connection in another way than with a DISCONNECT. */
static struct peer left_with_will(uint8_t version)
{
	struct peer c;

	begin(BP_POLICY_FAIL_OPEN, 0);
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_LEAVE;
	load();
	c = with_will(version, 1);
	refuse_wills();
	publish(&c, version, "t/x");
	return c;
}

static void client_closes(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		const bool reset = k & 1, acknowledged = k & 2;
		const uint8_t version = k & 4 ? 5 : 4;
		struct peer c = left_with_will(version);
		const uint32_t at = received(&broker);

		if (acknowledged)
			rig_ack(&rig, &c, BROKER);
		rig_segment(&rig, &c, CLIENT, reset ? TH_RST : TH_ACK | TH_FIN, c.seq[CLIENT],
			reset ? 0 : c.seq[BROKER], NULL, 0);
		if (!reset && !acknowledged) { /* it comes again */
			assert_int_equal(received(&broker), at);
			assert_int_equal(broker.fins + client.fins, 0);
			rig_ack(&rig, &c, BROKER);
			rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER],
				NULL, 0);
		}
		assert_discarded(at);
		assert_int_equal(client.resets + client.fins, !reset);
		rig_close(&rig);
	}
}

/* Reason code 4 of MQTT 5.0: with the will. */
static void disconnect_with_will(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	c = left_with_will(5);
	at = received(&broker);
	rig_send(&rig, &c, CLIENT, "\xe0\1\4", 3);
	assert_discarded(at);
	rig_close(&rig);
}

/* What no DISCONNECT can prevent: each is counted. */
static void broker_publishes(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		struct peer c = left_with_will(4);

		rig_ack(&rig, &c, BROKER);
		switch (how) {
		case 0: /* keep-alive timeout, or takeover by another connection */
			rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT],
				NULL, 0);
			break;
		case 1:
			rig_segment(&rig, &c, BROKER, TH_ACK | TH_RST, c.seq[BROKER], c.seq[CLIENT],
				NULL, 0);
			break;
		case 2: /* within a packet */
			rig_send(&rig, &c, CLIENT, "\x30\x40\0\3t/x", 7);
			rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
			break;
		case 3:
			rig_send(&rig, &c, CLIENT, "\x30\x40\0\3t/x", 7);
			rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER],
				NULL, 0);
			break;
		case 4: /* with data */
			rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER],
				"\xc0\0", 2);
			break;
		case 5: /* on_reload: close, and the keep-alive timeout before another segment */
			rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
			reload();
			rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT],
				NULL, 0);
			break;
		}
		if (rig_count(&rig, BP_C_POLICY_WILL_LEFT) != 1 ||
			rig_count(&rig, BP_C_WILL_DISCARDED) != 0)
			fail_msg("case %u", how);
		rig_close(&rig);
	}
}

/* An allowed will is left to the broker. */
static void client_closes_with_an_allowed_will(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_FAIL_CLOSED, 0);
	c = with_will(4, 1);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	assert_int_equal(broker.fins, 1);
	assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_WILL_LEFT), 0);
	rig_close(&rig);
}

/* ---- wills of which nothing is kept ---- */

enum lost { NO_MEMORY, DAMAGED, BY_SEARCH, MIDSTREAM, LOST };

static struct peer lose(enum lost how, uint8_t fail)
{
	struct bytes b = connect_packet(4, 1);
	struct peer c;

	/* enough for the bytes that were judged */
	begin(fail, how == NO_MEMORY ? 6000 : 0);
	if (how == NO_MEMORY || how == DAMAGED) {
		c = with_will(4, how == NO_MEMORY ? 3000 : 1);
		assert_int_equal(rig_count(&rig, BP_C_WILL_NO_MEMORY), how == NO_MEMORY);
	} else {
		/* before there is a policy */
		rig.mqtt.policy.given = false;
		load();
		c = open_peer();
		if (how == BY_SEARCH) {
			rig_send(&rig, &c, CLIENT, b.p, b.n);
			rig_accept(&rig, &c, 4);
		} else {
			c.seq[CLIENT]++;
			c.seq[BROKER]++;
		}
		for (unsigned i = 0; i < 4; i++) {
			rig_publish_text(&rig, &c, "t/x", "1");
			rig_send(&rig, &c, CLIENT, "\xc0\0", 2);
			rig_send(&rig, &c, BROKER, "\xd0\0", 2);
			rig_ack(&rig, &c, CLIENT);
		}
		rig.mqtt.policy.given = true;
	}
	if (how == DAMAGED) {
		for (uint64_t i = 0; i < (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i++)
			if (rig.in->table.flow[i].will != 0)
				rig.in->table.flow[i].will ^= 0x40000000;
		rig_restart(&rig);
	}
	bytes_free(&b);
	return c;
}

static void nothing_kept(void **state)
{
	(void)state;
	for (unsigned how = 0; how < LOST; how++) {
		for (unsigned closed = 0; closed < 2; closed++) {
			struct peer c =
				lose(how, closed ? BP_POLICY_FAIL_CLOSED : BP_POLICY_FAIL_OPEN);

			refuse_wills();
			rig_ack(&rig, &c, BROKER);
			/* the broker is between two packets, so that it discards the will */
			if (broker.fins != closed || broker.resets != 0)
				fail_msg("%u, closed %u: %u fins", how, closed, broker.fins);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), closed);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), closed);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), !closed);
			rig_close(&rig);
		}
	}
}

/* A policy that refuses no will of this client leaves nothing open. */
static void no_will_is_refused(void **state)
{
	(void)state;
	for (unsigned how = 0; how < MIDSTREAM; how++) {
		struct peer c = lose(how, BP_POLICY_FAIL_CLOSED);
		struct bp_policy_rule_spec *r;

		r = rule(BP_POLICY_ALLOW, BP_POLICY_WILL, "");
		snprintf(r->client, sizeof(r->client), "pump-*");
		rule(BP_POLICY_CLOSE, BP_POLICY_ANY, "t/will");
		reload();
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(broker.fins + broker.resets, 0);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), 0);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discarded),
		cmocka_unit_test(allowed),
		cmocka_unit_test(within_a_packet),
		cmocka_unit_test(packet_without_end),
		cmocka_unit_test(disconnect_is_lost),
		cmocka_unit_test(client_continues),
		cmocka_unit_test(websocket),
		cmocka_unit_test(ends_by_a_refused_packet),
		cmocka_unit_test(client_closes),
		cmocka_unit_test(disconnect_with_will),
		cmocka_unit_test(broker_publishes),
		cmocka_unit_test(client_closes_with_an_allowed_will),
		cmocka_unit_test(nothing_kept),
		cmocka_unit_test(no_will_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
