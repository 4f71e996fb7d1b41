/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MQTT over WebSocket: what is read from any cut of the bytes, what is not inspected and why, and
 * what happens at losses, restarts and the bounds.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/websocket/websocket.h"
#include "rig.h"
#include "services/mqtt/flow.h"
#include "websocket_peer.h"

static struct rig rig;

static void open_with(uint8_t evaluate, uint8_t action)
{
	struct bp_rule_spec rule = rig_rule("r", "t/#", BP_COND_GT, 80);

	rig_defaults(&rig);
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rig.mqtt.evaluate = evaluate;
	rig_open(&rig);
	rule.action = action;
	rig_rules(&rig, &rule, 1);
}

static void open_rig(void)
{
	open_with(BP_EVALUATE_PUBLISHED, BP_ACTION_PUBLISH);
}

static void peer(struct peer *c, uint32_t number)
{
	peer_init(c, false, number, 0xffffff80u, 0xffffffc0u);
	c->broker_port = WS_PORT;
}

static uint64_t not_inspected(void)
{
	uint64_t n = 0;

	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		n += rig_count(&rig, r);
	return n;
}

static void publish(struct bytes *b, const char *value, uint8_t qos, uint16_t id)
{
	mq_publish(
		b, &(struct mq_publish){
			   .version = 4, .topic = "t/a", .payload = value, .qos = qos, .id = id});
}

/* What both ends send, in turn, from the handshake on. */
#define TURNS 6
static struct bytes turn[TURNS];
static unsigned sender_of(unsigned t)
{
	return t % 2 == 0 ? CLIENT : BROKER;
}

/* A publication in one frame; two in one; one in three fragments with a Ping and a Pong between
 * them; a long one; and the end. */
static void make_turns(void)
{
	char large[301];
	struct bytes mqtt = {0};

	ws_request(&turn[0], "Sec-WebSocket-Extensions: permessage-deflate\r\n");
	ws_response(&turn[1], "Sec-WebSocket-Protocol: mqtt\r\n");
	mq_connect(&mqtt, 4, "browser", 0);
	ws_message(&turn[2], CLIENT, &mqtt);
	mq_connack(&mqtt, 4, 0, 0, NULL);
	ws_message(&turn[3], BROKER, &mqtt);
	publish(&mqtt, "81", 0, 0);
	ws_message(&turn[4], CLIENT, &mqtt);
	publish(&mqtt, "82", 0, 0);
	publish(&mqtt, "83", 1, 7);
	ws_message(&turn[4], CLIENT, &mqtt);
	publish(&mqtt, "84", 0, 0);
	ws_frame(&turn[4], CLIENT, WS_BINARY, mqtt.p, 4);
	ws_frame(&turn[4], CLIENT, WS_FIN | WS_PING, "ping", 4);
	ws_frame(&turn[4], CLIENT, 0, NULL, 0);
	ws_frame(&turn[4], CLIENT, 0, mqtt.p + 4, 3);
	ws_frame(&turn[4], CLIENT, WS_FIN | WS_PONG, NULL, 0);
	ws_frame(&turn[4], CLIENT, WS_FIN, mqtt.p + 7, mqtt.n - 7);
	bytes_free(&mqtt);
	snprintf(large, sizeof(large), "%300s", "85");
	publish(&mqtt, large, 0, 0);
	ws_message(&turn[4], CLIENT, &mqtt);
	mq_ack(&mqtt, MQ_PUBACK, 7);
	ws_message(&turn[5], BROKER, &mqtt);
	ws_frame(&turn[5], BROKER, WS_FIN | WS_PONG, "ping", 4);
}
#define VALUES "81 82 83 84 85"

static void free_turns(void)
{
	for (unsigned t = 0; t < TURNS; t++)
		bytes_free(&turn[t]);
}

static void check_all_read(const char *what, size_t cut)
{
	const char *values = rig_told_values(&rig);

	if (strcmp(values, VALUES) != 0 || not_inspected() != 0 ||
		rig_count(&rig, BP_C_CONN_WEBSOCKET) != 1 ||
		rig_count(&rig, BP_C_CONN_ESTABLISHED) != 1 ||
		rig_count(&rig, BP_C_MQTT_PACKETS) != 8)
		fail_msg("%s, cut at %zu: '%s', %lu packets", what, cut, values,
			(unsigned long)rig_count(&rig, BP_C_MQTT_PACKETS));
}

