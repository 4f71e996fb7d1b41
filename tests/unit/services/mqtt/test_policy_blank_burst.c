/* SPDX-License-Identifier: BSD-3-Clause */
/* Topics that the burst path overwrites: when it does, and what a sender can do against it. The
 * broker must not receive a byte of a refused message under its topic. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

#define SECRET "t/secret"
#define QUARANTINE "$refused"

static void open_bursts(uint8_t action, const char *topic)
{
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.bursts = true;
	rig.burst_size = 1;
	rule(action, BP_POLICY_PUBLISH, topic);
	load();
}

static void send(struct peer *c, const struct mq_publish *p)
{
	struct bytes b = {0};

	mq_publish(&b, p);
	rig_send_bytes(&rig, c, CLIENT, &b);
	rig_flush(&rig);
}

static void send_topic(struct peer *c, const char *topic)
{
	send(c, &(struct mq_publish){.version = 4, .topic = topic, .payload = "81"});
}

/* From byte `at` on, the broker has received exactly this packet. */
static void assert_publish(uint32_t at, const struct mq_publish *p)
{
	struct bytes b = {0};

	mq_publish(&b, p);
	assert_int_equal(received(&broker), at + b.n);
	assert_memory_equal(broker.byte + at, b.p, b.n);
	bytes_free(&b);
}

static void assert_topic(uint32_t at, const char *topic)
{
	assert_publish(at, &(struct mq_publish){.version = 4, .topic = topic, .payload = "81"});
}

/* A connection of which the decision about SECRET is kept: the general path has blanked one. */
static struct peer decided(void)
{
	struct peer c = connected(4);
	const uint32_t at = received(&broker);

	send_topic(&c, SECRET);
	assert_topic(at, QUARANTINE);
	assert_int_equal(rig.n_blanked, 0);
	return c;
}

/* ---- what is blanked ---- */

static struct bp_event last_event(struct bp_event_cursor *cursor)
{
	struct bp_event e = {0}, next;
	uint64_t lost;

	while (bp_event_cursor_read(cursor, &next, &lost) == BP_EVENT_GOT_RECORD)
		e = next;
	return e;
}

/* The first one, which the general path decides about, and the next ones have the same bytes,
 * statistics and event. Their counters are compared in test_policy_burst.c. */
static void as_on_the_general_path(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const struct mq_publish refused = {.version = i % 3 == 2 ? 5 : 4,
			.topic = SECRET,
			.payload = "81",
			.retain = i & 1,
			.qos = i / 3,
			.id = i / 3 != 0 ? 7 : 0};
		struct mq_publish forwarded = refused;
		struct bp_event_cursor cursor;
		struct bp_event event[3];
		struct bp_event_ring ring;
		struct peer c;

		open_bursts(BP_POLICY_BLANK, "t/+");
		ring = bp_shm_events(&rig.shm, 0);
		bp_event_cursor_open(&cursor, ring.slot, sizeof(*ring.slot), ring.size, 0);
		c = connected(refused.version);
		forwarded.topic = QUARANTINE;
		forwarded.retain = false;
		for (unsigned k = 0; k < 3; k++) {
			const uint32_t at = received(&broker);

			send(&c, &refused);
			assert_publish(at, &forwarded);
			event[k] = last_event(&cursor);
			assert_memory_equal(&event[k], &event[0], sizeof(event[k]));
		}
		assert_int_equal(rig.n_blanked, 2);
		assert_int_equal(event[0].type, BP_EVENT_POLICY);
		assert_int_equal(atomic_load(&rig.shm.policy_stats[1].matched), 3);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 3);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_REFUSED), 3);
		assert_string_equal(rig_told_values(&rig), "");
		rig_close(&rig);
	}
}

