/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of section mqtt.policy that several settings decide. */
#include "config/mqtt/settings.h"
#include "config_test.h"

#define RULE BRIDGED "mqtt:\n  policy:\n    rules:\n      - {name: r, action: allow, "

static void packets_without_the_condition(void **state)
{
	(void)state;
	says(RULE "packet: connect, topic: a, qos: 1}\n",
		"f.yaml:6:51: mqtt.policy.rules[0].topic: a CONNECT has no topic; expected packet: "
		"will, publish or subscribe, or no topic\n"
		"f.yaml:6:61: mqtt.policy.rules[0].qos: only publications and wills have it; "
		"expected packet: publish, will or any\n");
	says(RULE "packet: subscribe, larger_than: 1}\n",
		"f.yaml:6:53: mqtt.policy.rules[0].larger_than: only publications and wills have "
		"it; expected packet: publish, will or any\n");
	says(RULE "packet: will, packet_larger_than: 1}\n",
		"f.yaml:6:48: mqtt.policy.rules[0].packet_larger_than: a will is a part of a "
		"CONNECT; expected packet: connect, publish, subscribe or any\n");
	says(RULE "packet: will, connections: {above: 1}}\n",
		"f.yaml:6:48: mqtt.policy.rules[0].connections: only a CONNECT has it; expected "
		"packet: connect or any\n");
	says(RULE "packet: publish, keep_alive: {above: 1m}}\n",
		"f.yaml:6:51: mqtt.policy.rules[0].keep_alive: only a CONNECT has it; expected "
		"packet: connect or any\n");
}

static void keep_alives(void **state)
{
	struct bp_config *c;

	(void)state;
	says(RULE "keep_alive: {}}\n",
		"f.yaml:6:46: mqtt.policy.rules[0].keep_alive has no limit; expected above or "
		"below, such as {above: 2m}\n");
	says(RULE "keep_alive: {above: 1m, below: 61s}}\n",
		"f.yaml:6:46: mqtt.policy.rules[0].keep_alive: no keep-alive is above 60s and "
		"below 61s; expected a higher below, or two rules\n");
	c = accepted(RULE "keep_alive: {above: 1m, below: 62s}}\n");
	bp_config_free(come_back(c));
	bp_config_free(c);
}

static void rates(void **state)
{
	struct bp_config *c;

	(void)state;
	says(RULE "packet: connect, rate: {per: topic, above: 1/s}}\n",
		"f.yaml:6:63: mqtt.policy.rules[0].rate.per: a CONNECT has no topic; expected "
		"client "
		"or address\n");
	says(RULE "rate: {burst: 1}}\n",
		"f.yaml:6:40: mqtt.policy.rules[0].rate has no 'per'; expected client, address or "
		"topic\n"
		"f.yaml:6:40: mqtt.policy.rules[0].rate has no 'above'; expected a number of "
		"packets from 1 to 1000000 in a second, minute or hour, such as 10/s, 30/m or "
		"5/h\n");
	c = accepted(RULE "rate: {per: address, above: 30/m}}\n");
	bp_config_free(come_back(c));
	bp_config_free(c);
}

static void packets_that_cannot_be_overwritten(void **state)
{
	static const char *const packets[] = {"connect", "will"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char yaml[256];

		snprintf(yaml, sizeof(yaml),
			BRIDGED "mqtt:\n  policy:\n    rules:\n      - {name: r, action: blank, "
				"packet: %s}\n",
			packets[i]);
		says(yaml, "f.yaml:6:27: mqtt.policy.rules[0].action: a CONNECT and its will "
			   "cannot be overwritten; expected close\n");
	}
	bp_config_free(accepted(BRIDGED "mqtt:\n  policy:\n    default: blank\n    rules:\n"
					"      - {name: r, action: blank}\n"));
}

static void fails_at_interfaces(void **state)
{
	static const char *const overrides =
		"mqtt:\n  policy:\n    fail_overrides:\n"
		"      - {interface: bridge0, fail: closed}\n      - {interface: m, fail: open}\n";
	struct bp_config *c, *again;
	char yaml[512];

	(void)state;
	snprintf(yaml, sizeof(yaml), PORTS3 "%s", overrides);
	c = accepted(yaml);
	again = come_back(c);
	for (unsigned i = 0; i < 2; i++) {
		const struct bp_policy_spec *p = &bp_config_mqtt(i == 0 ? c : again)->policy;

		assert_int_equal(p->n_fail_overrides, 2);
		assert_int_equal(p->fail_closed_ports, 3);
		assert_int_equal(p->fail_open_ports, 4);
	}
	bp_config_free(again);
	bp_config_free(c);
	snprintf(yaml, sizeof(yaml), PORTS3 "%s      - {interface: bridge0, fail: open}\n",
		overrides);
	says(yaml,
		"f.yaml:8:21: mqtt.policy.fail_overrides[2].interface: 'bridge0' is given twice; "
		"expected each bridge and routed port once at most\n");
	says(PORTS3 "mqtt:\n  policy:\n    fail_overrides: [{interface: a, fail: open}]\n",
		"f.yaml:5:34: mqtt.policy.fail_overrides[0].interface: port 'a' is in a bridge; "
		"expected the name of a bridge or of a routed port\n");
}

static void hours(void **state)
{
	struct bp_config *c;

	(void)state;
	c = accepted(RULE "hours: {from: \"22:00\", to: \"06:00\", days: [fri, sat]}}\n");
	bp_config_free(come_back(c));
	bp_config_free(c);
	/* the whole day */
	c = accepted(RULE "hours: {days: [sun]}}\n");
	bp_config_free(come_back(c));
	bp_config_free(c);
}

static void payloads(void **state)
{
	struct bp_config *c;

	(void)state;
	says(RULE "packet: connect, payload: {condition: \"> 1\"}}\n",
		"f.yaml:6:51: mqtt.policy.rules[0].payload: only publications and wills have it; "
		"expected packet: publish, will or any\n");
	says(RULE "payload: {value: {sparkplug: Temperature}, condition: \"> 1\"}}\n",
		"f.yaml:6:51: mqtt.policy.rules[0].payload.value: a rule of the policy reads no "
		"metric of Sparkplug B; expected text, json, cbor, msgpack or binary\n");
	c = accepted(RULE "payload: {value: {cbor: $.a}, condition: {not_equals: 5}}}\n");
	bp_config_free(come_back(c));
	bp_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_without_the_condition),
		cmocka_unit_test(keep_alives),
		cmocka_unit_test(rates),
		cmocka_unit_test(packets_that_cannot_be_overwritten),
		cmocka_unit_test(fails_at_interfaces),
		cmocka_unit_test(hours),
		cmocka_unit_test(payloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
