/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client publishes what the broker refuses: PUBACK or PUBREC with a reason code of 0x80 and
 * above. With mqtt.evaluate acknowledged nothing of it raises, clears or holds an alarm; without,
 * the first refusal ends that for the connection. And what a client, or a broker, may do to the
 * publications that wait.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "stream_steps.h"

#define TOPIC "plant/oven0/temperature"
#define REFUSED 0x87

static void open_as(uint8_t evaluate, bool fast)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);

	rig_defaults(&rig);
	rig.mqtt.evaluate = evaluate;
	rig.bursts = fast;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
}

static void connect_as(struct peer *c, uint8_t version)
{
	peer_init(c, false, 1, 0xffffff00u, 0xfffffff0u);
	rig_connect(&rig, c, version, "x");
}

static void publish(struct peer *c, uint8_t version, uint8_t qos, uint16_t id, const char *value)
{
	rig_publish(&rig, c, CLIENT,
		&(struct mq_publish){.version = version,
			.qos = qos,
			.id = id,
			.topic = TOPIC,
			.payload = value});
}

/* An acknowledgement with a reason code; 0: without. */
static void add_ack(struct bytes *b, uint8_t first, uint16_t id, uint8_t reason)
{
	const uint8_t body[] = {(uint8_t)(id >> 8), (uint8_t)id, reason};

	mq_raw(b, first, body, reason != 0 ? 3 : 2);
}

static void answer(struct peer *c, uint8_t qos, uint16_t id, uint8_t reason)
{
	struct bytes b = {0};

	add_ack(&b, qos == 2 ? MQ_PUBREC : MQ_PUBACK, id, reason);
	rig_send_bytes(&rig, c, BROKER, &b);
	if (qos != 2 || reason >= 0x80)
		return;
	memset(&b, 0, sizeof(b));
	mq_ack(&b, MQ_PUBREL, id);
	rig_send_bytes(&rig, c, CLIENT, &b);
	memset(&b, 0, sizeof(b));
	mq_ack(&b, MQ_PUBCOMP, id);
	rig_send_bytes(&rig, c, BROKER, &b);
}

/* A client without the right to publish, which waits for each answer: one alarm, and no more. */
static void one_refusal_ends_it(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		const uint8_t qos = k & 1 ? 2 : 1;
		struct peer c;

		open_as(BP_EVALUATE_PUBLISHED, k & 2);
		connect_as(&c, 5);
		for (uint16_t id = 1; id <= 5; id++) {
			publish(&c, 5, qos, id, "91");
			answer(&c, qos, id, REFUSED);
		}
		assert_string_equal(told(), "91");
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED), 5);
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED_LATE), 1);
		/* then the accepted ones count */
		publish(&c, 5, qos, 6, "92");
		assert_string_equal(told(), "");
		answer(&c, qos, 6, 0);
		assert_string_equal(told(), "92");
		/* and QoS 0, which is never answered, at once */
		publish(&c, 5, 0, 0, "93");
		assert_string_equal(told(), "93");
		/* another connection is none of this one's */
		peer_init(&c, false, 2, 100, 200);
		rig_connect(&rig, &c, 5, "y");
		publish(&c, 5, qos, 1, "94");
		assert_string_equal(told(), "94");
		rig_close(&rig);
	}
}

static void only_acknowledged_messages(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		const uint8_t version = k & 1 ? 5 : 4, qos = k & 2 ? 2 : 1;
		struct peer c;

		open_as(BP_EVALUATE_ACKNOWLEDGED, k & 4);
		connect_as(&c, version);
		publish(&c, version, 0, 0, "90");
		assert_string_equal(told(), "90");
		for (uint16_t id = 1; id <= 3; id++)
			publish(&c, version, qos, id, id == 1 ? "91" : id == 2 ? "92" : "93");
		assert_string_equal(told(), "");
		answer(&c, qos, 1, 0);
		assert_string_equal(told(), "91");
		answer(&c, qos, 3, version == 5 ? 0x10 : 0); /* no matching subscribers */
		answer(&c, qos, 2, version == 5 ? REFUSED : 0);
		assert_string_equal(told(), version == 5 ? "93" : "93 92");
		assert_int_equal(rig_count(&rig, BP_C_ACK_AWAITED), 3);
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED), version == 5);
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED_LATE), 0);
		rig_close(&rig);
	}
}