static void each_length_of_topic(void **state)
{
	char topic[221], to_broker[221];
	uint64_t blanked = 0;
	struct peer c;

	(void)state;
	open_bursts(BP_POLICY_BLANK, "+");
	c = connected(4);
	for (unsigned n = 2; n <= 220; n++) {
		memset(topic, 'x', n);
		memset(to_broker, '-', n);
		memcpy(to_broker, QUARANTINE "/", n < 9 ? n : 9);
		topic[n] = to_broker[n] = '\0';
		for (unsigned k = 0; k < 2; k++) {
			const uint32_t at = received(&broker);

			send_topic(&c, topic);
			assert_topic(at, to_broker);
			rig_ack(&rig, &c, BROKER);
			broker.acked = received(&broker);
		}
		assert_int_equal(rig.n_blanked, ++blanked);
	}
	rig_close(&rig);
}

/* The only text of one byte that begins with $ is a refused filter; and without a quarantine topic
 * of two bytes, there is none for a message. */
static void no_topic_to_write(void **state)
{
	static const char *const topics[] = {"x", "xy"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer c;

		open_rig(BP_POLICY_FAIL_CLOSED);
		rig.bursts = true;
		rig.mqtt.policy.fallback = BP_POLICY_FALLBACK_PASS;
		if (i == 1)
			snprintf(rig.mqtt.policy.quarantine, sizeof(rig.mqtt.policy.quarantine),
				"$");
		rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, "+");
		load();
		c = connected(4);
		send_topic(&c, "ab"); /* decisions to blank are kept */
		for (unsigned k = 0; k < 3; k++) {
			const uint32_t at = received(&broker);

			send_topic(&c, topics[i]);
			assert_topic(at, topics[i]);
		}
		assert_int_equal(rig.n_blanked, 0);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 3 + i);
		rig_close(&rig);
	}
}

/* ---- what is left to the general path, with the same outcome ---- */

static void left_to_the_general_path(void **state)
{
	static const struct mq_publish with[] = {
		{.version = 4, .topic = SECRET, .payload = "81", .qos = 1, .id = 7, .dup = true},
		{.version = 4, .topic = SECRET, .payload = "81", .qos = 2, .id = 7},
		{.version = 5, .topic = SECRET, .payload = "81", .alias = 3},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct mq_publish forwarded = with[i];
		struct peer c;

		open_bursts(BP_POLICY_BLANK, SECRET);
		c = open_peer();
		if (with[i].version == 5)
			rig_connect_alias(&rig, &c, "pump-1", 10, 10);
		else
			rig_connect(&rig, &c, 4, "pump-1");
		forwarded.topic = QUARANTINE;
		for (unsigned k = 0; k < 3; k++) {
			const uint32_t at = received(&broker);

			send(&c, &with[i]);
			assert_publish(at, &forwarded);
		}
		assert_int_equal(rig.n_blanked, 0);
		rig_close(&rig);
	}
}

/* A frame whose bytes are also those of another one, or in several buffers, is not written. */
static void not_writable(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	c = decided();
	at = received(&broker);
	rig.no_payload = true;
	send_topic(&c, SECRET);
	assert_int_equal(received(&broker), at);
	assert_int_equal(rig.n_blanked, 0);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_PIECES), 1);
	rig_close(&rig);
}

/* Two packets in a segment, a packet in two segments, and bytes behind a packet. */
static void other_cuts(void **state)
{
	const struct mq_publish p = {.version = 4, .topic = SECRET, .payload = "81"};
	struct bytes b = {0};
	struct peer c;
	uint32_t at;
	size_t one;

	(void)state;
	mq_publish(&b, &p);
	one = b.n;
	mq_publish(&b, &p);
	for (size_t n = 1; n <= b.n; n++) {
		open_bursts(BP_POLICY_BLANK, SECRET);
		c = decided();
		at = received(&broker);
		rig_send(&rig, &c, CLIENT, b.p, n);
		rig_flush(&rig);
		if (n < b.n)
			rig_send(&rig, &c, CLIENT, b.p + n, b.n - n);
		rig_flush(&rig);
		for (uint32_t i = at; i + one <= received(&broker); i++)
			assert_memory_not_equal(broker.byte + i, b.p, 2 + 2 + strlen(SECRET));
		assert_int_equal(rig.n_blanked, n == one ? 2 : 0);
		rig_close(&rig);
	}
	bytes_free(&b);
}

/* ---- retransmissions ---- */

