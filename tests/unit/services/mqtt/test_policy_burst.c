/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy on the burst path against the general path, its oracle: clients that alternate topics,
 * of which some are refused.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "both_paths.h"
#include "fixture.h"

#define PEERS 6u
#define POLICY_RULES 5u

static struct bp_policy_rule_spec policy[POLICY_RULES];
static struct bytes forwarded[2];
static struct bp_event_cursor events[2];

static void keep_forwarded(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	bytes_u8(arg, to_client);
	bytes_be16(arg, (uint16_t)len);
	bytes_add(arg, frame, len);
}

static void same_forwarded(void)
{
	assert_int_equal(forwarded[0].n, forwarded[1].n);
	if (forwarded[0].n != 0)
		assert_memory_equal(forwarded[0].p, forwarded[1].p, forwarded[0].n);
	bytes_free(&forwarded[0]);
	bytes_free(&forwarded[1]);
	memset(forwarded, 0, sizeof(forwarded));
}

static const char *some_topic(uint64_t *s)
{
	static const char *const topics[] = {"plant/a/temperature", "plant/b/temperature",
		"plant/c/temperature", "plant/oven1/raw", "x", "a/b"};

	return topics[test_below(s, sizeof(topics) / sizeof(topics[0]))];
}

/* `refuses`: one or another of its actions. */
static void some_policy(bool refuses, uint64_t *s)
{
	static const uint8_t observing[] = {BP_POLICY_ALLOW, BP_POLICY_OBSERVE};
	static const uint8_t refusing[] = {
		BP_POLICY_ALLOW, BP_POLICY_OBSERVE, BP_POLICY_BLANK, BP_POLICY_CLOSE};

	for (uint32_t i = 0; i < POLICY_RULES; i++) {
		struct bp_policy_rule_spec *r = &policy[i];

		*r = (struct bp_policy_rule_spec){.packet = BP_POLICY_PUBLISH,
			.action =
				refuses ? refusing[test_below(s, 4)] : observing[test_below(s, 2)],
			.retain = test_below(s, 5) == 0 ? 2 : 0,
			.has_size = test_below(s, 8) == 0,
			.larger_than = 3};
		snprintf(r->name, sizeof(r->name), "r%u", i);
		snprintf(r->topic, sizeof(r->topic), "%s", test_below(s, 6) ? some_topic(s) : "#");
		if (test_below(s, 3) == 0)
			snprintf(r->client, sizeof(r->client), "c*");
	}
}

static void open_with(bool refuses, const struct bp_rule_spec *rules, uint32_t n, uint64_t *s)
{
	struct rig *r[] = {&general, &burst};
	struct bp_event_ring ring;

	some_policy(refuses, s);
	for (unsigned i = 0; i < 2; i++) {
		rig_defaults(r[i]);
		r[i]->mqtt.max_connections = 64;
		r[i]->mqtt.policy.given = true;
		r[i]->mqtt.policy.rules = policy;
		r[i]->mqtt.policy.n_rules = POLICY_RULES;
		snprintf(r[i]->mqtt.policy.quarantine, sizeof(r[i]->mqtt.policy.quarantine),
			"$refused");
		r[i]->config.monitoring.event_queue_size = 1024;
		rig_open(r[i]);
		rig_rules(r[i], rules, n);
		ring = bp_shm_events(&r[i]->shm, 0);
		bp_event_cursor_open(&events[i], ring.slot, sizeof(*ring.slot), ring.size, 0);
		r[i]->forwarded = keep_forwarded;
		r[i]->forwarded_arg = &forwarded[i];
	}
	burst.bursts = true;
}

static void publish(struct peer *c, uint8_t version, uint64_t *s)
{
	static const char *const values[] = {"79.9", "81", "-3", "{\"celsius\": 81}", "hot", "80"};
	static uint8_t frame[PEER_FRAME_MAX];
	struct bytes b = {0};
	uint32_t seq = c->seq[CLIENT];
	size_t n;

	mq_publish(
		&b, &(struct mq_publish){.version = version,
			    .qos = (uint8_t)(test_below(s, 8) == 0),
			    .id = 7,
			    .retain = test_below(s, 8) == 0,
			    .topic = some_topic(s),
			    .payload = values[test_below(s, sizeof(values) / sizeof(values[0]))]});
	if (test_below(s, 40) == 0)
		seq -= test_below(s, 30);
	n = peer_frame(c, CLIENT, TH_ACK | TH_PSH, seq, c->seq[BROKER], b.p, b.n, frame);
	both(frame, n);
	if (seq == c->seq[CLIENT])
		c->seq[CLIENT] += (uint32_t)b.n;
	bytes_free(&b);
}

static void broker_acknowledges(struct peer *c)
{
	static uint8_t frame[PEER_FRAME_MAX];

	both(frame, peer_frame(c, BROKER, TH_ACK, c->seq[BROKER], c->seq[CLIENT], NULL, 0, frame));
}

