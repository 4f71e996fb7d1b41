/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on metrics of Sparkplug B: births, data by alias, deaths, sequence numbers. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/sparkplug/sparkplug.h"
#include "shm/rules/combination.h"
#include "sparkplug_steps.h"

static void data_by_alias_has_the_metric_of_the_birth(void **state)
{
	(void)state;
	open_rig("spBv1.0/g/+/n/#", "Motor/Temperature");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, "Motor/Temperature", 12, 20);
	data("spBv1.0/g/NDATA/n", 1, NULL, 12, 81);
	data("spBv1.0/g/NDATA/n", 2, NULL, 13, 99); /* another metric */
	data("spBv1.0/g/NDATA/n", 3, NULL, 12, 74);
	assert_string_equal(told(), "+81 g/NDATA/n, -74 g/NDATA/n");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_ALIAS_UNKNOWN), 0);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 0);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 0);
	rig_close(&rig);
}

static void a_birth_has_values_and_the_topic_of_data(void **state)
{
	(void)state;
	/* the filter matches no birth */
	open_rig("spBv1.0/g/DDATA/+/+", "t");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, "t", 1, 85);
	data("spBv1.0/g/DDATA/n/d", 2, NULL, 1, 70);
	assert_string_equal(told(), "+85 g/DDATA/n/d, -70 g/DDATA/n/d");
	rig_close(&rig);
}

static void metrics_by_name_need_no_birth(void **state)
{
	(void)state;
	open_rig("spBv1.0/#", "t");
	data("spBv1.0/g/NDATA/n", 1, "t", 0, 81);
	assert_string_equal(told(), "+81 g/NDATA/n");
	data("spBv1.0/g/NDATA/n", 2, NULL, 5, 70); /* which metric? */
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_ALIAS_UNKNOWN), 1);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 1);
	rig_close(&rig);
}

static void a_birth_replaces_aliases(void **state)
{
	(void)state;
	open_rig("spBv1.0/g/+/n/#", "t");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, "t", 1, 20);
	birth("spBv1.0/g/NBIRTH/n", 2, 0, 7, "t", 2, 20); /* a rebirth has the same bdSeq */
	data("spBv1.0/g/NDATA/n", 1, NULL, 1, 90);
	assert_string_equal(told(), "");
	data("spBv1.0/g/NDATA/n", 2, NULL, 2, 81);
	assert_string_equal(told(), "+81 g/NDATA/n");
	birth("spBv1.0/g/NBIRTH/n", 3, 0, 7, NULL, 0, 0); /* the metric is gone */
	data("spBv1.0/g/NDATA/n", 1, NULL, 2, 70);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_ALIAS_UNKNOWN), 0);
	rig_close(&rig);
}

static void a_birth_of_the_node_ends_the_aliases_of_its_devices(void **state)
{
	(void)state;
	open_rig("spBv1.0/g/+/n/#", "t");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, "t", 1, 20);
	birth("spBv1.0/g/NBIRTH/n", 2, 0, 8, NULL, 0, 0);
	data("spBv1.0/g/DDATA/n/d", 1, NULL, 1, 90);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_ALIAS_UNKNOWN), 1);
	birth("spBv1.0/g/DBIRTH/n/d", 2, 2, 7, "t", 1, 20);
	data("spBv1.0/g/DDATA/n/d", 3, NULL, 1, 90);
	assert_string_equal(told(), "+90 g/DDATA/n/d");
	/* the same birth seen again changes nothing */
	birth("spBv1.0/g/NBIRTH/n", 2, 0, 8, NULL, 0, 0);
	data("spBv1.0/g/DDATA/n/d", 4, NULL, 1, 70);
	assert_string_equal(told(), "-70 g/DDATA/n/d");
	rig_close(&rig);
}

