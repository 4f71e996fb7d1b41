/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/aggregation/match.h"
#include "tests/unit/times.h"

/* Which rule: against a search of the rules from the first on, bit by bit. */

struct plain_rule {
	unsigned port;
	struct bp_agg_to to;
};

static bool in_prefix(const struct bp_prefix *p, unsigned family, const uint8_t *address)
{
	if (p->family != family)
		return false;
	for (unsigned bit = 0; bit < p->length; bit++)
		if ((p->bytes[bit / 8] ^ address[bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static unsigned plain_find(const struct plain_rule *r, unsigned n, unsigned port, unsigned family,
	const uint8_t *address, unsigned udp)
{
	for (unsigned i = 0; i < n; i++)
		if (r[i].port == port && in_prefix(&r[i].to.address, family, address) &&
			udp >= r[i].to.udp_first && udp <= r[i].to.udp_last)
			return i;
	return BP_AGG_NO_RULE;
}

static unsigned find(const struct bp_agg_match *m, unsigned port, unsigned family,
	const uint8_t *address, unsigned udp)
{
	uint8_t *exact = exact_copy(address, family == 4 ? 4 : 16);
	uint64_t word[2];

	bp_agg_match_words(family, exact, word);
	free(exact);
	return bp_agg_match_find(m, port, family, word, udp);
}

/* Addresses that share many of their first bits. */
static void random_address(uint64_t *seed, uint8_t address[16])
{
	memset(address, 0x5a, 16);
	for (unsigned i = next_random(seed) % 17; i < 16; i++)
		address[i] = (uint8_t)next_random(seed);
	if (next_random(seed) % 2)
		address[next_random(seed) % 16] ^= (uint8_t)(1 << next_random(seed) % 8);
}

static void first_matching_rule_applies(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	unsigned found = 0;

	for (unsigned round = 0; round < TEST_TIMES(2000); round++) {
		const unsigned n = next_random(&seed) % (BP_AGG_RULES_MAX + 1);
		const unsigned ports = round % 2 ? 2 : BP_MAX_PORTS;
		struct plain_rule r[BP_AGG_RULES_MAX];
		bool wanted[BP_MAX_PORTS] = {false};
		struct bp_agg_match m;

		bp_agg_match_clear(&m);
		for (unsigned i = 0; i < n; i++) {
			struct bp_address a = {.family = next_random(&seed) % 2 ? 6 : 4};
			const unsigned bits = bp_address_bits(a.family);

			random_address(&seed, a.bytes);
			r[i].port = next_random(&seed) % ports;
			wanted[r[i].port] = true;
			r[i].to.address = bp_prefix_of(a, next_random(&seed) % (bits + 1));
			r[i].to.udp_first = (uint16_t)(next_random(&seed) % 4 ? 5000 : 0);
			r[i].to.udp_last =
				(uint16_t)(next_random(&seed) % 4
						   ? r[i].to.udp_first + next_random(&seed) % 9
						   : 65535);
			bp_agg_match_enter(&m, i, r[i].port, &r[i].to);
		}
		for (unsigned i = 0; i < 200; i++) {
			const unsigned port = next_random(&seed) % ports;
			const unsigned family = next_random(&seed) % 2 ? 6 : 4;
			const unsigned udp = next_random(&seed) % 2 ? 4999 + next_random(&seed) % 11
								    : next_random(&seed) % 65536;
			uint8_t address[16];
			unsigned expected;

			random_address(&seed, address);
			expected = plain_find(r, n, port, family, address, udp);
			assert_int_equal(find(&m, port, family, address, udp), expected);
			found += expected != BP_AGG_NO_RULE;
		}
		for (unsigned port = 0; port < BP_MAX_PORTS; port++)
			assert_int_equal(bp_agg_match_uses_port(&m, port), wanted[port]);
		assert_false(bp_agg_match_uses_port(&m, BP_MAX_PORTS));
	}
	assert_true(found > TEST_TIMES(10000));
}

/* Entries that no valid configuration has are ignored. */
static void impossible_rules(void **state)
{
	struct bp_agg_to to = {{.family = 4}, 1, 65535};
	const uint8_t address[16] = {1};
	struct bp_agg_match m;

	bp_agg_match_clear(&m);
	bp_agg_match_enter(&m, 0, BP_MAX_PORTS, &to);
	to.address.family = 0;
	bp_agg_match_enter(&m, 1, 0, &to);
	to = (struct bp_agg_to){{.family = 4}, 2, 1};
	bp_agg_match_enter(&m, 2, 0, &to);
	assert_false(bp_agg_match_uses_port(&m, 0));
	assert_int_equal(find(&m, 0, 4, address, 2), BP_AGG_NO_RULE);
	/* a prefix longer than its address is the whole of it */
	to = (struct bp_agg_to){{.family = 4, .length = 200, .bytes = {1}}, 1, 1};
	bp_agg_match_enter(&m, 3, 0, &to);
	assert_int_equal(find(&m, 0, 4, address, 1), 3);
	assert_int_equal(find(&m, 0, 6, address, 1), BP_AGG_NO_RULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_matching_rule_applies),
		cmocka_unit_test(impossible_rules),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
