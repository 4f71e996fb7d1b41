/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection returns to a gateway that has an earlier position of it. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "fleet_steps.h"
#include "services/mqtt/fleet_adopt.h"

/*
 * Both gateways know the connection, which then continues through `one` for a second: an alias is
 * set there. *c is as `two` meets it again.
 */
static void leave(struct peer *c, uint32_t number)
{
	struct peer same;

	peer_init(c, number & 1, number, 0xffffff00u + number, 0xfffffff0u);
	same = *c;
	rig_connect_alias(&two, &same, "sensor", 10, 10);
	publish_alias(&two, &same, "t/x", 3, "1");
	rig_connect_alias(&one, c, "sensor", 10, 10);
	publish_alias(&one, c, "t/x", 3, "1");
	publish_alias(&one, c, "t/y", 4, "2");
	rest_and_scan();
	rig_advance(&two, 1000000000);
}

static void returns(void **state)
{
	(void)state;
	for (unsigned restart = 0; restart < 2; restart++) {
		for (uint32_t number = 1; number <= 2; number++) {
			struct peer c;

			open_fleet();
			leave(&c, number);
			if (restart)
				rig_restart(&two);
			publish_alias(&two, &c, "", 4, "90"); /* acknowledged before the answer */
			assert_string_equal(rig_told_values(&two), "");
			publish_alias(&two, &c, "", 3, "91");
			offer();
			assert_string_equal(rig_told_values(&two), "90 91");
			publish_alias(&two, &c, "", 3, "92");
			assert_string_equal(rig_told_values(&two), "92");
			assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
			assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
			assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 0);
			rig_fin_both(&two, &c);
			assert_int_equal(bp_mqtt_worker_carried(two.in), 0);
			close_fleet();
		}
	}
}

/* The routers do not change at the same time: the first segment here may be without payload, the
 * acknowledgement of what passed the other gateway. */
static void returns_with_an_acknowledgement(void **state)
{
	(void)state;
	for (unsigned answer_first = 0; answer_first < 2; answer_first++) {
		struct peer c;

		open_fleet();
		leave(&c, 1);
		rig_ack(&two, &c, BROKER);
		if (answer_first)
			offer();
		publish_alias(&two, &c, "", 4, "90");
		if (!answer_first)
			offer();
		assert_string_equal(rig_told_values(&two), "90");
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 1);
		assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
		assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 0);
		close_fleet();
	}
}

/* Only one direction returns at first, and keeps the connection in use here: what is lost of the
 * other one passed the other gateway. */
static void returns_by_halves(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	rig_ack(&two, &c, BROKER);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	for (unsigned i = 0; i < 5; i++) {
		rig_advance(&two, 150000000);
		publish_alias(&one, &c, "t/z", 5, "3");
		rest_and_scan();
		rig_ack(&two, &c, BROKER);
	}
	publish_alias(&two, &c, "", 5, "90");
	offer();
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 2);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 0);
	close_fleet();
}

/* The same within 0.1 s: a publication passes the other gateway after the answer, and its
 * acknowledgement this one. */
static void returns_by_halves_soon(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	rig_ack(&two, &c, BROKER);
	offer();
	rig_advance(&two, 75000000);
	publish_alias(&one, &c, "t/z", 5, "3");
	rest_and_scan();
	rig_ack(&two, &c, BROKER);
	publish_alias(&two, &c, "", 5, "90");
	offer();
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 2);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 0);
	close_fleet();
}

/* The direction of the broker returns first. The client acknowledges its packets at the other
 * gateway, which has not seen them, and has the next publication. */
static void returns_by_the_other_half(void **state)
{
	unsigned puts;
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	rig_publish(
		&two, &c, BROKER, &(struct mq_publish){.version = 5, .topic = "d", .payload = "1"});
	offer();
	rig_advance(&two, 75000000);
	rig_publish(&one, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "t/z", .alias = 5, .payload = "3"});
	puts = stored.puts;
	rest_and_scan();
	assert_int_equal(stored.puts, puts + 1);
	rig_ack(&two, &c, BROKER);
	publish_alias(&two, &c, "", 5, "90");
	offer();
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 0);
	close_fleet();
}

