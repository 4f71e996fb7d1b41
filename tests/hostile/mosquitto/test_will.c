/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "rig.h"

/*
 * A device whose alarm is its will: it says in CONNECT what the broker is to publish when the
 * connection dies, and dies. And a client that would raise an alarm by a will that no broker
 * publishes: discarded by DISCONNECT, or of a connection that was refused.
 */

static struct rig rig;

static void open_rig(uint8_t strictness)
{
	rig_defaults(&rig);
	rig.mqtt.strictness = strictness;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
}

static void string(struct bytes *b, const void *s, size_t n)
{
	bytes_be16(b, (uint16_t)n);
	bytes_add(b, s, n);
}

struct will {
	uint8_t version;
	uint16_t keep_alive;
	uint32_t delay, expiry;
	bool resume;           /* Clean Start 0 */
	const char *client_id; /* NULL: dev */
	const char *topic;     /* NULL: no will */
	const char *payload;
	size_t payload_len; /* 0: a string */
};

static void connect_packet(struct bytes *out, const struct will *w)
{
	struct bytes b = {0};

	string(&b, "MQTT", 4);
	bytes_u8(&b, w->version);
	bytes_u8(&b, (w->resume ? 0 : 0x02) | (w->topic != NULL ? 0x04 : 0));
	bytes_be16(&b, w->keep_alive);
	if (w->version == 5) {
		bytes_u8(&b, w->expiry != 0 ? 5 : 0);
		if (w->expiry != 0) {
			bytes_u8(&b, 0x11);
			bytes_be16(&b, (uint16_t)(w->expiry >> 16));
			bytes_be16(&b, (uint16_t)w->expiry);
		}
	}
	string(&b, w->client_id != NULL ? w->client_id : "dev",
		w->client_id != NULL ? strlen(w->client_id) : 3);
	if (w->topic == NULL) {
		mq_raw(out, 0x10, b.p, b.n);
		bytes_free(&b);
		return;
	}
	if (w->version == 5) {
		bytes_u8(&b, w->delay != 0 ? 5 : 0);
		if (w->delay != 0) {
			bytes_u8(&b, 0x18);
			bytes_be16(&b, (uint16_t)(w->delay >> 16));
			bytes_be16(&b, (uint16_t)w->delay);
		}
	}
	string(&b, w->topic, strlen(w->topic));
	string(&b, w->payload, w->payload_len != 0 ? w->payload_len : strlen(w->payload));
	mq_raw(out, 0x10, b.p, b.n);
	bytes_free(&b);
}

static void connect_peer(struct peer *c, const struct will *w, uint8_t code)
{
	struct bytes b = {0};

	rig_handshake(&rig, c);
	connect_packet(&b, w);
	rig_send_bytes(&rig, c, CLIENT, &b);
	mq_connack(&b, w->version, code, 0, NULL);
	rig_send_bytes(&rig, c, BROKER, &b);
	rig_ack(&rig, c, CLIENT);
}

static void connect_with(struct peer *c, uint32_t number, const struct will *w, uint8_t code)
{
	peer_init(c, false, number, 100, 200);
	connect_peer(c, w, code);
}

static void reset(struct peer *c, unsigned from)
{
	rig_segment(&rig, c, from, TH_RST | TH_ACK, c->seq[from], c->seq[!from], NULL, 0);
}

static void fin(struct peer *c, unsigned from)
{
	rig_segment(&rig, c, from, TH_FIN | TH_ACK, c->seq[from]++, c->seq[!from], NULL, 0);
}

/* However the connection dies: once, at its end, and not before. */
static void published_at_the_end(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		struct will w = {.version = how & 1 ? 5 : 4, .topic = "w/dev", .payload = "91"};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){
				.version = w.version, .topic = "w/x", .payload = "85"});
		assert_string_equal(rig_told_values(&rig), "85");
		if (how < 2)
			fin(&c, how == 0 ? CLIENT : BROKER);
		else if (how < 4)
			reset(&c, how == 2 ? CLIENT : BROKER);
		else if (how == 4) /* the broker closes it for a fault */
			rig_send(&rig, &c, CLIENT, "\x36\0", 2), fin(&c, BROKER);
		else
			rig_fin_both(&rig, &c);
		assert_string_equal(rig_told_values(&rig), "91");
		if (how < 2)
			reset(&c, CLIENT);
		assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
		assert_string_equal(rig_told_values(&rig), "");
		rig_close(&rig);
	}
}

