/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane explain`, of a worker with rules and connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/explain/explain.h"
#include "biplane/counters/mqtt.h"
#include "rig.h"
#include "shm/rules/combination.h"
#include "services/mqtt/mqtt_worker.h"
#include "tests/unit/proto/tls/hellos.h"

#define SECOND 1000000000ull
#define TOPIC "plant/oven/temperature"

static struct rig rig;
static struct peer peer;
static struct bp_explain e;
static char err[256];

/* As the control plane: for the worker and for readers. */
static void activate(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_rules(&rig, rules, n);
	atomic_store(&rig.shm.control->rules_active, rig.generation << 1 | (rig.generation & 1));
}

static void set_rules(uint8_t repeat, uint8_t hold)
{
	struct bp_rule_spec rules[] = {rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80),
		rig_rule("door", "plant/+/door", BP_COND_EQ, 1)};

	rules[0].has_clear = repeat == BP_REPEAT_ON_CHANGE;
	rules[0].clear = (struct bp_condition){BP_COND_LT, 75, 0};
	rules[0].repeat = repeat;
	rules[0].hold = hold;
	rules[0].hold_count = 3;
	rules[0].hold_ns = 10 * SECOND;
	activate(rules, 2);
}

static int open_rig(void **state)
{
	rig_defaults(&rig);
	rig.mqtt.max_window_values = BP_WINDOW_CLASSES_VALUES;
	rig.config.n_ports = 1;
	rig_open(&rig);
	set_rules(BP_REPEAT_ON_CHANGE, BP_HOLD_NONE);
	atomic_store(&rig.shm.global->dp_pid, (uint64_t)getpid());
	atomic_store(&rig.shm.global->dp_heartbeat_ns, 0); /* none yet: it starts */
	atomic_store(&rig.shm.global->dp_ports, 1);
	atomic_store(&rig.shm.control->cp_pid, (uint64_t)getpid());
	atomic_store(&rig.shm.control->publisher[BP_TO_MQTT].connected, 1);
	strcpy(rig.shm.ports[0].name, "devices");
	strcpy(rig.shm.ports[0].bridge, "line-1");
	rig.shm.ports[0].link_up = 1;
	peer_init(&peer, false, 77, 1, 2);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(&rig);
	return 0;
}

static void begin(void)
{
	if (bp_explain_open(&e, &rig.shm, rig.now_ns, rig.mono_ns, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

static json_t *ended(json_t *explanation)
{
	bp_explain_close(&e);
	assert_non_null(explanation);
	return explanation;
}

static json_t *topic(const char *name)
{
	begin();
	return ended(bp_explain_topic(&e, name));
}

static json_t *client(const char *id)
{
	begin();
	return ended(bp_explain_client(&e, id));
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* "STATUS REASON" of a check, or NULL. */
static const char *check(const json_t *of, const char *name)
{
	static char out[2200];
	size_t i;
	json_t *c;

	json_array_foreach(json_object_get(of, "checks"), i, c)
	{
		if (strcmp(text(c, "check"), name) != 0)
			continue;
		snprintf(out, sizeof(out), "%s %s", text(c, "status"), text(c, "reason"));
		return out;
	}
	return NULL;
}

static const json_t *element(const json_t *o, const char *list, size_t i)
{
	const json_t *x = json_array_get(json_object_get(o, list), i);

	assert_non_null(x);
	return x;
}

#define assert_check(of_, name_, begin_)                                                           \
	do {                                                                                       \
		const char *c_ = check(of_, name_);                                                \
                                                                                                   \
		if (c_ == NULL || strncmp(c_, begin_, strlen(begin_)) != 0)                        \
			fail_msg("%s: %s", name_, c_ ? c_ : "no such check");                      \
	} while (0)

/* Nothing was published: the rules are evaluated for the topic. */
static void a_topic_that_was_never_seen(void **state)
{
	json_t *x = topic(TOPIC);
	const json_t *rule = element(x, "rules", 0);

	assert_string_equal(text(x, "kind"), "topic");
	assert_string_equal(text(x, "subject"), TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	assert_check(x, "data plane", "ok ");
	assert_check(x, "rules", "ok 2 rules are active, generation");
	assert_check(x, "publisher", "ok connected");
	assert_check(x, "match", "ok 1 rule matches the topic");
	assert_check(x, "published", "info it is the last topic of no connection");
	assert_string_equal(text(rule, "rule"), "overheat");
	assert_true(json_is_true(json_object_get(rule, "matches")));
	assert_check(rule, "value", "info read as text; no PUBLISH has matched the rule yet");
	assert_check(rule, "condition",
		"ok the next value that is > 80 raises an alarm; it is not raised now");
	/* and the other one, with the reason */
	rule = element(x, "rules", 1);
	assert_true(json_is_false(json_object_get(rule, "matches")));
	assert_string_equal(
		text(rule, "reason"), "level 3 is 'temperature', the filter has 'door'");
	json_decref(x);
}

static void a_typing_error_is_suggested(void **state)
{
	json_t *x = topic("plant/oven/temperatur");

	assert_string_equal(text(x, "verdict"), "no");
	assert_string_equal(text(x, "summary"), "no alarm: no rule matches the topic");
	assert_check(
		x, "match", "no no rule matches the topic; did you mean 'plant/oven/temperature'?");
	/* the most similar one first */
	assert_string_equal(text(element(x, "rules", 0), "rule"), "overheat");
	json_decref(x);
	begin();
	e.limit = 1;
	x = ended(bp_explain_topic(&e, "a/b/c"));
	assert_int_equal(json_array_size(json_object_get(x, "rules")), 1);
	assert_check(x, "match", "no no rule matches the topic");
	assert_null(strstr(check(x, "match"), "did you mean"));
	json_decref(x);
}

static void raised_and_cleared(void **state)
{
	json_t *x;

	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "81.5");
	rig_advance(&rig, 3 * SECOND);
	rig_publish_text(&rig, &peer, TOPIC, "90");
	rig_advance(&rig, 2 * SECOND);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "raised");
	assert_check(
		x, "published", "ok it is the last topic of 1 connection, 1 of them inspected");
	assert_check(element(x, "rules", 0), "state",
		"info raised for 5.0 s; last value 90, 2.0 s ago; cleared by a value that is < 75");
	assert_check(element(x, "rules", 0), "repeat", "no on_change: no further alarm");
	assert_string_equal(text(element(x, "connections", 0), "client_id"), "oven-7");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "70");
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	json_decref(x);
}

static void hold_in_progress(void **state)
{
	json_t *x;

	set_rules(BP_REPEAT_EVERY, BP_HOLD_COUNT);
	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "81.5");
	rig_publish_text(&rig, &peer, TOPIC, "82");
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	assert_check(element(x, "rules", 0), "condition", "ok 3 values in a row must be > 80");
	assert_check(element(x, "rules", 0), "hold", "info 2 of 3, last value 82");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "82");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "repeat", "ok every: each further value");
	assert_string_equal(text(x, "verdict"), "possible");
	json_decref(x);
	set_rules(BP_REPEAT_EVERY, BP_HOLD_TIME);
	rig_publish_text(&rig, &peer, TOPIC, "82");
	rig_advance(&rig, 4 * SECOND);
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "hold", "info in progress for 4.0 s, last value 82");
	json_decref(x);
}

static void quiet_time_and_deadband(void **state)
{
	struct bp_rule_spec r = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);
	json_t *x;

	r.quiet_ns = 10 * SECOND;
	r.deadband = 2.5;
	activate(&r, 1);
	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "81.5");
	rig_advance(&rig, 4 * SECOND);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "raised");
	assert_check(element(x, "rules", 0), "quiet",
		"no the last alarm was 4.0 s ago: none is raised or repeated for 10");
	assert_check(element(x, "rules", 0), "deadband",
		"info a value is repeated if it differs by more than 2.5");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "70");
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "no");
	json_decref(x);
	rig_advance(&rig, 6 * SECOND);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	assert_null(check(element(x, "rules", 0), "quiet"));
	json_decref(x);
}

static void window_is_filled(void **state)
{
	struct bp_rule_spec rule = rig_rule("mean", "plant/+/temperature", BP_COND_GT, 80);
	json_t *x;

	rule.window =
		(struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 3};
	activate(&rule, 1);
	rig_connect(&rig, &peer, 4, "oven-7");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "window",
		"info mean of the last 3 values; no value was seen yet");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "70");
	rig_publish_text(&rig, &peer, TOPIC, "71");
	rig_advance(&rig, 4 * SECOND);
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "window",
		"info mean of the last 3 values; it has 2 of 3 values, the newest of 4.0 s ago; no "
		"result yet");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "72");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "window",
		"info mean of the last 3 values; it has 3 of 3 values, the newest of 0 us ago; "
		"last result 71");
	json_decref(x);
	rule.window = (struct bp_window_spec){.given = true,
		.tumbling = true,
		.function = BP_WINDOW_COUNT,
		.time_ns = 90 * SECOND};
	activate(&rule, 1);
	rig_publish_text(&rig, &peer, TOPIC, "72");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "window", "info count of each 90 s; it has 1 values");
	json_decref(x);
	rule.window = (struct bp_window_spec){.given = true,
		.function = BP_WINDOW_PERCENTILE,
		.percentile = 99,
		.time_ns = 90 * SECOND};
	activate(&rule, 1);
	rig_publish_text(&rig, &peer, TOPIC, "72");
	rig_publish_text(&rig, &peer, TOPIC, "73");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "window",
		"info percentile 99 of the last 90 s; it has 2 values");
	json_decref(x);
}

/* Each part of the key has its value, and the window of that topic. */
static void parts_of_a_combination(void **state)
{
	static const uint8_t all[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));
	struct bp_rule_spec rule = rig_rule("dry", "", BP_COND_GT, 0);
	json_t *x;

	assert_non_null(c);
	c->part[0] = rig_rule("", "plant/{press}/temperature", BP_COND_GT, 80);
	c->part[1] = rig_rule("", "pressures/{press}", BP_COND_LT, 2);
	c->part[1].window =
		(struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 2};
	memcpy(c->program.step, all, sizeof(all));
	c->program.len = sizeof(all);
	c->n_parts = 2;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	activate(&rule, 1);
	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "90.5");
	rig_publish_text(&rig, &peer, "pressures/oven", "1");
	rig_publish_text(&rig, &peer, "pressures/oven", "2");
	for (unsigned i = 0; i < 2; i++) {
		x = topic(i == 0 ? TOPIC : "pressures/oven");
		assert_string_equal(text(x, "verdict"), "raised");
		assert_check(element(x, "rules", 0), "part",
			"info plant/{press}/temperature > 80: true, last value 90.5, 0 us ago");
		assert_check(element(x, "rules", 0), "window",
			"info mean of the last 2 values; it has 2 of 2 values, the newest of 0 us "
			"ago; last result 1.5");
		assert_check(element(x, "rules", 0), "combination", "info true");
		json_decref(x);
	}
	free(c);
}

static void values_that_are_not_found(void **state)
{
	json_t *x;

	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "hot");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "value",
		"no read as text; no payload that matched the rule has such a value (1 so far)");
	assert_string_equal(text(x, "verdict"), "no");
	json_decref(x);
	x = client("oven-7");
	assert_string_equal(text(x, "summary"), "no alarm: see the checks marked no");
	json_decref(x);
	rig_publish_text(&rig, &peer, TOPIC, "20");
	x = topic(TOPIC);
	assert_check(element(x, "rules", 0), "value", "info read as text; 1 of 2 payloads");
	json_decref(x);
}

static void a_gateway_without_planes_or_rules(void **state)
{
	json_t *x;

	atomic_store(&rig.shm.global->dp_pid, 0);
	atomic_store(&rig.shm.control->publisher[BP_TO_MQTT].connected, 0);
	atomic_store(&rig.shm.control->publisher[BP_TO_MQTT].spool_rows, 5);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "no");
	assert_check(x, "data plane", "no it does not run");
	assert_check(x, "publisher",
		"info not connected to the broker: alarms wait in the spool (5 now)");
	json_decref(x);
	atomic_store(&rig.shm.control->publisher[BP_TO_KAFKA].max_inflight, 10);
	atomic_store(&rig.shm.control->publisher[BP_TO_KAFKA].connected, 1);
	x = topic(TOPIC);
	assert_check(x, "kafka", "ok connected to Kafka, 0 in flight, 0 in the spool");
	/* Kafka is the only destination */
	assert_null(check(x, "publisher"));
	json_decref(x);
	atomic_store(&rig.shm.control->publisher[BP_TO_MQTT].max_inflight, 10);
	x = topic(TOPIC);
	assert_check(x, "kafka", "ok connected to Kafka");
	assert_check(x, "publisher", "info not connected to the broker");
	assert_check(element(x, "rules", 0), "destination",
		"info mqtt: not connected, alarms wait in the spool");
	assert_string_equal(text(element(x, "rules", 0), "destination"), "mqtt");
	json_decref(x);
	activate(NULL, 0);
	x = topic(TOPIC);
	assert_check(x, "rules", "no no rule is active");
	json_decref(x);
}

static json_t *connection(const char *what)
{
	struct bp_endpoint end[2];
	const unsigned n = bp_explain_endpoints(what, end);

	assert_true(n > 0);
	begin();
	return ended(bp_explain_connection(&e, what, end, n));
}

/* As a worker that checks the ingress ports; port + 1. */
static void set_input_port(uint8_t port)
{
	const struct bp_flow_table *t = &rig.in->table;

	for (uint32_t i = 0; i < t->groups * BP_FLOW_WAYS; i++)
		if (t->flow[i].proof != 0)
			t->flow[i].client_port = port;
}

static void a_connection_by_its_ends(void **state)
{
	char ends[128];
	json_t *x;

	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "20");
	snprintf(ends, sizeof(ends), "%u.%u.%u.%u:%u", peer.client_ip[0], peer.client_ip[1],
		peer.client_ip[2], peer.client_ip[3], peer.client_port);
	x = connection(ends);
	assert_check(element(x, "connections", 0), "path", "info the input port is not known");
	json_decref(x);
	set_input_port(2); /* there is one */
	x = connection(ends);
	assert_check(element(x, "connections", 0), "path", "info the input port is not known");
	json_decref(x);
	set_input_port(1);
	x = connection(ends);
	assert_string_equal(text(x, "verdict"), "possible");
	assert_check(x, "tracked", "ok 1 connection is in the table");
	const json_t *flow = element(x, "connections", 0);

	assert_check(flow, "path",
		"ok segments of the client arrive at port devices, which is bridged by line-1");
	assert_check(flow, "connection", "ok open");
	assert_check(flow, "established", "ok ");
	assert_check(flow, "inspected", "ok the position in the stream is known; 1 PUBLISH so far");
	assert_check(flow, "last topic", "ok its name is not stored");
	assert_string_equal(text(element(flow, "rules", 0), "rule"), "overheat");
	json_decref(x);
	snprintf(ends + strlen(ends), 64, "-192.0.2.1:1883");
	x = connection(ends);
	assert_check(x, "tracked", "ok 1 connection is in the table");
	json_decref(x);
	x = connection("192.0.2.1:1883-10.9.9.9:1");
	assert_string_equal(text(x, "verdict"), "no");
	assert_check(x, "tracked", "no no such connection is in the table");
	json_decref(x);
	/* a topic without a rule */
	rig_publish_text(&rig, &peer, "other", "20");
	x = connection("192.0.2.1:1883");
	assert_check(element(x, "connections", 0), "last topic", "no no rule matches it");
	assert_string_equal(text(x, "verdict"), "no");
	json_decref(x);
	/* a reload */
	set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
	x = connection("192.0.2.1:1883");
	assert_non_null(strstr(check(element(x, "connections", 0), "last topic"), "older rules"));
	json_decref(x);
}

static void a_client_by_its_identifier(void **state)
{
	json_t *x;

	rig_connect(&rig, &peer, 4, "oven-7");
	x = client("oven-7");
	assert_check(x, "tracked", "ok 1 connection");
	assert_check(element(x, "connections", 0), "last topic", "info no PUBLISH was inspected");
	assert_non_null(strstr(text(x, "summary"), "no PUBLISH was compared"));
	json_decref(x);
	x = client("oven7");
	assert_non_null(strstr(check(x, "tracked"), "did you mean client 'oven-7'?"));
	json_decref(x);
	x = client("press");
	assert_null(strstr(check(x, "tracked"), "did you mean"));
	json_decref(x);
}

/* The checks of the policy, from the first one: "STATUS REASON|STATUS REASON". */
static const char *policy_checks(const json_t *of)
{
	static char out[4096];
	size_t i;
	json_t *c;

	out[0] = '\0';
	json_array_foreach(json_object_get(of, "checks"), i, c)
	{
		if (strcmp(text(c, "check"), "policy") == 0)
			snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s %s",
				out[0] != '\0' ? "|" : "", text(c, "status"), text(c, "reason"));
	}
	return out;
}

static void set_policy(void)
{
	static struct bp_policy_rule_spec rules[] = {
		{.name = "known",
			.packet = BP_POLICY_CONNECT,
			.client = "ov*",
			.action = BP_POLICY_ALLOW},
		{.name = "own",
			.packet = BP_POLICY_PUBLISH,
			.topic = "plant/{client}/#",
			.action = BP_POLICY_ALLOW},
		{.name = "kept",
			.packet = BP_POLICY_PUBLISH,
			.topic = "plant/#",
			.retain = 2,
			.user = "anna",
			.action = BP_POLICY_OBSERVE},
		{.name = "plant",
			.packet = BP_POLICY_PUBLISH,
			.topic = "plant/#",
			.action = BP_POLICY_ALLOW},
		{.name = "reading", .packet = BP_POLICY_SUBSCRIBE, .action = BP_POLICY_ALLOW},
		/* of no publication on office/door */
		{.name = "slow",
			.topic = "office/#",
			.has_keep_alive = true,
			.has_keep_above = true,
			.keep_above = 10,
			.action = BP_POLICY_CLOSE},
		{.name = "pumps",
			.topic = "office/{client}/#",
			.client = "pump-*",
			.action = BP_POLICY_ALLOW},
		{.name = "twice", .topic = "office/+/{user}/{user}", .action = BP_POLICY_CLOSE},
	};

	rig.mqtt.policy = (struct bp_policy_spec){.given = true,
		.preset = BP_POLICY_OBSERVE,
		.n_rules = sizeof(rules) / sizeof(rules[0]),
		.rules = rules};
	set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
}

static void lose_identity(void)
{
	const struct bp_flow_table *t = &rig.in->table;

	for (uint32_t i = 0; i < t->groups * BP_FLOW_WAYS; i++)
		if (t->flow[i].proof != 0)
			t->flow[i].session |= BP_SESSION_NO_ID;
}

static void decisions_of_the_policy(void **state)
{
	json_t *x;

	x = topic(TOPIC);
	assert_string_equal(policy_checks(x), "");
	json_decref(x);
	set_policy();
	x = topic(TOPIC);
	assert_string_equal(policy_checks(x),
		"ok PUBLISH: rule own allows it with topic plant/{client}/#"
		"|info PUBLISH: rule kept observes it with retain true, user_name anna"
		"|ok PUBLISH: rule plant allows it");
	json_decref(x);
	x = topic("office/door");
	assert_string_equal(policy_checks(x), "info PUBLISH: the default observes it");
	json_decref(x);
	x = topic("office/pump-1");
	assert_string_equal(policy_checks(x),
		"ok PUBLISH: rule pumps allows it with client_id pump-*, topic office/{client}/#"
		"|info PUBLISH: the default observes all others");
	json_decref(x);
	x = topic("office/door/anna/bob");
	assert_string_equal(policy_checks(x), "info PUBLISH: the default observes it");
	json_decref(x);
	rig_connect(&rig, &peer, 4, "oven");
	x = client("oven");
	assert_string_equal(policy_checks(element(x, "connections", 0)),
		"ok CONNECT: rule known allows it|info PUBLISH: none was inspected yet");
	json_decref(x);
	/* topic names are those of the caller, where the connection has only the hash */
	rig_publish_text(&rig, &peer, TOPIC, "20");
	x = topic(TOPIC);
	assert_string_equal(policy_checks(element(x, "connections", 0)),
		"ok CONNECT: rule known allows it|ok PUBLISH on the last topic: rule own allows "
		"it");
	json_decref(x);
	lose_identity();
	x = topic(TOPIC);
	assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
		"info the CONNECT of the client is not known"));
	json_decref(x);
}

static void a_decision_that_is_not_made(void **state)
{
	json_t *x;

	set_policy();
	rig_connect(&rig, &peer, 4, "press");
	rig_publish_text(&rig, &peer, "plant/oven/x", "20");
	x = topic("plant/oven/x");
	assert_string_equal(policy_checks(element(x, "connections", 0)),
		"info CONNECT: the default observes it"
		"|ok PUBLISH on the last topic: rule plant allows it");
	json_decref(x);
	rig.mqtt.policy.rules[2].user[0] = '\0';
	set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
	rig_publish_text(&rig, &peer, "plant/oven/x", "20");
	x = topic("plant/oven/x");
	assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
		"rule plant allows it; other packets of it may have another decision"));
	json_decref(x);
	rig.mqtt.policy.rules[2].retain = 0;
	strcpy(rig.mqtt.policy.rules[2].user, "anna");
	set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
	lose_identity();
	x = topic("plant/oven/x");
	assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
		"info PUBLISH on the last topic: no decision: what rule kept asks for is not "
		"known of this client"));
	json_decref(x);
}

/* What happens then is that of the port of the client. */
static void a_decision_that_is_not_made_at_a_port(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		const bool closed = k & 1, uninspected = k & 2;
		json_t *x;

		set_policy();
		rig.mqtt.policy.rules[2].action = BP_POLICY_CLOSE;
		rig.mqtt.policy.fail = closed ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED;
		*(closed ? &rig.mqtt.policy.fail_closed_ports : &rig.mqtt.policy.fail_open_ports) =
			1;
		set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
		rig.port = 1;
		rig.broker_port = 2;
		rig_connect(&rig, &peer, 4, "press");
		rig_publish_text(&rig, &peer, "plant/oven/x", "20");
		if (uninspected) {
			rig.mqtt.policy.given = false;
			set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
			rig_send(&rig, &peer, CLIENT, "\xff\0", 2);
			rig.mqtt.policy.given = true;
			set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
			x = connection("192.0.2.1:1883");
		} else {
			lose_identity();
			x = topic("plant/oven/x");
		}
		assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
			uninspected ? closed ? "not inspected, and are refused (fail: closed)"
					     : "not inspected, and are forwarded (fail: open)"
			: closed    ? "known of this client: it is refused (fail: closed)"
				    : "known of this client: it is forwarded (fail: open)"));
		json_decref(x);
		(void)close_rig(state);
		(void)open_rig(state);
	}
}

/* What depends on each packet, and what is refused. */
static void rates_and_refusals(void **state)
{
	json_t *x;

	set_policy();
	rig_connect(&rig, &peer, 4, "ovation");
	rig.mqtt.policy.rules[3].has_rate = true;
	rig.mqtt.policy.rules[3].rate_per = BP_POLICY_PER_CLIENT;
	rig.mqtt.policy.rules[3].rate = (struct bp_policy_rate){10, 1};
	rig.mqtt.policy.rules[0].action = BP_POLICY_CLOSE;
	set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
	rig_publish_text(&rig, &peer, "plant/oven/x", "20");
	x = topic("plant/oven/x");
	assert_non_null(strstr(
		policy_checks(element(x, "connections", 0)), "no CONNECT: rule known refuses it"));
	assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
		"info PUBLISH on the last topic: rule plant allows it with rate above 10/s"));
	assert_non_null(strstr(policy_checks(element(x, "connections", 0)), "(on_reload: leave)"));
	json_decref(x);
	rig.mqtt.policy.rules[0].action = BP_POLICY_ALLOW;
	rig.mqtt.policy.rules[3].has_rate = false;
	/* the hours of now, and other ones */
	rig.mqtt.policy.rules[3].has_hours = true;
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t minute = rig.now_ns / (60 * SECOND) + 1440 - 30 + 60 * i;

		rig.mqtt.policy.rules[3].from = (uint16_t)(minute % 1440);
		rig.mqtt.policy.rules[3].to = (uint16_t)((minute + 60) % 1440);
		set_rules(BP_REPEAT_EVERY, BP_HOLD_NONE);
		x = topic("plant/oven/x");
		assert_non_null(strstr(policy_checks(element(x, "connections", 0)),
			i == 0 ? "ok PUBLISH on the last topic: rule plant allows it"
			       : "info PUBLISH on the last topic: the default observes it"));
		json_decref(x);
	}
	rig.mqtt.policy.rules[3].has_hours = false;
}

static void connections_that_are_not_inspected(void **state)
{
	json_t *x;

	rig_handshake(&rig, &peer);
	x = connection("192.0.2.1:1883");
	assert_check(element(x, "connections", 0), "established", "no neither the handshake");
	json_decref(x);
	rig_send(&rig, &peer, CLIENT, tls_client12, sizeof(tls_client12));
	rig_send(&rig, &peer, BROKER, tls_server12, sizeof(tls_server12));
	x = connection("192.0.2.1:1883");
	assert_string_equal(text(x, "verdict"), "no");
	assert_check(element(x, "connections", 0), "inspected",
		"no no, not_inspected_tls: stream begins with TLS");
	assert_check(element(x, "connections", 0), "tls", "info server name: mqtt.plant.example");
	assert_string_equal(text(x, "summary"), "no alarm: see the checks marked no");
	json_decref(x);
}

/* Reasons why a connection is not in the table. */
static void counters_explain_missing_connections(void **state)
{
	json_t *x;

	rig.shm.counters[0].v[BP_C_SEG_OTHER_BROKER] = 12;
	x = connection("10.0.0.1:1");
	assert_check(x, "not tracked",
		"info possible reason: connection not established: segment not to or from "
		"mqtt.brokers, 12 so far (segments_other_broker)");
	json_decref(x);
}

static void endpoints_are_parsed(void **state)
{
	static const char *const wrong[] = {"", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0",
		"10.0.0.1:65536", "10.0.0.1:x", "10.0.0.1:1x", "10.0.0:1", "::1:80", "[::1]",
		"[::1:80", "]:80", ":80", "10.0.0.1:1-", "-10.0.0.1:1", "10.0.0.1:1-[::1]:1",
		"10.0.0.1:1-10.0.0.2:1-10.0.0.3:1", "10.0.0.1:+1", "10.0.0.1: 1",
		"[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc]:1"};
	struct bp_endpoint end[2];

	assert_int_equal(bp_explain_endpoints("10.0.0.5:40312", end), 1);
	assert_int_equal(end[0].tcp_port, 40312);
	assert_int_equal(end[0].address.family, 4);
	assert_memory_equal(end[0].address.bytes, ((uint8_t[]){10, 0, 0, 5}), 4);
	assert_int_equal(bp_explain_endpoints("[fd00::5]:1-[fd00::6]:1883", end), 2);
	assert_int_equal(end[1].address.family, 6);
	assert_int_equal(end[1].address.bytes[15], 6);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (bp_explain_endpoints(wrong[i], end) != 0)
			fail_msg("%s", wrong[i]);
}

static void text_is_a_list_of_checks(void **state)
{
	json_t *x;
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "81.5");
	x = topic(TOPIC);
	bp_explain_print(x, f);
	json_decref(x);
	x = client("\x1b[2J\302\233");
	bp_explain_print(x, f);
	fclose(f);
	assert_ptr_equal(
		strstr(out, "topic plant/oven/temperature: an alarm is raised already"), out);
	assert_non_null(strstr(out, "\nok    match         1 rule matches the topic\n"));
	assert_non_null(strstr(out, "\nrule overheat, topic plant/+/temperature: matches\n"));
	assert_non_null(strstr(out, "\n  no    repeat        on_change"));
	assert_non_null(strstr(out, "rule door, topic plant/+/door: does not match: level 3"));
	assert_non_null(strstr(out, ", client oven-7\n"));
	assert_non_null(
		strstr(out, "client \\x1b[2J\\x9b: no alarm: the connection is not tracked"));
	json_decref(x);
	free(out);
}

static uint64_t random_state = 1;

static void fill(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
		((uint8_t *)p)[i] = (uint8_t)(random_state >> 33);
	}
}

/* Another process may overwrite all that is read. */
static void damaged_contents_are_harmless(void **state)
{
	uint8_t *flows, *global = malloc(sizeof(*rig.shm.global));

	rig_connect(&rig, &peer, 4, "oven-7");
	rig_publish_text(&rig, &peer, TOPIC, "81.5");
	flows = malloc(rig.shm.flows_len);
	memcpy(flows, rig.shm.flows, rig.shm.flows_len);
	memcpy(global, rig.shm.global, sizeof(*rig.shm.global));
	for (unsigned round = 0; round < 30; round++) {
		char *out = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&out, &len);
		json_t *x[3];

		memcpy(rig.shm.flows, flows, rig.shm.flows_len);
		fill(rig.shm.flows + 4096 * round, 4096);
		fill(rig.shm.rule_state, rig.shm.rule_state_len * sizeof(*rig.shm.rule_state));
		fill(rig.shm.alarm_log, BP_ALARM_LOG_LEN * sizeof(*rig.shm.alarm_log));
		fill(rig.shm.ports, sizeof(*rig.shm.ports));
		fill(rig.shm.rule_stats, rig.shm.max_rules * sizeof(*rig.shm.rule_stats));
		if (round % 2)
			fill(rig.shm.global->hash_key, sizeof(rig.shm.global->hash_key));
		x[0] = topic(TOPIC);
		x[1] = client("oven-7");
		x[2] = connection("192.0.2.1:1883");
		for (unsigned i = 0; i < 3; i++) {
			bp_explain_print(x[i], f);
			json_decref(x[i]);
		}
		fclose(f);
		free(out);
	}
	memcpy(rig.shm.flows, flows, rig.shm.flows_len);
	memcpy(rig.shm.global, global, sizeof(*rig.shm.global));
	free(flows);
	free(global);
}

/* A rule with absent: not watched, watched, raised, and spoken again. */
static void a_topic_whose_absence_is_watched(void **state)
{
	struct bp_rule_spec rule = rig_rule("dead", "plant/+/temperature", BP_COND_GE, 30);
	json_t *x;

	rule.absent_ns = 30 * SECOND;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	activate(&rule, 1);
	rig_connect(&rig, &peer, 4, "oven-7");
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "no");
	assert_check(element(x, "rules", 0), "watched", "no not watched: no publication");
	assert_string_equal(text(element(x, "rules", 0), "raise"), "absent for 30 s");
	assert_null(check(element(x, "rules", 0), "value"));
	json_decref(x);

	rig_publish_text(&rig, &peer, TOPIC, "no number");
	rig_advance(&rig, 12 * SECOND);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	assert_check(element(x, "rules", 0), "watched", "ok last publication 12.0 s ago");
	assert_check(element(x, "rules", 0), "condition", "ok raised in 18.0 s");
	json_decref(x);

	rig_advance(&rig, 18 * SECOND);
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	rig_advance(&rig, 5 * SECOND);
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "raised");
	assert_check(element(x, "rules", 0), "watched", "ok last publication 35.0 s ago");
	assert_check(element(x, "rules", 0), "state", "no raised for 5.0 s");
	json_decref(x);

	rig_publish_text(&rig, &peer, TOPIC, "81");
	x = topic(TOPIC);
	assert_string_equal(text(x, "verdict"), "possible");
	json_decref(x);
}

#define EXPLAIN(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPLAIN(a_topic_whose_absence_is_watched),
		EXPLAIN(a_topic_that_was_never_seen),
		EXPLAIN(a_typing_error_is_suggested),
		EXPLAIN(raised_and_cleared),
		EXPLAIN(hold_in_progress),
		EXPLAIN(quiet_time_and_deadband),
		EXPLAIN(window_is_filled),
		EXPLAIN(parts_of_a_combination),
		EXPLAIN(values_that_are_not_found),
		EXPLAIN(a_gateway_without_planes_or_rules),
		EXPLAIN(a_connection_by_its_ends),
		EXPLAIN(a_client_by_its_identifier),
		EXPLAIN(decisions_of_the_policy),
		EXPLAIN(a_decision_that_is_not_made),
		EXPLAIN(a_decision_that_is_not_made_at_a_port),
		EXPLAIN(rates_and_refusals),
		EXPLAIN(connections_that_are_not_inspected),
		EXPLAIN(counters_explain_missing_connections),
		cmocka_unit_test(endpoints_are_parsed),
		EXPLAIN(text_is_a_list_of_checks),
		EXPLAIN(damaged_contents_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
