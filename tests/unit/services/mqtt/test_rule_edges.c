/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule does at the edges that docs/reference/rules.md names: the path from the packet to the
 * verdict. The table of states is tested in tests/unit/shm/rules. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;
static struct peer c;

static void open_with(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
}

/* "+value" for raised, "-value" for cleared. */
static const char *told(void)
{
	static char text[1024];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%g", i ? " " : "",
			l.a[i].state == BP_ALARM_RAISED ? '+' : '-', l.a[i].value);
	told_free(&l);
	return text;
}

static const char *after(const char *value)
{
	rig_publish_text(&rig, &c, "t", value);
	return told();
}

/* Neither a hold in progress nor a raised alarm ends with a payload that has no value. */
static void missing_value_changes_nothing(void **state)
{
	struct bp_rule_spec r = rig_rule("r", "t", BP_COND_GT, 80);

	(void)state;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	r.repeat = BP_REPEAT_ON_CHANGE;
	open_with(&r, 1);
	assert_string_equal(after("81"), "");
	assert_string_equal(after("offline"), "");
	assert_string_equal(after("82"), "");
	assert_string_equal(after(""), "");
	assert_string_equal(after("83"), "+83");
	assert_string_equal(after("nan"), "");
	assert_string_equal(after("84"), "");
	assert_string_equal(after("7"), "-7");
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 3);
	rig_close(&rig);
}

static void negative_zero_is_zero(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("equal", "t", BP_COND_EQ, 0), rig_rule("below", "t", BP_COND_LT, 0)};

	(void)state;
	open_with(r, 2);
	assert_string_equal(after("-0"), "+-0");
	assert_string_equal(after("-0.0e5"), "+-0");
	rig_close(&rig);
}

static void decimal_beyond_the_range_is_the_largest(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("high", "t", BP_COND_GT, 80), rig_rule("low", "t", BP_COND_LT, -80)};

	(void)state;
	open_with(r, 2);
	assert_string_equal(after("1e400"), "+1.79769e+308");
	assert_string_equal(after("-1e400"), "+-1.79769e+308");
	rig_close(&rig);
}

static void publish(uint8_t qos, uint16_t id, bool dup, const char *value)
{
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 4,
			.qos = qos,
			.id = id,
			.dup = dup,
			.topic = "t",
			.payload = value});
}

static void repetition_of_qos_1_is_a_value(void **state)
{
	struct bp_rule_spec r = rig_rule("r", "t", BP_COND_GT, 80);

	(void)state;
	open_with(&r, 1);
	publish(1, 9, false, "81");
	publish(1, 9, true, "81");
	assert_string_equal(told(), "+81 +81");
	assert_int_equal(rig_count(&rig, BP_C_MQTT_DUP), 1);
	rig_close(&rig);
}

static void repetition_of_qos_2_is_no_value(void **state)
{
	struct bp_rule_spec r = rig_rule("r", "t", BP_COND_GT, 80);

	(void)state;
	open_with(&r, 1);
	publish(2, 9, false, "81");
	publish(2, 9, true, "81");
	publish(2, 10, true, "82"); /* its first transmission was not seen */
	assert_string_equal(told(), "+81 +82");
	assert_int_equal(rig_count(&rig, BP_C_QOS2_DUPLICATE), 1);
	rig_close(&rig);
}

/* A segment may have more values than the journal has records: only changes of a state need one. */
static void unchanged_states_fill_no_journal(void **state)
{
	struct bp_rule_spec r = rig_rule("r", "t", BP_COND_GT, 80);
	struct bytes b = {0};

	(void)state;
	r.quiet_ns = 1000000000;
	r.deadband = 5;
	open_with(&r, 1);
	for (unsigned i = 0; i < 2 * BP_JOURNAL_UNDO; i++)
		mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t", .payload = "90"});
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_string_equal(told(), "+90");
	assert_in_range(rig.in->journal->undos, 1, 2 * BP_RULE_UNDOS_MAX);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_value_changes_nothing),
		cmocka_unit_test(negative_zero_is_zero),
		cmocka_unit_test(decimal_beyond_the_range_is_the_largest),
		cmocka_unit_test(repetition_of_qos_1_is_a_value),
		cmocka_unit_test(repetition_of_qos_2_is_no_value),
		cmocka_unit_test(unchanged_states_fill_no_journal),
	};

	return cmocka_run_group_tests_name("rule edges", tests, NULL, NULL);
}