static void topic_and_client_of_the_alarm(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct told_list told;
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	fin(&c, CLIENT);
	told = rig_told(&rig);
	assert_int_equal(told.n, 1);
	assert_string_equal(told.a[0].topic, "w/dev");
	assert_string_equal(told.a[0].client, "dev");
	assert_string_equal((char *)told.a[0].payload, "91");
	told_free(&told);
	rig_close(&rig);
}

/* A new connection on the same addresses: the old one ended unseen. */
static void will_is_published_if_a_new_connection_supersedes(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	peer_init(&c, false, 1, 70000000, 90000000);
	rig_handshake(&rig, &c);
	assert_string_equal(rig_told_values(&rig), "91");
	rig_close(&rig);
}

static void will_is_discarded_by_a_normal_disconnect(void **state)
{
	static const struct {
		uint8_t version, n;
		uint8_t bytes[8];
		bool published;
	} disconnect[] = {
		{4, 2, {0xe0, 0}, false},
		{5, 2, {0xe0, 0}, false},
		{5, 3, {0xe0, 1, 0}, false},
		{5, 4, {0xe0, 2, 0, 0}, false},
		{5, 3, {0xe0, 1, 0x04}, true}, /* with will message */
		{5, 4, {0xe0, 2, 0x04, 0}, true},
		/* an expiry interval after a CONNECT with none is a fault */
		{5, 8, {0xe0, 7, 0, 5, 0x11, 0, 0, 0}, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(disconnect) / sizeof(disconnect[0]); i++) {
		struct will w = {
			.version = disconnect[i].version, .topic = "w/dev", .payload = "91"};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_send(&rig, &c, CLIENT, disconnect[i].bytes, disconnect[i].n);
		if (disconnect[i].n == 8)
			rig_send(&rig, &c, CLIENT, "\x09", 1);
		rig_fin_both(&rig, &c);
		assert_string_equal(rig_told_values(&rig), disconnect[i].published ? "91" : "");
		assert_int_equal(
			rig_count(&rig, BP_C_WILL_DISCARDED), disconnect[i].published ? 0 : 1);
		rig_close(&rig);
	}
}

/* CONNACK 5, and a handshake that never completes: no will is published. */
static void refused_or_unproven(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 5);
	rig_fin_both(&rig, &c);
	peer_init(&c, false, 2, 100, 200);
	connect_packet(&b, &w);
	rig_segment(&rig, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, 0, NULL, 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	fin(&c, CLIENT);
	reset(&c, CLIENT);
	assert_string_equal(rig_told_values(&rig), "");
	rig_close(&rig);
}

#define MS 1000000ull

static const char *told_after(uint64_t ms)
{
	rig_advance(&rig, ms * MS);
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	return rig_told_values(&rig);
}

/* With a delay: then, and not before. Where the session ends earlier, then; where it ends with the
 * connection, mosquitto waits all the same. */
static void will_delay_is_observed(void **state)
{
	static const struct {
		uint8_t view;
		uint32_t expiry, seconds;
	} cases[] = {
		{BP_STRICTNESS_MOSQUITTO, 0, 5},
		{BP_STRICTNESS_STANDARD, 0, 0},
		{BP_STRICTNESS_MOSQUITTO, 3, 3},
		{BP_STRICTNESS_STANDARD, 3, 3},
		{BP_STRICTNESS_MOSQUITTO, UINT32_MAX, 5},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct will w = {.version = 5,
			.topic = "w/dev",
			.payload = "91",
			.delay = 5,
			.expiry = cases[i].expiry};
		struct told_list l;
		struct peer c;

		open_rig(cases[i].view);
		connect_with(&c, 1, &w, 0);
		rig_fin_both(&rig, &c);
		if (cases[i].seconds != 0) {
			assert_int_equal(rig_count(&rig, BP_C_WILL_DELAYED), 1);
			assert_string_equal(told_after(cases[i].seconds * 1000ull - 10), "");
			rig_advance(&rig, 10 * MS);
			bp_mqtt_worker_tick(rig.in, rig.mono_ns + 7);
		}
		l = rig_told(&rig);
		assert_int_equal(l.n, 1);
		assert_int_equal(
			l.a[0].times.received_ns, rig.mono_ns + (cases[i].seconds != 0 ? 7 : 0));
		assert_string_equal(l.a[0].topic, "w/dev");
		assert_string_equal(l.a[0].client, "dev");
		assert_memory_equal(l.a[0].client_ip, c.client_ip, 4);
		assert_int_equal(l.a[0].client_port, c.client_port);
		told_free(&l);
		assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
		rig_close(&rig);
	}
}

/* By the rules at that time, though no segment has come since the reload. */
static void delayed_will_meets_new_rules(void **state)
{
	const struct will w = {.version = 5, .topic = "w/dev", .payload = "91", .delay = 5};
	struct bp_rule_spec high = rig_rule("r", "w/#", BP_COND_GT, 95);
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	bp_mqtt_worker_follow_rules(rig.in, &rig.rules);
	connect_with(&c, 1, &w, 0);
	rig_fin_both(&rig, &c);
	rig_reload(&rig, &high, 1);
	rig.now_ns += 5000 * MS;
	rig.mono_ns += 5000 * MS;
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	assert_string_equal(rig_told_values(&rig), "");
	assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
	rig_close(&rig);
}

/* DISCONNECT with will message, which shortens the session. */
static void session_is_shortened(void **state)
{
	struct will w = {
		.version = 5, .topic = "w/dev", .payload = "91", .delay = 50, .expiry = 100};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	rig_send(&rig, &c, CLIENT, "\xe0\x07\x04\x05\x11\0\0\0\x02", 9);
	rig_fin_both(&rig, &c);
	assert_string_equal(told_after(1900), "");
	assert_string_equal(told_after(200), "91");
	rig_close(&rig);
}

enum back { RESUMES, BEGINS, OTHER_CLIENT, OTHER_BROKER, REFUSED, UNPROVEN, BACKS };

static void come_back(enum back how)
{
	struct will w = {.version = 5, .resume = how != BEGINS, .expiry = 100};
	struct bytes b = {0};
	struct peer c;

	if (how == OTHER_CLIENT)
		w.client_id = "dew";
	peer_init(&c, false, 2, 100, 200);
	if (how == OTHER_BROKER)
		c.broker_ip[3]++;
	if (how != UNPROVEN) {
		connect_peer(&c, &w, how == REFUSED ? 0x87 : 0);
		return;
	}
	/* all of it, but no one proves to have received the SYN-ACK */
	rig_segment(&rig, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, 0, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
	connect_packet(&b, &w);
	c.seq[BROKER] += 7;
	rig_send_bytes(&rig, &c, CLIENT, &b);
	c.seq[BROKER] -= 7;
	rig_accept(&rig, &c, 5);
}

/* The client is back by then: the broker does not publish it. Somebody else, or who is not
 * accepted, is not the client. */
static void back_in_time(void **state)
{
	(void)state;
	for (uint8_t view = 0; view < 2; view++) {
		for (enum back how = 0; how < BACKS; how++) {
			struct will w = {.version = 5,
				.topic = "w/dev",
				.payload = "91",
				.delay = 5,
				.expiry = 100};
			/* by the standard a new session ends the old one, with its will */
			const bool cancelled = how == RESUMES ||
					       (how == BEGINS && view == BP_STRICTNESS_MOSQUITTO);
			struct peer c;

			open_rig(view);
			connect_with(&c, 1, &w, 0);
			reset(&c, CLIENT);
			assert_string_equal(told_after(1000), "");
			come_back(how);
			assert_string_equal(told_after(4100), cancelled ? "" : "91");
			assert_int_equal(rig_count(&rig, BP_C_WILL_CANCELED), cancelled);
			assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), !cancelled);
			rig_close(&rig);
		}
	}
}

