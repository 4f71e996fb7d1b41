/* SPDX-License-Identifier: BSD-3-Clause */
/* Action blank in a WebSocket: what is overwritten has the mask of its frame. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "policy_ends.h"
#include "websocket_peer.h"

#define SECRET "t/secret" /* the refused topic, in the filter of the alarm */
#define BLANKED "$refused"

/* `packet`: of the rule that refuses `topic`. */
static void open_websocket(uint8_t packet, const char *topic)
{
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig_close(&rig);
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rule(BP_POLICY_BLANK, packet, topic);
	rig_open(&rig);
	load();
}

static struct peer connected_websocket(uint8_t packet, const char *topic, uint8_t version)
{
	struct bytes b = {0}, mqtt = {0};
	struct peer c;

	open_websocket(packet, topic);
	c = open_peer();
	c.broker_port = WS_PORT;
	rig_handshake(&rig, &c);
	ws_request(&b, "");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&rig, &c, BROKER, &b);
	mq_connect(&mqtt, version, "pump-1", 0);
	ws_message(&b, CLIENT, &mqtt);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_connack(&mqtt, version, 0, 0, NULL);
	ws_message(&b, BROKER, &mqtt);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	return c;
}

static struct bytes message(const struct mq_publish *p)
{
	struct bytes b = {0}, mqtt = {0};

	mq_publish(&mqtt, p);
	ws_message(&b, CLIENT, &mqtt);
	return b;
}

static void assert_received(const struct end *e, uint32_t at, const struct bytes *b)
{
	assert_int_equal(received(e), at + b->n);
	assert_memory_equal(e->byte + at, b->p, b->n);
}

/* As TCP sends: up to byte `to` of `b`, from the first byte on that the broker has not received. */
static void send_up_to(struct peer *c, uint32_t at, const struct bytes *b, size_t to)
{
	const uint32_t has = received(&broker) - at;

	if (has < to)
		rig_segment(&rig, c, CLIENT, TH_ACK | TH_PSH, broker.first + at + has,
			c->seq[BROKER], b->p + has, to - has);
	if ((int32_t)(broker.first + at + (uint32_t)to - c->seq[CLIENT]) > 0)
		c->seq[CLIENT] = broker.first + at + (uint32_t)to;
}

/* The connection lives: another publication reaches the broker and the alarms. */
static void assert_alive(struct peer *c)
{
	const uint32_t at = received(&broker);
	struct bytes b =
		message(&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "82"});

	assert_int_equal(broker.resets + client.resets + client.fins, 0);
	rig_send(&rig, c, CLIENT, b.p, b.n);
	assert_received(&broker, at, &b);
	assert_string_equal(rig_told_values(&rig), "82");
	bytes_free(&b);
}

/* The mask begins at each of its bytes: it depends on the length. */
static void each_length_of_topic(void **state)
{
	struct peer c = connected_websocket(BP_POLICY_ANY, "+", 4);
	char topic[301];

	(void)state;
	for (unsigned n = 2; n <= 300; n++) {
		struct mq_publish p = {
			.version = 4, .topic = topic, .payload = "81", .retain = n % 2};
		const uint32_t at = received(&broker);
		struct bytes b;

		memset(topic, 'x', n);
		topic[n] = '\0';
		b = message(&p);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		memset(topic, '-', n);
		memcpy(topic, BLANKED "/", n < 9 ? n : 9);
		p.retain = false;
		b = message(&p);
		assert_received(&broker, at, &b);
		bytes_free(&b);
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), n - 1);
	}
	assert_alive(&c);
	rig_close(&rig);
}

/* ---- cuts ---- */

/* Whether a cut here leaves bytes that are to be overwritten in two parts. */
static bool divides(size_t cut, size_t packet, size_t topic, bool retain)
{
	return cut > (retain ? packet : topic) && cut < topic + strlen(SECRET);
}

/* A message with two packets, between two others. */
static struct bytes stream(const char *topic, bool retain, size_t *packet)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "1"};
	struct bytes b = message(&p), mqtt = {0};

	mq_publish(&mqtt, &p);
	*packet = b.n + 6 + mqtt.n;
	p.topic = topic;
	p.retain = retain;
	mq_publish(&mqtt, &p);
	ws_message(&b, CLIENT, &mqtt);
	p.topic = "t/x";
	p.retain = false;
	p.payload = "82";
	mq_publish(&mqtt, &p);
	ws_message(&b, CLIENT, &mqtt);
	return b;
}