static void the_state_survives_a_restart(void **state)
{
	(void)state;
	open_rig("spBv1.0/g/+/n/#", "t");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, "t", 1ull << 40, 20);
	rig_restart(&rig);
	data("spBv1.0/g/DDATA/n/d", 2, NULL, 1ull << 40, 90);
	assert_string_equal(told(), "+90 g/DDATA/n/d");
	data("spBv1.0/g/DDATA/n/d", 4, NULL, 1ull << 40, 70);
	assert_string_equal(told(), "-70 g/DDATA/n/d"); /* a gap is counted, and ends nothing */
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 1);
	rig_close(&rig);
}

static void sequence_numbers_count_over_all_messages_of_a_node(void **state)
{
	(void)state;
	open_rig("spBv1.0/g/+/n/#", "t");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, "t", 1, 20);
	for (unsigned seq = 2; seq < 600; seq++)
		data(seq & 1 ? "spBv1.0/g/NDATA/n" : "spBv1.0/g/DDATA/n/d", seq & 0xff, NULL, 1,
			20);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 0);
	data("spBv1.0/g/NDATA/n", 599 & 0xff, NULL, 1,
		20); /* the same again, as a retransmission */
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 0);
	data("spBv1.0/g/NDATA/n", 601 & 0xff, NULL, 1, 20);
	data("spBv1.0/g/NDATA/n", 602 & 0xff, NULL, 1, 20);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 1);
	rig_close(&rig);
}

static void null_and_historical_values_are_not_evaluated(void **state)
{
	struct bp_rule_spec r[2] = {metric_rule("spBv1.0/#", "t"), metric_rule("spBv1.0/#", "t")};
	struct spb b = {.n = 0}, m = {.n = 0};

	(void)state;
	snprintf(r[1].name, sizeof(r[1].name), "all");
	r[1].value.sparkplug.historical = 1;
	open_rig_with(r, 2);
	spb_bytes(&m, SPB_NAME, "t", 1);
	spb_number(&m, SPB_NULL, 1);
	spb_bytes(&b, SPB_METRICS, m.p, m.n);
	send("spBv1.0/g/NDATA/n", &b);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_NULL), 2);
	b.n = m.n = 0;
	spb_bytes(&m, SPB_NAME, "t", 1);
	spb_number(&m, SPB_HISTORICAL, 1);
	spb_double(&m, SPB_DOUBLE, 99);
	spb_bytes(&b, SPB_METRICS, m.p, m.n);
	send("spBv1.0/g/NDATA/n", &b);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_HISTORICAL), 1);
	assert_string_equal(told(), "+99 g/NDATA/n"); /* of the second rule only */
	rig_close(&rig);
}

static void a_death_has_the_value_of_the_configuration(void **state)
{
	struct bp_rule_spec r[2] = {
		metric_rule("spBv1.0/g/+/n/#", "t"), online_rule("spBv1.0/g/+/n/#")};

	(void)state;
	r[0].value.sparkplug.has_death = true;
	open_rig_with(r, 2);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, "t", 1, 90);
	assert_string_equal(told(), "+90 g/NDATA/n");
	death("spBv1.0/g/NDEATH/n", 6); /* the will of an earlier session */
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_DEATH_STALE), 1);
	death("spBv1.0/g/NDEATH/n", 7);
	assert_string_equal(told(), "-0 g/NDATA/n, +0 g/NDATA/n");
	data("spBv1.0/g/NDATA/n", 1, NULL, 2, 90); /* not dead at all? */
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_AFTER_DEATH), 1);
	assert_string_equal(told(), "-1 g/NDATA/n");
	birth("spBv1.0/g/NBIRTH/n", 2, 0, 8, "t", 1, 20);
	data("spBv1.0/g/NDATA/n", 1, NULL, 2, 20);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_AFTER_DEATH), 1);
	rig_close(&rig);
}