/* The client continues through the other gateway, which has the record until then. */
static void record_of_a_half(void **state)
{
	const struct bp_export_sink sink = {
		.epoch = 9, .put = stored_put, .end = stored_end, .claim = stored_claim};
	struct peer c;

	(void)state;
	for (unsigned empty = 0; empty < 2; empty++) {
		struct bp_exporter *of_two;
		unsigned puts;

		open_fleet();
		leave(&c, 1);
		rig_ack(&two, &c, BROKER);
		offer();
		of_two = bp_exporter_create(1, two.mono_ns - 10000000000ull);
		assert_non_null(of_two);
		puts = stored.puts;
		for (unsigned i = 0; i < 3; i++) {
			rig_advance(&two, 2 * BP_EXPORT_INTERVAL_NS);
			rig_ack(&two, &c, BROKER);
			rig_advance(&two, 2 * BP_EXPORT_INTERVAL_NS);
			assert_true(bp_exporter_scan(of_two, &two.shm, two.mono_ns,
				two.mqtt.connection_timeout_ns, &sink));
			assert_int_equal(stored.puts, puts + (i == 2));
			if (i != 1)
				continue;
			if (empty)
				rig_ack(&two, &c, CLIENT);
			else
				publish_alias(&two, &c, "", 4, "90");
			assert_string_equal(rig_told_values(&two), empty ? "" : "90");
		}
		bp_exporter_free(of_two);
		close_fleet();
	}
}

/* The other gateway stores the last packets after this one has read the record. */
static void returns_before_the_record(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	publish_alias(&one, &c, "t/z", 5, "3");
	publish_alias(&two, &c, "", 5, "90");
	assert_true(request(&k));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	rest_and_scan();
	assert_true(request_again(&k));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	close_fleet();
}

/*
 * The worker did not run for a second, in which the connection continued through the other gateway,
 * or nowhere. The segment that waited for it fits, but the other gateway may have read its
 * repetition.
 */
static void continues_after_a_pause(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 16; variant++) {
		const bool elsewhere = variant & 1, ends = variant & 2;
		struct peer c, same;
		uint64_t resumed;

		open_fleet();
		two.bursts = variant & 4;
		peer_init(&c, variant & 8, 1, 0xffffff00u, 0xfffffff0u);
		same = c;
		rig_connect_alias(&two, &same, "sensor", 10, 10);
		publish_alias(&two, &same, "t/x", 3, "1");
		rig_flush(&two);
		rig_connect_alias(&one, &c, "sensor", 10, 10);
		publish_alias(&one, &c, "t/x", 3, "1");
		if (elsewhere)
			publish_alias(&one, &c, "", 3, "90");
		rest_and_scan();
		resumed = two.mono_ns + 1000000000;
		bp_mqtt_worker_follow_pauses(two.in, &resumed);
		rig_advance(&two, 1000000000);
		publish_alias(&two, &same, "", 3, "90");
		rig_flush(&two);
		assert_string_equal(rig_told_values(&two), "");
		if (ends) {
			rig_fin_both(&two, &same);
			rig_flush(&two);
			assert_string_equal(rig_told_values(&two), "90");
			assert_int_equal(bp_mqtt_worker_carried(two.in), 0);
			close_fleet();
			continue;
		}
		publish_alias(&two, &same, "t/y", 4, "91");
		rig_flush(&two);
		offer();
		assert_string_equal(rig_told_values(&two), elsewhere ? "91" : "90 91");
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), elsewhere);
		publish_alias(&two, &same, "", 4, "92");
		rig_flush(&two);
		assert_string_equal(rig_told_values(&two), "92");
		assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
		rig_advance(&two, BP_FLEET_CONFIRM_NS);
		publish_alias(&two, &same, "", 4, "93");
		rig_flush(&two);
		assert_string_equal(rig_told_values(&two), "93");
		close_fleet();
	}
}

/* A burst of frames that the burst path would evaluate together. */
static void burst_after_a_pause(void **state)
{
	struct peer c[8];
	uint64_t resumed = 0;

	(void)state;
	open_fleet();
	two.bursts = true;
	two.burst_size = 8;
	bp_mqtt_worker_follow_pauses(two.in, &resumed);
	for (uint32_t i = 0; i < 8; i++) {
		peer_init(&c[i], false, i + 1, 1, 2);
		rig_connect(&two, &c[i], 4, "sensor");
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 8; i++)
			rig_publish_text(&two, &c[i], "t/x", "90");
		rig_flush(&two);
		assert_string_equal(rig_told_values(&two), "90 90 90 90 90 90 90 90");
	}
	assert_true(two.n_template != 0);
	rig_advance(&two, 1000000000);
	resumed = two.mono_ns;
	rig_advance(&two, 0);
	for (unsigned i = 0; i < 8; i++)
		rig_publish_text(&two, &c[i], "t/x", "91");
	rig_flush(&two);
	assert_string_equal(rig_told_values(&two), "");
	answer_not_found();
	assert_string_equal(rig_told_values(&two), "91 91 91 91 91 91 91 91");
	close_fleet();
}