/* The broker receives what was forwarded first, whatever the client sends again. */
static void retransmission(void **state)
{
	static const char *const again[] = {SECRET, "t/x12345", QUARANTINE};

	(void)state;
	for (unsigned i = 0; i < 3 * 3 * 2; i++) {
		struct mq_publish p = {.version = 4, .topic = SECRET, .payload = "81"};
		struct bytes b = {0};
		struct peer c;
		uint32_t at, seq, step = (const uint32_t[]){1, 5, UINT32_MAX}[i / 3 % 3];

		open_bursts(BP_POLICY_BLANK, SECRET);
		c = decided();
		at = received(&broker);
		seq = c.seq[CLIENT];
		broker.deaf = true; /* it gets lost behind biplane */
		send_topic(&c, SECRET);
		broker.deaf = false;
		assert_int_equal(rig.n_blanked, 1);
		if (i / 9 != 0)
			rig_restart(&rig);
		p.topic = again[i % 3];
		p.payload = "99";
		mq_publish(&b, &p);
		for (uint32_t k = 0; k < b.n; k += step) {
			const uint32_t n = (uint32_t)b.n - k < step ? (uint32_t)b.n - k : step;

			rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, seq + k, c.seq[BROKER],
				b.p + k, n);
			rig_flush(&rig);
			if (step == UINT32_MAX)
				break;
		}
		assert_topic(at, QUARANTINE);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 2);
		/* and the connection continues */
		at = received(&broker);
		send_topic(&c, "t/x");
		assert_topic(at, "t/x");
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* A segment that begins before what was forwarded, or behind it. */
static void overlap_and_gap(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	c = decided();
	at = received(&broker);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	rig_flush(&rig);
	/* the refused one with the numbers of the one before */
	bytes_free(&b);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = SECRET, .payload = "81"});
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	/* and ahead of the stream */
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + 40, c.seq[BROKER], b.p, b.n);
	rig_flush(&rig);
	assert_int_equal(rig.n_blanked, 0);
	for (uint32_t i = at; i < received(&broker) + 64; i++)
		assert_memory_not_equal(broker.byte + i, SECRET, strlen(SECRET));
	bytes_free(&b);
	rig_close(&rig);
}

/* Several of a connection in one burst: the second one finds bytes that are not kept yet. */
static void one_burst(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	c = decided();
	at = received(&broker);
	rig.burst_size = BP_MQTT_BURST;
	for (unsigned i = 0; i < 8; i++)
		publish(&c, 4, i % 4 == 3 ? "t/x" : SECRET);
	rig_flush(&rig);
	for (uint32_t i = at; i < received(&broker); i++)
		assert_memory_not_equal(broker.byte + i, SECRET, strlen(SECRET));
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 7);
	assert_true(rig.n_blanked >= 1);
	assert_string_equal(rig_told_values(&rig), "81 81");
	rig_close(&rig);
}

/* ---- without memory ---- */

static void forwarded_without_secret(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	(void)arg;
	(void)to_client;
	assert_null(memmem(frame, len, SECRET, strlen(SECRET)));
}

/* What finds no memory is dropped and not counted, and is decided about when it comes again. */
static void without_memory(void **state)
{
	unsigned dropped = 0, sent = 1;
	struct peer c;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	c = decided();
	rig.forwarded = forwarded_without_secret;
	while (dropped < 3 && sent < 20000) {
		const uint32_t before = c.seq[CLIENT];
		const uint64_t drops = rig_count(&rig, BP_C_DROP_POLICY_MEMORY);

		send_topic(&c, SECRET);
		sent++;
		if (rig_count(&rig, BP_C_DROP_POLICY_MEMORY) == drops)
			continue;
		dropped++;
		c.seq[CLIENT] = before;
		rig_ack(&rig, &c, BROKER);
		rig_flush(&rig);
	}
	assert_int_equal(dropped, 3);
	assert_true(rig.n_blanked > 1000);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), sent - dropped);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_REFUSED), sent - dropped);
	rig_close(&rig);
}

/* Number behind the last byte of the client that was forwarded. */
static void note_end(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct bp_frame f;

	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	if (!to_client)
		*(uint32_t *)arg = f.seq + f.payload_len;
}