static void the_death_of_a_node_is_that_of_its_devices(void **state)
{
	const struct bp_rule_spec r = online_rule("spBv1.0/g/DDATA/#");
	char topic[128];

	(void)state;
	open_rig_with(&r, 1);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d1", 1, 1, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d2", 1, 2, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d1", 2, 3, 7, NULL, 0, 0); /* again: it is listed once */
	birth("spBv1.0/g/DBIRTH/m/d3", 1, 3, 7, NULL, 0, 0); /* of another node */
	rig_restart(&rig);
	death("spBv1.0/g/NDEATH/n", 7);
	assert_string_equal(told(), "+0 g/DDATA/n/d1, +0 g/DDATA/n/d2");
	birth("spBv1.0/g/NBIRTH/n", 2, 0, 8, NULL, 0, 0);
	assert_string_equal(told(), "");
	birth("spBv1.0/g/DBIRTH/n/d2", 3, 1, 7, NULL, 0, 0);
	assert_string_equal(told(), "-1 g/DDATA/n/d2");
	death("spBv1.0/g/NDEATH/n", 8); /* d1 is raised and was not born */
	assert_string_equal(told(), "+0 g/DDATA/n/d2");
	death("spBv1.0/g/NDEATH/m", 1); /* met by the birth of its device, with any bdSeq */
	assert_string_equal(told(), "+0 g/DDATA/m/d3");
	/* a name that has no place is counted */
	snprintf(topic, sizeof(topic), "spBv1.0/g/DBIRTH/n/%064d", 1);
	birth(topic, 4, 2, 8, NULL, 0, 0);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_NOT_STORED), 1);
	rig_close(&rig);
}

/* Each device of a node is either evaluated at its death, or counted. */
static void devices_beyond_the_budget_are_counted(void **state)
{
	const struct bp_rule_spec r = online_rule("spBv1.0/g/DDATA/#");
	enum { DEVICES = 300 };
	uint64_t raised, cut;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.connection_cpu_percent = 1;
	rig.mqtt.max_sparkplug_metrics = 16384;
	rig_open(&rig);
	rig_rules(&rig, &r, 1);
	peer_init(&node, false, 1, 1, 2);
	rig_connect(&rig, &node, 4, "node-1");
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	for (unsigned i = 0; i < DEVICES; i++) {
		char topic[64];

		snprintf(topic, sizeof(topic), "spBv1.0/g/DBIRTH/n/d%u", i);
		rig_advance(&rig, 10000000);
		birth(topic, 1, (i + 1) & 0xff, 7, NULL, 0, 0);
	}
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_NOT_STORED), 0);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_EVICTED), 0);
	death("spBv1.0/g/NDEATH/n", 7);
	raised = rig_count(&rig, BP_C_ALARM_RAISED);
	cut = rig_count(&rig, BP_C_SPARKPLUG_DEATH_CUT);
	assert_true(raised > 0 && cut > 0);
	assert_int_equal(raised + cut, DEVICES);
	rig_close(&rig);
}

static void a_death_of_a_device(void **state)
{
	const struct bp_rule_spec r = online_rule("spBv1.0/g/DDATA/#");

	(void)state;
	open_rig_with(&r, 1);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d1", 1, 1, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d2", 1, 2, 7, NULL, 0, 0);
	data("spBv1.0/g/DDEATH/n/d2", 3, NULL, 1, 0);
	assert_string_equal(told(), "+0 g/DDATA/n/d2");
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_SEQ_GAP), 0);
	birth("spBv1.0/g/DBIRTH/n/d2", 2, 4, 7, NULL, 0, 0);
	assert_string_equal(told(), "-1 g/DDATA/n/d2");
	rig_close(&rig);
}