static void send_cut(bool retain, size_t a, size_t b)
{
	struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
	size_t packet;
	struct bytes sent = stream(SECRET, retain, &packet),
		     expected = stream(BLANKED, false, &packet);
	const bool blank =
		!divides(a, packet, packet + 4, retain) && !divides(b, packet, packet + 4, retain);
	const size_t to[] = {a, b, sent.n};
	const uint32_t at = received(&broker);

	for (size_t i = 0; i < 3; i++)
		send_up_to(&c, at, &sent, to[i]);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), blank);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), !blank);
	if (blank) {
		assert_received(&broker, at, &expected);
		assert_string_equal(rig_told_values(&rig), "82");
	} else {
		assert_true(received(&broker) < at + packet + 4 + strlen(SECRET));
		assert_true(broker.resets >= 1);
	}
	bytes_free(&sent);
	bytes_free(&expected);
	rig_close(&rig);
}

static void any_cut(void **state)
{
	size_t packet;
	struct bytes b = stream(SECRET, false, &packet);

	(void)state;
	for (unsigned retain = 0; retain < 2; retain++)
		for (size_t i = 0; i <= b.n; i++)
			for (size_t k = i; k <= b.n; k += k < i + 3 ? 1 : 13)
				send_cut(retain, i, k);
	bytes_free(&b);
}

/* ---- frames ---- */

/* A packet in two frames, with another one between them. */
static struct bytes fragments(const char *topic, bool retain, size_t cut)
{
	struct bytes b = {0}, mqtt = {0};

	mq_publish(&mqtt, &(struct mq_publish){
				  .version = 4, .topic = topic, .payload = "81", .retain = retain});
	ws_frame(&b, CLIENT, WS_BINARY, mqtt.p, cut);
	ws_frame(&b, CLIENT, WS_FIN | WS_PING, "123", 3);
	ws_frame(&b, CLIENT, WS_FIN, mqtt.p + cut, mqtt.n - cut);
	bytes_free(&mqtt);
	return b;
}

static void any_fragment(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool retain = i & 1;

		for (size_t cut = 1; cut < 4 + strlen(SECRET) + 2; cut++) {
			struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
			struct bytes sent = fragments(SECRET, retain, cut),
				     expected = fragments(BLANKED, false, cut);
			const bool blank = !divides(cut, 0, 4, retain);
			const uint32_t at = received(&broker);
			const size_t half = i & 2 ? cut + 6 : sent.n;

			rig_send(&rig, &c, CLIENT, sent.p, half);
			if (half != sent.n)
				rig_send(&rig, &c, CLIENT, sent.p + half, sent.n - half);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), blank);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), !blank);
			assert_int_equal(broker.resets != 0, !blank);
			if (blank) {
				assert_received(&broker, at, &expected);
				assert_alive(&c);
			}
			bytes_free(&sent);
			bytes_free(&expected);
			rig_close(&rig);
		}
	}
}

/* ---- what brokers read in another way ---- */

/* The broker receives no part of a header without the rest of it. */
static void cut_header(void **state)
{
	static const size_t payload[] = {0, 200, 70000};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const size_t header = i == 0 ? 6 : i == 1 ? 8 : 14;
		char *text = calloc(1, payload[i] + 2);
		struct bytes b;

		memset(text, '8', payload[i] + 1);
		b = message(&(struct mq_publish){.version = 4, .topic = "t/x", .payload = text});
		for (size_t cut = 1; cut < header; cut++) {
			struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
			struct bytes two = message(
				&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1"});
			const uint32_t at = received(&broker);
			const size_t first = two.n;

			bytes_add(&two, b.p, b.n < 300 ? b.n : 300);
			send_up_to(&c, at, &two, first + cut);
			assert_int_equal(received(&broker), at + first);
			if (cut % 2 == 0)
				rig_restart(&rig);
			send_up_to(&c, at, &two, first + header);
			assert_int_equal(received(&broker), at + first + header);
			send_up_to(&c, at, &two, two.n);
			assert_received(&broker, at, &two);
			assert_int_equal(broker.resets + client.resets, 0);
			assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 0);
			bytes_free(&two);
			rig_close(&rig);
		}
		bytes_free(&b);
		free(text);
	}
}