/* Sends turns first to last; those before and after turn `cut_turn` as they are, that one in two
 * segments. `swap`: the second one first. */
static void send_turns(
	struct peer *c, unsigned first, unsigned last, unsigned cut_turn, size_t cut, bool swap)
{
	for (unsigned t = first; t <= last; t++) {
		const unsigned from = sender_of(t);
		const uint32_t seq = c->seq[from];

		if (t != cut_turn) {
			rig_send(&rig, c, from, turn[t].p, turn[t].n);
			continue;
		}
		if (swap)
			rig_segment(&rig, c, from, TH_ACK, seq + (uint32_t)cut, c->seq[!from],
				turn[t].p + cut, turn[t].n - cut);
		rig_send(&rig, c, from, turn[t].p, cut);
		if (swap)
			c->seq[from] = seq + (uint32_t)turn[t].n;
		else
			rig_send(&rig, c, from, turn[t].p + cut, turn[t].n - cut);
	}
}

/* Every turn, cut at every byte, in order and out of order; a process that ends at the cut. */
static void every_split(void **state)
{
	struct peer c;

	(void)state;
	make_turns();
	for (unsigned t = 0; t < TURNS; t++) {
		for (size_t cut = 1; cut < turn[t].n; cut++) {
			for (unsigned how = 0; how < 3; how++) {
				open_rig();
				rig.bursts = cut % 2;
				peer(&c, 1);
				rig_handshake(&rig, &c);
				if (how < 2) {
					send_turns(&c, 0, TURNS - 1, t, cut, how == 1);
				} else {
					send_turns(&c, 0, t - 1 + (t == 0), TURNS, 0, false);
					if (t == 0) { /* the first turn is cut itself */
						rig_close(&rig);
						continue;
					}
					rig_send(&rig, &c, sender_of(t), turn[t].p, cut);
					rig_restart(&rig);
					rig_send(&rig, &c, sender_of(t), turn[t].p + cut,
						turn[t].n - cut);
					send_turns(&c, t + 1, TURNS - 1, TURNS, 0, false);
				}
				check_all_read(how == 0   ? "in order"
					       : how == 1 ? "out of order"
							  : "restart",
					cut);
				rig_close(&rig);
			}
		}
	}
	free_turns();
}

/* Single bytes, with a restart after each. */
static void single_bytes(void **state)
{
	struct peer c;

	(void)state;
	make_turns();
	for (unsigned restarts = 0; restarts < 2; restarts++) {
		open_rig();
		peer(&c, 1);
		rig_handshake(&rig, &c);
		for (unsigned t = 0; t < TURNS; t++) {
			for (size_t i = 0; i < turn[t].n; i++) {
				rig_send(&rig, &c, sender_of(t), turn[t].p + i, 1);
				if (restarts)
					rig_restart(&rig);
			}
		}
		check_all_read("single bytes", restarts);
		rig_close(&rig);
	}
	free_turns();
}

static void upgrade(struct peer *c, uint32_t number)
{
	struct bytes b = {0};

	peer(c, number);
	rig_handshake(&rig, c);
	ws_request(&b, "");
	rig_send_bytes(&rig, c, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&rig, c, BROKER, &b);
}

static void send_message(struct peer *c, unsigned from, struct bytes *mqtt)
{
	struct bytes b = {0};

	ws_message(&b, from, mqtt);
	rig_send_bytes(&rig, c, from, &b);
}

static void connect_by(struct peer *c, uint32_t number)
{
	struct bytes mqtt = {0};

	upgrade(c, number);
	mq_connect(&mqtt, 4, "browser", 0);
	send_message(c, CLIENT, &mqtt);
	mq_connack(&mqtt, 4, 0, 0, NULL);
	send_message(c, BROKER, &mqtt);
}

static void publish_by(struct peer *c, const char *value, uint8_t qos, uint16_t id)
{
	struct bytes mqtt = {0};

	publish(&mqtt, value, qos, id);
	send_message(c, CLIENT, &mqtt);
}

/* Messages, fragments, control frames and segments cut at random, some segments lost and repeated:
 * the same alarms in the same order. */
