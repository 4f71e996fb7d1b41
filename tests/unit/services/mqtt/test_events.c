/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of connections: which connections have them, when, and with which fields. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "stream_steps.h"

#define SECOND 1000000000ull

static struct bp_event_cursor cursor;

static void open_events(void)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);
	struct bp_event_ring r;

	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 256;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	r = bp_shm_events(&rig.shm, 0);
	bp_event_cursor_open(&cursor, r.slot, sizeof(*r.slot), r.size, 0);
}

static bool next(struct bp_event *e)
{
	uint64_t lost;

	return bp_event_cursor_read(&cursor, e, &lost) == BP_EVENT_GOT_RECORD;
}

static void expect_none(void)
{
	struct bp_event e;

	assert_false(next(&e));
}

static struct bp_event expect(enum bp_event_connection action, unsigned reason)
{
	struct bp_event e;

	assert_true(next(&e));
	assert_int_equal(e.type, BP_EVENT_CONNECTION);
	assert_int_equal(e.action, action);
	assert_int_equal(e.reason, reason);
	return e;
}

static void a_connection_starts_and_ends(void **state)
{
	struct peer c;
	struct bp_event start, end;

	(void)state;
	open_events();
	peer_init(&c, false, 7, 1000, 2000);
	rig_handshake(&rig, &c);
	expect_none(); /* not established yet */
	rig_accept(&rig, &c, 4);
	rig_close(&rig);

	open_events();
	peer_init(&c, false, 7, 1000, 2000);
	rig_connect(&rig, &c, 4, "oven-7");
	start = expect(BP_EVENT_CONNECTION_START, 0);
	assert_int_equal(start.text_len[0], 6);
	assert_memory_equal(start.text, "oven-7", 6);
	assert_int_equal(start.version, 4);
	assert_int_equal(start.dest_port, 1883);
	assert_int_equal(start.flags & BP_EVENT_F_IP6, 0);
	assert_int_equal(start.time_ns, rig.now_ns);
	rig_publish_text(&rig, &c, "plant/a/temperature", "90");
	rig_publish_text(&rig, &c, "plant/a/temperature", "91");
	expect_none(); /* none per publication */
	rig_advance(&rig, SECOND);
	rig_fin_both(&rig, &c);
	end = expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_CLOSED);
	assert_int_equal(end.number[0], 2);
	assert_int_equal(end.flow, start.flow);
	assert_memory_equal(end.src_ip, start.src_ip, 16);
	assert_int_equal(end.src_port, start.src_port);
	assert_int_equal(end.text_len[0], 6);
	assert_int_equal(end.time_ns, start.time_ns + SECOND);
	rig_expire_all(&rig);
	expect_none(); /* the slot of a closed connection is freed without an event */
	rig_close(&rig);
}

static void ends_have_their_reasons(void **state)
{
	struct bp_event first, second;
	struct peer c;

	(void)state;
	open_events();
	peer_init(&c, true, 1, 10, 20);
	rig_connect(&rig, &c, 4, "x");
	first = expect(BP_EVENT_CONNECTION_START, 0);
	assert_int_equal(first.flags & BP_EVENT_F_IP6, BP_EVENT_F_IP6);
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_RESET);
	/* the same addresses and ports again: another flow */
	peer_init(&c, true, 1, 5000, 6000);
	rig_connect(&rig, &c, 4, "x");
	second = expect(BP_EVENT_CONNECTION_START, 0);
	assert_int_not_equal(first.flow, second.flow);
	/* and again, while the last one is open */
	peer_init(&c, true, 1, 700000, 800000);
	rig_connect(&rig, &c, 4, "x");
	second = expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_SUPERSEDED);
	assert_int_equal(second.flow, (uint64_t)5000 << 32 | 6000);
	expect(BP_EVENT_CONNECTION_START, 0);
	rig_expire_all(&rig);
	second = expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_EXPIRED);
	/* of the tick, not of the last segment */
	assert_int_equal(second.time_ns, rig.now_ns);
	expect_none();
	rig_close(&rig);
}

