/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "services/mqtt/flow_show.h"
#include "rig.h"

/*
 * A client that sends one packet which the broker reads in another way than the inspector, and then
 * publishes: the inspector goes blind where the broker reads on, or raises what the broker never
 * delivers. test_mosquitto compares both over generated sessions; here is each class, by name, and
 * what mqtt.strictness makes of it.
 */

struct odd {
	const char *name;
	uint8_t version;
	bool mosquitto, standard; /* whether following publications are delivered */
	bp_counter_t suspicious;
	uint8_t n;
	uint8_t bytes[48];
};

#define BYTES(...)                                                                                 \
	sizeof((uint8_t[]){__VA_ARGS__}),                                                          \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct odd odds[] = {
	{"payload format indicator 2", 5, true, false, BP_C_SUSPICIOUS_PROPERTY,
		BYTES(0x30, 7, 0, 1, 'q', 2, 0x01, 2, '1')},
	{"response topic with +", 5, true, false, BP_C_SUSPICIOUS_WILDCARD,
		BYTES(0x30, 9, 0, 1, 'q', 4, 0x08, 0, 1, '+', '1')},
	{"PINGREQ with a body", 4, true, false, BP_C_SUSPICIOUS_LENGTH, BYTES(0xc0, 1, 0)},
	{"PINGREQ with flags", 4, true, false, BP_C_SUSPICIOUS_FLAGS, BYTES(0xc5, 0)},
	{"PINGRESP from a client", 4, true, false, BP_C_SUSPICIOUS_TYPE, BYTES(0xd0, 0)},
	{"long PUBACK", 4, true, false, BP_C_SUSPICIOUS_LENGTH, BYTES(0x40, 4, 0, 1, 9, 9)},
	{"PUBREC with flags", 4, true, false, BP_C_SUSPICIOUS_FLAGS, BYTES(0x5f, 2, 0, 1)},
	{"PUBREL without its flag", 4, false, false, BP_C_COUNT, BYTES(0x60, 2, 0, 1)},
	{"PUBREL without its flag, 3.1", 3, true, false, BP_C_SUSPICIOUS_FLAGS,
		BYTES(0x60, 2, 0, 1)},
	{"SUBSCRIBE with an empty filter", 4, true, false, BP_C_SUSPICIOUS_FILTER,
		BYTES(0x82, 8, 0, 1, 0, 0, 0, 1, 'q', 0)},
	{"SUBSCRIBE without a filter", 4, false, false, BP_C_COUNT, BYTES(0x82, 2, 0, 1)},
	{"SUBSCRIBE without a filter, 3.1", 3, true, false, BP_C_SUSPICIOUS_LENGTH,
		BYTES(0x82, 2, 0, 1)},
	{"AUTH without a method in CONNECT", 5, false, false, BP_C_COUNT, BYTES(0xf0, 0)},
	{"control character in a topic", 4, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 6, 0, 3, 'q', 1, 'x', '1')},
	{"DEL in a topic", 4, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 6, 0, 3, 'q', 0x7f, 'x', '1')},
	{"U+0085 in a topic", 4, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 6, 0, 3, 'q', 0xc2, 0x85, '1')},
	{"U+FFFF in a topic", 4, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 6, 0, 3, 0xef, 0xbf, 0xbf, '1')},
	{"U+FDD0 in a topic", 4, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 6, 0, 3, 0xef, 0xb7, 0x90, '1')},
	{"control character in a user property", 5, false, true, BP_C_SUSPICIOUS_STRING,
		BYTES(0x30, 12, 0, 1, 'q', 7, 0x26, 0, 1, 'a', 0, 1, 2, '1')},
	{"alias that was never mapped", 5, false, false, BP_C_COUNT,
		BYTES(0x30, 7, 0, 0, 3, 0x23, 0, 3, '9')},
	{"subscription identifier in a PUBLISH", 5, true, true, BP_C_COUNT,
		BYTES(0x30, 7, 0, 1, 'q', 2, 0x0b, 9, '1')},
};

