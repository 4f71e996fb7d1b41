/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection of one gateway continues through another one, which adopts its state. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "fleet_steps.h"

/* The alias was set at the other gateway, and the client never sends anything that is answered. */
static void reads_at_once(void **state)
{
	(void)state;
	for (uint32_t number = 1; number <= 2; number++) {
		struct told_list l;
		struct peer c;

		open_fleet();
		connect_alias(&c, number);
		publish_alias(&two, &c, "", 3, "90");
		assert_string_equal(rig_told_values(&two), ""); /* it waits for the answer */
		/* walks without frames: it must expire in time nevertheless */
		rig_advance(&two, 500000000);
		bp_mqtt_worker_tick(two.in, two.mono_ns);
		offer();
		l = rig_told(&two);
		assert_int_equal(l.n, 1);
		assert_true(l.a[0].value == 90);
		assert_string_equal(l.a[0].client, "sensor");
		assert_string_equal(l.a[0].topic, "t/x");
		told_free(&l);
		publish_alias(&two, &c, "", 3, "10");
		publish_alias(&two, &c, "t/y", 4, "91");
		assert_string_equal(rig_told_values(&two), "91");
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
		assert_int_equal(rig_count(&two, BP_C_CONN_ESTABLISHED), 1);
		close_fleet();
	}
}

/* The same stream by the segments of any division: `two` sees its bytes from `from` on. */
#define STREAM_MAX 512
static size_t stream(uint8_t *out)
{
	struct bytes b = {0};
	size_t n;

	mq_publish(
		&b, &(struct mq_publish){.version = 5, .alias = 3, .topic = "", .payload = "90"});
	mq_publish(&b, &(struct mq_publish){.version = 5, .alias = 3, .topic = "", .payload = "7"});
	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t/z", .payload = "91"});
	mq_publish(&b,
		&(struct mq_publish){.version = 5, .alias = 3, .topic = "t/new", .payload = "92"});
	mq_publish(
		&b, &(struct mq_publish){.version = 5, .alias = 3, .topic = "", .payload = "93"});
	assert_true(b.n <= STREAM_MAX);
	memcpy(out, b.p, b.n);
	n = b.n;
	bytes_free(&b);
	return n;
}
#define STREAM_TOLD "90 91 92 93"

static void segment(const struct peer *c, uint32_t base, const uint8_t *p, size_t from, size_t to)
{
	rig_segment(&two, c, CLIENT, TH_ACK | TH_PSH, base + (uint32_t)from, c->seq[BROKER],
		p + from, to - from);
}

/* The answer comes after any byte of the stream. */
static void answered_at_every_cut(void **state)
{
	uint8_t p[STREAM_MAX];
	const size_t n = stream(p);

	(void)state;
	for (size_t cut = 1; cut <= n; cut++) {
		struct peer c;

		open_fleet();
		connect_alias(&c, 1);
		segment(&c, c.seq[CLIENT], p, 0, cut);
		offer();
		if (cut < n)
			segment(&c, c.seq[CLIENT], p, cut, n);
		assert_string_equal(rig_told_values(&two), STREAM_TOLD);
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		close_fleet();
	}
}

/* The first segment that `two` sees is not the next one: that one is sent again, before the answer
 * or after it. */
static void gap_is_retransmitted(void **state)
{
	uint8_t p[STREAM_MAX];
	const size_t n = stream(p);

	(void)state;
	for (size_t cut = 1; cut < n; cut++) {
		for (unsigned late = 0; late < 2; late++) {
			struct peer c;

			open_fleet();
			connect_alias(&c, 1);
			segment(&c, c.seq[CLIENT], p, cut, n);
			if (late)
				offer();
			assert_string_equal(rig_told_values(&two), "");
			segment(&c, c.seq[CLIENT], p, 0, cut);
			if (!late)
				offer();
			assert_string_equal(rig_told_values(&two), STREAM_TOLD);
			assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
			close_fleet();
		}
	}
}

