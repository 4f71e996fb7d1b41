/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client or a broker of MQTT over WebSocket that makes its frames as small as RFC 6455 allows:
 * one byte in a frame, fragments without a byte, pings without an end. Work is counted
 * (services/mqtt/work.h): the frames are charged, and in proportion to their bytes.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "services/mqtt/inspect.h"
#include "services/mqtt/work.h"
#include "rig.h"
#include "websocket_peer.h"

#define SEGMENT 1448
#define REASSEMBLY 65536

static struct rig rig;
static struct peer peer;

static void open_rig(void)
{
	struct bp_rule_spec rule = rig_rule("r", "#", BP_COND_GT, 80);
	struct bytes b = {0}, mqtt = {0};

	rig_defaults(&rig);
	rig.mqtt.connection_cpu_percent = 1;
	rig.mqtt.worker_cpu_percent = 1;
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rig.mqtt.directions = BP_DIRECTIONS_BOTH;
	rig.mqtt.reassembly_per_connection = REASSEMBLY;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	peer_init(&peer, false, 1, 1000, 2000);
	peer.broker_port = WS_PORT;
	rig_handshake(&rig, &peer);
	ws_request(&b, "");
	rig_send_bytes(&rig, &peer, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&rig, &peer, BROKER, &b);
	mq_connect(&mqtt, 5, "small", 0);
	ws_message(&b, CLIENT, &mqtt);
	rig_send_bytes(&rig, &peer, CLIENT, &b);
	mq_connack(&mqtt, 5, 0, 0, NULL);
	ws_message(&b, BROKER, &mqtt);
	rig_send_bytes(&rig, &peer, BROKER, &b);
}

/* One segment after the other at one time, so that no account drains. Frees the bytes. */
static void assert_charged(unsigned from, struct bytes *b, uint64_t frames)
{
	const uint64_t before = bp_mqtt_worker_work(rig.in);
	uint64_t work;

	for (size_t at = 0; at < b->n; at += SEGMENT) {
		rig_send(&rig, &peer, from, b->p + at, b->n - at < SEGMENT ? b->n - at : SEGMENT);
		assert_true(bp_mqtt_worker_carried(rig.in) <= 2 * REASSEMBLY);
	}
	work = bp_mqtt_worker_work(rig.in) - before;
	assert_true(work >= frames * BP_WORK_PACKET);
	assert_true(work < 2 * b->n * BP_WORK_PER_BYTE); /* the packet in the frames is work, too */
	bytes_free(b);
}

static void add_publish(struct bytes *mqtt, const char *value)
{
	mq_publish(mqtt, &(struct mq_publish){.version = 5, .topic = "t", .payload = value});
}

/* The next publication in one frame: the position in the stream is still known. */
static void close_rig(unsigned from, const char *values)
{
	struct bytes b = {0}, mqtt = {0};

	add_publish(&mqtt, "99");
	ws_message(&b, from, &mqtt);
	rig_send_bytes(&rig, &peer, from, &b);
	assert_string_equal(rig_told_values(&rig), values);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_CONNECTION_BUDGET), 0);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET), 0);
	rig_close(&rig);
}

static void one_byte_in_a_frame(unsigned from)
{
	enum { PROPERTIES = 8000 };
	struct bytes properties = {0}, mqtt = {0}, b = {0};
	uint64_t frames;

	open_rig();
	for (unsigned i = 0; i < PROPERTIES; i++)
		bytes_add(&properties, "\x26\0\0\0\0", 5);
	mq_publish(&mqtt, &(struct mq_publish){.version = 5,
				  .topic = "t",
				  .properties = properties.p,
				  .properties_len = properties.n,
				  .payload = "81"});
	frames = mqtt.n;
	for (size_t i = 0; i < mqtt.n; i++)
		ws_frame(&b, from, WS_FIN | WS_BINARY, mqtt.p + i, 1);
	assert_charged(from, &b, frames);
	bytes_free(&properties);
	bytes_free(&mqtt);
	close_rig(from, "81 99");
}

static void one_byte_in_a_frame_of_a_client(void **state)
{
	(void)state;
	one_byte_in_a_frame(CLIENT);
}

static void one_byte_in_a_frame_of_a_broker(void **state)
{
	(void)state;
	one_byte_in_a_frame(BROKER);
}

/* A message of many fragments without a byte, before, in and after a publication. */
static void empty_fragments(unsigned from)
{
	enum { EMPTY = 10000 };
	struct bytes mqtt = {0}, b = {0};
	const size_t half = 4;

	open_rig();
	add_publish(&mqtt, "82");
	ws_frame(&b, from, WS_BINARY, NULL, 0);
	for (unsigned part = 0; part < 3; part++) {
		for (unsigned i = 0; i < EMPTY; i++)
			ws_frame(&b, from, 0, NULL, 0);
		if (part < 2)
			ws_frame(&b, from, 0, mqtt.p + part * half,
				part == 0 ? half : mqtt.n - half);
	}
	ws_frame(&b, from, WS_FIN, NULL, 0);
	assert_charged(from, &b, 3 * EMPTY + 4);
	bytes_free(&mqtt);
	close_rig(from, "82 99");
}

static void empty_fragments_of_a_client(void **state)
{
	(void)state;
	empty_fragments(CLIENT);
}

static void empty_fragments_of_a_broker(void **state)
{
	(void)state;
	empty_fragments(BROKER);
}

/* Pings and pongs, with and without a payload, between the bytes of one publication. */
static void pings_without_end(unsigned from)
{
	enum { PINGS = 2000 };
	static const uint8_t payload[125];
	struct bytes mqtt = {0}, b = {0};
	uint64_t frames = 0;

	open_rig();
	add_publish(&mqtt, "83");
	for (size_t at = 0; at < mqtt.n; at++) {
		ws_frame(&b, from, (at + 1 == mqtt.n ? WS_FIN : 0) | (at == 0 ? WS_BINARY : 0),
			mqtt.p + at, 1);
		for (unsigned i = 0; i < PINGS; i++)
			ws_frame(&b, from, WS_FIN | (i % 2 == 0 ? WS_PING : WS_PONG), payload,
				i % 10 == 0 ? sizeof(payload) : 0);
		frames += PINGS + 1;
	}
	assert_charged(from, &b, frames);
	bytes_free(&mqtt);
	close_rig(from, "83 99");
}

static void pings_without_end_of_a_client(void **state)
{
	(void)state;
	pings_without_end(CLIENT);
}

static void pings_without_end_of_a_broker(void **state)
{
	(void)state;
	pings_without_end(BROKER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_byte_in_a_frame_of_a_client),
		cmocka_unit_test(one_byte_in_a_frame_of_a_broker),
		cmocka_unit_test(empty_fragments_of_a_client),
		cmocka_unit_test(empty_fragments_of_a_broker),
		cmocka_unit_test(pings_without_end_of_a_client),
		cmocka_unit_test(pings_without_end_of_a_broker),
	};

	return cmocka_run_group_tests_name("small frames", tests, NULL, NULL);
}
