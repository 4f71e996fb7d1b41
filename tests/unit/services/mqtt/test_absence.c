/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules with absent: silent topics, the clear, reloads, restarts, and the bounds of the table. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "services/mqtt/topic_hash.h"

#define SECOND 1000000000ull

static struct rig rig;
static struct peer c;

static struct bp_rule_spec absence(const char *name, const char *filter, uint64_t seconds)
{
	struct bp_rule_spec r = rig_rule(name, filter, BP_COND_GE, (double)seconds);

	r.absent_ns = seconds * SECOND;
	r.repeat = BP_REPEAT_ON_CHANGE;
	r.payload = BP_PAYLOAD_ENVELOPE;
	return r;
}

static void open_default(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "sensor-7");
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

static void open_with(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig.mqtt.connection_timeout_ns = 3600 * SECOND;
	open_default(rules, n);
}

static void tick(void)
{
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

/* Time passes in steps of a second, or less at the end. */
static void wait(uint64_t ns)
{
	for (uint64_t step; ns != 0; ns -= step) {
		step = ns < SECOND ? ns : SECOND;
		rig_advance(&rig, step);
		tick();
	}
}

/* "topic+value" for raised, "topic-value" for cleared. */
static const char *told(void)
{
	static char text[8192];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%c%g", i ? " " : "",
			l.a[i].topic, l.a[i].state == BP_ALARM_RAISED ? '+' : '-', l.a[i].value);
	told_free(&l);
	return text;
}

static void a_silent_topic_raises_once_and_a_publication_clears(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/+", 30);
	struct told_list l;
	uint64_t transition;

	(void)state;
	open_with(&r, 1);
	wait(100 * SECOND);
	assert_string_equal(told(), ""); /* no topic has been seen */
	rig_publish_text(&rig, &c, "plant/a", "no number");
	wait(20 * SECOND);
	rig_publish_text(&rig, &c, "plant/a", "21");
	wait(30 * SECOND - 1);
	assert_string_equal(told(), "");
	wait(1);
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.a[0].topic, "plant/a");
	assert_string_equal(l.a[0].to, "alarm/plant/a");
	assert_string_equal(l.a[0].client, "sensor-7");
	assert_int_equal(l.a[0].state, BP_ALARM_RAISED);
	assert_int_equal(l.a[0].client_port, c.client_port);
	assert_memory_equal(l.a[0].client_ip, c.client_ip, 4);
	assert_true(l.a[0].value == 30);
	assert_int_equal(l.a[0].time_ns, rig.now_ns);
	transition = l.a[0].transition;
	told_free(&l);
	wait(100 * SECOND);
	assert_string_equal(told(), "");
	rig_publish_text(&rig, &c, "plant/a", "");
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.a[0].state, BP_ALARM_CLEARED);
	assert_true(l.a[0].value == 130);
	assert_int_equal(l.a[0].transition, transition);
	told_free(&l);
	rig_publish_text(&rig, &c, "plant/a", "1");
	wait(31 * SECOND);
	assert_string_equal(told(), "plant/a+30");
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED), 1);
	rig_close(&rig);
}

static void a_topic_without_wildcards_is_watched_from_the_load(void **state)
{
	struct bp_rule_spec r[2] = {absence("a", "plant/a", 30), absence("b", "plant/b", 10)};

	(void)state;
	open_with(r, 1);
	wait(20 * SECOND);
	rig_rules(&rig, r, 2); /* the first continues */
	tick();
	wait(9 * SECOND);
	assert_string_equal(told(), "");
	wait(SECOND);
	/* of equal times in any order */
	assert_int_equal(rig_told_count(&rig), 2);
	rig_close(&rig);
}

static void a_reload_without_the_rule_forgets_its_topics(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	const struct bp_rule_spec other = absence("other", "other/#", 30);

	(void)state;
	open_with(&r, 1);
	rig_publish_text(&rig, &c, "plant/a", "1");
	wait(25 * SECOND);
	rig_rules(&rig, &other, 1);
	wait(SECOND);
	rig_rules(&rig, &r, 1); /* the same rule is a new one */
	wait(29 * SECOND);
	assert_string_equal(told(), "");
	rig_rules(&rig, NULL, 0);
	wait(60 * SECOND); /* and now it is gone */
	rig_rules(&rig, &r, 1);
	wait(100 * SECOND);
	assert_string_equal(told(), "");
	rig_close(&rig);
}