/* A segment that the other gateway inspected is sent again, alone or with new bytes. */
static void repeated_bytes_are_not_read_twice(void **state)
{
	uint8_t p[STREAM_MAX];
	const size_t n = stream(p);

	(void)state;
	for (size_t cut = 1; cut <= n; cut++) {
		struct peer c;
		uint32_t base;

		open_fleet();
		connect_alias(&c, 1);
		base = c.seq[CLIENT];
		rig_send(&one, &c, CLIENT, p, n);
		rig_ack(&one, &c, BROKER);
		assert_string_equal(rig_told_values(&one), STREAM_TOLD);
		rest_and_scan();
		assert_int_equal(stored.puts, 2);
		segment(&c, base, p, 0, cut);
		offer();
		assert_string_equal(rig_told_values(&two), "");
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		publish_alias(&two, &c, "", 3, "99"); /* "t/new" */
		assert_string_equal(rig_told_values(&two), "99");
		close_fleet();
	}
}

/* Packets passed after the record was made. */
static void stale(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&one, &c, "", 3, "2"); /* not in the record */
	publish_alias(&two, &c, "", 3, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 1);
	/* the version is known: a packet that both versions permit is a proof */
	rig_send(&two, &c, CLIENT, "\xc0\0", 2);
	rig_send(&two, &c, BROKER, "\xd0\0", 2);
	publish_alias(&two, &c, "", 3, "91");
	publish_alias(&two, &c, "t/y", 4, "92");
	assert_string_equal(rig_told_values(&two), "91 92");
	close_fleet();
}

/* A client that has given an alias to another topic before may have done so again. */
static void stale_aliases_that_change(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&one, &c, "t/y", 3, "1");
	rest_and_scan();
	publish_alias(&one, &c, "t/z", 3, "2"); /* not in the record */
	publish_alias(&two, &c, "", 3, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
	rig_send(&two, &c, CLIENT, "\xc0\0", 2);
	rig_send(&two, &c, BROKER, "\xd0\0", 2);
	publish_alias(&two, &c, "", 3, "91");
	assert_string_equal(rig_told_values(&two), "");
	assert_int_equal(rig_count(&two, BP_C_ALIAS_UNMAPPED), 1);
	close_fleet();
}

/* The client gives the alias to another topic in the bytes that are searched, and not evaluated. */
static void stale_aliases_end_in_the_search(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&one, &c, "", 3, "2"); /* not in the record */
	rig_send(&two, &c, CLIENT, "\xc0\0", 2);
	rig_send(&two, &c, BROKER, "\xd0\0", 2);
	publish_alias(&two, &c, "t/y", 3, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
	publish_alias(&two, &c, "", 3, "91");
	assert_string_equal(rig_told_values(&two), "");
	assert_int_equal(rig_count(&two, BP_C_ALIAS_UNMAPPED), 1);
	publish_alias(&two, &c, "t/y", 3, "92");
	assert_string_equal(rig_told_values(&two), "92");
	close_fleet();
}

/* The first gateway lives, and stores the missing packet a little later. */
static void stale_for_a_moment(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&one, &c, "", 3, "2");
	publish_alias(&two, &c, "", 3, "90");
	assert_true(request(&k));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	rest_and_scan();
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_false(request(&k)); /* not yet */
	assert_true(request_again(&k));
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 2);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 0);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 0);
	close_fleet();
}

/* The client sends nothing that is answered: its pushes prove a boundary, because the record has
 * the topics that it has published. */
static void stale_without_answers(void **state)
{
	(void)state;
	resync_packets = 4;
	for (unsigned alias = 0; alias < 2; alias++) {
		struct peer c;

		open_fleet();
		connect_alias(&c, 1);
		publish_alias(
			&one, &c, alias ? "" : "t/x", alias ? 3 : 0, "2"); /* not in the record */
		for (unsigned i = 0; i < 8; i++) {
			publish_alias(&two, &c, alias ? "" : "t/x", alias ? 3 : 0, "70");
			rig_ack(&two, &c, BROKER);
			if (i == 0)
				offer();
		}
		assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
		publish_alias(&two, &c, alias ? "" : "t/x", alias ? 3 : 0, "91");
		/* a topic that is not known has no such proof */
		publish_alias(&two, &c, "t/other", 0, "92");
		assert_string_equal(rig_told_values(&two), "91");
		assert_int_equal(rig_count(&two, BP_C_TOPIC_UNCONFIRMED), 1);
		close_fleet();
	}
	resync_packets = 0;
}

