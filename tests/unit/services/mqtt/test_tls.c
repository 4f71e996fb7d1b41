/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections with TLS: not inspected, and shown with the names that their ends say. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "proto/tls/tls.h"
#include "rig.h"
#include "services/mqtt/flow_show.h"
#include "shm/events/event_ring.h"
#include "tests/unit/proto/tls/hellos.h"
#include "websocket_peer.h"

#define SECOND 1000000000ull

static struct rig rig;
static struct bp_event_cursor cursor;

static void open_rig(void)
{
	struct bp_event_ring r;

	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 64;
	rig.mqtt.n_websocket_ports = 1;
	rig.mqtt.websocket_ports[0] = WS_PORT;
	rig_open(&rig);
	r = bp_shm_events(&rig.shm, 0);
	bp_event_cursor_open(&cursor, r.slot, sizeof(*r.slot), r.size, 0);
}

struct shown {
	struct bp_flow_view view;
	struct bp_tls_info names;
	bool has_names;
};

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct shown *s = arg;

	s->view = *v;
	s->has_names = bp_flow_tls(
		v, rig.shm.reassembly, rig.shm.reassembly_len, rig.shm.workers, &s->names);
	return 1;
}

static struct shown shown(void)
{
	struct shown s = {0};

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, visit, &s), 1);
	return s;
}

static void text_is(const struct bp_tls_info *names, enum bp_tls_name which, const char *want)
{
	assert_int_equal(names->text[which].len, strlen(want));
	assert_memory_equal(names->text[which].bytes, want, strlen(want));
}

static void check(const char *subject, const char *names)
{
	const struct shown s = shown();

	assert_string_equal(s.view.transport, "tls");
	assert_string_equal(s.view.not_inspected_reason, "not_inspected_tls");
	assert_true(s.has_names);
	text_is(&s.names, BP_TLS_SERVER_NAME, "mqtt.plant.example");
	text_is(&s.names, BP_TLS_ALPN, "mqtt,x-amzn-mqtt-ca");
	text_is(&s.names, BP_TLS_SUBJECT, subject);
	text_is(&s.names, BP_TLS_NAMES, names);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TLS), 1);
}

static void check_1_2(void)
{
	check("broker.plant.example", "broker.plant.example,mqtt.plant.example");
}

/* Both hellos of TLS 1.2, each cut at every byte; with a restart of the process at the cut. */
static void every_split(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < sizeof(tls_server12); cut++) {
		for (unsigned restart = 0; restart < 2; restart++) {
			const size_t client =
				cut < sizeof(tls_client12) ? cut : sizeof(tls_client12) - 1;
			struct peer c;

			open_rig();
			peer_init(&c, false, 1, 0xffffffa0, 0xffffff10);
			if (cut % 2) /* WebSocket over TLS */
				c.broker_port = WS_PORT;
			rig_handshake(&rig, &c);
			rig_send(&rig, &c, CLIENT, tls_client12, client);
			if (restart)
				rig_restart(&rig);
			rig_send(&rig, &c, CLIENT, tls_client12 + client,
				sizeof(tls_client12) - client);
			rig_send(&rig, &c, BROKER, tls_server12, cut);
			if (restart)
				rig_restart(&rig);
			rig_send(&rig, &c, BROKER, tls_server12 + cut, sizeof(tls_server12) - cut);
			check_1_2();
			if (restart) {
				rig_restart(&rig);
				check_1_2();
			}
			rig_close(&rig);
		}
	}
}

static void single_bytes(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	for (size_t i = 0; i < sizeof(tls_client12); i++)
		rig_send(&rig, &c, CLIENT, tls_client12 + i, 1);
	for (size_t i = 0; i < sizeof(tls_server12); i++)
		rig_send(&rig, &c, BROKER, tls_server12 + i, 1);
	check_1_2();
	rig_close(&rig);
}

static struct bp_event event(void)
{
	struct bp_event e, other;
	uint64_t lost;

	assert_int_equal(bp_event_cursor_read(&cursor, &e, &lost), BP_EVENT_GOT_RECORD);
	assert_int_not_equal(bp_event_cursor_read(&cursor, &other, &lost), BP_EVENT_GOT_RECORD);
	return e;
}