static void a_restart_extends_the_silence_by_the_pause(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);

	(void)state;
	open_with(&r, 1);
	rig_publish_text(&rig, &c, "plant/dead", "1");
	wait(30 * SECOND);
	assert_string_equal(told(), "plant/dead+30");
	rig_publish_text(&rig, &c, "plant/a", "1");
	wait(25 * SECOND);
	rig.now_ns += 300 * SECOND; /* nobody watches */
	rig.mono_ns += 300 * SECOND;
	rig_restart(&rig);
	tick();
	wait(29 * SECOND);
	assert_string_equal(told(), "");
	wait(SECOND);
	assert_string_equal(told(), "plant/a+30"); /* and the other one not again */
	rig_publish_text(&rig, &c, "plant/dead", "1");
	assert_string_equal(told(), "plant/dead-385");
	rig_close(&rig);
}

static void a_pause_of_the_worker_is_no_silence(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 5);

	(void)state;
	rig_defaults(&rig);
	rig.live = true;
	open_default(&r, 1);
	rig_publish_text(&rig, &c, "plant/a", "1");
	rig_advance(&rig, 60 * SECOND); /* its frames wait */
	tick();
	assert_string_equal(told(), "");
	rig_publish_text(&rig, &c, "plant/a", "1");
	wait(4 * SECOND);
	assert_string_equal(told(), "");
	wait(3 * SECOND);
	assert_string_equal(told(), "plant/a+5");
	rig_close(&rig);
}

/* Two rules on one topic, and one with a value. */
static void rules_of_one_topic_are_independent(void **state)
{
	struct bp_rule_spec r[3] = {absence("short", "plant/a", 10), absence("long", "plant/+", 20),
		rig_rule("hot", "plant/#", BP_COND_GT, 80)};

	(void)state;
	open_with(r, 3);
	rig_publish_text(&rig, &c, "plant/a", "81");
	assert_string_equal(told(), "plant/a+81");
	wait(10 * SECOND);
	assert_string_equal(told(), "plant/a+10");
	wait(10 * SECOND);
	assert_string_equal(told(), "plant/a+20");
	rig_publish_text(&rig, &c, "plant/a", "79");
	assert_string_equal(told(), "plant/a-20 plant/a-20");
	rig_close(&rig);
}

static void long_topics_are_counted(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	char topic[BP_WATCH_TOPIC_MAX + 2] = "plant/";

	(void)state;
	open_with(&r, 1);
	memset(topic + 6, 'x', BP_WATCH_TOPIC_MAX - 5);
	rig_publish_text(&rig, &c, topic, "1");
	assert_int_equal(rig_count(&rig, BP_C_WATCH_TOPIC_TOO_LONG), 1);
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED), 0);
	topic[BP_WATCH_TOPIC_MAX] = '\0';
	rig_publish_text(&rig, &c, topic, "1");
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED), 1);
	wait(30 * SECOND);
	assert_int_equal(rig_told_count(&rig), 1);
	rig_close(&rig);
}

static void a_full_table_keeps_the_topics_of_others(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	struct peer other;
	char topic[64];

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_watched_topics = 512;
	open_default(&r, 1);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(topic, sizeof(topic), "plant/good/%u", i);
		rig_publish_text(&rig, &c, topic, "1");
	}
	peer_init(&other, false, 2, 1, 2);
	rig_connect(&rig, &other, 4, "evil");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(topic, sizeof(topic), "plant/evil/%u", i);
		rig_publish_text(&rig, &other, topic, "1");
	}
	assert_true(rig_count(&rig, BP_C_WATCH_EVICTED) > 4000);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(topic, sizeof(topic), "plant/good/%u", i);
		rig_publish_text(&rig, &c, topic, "1");
	}
	/* all were still there */
	assert_int_equal(
		rig_count(&rig, BP_C_TOPICS_WATCHED) + rig_count(&rig, BP_C_WATCH_FULL), 5100);
	rig_close(&rig);
}

/* The configured number of topics is watched, whatever their hashes. */
static void the_configured_number_is_watched(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	const unsigned n = 20000, clients = 100;
	struct peer p;
	char topic[64];

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_watched_topics = n;
	open_default(&r, 1);
	for (unsigned k = 0; k < clients; k++) {
		peer_init(&p, false, k + 2, 1, 2);
		snprintf(topic, sizeof(topic), "d%u", k);
		rig_connect(&rig, &p, 4, topic);
		for (unsigned i = 0; i < n / clients; i++) {
			snprintf(topic, sizeof(topic), "plant/%u/%u", k, i);
			rig_publish_text(&rig, &p, topic, "1");
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED), n);
	assert_int_equal(rig_count(&rig, BP_C_WATCH_FULL), 0);
	assert_int_equal(rig_count(&rig, BP_C_WATCH_EVICTED), 0);
	rig_close(&rig);
}