static struct rig rig;

static uint64_t suspicious_total(void)
{
	uint64_t n = 0;

	for (unsigned c = BP_C_SUSPICIOUS_FLAGS; c <= BP_C_SUSPICIOUS_LEVELS; c++)
		n += rig_count(&rig, c);
	return n;
}

static int note_names(const struct bp_flow_view *v, void *arg)
{
	const char **name = arg;

	assert_true(v->suspicious[0] == NULL || v->suspicious[1] == NULL);
	*name = v->suspicious[0];
	return 0;
}

/* The connection is flagged by the same name as it is counted under. */
static void assert_flagged(bp_counter_t reason)
{
	const char *name = "";

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, note_names, &name),
		0);
	if (reason == BP_C_COUNT)
		assert_null(name);
	else
		assert_string_equal(name, bp_counter_info[reason].name);
}

static void one(const struct odd *o, uint8_t strictness, size_t size)
{
	bool delivered = strictness == BP_STRICTNESS_MOSQUITTO ? o->mosquitto : o->standard;
	bool flagged = delivered && o->suspicious != BP_C_COUNT;
	struct peer c;

	rig_defaults(&rig);
	rig.mqtt.strictness = strictness;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 2);
	if (o->version == 5)
		rig_connect_alias(&rig, &c, "odd", 10, 0);
	else
		rig_connect(&rig, &c, o->version, "odd");
	for (size_t at = 0; at < o->n; at += size)
		rig_send(&rig, &c, CLIENT, o->bytes + at, o->n - at < size ? o->n - at : size);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = o->version, .topic = "t", .payload = "81"});
	if (strcmp(rig_told_values(&rig), delivered ? "81" : "") != 0)
		fail_msg("%s, strictness %u, by %zu bytes: wrong", o->name, strictness, size);
	if (flagged && rig_count(&rig, o->suspicious) != 1)
		fail_msg("%s: not counted", o->name);
	assert_int_equal(suspicious_total(), flagged);
	if (delivered)
		assert_flagged(o->suspicious);
	rig_close(&rig);
}

/* mosquitto 2.0.11 answers a SUBSCRIBE without a filter in version 3.1. */
static void suback_without_a_code(void **state)
{
	struct peer c;

	(void)state;
	for (uint8_t version = 3; version <= 4; version++) {
		rig_defaults(&rig);
		rig.mqtt.strictness = BP_STRICTNESS_MOSQUITTO;
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t", BP_COND_GT, 80)}, 1);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&rig, &c, version, "odd");
		if (version == 3)
			rig_send(&rig, &c, CLIENT, "\x82\2\0\1", 4);
		rig_send(&rig, &c, BROKER, "\x90\2\0\1", 4);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = version, .topic = "t", .payload = "81"});
		assert_string_equal(rig_told_values(&rig), version == 3 ? "81" : "");
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_TRUNCATED), version == 4);
		rig_close(&rig);
	}
}

static void each_violation_is_handled_as_by_the_broker(void **state)
{
	static const size_t sizes[] = {1000, 1, 3};

	(void)state;
	for (unsigned i = 0; i < sizeof(odds) / sizeof(odds[0]); i++) {
		for (unsigned k = 0; k < 3; k++) {
			one(&odds[i], BP_STRICTNESS_MOSQUITTO, sizes[k]);
			one(&odds[i], BP_STRICTNESS_STANDARD, sizes[k]);
		}
	}
}