/* A broker that accepts the new connection before it closes the old one; and one too late. */
static void session_is_superseded(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		struct will w = {
			.version = 5, .topic = "w/dev", .payload = "91", .delay = 5, .expiry = 100};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_advance(&rig, 10 * MS);
		if (!late)
			come_back(RESUMES);
		rig_fin_both(&rig, &c);
		assert_string_equal(told_after(5001), late ? "91" : "");
		come_back(RESUMES);
		assert_string_equal(told_after(5001), "");
		rig_close(&rig);
	}
}

/* The next connection of the client is another worker's. */
static void another_worker(void **state)
{
	(void)state;
	for (unsigned back = 0; back < 2; back++) {
		struct will w = {
			.version = 5, .topic = "w/dev", .payload = "91", .delay = 5, .expiry = 100};
		struct bp_mqtt_worker *first, *second;
		struct bp_mqtt_options options;
		char err[256];
		struct peer c;

		rig_defaults(&rig);
		rig.config.n_workers = 2;
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
		first = rig.in;
		bp_config_mqtt_options(&rig.config, &options);
		second = bp_mqtt_worker_create(&options, &rig.shm, 1, true, err, sizeof(err));
		assert_non_null(second);
		connect_with(&c, 1, &w, 0);
		reset(&c, CLIENT);
		rig.in = second;
		rig_advance(&rig, 1000 * MS);
		if (back)
			come_back(RESUMES);
		rig_expire_all(&rig);
		rig.in = first;
		bp_mqtt_worker_begin(first, rig.rules, rig.now_ns, rig.mono_ns);
		assert_string_equal(told_after(5000), back ? "" : "91");
		bp_mqtt_worker_free(second);
		rig_close(&rig);
	}
}