/* More alarms than the queue takes are raised when there is space again. */
static void a_full_queue_delays_alarms(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	const unsigned n = 3000;
	char topic[64];
	size_t raised = 0, more;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_watched_topics = 2 * n;
	rig.mqtt.max_alarm_states = 4 * n;
	rig.mqtt.alarm_queue_size = 64 * 1024;
	open_default(&r, 1);
	for (unsigned i = 0; i < n; i++) {
		snprintf(topic, sizeof(topic), "plant/%u", i);
		rig_publish_text(&rig, &c, topic, "1");
	}
	wait(30 * SECOND);
	while ((more = rig_told_count(&rig)) != 0) {
		assert_true(more < n / 2);
		raised += more;
		wait(SECOND);
	}
	assert_int_equal(raised, n);
	assert_int_equal(rig_count(&rig, BP_C_ALARM_QUEUE_FULL), 0);
	rig_close(&rig);
}

/* A worker was killed while it wrote the text of an entry, or before it confirmed it. */
static void entries_that_are_not_whole_are_removed(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	struct bp_watch_entry *e;
	uint64_t at = 0;

	(void)state;
	open_with(&r, 1);
	rig_publish_text(&rig, &c, "plant/a", "1");
	while (rig.shm.watch.entry[at].key == 0)
		at++;
	e = &rig.shm.watch.entry[at];
	rig.shm.watch.topic[at].topic[6] = 'b';
	wait(30 * SECOND);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_WATCH_DAMAGED), 1);
	assert_int_equal(e->key, 0);

	rig_publish_text(&rig, &c, "plant/a", "1");
	while (rig.shm.watch.entry[at].key == 0)
		at++;
	e = &rig.shm.watch.entry[at];
	e->word |= BP_WATCH_CLAIM;
	rig.mono_ns++;
	rig_restart(&rig);
	tick();
	rig_publish_text(&rig, &c, "plant/a", "1"); /* the new process makes it again */
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED), 3);
	wait(30 * SECOND);
	assert_string_equal(told(), "plant/a+30");
	rig_close(&rig);
}

/* The payload of a publication over the budget is not read, but it is one. */
static void publications_over_the_budget_count(void **state)
{
	struct bp_rule_spec r[12] = {absence("dead", "plant/a", 30)};
	const uint8_t *topic = (const uint8_t *)"plant/a";
	struct bp_watch_view v;
	uint64_t before;

	(void)state;
	for (unsigned i = 1; i < 12; i++) {
		r[i] = rig_rule("hot", "plant/a", BP_COND_GT, i);
		snprintf(r[i].name, sizeof(r[i].name), "hot-%u", i);
		r[i].hold = BP_HOLD_TIME; /* keeps a state: more work */
		r[i].hold_ns = SECOND;
	}
	rig_defaults(&rig);
	rig.mqtt.connection_cpu_percent = rig.mqtt.worker_cpu_percent = 1;
	open_default(r, 12);
	for (unsigned i = 0; i < 2000; i++)
		rig_publish_text(&rig, &c, "plant/a", "1");
	rig_advance(&rig, 1000000);
	before = rig_count(&rig, BP_C_NOT_INSPECTED_CONNECTION_BUDGET) +
		 rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET);
	rig_publish_text(&rig, &c, "plant/a", "1");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_CONNECTION_BUDGET) +
				 rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET),
		before + 1);
	assert_true(bp_watch_find(&rig.shm.watch,
		bp_watch_key(bp_ruleset_rule(rig.rules, 0)->uid,
			bp_topic_hash_by(rig.shm.global->hash_key, topic, 7),
			bp_ruleset_rule(rig.rules, 0)->slot),
		&v));
	assert_int_equal(v.seen_ns, rig.mono_ns);
	rig_close(&rig);
}

/* Workers without a receive queue do not run: the others have all of the table. */
static void each_share_of_the_table_is_searched(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/#", 30);
	size_t first, second;
	char topic[32];

	(void)state;
	open_with(&r, 1);
	bp_mqtt_worker_share(rig.in, 0, 2);
	for (unsigned i = 0; i < 64; i++) {
		snprintf(topic, sizeof(topic), "plant/%u", i);
		rig_publish_text(&rig, &c, topic, "1");
	}
	wait(60 * SECOND);
	first = rig_told_count(&rig);
	bp_mqtt_worker_share(rig.in, 1, 2);
	wait(60 * SECOND);
	second = rig_told_count(&rig);
	assert_true(first > 0 && second > 0);
	assert_int_equal(first + second, 64);
	rig_close(&rig);
}

