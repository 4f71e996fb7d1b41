/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/sampling/sampler.h"

/* Which frames are chosen: exactly one of each interval, not always the same one. */

#define ETHERTYPE 0x88b5

static void frame_of(uint8_t f[60], uint16_t ethertype)
{
	memset(f, 0, 60);
	f[12] = (uint8_t)(ethertype >> 8);
	f[13] = (uint8_t)ethertype;
}

static struct bp_sampling_rule rule_of(uint8_t port, uint16_t ethertype, uint32_t one_in)
{
	return (struct bp_sampling_rule){.name = "x",
		.match = {.vlan = BP_MATCH_ANY,
			.ethertype = ethertype,
			.pcp = BP_MATCH_ANY_PCP,
			.dscp = BP_MATCH_ANY_DSCP,
			.port = port},
		.one_in = one_in,
		.mirror = 2};
}

static struct bp_sampler *sampler_of(const struct bp_sampling_rules *rules)
{
	struct bp_sampler *s = bp_sampler_create(7);

	assert_non_null(s);
	bp_sampler_set(s, rules);
	return s;
}

static void one_of_each_interval(void **state)
{
	static const uint32_t lengths[] = {1, 2, 3, 10, 1000};
	uint8_t f[60];

	(void)state;
	frame_of(f, ETHERTYPE);
	for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		const struct bp_sampling_rules rules = {
			.n = 1, .rule = {rule_of(0, ETHERTYPE, lengths[l])}};
		struct bp_sampler *s = sampler_of(&rules);
		uint32_t first = UINT32_MAX;
		bool others = false;

		for (unsigned interval = 0; interval < 100; interval++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < lengths[l]; i++) {
				bool chosen;

				assert_int_equal(bp_sampler_frame(s, f, sizeof(f), 0, &chosen), 0);
				if (!chosen)
					continue;
				n++;
				others = others || (first != UINT32_MAX && first != i);
				first = i;
			}
			assert_int_equal(n, 1);
		}
		/* a sender of each Nth frame of an interval is also sampled */
		assert_true(others == (lengths[l] > 1));
		bp_sampler_free(s);
	}
}

/* Each position of an interval is as likely as the others: 10,000 intervals of 10, of which each
 * has 1,000 on average, with a deviation of 30. */
static void positions_are_uniform(void **state)
{
	const struct bp_sampling_rules rules = {.n = 1, .rule = {rule_of(0, ETHERTYPE, 10)}};
	struct bp_sampler *s = sampler_of(&rules);
	unsigned at[10] = {0};
	uint8_t f[60];

	(void)state;
	frame_of(f, ETHERTYPE);
	for (unsigned i = 0; i < 100000; i++) {
		bool chosen;

		bp_sampler_frame(s, f, sizeof(f), 0, &chosen);
		at[i % 10] += chosen;
	}
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(at[i], 850, 1150);
	bp_sampler_free(s);
}

static void first_match_wins(void **state)
{
	const struct bp_sampling_rules rules = {
		.n = 3, .rule = {rule_of(1, 0, 1), rule_of(0, ETHERTYPE, 2), rule_of(0, 0, 1)}};
	struct bp_sampler *s = sampler_of(&rules);
	uint8_t f[60], other[60];
	bool chosen;

	(void)state;
	frame_of(f, ETHERTYPE);
	frame_of(other, 0x0800);
	assert_int_equal(bp_sampler_frame(s, f, sizeof(f), 0, &chosen), 1);
	assert_int_equal(bp_sampler_frame(s, f, sizeof(f), 1, &chosen), 0);
	assert_true(chosen);
	assert_int_equal(bp_sampler_frame(s, other, sizeof(other), 0, &chosen), 2);
	assert_true(chosen);
	assert_int_equal(bp_sampler_frame(s, f, sizeof(f), 3, &chosen), -1);
	assert_false(chosen);
	for (size_t len = 0; len < 14; len++)
		assert_int_equal(bp_sampler_frame(s, f, len, 0, &chosen), -1);
	assert_true(bp_sampler_uses_port(s, 0) && bp_sampler_uses_port(s, 1) &&
		    !bp_sampler_uses_port(s, 2));
	bp_sampler_free(s);
}

/* Values that only a damaged segment has. */
static void invalid_rules(void **state)
{
	uint16_t mtu[BP_MAX_PORTS] = {1500, 1500, 1500};
	const struct bp_sampling_rules good = {.n = 1, .rule = {rule_of(0, ETHERTYPE, 10)}};
	struct bp_sampling_rules r = good;

	(void)state;
	assert_true(bp_sampling_valid(&r, mtu));
	r.n = BP_SAMPLING_MAX + 1;
	assert_false(bp_sampling_valid(&r, mtu));
	r.n = UINT32_MAX;
	assert_false(bp_sampling_valid(&r, mtu));
	r.n = 2; /* the second is zeros */
	assert_false(bp_sampling_valid(&r, mtu));
#define REFUSED(member_, value_)                                                                   \
	r = good;                                                                                  \
	r.rule[0].member_ = (value_);                                                              \
	assert_false(bp_sampling_valid(&r, mtu))
	REFUSED(one_in, 0);
	REFUSED(one_in, BP_SAMPLING_ONE_IN_MAX + 1);
	REFUSED(mirror, 0);
	REFUSED(mirror, 3);
	REFUSED(mirror, BP_MAX_PORTS);
	REFUSED(mirror, 255);
	REFUSED(match.port, BP_MAX_PORTS);
	REFUSED(match.source.family, 5);
	REFUSED(match.destination.family, 1);
	REFUSED(match.source, ((struct bp_prefix){.family = 4, .length = 33}));
	REFUSED(match.destination, ((struct bp_prefix){.family = 6, .length = 129}));
	bp_sampler_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_each_interval),
		cmocka_unit_test(positions_are_uniform),
		cmocka_unit_test(first_match_wins),
		cmocka_unit_test(invalid_rules),
	};

	return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
