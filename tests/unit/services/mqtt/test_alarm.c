/* SPDX-License-Identifier: BSD-3-Clause */
/* The content of an alarm: every field, its topic, its number; and alarms that cannot be written.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(const char *to)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);

	snprintf(rule.to, sizeof(rule.to), "%s", to);
	rule.severity = BP_SEVERITY_MINOR;
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
}

static void every_field(void **state)
{
	(void)state;
	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		struct told_list l;
		struct peer c;

		open_rig("alarm/{topic}");
		peer_init(&c, ip6, 77, 1, 2);
		rig_connect(&rig, &c, 4, "press 7");
		rig_advance(&rig, 987654321);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = 4,
				.qos = 2,
				.id = 4,
				.retain = true,
				.topic = "plant/press/temperature",
				.payload = " 81.25 "});
		l = rig_told(&rig);
		assert_int_equal(l.n, 1);
		assert_int_equal(l.a[0].time_ns, rig.now_ns);
		assert_true(l.a[0].value == 81.25);
		assert_int_equal(l.a[0].state, BP_ALARM_RAISED);
		assert_int_equal(l.a[0].flags, BP_ALARM_F_RETAIN | (ip6 ? BP_ALARM_F_IP6 : 0));
		assert_int_equal(l.a[0].qos, 2);
		assert_int_equal(l.a[0].severity, BP_SEVERITY_MINOR);
		assert_int_equal(l.a[0].client_port, c.client_port);
		assert_memory_equal(l.a[0].client_ip, c.client_ip, ip6 ? 16 : 4);
		assert_string_equal(l.a[0].rule, "overheat");
		assert_string_equal(l.a[0].client, "press 7");
		assert_string_equal(l.a[0].topic, "plant/press/temperature");
		assert_string_equal(l.a[0].to, "alarm/plant/press/temperature");
		assert_string_equal((char *)l.a[0].payload, " 81.25 "); /* to the byte */
		told_free(&l);
		assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED), 1);
		assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED_MINOR), 1);
		assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED_NONE), 0);
		assert_int_equal(rig_count(&rig, BP_C_ALARM_QUEUED), 1);
		rig_close(&rig);
	}
}

/* Raises, repetitions and clears of one burst: each raise has a number of its own, and what follows
 * has it too. */
static void every_transition_has_a_number(void **state)
{
	static const char *const value[] = {"81", "82", "70", "83", "71"};
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);
	struct told_list l;
	struct peer c;

	(void)state;
	rule.has_clear = true;
	rule.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	peer_init(&c, false, 77, 1, 2);
	rig_connect(&rig, &c, 4, "press 7");
	for (unsigned i = 0; i < 5; i++)
		rig_publish_text(&rig, &c, "plant/press/temperature", value[i]);
	l = rig_told(&rig);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.a[0].transition, l.a[0].time_ns >> BP_TRANSITION_SHIFT);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(l.a[i].flags & BP_ALARM_F_REPEAT, i == 1 ? BP_ALARM_F_REPEAT : 0);
	assert_true(l.a[1].transition == l.a[0].transition);
	assert_true(l.a[2].transition == l.a[0].transition);
	assert_true(l.a[3].transition > l.a[0].transition);
	assert_true(l.a[4].transition == l.a[3].transition);
	told_free(&l);
	rig_close(&rig);
}

static uint64_t clock_of_rig(const void *ahead)
{
	return rig.mono_ns + *(const uint64_t *)ahead;
}

/* Received at the begin of the burst; evaluated by the clock, but not before that. */
static void times_of_the_stages(void **state)
{
	const uint64_t ahead[] = {1234, 0, (uint64_t)-300};
	struct peer c;

	(void)state;
	open_rig("alarm/{topic}");
	peer_init(&c, false, 77, 1, 2);
	rig_connect(&rig, &c, 4, "press 7");
	for (unsigned i = 0; i < 4; i++) {
		struct told_list l;

		if (i != 0) /* at first there is no clock */
			bp_mqtt_worker_set_clock(rig.in, clock_of_rig, &ahead[i - 1]);
		rig_advance(&rig, 987654321);
		/* of any length: the times follow at a multiple of 8 bytes */
		rig_publish_text(&rig, &c, "plant/press/temperature", &"    81"[i]);
		l = rig_told(&rig);
		assert_int_equal(l.n, 1);
		assert_int_equal(l.a[0].times.received_ns, rig.mono_ns);
		assert_int_equal(l.a[0].times.evaluated_ns, rig.mono_ns + (i == 1 ? 1234 : 0));
		told_free(&l);
	}
	rig_close(&rig);
}