/* What was proven by pushes has records, too, and remains so at the next gateway. */
static void proven_by_pushes(void **state)
{
	const struct bp_export_sink sink = sink_of_one();
	struct bp_connection_record first, r;
	struct bp_exporter *of_two;
	struct peer c;

	(void)state;
	resync_packets = 4;
	open_fleet();
	connect_alias(&c, 1);
	assert_true(bp_connection_record_read(stored.p, stored.n, &first));
	publish_alias(&one, &c, "", 3, "2"); /* not in the record */
	of_two = bp_exporter_create(1, two.mono_ns);
	for (unsigned i = 0; i < 8; i++) {
		publish_alias(&two, &c, "", 3, "70");
		if (i == 0)
			offer();
	}
	assert_int_equal(rig_count(&two, BP_C_RESYNC_UNCONFIRMED), 1);
	rig_advance(&two, 2 * BP_EXPORT_INTERVAL_NS);
	assert_true(bp_exporter_scan(
		of_two, &two.shm, two.mono_ns, two.mqtt.connection_timeout_ns, &sink));
	bp_exporter_free(of_two);
	/* so that it is not taken for one of another connection */
	assert_true(bp_connection_record_read(stored.p, stored.n, &r));
	assert_int_equal(r.proof, first.proof);
	assert_int_equal(r.syn_seq, first.syn_seq);
	assert_int_equal(r.broker_isn, first.broker_isn);
	rig_close(&two);
	open_gateway(&two, 2); /* a third one */
	publish_alias(&two, &c, "", 3, "90");
	offer();
	publish_alias(&two, &c, "t/other", 0, "92");
	assert_string_equal(rig_told_values(&two), "90");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	assert_int_equal(rig_count(&two, BP_C_TOPIC_UNCONFIRMED), 1);
	close_fleet();
	resync_packets = 0;
}

static void publish_qos1(struct rig *r, struct peer *c, uint16_t id, const char *value)
{
	rig_publish(r, c, CLIENT,
		&(struct mq_publish){
			.version = 4, .qos = 1, .id = id, .topic = "t/x", .payload = value});
}

static void puback(struct rig *r, struct peer *c, uint16_t id)
{
	rig_send(r, c, BROKER, (uint8_t[]){0x40, 2, id >> 8, id & 0xff}, 4);
}

static void publish_qos1_alias(struct rig *r, struct peer *c, uint16_t id, const char *value)
{
	rig_publish(r, c, CLIENT,
		&(struct mq_publish){.version = 5,
			.qos = 1,
			.id = id,
			.topic = "",
			.alias = 3,
			.payload = value});
}

/* The answer comes before the first segment of the client: the alias of the record stays valid. */
static void stale_aliases_of_an_unseen_direction(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_qos1_alias(&one, &c, 1, "2"); /* not in the record */
	puback(&two, &c, 1);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
	for (uint16_t id = 2; id < 6; id++) {
		rig_ack(&two, &c, CLIENT);
		publish_qos1_alias(&two, &c, id, "70");
		puback(&two, &c, id);
	}
	publish_qos1_alias(&two, &c, 6, "91");
	assert_string_equal(rig_told_values(&two), "91");
	assert_int_equal(rig_count(&two, BP_C_ALIAS_UNMAPPED), 0);
	close_fleet();
}

/* The answers still pass the first gateway, so its record cannot be newer: all that the client
 * sends is read nevertheless. */