static void at_random(void **state)
{
	uint64_t s = 42;

	(void)state;
	for (unsigned run = 0; run < 300; run++) {
		struct bytes mqtt = {0}, b = {0};
		struct peer c;
		char want[512] = "";
		const unsigned n = 1 + test_below(&s, 20);
		bool in_message = false;

		open_rig();
		rig.pieces = run % 3 == 0 ? 1 + test_below(&s, 50) : 0;
		connect_by(&c, run);
		for (unsigned i = 0; i < n; i++) {
			char value[400], number[16];

			snprintf(number, sizeof(number), "%u", 81 + test_below(&s, 900));
			snprintf(value, sizeof(value), "%*s", 3 + (int)test_below(&s, 300), number);
			publish(&mqtt, value, 0, 0);
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s",
				i ? " " : "", number);
		}
		for (size_t at = 0; at < mqtt.n;) {
			size_t len = 1 + test_below(&s, run % 2 ? 20 : 700);
			bool fin = test_below(&s, 2);

			if (at + len >= mqtt.n) {
				len = mqtt.n - at;
				fin = true;
			}
			if (test_below(&s, 4) == 0)
				ws_frame(&b, CLIENT, WS_FIN | WS_PING, "x", test_below(&s, 2));
			ws_frame(&b, CLIENT,
				(uint8_t)((fin ? WS_FIN : 0) | (in_message ? 0 : WS_BINARY)),
				mqtt.p + at, len);
			in_message = !fin;
			at += len;
		}
		for (size_t at = 0; at < b.n;) {
			size_t len = 1 + test_below(&s, 300);
			const uint32_t seq = c.seq[CLIENT];

			if (at + len > b.n)
				len = b.n - at;
			if (test_below(&s, 3) == 0 && at + len < b.n) /* the next one overtakes */
				rig_segment(&rig, &c, CLIENT, TH_ACK, seq + (uint32_t)len,
					c.seq[BROKER], b.p + at + len, 1);
			if (test_below(&s, 3) == 0) /* sent again with more */
				rig_segment(&rig, &c, CLIENT, TH_ACK, seq, c.seq[BROKER], b.p + at,
					(len + 1) / 2);
			rig_send(&rig, &c, CLIENT, b.p + at, len);
			at += len;
		}
		bytes_free(&b);
		bytes_free(&mqtt);
		assert_string_equal(rig_told_values(&rig), want);
		assert_int_equal(not_inspected(), 0);
		rig_close(&rig);
	}
}

/* ---- not inspected ---- */

struct refusal {
	const char *what;
	bp_counter_t reason;
	unsigned from;
	size_t n;
	uint8_t bytes[16];
};

static const struct refusal refusals[] = {
	{"a client without mask", BP_C_NOT_INSPECTED_WEBSOCKET_FRAME, CLIENT, 4,
		{0x82, 2, 0xc0, 0}},
	{"a broker with a mask", BP_C_NOT_INSPECTED_WEBSOCKET_FRAME, BROKER, 8,
		{0x82, 0x82, 0, 0, 0, 0, 0xd0, 0}},
	{"a length that is too long", BP_C_NOT_INSPECTED_WEBSOCKET_FRAME, BROKER, 6,
		{0x82, 126, 0, 2, 0xd0, 0}},
	{"compression", BP_C_NOT_INSPECTED_WEBSOCKET_EXTENSION, CLIENT, 2, {0xc2, 0x80}},
	{"text", BP_C_NOT_INSPECTED_WEBSOCKET_TEXT, CLIENT, 2, {0x81, 0x80}},
	{"a continuation of nothing", BP_C_NOT_INSPECTED_WEBSOCKET_FRAME, CLIENT, 2, {0x80, 0x80}},
	{"an unknown opcode", BP_C_NOT_INSPECTED_WEBSOCKET_FRAME, BROKER, 2, {0x87, 0}},
	{"MQTT that is none", BP_C_NOT_INSPECTED_TYPE, BROKER, 4, {0x82, 2, 0xc0, 0}},
};

static void refused_frames(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct peer c;

		open_rig();
		connect_by(&c, 1);
		publish_by(&c, "81", 0, 0);
		rig_send(&rig, &c, refusals[i].from, refusals[i].bytes, refusals[i].n);
		publish_by(&c, "82", 0, 0);
		assert_string_equal(rig_told_values(&rig), "81");
		if (rig_count(&rig, refusals[i].reason) != 1 || not_inspected() != 1)
			fail_msg("%s: another reason", refusals[i].what);
		rig_close(&rig);
	}
}