/* A rule that is shown as an envelope, and one that is only recorded because it clones. */
static void alarm_has_envelope_and_mirror_flags(void **state)
{
	struct bp_rule_spec rules[2];
	struct told_list l;
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig_open(&rig);
	rules[0] = rig_rule("envelope", "a", BP_COND_GT, 80);
	rules[0].payload = BP_PAYLOAD_ENVELOPE;
	rules[1] = rig_rule("clone", "b", BP_COND_GT, 80);
	rules[1].action = BP_ACTION_MIRROR;
	rig_rules(&rig, rules, 2);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	rig_publish_text(&rig, &c, "a", "81");
	rig_publish_text(&rig, &c, "b", "81");
	l = rig_told(&rig);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.a[0].flags, BP_ALARM_F_ENVELOPE);
	assert_int_equal(l.a[1].flags, BP_ALARM_F_MIRROR);
	told_free(&l);
	assert_int_equal(rig_count(&rig, BP_C_MIRROR_NO_TARGET), 1); /* no one took the clone */
	rig_close(&rig);
}

static void an_alarm_names_its_destinations(void **state)
{
	static const uint8_t flags[] = {[BP_DESTINATION_MQTT] = 0,
		[BP_DESTINATION_KAFKA] = BP_ALARM_F_KAFKA | BP_ALARM_F_NOT_MQTT,
		[BP_DESTINATION_BOTH] = BP_ALARM_F_KAFKA};
	static const char *const topics[] = {"a", "b", "c"};
	struct bp_rule_spec rules[3];
	struct peer c;
	struct told_list l;

	(void)state;
	rig_defaults(&rig);
	rig_open(&rig);
	for (uint8_t i = 0; i < 3; i++) {
		rules[i] = rig_rule(topics[i], topics[i], BP_COND_GT, 80);
		rules[i].destination = i;
		rules[i].has_clear = true;
		rules[i].clear = (struct bp_condition){BP_COND_LT, 75, 0};
	}
	rig_rules(&rig, rules, 3);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned i = 0; i < 6; i++)
		rig_publish_text(&rig, &c, topics[i % 3], "81");
	l = rig_told(&rig);
	assert_int_equal(l.n, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(l.a[i].flags, flags[i % 3] | (i < 3 ? 0 : BP_ALARM_F_REPEAT));
	told_free(&l);
	rig_close(&rig);
}

/* One PUBLISH of `client`; where the alarm goes. */
static const char *to_of(const char *template, const char *client, bool ip6, uint8_t version)
{
	static char to[1400];
	struct told_list l;
	struct peer c;

	open_rig(template);
	peer_init(&c, ip6, 5, 1, 2);
	if (client != NULL) {
		rig_connect(&rig, &c, version, client);
	} else {
		/* met in the middle: no one knows what it is called */
		struct bytes b = {0};

		mq_publish(&b, &(struct mq_publish){.version = 4,
				       .qos = 1,
				       .id = 1,
				       .topic = "plant/x/temperature",
				       .payload = "1"});
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_ack(&b, MQ_PUBACK, 1);
		rig_send_bytes(&rig, &c, BROKER, &b);
	}
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = version, .topic = "plant/x/temperature", .payload = "99"});
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	snprintf(to, sizeof(to), "%s", l.a[0].to);
	if (client != NULL)
		assert_string_equal(l.a[0].client, client);
	told_free(&l);
	rig_close(&rig);
	return to;
}

static void topic_templates_are_rendered(void **state)
{
	char long_id[1100], want[1300];

	(void)state;
	assert_string_equal(to_of("plain", "c", false, 4), "plain");
	assert_string_equal(to_of("{topic}", "c", false, 4), "plant/x/temperature");
	assert_string_equal(to_of("{rule}/{client}/{topic}/{rule}", "c-1", false, 5),
		"overheat/c-1/plant/x/temperature/overheat");
	assert_string_equal(to_of("{client}{client}", "ab", false, 3), "abab");
	assert_string_equal(to_of("a{b}{c}{", "c", false, 4), "a{b}{c}{"); /* no placeholders */
	/* characters that a topic name cannot have */
	assert_string_equal(to_of("c/{client}", "a/b+c#d", false, 4), "c/a_b_c_d");
	assert_string_equal(to_of("c/{client}",
				    "Gr\xc3\xbc\xc3\x9f"
				    "e",
				    false, 4),
		"c/Gr\xc3\xbc\xc3\x9f"
		"e");
	/* unknown: by address */
	assert_string_equal(to_of("c/{client}", NULL, false, 4), "c/10.0.0.5:40005");
	assert_string_equal(to_of("c/{client}", NULL, true, 4), "c/[fd00::5]:40005");
	assert_string_equal(to_of("c/{client}", "", false, 4), "c/10.0.0.5:40005");
	/* too long to name anything by it */
	memset(long_id, 'i', 250);
	long_id[250] = 0;
	snprintf(want, sizeof(want), "c/%s", long_id);
	assert_string_equal(to_of("c/{client}", long_id, false, 4), want);
}

