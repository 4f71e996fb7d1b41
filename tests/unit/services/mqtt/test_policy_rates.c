/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of a policy that refuses: what exceeds one is closed or blanked, and nothing else. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

#define SECOND 1000000000ull
#define BURST 3u

static void limit(uint8_t action, uint8_t per)
{
	struct bp_policy_rule_spec *r;

	open_rig(BP_POLICY_FAIL_CLOSED);
	r = rule(action, BP_POLICY_PUBLISH, "t/+");
	r->has_rate = true;
	r->rate = (struct bp_policy_rate){.packets = 1, .interval_s = 1};
	r->rate_per = per;
	r->rate_burst = BURST;
	load();
}

static void closes_above_the_rate(void **state)
{
	struct peer c;
	uint32_t before;

	(void)state;
	limit(BP_POLICY_CLOSE, BP_POLICY_PER_CLIENT);
	c = connected(4);
	for (unsigned i = 0; i < BURST; i++)
		publish(&c, 4, "t/x");
	publish(&c, 4, "other"); /* not one of the rule's */
	before = received(&broker);
	assert_int_equal(before, c.seq[CLIENT] - broker.first);
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), before);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_REFUSED), 1);
	rig_close(&rig);
}

/* Time fills the bucket again, and the connection lives. */
static void blanks_above_the_rate(void **state)
{
	static const uint8_t pers[] = {
		BP_POLICY_PER_CLIENT, BP_POLICY_PER_TOPIC, BP_POLICY_PER_ADDRESS};

	(void)state;
	for (unsigned per = 0; per < sizeof(pers); per++) {
		struct peer c;
		unsigned blanked = 0;

		limit(BP_POLICY_BLANK, pers[per]);
		c = connected(4);
		for (unsigned i = 0; i < 12; i++) {
			const uint32_t at = received(&broker);

			publish(&c, 4, "t/x");
			rig_ack(&rig, &c, BROKER);
			assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
			/* three at once, then one in each second */
			blanked += i >= BURST && i % 2 == 1;
			assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), blanked);
			if (i >= BURST && i % 2 == 1)
				assert_memory_equal(broker.byte + at + 4, "$re", 3);
			else
				assert_memory_equal(broker.byte + at + 4, "t/x", 3);
			if (i >= BURST && i % 2 == 1)
				rig_advance(&rig, SECOND);
		}
		assert_int_equal(broker.resets + client.resets, 0);
		rig_close(&rig);
	}
}

/* What is sent again is not counted again, and has the bytes that were judged. */
static void retransmissions_do_not_count(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t seq;

	(void)state;
	limit(BP_POLICY_CLOSE, BP_POLICY_PER_CLIENT);
	c = connected(4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	seq = c.seq[CLIENT];
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	for (unsigned i = 0; i < 2 * BURST; i++)
		rig_segment(&rig, &c, CLIENT, TH_ACK, seq, c.seq[BROKER], b.p, b.n);
	assert_int_equal(broker.resets, 0);
	for (unsigned i = 1; i < BURST; i++)
		publish(&c, 4, "t/x");
	assert_int_equal(broker.resets, 0);
	publish(&c, 4, "t/x");
	assert_int_equal(broker.resets, 1);
	bytes_free(&b);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closes_above_the_rate),
		cmocka_unit_test(blanks_above_the_rate),
		cmocka_unit_test(retransmissions_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