static void stale_from_the_broker_alone(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		const bool seen = variant & 1;
		struct peer c;

		resync_packets = variant & 2 ? 4 : 0;
		open_fleet();
		connect_alias(&c, 1);
		publish_qos1_alias(&two, &c, 1, "90");
		puback(&one, &c, 1);
		publish_qos1_alias(&two, &c, 2, "91");
		puback(seen ? &two : &one, &c, 2);
		rig_ack(&two, &c, CLIENT);
		offer();
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		publish_qos1_alias(&two, &c, 3, "92");
		assert_string_equal(rig_told_values(&two), "90 91 92");
		for (uint16_t id = 3; id < 6; id++) {
			puback(&two, &c, id);
			rig_ack(&two, &c, CLIENT);
			publish_qos1_alias(&two, &c, (uint16_t)(id + 1), "70");
		}
		assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 1);
		assert_int_equal(rig_count(&two, BP_C_RESYNC_CONFIRMED), 2);
		close_fleet();
	}
	resync_packets = 0;
}

/* The last publication before the failure is not in the record. Its answer passes the old gateway,
 * or the new one, before the answer of the fleet or after it. */
static void stale_with_answers(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 8; variant++) {
		struct peer c;

		resync_packets = variant & 4 ? 4 : 0;
		open_fleet();
		peer_init(&c, false, 1, 0xffffff00u, 0xfffffff0u);
		rig_connect(&one, &c, 4, "sensor");
		publish_qos1(&one, &c, 1, "1");
		puback(&one, &c, 1);
		rig_ack(&one, &c, CLIENT);
		rest_and_scan();
		publish_qos1(&one, &c, 2, "2"); /* not in the record */
		if ((variant & 3) == 0)
			puback(&one, &c, 2);
		else if ((variant & 3) == 1)
			puback(&two, &c, 2);
		publish_qos1(&two, &c, 3, "3");
		if ((variant & 3) == 2)
			puback(&two, &c, 2);
		offer();
		if ((variant & 3) == 3)
			puback(&two, &c, 2);
		puback(&two, &c, 3);
		rig_ack(&two, &c, CLIENT);
		for (uint16_t id = 4; id < 8; id++) {
			publish_qos1(&two, &c, id, "70");
			puback(&two, &c, id);
		}
		publish_qos1(&two, &c, 9, "91");
		assert_string_equal(rig_told_values(&two), "91");
		close_fleet();
	}
	resync_packets = 0;
}

/* Acknowledgements of the broker took another path: the next one determines the position of its
 * stream again, without which the connection would have no further record. */
static void lost_acknowledgements(void **state)
{
	(void)state;
	resync_packets = 4;
	to_broker_only = true;
	for (unsigned bursts = 0; bursts < 2; bursts++) {
		const struct bp_export_sink sink = sink_of_one();
		struct bp_exporter *of_two;
		struct bp_connection_record r;
		struct peer c;

		open_fleet();
		peer_init(&c, false, 1, 0xffffff00u, 0xfffffff0u);
		rig_connect(&one, &c, 4, "sensor");
		publish_qos1(&one, &c, 1, "1");
		puback(&one, &c, 1);
		rig_ack(&one, &c, CLIENT);
		rest_and_scan();
		of_two = bp_exporter_create(1, two.mono_ns);
		two.bursts = bursts;
		publish_qos1(&two, &c, 2, "2");
		rig_flush(&two);
		offer();
		puback(&one, &c, 2);
		for (uint16_t id = 3; id < 8; id++) {
			publish_qos1(&two, &c, id, "70");
			rig_flush(&two);
			puback(&two, &c, id);
			rig_flush(&two);
			rig_advance(&two, 150000000);
			answer_not_found();
		}
		rig_ack(&two, &c, CLIENT);
		rig_flush(&two);
		assert_int_equal(rig_count(&two, BP_C_GAP_LOST), 4);
		assert_int_equal(
			rig_count(&two, BP_C_RESYNC_CONFIRMED), 2); /* one for each direction */
		rig_advance(&two, 2 * BP_EXPORT_INTERVAL_NS);
		assert_true(bp_exporter_scan(
			of_two, &two.shm, two.mono_ns, two.mqtt.connection_timeout_ns, &sink));
		assert_true(bp_connection_record_read(stored.p, stored.n, &r));
		assert_int_equal(r.next[CLIENT], c.seq[CLIENT]);
		assert_int_equal(r.next[BROKER], c.seq[BROKER]);
		bp_exporter_free(of_two);
		close_fleet();
	}
	resync_packets = 0;
	to_broker_only = false;
}