static void refused_upgrade(
	const char *request, const char *response, bp_counter_t reason, const char *what)
{
	struct peer c;

	open_rig();
	peer(&c, 1);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, request, strlen(request));
	rig_send(&rig, &c, BROKER, response, strlen(response));
	publish_by(&c, "81", 0, 0);
	assert_string_equal(rig_told_values(&rig), "");
	if (rig_count(&rig, reason) != 1 || not_inspected() != 1 ||
		rig_count(&rig, BP_C_CONN_WEBSOCKET) != 0)
		fail_msg("%s: another reason", what);
	rig_close(&rig);
}

static char *text_of(void (*make)(struct bytes *b, const char *more), const char *more)
{
	struct bytes b = {0};

	make(&b, more);
	bytes_u8(&b, 0);
	return (char *)b.p;
}

static void refused_upgrades(void **state)
{
	const bp_counter_t upgraded = BP_C_NOT_INSPECTED_WEBSOCKET_UPGRADE;
	char *request = text_of(ws_request, ""), *response = text_of(ws_response, ""),
	     *deflate = text_of(ws_response, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
	     *chat = text_of(ws_response, "Sec-WebSocket-Protocol: chat\r\n");

	(void)state;
	refused_upgrade("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", upgraded, "a page");
	refused_upgrade(request, "HTTP/1.1 404 Not Found\r\n\r\n", upgraded, "404");
	refused_upgrade("", response, upgraded, "a response to nothing");
	refused_upgrade("GET /mq", response, upgraded, "a response to a part of a request");
	refused_upgrade(request, chat, upgraded, "another protocol");
	refused_upgrade(request, deflate, BP_C_NOT_INSPECTED_WEBSOCKET_EXTENSION, "deflate");
	free(request);
	free(response);
	free(deflate);
	free(chat);
}

/* A head has at most BP_WS_HEAD_MAX bytes, in one segment or several. */
static void long_heads(void **state)
{
	static char name[BP_WS_HEAD_MAX + 1];

	(void)state;
	for (size_t n = BP_WS_HEAD_MAX - 2; n <= BP_WS_HEAD_MAX + 1; n++) {
		const size_t step = n % 2 ? 997 : 1460 * 8;
		struct bytes b = {0};
		struct peer c;

		open_rig();
		peer(&c, 1);
		rig_handshake(&rig, &c);
		ws_request(&b, "");
		memset(name, 'x', sizeof(name));
		memcpy(name, "X: ", 3);
		snprintf(name + n - b.n - 2, 3, "\r\n");
		bytes_free(&b);
		ws_request(&b, name);
		assert_int_equal(b.n, n);
		for (size_t at = 0; at < b.n; at += step)
			rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < step ? b.n - at : step);
		bytes_free(&b);
		ws_response(&b, "");
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_CONN_WEBSOCKET), n <= BP_WS_HEAD_MAX);
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WEBSOCKET_UPGRADE),
			!rig_count(&rig, BP_C_CONN_WEBSOCKET));
		rig_close(&rig);
	}
}

/* Mid-stream, nothing is read; the next connection is. */
static void midstream(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer(&c, 1);
	publish_by(&c, "81", 0, 0);
	publish_by(&c, "82", 0, 0);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM), 1);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_WINDOW), 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT], "\x82\x02\xd0", 4);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_WINDOW), 0);
	connect_by(&c, 1);
	rig_advance(&rig, 1);
	publish_by(&c, "83", 0, 0);
	assert_string_equal(rig_told_values(&rig), "83");
	assert_int_equal(not_inspected(), 1);
	rig_close(&rig);
}

/* Bytes that were acknowledged and not seen: inside of a frame and a packet the end of both is
 * known, otherwise nothing is. */