static void load_evaluated(bool window)
{
	struct bp_rule_spec alarm = rig_rule("alarm", "t/#", BP_COND_GT, 80);

	alarm.repeat = BP_REPEAT_EVERY;
	alarm.window =
		(struct bp_window_spec){.given = window, .function = BP_WINDOW_MEAN, .values = 2};
	rig_rules(&rig, &alarm, 1);
}

/* Publications on a topic that is allowed: those that find no memory come again, and each of the
 * others is evaluated once. */
static void without_memory_allowed(unsigned burst_size, unsigned topics, bool window)
{
	static const char *const topic[] = {"t/x", "t/y"};
	unsigned dropped = 0, alarms = 0;
	uint32_t first, len, end, slot;
	struct peer c;

	open_bursts(BP_POLICY_BLANK, SECRET);
	load_evaluated(window);
	c = connected(4);
	rig_flush(&rig);
	rig.burst_size = burst_size;
	rig.forwarded = note_end;
	rig.forwarded_arg = &end;
	first = end = c.seq[CLIENT];
	len = 0;
	for (unsigned sent = 0; dropped < 6 && sent < 20000; sent++) {
		const uint64_t drops = rig_count(&rig, BP_C_DROP_POLICY_MEMORY);

		for (unsigned i = 0; i < burst_size; i++) {
			const uint32_t at = c.seq[CLIENT];

			rig_publish_text(&rig, &c, topic[(sent + i) % topics], "81");
			len = c.seq[CLIENT] - at;
		}
		rig_flush(&rig);
		alarms += (unsigned)rig_told_count(&rig);
		c.seq[CLIENT] = end;
		if (rig_count(&rig, BP_C_DROP_POLICY_MEMORY) == drops)
			continue;
		if (++dropped == 3) {
			rig_ack(&rig, &c, BROKER);
			rig_flush(&rig);
		}
	}
	assert_int_equal(dropped, 6);
	/* the burst path leaves other topics with state, or with alarms before them, alone */
	if (topics == 1 || (burst_size == 1 && !window))
		assert_true(rig.n_in_bursts - rig.n_general > 1000);
	/* the mean of two values begins with the second one */
	assert_int_equal(alarms + window * topics, (end - first) / len);
	slot = bp_ruleset_rule(rig.rules, 0)->slot;
	if (window)
		assert_int_equal(
			atomic_load(&rig.shm.rule_stats[slot].matched), (end - first) / len);
	rig_close(&rig);
}

static void without_memory_nothing_is_evaluated(void **state)
{
	(void)state;
	for (unsigned size = 1; size <= 16; size += 15)
		for (unsigned window = 0; window < 2; window++)
			for (unsigned topics = 1; topics <= 2; topics++)
				without_memory_allowed(size, topics, window);
}

/* ---- other decisions ---- */

/* The decision about a topic is that of a client: another one may publish on it. */
static void other_client(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.bursts = true;
	snprintf(rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, SECRET)->client, sizeof(rules[0].client),
		"pump-1");
	load();
	c = decided();
	at = received(&broker);
	send_topic(&c, SECRET);
	assert_topic(at, QUARANTINE);
	assert_int_equal(rig.n_blanked, 1);
	for (unsigned i = 0; i < 2; i++) {
		c = open_peer();
		peer_init(&c, false, 2 + i, 1000, 2000);
		rig_connect(&rig, &c, 4, i == 0 ? "pump-2" : "pump-1");
		for (unsigned k = 0; k < 3; k++) {
			at = received(&broker);
			send_topic(&c, SECRET);
			assert_topic(at, i == 0 ? SECRET : QUARANTINE);
			rig_ack(&rig, &c, BROKER);
			broker.acked = received(&broker);
		}
	}
	assert_int_equal(rig.n_blanked, 3);
	rig_close(&rig);
}

/* The first publication of a connection takes the general path, which checks its topic, though the
 * decision of the same client on another connection is kept. */