/* The decisions of both workers. */
static void same_decisions(void)
{
	for (uint32_t i = 0; i < 2 * POLICY_RULES + 1; i++) {
		assert_int_equal(atomic_load(&general.shm.policy_stats[i].matched),
			atomic_load(&burst.shm.policy_stats[i].matched));
		assert_int_equal(atomic_load(&general.shm.policy_stats[i].undecided),
			atomic_load(&burst.shm.policy_stats[i].undecided));
	}
}

static bool next_event(unsigned i, struct bp_event *e)
{
	uint64_t lost;

	memset(e, 0, sizeof(*e));
	return bp_event_cursor_read(&events[i], e, &lost) == BP_EVENT_GOT_RECORD;
}

static void same_events(void)
{
	struct bp_event a, b;

	while (next_event(0, &a)) {
		assert_true(next_event(1, &b));
		assert_memory_equal(&a, &b, offsetof(struct bp_event, text));
		assert_memory_equal(a.text, b.text, (size_t)a.text_len[0] + a.text_len[1]);
	}
	assert_false(next_event(1, &b));
}

/* Another policy, and sometimes fewer rules, which a memo of before may exceed. */
static void reload(bool refuses, const struct bp_rule_spec *rules, uint32_t n, uint64_t *s)
{
	const uint32_t less = test_below(s, 2) ? n : 1;

	some_policy(refuses, s);
	rig_rules(&general, rules, less);
	rig_rules(&burst, rules, less);
}

/* Of a topic one rule or several, with and without state. */
static uint32_t some_rules(struct bp_rule_spec *rules, uint64_t seed)
{
	fixture_rules(rules);
	if (seed / 3 % 3 == 0)
		return FIXTURE_RULES;
	if (seed / 3 % 3 == 1) {
		rules[0] = rules[seed / 9 % 2];
		rules[0].repeat = seed / 18 % 2 ? BP_REPEAT_ON_CHANGE : BP_REPEAT_EVERY;
		return 1;
	}
	for (unsigned i = 0; i < 3; i++) {
		rules[i] = rules[0];
		snprintf(rules[i].name, sizeof(rules[i].name), "w%u", i);
		snprintf(rules[i].filter, sizeof(rules[i].filter), "plant/%c/temperature", 'a' + i);
		rules[i].raise.a = 20;
		rules[i].window = (struct bp_window_spec){
			.given = i != 0, .function = BP_WINDOW_MEAN, .values = 2 + i};
	}
	return 3;
}

struct bursts {
	uint64_t others;  /* of which frames on another topic were read by the burst path */
	uint64_t blanked; /* frames that it has blanked */
};

static void bursts(uint64_t seed, bool refuses, struct bursts *sum)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull;
	const uint8_t version = (uint8_t)(3 + seed % 3);
	struct bp_rule_spec rules[FIXTURE_RULES];
	struct peer c[PEERS];
	uint32_t n;

	n = some_rules(rules, seed);
	open_with(refuses, rules, n, &s);
	for (unsigned i = 0; i < PEERS; i++) {
		peer_init(&c[i], false, (uint32_t)seed * 100 + i, 0xfffffc00u, 7);
		connect_both(&c[i], version);
	}
	for (unsigned step = 0; step < 15; step++) {
		const uint64_t read = burst.n_in_bursts - burst.n_general;
		const uint64_t hits = rig_count(&burst, BP_C_TOPIC_CACHE_HIT);

		if (test_below(&s, 8) == 0)
			reload(refuses, rules, n, &s);
		burst.burst_size = 1 + test_below(&s, BP_MQTT_BURST);
		for (unsigned i = 0; i < burst.burst_size; i++) {
			struct peer *p = &c[test_below(&s, PEERS)];

			if (test_below(&s, 30) == 0) {
				peer_init(p, false, (uint32_t)test_random(&s), 0x100, 7);
				connect_both(p, version);
			}
			if (test_below(&s, 8) == 0)
				broker_acknowledges(p);
			publish(p, version, &s);
		}
		rig_flush(&burst);
		same(refuses ? "refused" : "observed", seed, step);
		same_forwarded();
		same_decisions();
		same_events();
		if (!refuses)
			same_tables();
		if (burst.n_in_bursts - burst.n_general - read >
			rig_count(&burst, BP_C_TOPIC_CACHE_HIT) - hits)
			sum->others++;
	}
	sum->blanked += burst.n_blanked;
	rig_close(&general);
	rig_close(&burst);
}

static void observed(void **state)
{
	struct bursts sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 90; seed++)
		bursts(seed, false, &sum);
	assert_true(sum.others > 60); /* the burst path has read them */
	assert_int_equal(sum.blanked, 0);
}

static void refused(void **state)
{
	struct bursts sum = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 90; seed++)
		bursts(seed, true, &sum);
	assert_true(sum.others > 60);
	assert_true(sum.blanked > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(observed), cmocka_unit_test(refused)};

	return cmocka_run_group_tests_name("policy_burst", tests, NULL, NULL);
}