static void an_evicted_connection_has_an_end(void **state)
{
	struct bp_event e;
	unsigned starts = 0, ends = 0;

	(void)state;
	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 1024;
	rig.mqtt.max_connections = 64;
	rig_open(&rig);
	{
		struct bp_event_ring r = bp_shm_events(&rig.shm, 0);

		bp_event_cursor_open(&cursor, r.slot, sizeof(*r.slot), r.size, 0);
	}
	for (unsigned i = 0; i < 200; i++) {
		struct peer c;

		peer_init(&c, false, i + 1, i, i);
		rig_connect(&rig, &c, 4, "x");
		rig_advance(&rig, 2000000);
	}
	while (next(&e)) {
		starts += e.action == BP_EVENT_CONNECTION_START;
		ends += e.action == BP_EVENT_CONNECTION_END;
		if (e.action == BP_EVENT_CONNECTION_END)
			assert_int_equal(e.reason, BP_EVENT_END_EVICTED);
	}
	assert_int_equal(starts, 200);
	assert_int_equal(ends, 200 - 64);
	assert_int_equal(rig_count(&rig, BP_C_CONN_EVICTED), ends);
	rig_close(&rig);
}

static void a_stop_of_inspection_has_its_reason(void **state)
{
	struct peer c;
	struct bytes b = {0};
	struct bp_event e;

	(void)state;
	open_events();
	peer_init(&c, false, 1, 10, 20);
	rig_connect(&rig, &c, 4, "x");
	expect(BP_EVENT_CONNECTION_START, 0);
	mq_raw(&b, 0x00, "ab", 2); /* a reserved type */
	rig_send_bytes(&rig, &c, CLIENT, &b);
	e = expect(BP_EVENT_CONNECTION_NOT_INSPECTED,
		BP_EVENT_UNREAD_COUNTER + BP_C_NOT_INSPECTED_TYPE - BP_C_NOT_INSPECTED_NOT_MQTT);
	assert_memory_equal(e.text, "x", 1);
	expect_none();
	rig_fin_both(&rig, &c);
	expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_CLOSED);
	expect_none();
	rig_close(&rig);
}

/* Another protocol on an MQTT port is never established, but is an event. */
static void another_protocol_has_an_event(void **state)
{
	struct peer c;

	(void)state;
	open_events();
	peer_init(&c, false, 1, 10, 20);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "SSH-2.0-", 8);
	expect(BP_EVENT_CONNECTION_NOT_INSPECTED, BP_EVENT_UNREAD_COUNTER);
	rig_fin_both(&rig, &c);
	expect_none(); /* it had no start */
	rig_close(&rig);
}

/* A gap that the broker acknowledged: not inspected until the next boundary is confirmed. */
static void a_gap_is_reported_with_its_end(void **state)
{
	struct peer c;
	struct bytes b = {0};
	struct bp_event e;

	(void)state;
	open_events();
	peer_init(&c, false, 1, 10, 20);
	rig_connect(&rig, &c, 4, "x");
	expect(BP_EVENT_CONNECTION_START, 0);
	rig_publish_text(&rig, &c, "plant/a/temperature", "1");
	/* 50 bytes took another path, and the broker has them */
	c.seq[CLIENT] += 50;
	rig_publish_text(&rig, &c, "plant/a/temperature", "2");
	rig_ack_all(&rig, &c, BROKER);
	expect(BP_EVENT_CONNECTION_NOT_INSPECTED, BP_EVENT_UNREAD_RESYNC);
	mq_empty(&b, MQ_PINGREQ);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, &c, BROKER, &b);
	e = expect(BP_EVENT_CONNECTION_INSPECTED, 0);
	assert_int_equal(e.text_len[0], 1);
	expect_none();
	rig_close(&rig);
}

/* ---- attackers ---- */

/* Off-path: SYNs from any address, and segments of connections that do not exist. */
static void a_flood_of_unproven_segments_has_no_events(void **state)
{
	struct peer c;

	(void)state;
	open_events();
	for (unsigned i = 0; i < 4096; i++) {
		peer_init(&c, i % 2, i + 1, i * 977, 0);
		rig_segment(&rig, &c, CLIENT, TH_SYN, i * 977, 0, NULL, 0);
		peer_init(&c, i % 2, i + 10000, i * 977, 0);
		rig_segment(&rig, &c, CLIENT, TH_ACK, i * 977, 5, "\x10\x00", 2);
	}
	rig_expire_all(&rig);
	expect_none();
	rig_close(&rig);
}