static void lost_bytes(void **state)
{
	static const struct {
		const char *what;
		size_t from, to;
		bool ends;
	} lost[] = {
		{"inside of the payload", 30, 200, false},
		{"to the end of the frame", 30, 0, false},
		{"the header", 3, 5, true},
		{"beyond the frame", 100, 309, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		struct bytes mqtt = {0}, b = {0};
		char large[281];
		struct peer c;
		uint32_t seq;
		size_t to;

		open_rig();
		connect_by(&c, 1);
		snprintf(large, sizeof(large), "%280s", "81");
		mq_publish(&mqtt,
			&(struct mq_publish){.version = 4, .topic = "other", .payload = large});
		ws_message(&b, CLIENT, &mqtt);
		to = lost[i].to != 0 ? lost[i].to : b.n;
		publish(&mqtt, "82", 0, 0);
		ws_message(&b, CLIENT, &mqtt);
		seq = c.seq[CLIENT];
		rig_send(&rig, &c, CLIENT, b.p, lost[i].from);
		c.seq[CLIENT] = seq + (uint32_t)to;
		rig_ack(&rig, &c, BROKER);
		rig_send(&rig, &c, CLIENT, b.p + to, b.n - to);
		bytes_free(&b);
		publish_by(&c, "83", 0, 0);
		if (strcmp(rig_told_values(&rig), lost[i].ends ? "" : "82 83") != 0 ||
			rig_count(&rig, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM) != lost[i].ends)
			fail_msg("%s", lost[i].what);
		rig_close(&rig);
	}
}

/* The header of a frame within a packet is lost: the end of the packet alone does not help. */
static void lost_header_in_a_packet(void **state)
{
	struct bytes mqtt = {0}, b = {0};
	char large[281];
	struct peer c;

	(void)state;
	open_rig();
	connect_by(&c, 1);
	snprintf(large, sizeof(large), "%280s", "81");
	mq_publish(&mqtt, &(struct mq_publish){.version = 4, .topic = "other", .payload = large});
	ws_frame(&b, CLIENT, WS_BINARY, mqtt.p, 100);
	ws_frame(&b, CLIENT, WS_FIN, mqtt.p + 100, mqtt.n - 100);
	bytes_free(&mqtt);
	rig_send(&rig, &c, CLIENT, b.p, 50);
	c.seq[CLIENT] += 100;
	rig_ack(&rig, &c, BROKER);
	rig_send(&rig, &c, CLIENT, b.p + 150, b.n - 150);
	bytes_free(&b);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM), 1);
	rig_close(&rig);
}

/* ---- the rest of inspection ---- */

/* Sent without waiting for the response: read when it has come. */
static void early_frames(void **state)
{
	struct bytes b = {0}, mqtt = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer(&c, 1);
	rig_handshake(&rig, &c);
	ws_request(&b, "");
	mq_connect(&mqtt, 4, "eager", 0);
	ws_message(&b, CLIENT, &mqtt);
	publish(&mqtt, "81", 0, 0);
	ws_message(&b, CLIENT, &mqtt);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PACKETS), 0);
	ws_response(&b, "");
	mq_connack(&mqtt, 4, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PACKETS), 1);
	ws_message(&b, BROKER, &mqtt);
	assert_string_equal(rig_told_values(&rig), "");
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_string_equal(rig_told_values(&rig), "81");
	rig_close(&rig);
}

static void acknowledged(void **state)
{
	struct bytes mqtt = {0};
	struct peer c;

	(void)state;
	open_with(BP_EVALUATE_ACKNOWLEDGED, BP_ACTION_PUBLISH);
	connect_by(&c, 1);
	publish_by(&c, "81", 1, 5);
	assert_string_equal(rig_told_values(&rig), "");
	mq_ack(&mqtt, MQ_PUBACK, 5);
	send_message(&c, BROKER, &mqtt);
	assert_string_equal(rig_told_values(&rig), "81");
	rig_close(&rig);
}

static bool mirror_called(void *arg, const struct bp_mirror_request *r)
{
	(void)r;
	++*(unsigned *)arg;
	return true;
}

static void mirror(void **state)
{
	unsigned called = 0;
	struct peer c;

	(void)state;
	open_with(BP_EVALUATE_PUBLISHED, BP_ACTION_MIRROR);
	bp_mqtt_worker_set_mirror(rig.in, mirror_called, &called);
	connect_by(&c, 1);
	publish_by(&c, "81", 0, 0);
	assert_int_equal(called, 0);
	assert_int_equal(rig_count(&rig, BP_C_MIRROR_WEBSOCKET), 1);
	rig_close(&rig);
}