/* A client that never sends the rest together with the beginning: mqtt.policy.fail decides. */
static void header_that_remains_cut(void **state)
{
	(void)state;
	for (unsigned open = 0; open < 2; open++) {
		struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
		struct bytes b = message(
			&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "82"});
		const uint32_t at = received(&broker);

		rig.mqtt.policy.fail = open ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED;
		load();
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(received(&broker), at);
			assert_int_equal(broker.resets + client.resets, 0);
			send_up_to(&c, at, &b, 5);
		}
		assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_OPEN), open);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), !open);
		assert_int_equal(received(&broker), open ? at + 5 : at);
		assert_int_equal(broker.resets, !open);
		if (open) { /* and it is read on */
			send_up_to(&c, at, &b, b.n);
			assert_received(&broker, at, &b);
			assert_string_equal(rig_told_values(&rig), "82");
		}
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* Whether a frame that the client sends between two packets is forwarded. */
static bool passes(uint8_t fail, uint8_t first, size_t n)
{
	struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
	const uint32_t at = received(&broker);
	struct bytes b = {0};
	bool all;

	rig.mqtt.policy.fail = fail;
	load();
	if (first == WS_FIN) /* the end of a message */
		ws_frame(&b, CLIENT, WS_BINARY, "\300\0", 2);
	ws_frame(&b, CLIENT, first, "12345", n);
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	all = received(&broker) == at + b.n;
	assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), !all);
	assert_int_equal(broker.resets, !all);
	if (!all)
		assert_int_equal(received(&broker), at);
	bytes_free(&b);
	rig_close(&rig);
	return all;
}

static void misread_frames(void **state)
{
	static const struct {
		uint8_t first;
		size_t n;
		bool misread;
	} frame[] = {
		{WS_FIN | WS_PONG, 0, false},
		{WS_FIN | WS_PONG, 5, true},
		{WS_FIN | WS_PING, 0, false},
		{WS_FIN | WS_PING, 5, false},
		{WS_FIN | WS_BINARY, 0, true},
		{WS_BINARY, 0, true},
		{WS_FIN, 0, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(frame) / sizeof(frame[0]); i++) {
		assert_true(passes(BP_POLICY_FAIL_OPEN, frame[i].first, frame[i].n));
		assert_int_equal(passes(BP_POLICY_FAIL_CLOSED, frame[i].first, frame[i].n),
			!frame[i].misread);
	}
}

/* Nothing behind a Close frame reaches the broker: in its segment, which is refused as a whole, or
 * in later ones. */
static void behind_close(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct peer c = connected_websocket(BP_POLICY_ANY, SECRET, 4);
		struct bytes b = {0},
			     p = message(&(struct mq_publish){
				     .version = 4, .topic = SECRET, .payload = "81"}),
			     end = {0};
		const uint32_t at = received(&broker);

		ws_frame(&b, CLIENT, 0x88, "", 0);
		if (!(i & 1))
			bytes_add(&end, b.p, b.n);
		if (i & 1) { /* a whole frame, or a part of its header */
			bytes_add(&b, p.p, i & 2 ? p.n : 1);
			rig_send(&rig, &c, CLIENT, b.p, b.n);
		} else {
			rig_send(&rig, &c, CLIENT, b.p, b.n);
			rig_send(&rig, &c, CLIENT, p.p, i & 2 ? p.n : 1);
		}
		if (i & 4)
			rig_send(&rig, &c, CLIENT, p.p, p.n);
		assert_received(&broker, at, &end);
		bytes_free(&b);
		bytes_free(&p);
		bytes_free(&end);
		rig_close(&rig);
	}
}