/* The response to the first publication takes another path. */
static void response_is_not_seen(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 0xffffff00u, 0xfffffff0u);
	rig_connect(&one, &c, 4, "sensor");
	publish_qos1(&one, &c, 1, "1");
	puback(&one, &c, 1);
	rig_ack(&one, &c, CLIENT);
	rest_and_scan();
	publish_qos1(&one, &c, 2, "2"); /* not in the record */
	puback(&one, &c, 2);
	publish_qos1(&two, &c, 3, "3");
	puback(&one, &c, 3);
	offer();
	for (uint16_t id = 4; id < 20; id++) {
		rig_advance(&two, 150000000);
		publish_qos1(&two, &c, id, "70");
		puback(&two, &c, id);
	}
	publish_qos1(&two, &c, 20, "91");
	assert_string_equal(rig_told_values(&two), "91");
	close_fleet();
}

/* A broker that has not acknowledged the gap when the answer comes, and does so later. */
static void gap_is_acknowledged(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&one, &c, "", 3, "2");
	rig_publish(&two, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "t/x", .payload = "90"});
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	rig_ack(&two, &c, BROKER);
	assert_string_equal(rig_told_values(&two), "");
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 1);
	close_fleet();
}

static void not_found(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 1, 2);
	rig_publish(&two, &c, CLIENT,
		&(struct mq_publish){
			.version = 4, .qos = 1, .id = 5, .topic = "t/x", .payload = "81"});
	assert_true(request(&k));
	offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
	assert_int_equal(rig_count(&two, BP_C_FLEET_NOT_FOUND), 1);
	/* as without a fleet, and the waiting packet is the question */
	rig_send(&two, &c, BROKER, "\x40\2\0\5", 4);
	rig_publish_text(&two, &c, "t/x", "82");
	assert_string_equal(rig_told_values(&two), "82");
	close_fleet();
}

static void late(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&two, &c, "", 3, "90");
	rig_advance(&two, 999000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), 0);
	rig_advance(&two, 1000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), 1);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 1);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_LATE), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 0);
	assert_string_equal(rig_told_values(&two), "");
	close_fleet();
}

/* A connection that began here is not asked for, and no answer changes it. */
static void proven_is_not_overwritten(void **state)
{
	struct bp_connection_key k;
	struct peer c, same;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	peer_init(&same, true, 1, 77, 88);
	rig_connect(&two, &same, 4, "other");
	assert_false(request(&k));
	offer_bytes(BP_ADOPT_FOUND, &stored.key, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_LATE), 1);
	rig_publish_text(&two, &same, "t/x", "81");
	assert_string_equal(rig_told_values(&two), "81");
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 0);
	close_fleet();
}

/* A record has no state of a WebSocket: none is stored, and none is asked for, also where the
 * connection seems to return. */
static void websocket_is_not_shared(void **state)
{
	struct bytes b = {0}, mqtt = {0};
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 1000, 2000);
	c.broker_port = WS_PORT;
	rig_handshake(&one, &c);
	ws_request(&b, "");
	rig_send_bytes(&one, &c, CLIENT, &b);
	ws_response(&b, "");
	rig_send_bytes(&one, &c, BROKER, &b);
	mq_connect(&mqtt, 4, "web", 0);
	ws_message(&b, CLIENT, &mqtt);
	rig_send_bytes(&one, &c, CLIENT, &b);
	mq_connack(&mqtt, 4, 0, 0, NULL);
	ws_message(&b, BROKER, &mqtt);
	rig_send_bytes(&one, &c, BROKER, &b);
	assert_int_equal(rig_count(&one, BP_C_CONN_ESTABLISHED), 1);
	rest_and_scan();
	rest_and_scan();
	assert_int_equal(stored.puts, 0);
	mq_publish(&mqtt, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	ws_message(&b, CLIENT, &mqtt);
	rig_send(&two, &c, CLIENT, b.p, b.n);
	assert_false(request(&k));
	assert_int_equal(rig_count(&two, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM), 1);
	rig_advance(&one, 1000000000);
	c.seq[CLIENT] += 10;
	rig_send_bytes(&one, &c, CLIENT, &b);
	assert_int_equal(rig_count(&one, BP_C_FLEET_ASKED), 0);
	close_fleet();
}