/* As many as there may be connections wait, each for its time. */
static void several_wills_are_pending(void **state)
{
	enum { FLOWS = 100, MORE = 20 };
	unsigned told = 0;
	uint64_t waiting;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_connections = FLOWS;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
	for (unsigned i = 0; i < FLOWS + MORE; i++) {
		char value[8], id[8];
		struct will w = {.version = 5,
			.topic = "w/dev",
			.payload = value,
			.client_id = id,
			.delay = 1 + i * 37 % (FLOWS + MORE)};
		struct peer c;

		snprintf(value, sizeof(value), "%u", 100 + w.delay);
		snprintf(id, sizeof(id), "c%u", i);
		connect_with(&c, 1 + i, &w, 0);
		reset(&c, BROKER);
	}
	/* client addresses have 512 classes: for two of one class an entry may be missing at the
	 * end */
	waiting = rig_count(&rig, BP_C_WILL_DELAYED);
	assert_in_range(waiting, FLOWS - 5, FLOWS);
	assert_int_equal(waiting + rig_count(&rig, BP_C_WILL_DELAYED_FULL), FLOWS + MORE);
	assert_string_equal(told_after(10), "");
	for (unsigned i = 0; i < FLOWS + MORE; i++) {
		const char *values = told_after(1000);
		char value[8];

		snprintf(value, sizeof(value), "%u", 101 + i);
		if (*values != '\0')
			assert_string_equal(values, value);
		told += *values != '\0';
	}
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	assert_int_equal(told, waiting);
	rig_close(&rig);
}

/* A client that reconnects repeatedly with a long delay, and one with a new client identifier each
 * time: wills that can never be published are removed, and no client uses all entries. */