static void members_and_changed_births_after_a_reload(void **state)
{
	struct bp_rule_spec r = metric_rule("spBv1.0/g/+/n/#", "t");
	struct spb b = {.n = 0}, m = {.n = 0}, array = {.n = 2, .p = {90, 10}};

	(void)state;
	open_rig_with(&r, 1);
	spb_bytes(&m, SPB_NAME, "t", 1);
	spb_number(&m, SPB_ALIAS, 4);
	spb_number(&m, SPB_DATATYPE, BP_SPARKPLUG_INT8_ARRAY);
	spb_bytes(&m, BP_SPARKPLUG_VALUE_BYTES, array.p, array.n);
	spb_bytes(&b, SPB_METRICS, m.p, m.n);
	send("spBv1.0/g/NBIRTH/n", &b);
	assert_string_equal(told(), ""); /* an array is no number */
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_NULL), 1);
	/* another rule on the same metric has its alias and datatype */
	snprintf(r.value.names.member, sizeof(r.value.names.member), "[0]");
	rig_rules(&rig, &r, 1);
	b.n = m.n = 0;
	spb_number(&m, SPB_ALIAS, 4);
	spb_bytes(&m, BP_SPARKPLUG_VALUE_BYTES, array.p, array.n);
	spb_bytes(&b, SPB_METRICS, m.p, m.n);
	send("spBv1.0/g/NDATA/n", &b);
	assert_string_equal(told(), "+90 g/NDATA/n");
	rig_close(&rig);
}

/* A device that is online, and hot. */
static void a_combination_of_a_metric_and_a_death(void **state)
{
	static const uint8_t step[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};
	struct bp_rule_spec rule = rig_rule("hot", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));

	(void)state;
	assert_non_null(c);
	c->part[0] = metric_rule("spBv1.0/g/DDATA/{node}/{device}", "t");
	c->part[1] = online_rule("spBv1.0/g/DDATA/{node}/{device}");
	c->part[1].raise.a = 1;
	memcpy(c->program.step, step, sizeof(step));
	c->program.len = sizeof(step);
	c->n_parts = 2;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	open_rig_with(&rule, 1);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, "t", 1, 20);
	data("spBv1.0/g/DDATA/n/d", 2, NULL, 1, 81);
	assert_string_equal(told(), "+1 g/DDATA/n/d");
	death("spBv1.0/g/NDEATH/n", 7);
	assert_string_equal(told(), "-0 g/DDATA/n/d");
	rig_close(&rig);
	free(c);
}

/* The broker publishes the NDEATH of a client that ends without DISCONNECT. */
static void the_will_is_the_death(void **state)
{
	const struct bp_rule_spec r = online_rule("spBv1.0/g/+/n/#");
	struct spb b = {.n = 0};
	struct bytes packet = {.n = 0}, connect = {.n = 0};
	static const char topic[] = "spBv1.0/g/NDEATH/n";

	(void)state;
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, &r, 1);
	spb_bdseq(&b, 7);
	bytes_add(&packet, "\0\4MQTT\4\6\0\x3c\0\6node-1\0", 19);
	bytes_u8(&packet, sizeof(topic) - 1);
	bytes_add(&packet, topic, sizeof(topic) - 1);
	bytes_be16(&packet, (uint16_t)b.n);
	bytes_add(&packet, b.p, b.n);
	mq_raw(&connect, 0x10, packet.p, packet.n);
	peer_init(&node, false, 1, 1, 2);
	rig_handshake(&rig, &node);
	rig_send_bytes(&rig, &node, CLIENT, &connect);
	rig_accept(&rig, &node, 4);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, NULL, 0, 0);
	birth("spBv1.0/g/DBIRTH/n/d", 1, 1, 7, NULL, 0, 0);
	rig_fin_both(&rig, &node);
	assert_string_equal(told(), "+0 g/NDATA/n, +0 g/DDATA/n/d");
	bytes_free(&packet);
	rig_close(&rig);
}