/* Bursts of frames of one template do not take the general path: these do. */
static void batches_wait_too(void **state)
{
	struct peer c;

	(void)state;
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	connect_as(&c, 5);
	rig.burst_size = BP_MQTT_BURST;
	for (uint16_t id = 1; id <= 4 * BP_MQTT_BURST; id++)
		publish(&c, 5, 1, id, "91");
	rig_flush(&rig);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ACK_AWAITED), 4 * BP_MQTT_BURST);
	rig_close(&rig);
}

/* A refused publication neither clears an alarm nor ends a hold. */
static void state_is_unchanged(void **state)
{
	struct bp_rule_spec rule = rig_rule("r", "plant/+/temperature", BP_COND_GT, 80);
	struct peer c;

	(void)state;
	rule.clear = rule.raise;
	rule.clear.op = BP_COND_LT;
	rule.clear.a = 50;
	rule.has_clear = true;
	rig_defaults(&rig);
	rig.mqtt.evaluate = BP_EVALUATE_ACKNOWLEDGED;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	connect_as(&c, 5);
	publish(&c, 5, 1, 1, "91");
	answer(&c, 1, 1, 0);
	assert_string_equal(told(), "91");
	publish(&c, 5, 1, 2, "20");
	answer(&c, 1, 2, REFUSED);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ALARM_CLEARED), 0);
	publish(&c, 5, 1, 3, "21");
	answer(&c, 1, 3, 0);
	assert_string_equal(told(), "21");
	assert_int_equal(rig_count(&rig, BP_C_ALARM_CLEARED), 1);
	rig_close(&rig);
}

/* Topic by alias, properties, a publication in pieces, and one of which the beginning is kept. */
static void kept_unchanged(void **state)
{
	static const uint8_t property[] = {0x01, 1}; /* payload format indicator */
	static char payload[100000];
	struct told_list l;
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	peer_init(&c, false, 1, 100, 200);
	rig_connect_alias(&rig, &c, "x", 10, 0);
	for (uint16_t id = 1; id <= 2; id++)
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = 5,
				.qos = 1,
				.id = id,
				.alias = 3,
				.topic = id == 1 ? TOPIC : "",
				.properties = property,
				.properties_len = sizeof(property),
				.retain = id == 2,
				.payload = id == 1 ? "91" : "92"});
	mq_publish(&b, &(struct mq_publish){
			       .version = 5, .qos = 1, .id = 3, .topic = TOPIC, .payload = "93"});
	for (size_t i = 0; i < b.n; i++)
		rig_send(&rig, &c, CLIENT, b.p + i, 1);
	bytes_free(&b);
	assert_string_equal(told(), "");
	for (uint16_t id = 1; id <= 3; id++)
		answer(&c, 1, id, 0);
	l = rig_told(&rig);
	assert_int_equal(l.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(l.a[i].topic, TOPIC);
		assert_int_equal(l.a[i].qos, 1);
		assert_int_equal((l.a[i].flags & BP_ALARM_F_RETAIN) != 0, i == 1);
		assert_int_equal(l.a[i].payload_len, 2);
		assert_memory_equal(l.a[i].payload, i == 0 ? "91" : i == 1 ? "92" : "93", 2);
	}
	told_free(&l);
	/* too long to be kept whole: text, so that its beginning has no value */
	memset(payload, '9', sizeof(payload));
	mq_publish(&b, &(struct mq_publish){.version = 5,
			       .qos = 2,
			       .id = 4,
			       .topic = TOPIC,
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	for (size_t i = 0; i < b.n; i += 1000)
		rig_send(&rig, &c, CLIENT, b.p + i, b.n - i < 1000 ? b.n - i : 1000);
	bytes_free(&b);
	answer(&c, 2, 4, 0);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_PUBLISH_TRUNCATED), 1);
	assert_true(rig_count(&rig, BP_C_PUBLISH_VALUE_TRUNCATED) +
			    rig_count(&rig, BP_C_ACK_NO_MEMORY) ==
		    1);
	rig_close(&rig);
}

/* A refusal of what was never sent, or one that the client sends: no connection waits for it. */
static void not_a_refusal(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		open_as(BP_EVALUATE_PUBLISHED, fast);
		connect_as(&c, 5);
		answer(&c, 1, 7, REFUSED); /* before any publication */
		answer(&c, 2, 7, REFUSED);
		publish(&c, 5, 1, 1, "91");
		answer(&c, 1, 1, 0);
		publish(&c, 5, 2, 2, "92");
		answer(&c, 2, 3, REFUSED);
		memset(&b, 0, sizeof(b));
		add_ack(&b, MQ_PUBACK, 1, REFUSED);
		add_ack(&b, MQ_PUBREC, 2, REFUSED);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		publish(&c, 5, 1, 4, "93");
		assert_string_equal(told(), "91 92 93");
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED), 0);
		rig_close(&rig);
	}
}