/* One event, when the names are known. */
static void an_event_has_the_names(void **state)
{
	struct bp_event e;
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, tls_client12, sizeof(tls_client12));
	rig_send(&rig, &c, BROKER, tls_server12, sizeof(tls_server12));
	e = event();
	assert_int_equal(e.action, BP_EVENT_CONNECTION_NOT_INSPECTED);
	assert_int_equal(e.reason,
		BP_EVENT_UNREAD_COUNTER + BP_C_NOT_INSPECTED_TLS - BP_C_NOT_INSPECTED_NOT_MQTT);
	assert_true(e.flags & BP_EVENT_F_TLS);
	assert_int_equal(e.text_len[0], 18);
	assert_int_equal(e.number[1], 19);
	assert_int_equal(e.text_len[1], 19 + 20);
	assert_memory_equal(
		e.text, "mqtt.plant.examplemqtt,x-amzn-mqtt-cabroker.plant.example", 57);
	rig_close(&rig);
}

/* What ends the reading before a certificate: TLS 1.3, more of the client, and the end. */
static void without_certificate(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 5; how++) {
		struct peer c;

		open_rig();
		peer_init(&c, false, 1, 1, 2);
		rig_handshake(&rig, &c);
		rig_send(&rig, &c, CLIENT, tls_client13, sizeof(tls_client13));
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TLS), 0);
		if (how == 0)
			rig_send(&rig, &c, BROKER, tls_server13, sizeof(tls_server13));
		else if (how == 1)
			rig_send(&rig, &c, CLIENT, "\x17\x03\x03\x00\x01x", 6);
		else if (how == 2)
			rig_send(&rig, &c, BROKER, "no TLS", 6);
		else if (how == 3) /* lost bytes of the broker */
			c.seq[BROKER] += 100;
		else
			rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT]++,
				c.seq[BROKER], NULL, 0);
		if (how == 3) {
			rig_ack(&rig, &c, CLIENT);
			rig_send(&rig, &c, BROKER, "x", 1);
		}
		check("", "");
		rig_close(&rig);
	}
}

/* The server speaks first, or within the hello of the client; and the first byte of TLS alone. */
static void no_hello(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, tls_client12, 100);
	rig_send(&rig, &c, BROKER, "\x15\x03\x01\x00\x02\x02\x46", 7);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TLS), 1);
	assert_false(shown().has_names);
	rig_close(&rig);

	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "\x16", 1);
	rig_send(&rig, &c, CLIENT, "\x02\x00\x00", 3);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TLS), 0);
	assert_string_equal(shown().view.to_broker, "not_inspected");
	rig_close(&rig);
}

/* More than is read of either end, in records that never complete a message. */
static void endless_hello(void **state)
{
	static const uint8_t record[] = {22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff};

	(void)state;
	for (unsigned from = 0; from < 2; from++) {
		struct peer c;
		size_t sent = 0;

		open_rig();
		peer_init(&c, false, 1, 1, 2);
		rig_handshake(&rig, &c);
		if (from == BROKER)
			rig_send(&rig, &c, CLIENT, tls_client12, sizeof(tls_client12));
		while (rig_count(&rig, BP_C_NOT_INSPECTED_TLS) == 0) {
			rig_send(&rig, &c, from, record, sizeof(record));
			sent += sizeof(record);
			assert_true(sent <= BP_TLS_BYTES_MAX + sizeof(record));
		}
		assert_true(sent >= BP_TLS_BYTES_MAX);
		rig_close(&rig);
	}
}

/* Records of one byte are read again for each of them, which is charged; over the budget, reading
 * ends. */
static void small_records_are_charged(void **state)
{
	struct peer c;
	unsigned n = 0;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.connection_cpu_percent = rig.mqtt.worker_cpu_percent = 1;
	rig_open(&rig);
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "\x16\x03\x01\x00\x04\x01\x00\xff\xff", 9);
	while (rig_count(&rig, BP_C_NOT_INSPECTED_TLS) == 0) {
		rig_send(&rig, &c, CLIENT, "\x16\x03\x01\x00\x01x", 6);
		n++;
	}
	assert_true(n < BP_TLS_BYTES_MAX / 6 / 2);
	rig_close(&rig);
}

/* Idle for longer than a handshake may take, it is still shown with its reason and names. */
static void rests(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, tls_client12, sizeof(tls_client12));
	rig_send(&rig, &c, BROKER, tls_server12, sizeof(tls_server12));
	for (unsigned i = 0; i < 50; i++) {
		rig_advance(&rig, SECOND);
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	}
	check_1_2();
	rig_send(&rig, &c, CLIENT, "\x17\x03\x03\x00\x01x", 6);
	check_1_2();
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(single_bytes),
		cmocka_unit_test(an_event_has_the_names),
		cmocka_unit_test(without_certificate),
		cmocka_unit_test(no_hello),
		cmocka_unit_test(endless_hello),
		cmocka_unit_test(small_records_are_charged),
		cmocka_unit_test(rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