/* Another connection of the same addresses and ports: its numbers are elsewhere. */
static void conflict(void **state)
{
	struct peer c, same;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	same = c;
	same.seq[CLIENT] += 0x50000000;
	same.seq[BROKER] += 0x20000000;
	publish_alias(&two, &same, "t/x", 3, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_CONFLICT), 1);
	close_fleet();
}

/* Records of another origin change nothing, and what waits is searched. */
static void hostile_answers(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	close_fleet();
	for (size_t at = 0; at < stored.n; at++) {
		uint8_t bad[BP_CONNECTION_RECORD_MAX];
		const size_t n = stored.n;
		uint64_t results;

		memcpy(bad, stored.p, n);
		bad[at] ^= 0x81;
		open_gateway(&two, 2);
		publish_alias(&two, &c, "", 3, "90");
		assert_true(request(&k));
		offer_record(&k, bad, n);
		results = rig_count(&two, BP_C_FLEET_INVALID) +
			  rig_count(&two, BP_C_FLEET_ADOPTED) +
			  rig_count(&two, BP_C_FLEET_CONFLICT) + rig_count(&two, BP_C_FLEET_STALE);
		assert_int_equal(results, 1);
		/* the magic number, and the key */
		if (at < 49)
			assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 1);
		publish_alias(&two, &c, "t/x", 3, "91");
		rig_close(&two);
		/* cut */
		open_gateway(&two, 2);
		publish_alias(&two, &c, "", 3, "90");
		assert_true(request(&k));
		offer_bytes(BP_ADOPT_FOUND, &k, stored.p, at);
		assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 1);
		rig_close(&two);
	}
}

/* Bytes of an answer that are no answer, and a ring that another process has overwritten. */
static void damaged_ring(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&two, &c, "", 3, "90");
	assert_true(request(&k));
	k.ip6 = 7;
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_INVALID), 1);
	/* a head that cannot be */
	atomic_store(&two.shm.adopt_offers[0].shared->head, UINT64_C(0x123456789abc0));
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	rig_advance(&two, 1000000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), 1);
	close_fleet();
}

static void many_connections(struct rig *r)
{
	r->mqtt.max_connections = r->mqtt.max_unestablished = 20000;
	r->mqtt.reassembly_total = 64 << 20;
}

static void publish_from(uint32_t first, uint32_t end, bool ip6)
{
	for (uint32_t i = first; i < end; i++) {
		struct peer c;

		peer_init(&c, ip6, i + 1, 1, 2);
		rig_publish_text(&two, &c, "t/x", "81");
	}
}

#define OPEN_MAX 256u /* as in fleet_adopt.c */

/* Requests beyond those that may be without an answer wait, in their order. */
static void requests_wait_for_answers(void **state)
{
	struct bp_connection_key k;
	unsigned n = 0;

	(void)state;
	configure = many_connections;
	open_fleet();
	configure = NULL;
	publish_from(0, 1200, false);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), OPEN_MAX);
	assert_true(
		bp_ring_used(&two.shm.adopt_requests[0]) <= two.shm.adopt_requests[0].capacity / 4);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_DEFERRED), 1200 - OPEN_MAX);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), OPEN_MAX);
	for (; request(&k); n++) {
		assert_int_equal(k.client_ip[2] << 8 | k.client_ip[3], n + 1);
		offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
	}
	assert_int_equal(n, 1200);
	assert_int_equal(rig_count(&two, BP_C_FLEET_NOT_FOUND), 1200);
	/* those that were given up are not requested later */
	publish_from(1200, 2400, false);
	rig_advance(&two, 1000000000);
	for (unsigned i = 0; i < 1200 / 16; i++)
		bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), 1200);
	for (n = 0; request(&k); n++)
		;
	assert_int_equal(n, OPEN_MAX);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_false(request(&k));
	/* an answer that was lost is not missed after this time */
	publish_from(2400, 2400 + OPEN_MAX, false);
	for (n = 0; request(&k); n++)
		;
	assert_int_equal(n, OPEN_MAX);
	close_fleet();
}

