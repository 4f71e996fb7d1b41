/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attacker controls the control plane, or a defect of it writes to wrong addresses: with any
 * content of the parts of the segment that it writes, the data plane continues and has no
 * out-of-bounds write. Data that it copies is validated, and offsets that it reads in place are
 * bounded at each use.
 */
#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/lcl.h"
#include "biplane/counters/mqtt.h"
#include "biplane/counters/transform.h"
#include "tests/hostile/segment/gateway.h"

#include <string.h>

#include "services/health/layout.h"
#include "tests/unit/times.h"

#define ROUNDS TEST_TIMES(40000)

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state >> 32) * n) >> 32);
}

/* Counters that say that every service has worked. */
static const bp_counter_t works[] = {BP_C_ALARM_QUEUED, BP_C_MIRROR_FRAME, BP_C_CSE_STORED,
	BP_C_PHD_OBSERVATIONS, BP_C_DECAP_MESSAGE, BP_C_TRANSFORM_READING, BP_C_TRANSFORM_COPY,
	BP_C_LCL_ADDED, BP_C_PUNT_NO_NEIGHBOR, BP_C_DROP_BLACKHOLE};
#define WORKS (sizeof(works) / sizeof(works[0]))

/* Of the rules and the parts, by their slots. */
static uint64_t evaluations(struct gateway *g, uint64_t slot)
{
	return atomic_load(&g->x.r.shm.rule_stats[slot].matched);
}

static void all_services_work(struct gateway *g)
{
	const uint64_t rules = GW_RULES_MAX + GW_PARTS;
	uint64_t before[WORKS], evaluated[GW_RULES_MAX + GW_PARTS];

	for (unsigned i = 0; i < WORKS; i++)
		before[i] = rig_counter(&g->x.r, works[i]);
	for (uint64_t i = 0; i < rules; i++)
		evaluated[i] = evaluations(g, i);
	for (unsigned i = 0; i < 32 * GW_TRAFFIC; i++)
		gateway_burst(g, i % GW_TRAFFIC);
	for (uint64_t i = 0; i < rules; i++)
		if (evaluations(g, i) == evaluated[i])
			fail_msg("the rule in slot %u is not evaluated", (unsigned)i);
	for (unsigned i = 0; i < WORKS; i++)
		if (rig_counter(&g->x.r, works[i]) == before[i])
			fail_msg("%s does not grow", bp_counter_info[works[i]].name);
}

static void traffic_reaches_every_service(void **arg)
{
	static struct gateway g;

	gateway_start(&g);
	all_services_work(&g);
	assert_int_equal(rig_counter(&g.x.r, BP_C_SEGMENT_INVALID), 0);
	gateway_stop(&g);
}

static unsigned table_of(const struct gateway *g, const char *name)
{
	for (unsigned i = 0; i < g->n_tables; i++)
		if (strcmp(g->table[i].name, name) == 0)
			return i;
	fail_msg("there is no table %s", name);
	return 0;
}

/* A bit of a word that says something, or of any; or a word that is one of the default extremes. */
static void damage(struct gateway *g, unsigned table)
{
	static const uint64_t extreme[] = {
		0, 1, UINT64_MAX, INT64_MAX, UINT32_MAX, 0x8000, 0xff, 0x7fffffff};
	const struct gateway_table *t = &g->table[table];
	const uint64_t at =
		t->n_hot != 0 && rnd(8) != 0
			? t->hot[rnd(t->n_hot)]
			: rnd((uint32_t)(t->size / 8 < UINT32_MAX ? t->size / 8 : UINT32_MAX)) *
				  8ull;
	const unsigned byte = rnd(8);
	uint8_t one;

	if (at + 8 > t->size)
		return;
	if (rnd(4) == 0) {
		gateway_write(g, table, at + (byte & 6u), &extreme[rnd(8)], 1u << rnd(4));
		return;
	}
	one = (uint8_t)(t->bytes[at + byte] ^ 1u << rnd(8));
	gateway_write(g, table, at + byte, &one, 1);
}

static void any_bit_may_flip_under_traffic(void **arg)
{
	static struct gateway g;

	state = 0x5eed5eed5eedull;
	gateway_start(&g);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned n = 1 + rnd(12); n > 0; n--)
			damage(&g, rnd(g.n_tables));
		for (unsigned n = rnd(3); n > 0; n--)
			gateway_publish(&g, rnd(GW_PLANS));
		for (unsigned n = 1 + rnd(4); n > 0; n--)
			gateway_burst(&g, rnd(GW_TRAFFIC));
		if (round % 4 == 3) {
			gateway_mend(&g);
			assert_true(gateway_drain(&g));
		}
	}
	/* some of it was noticed, and nothing is left of it */
	assert_true(rig_counter(&g.x.r, BP_C_SEGMENT_INVALID) > 0);
	gateway_mend(&g);
	all_services_work(&g);
	gateway_stop(&g);
}