/* If the rules apply to the direction from the broker, no publication is held back for its
 * acknowledgement, even if one is refused. */
static void other_direction(void **state)
{
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.evaluate = BP_EVALUATE_ACKNOWLEDGED;
	rig.mqtt.directions = BP_DIRECTIONS_FROM_BROKER;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	connect_as(&c, 5);
	for (uint16_t id = 1; id <= 3; id++) {
		struct bytes b = {0};

		rig_publish(&rig, &c, BROKER,
			&(struct mq_publish){
				.version = 5, .qos = 1, .id = id, .topic = TOPIC, .payload = "91"});
		add_ack(&b, MQ_PUBACK, id, REFUSED);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		publish(&c, 5, 1, id, "92");
		answer(&c, 1, id, REFUSED);
	}
	assert_string_equal(told(), "91 91 91");
	assert_int_equal(rig_count(&rig, BP_C_PUBLISH_REFUSED), 0);
	rig_close(&rig);
}

/* An identifier that is used again before it was acknowledged, with DUP or without: a broker takes
 * each, and so does a rule, in the order of the acknowledgements. */
static void identifier_in_use(void **state)
{
	struct peer c;

	(void)state;
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	connect_as(&c, 5);
	publish(&c, 5, 1, 7, "91");
	publish(&c, 5, 1, 7, "92");
	publish(&c, 5, 2, 7, "95"); /* of QoS 2 it is another one */
	publish(&c, 5, 2, 7, "96"); /* the same publication once more */
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5,
			.qos = 1,
			.id = 7,
			.dup = true,
			.topic = TOPIC,
			.payload = "93"});
	answer(&c, 1, 7, REFUSED);
	answer(&c, 1, 7, 0);
	assert_string_equal(told(), "92");
	answer(&c, 2, 7, 0);
	assert_string_equal(told(), "95");
	answer(&c, 1, 7, 0);
	answer(&c, 1, 7, 0);
	assert_string_equal(told(), "93");
	assert_int_equal(rig_count(&rig, BP_C_QOS2_DUPLICATE), 1);
	rig_close(&rig);
}

/* All identifiers that there are, and no answer: bounded, and none of the others' business. */
static void never_answered(void **state)
{
	struct peer c, d;

	(void)state;
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	connect_as(&c, 5);
	peer_init(&d, false, 2, 100, 200);
	rig_connect(&rig, &d, 5, "y");
	for (uint32_t id = 1; id <= UINT16_MAX; id++)
		publish(&c, 5, 1, (uint16_t)id, "91");
	assert_true(rig_count(&rig, BP_C_ACK_NO_MEMORY) > 65000);
	assert_int_equal(rig_count(&rig, BP_C_ACK_AWAITED) + rig_count(&rig, BP_C_ACK_NO_MEMORY),
		UINT16_MAX);
	assert_true(bp_mqtt_worker_carried(rig.in) <= rig.mqtt.reorder_buffer + 1024);
	publish(&d, 5, 1, 1, "92");
	answer(&d, 1, 1, 0);
	assert_string_equal(told(), "92");
	/* a publication that waits for its acknowledgement is still evaluated */
	answer(&c, 1, 1, 0);
	assert_string_equal(told(), "91");
	rig_close(&rig);
}

/* The end of the connection, or of its reading, is none of an acknowledgement. */
static void ends_without_answer(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct peer c;

		open_as(BP_EVALUATE_ACKNOWLEDGED, false);
		connect_as(&c, 5);
		for (uint16_t id = 1; id <= 3; id++)
			publish(&c, 5, 1 + id % 2, id, "91");
		switch (how) {
		case 0:
			rig_fin_both(&rig, &c);
			break;
		case 1:
			rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, c.seq[BROKER], c.seq[CLIENT],
				NULL, 0);
			break;
		case 2:
			rig_send(&rig, &c, CLIENT, "\x36\0", 2); /* QoS 3 */
			break;
		case 3:
			rig_expire_all(&rig);
		}
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_ACK_MISSING), 3);
		rig_close(&rig);
	}
}