/* More requests than the fleet answers: those that would be answered too late make way. */
static void late_requests_make_way(void **state)
{
	struct bp_connection_key k;

	(void)state;
	configure = many_connections;
	open_fleet();
	configure = NULL;
	publish_from(0, 1200, false);
	assert_true(request(&k));
	rig_advance(&two, 600000000);
	publish_from(1200, 1201, false);
	for (unsigned i = 0; i < 8; i++)
		bp_mqtt_worker_tick(two.in, two.mono_ns);
	offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
	for (unsigned i = 1; i <= OPEN_MAX; i++) {
		assert_true(request(&k));
		assert_int_equal(k.client_ip[2] << 8 | k.client_ip[3], i < OPEN_MAX ? i + 1 : 1201);
	}
	assert_false(request(&k));
	close_fleet();
}

/* More requests than wait at one time are searched immediately. */
static void requests_are_bounded(void **state)
{
	(void)state;
	configure = many_connections;
	open_fleet();
	configure = NULL;
	publish_from(0, 16384 + 100, false);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_FULL), 100);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 100);
	/* and there is space again; the searches are distributed over ticks */
	rig_advance(&two, 1000000000);
	bp_mqtt_worker_tick(two.in, two.mono_ns);
	assert_in_range(rig_count(&two, BP_C_RESYNC_STARTED), 100, 116);
	publish_from(16484, 16485, false);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_FULL), 100);
	close_fleet();
}

/* One client, an IPv6 /64, leaves space for others. */
static void requests_of_a_client_are_bounded(void **state)
{
	(void)state;
	configure = many_connections;
	open_fleet();
	configure = NULL;
	publish_from(0, 4096 + 44, true);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_CLIENT), 44);
	publish_from(0, 1, false);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_CLIENT), 44);
	rig_advance(&two, 1000000000);
	for (unsigned i = 0; i < 4096 / 16 + 1; i++)
		bp_mqtt_worker_tick(two.in, two.mono_ns);
	publish_from(5000, 5001, true);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASK_CLIENT), 44);
	close_fleet();
}

/* QoS 2: a publication that the other gateway evaluated is repeated here. */
static void qos2_in_flight(void **state)
{
	struct mq_publish p = {.version = 4, .qos = 2, .id = 7, .topic = "t/x", .payload = "90"};
	struct peer c;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&one, &c, 4, "q");
	rig_publish(&one, &c, CLIENT, &p);
	rig_send(&one, &c, BROKER, "\x50\2\0\7", 4);
	rig_ack(&one, &c, CLIENT);
	assert_string_equal(rig_told_values(&one), "90");
	rest_and_scan();
	p.dup = true;
	rig_publish(&two, &c, CLIENT, &p);
	offer();
	assert_int_equal(rig_count(&two, BP_C_QOS2_DUPLICATE), 1);
	assert_string_equal(rig_told_values(&two), "");
	rig_send(&two, &c, CLIENT, "\x62\2\0\7", 4);
	p.dup = false;
	p.payload = "91";
	rig_publish(&two, &c, CLIENT, &p);
	assert_string_equal(rig_told_values(&two), "91");
	close_fleet();
}