/*
 * A connection remembers which rule its topic matched, as a number in the rules of a generation. Of
 * two images with one generation that number must not count for both: the second may have fewer
 * rules.
 */
static void rules_of_generations_are_not_mixed(void **arg)
{
	static struct gateway g;
	uint64_t alarms;

	gateway_start(&g);
	for (unsigned i = 0; i < 32; i++)
		gateway_burst(&g, GW_MQTT);
	gateway_rules(&g, 1, true);
	alarms = rig_counter(&g.x.r, BP_C_ALARM_RAISED);
	for (unsigned i = 0; i < 64; i++) {
		struct bp_ring *ring = bp_shm_ring(&g.x.r.shm, 0);
		uint64_t cursor = bp_ring_head(ring);
		const struct bp_alarm *a;
		uint32_t size;

		gateway_burst(&g, GW_MQTT);
		while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL)
			assert_memory_equal(a->text, "rule-0", 6);
	}
	assert_true(rig_counter(&g.x.r, BP_C_ALARM_RAISED) > alarms);
	gateway_stop(&g);
}

/*
 * Most damaged rules are refused, and the others are evaluated, also with the states and windows of
 * the rules before them.
 */
static void any_bit_of_the_rules_may_flip_under_traffic(void **arg)
{
	static struct gateway g;
	unsigned table;

	state = 0xbadc0ffee0ddull;
	gateway_start(&g);
	table = table_of(&g, "rules");
	for (unsigned round = 0; round < ROUNDS / 8; round++) {
		for (unsigned n = 1 + rnd(2); n > 0; n--)
			damage(&g, table);
		gateway_publish(&g, GW_RULES);
		for (unsigned n = 4 + rnd(8); n > 0; n--)
			gateway_burst(&g, GW_MQTT);
		gateway_mend(&g);
		for (unsigned n = rnd(8); n > 0; n--)
			gateway_burst(&g, GW_MQTT);
	}
	assert_true(g.rules_taken[BP_RULESET_COPIES_REJECTED] > ROUNDS / 64);
	assert_true(g.rules_taken[BP_RULESET_COPIES_APPLIED] > ROUNDS / 8 + ROUNDS / 64);
	all_services_work(&g);
	gateway_stop(&g);
}

/* The request for a report is written by the offsets and lengths of a layout. */
static void layout_is_the_validated_one(void **arg)
{
	static struct gateway g;
	const uint16_t far = 60000;
	uint64_t observations, invalid;
	unsigned table;

	gateway_start(&g);
	table = table_of(&g, "phd_layouts");
	for (unsigned i = 0; i < 4; i++)
		gateway_burst(&g, GW_HEALTH);
	/* active: workers continue with their copies */
	for (unsigned n = 0; n < 16; n++)
		for (unsigned o = 0; o < 3; o++)
			gateway_write(&g, table,
				n * BP_PHD_LAYOUT_SIZE + offsetof(struct bp_phd_layout, object) +
					o * sizeof(struct bp_phd_object) +
					offsetof(struct bp_phd_object, head_len),
				&far, sizeof(far));
	observations = rig_counter(&g.x.r, BP_C_PHD_OBSERVATIONS);
	for (unsigned i = 0; i < 12; i++)
		gateway_burst(&g, GW_HEALTH);
	assert_true(rig_counter(&g.x.r, BP_C_PHD_OBSERVATIONS) > observations);
	assert_int_equal(rig_counter(&g.x.r, BP_C_SEGMENT_INVALID), 0);
	/* another use of the places: refused, and their reports are the manager's */
	gateway_publish(&g, GW_LAYOUTS);
	observations = rig_counter(&g.x.r, BP_C_PHD_OBSERVATIONS);
	invalid = rig_counter(&g.x.r, BP_C_PUNT_PHD_SLOW_PATH);
	for (unsigned i = 0; i < 12; i++)
		gateway_burst(&g, GW_HEALTH);
	assert_int_equal(rig_counter(&g.x.r, BP_C_PHD_OBSERVATIONS), observations);
	assert_true(rig_counter(&g.x.r, BP_C_PUNT_PHD_SLOW_PATH) > invalid);
	assert_in_range(rig_counter(&g.x.r, BP_C_SEGMENT_INVALID), 1, 3);
	gateway_mend(&g);
	all_services_work(&g);
	gateway_stop(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traffic_reaches_every_service),
		cmocka_unit_test(rules_of_generations_are_not_mixed),
		cmocka_unit_test(layout_is_the_validated_one),
		cmocka_unit_test(any_bit_may_flip_under_traffic),
		cmocka_unit_test(any_bit_of_the_rules_may_flip_under_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