/* Brokers find the end of a request with such bytes earlier than RFC 9112 has it. */
static void request_with_another_end(void **state)
{
#define START "GET /mqtt HTTP/1.1\r\nUpgrade: web"
#define REQUEST(text, before)                                                                      \
	{                                                                                          \
		text, sizeof(text) - 1, before                                                     \
	}
	static const struct {
		const char *bytes;
		size_t n, before; /* bytes that are forwarded: those of a segment before */
	} request[] = {
		REQUEST("GET /mqtt HTTP/1.1\nUpgrade: websocket\n\n", 0),
		REQUEST(START "socket\n\r\n", 0),
		REQUEST(START "socket\r\n\n", 0),
		REQUEST(START "socket\r\n\r\0Z\n", sizeof(START "socket\r\n\r") - 1),
		REQUEST(START "socket\r\n\rZ", sizeof(START "socket\r\n\r") - 1),
		REQUEST(START "\0socket\r\n", 0),
		REQUEST(START "\rsocket\r\n", 0),
		REQUEST(START "\177socket\r\n", 0),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(request) / sizeof(request[0]); i++) {
		struct bytes frame =
			message(&(struct mq_publish){.version = 4, .topic = SECRET, .payload = ""});
		struct peer c;

		open_websocket(BP_POLICY_PUBLISH, SECRET);
		c = open_peer();
		c.broker_port = WS_PORT;
		rig_handshake(&rig, &c);
		if (request[i].before != 0)
			rig_send(&rig, &c, CLIENT, request[i].bytes, request[i].before);
		rig_send(&rig, &c, CLIENT, request[i].bytes + request[i].before,
			request[i].n - request[i].before);
		rig_send_bytes(&rig, &c, CLIENT, &frame);
		assert_int_equal(received(&broker), request[i].before);
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WEBSOCKET_UPGRADE), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), 1);
		rig_close(&rig);
	}
}

/* What is sent again, also after a restart and with another mask, has the bytes of before. */
static void retransmission(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
		struct mq_publish p = {.version = 4, .topic = SECRET, .payload = "81"};
		struct bytes sent = message(&p), expected;
		const uint32_t at = received(&broker), seq = c.seq[CLIENT];

		p.topic = BLANKED;
		expected = message(&p);
		broker.deaf = true;
		rig_send(&rig, &c, CLIENT, sent.p, sent.n);
		broker.deaf = false;
		if (i & 1)
			rig_restart(&rig);
		for (unsigned k = 0; i & 2 && k < 4; k++)
			sent.p[2 + k] ^= 0x55;
		rig_segment(&rig, &c, CLIENT, TH_ACK, seq, c.seq[BROKER], sent.p, sent.n);
		assert_received(&broker, at, &expected);
		assert_alive(&c);
		bytes_free(&sent);
		bytes_free(&expected);
		rig_close(&rig);
	}
}

static void segment(struct peer *c, uint32_t seq, const struct bytes *b, size_t from, size_t to)
{
	rig_segment(&rig, c, CLIENT, TH_ACK | TH_PSH, seq + (uint32_t)from, c->seq[BROKER],
		b->p + from, to - from);
}

/* Of frames that were read, but not received, the broker gets no part of a header, either. */
static void part_of_a_header_again(void **state)
{
	char text[201] = "82";

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const size_t header = i & 1 ? 8 : 6;
		struct peer c = connected_websocket(BP_POLICY_PUBLISH, SECRET, 4);
		struct bytes one, two, both = {0};
		const uint32_t at = received(&broker), seq = c.seq[CLIENT];

		rig_ack(&rig, &c, BROKER);
		memset(text, ' ', sizeof(text) - 1);
		memcpy(text, "82", 2);
		text[i & 1 ? 200 : 2] = '\0';
		one = message(&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1"});
		two = message(&(struct mq_publish){.version = 4, .topic = "t/x", .payload = text});
		bytes_u8(&both, 'x'); /* acknowledged: what follows is read, and not forwarded */
		bytes_add(&both, one.p, one.n);
		bytes_add(&both, two.p, two.n);
		segment(&c, seq - 1, &both, 0, both.n);
		assert_int_equal(received(&broker), at);
		if (i & 2)
			rig_restart(&rig);
		for (size_t cut = 1; cut < 6; cut++)
			segment(&c, seq, &one, 0, cut);
		assert_int_equal(received(&broker), at);
		for (size_t cut = 0; cut < header; cut++) {
			segment(&c, seq - 1, &both, 1, 1 + one.n + cut);
			assert_int_equal(received(&broker), at + one.n);
			segment(&c, seq + (uint32_t)one.n, &two, 0, cut);
			assert_int_equal(received(&broker), at + one.n);
		}
		if (i & 4) /* up to there */
			rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], seq + (uint32_t)one.n,
				NULL, 0);
		segment(&c, seq + (uint32_t)one.n, &two, 0, 3);
		assert_int_equal(received(&broker), at + one.n);
		segment(&c, seq + (uint32_t)one.n, &two, 0, header);
		assert_int_equal(received(&broker), at + one.n + header);
		segment(&c, seq + (uint32_t)one.n, &two, header, header + 3);
		assert_int_equal(received(&broker), at + one.n + header + 3);
		segment(&c, seq + (uint32_t)one.n, &two, 0, two.n);
		assert_int_equal(received(&broker), at + one.n + two.n);
		assert_memory_equal(broker.byte + at, both.p + 1, both.n - 1);
		c.seq[CLIENT] += (uint32_t)both.n - 1;
		rig_ack(&rig, &c, BROKER);
		rig_told_values(&rig);
		assert_alive(&c);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RESTORED), 0);
		bytes_free(&one);
		bytes_free(&two);
		bytes_free(&both);
		rig_close(&rig);
	}
}

