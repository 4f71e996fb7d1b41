/* SPDX-License-Identifier: BSD-3-Clause */
/* Topic aliases of version 5, each direction for itself, and publications in both directions. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(uint8_t evaluate)
{
	rig_defaults(&rig);
	rig.mqtt.directions = evaluate;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
}

/* "topic=value ..." */
static const char *told(void)
{
	static char text[8192];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%g", i ? " " : "",
			l.a[i].topic, l.a[i].value);
	told_free(&l);
	return text;
}

static void publish(
	struct peer *c, unsigned from, const char *topic, uint16_t alias, const char *value)
{
	rig_publish(&rig, c, from,
		&(struct mq_publish){
			.version = 5, .topic = topic, .alias = alias, .payload = value});
}

static void set_used_remapped(void **state)
{
	struct peer c;

	(void)state;
	open_rig(BP_DIRECTIONS_TO_BROKER);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "a", 10, 0);
	publish(&c, CLIENT, "one", 1, "81");
	publish(&c, CLIENT, "two", 2, "82");
	publish(&c, CLIENT, "", 1, "83");
	publish(&c, CLIENT, "", 2, "84");
	assert_string_equal(told(), "one=81 two=82 one=83 two=84");
	publish(&c, CLIENT, "uno", 1, "85"); /* of the same length */
	publish(&c, CLIENT, "", 1, "86");
	publish(&c, CLIENT, "the second", 2, "87"); /* of another */
	publish(&c, CLIENT, "", 2, "88");
	publish(&c, CLIENT, "", 1, "89");
	publish(&c, CLIENT, "t", 2, "90");
	publish(&c, CLIENT, "", 2, "91");
	assert_string_equal(told(), "uno=85 uno=86 the second=87 the second=88 uno=89 t=90 t=91");
	publish(&c, CLIENT, "plain", 0, "92");
	assert_string_equal(told(), "plain=92");
	/* never mapped, on a connection that was seen from its beginning: the broker closes it */
	publish(&c, CLIENT, "", 3, "99");
	publish(&c, CLIENT, "plain", 0, "93");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), 1);
	rig_close(&rig);
}

/* 200 aliases of growing topics set, changed and used at random, next to a model. */
static void random_aliases_equal_the_model(void **state)
{
	char kept[201][64] = {{0}};
	struct peer c;
	uint64_t s = 9;

	(void)state;
	open_rig(BP_DIRECTIONS_TO_BROKER);
	peer_init(&c, true, 1, 1, 2);
	rig_connect_alias(&rig, &c, "many", 200, 0);
	for (unsigned i = 0; i < 5000; i++) {
		uint16_t alias = (uint16_t)(1 + test_below(&s, 200));
		char want[128];

		if (kept[alias][0] == 0 || test_below(&s, 3) == 0) {
			snprintf(kept[alias], sizeof(kept[alias]), "%.*s/%u",
				(int)test_below(&s, 40) + 1,
				"abcdefghijklmnopqrstuvwxyz0123456789abcdefgh", alias);
			publish(&c, CLIENT, kept[alias], alias, "81");
		} else {
			publish(&c, CLIENT, "", alias, "81");
		}
		snprintf(want, sizeof(want), "%s=81", kept[alias]);
		assert_string_equal(told(), want);
	}
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_NO_MEMORY), 0);
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 0);
	rig_close(&rig);
}