/* What waits after a pause does not lose its position where reorder_buffer is full: it is read
 * without the answer. */
static void much_after_a_pause(void **state)
{
	static char text[3000];
	const struct mq_publish large = {.version = 4, .topic = "t/y", .payload = text};
	uint64_t resumed = 0;
	struct peer c;

	(void)state;
	memset(text, 'x', sizeof(text) - 1); /* no value */
	open_fleet();
	bp_mqtt_worker_follow_pauses(two.in, &resumed);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&two, &c, 4, "sensor");
	rig_publish_text(&two, &c, "t/x", "1");
	rig_advance(&two, 1000000000);
	resumed = two.mono_ns;
	rig_advance(&two, 0);
	rig_publish_text(&two, &c, "t/x", "90");
	for (unsigned i = 0; i < two.mqtt.reorder_buffer / sizeof(text) + 2; i++)
		rig_publish(&two, &c, CLIENT, &large);
	rig_publish_text(&two, &c, "t/x", "91");
	assert_string_equal(rig_told_values(&two), "90 91");
	assert_int_equal(rig_count(&two, BP_C_FLEET_BUFFER_FULL), 1);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	close_fleet();
}

/* An RST of somebody who does not know the position does not end the wait. */
static void forged_reset_after_a_pause(void **state)
{
	uint64_t resumed = 0;
	struct peer c;

	(void)state;
	for (unsigned flag = 0; flag < 2; flag++) {
		open_fleet();
		bp_mqtt_worker_follow_pauses(two.in, &resumed);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&two, &c, 4, "sensor");
		rig_publish_text(&two, &c, "t/x", "1");
		rig_advance(&two, 1000000000);
		resumed = two.mono_ns;
		rig_advance(&two, 0);
		rig_publish_text(&two, &c, "t/x", "90");
		rig_segment(&two, &c, CLIENT, (flag ? TH_FIN : TH_RST) | TH_ACK,
			c.seq[CLIENT] + 0x50000000, c.seq[BROKER] + 0x60000000, NULL, 0);
		assert_string_equal(rig_told_values(&two), "");
		answer_not_found();
		assert_string_equal(rig_told_values(&two), "90");
		resumed = 0;
		close_fleet();
	}
}

/* Without a record that is further, the bytes between are lost, as without a fleet. */
static void returns_without_record(void **state)
{
	(void)state;
	for (unsigned answer = 0; answer < 4; answer++) {
		struct bp_connection_key k;
		struct peer c;

		open_fleet();
		leave(&c, 1);
		if (answer == 1)
			memcpy(&stored.p[0], &(uint8_t[8]){0}, 8);
		publish_alias(&two, &c, "", 4, "90");
		assert_true(request(&k));
		if (answer == 0)
			offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
		else if (answer == 1)
			offer_record(&k, stored.p, stored.n);
		else if (answer == 2)
			rig_advance(&two, 2000000000);
		bp_mqtt_worker_tick(two.in, two.mono_ns);
		assert_int_equal(rig_count(&two, BP_C_FLEET_NOT_FOUND), answer == 0);
		assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), answer == 1);
		assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), answer == 2);
		publish_alias(&two, &c, "", 4, "90");
		assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), answer != 3);
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
		assert_string_equal(rig_told_values(&two), "");
		close_fleet();
	}
}

/* Anybody can leave a gap: the stream continues as if it had not been there. */
static void forged_gap_changes_nothing(void **state)
{
	(void)state;
	for (unsigned own = 0; own < 2; own++) {
		struct bp_connection_key k;
		struct peer c;

		open_fleet();
		connect_alias(&c, 1);
		rig_advance(&one, 1000000000);
		rig_segment(&one, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + 100, c.seq[BROKER],
			"forged", 6);
		assert_int_equal(rig_count(&one, BP_C_FLEET_ASKED), 1);
		publish_alias(&one, &c, "", 3, "90");
		assert_string_equal(rig_told_values(&one), "90");
		if (own) { /* the own record, which is not further */
			struct rig asked = two;

			two = one;
			assert_true(request(&k));
			offer_record(&k, stored.p, stored.n);
			one = two;
			two = asked;
			assert_int_equal(rig_count(&one, BP_C_FLEET_STALE), 1);
		}
		publish_alias(&one, &c, "", 3, "91");
		assert_string_equal(rig_told_values(&one), "91");
		assert_int_equal(rig_count(&one, BP_C_RESYNC_STARTED), 0);
		close_fleet();
	}
}