/* MQTT without WebSocket on the same port, as a broker with both has it: by each path. */
static void plain(void **state)
{
	(void)state;
	for (unsigned bursts = 0; bursts < 2; bursts++) {
		struct peer c;

		open_rig();
		rig.bursts = bursts;
		peer(&c, 1);
		rig_connect(&rig, &c, 4, "plain");
		for (unsigned i = 0; i < 3; i++)
			rig_publish_text(&rig, &c, "t/a", "81");
		assert_string_equal(rig_told_values(&rig), "81 81 81");
		assert_int_equal(rig_count(&rig, BP_C_CONN_WEBSOCKET), 0);
		assert_int_equal(not_inspected(), 0);
		if (bursts)
			assert_true(rig.n_in_bursts - rig.n_general >= 1);
		rig_close(&rig);
	}
}

/* A Close frame, and a will: what follows is not read, and the end of the connection publishes. */
static void closed(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	connect_by(&c, 1);
	ws_frame(&b, CLIENT, WS_FIN | WS_CLOSE, "\x03\xe8", 2);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	publish_by(&c, "81", 0, 0);
	assert_string_equal(rig_told_values(&rig), "");
	assert_int_equal(rig_count(&rig, BP_C_AFTER_DISCONNECT), 1);
	assert_int_equal(not_inspected(), 0);
	rig_fin_both(&rig, &c);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	/* the next connection of the same addresses */
	connect_by(&c, 1);
	publish_by(&c, "82", 0, 0);
	assert_string_equal(rig_told_values(&rig), "82");
	rig_close(&rig);
}

/* A frame without payload is charged as a packet is, also before the CONNECT. */
static void empty_frames_are_charged(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint64_t before;

	(void)state;
	open_rig();
	upgrade(&c, 1);
	for (unsigned i = 0; i < 200; i++)
		ws_frame(&b, CLIENT, WS_FIN | WS_PONG, NULL, 0);
	before = bp_mqtt_worker_work(rig.in);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_true(bp_mqtt_worker_work(rig.in) - before >= 200 * 12);
	rig_close(&rig);
}

/* A search in a flow that has none, as flipped bits make it: the flow is not adopted. */
static void damaged_search(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bp_flow *f;
		struct peer c;
		uint64_t n;

		open_rig();
		connect_by(&c, 1);
		f = (struct bp_flow *)(uintptr_t)bp_flows_of(
			rig.shm.flows, rig.shm.flows_len, 1, 0, &n);
		while (f->proof == 0)
			f++;
		f->pending = i == 0   ? BP_FLOW_PUSHED(0)
			     : i == 1 ? BP_FLOW_PUSHES(1)
			     : i == 2 ? BP_FLOW_PUSHED(1)
				      : 0;
		if (i == 3)
			f->stream[1] = BP_STREAM_RESYNC;
		rig_restart(&rig);
		assert_int_equal(rig_count(&rig, BP_C_CONN_NOT_ADOPTED), 1);
		publish_by(&c, "81", 0, 0);
		assert_string_equal(rig_told_values(&rig), "");
		rig_close(&rig);
	}
}

/* Likewise a place of judged bytes whose header has more bytes than a header can have. */
static void damaged_place(void **state)
{
	(void)state;
	for (unsigned damaged = 0; damaged < 2; damaged++) {
		struct bp_flow *f;
		struct peer c;
		uint64_t n;

		open_rig();
		connect_by(&c, 1);
		f = (struct bp_flow *)(uintptr_t)bp_flows_of(
			rig.shm.flows, rig.shm.flows_len, 1, 0, &n);
		while (f->proof == 0)
			f++;
		if (damaged)
			f->websocket.judged.have = 200;
		rig_restart(&rig);
		assert_int_equal(rig_count(&rig, BP_C_CONN_NOT_ADOPTED), damaged);
		publish_by(&c, "81", 0, 0);
		assert_string_equal(rig_told_values(&rig), damaged ? "" : "81");
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(single_bytes),
		cmocka_unit_test(at_random),
		cmocka_unit_test(refused_frames),
		cmocka_unit_test(refused_upgrades),
		cmocka_unit_test(long_heads),
		cmocka_unit_test(midstream),
		cmocka_unit_test(lost_bytes),
		cmocka_unit_test(lost_header_in_a_packet),
		cmocka_unit_test(early_frames),
		cmocka_unit_test(acknowledged),
		cmocka_unit_test(mirror),
		cmocka_unit_test(plain),
		cmocka_unit_test(closed),
		cmocka_unit_test(empty_frames_are_charged),
		cmocka_unit_test(damaged_search),
		cmocka_unit_test(damaged_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