/* The receiver sets the limit: CONNACK for the client, CONNECT for the broker. */
static void alias_limit_is_that_of_the_receiver(void **state)
{
	struct peer c;

	(void)state;
	open_rig(BP_DIRECTIONS_BOTH);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "limits", 5, 3);
	publish(&c, CLIENT, "up", 5, "81");
	publish(&c, BROKER, "down", 3, "82");
	publish(&c, CLIENT, "", 5, "83");
	publish(&c, BROKER, "", 3, "84");
	publish(&c, BROKER, "", 2, "85"); /* unmapped: the client's own are others */
	assert_string_equal(told(), "up=81 down=82 up=83 down=84");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 1);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), 0);
	publish(&c, BROKER, "down", 4, "86");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), 1);
	publish(&c, CLIENT, "up", 0, "87");
	assert_string_equal(told(), "");
	/* no maximum given means none at all */
	peer_init(&c, false, 2, 1, 2);
	rig_connect_alias(&rig, &c, "none", 0, 0);
	publish(&c, CLIENT, "up", 1, "81");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), 2);
	/* the same alias number has different topics in the two directions */
	peer_init(&c, false, 3, 1, 2);
	rig_connect_alias(&rig, &c, "two", 2, 2);
	publish(&c, CLIENT, "up", 2, "81");
	publish(&c, BROKER, "down", 2, "82");
	publish(&c, CLIENT, "", 2, "83");
	publish(&c, BROKER, "", 2, "84");
	assert_string_equal(told(), "up=81 down=82 up=83 down=84");
	rig_close(&rig);
}

/* The evaluated direction; the other one is also tracked. */
static void other_direction_is_tracked(void **state)
{
	static const uint8_t judges[] = {
		BP_DIRECTIONS_TO_BROKER, BP_DIRECTIONS_FROM_BROKER, BP_DIRECTIONS_BOTH};
	static const char *const want[] = {
		"up=81 up=83", "down=82 down=84", "up=81 down=82 up=83 down=84"};
	static const unsigned other[] = {2, 2, 0};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bytes b = {0};
		struct peer c;

		open_rig(judges[i]);
		peer_init(&c, false, 1, 1, 2);
		rig_connect_alias(&rig, &c, "dir", 9, 9);
		publish(&c, CLIENT, "up", 1, "81");
		publish(&c, BROKER, "down", 1, "82");
		publish(&c, CLIENT, "", 1, "83");
		/* cut, so that it would have to be carried */
		mq_publish(&b, &(struct mq_publish){
				       .version = 5, .alias = 1, .topic = "", .payload = "84"});
		rig_send(&rig, &c, BROKER, b.p, b.n - 1);
		rig_send(&rig, &c, BROKER, b.p + b.n - 1, 1);
		bytes_free(&b);
		assert_string_equal(told(), want[i]);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_OTHER_DIRECTION), other[i]);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 4 - other[i]);
		rig_close(&rig);
	}
}

/* Cut anywhere: the alias is resolved and set as when it is whole. */
static void cut_at_every_byte(void **state)
{
	struct bytes b = {0};
	uint32_t number = 0;

	(void)state;
	open_rig(BP_DIRECTIONS_TO_BROKER);
	mq_publish(&b,
		&(struct mq_publish){.version = 5, .alias = 1, .topic = "one", .payload = "81"});
	mq_publish(
		&b, &(struct mq_publish){.version = 5, .alias = 1, .topic = "", .payload = "82"});
	mq_publish(&b,
		&(struct mq_publish){.version = 5, .alias = 1, .topic = "uno", .payload = "84"});
	mq_publish(
		&b, &(struct mq_publish){.version = 5, .alias = 1, .topic = "", .payload = "85"});
	for (size_t cut = 0; cut <= b.n; cut++) {
		struct peer c;

		peer_init(&c, false, ++number, 1, 2);
		rig_connect_alias(&rig, &c, "cut", 9, 9);
		rig_send(&rig, &c, CLIENT, b.p, cut);
		rig_send(&rig, &c, CLIENT, b.p + cut, b.n - cut);
		assert_string_equal(told(), "one=81 one=82 uno=84 uno=85");
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 4 * number);
	}
	for (size_t size = 1; size < 9; size++) {
		struct peer c;

		peer_init(&c, false, ++number, 1, 2);
		rig_connect_alias(&rig, &c, "cut", 9, 9);
		for (size_t at = 0; at < b.n; at += size)
			rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < size ? b.n - at : size);
		assert_string_equal(told(), "one=81 one=82 uno=84 uno=85");
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 4 * number);
	}
	bytes_free(&b);
	rig_close(&rig);
}

