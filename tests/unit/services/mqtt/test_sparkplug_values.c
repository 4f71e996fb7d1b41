/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of Sparkplug B that are strings or booleans. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "sparkplug_steps.h"

static void state_metric(
	const char *topic, const char *name, uint64_t alias, uint32_t field, const char *text)
{
	struct spb b = {.n = 0}, m = {.n = 0};

	if (name != NULL)
		spb_bytes(&m, SPB_NAME, name, (uint32_t)strlen(name));
	spb_number(&m, SPB_ALIAS, alias);
	if (field == SPB_STRING)
		spb_bytes(&m, SPB_STRING, text, (uint32_t)strlen(text));
	else
		spb_number(&m, field, (uint64_t)atoi(text));
	spb_bytes(&b, SPB_METRICS, m.p, m.n);
	send(topic, &b);
}

static void assert_text(const char *text)
{
	struct told_list l = rig_told(&rig);

	assert_int_equal(l.n, text != NULL);
	if (text != NULL)
		assert_string_equal(l.a[0].value_string, text);
	told_free(&l);
}

static void strings_raise_and_clear(void **state)
{
	struct bp_rule_spec r = metric_rule("spBv1.0/g/NDATA/n", "state");

	(void)state;
	r.value.type = BP_VALUE_STRING;
	r.strings = (struct bp_value_strings){
		.n = 3, .len = {4, 4, 6}, .text = {"ajar", "open", "closed"}};
	r.raise = (struct bp_condition){BP_COND_INSIDE, 0, 1};
	r.clear = (struct bp_condition){BP_COND_EQ, 2, 0};
	open_rig_with(&r, 1);
	state_metric("spBv1.0/g/NBIRTH/n", "state", 4, SPB_STRING, "closed");
	assert_text(NULL);
	state_metric("spBv1.0/g/NDATA/n", NULL, 4, SPB_STRING, "open");
	assert_text("open");
	state_metric("spBv1.0/g/NDATA/n", NULL, 4, SPB_STRING, "broken");
	state_metric("spBv1.0/g/NDATA/n", NULL, 5, SPB_STRING, "closed"); /* another metric */
	assert_text(NULL);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 0);
	state_metric("spBv1.0/g/NDATA/n", NULL, 4, SPB_INT, "2");
	state_metric("spBv1.0/g/NDATA/n", NULL, 4, SPB_STRING, "\xff"); /* no UTF-8 */
	assert_text(NULL);
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 2);
	assert_int_equal(rig_count(&rig, BP_C_SPARKPLUG_NULL), 2);
	state_metric("spBv1.0/g/NDATA/n", NULL, 4, SPB_STRING, "closed");
	assert_text("closed");
	rig_close(&rig);
}

static void booleans_raise(void **state)
{
	struct bp_rule_spec r = metric_rule("spBv1.0/g/NDATA/n", "on");

	(void)state;
	r.value.type = BP_VALUE_BOOLEAN;
	r.raise = (struct bp_condition){BP_COND_EQ, 1, 0};
	r.has_clear = false;
	r.repeat = BP_REPEAT_EVERY;
	open_rig_with(&r, 1);
	state_metric("spBv1.0/g/NDATA/n", "on", 4, SPB_BOOLEAN, "0");
	assert_string_equal(told(), "");
	state_metric("spBv1.0/g/NDATA/n", "on", 4, SPB_BOOLEAN, "1");
	assert_string_equal(told(), "+1 g/NDATA/n");
	state_metric("spBv1.0/g/NDATA/n", "on", 4, SPB_INT, "1"); /* of no type */
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_raise_and_clear),
		cmocka_unit_test(booleans_raise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