static void session_connects_and_disconnects(void **state)
{
	enum { FLOWS = 300 };
	struct peer c;

	(void)state;
	for (unsigned names = 0; names < 2; names++) {
		struct will w = {.version = 5,
			.topic = "w/dev",
			.payload = "91",
			.delay = 100000,
			.expiry = 100000};
		char id[8];

		rig_defaults(&rig);
		rig.mqtt.max_connections = FLOWS;
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
		w.client_id = id;
		for (unsigned i = 0; i < 2 * FLOWS; i++) {
			snprintf(id, sizeof(id), "c%u", names ? i : 0);
			peer_init(&c, false, 1, 100 + 1000000 * i, 200);
			connect_peer(&c, &w, 0);
			reset(&c, BROKER);
			told_after(10);
		}
		if (names) {
			assert_int_equal(bp_mqtt_worker_delayed(rig.in), FLOWS / 3);
			assert_int_equal(
				rig_count(&rig, BP_C_WILL_DELAYED_FULL), 2 * FLOWS - FLOWS / 3);
		} else {
			assert_in_range(bp_mqtt_worker_delayed(rig.in), 1, 3);
			assert_int_equal(rig_count(&rig, BP_C_WILL_DELAYED_FULL), 0);
		}
		w.delay = 5;
		w.client_id = NULL;
		connect_with(&c, 2, &w, 0);
		reset(&c, BROKER);
		assert_string_equal(told_after(5001), "91");
		rig_close(&rig);
	}
}

/* Waiting wills are lost with the process; the next one counts them. */
static void waiting_wills_are_counted_after_a_restart(void **state)
{
	struct will w = {
		.version = 5, .topic = "w/dev", .payload = "91", .delay = 5, .expiry = 100};
	struct peer c, d;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	w.client_id = "d2";
	w.payload = "92";
	connect_with(&d, 2, &w, 0);
	reset(&c, CLIENT);
	rig_restart(&rig);
	rig_restart(&rig);
	assert_int_equal(rig_count(&rig, BP_C_WILL_DELAYED_RESTART), 1);
	reset(&d, CLIENT); /* after it: normally */
	assert_string_equal(told_after(5001), "92");
	rig_restart(&rig);
	assert_int_equal(rig_count(&rig, BP_C_WILL_DELAYED_RESTART), 1);
	rig_close(&rig);
}

/* Lost bytes before the end may have been the DISCONNECT. */
static void unclear_end(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	c.seq[CLIENT] += 2;
	rig_ack(&rig, &c, BROKER);
	rig_fin_both(&rig, &c);
	assert_string_equal(rig_told_values(&rig), "");
	assert_int_equal(rig_count(&rig, BP_C_WILL_NOT_INSPECTED), 1);
	rig_close(&rig);
}

/* Silent for over one and a half times the keep alive: closed by the broker, seen by biplane or
 * not. */
static void keep_alive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct will w = {.version = 4,
			.topic = "w/dev",
			.payload = "91",
			.keep_alive = i == 0 ? 10 : 0};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_expire_all(&rig);
		assert_string_equal(rig_told_values(&rig), i == 0 ? "91" : "");
		assert_int_equal(rig_count(&rig, BP_C_WILL_EVICTED), i);
		rig_close(&rig);
	}
}

/* A will over the limits is counted, and the connection is not affected otherwise. */
static void will_over_the_limits_is_counted(void **state)
{
	static char payload[65000];
	struct will w = {
		.version = 4, .topic = "w/dev", .payload = payload, .payload_len = sizeof(payload)};
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = 32 * 1024;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
	connect_with(&c, 1, &w, 0);
	assert_int_equal(rig_count(&rig, BP_C_WILL_NO_MEMORY), 1);
	rig_publish_text(&rig, &c, "w/x", "85");
	assert_string_equal(rig_told_values(&rig), "85");
	rig_close(&rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_at_the_end),
		cmocka_unit_test(topic_and_client_of_the_alarm),
		cmocka_unit_test(will_is_published_if_a_new_connection_supersedes),
		cmocka_unit_test(will_is_discarded_by_a_normal_disconnect),
		cmocka_unit_test(refused_or_unproven),
		cmocka_unit_test(will_delay_is_observed),
		cmocka_unit_test(delayed_will_meets_new_rules),
		cmocka_unit_test(session_is_shortened),
		cmocka_unit_test(back_in_time),
		cmocka_unit_test(session_is_superseded),
		cmocka_unit_test(another_worker),
		cmocka_unit_test(several_wills_are_pending),
		cmocka_unit_test(session_connects_and_disconnects),
		cmocka_unit_test(waiting_wills_are_counted_after_a_restart),
		cmocka_unit_test(unclear_end),
		cmocka_unit_test(keep_alive),
		cmocka_unit_test(will_over_the_limits_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