/* The broker gives the name in version 5. */
static void assigned_name(void **state)
{
	struct bytes b = {0};
	struct told_list l;
	struct peer c;

	(void)state;
	open_rig("{client}");
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_connack(&b, 5, 0, 0, "auto-1234");
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = 5, .topic = "plant/x/temperature", .payload = "99"});
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.a[0].client, "auto-1234");
	assert_string_equal(l.a[0].to, "auto-1234");
	told_free(&l);
	rig_close(&rig);
}

/* No reader: alarms are lost, counted, and the numbers of those that came through have no hole. */
static void ring_full(void **state)
{
	uint64_t raised, next = 0;
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.alarm_queue_size = 4096;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned round = 0; round < 50; round++) {
		struct told_list l;

		for (unsigned i = 0; i < 100; i++)
			rig_publish_text(&rig, &c, "t", "81");
		l = rig_told(&rig);
		assert_true(l.n > 10 && l.n < 100);
		for (size_t i = 0; i < l.n; i++) {
			if (next != 0)
				assert_int_equal(l.a[i].id, next);
			next = l.a[i].id + 1;
		}
		told_free(&l);
	}
	raised = rig_count(&rig, BP_C_ALARM_RAISED);
	assert_int_equal(raised, 5000);
	assert_int_equal(
		rig_count(&rig, BP_C_ALARM_QUEUED) + rig_count(&rig, BP_C_ALARM_QUEUE_FULL),
		raised);
	assert_true(rig_count(&rig, BP_C_ALARM_QUEUE_FULL) > 0);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 5000);
	rig_close(&rig);
}

static void too_large(void **state)
{
	static char payload[50000];
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.alarm_queue_size = 64 * 1024;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	memset(payload, ' ', sizeof(payload));
	memcpy(payload, "81", 2);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 4,
			.topic = "t",
			.payload = payload,
			.payload_len = sizeof(payload)});
	assert_int_equal(rig_count(&rig, BP_C_ALARM_TOO_LARGE), 1);
	assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED), 1);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = 4, .topic = "t", .payload = payload, .payload_len = 10000});
	assert_int_equal(rig_told_count(&rig), 1);
	rig_close(&rig);
}

/* An expanded topic of more than 65,535 bytes cannot be published. */
static void topic_too_long(void **state)
{
	static char topic[40001];
	struct bp_rule_spec rule = rig_rule("r", "#", BP_COND_GT, 80);
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.trust_checksums = true;
	rig_open(&rig);
	snprintf(rule.to, sizeof(rule.to), "{topic}/{topic}");
	rig_rules(&rig, &rule, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	memset(topic, 't', 40000);
	rig_publish_text(&rig, &c, topic, "81");
	assert_int_equal(rig_count(&rig, BP_C_ALARM_TOO_LARGE), 1);
	assert_int_equal(rig_told_count(&rig), 0);
	rig_close(&rig);
}

/* Counted for the rule, by what became of it. */
static void rule_statistics(void **state)
{
	const struct bp_rule_stats *s;
	struct peer c;

	(void)state;
	open_rig("a");
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	rig_publish_text(&rig, &c, "plant/a/temperature", "81");
	rig_publish_text(&rig, &c, "plant/a/temperature", "79");
	rig_publish_text(&rig, &c, "plant/a/temperature", "hot");
	rig_publish_text(&rig, &c, "plant/a/temperature", "nan");
	rig_publish_text(&rig, &c, "plant/a/temperature", "");
	rig_publish_text(&rig, &c, "plant/a/pressure", "99");
	s = &rig.shm.rule_stats[bp_ruleset_rule(rig.rules, 0)->slot];
	assert_int_equal(s->matched, 5);
	assert_int_equal(s->no_value, 3);
	assert_int_equal(s->raised, 1);
	assert_int_equal(s->cleared, 0);
	assert_int_equal(rig_count(&rig, BP_C_MATCH), 5);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 3);
	assert_int_equal(rig_count(&rig, BP_C_MATCH_NONE), 1);
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_LOOKUP), 2);
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_CACHE_HIT), 4);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(times_of_the_stages),
		cmocka_unit_test(alarm_has_envelope_and_mirror_flags),
		cmocka_unit_test(an_alarm_names_its_destinations),
		cmocka_unit_test(topic_templates_are_rendered),
		cmocka_unit_test(assigned_name),
		cmocka_unit_test(ring_full),
		cmocka_unit_test(every_transition_has_a_number),
		cmocka_unit_test(too_large),
		cmocka_unit_test(topic_too_long),
		cmocka_unit_test(rule_statistics),
	};

	return cmocka_run_group_tests_name("alarm", tests, NULL, NULL);
}