/* ---- subscriptions ---- */

/* The broker's answer, in two frames. */
static struct bytes answer(uint8_t version, const uint8_t codes[2], size_t cut)
{
	struct bytes b = {0}, body = {0}, mqtt = {0};

	bytes_be16(&body, 7);
	if (version == 5)
		bytes_u8(&body, 0);
	bytes_add(&body, codes, 2);
	mq_raw(&mqtt, 0x90, body.p, body.n);
	ws_frame(&b, BROKER, WS_BINARY, mqtt.p, cut);
	ws_frame(&b, BROKER, WS_FIN, mqtt.p + cut, mqtt.n - cut);
	bytes_free(&body);
	bytes_free(&mqtt);
	return b;
}

/* Two filters, of which the second one is `filter`. */
static struct bytes subscribe(uint8_t version, const char *filter)
{
	struct bytes b = {0}, body = {0}, mqtt = {0};

	bytes_add(&body, "\0\7", 2);
	bytes_add(&body, "\0", version == 5);
	bytes_add(&body, "\0\3t/x\0\0\1", 8);
	bytes_add(&body, filter, 1);
	bytes_u8(&body, 0);
	mq_raw(&mqtt, 0x82, body.p, body.n);
	ws_message(&b, CLIENT, &mqtt);
	bytes_free(&body);
	return b;
}

static void assert_subscribes(uint8_t version, size_t cut)
{
	const uint8_t codes[] = {0, 0}, refused[] = {0, version == 5 ? 0x87 : 0x80};
	struct peer c = connected_websocket(BP_POLICY_SUBSCRIBE, SECRET, version);
	const uint32_t to_broker = received(&broker), to_client = received(&client);
	struct bytes sent = subscribe(version, "#"), expected = subscribe(version, "$");

	rig_send_bytes(&rig, &c, CLIENT, &sent);
	assert_received(&broker, to_broker, &expected);
	bytes_free(&expected);
	sent = answer(version, codes, cut);
	expected = answer(version, refused, cut);
	for (size_t i = 0; i < sent.n; i += 3)
		rig_send(&rig, &c, BROKER, sent.p + i, sent.n - i < 3 ? sent.n - i : 3);
	assert_received(&client, to_client, &expected);
	bytes_free(&sent);
	bytes_free(&expected);
	rig_close(&rig);
}

static void subscription(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 5; version++)
		for (size_t cut = 0; cut <= (version == 5 ? 7 : 6); cut++)
			assert_subscribes(version, cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_length_of_topic),
		cmocka_unit_test(any_cut),
		cmocka_unit_test(any_fragment),
		cmocka_unit_test(retransmission),
		cmocka_unit_test(cut_header),
		cmocka_unit_test(header_that_remains_cut),
		cmocka_unit_test(misread_frames),
		cmocka_unit_test(behind_close),
		cmocka_unit_test(request_with_another_end),
		cmocka_unit_test(part_of_a_header_again),
		cmocka_unit_test(subscription),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