/* The record of an earlier connection with the same ports. */
static void returns_as_another(void **state)
{
	struct bp_connection_key k;
	struct peer c, other;

	(void)state;
	open_fleet();
	leave(&c, 1);
	peer_init(&other, true, 1, c.seq[CLIENT] + 500, c.seq[BROKER] + 500);
	rig_advance(&one, 100000000000);
	rig_connect_alias(&one, &other, "sensor", 10, 10);
	publish_alias(&one, &other, "t/x", 3, "1");
	rest_and_scan();
	publish_alias(&two, &c, "", 4, "90");
	assert_true(request(&k));
	offer_record(&k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_CONFLICT), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
	assert_string_equal(rig_told_values(&two), "");
	close_fleet();
}

/* As if the gateway had met its connections midway. */
static void forget_handshakes(struct rig *r)
{
	for (uint32_t i = 0; i < r->in->table.groups * BP_FLOW_WAYS; i++) {
		r->in->table.flow[i].proof &= (uint8_t)~BP_FLOW_HANDSHAKE;
		r->in->table.flow[i].flags |= BP_FLOW_MIDWAY;
	}
}

/* The connection ended at the other gateway, and so did this one of the same ports begin there,
 * with other numbers, which may also be ahead. Those of one end may follow the last ones: that of
 * Linux begins 65,537 above them if its TIME-WAIT has not passed. */
static void replaced_elsewhere(void **state)
{
	static const uint32_t ahead[][2] = {{0x70000000, 0xa0000000}, {0x70000000, 0x10000000},
		{0x20000000, 0xc0000000}, {65537, 0x70000000}, {0x90000000, 65537},
		{0x20000000, 0x10000000}, {65537, 0x20000000}, {0x20000000, 65537}};
	struct peer c, other, same;

	(void)state;
	/* of the last ones without a handshake, the record is that of a connection which continues
	 */
	for (unsigned i = 0; i < 16; i++) {
		const uint32_t *const by = ahead[i / 2];

		if (i % 2 != 0 && i / 2 >= 3)
			continue;
		open_fleet();
		leave(&c, 1);
		if (i % 2 != 0)
			forget_handshakes(&two);
		rig_fin_both(&one, &c);
		scan();
		peer_init(&other, true, 1, c.seq[CLIENT] + by[0], c.seq[BROKER] + by[1]);
		rig_connect_alias(&one, &other, "sensor", 10, 10);
		publish_alias(&one, &other, "t/x", 3, "1");
		rest_and_scan();
		same = other;
		publish_alias(&two, &same, "", 3, "90");
		offer();
		assert_int_equal(rig_count(&two, BP_C_FLEET_CONFLICT), 1);
		publish_alias(&two, &other, "", 3, "91");
		offer();
		assert_string_equal(rig_told_values(&two), "91");
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		close_fleet();
	}
}

/* A segment of somebody who knows no number, while the fleet has the record of a connection of
 * before: this one stays. */
static void forged_segment_replaces_nothing(void **state)
{
	struct peer before, c, forged;

	(void)state;
	open_fleet();
	peer_init(&before, true, 1, 0x1000, 0x2000);
	rig_connect_alias(&one, &before, "sensor", 10, 10);
	publish_alias(&one, &before, "t/x", 3, "1");
	peer_init(&c, true, 1, 0x71000000, 0xa2000000);
	rig_connect_alias(&two, &c, "sensor", 10, 10);
	publish_alias(&two, &c, "t/x", 3, "1");
	rest_and_scan();
	rig_advance(&two, 1000000000);
	peer_init(&forged, true, 1, 0x30000000, 0x40000000);
	forged.seq[CLIENT] = 0x30000001;
	forged.seq[BROKER] = 0x40000001;
	publish_alias(&two, &forged, "t/x", 3, "99");
	assert_true(rig_count(&two, BP_C_FLEET_ASKED) >= 1);
	offer();
	publish_alias(&two, &c, "", 3, "90");
	assert_string_equal(rig_told_values(&two), "90");
	close_fleet();
}