/* A further publication soon after another one takes less work, and its time counts as well. */
static void frequent_publications_keep_the_exact_time(void **state)
{
	const struct bp_rule_spec r = absence("dead", "plant/+", 30);

	(void)state;
	open_with(&r, 1);
	for (unsigned i = 0; i < 20; i++) {
		rig_publish_text(&rig, &c, "plant/a", "1");
		rig_advance(&rig, SECOND / 10);
	}
	wait(30 * SECOND - SECOND / 10 - 1);
	assert_string_equal(told(), "");
	wait(1);
	assert_string_equal(told(), "plant/a+30");
	/* soon after the raise */
	rig_publish_text(&rig, &c, "plant/a", "1");
	rig_publish_text(&rig, &c, "plant/a", "1");
	assert_string_equal(told(), "plant/a-30");
	rig_close(&rig);
}

/* A device that fills its segments with short publications on new topics. */
static void rules_with_absent_are_within_the_budget(void **state)
{
	const struct bp_rule_spec r = absence("dead", "#", 1);
	uint64_t refused;
	char topic[16];

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_watched_topics = 20000;
	rig.mqtt.connection_cpu_percent = rig.mqtt.worker_cpu_percent = 1;
	open_default(&r, 1);
	for (unsigned i = 0; i < 200; i++) {
		struct bytes b = {0};

		for (unsigned k = 0; k < 100; k++) {
			snprintf(topic, sizeof(topic), "%u", 100 * i + k);
			mq_publish(&b,
				&(struct mq_publish){.version = 4, .topic = topic, .payload = "1"});
		}
		rig_send_bytes(&rig, &c, CLIENT, &b);
	}
	refused = rig_count(&rig, BP_C_NOT_INSPECTED_CONNECTION_BUDGET) +
		  rig_count(&rig, BP_C_NOT_INSPECTED_WORKER_BUDGET);
	assert_true(refused > 5000);
	assert_int_equal(rig_count(&rig, BP_C_TOPICS_WATCHED) + refused, 20000);
	rig_close(&rig);
}

/* The slot of a rule is that of another one after a reload. */
static void topics_of_an_earlier_rule_are_removed(void **state)
{
	const struct bp_rule_spec r[2] = {absence("a", "plant/#", 30), absence("b", "other/#", 90)};
	uint64_t used = 0;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.connection_timeout_ns = 3600 * SECOND;
	rig.mqtt.max_rules = 1;
	open_default(&r[0], 1);
	rig_publish_text(&rig, &c, "plant/silent", "1");
	wait(40 * SECOND);
	rig_publish_text(&rig, &c, "plant/watched", "1");
	assert_string_equal(told(), "plant/silent+30");
	wait(11 * SECOND);
	rig_rules(&rig, &r[1], 1);
	wait(2 * SECOND);
	for (uint64_t i = 0; i < rig.shm.watch.len; i++)
		used += rig.shm.watch.entry[i].key != 0;
	assert_int_equal(used, 0);
	assert_int_equal(rig_count(&rig, BP_C_WATCH_DAMAGED), 0);
	wait(100 * SECOND);
	assert_string_equal(told(), "");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_topic_raises_once_and_a_publication_clears),
		cmocka_unit_test(a_topic_without_wildcards_is_watched_from_the_load),
		cmocka_unit_test(a_reload_without_the_rule_forgets_its_topics),
		cmocka_unit_test(a_restart_extends_the_silence_by_the_pause),
		cmocka_unit_test(a_pause_of_the_worker_is_no_silence),
		cmocka_unit_test(rules_of_one_topic_are_independent),
		cmocka_unit_test(long_topics_are_counted),
		cmocka_unit_test(a_full_table_keeps_the_topics_of_others),
		cmocka_unit_test(the_configured_number_is_watched),
		cmocka_unit_test(a_full_queue_delays_alarms),
		cmocka_unit_test(entries_that_are_not_whole_are_removed),
		cmocka_unit_test(publications_over_the_budget_count),
		cmocka_unit_test(each_share_of_the_table_is_searched),
		cmocka_unit_test(frequent_publications_keep_the_exact_time),
		cmocka_unit_test(rules_with_absent_are_within_the_budget),
		cmocka_unit_test(topics_of_an_earlier_rule_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