/* A topic of 202 levels, cut anywhere: mosquitto closes the connection. */
static void topic_of_202_levels_ends_inspection(void **state)
{
	char topic[256];

	(void)state;
	for (unsigned slashes = 200; slashes <= 201; slashes++) {
		for (size_t cut = 1; cut < 220; cut += 7) {
			struct bytes b = {0};
			struct peer c;

			rig_defaults(&rig);
			rig_open(&rig);
			rig_rules(&rig,
				(struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
			peer_init(&c, false, 1, 1, 2);
			rig_connect(&rig, &c, 4, "deep");
			memset(topic, '/', slashes + 1);
			topic[0] = 't';
			topic[slashes + 1] = 0;
			mq_publish(&b, &(struct mq_publish){
					       .version = 4, .topic = topic, .payload = "81"});
			rig_send(&rig, &c, CLIENT, b.p, cut < b.n ? cut : b.n);
			if (cut < b.n)
				rig_send(&rig, &c, CLIENT, b.p + cut, b.n - cut);
			assert_string_equal(rig_told_values(&rig), slashes == 200 ? "81" : "");
			assert_int_equal(
				rig_count(&rig, BP_C_NOT_INSPECTED_TOPIC_LEVELS), slashes - 200);
			bytes_free(&b);
			rig_close(&rig);
		}
	}
}

/* Version 3.1 leaves the connect flags open, and mosquitto reads such a CONNECT. */
static void connect_flags(void **state)
{
	static const uint8_t connect[] = {
		0x10, 15, 0, 6, 'M', 'Q', 'I', 's', 'd', 'p', 3, 0x23, 0, 60, 0, 1, 'x'};

	(void)state;
	for (uint8_t strictness = 0; strictness < 2; strictness++) {
		bool read = strictness == BP_STRICTNESS_MOSQUITTO;
		struct bytes b = {0};
		struct peer c;

		rig_defaults(&rig);
		rig.mqtt.strictness = strictness;
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t", BP_COND_GT, 80)}, 1);
		peer_init(&c, false, 1, 1, 2);
		rig_handshake(&rig, &c);
		rig_send(&rig, &c, CLIENT, connect, sizeof(connect));
		mq_connack(&b, 3, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		rig_ack(&rig, &c, CLIENT);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = 3, .topic = "t", .payload = "81"});
		assert_string_equal(rig_told_values(&rig), read ? "81" : "");
		assert_int_equal(rig_count(&rig, BP_C_SUSPICIOUS_CONNECT), read);
		rig_close(&rig);
	}
}

/* A publisher whose broker accepts violations of the standard: the deliveries do not stop the
 * inspection of the subscriber's own publications, or of later ones. */
static void broker_deliveries(void **state)
{
	static const struct {
		const char *properties;
		size_t len;
	} odd[] = {{"\x01\x02", 2}, {"\x08\0\1+", 4}};
	static const uint8_t evaluate[] = {BP_DIRECTIONS_BOTH, BP_DIRECTIONS_FROM_BROKER};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct mq_publish p = {.version = 5,
			.topic = "q",
			.payload = "1",
			.properties = odd[i / 2].properties,
			.properties_len = odd[i / 2].len};
		struct peer c;

		rig_defaults(&rig);
		rig.mqtt.directions = evaluate[i % 2];
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
		peer_init(&c, false, 1, 100, 900);
		rig_connect(&rig, &c, 5, "subscriber");
		rig_publish(&rig, &c, BROKER, &p);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = 5, .topic = "own", .payload = "99"});
		assert_int_equal(rig_told_count(&rig), evaluate[i % 2] == BP_DIRECTIONS_BOTH);
		rig_publish(&rig, &c, BROKER,
			&(struct mq_publish){.version = 5, .topic = "next", .payload = "99"});
		assert_int_equal(rig_told_count(&rig), 1);
		/* nor is the client flagged for it */
		assert_int_equal(suspicious_total(), 0);
		rig_close(&rig);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_violation_is_handled_as_by_the_broker),
		cmocka_unit_test(suback_without_a_code),
		cmocka_unit_test(topic_of_202_levels_ends_inspection),
		cmocka_unit_test(connect_flags),
		cmocka_unit_test(broker_deliveries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