/* One segment of anybody at a gateway that the connection has left: its own record, at the other
 * gateway, stays. */
static void forged_return_takes_no_record(void **state)
{
	struct bp_export_sink sink = {
		.epoch = 9, .put = stored_put, .end = stored_end, .claim = stored_claim};
	struct bp_exporter *of_two;
	unsigned before;
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	of_two = bp_exporter_create(1, two.mono_ns - 10000000000ull);
	assert_non_null(of_two);
	assert_true(bp_exporter_scan(
		of_two, &two.shm, two.mono_ns, two.mqtt.connection_timeout_ns, &sink));
	assert_int_equal(stored.puts, 2);
	assert_int_equal(stored.epoch, 9);
	rest_and_scan(); /* the record of `one` again */
	own_epoch = 1;
	bp_exporter_forget(exporter);
	rest_and_scan();
	assert_int_equal(stored.epoch, 1);
	/* of the past: nothing is asked */
	rig_segment(&two, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] - 100000,
		c.seq[BROKER] - 100000, "x", 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 0);
	/* far ahead, so that it is not held */
	rig_segment(&two, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + 100000000, c.seq[BROKER],
		"x", 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 1);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	rig_advance(&two, 1000000000);
	sink.epoch = 20; /* reading the other record has raised it */
	before = stored.puts;
	assert_true(bp_exporter_scan(
		of_two, &two.shm, two.mono_ns, two.mqtt.connection_timeout_ns, &sink));
	assert_int_equal(stored.puts, before);
	bp_exporter_free(of_two);
	close_fleet();
}

static void connect_delayed_will(struct rig *r, struct peer *c)
{
	static const uint8_t connect[] =
		"\x10\x22\0\4MQTT\5\6\0\x3c\5\x11\0\0\0\x64\0\1w\5\x18\0\0\0\5\0\3t/w\0\2"
		"95";

	rig_handshake(r, c);
	rig_send(r, c, CLIENT, connect, sizeof(connect) - 1);
	rig_accept(r, c, 5);
	rig_ack(r, c, CLIENT);
}

/* The will and its session are those of before, not of a later connection that cancels it. */
static void returns_with_its_will(void **state)
{
	struct peer c, same;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 1, 2);
	same = c;
	connect_delayed_will(&two, &same);
	connect_delayed_will(&one, &c);
	publish_alias(&one, &c, "t/x", 0, "1");
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	rig_advance(&two, 1000000000);
	publish_alias(&two, &c, "t/x", 0, "2");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	rig_segment(&two, &c, BROKER, TH_RST | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_string_equal(rig_told_values(&two), "");
	rig_advance(&two, 6000000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_WILL_CANCELED), 0);
	assert_int_equal(rig_count(&two, BP_C_WILL_EVALUATED), 1);
	assert_string_equal(rig_told_values(&two), "95");
	close_fleet();
}

/* Segments that fit nowhere ask at most once in 250 ms. */
static void requests_have_a_rate(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	leave(&c, 1);
	for (unsigned i = 0; i < 100; i++) {
		rig_segment(&two, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + 100000000,
			c.seq[BROKER], "x", 1);
		if (request(&k))
			offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
		rig_advance(&two, 10000000);
	}
	assert_in_range(rig_count(&two, BP_C_FLEET_ASKED), 2, 5);
	close_fleet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns),
		cmocka_unit_test(returns_with_an_acknowledgement),
		cmocka_unit_test(returns_by_halves),
		cmocka_unit_test(returns_by_halves_soon),
		cmocka_unit_test(returns_by_the_other_half),
		cmocka_unit_test(record_of_a_half),
		cmocka_unit_test(returns_before_the_record),
		cmocka_unit_test(continues_after_a_pause),
		cmocka_unit_test(burst_after_a_pause),
		cmocka_unit_test(much_after_a_pause),
		cmocka_unit_test(forged_reset_after_a_pause),
		cmocka_unit_test(returns_without_record),
		cmocka_unit_test(forged_gap_changes_nothing),
		cmocka_unit_test(returns_as_another),
		cmocka_unit_test(replaced_elsewhere),
		cmocka_unit_test(forged_segment_replaces_nothing),
		cmocka_unit_test(forged_return_takes_no_record),
		cmocka_unit_test(returns_with_its_will),
		cmocka_unit_test(requests_have_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
