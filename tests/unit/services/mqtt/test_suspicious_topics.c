/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of topics that are inspected although a broker may refuse them. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static void publish_now(struct peer *c, const char *topic)
{
	publish(c, 4, topic);
	rig_flush(&rig);
}

/* Standard strictness: a violation in a topic is counted when the policy decides about the topic,
 * and not each time that the decision is found again. */
static void counted_by_topic(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool blanks = i % 2, deep = i / 2;
		const bp_counter_t counter = deep ? BP_C_SUSPICIOUS_LEVELS : BP_C_SUSPICIOUS_STRING;
		char topic[2][220] = {"t/\1", "t/\2"};
		struct peer c;

		for (unsigned k = 0; k < 2 && deep; k++) {
			memset(topic[k], '/', 210 + k);
			topic[k][0] = 't';
		}
		open_rig(BP_POLICY_FAIL_CLOSED);
		rig.in->mosquitto = false;
		rig.bursts = true;
		rule(blanks ? BP_POLICY_BLANK : BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "t/#");
		load();
		c = connected(4);
		for (unsigned k = 0; k < 2; k++) {
			const uint64_t before = rig_count(&rig, counter);

			publish_now(&c, topic[k]);
			assert_int_equal(rig_count(&rig, counter), before + 1);
		}
		for (unsigned k = 0; k < 4; k++)
			publish_now(&c, topic[k % 2]);
		assert_in_range(rig_count(&rig, counter), 2, 6);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 6);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), blanks ? 6 : 0);
		/* the burst path has found decisions */
		assert_int_equal(rig.n_blanked != 0, blanks);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted_by_topic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