static void will_is_evaluated(void **state)
{
	static const uint8_t connect[] = "\x10\x16\0\4MQTT\4\6\0\x3c\0\1w\0\3t/w\0\2"
					 "95";
	struct peer c;

	(void)state;
	open_fleet();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&one, &c);
	rig_send(&one, &c, CLIENT, connect, 24);
	rig_accept(&one, &c, 4);
	rig_ack(&one, &c, CLIENT);
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
	rig_publish_text(&two, &c, "t/x", "1");
	offer();
	rig_segment(&two, &c, BROKER, TH_RST | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&two, BP_C_WILL_EVALUATED), 1);
	assert_string_equal(rig_told_values(&two), "95");
	close_fleet();
}

/* A process that is killed meanwhile asks again. */
static void restart_while_asked(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&two, &c, "", 3, "2");
	assert_true(request(&k));
	rig_restart(&two);
	offer_bytes(BP_ADOPT_FOUND, &k, stored.p, stored.n);
	assert_int_equal(rig_count(&two, BP_C_FLEET_LATE), 1);
	publish_alias(&two, &c, "", 3, "90");
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_STALE), 1);
	close_fleet();
}

/* Closed before the answer: nothing is left behind. */
static void closed_while_asked(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	publish_alias(&two, &c, "", 3, "90");
	rig_fin_both(&two, &c);
	assert_int_equal(bp_mqtt_worker_carried(two.in), 0);
	offer();
	assert_int_equal(rig_count(&two, BP_C_FLEET_LATE), 1);
	close_fleet();
}

/* A segment that no receiver accepts asks for nothing: else a forger could take the connection from
 * the gateway that inspects it. */
static void forged_segment_asks_for_nothing(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	connect_alias(&c, 1);
	rig_segment(&two, &c, CLIENT, TH_PSH, c.seq[CLIENT], 0, "x", 1);
	assert_int_equal(rig_count(&two, BP_C_CONN_MIDSTREAM), 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 0);
	close_fleet();
}

/* Without a fleet nothing is asked. */
static void off(void **state)
{
	struct bp_connection_key k;
	struct peer c;

	(void)state;
	rig_defaults(&two);
	rig_open(&two);
	peer_init(&c, false, 1, 1, 2);
	rig_publish_text(&two, &c, "t/x", "81");
	assert_false(request(&k));
	assert_int_equal(rig_count(&two, BP_C_FLEET_ASKED), 0);
	assert_int_equal(rig_count(&two, BP_C_RESYNC_STARTED), 1);
	rig_close(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_at_once),
		cmocka_unit_test(answered_at_every_cut),
		cmocka_unit_test(gap_is_retransmitted),
		cmocka_unit_test(repeated_bytes_are_not_read_twice),
		cmocka_unit_test(stale),
		cmocka_unit_test(stale_aliases_that_change),
		cmocka_unit_test(stale_aliases_end_in_the_search),
		cmocka_unit_test(stale_without_answers),
		cmocka_unit_test(proven_by_pushes),
		cmocka_unit_test(stale_with_answers),
		cmocka_unit_test(stale_from_the_broker_alone),
		cmocka_unit_test(stale_aliases_of_an_unseen_direction),
		cmocka_unit_test(stale_for_a_moment),
		cmocka_unit_test(lost_acknowledgements),
		cmocka_unit_test(response_is_not_seen),
		cmocka_unit_test(gap_is_acknowledged),
		cmocka_unit_test(not_found),
		cmocka_unit_test(late),
		cmocka_unit_test(proven_is_not_overwritten),
		cmocka_unit_test(websocket_is_not_shared),
		cmocka_unit_test(conflict),
		cmocka_unit_test(hostile_answers),
		cmocka_unit_test(damaged_ring),
		cmocka_unit_test(requests_wait_for_answers),
		cmocka_unit_test(late_requests_make_way),
		cmocka_unit_test(requests_are_bounded),
		cmocka_unit_test(requests_of_a_client_are_bounded),
		cmocka_unit_test(qos2_in_flight),
		cmocka_unit_test(will_is_evaluated),
		cmocka_unit_test(restart_while_asked),
		cmocka_unit_test(closed_while_asked),
		cmocka_unit_test(forged_segment_asks_for_nothing),
		cmocka_unit_test(off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