/* On-path: complete handshakes without MQTT. The ring keeps the events of established ones. */
static void handshakes_without_mqtt_have_few_events(void **state)
{
	struct bp_event e;
	struct peer c;
	unsigned n = 0;

	(void)state;
	open_events();
	peer_init(&c, false, 1, 10, 20);
	rig_connect(&rig, &c, 4, "established");
	for (unsigned i = 0; i < 1000; i++) {
		peer_init(&c, false, 100 + i, i, i);
		rig_handshake(&rig, &c);
		rig_send(&rig, &c, CLIENT, "GET / HTTP/1.1\r\n\r\n", 18);
	}
	e = expect(BP_EVENT_CONNECTION_START, 0);
	assert_memory_equal(e.text, "established", 11);
	while (next(&e))
		n++;
	assert_int_equal(n, 16);
	assert_int_equal(rig_count(&rig, BP_C_EVENTS_LIMITED), 1000 - 16);
	/* more after a second */
	rig_advance(&rig, 2 * SECOND);
	peer_init(&c, false, 5000, 1, 1);
	rig_handshake(&rig, &c);
	rig_send(&rig, &c, CLIENT, "GET / HTTP/1.1\r\n\r\n", 18);
	assert_true(next(&e));
	rig_close(&rig);
}

/* A client that connects in a loop: its events are limited, and the next second has new ones. */
static void events_of_established_connections_are_limited(void **state)
{
	struct bp_event e;
	unsigned n = 0;
	struct peer c;

	(void)state;
	open_events();
	for (unsigned i = 0; i < 1200; i++) {
		peer_init(&c, false, i + 1, i, i);
		rig_connect(&rig, &c, 4, "x");
		while (next(&e))
			n++;
	}
	assert_int_equal(n, 1000);
	/* the others, and the ends of those that were evicted */
	assert_int_equal(
		rig_count(&rig, BP_C_EVENTS_LIMITED), 200 + rig_count(&rig, BP_C_CONN_EVICTED));
	rig_advance(&rig, 2 * SECOND);
	rig_fin_both(&rig, &c);
	expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_CLOSED);
	rig_close(&rig);
}

/* The ring of another writer is not this worker's. */
static void events_of_a_worker_stay_in_its_ring(void **state)
{
	struct bp_event_ring main_ring;
	struct bp_event_slot before[256];
	struct peer c;

	(void)state;
	open_events();
	main_ring = bp_shm_events_of(&rig.shm, BP_EVENTS_DATAPLANE);
	memcpy(before, main_ring.slot, sizeof(before));
	for (unsigned i = 0; i < 1000; i++) {
		peer_init(&c, false, i + 1, i, i);
		rig_connect(&rig, &c, 4, "x");
	}
	assert_memory_equal(before, main_ring.slot, sizeof(before));
	rig_close(&rig);
}

/* A restarted process continues its ring, and adopted connections end with an event. */
static void a_restart_continues_the_ring(void **state)
{
	struct peer c;

	(void)state;
	open_events();
	peer_init(&c, false, 1, 10, 20);
	rig_connect(&rig, &c, 4, "x");
	rig_restart(&rig);
	rig_fin_both(&rig, &c);
	expect(BP_EVENT_CONNECTION_START, 0);
	expect(BP_EVENT_CONNECTION_END, BP_EVENT_END_CLOSED);
	expect_none();
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_starts_and_ends),
		cmocka_unit_test(ends_have_their_reasons),
		cmocka_unit_test(an_evicted_connection_has_an_end),
		cmocka_unit_test(a_stop_of_inspection_has_its_reason),
		cmocka_unit_test(another_protocol_has_an_event),
		cmocka_unit_test(a_gap_is_reported_with_its_end),
		cmocka_unit_test(a_flood_of_unproven_segments_has_no_events),
		cmocka_unit_test(handshakes_without_mqtt_have_few_events),
		cmocka_unit_test(events_of_established_connections_are_limited),
		cmocka_unit_test(events_of_a_worker_stay_in_its_ring),
		cmocka_unit_test(a_restart_continues_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
