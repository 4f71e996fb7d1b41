/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_RULES_RULESET_RIG_H
#define BP_TESTS_UNIT_SHM_RULES_RULESET_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/ruleset.h"
#include "tests/unit/shm/test.h"

/* Images of rules, and what matches in them. */

static char err[1024];

static inline void spec(struct bp_rule_spec *s, const char *name, const char *filter)
{
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->filter, sizeof(s->filter), "%s", filter);
	snprintf(s->to, sizeof(s->to), "alarm/{topic}");
	s->raise.op = BP_COND_GT;
	s->raise.a = 80;
}

static inline struct bp_rule_spec *specs_of(const char *const *filters, uint32_t n)
{
	struct bp_rule_spec *s = calloc(n ? n : 1, sizeof(*s));

	assert_non_null(s);
	for (uint32_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "r%u", i);
		spec(&s[i], name, filters[i]);
	}
	return s;
}

/* An image in a bank of exactly its max_rules' size. */
static inline struct bp_ruleset *try_build(const struct bp_rule_spec *s, uint32_t n,
	uint32_t max_rules, const struct bp_ruleset *old, uint64_t generation)
{
	const uint64_t size = bp_ruleset_bank_size(max_rules);
	void *bank = aligned_alloc(64, size);

	assert_non_null(bank);
	memset(bank, 0x5a, size);
	err[0] = '\0';
	if (bp_ruleset_build(bank, size, s, n, max_rules, NULL, old, generation, 1000 + generation,
		    err, sizeof(err)) != 0) {
		assert_true(strlen(err) > 10);
		for (uint64_t i = 0; i < size; i++)
			assert_int_equal(((uint8_t *)bank)[i], 0x5a);
		free(bank);
		return NULL;
	}
	assert_true(bp_ruleset_valid(bank, size, max_rules));
	return bank;
}

static inline struct bp_ruleset *build(const struct bp_rule_spec *s, uint32_t n)
{
	struct bp_ruleset *rs = try_build(s, n, n ? n : 1, NULL, 1);

	if (!rs)
		fail_msg("%s", err);
	return rs;
}

/* Result of a match: a mark per rule, chains followed. */
struct hits {
	const struct bp_ruleset *rs;
	uint8_t *rule;
	uint32_t calls;
};

static inline void hit(uint32_t first, void *arg)
{
	struct hits *h = arg;

	h->calls++;
	for (uint32_t i = first; i != BP_RULE_NONE; i = bp_ruleset_rule(h->rs, i)->next) {
		assert_true(i < h->rs->n_rules);
		h->rule[i]++;
	}
}

static inline void count(uint32_t first, void *arg)
{
	++*(uint32_t *)arg;
}

/* The topic in memory of exactly its length, so that reading beyond it shows. */
static inline void match(const struct bp_ruleset *rs, const char *topic, size_t len, struct hits *h)
{
	uint8_t *exact = malloc(len ? len : 1);

	memcpy(exact, topic, len);
	memset(h->rule, 0, rs->n_rules);
	h->rs = rs;
	h->calls = 0;
	bp_ruleset_match(rs, exact, (uint32_t)len, hit, h);
	free(exact);
}

/* A filter of the longest kind: 1024 levels. */
static inline void deepest(char *filter, char c)
{
	memset(filter, '/', BP_RULE_FILTER_MAX);
	for (unsigned i = 0; c && i < BP_RULE_FILTER_MAX; i += 2)
		filter[i] = c;
	filter[BP_RULE_FILTER_MAX] = '\0';
}

#endif