static void second_connection(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	c = decided();
	send_topic(&c, SECRET);
	assert_int_equal(rig.n_blanked, 1);
	c = open_peer();
	c.client_port++;
	rig_connect(&rig, &c, 4, "pump-1");
	for (unsigned k = 0; k < 3; k++) {
		at = received(&broker);
		send_topic(&c, SECRET);
		assert_topic(at, QUARANTINE);
		assert_int_equal(rig.n_blanked, 1 + k);
	}
	rig_close(&rig);
}

/* Each reload has another decision, also for frames of a burst that had begun to come. */
static void reload(void **state)
{
	static const uint8_t actions[] = {BP_POLICY_BLANK, BP_POLICY_ALLOW, BP_POLICY_OBSERVE};
	uint64_t blanked = 0;
	struct peer c;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	rig.mqtt.policy.preset = BP_POLICY_ALLOW;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "other"); /* the policy always refuses */
	load();
	c = connected(4);
	for (unsigned i = 0; i < 12; i++) {
		const uint8_t action = actions[i % 3];

		rules[0].action = action;
		load();
		for (unsigned k = 0; k < 3; k++) {
			const uint32_t at = received(&broker);

			send_topic(&c, SECRET);
			assert_topic(at, action == BP_POLICY_BLANK ? QUARANTINE : SECRET);
			rig_ack(&rig, &c, BROKER);
			broker.acked = received(&broker);
		}
		blanked += action == BP_POLICY_BLANK ? 2 : 0;
		assert_int_equal(rig.n_blanked, blanked);
	}
	rules[0].action = BP_POLICY_CLOSE;
	load();
	send_topic(&c, SECRET);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

/* A connection that a reload may end is decided about by its next segment, a refused topic or not.
 */
static void reload_that_closes(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
	load();
	c = decided();
	at = received(&broker);
	snprintf(rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "")->client, sizeof(rules[0].client),
		"pump-1");
	load();
	/* it is not marked yet: the decision of the new policy about SECRET is kept */
	send_topic(&c, SECRET);
	assert_topic(at, QUARANTINE);
	rig_ack(&rig, &c, BROKER);
	broker.acked = at = received(&broker);
	for (unsigned i = 0; i < 64; i++)
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	send_topic(&c, SECRET);
	assert_int_equal(received(&broker), at);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
	rig_close(&rig);
}

/* The memo of a connection that published nothing but what was blanked is not checked: it may be
 * that of a damaged segment. No template is learned from its frames. */
static void damaged_memo(void **state)
{
	struct peer c[BP_MQTT_BURST];

	(void)state;
	open_bursts(BP_POLICY_BLANK, SECRET);
	rig.forwarded = NULL;
	for (unsigned i = 0; i < BP_MQTT_BURST; i++) {
		peer_init(&c[i], false, 1 + i, 1000, 2000);
		rig_connect(&rig, &c[i], 4, "pump-1");
		publish(&c[i], 4, SECRET);
	}
	for (uint32_t i = 0; i < rig.in->table.groups * BP_FLOW_WAYS; i++) {
		rig.in->table.flow[i].memo_gen = 0;
		rig.in->table.flow[i].memo_rule = INT32_MAX;
	}
	rig.burst_size = BP_MQTT_BURST;
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < BP_MQTT_BURST; i++)
			publish(&c[i], 4, SECRET);
		rig_flush(&rig);
	}
	assert_int_equal(rig.n_blanked, 3 * BP_MQTT_BURST);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_on_the_general_path),
		cmocka_unit_test(each_length_of_topic),
		cmocka_unit_test(no_topic_to_write),
		cmocka_unit_test(left_to_the_general_path),
		cmocka_unit_test(not_writable),
		cmocka_unit_test(other_cuts),
		cmocka_unit_test(retransmission),
		cmocka_unit_test(overlap_and_gap),
		cmocka_unit_test(one_burst),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(without_memory_nothing_is_evaluated),
		cmocka_unit_test(other_client),
		cmocka_unit_test(second_connection),
		cmocka_unit_test(reload),
		cmocka_unit_test(reload_that_closes),
		cmocka_unit_test(damaged_memo),
	};

	return cmocka_run_group_tests_name("policy_blank_burst", tests, NULL, NULL);
}