/* A client that invents devices and nodes loses only its own. */
static void a_full_table_evicts_only_the_client_that_fills_it(void **state)
{
	const struct bp_rule_spec r = metric_rule("spBv1.0/g/+/#", "t");
	struct peer forger, first;
	char topic[64];

	(void)state;
	open_rig_with(&r, 1);
	birth("spBv1.0/g/NBIRTH/n", 1, 0, 7, "t", 3, 20);
	first = node;
	peer_init(&forger, false, 70000, 1, 2); /* of another address */
	rig_connect(&rig, &forger, 4, "forger");
	node = forger;
	for (unsigned i = 0; i < 6000; i++) {
		snprintf(topic, sizeof(topic), "spBv1.0/g/NBIRTH/x%u", i);
		birth(topic, 1, 0, 7, "t", i + 1, 20);
	}
	assert_true(rig_count(&rig, BP_C_SPARKPLUG_EVICTED) > 1000);
	/* ... and its latest devices have their aliases */
	data("spBv1.0/g/NDATA/x5999", 1, NULL, 6000, 81);
	assert_string_equal(told(), "+81 g/NDATA/x5999");
	node = first;
	data("spBv1.0/g/NDATA/n", 1, NULL, 3, 81);
	assert_string_equal(told(), "+81 g/NDATA/n");
	rig_close(&rig);
}

/* Devices have few of the metrics of the rules: what they do not have evicts no alias. */
static void metrics_that_devices_do_not_have_evict_no_alias(void **state)
{
	enum { RULES = 60, NODES = 100 };
	static struct bp_rule_spec r[RULES];
	char topic[64];

	(void)state;
	for (unsigned i = 0; i < RULES; i++) {
		snprintf(topic, sizeof(topic), "t%u", i);
		r[i] = metric_rule("spBv1.0/#", topic);
		snprintf(r[i].name, sizeof(r[i].name), "r%u", i);
	}
	open_rig_with(r, RULES);
	for (unsigned i = 0; i < NODES; i++) {
		snprintf(topic, sizeof(topic), "spBv1.0/g/NBIRTH/x%u", i);
		birth(topic, 1, 0, 7, "t0", i + 1, 20);
	}
	for (unsigned i = 0; i < NODES; i++) {
		snprintf(topic, sizeof(topic), "spBv1.0/g/NDATA/x%u", i);
		data(topic, 1, NULL, i + 1, 81);
	}
	assert_int_equal(rig_told_count(&rig), NODES);
	rig_close(&rig);
}

static void other_messages_and_payloads_have_no_value(void **state)
{
	struct spb b = {.n = 0};

	(void)state;
	open_rig("#", "t");
	data("spBv1.0/g/NCMD/n", 1, "t", 0, 90);
	data("plant/x", 1, "t", 0, 90);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 0);
	spb_metric(&b, "t", 0, DOUBLE, 90);
	b.n--;
	send("spBv1.0/g/NDATA/n", &b);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_MALFORMED), 1);
	assert_string_equal(told(), "");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_by_alias_has_the_metric_of_the_birth),
		cmocka_unit_test(a_birth_has_values_and_the_topic_of_data),
		cmocka_unit_test(metrics_by_name_need_no_birth),
		cmocka_unit_test(a_birth_replaces_aliases),
		cmocka_unit_test(a_birth_of_the_node_ends_the_aliases_of_its_devices),
		cmocka_unit_test(the_state_survives_a_restart),
		cmocka_unit_test(sequence_numbers_count_over_all_messages_of_a_node),
		cmocka_unit_test(null_and_historical_values_are_not_evaluated),
		cmocka_unit_test(a_death_has_the_value_of_the_configuration),
		cmocka_unit_test(the_death_of_a_node_is_that_of_its_devices),
		cmocka_unit_test(devices_beyond_the_budget_are_counted),
		cmocka_unit_test(a_death_of_a_device),
		cmocka_unit_test(members_and_changed_births_after_a_reload),
		cmocka_unit_test(a_combination_of_a_metric_and_a_death),
		cmocka_unit_test(the_will_is_the_death),
		cmocka_unit_test(a_full_table_evicts_only_the_client_that_fills_it),
		cmocka_unit_test(metrics_that_devices_do_not_have_evict_no_alias),
		cmocka_unit_test(other_messages_and_payloads_have_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