/* A new connection on the same ports begins with no aliases. */
static void not_over_connections(void **state)
{
	struct peer c;

	(void)state;
	open_rig(BP_DIRECTIONS_TO_BROKER);
	for (unsigned i = 0; i < 3; i++) {
		peer_init(&c, false, 1, 1000 * i, 2);
		rig_connect_alias(&rig, &c, "again", 9, 9);
		publish(&c, CLIENT, "", 1, "81");
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), i + 1);
		assert_string_equal(told(), "");
		rig_fin_both(&rig, &c);
		peer_init(&c, false, 1, 1000 * i + 500, 2);
		rig_connect_alias(&rig, &c, "again", 9, 9);
		publish(&c, CLIENT, "mine", 1, "82");
		assert_string_equal(told(), "mine=82");
		if (i == 0)
			rig_fin_both(&rig, &c);
		else
			rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	}
	rig_close(&rig);
}

/* Nor with the last one's limit, while the new one is not known. */
static void limit_not_over_connections(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_DIRECTIONS_TO_BROKER);
	peer_init(&c, false, 1, 1000, 2);
	rig_connect_alias(&rig, &c, "small", 2, 0);
	rig_fin_both(&rig, &c);
	peer_init(&c, false, 1, 500000, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "eager", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	publish(&c, CLIENT, "early", 5, "81");
	publish(&c, CLIENT, "", 5, "82");
	assert_string_equal(told(), ""); /* all of it waits for the CONNACK */
	assert_int_equal(bp_mqtt_worker_carried(rig.in) > 0, 1);
	mq_connack(&b, 5, 0, 5, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_string_equal(told(), "early=81 early=82");
	publish(&c, CLIENT, "late", 5, "83");
	publish(&c, CLIENT, "", 5, "84");
	assert_string_equal(told(), "late=83 late=84");
	publish(&c, CLIENT, "t", 6, "84");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_ALIAS), 1);
	rig_close(&rig);
}

/* No room: the mapping is not kept, and its use is not guessed. */
static void no_capacity(void **state)
{
	char topic[900];
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = 4096;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "", 100, 0);
	memset(topic, 'x', sizeof(topic));
	topic[sizeof(topic) - 1] = 0;
	for (uint16_t alias = 1; alias <= 10; alias++)
		publish(&c, CLIENT, topic, alias, "1");
	assert_true(rig_count(&rig, BP_C_ALIAS_NO_MEMORY) >= 6);
	for (uint16_t alias = 1; alias <= 10; alias++)
		publish(&c, CLIENT, "", alias, "1");
	assert_int_equal(
		rig_count(&rig, BP_C_ALIAS_UNMAPPED), rig_count(&rig, BP_C_ALIAS_NO_MEMORY));
	/* a mapping that cannot be replaced is gone, not left as it was */
	publish(&c, CLIENT, "short", 1, "1");
	publish(&c, CLIENT, "", 1, "85");
	assert_string_equal(told(), "short=85");
	assert_true(bp_mqtt_worker_carried(rig.in) <= 4096);
	rig_close(&rig);
}

/* More than max_topic_aliases: aliases within the limit are kept, those above are never guessed. */
static void over_the_configured_maximum(void **state)
{
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_topic_aliases = 3;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "many", 65535, 0);
	publish(&c, CLIENT, "three", 3, "81");
	publish(&c, CLIENT, "four", 4, "82"); /* evaluated under its own topic */
	publish(&c, CLIENT, "last", 65535, "83");
	publish(&c, CLIENT, "", 4, "84");
	publish(&c, CLIENT, "", 65535, "85");
	publish(&c, CLIENT, "", 3, "86");
	assert_string_equal(told(), "three=81 four=82 last=83 three=86");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_OVER_MAX), 2);
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 2);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_used_remapped),
		cmocka_unit_test(random_aliases_equal_the_model),
		cmocka_unit_test(alias_limit_is_that_of_the_receiver),
		cmocka_unit_test(other_direction_is_tracked),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(not_over_connections),
		cmocka_unit_test(limit_not_over_connections),
		cmocka_unit_test(no_capacity),
		cmocka_unit_test(over_the_configured_maximum),
	};

	return cmocka_run_group_tests_name("alias", tests, NULL, NULL);
}
