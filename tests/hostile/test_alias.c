/* SPDX-License-Identifier: BSD-3-Clause */
/* A client sets tens of thousands of topic aliases and then sends nothing but aliases. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "rig.h"

#define ALIASES 43000u
#define SEGMENT 1448u

static struct rig rig;

static void open_rig(uint32_t max_topic_aliases)
{
	rig_defaults(&rig);
	rig.mqtt.max_topic_aliases = max_topic_aliases;
	rig.mqtt.reassembly_per_connection = 16 * 1024 * 1024;
	rig.mqtt.reassembly_total = 32 * 1024 * 1024;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
}

/* PUBLISH packets with these aliases, as many as go into each segment. `topic`: a name of its own
 * for each alias, or none. */
static void send_aliases(
	struct peer *c, uint32_t first, uint32_t last, bool topic, const char *value)
{
	struct bytes b = {0};

	for (uint32_t alias = first; alias <= last; alias++) {
		char name[8] = "";

		if (topic)
			snprintf(name, sizeof(name), "%u", (unsigned)alias);
		mq_publish(&b, &(struct mq_publish){.version = 5,
				       .topic = name,
				       .alias = (uint16_t)alias,
				       .payload = value});
		if (b.n > SEGMENT - 32 || alias == last)
			rig_send_bytes(&rig, c, CLIENT, &b);
	}
}

/* The client sets 43,000 aliases without waiting for a CONNACK, which never comes. */
static void aliases_before_connack_are_not_kept(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(65535);
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "flood", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	send_aliases(&c, 1, ALIASES, true, "1");
	/* data that waits for the CONNACK is within the limit of all waiting data */
	assert_true(bp_mqtt_worker_carried(rig.in) <= 2 * rig.mqtt.reorder_buffer);
	for (unsigned i = 0; i < 20; i++)
		send_aliases(&c, ALIASES - 180, ALIASES, false, "99");
	assert_int_equal(rig_told_count(&rig), 0);
	rig_close(&rig);
}

/* A broker that allows 65,535 does not make the gateway keep more than is configured. */
static void aliases_over_the_maximum_are_not_kept(void **state)
{
	struct peer c;

	(void)state;
	open_rig(256);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "flood", 65535, 0);
	send_aliases(&c, 1, ALIASES, true, "1");
	assert_true(bp_mqtt_worker_carried(rig.in) <= 256 * 128 + 4096);
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_OVER_MAX), ALIASES - 256);
	send_aliases(&c, 1, ALIASES, false, "99");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), ALIASES - 256);
	assert_int_equal(rig_told_count(&rig), 256);
	rig_close(&rig);
}

/* If both peers allow them, each of 43,000 aliases has a topic of its own. */
static void allowed_aliases_are_accepted(void **state)
{
	struct peer c;
	struct told_list l;

	(void)state;
	open_rig(65535);
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "many", 65535, 0);
	send_aliases(&c, 1, ALIASES, true, "1");
	for (uint32_t first = 1; first <= ALIASES; first += 1000) {
		send_aliases(&c, first, first + 999, false, "99");
		l = rig_told(&rig);
		assert_int_equal(l.n, 1000);
		for (uint32_t i = 0; i < l.n; i++) {
			char want[8];

			snprintf(want, sizeof(want), "%u", (unsigned)(first + i));
			assert_string_equal(l.a[i].topic, want);
		}
		told_free(&l);
	}
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aliases_before_connack_are_not_kept),
		cmocka_unit_test(aliases_over_the_maximum_are_not_kept),
		cmocka_unit_test(allowed_aliases_are_accepted),
	};

	return cmocka_run_group_tests_name("alias", tests, NULL, NULL);
}