/* Inspection misses bytes of the broker, perhaps with acknowledgements. The next segment of the
 * broker shows its position in the stream. */
static void lost_acknowledgements(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	connect_as(&c, 5);
	publish(&c, 5, 1, 1, "91");
	publish(&c, 5, 1, 2, "92");
	c.seq[BROKER] += 4; /* PUBACK 1 went by another way */
	rig_ack_all(&rig, &c, BROKER);
	add_ack(&b, MQ_PUBACK, 2, 0);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ACK_MISSING), 2);
	publish(&c, 5, 1, 3, "93"); /* asks */
	answer(&c, 1, 3, 0);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ACK_MISSING), 3);
	publish(&c, 5, 1, 4, "94");
	publish(&c, 5, 1, 1, "95");
	answer(&c, 1, 1, 0);
	answer(&c, 1, 4, REFUSED);
	assert_string_equal(told(), "95");
	rig_close(&rig);
}

/* A restart of the data plane: waiting publications are dropped and counted. The refusal is still
 * known. */
static void refusal_is_known_after_a_restart(void **state)
{
	struct peer c;

	(void)state;
	open_as(BP_EVALUATE_PUBLISHED, true);
	connect_as(&c, 5);
	publish(&c, 5, 1, 1, "91");
	answer(&c, 1, 1, REFUSED);
	publish(&c, 5, 1, 2, "92");
	assert_string_equal(told(), "91");
	rig_restart(&rig);
	assert_int_equal(rig_count(&rig, BP_C_ACK_NOT_ADOPTED), 1);
	answer(&c, 1, 2, 0);
	publish(&c, 5, 1, 3, "93");
	assert_string_equal(told(), "");
	answer(&c, 1, 3, 0);
	assert_string_equal(told(), "93");
	rig_close(&rig);
}

/*
 * Any identifiers in any order, refused or not, against a list that is walked: the same are
 * evaluated, in the same order.
 */
static void equals_a_plain_list(void **state)
{
	enum { MOST = 200 };
	struct {
		uint16_t id;
		uint8_t qos, value;
	} list[MOST];
	unsigned n = 0;
	struct peer c;

	(void)state;
	srand(7);
	open_as(BP_EVALUATE_ACKNOWLEDGED, true);
	connect_as(&c, 5);
	for (unsigned i = 0; i < 20000; i++) {
		/* now few identifiers, now any */
		const uint16_t id = (uint16_t)(1 + rand() % (i % 2000 < 1000 ? 40 : 65535));
		const uint8_t qos = (uint8_t)(1 + rand() % 2);
		unsigned at = 0, in_flight = 0;

		for (unsigned k = 0; k < n; k++)
			in_flight |= list[k].id == id && list[k].qos == qos;
		if (n < MOST && rand() % 3 != 0) {
			char value[4];

			snprintf(value, sizeof(value), "%u", 81 + i % 100);
			if (qos == 2 && in_flight)
				continue;
			publish(&c, 5, qos, id, value);
			list[n].id = id;
			list[n].qos = qos;
			list[n++].value = (uint8_t)(81 + i % 100);
		} else if (n != 0) {
			const bool refused = rand() % 4 == 0;
			char value[4];

			for (unsigned k = (unsigned)rand() % n; at < n; at++)
				if (list[at].id == list[k].id && list[at].qos == list[k].qos)
					break;
			answer(&c, list[at].qos, list[at].id, refused ? REFUSED : 0);
			snprintf(value, sizeof(value), "%u", list[at].value);
			assert_string_equal(told(), refused ? "" : value);
			memmove(&list[at], &list[at + 1], (--n - at) * sizeof(list[0]));
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_ACK_NO_MEMORY), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_refusal_ends_it),
		cmocka_unit_test(only_acknowledged_messages),
		cmocka_unit_test(batches_wait_too),
		cmocka_unit_test(state_is_unchanged),
		cmocka_unit_test(kept_unchanged),
		cmocka_unit_test(not_a_refusal),
		cmocka_unit_test(other_direction),
		cmocka_unit_test(identifier_in_use),
		cmocka_unit_test(never_answered),
		cmocka_unit_test(ends_without_answer),
		cmocka_unit_test(lost_acknowledgements),
		cmocka_unit_test(refusal_is_known_after_a_restart),
		cmocka_unit_test(equals_a_plain_list),
	};

	return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
