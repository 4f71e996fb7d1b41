/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_RULES_RULE_STATE_STEPS_H
#define BP_TESTS_UNIT_SHM_RULES_RULE_STATE_STEPS_H

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/rule_state.h"
#include "tests/unit/shm/test.h"

#define RAISED (1ull << 63)
#define HOLDING (1ull << 62)
#define SECOND 1000000000ull

/* Raise above 80; further settings by the test. */
static inline struct bp_rule rule_new(void)
{
	struct bp_rule r;

	memset(&r, 0, sizeof(r));
	r.uid = 0x1234;
	r.raise = (struct bp_condition){BP_COND_GT, 80, 0};
	return r;
}

/* As if one client published it all. */
static inline enum bp_verdict evaluate(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, double value, uint64_t now_ns,
	bool *evicted)
{
	uint64_t transition = bp_transition_next(now_ns, 0);
	enum bp_state_loss loss;
	const enum bp_verdict v = bp_rule_evaluate(
		table, len, rule, topic_hash, 7, value, now_ns, &transition, &loss);

	*evicted = loss != BP_STATE_NO_LOSS;
	return v;
}

static inline void finish(struct bp_rule *r)
{
	r->stateful = r->has_clear || r->hold || r->repeat == BP_REPEAT_ON_CHANGE;
}

static inline struct bp_rule_state *table_new(uint64_t len)
{
	struct bp_rule_state *t = aligned_alloc(64, len * sizeof(*t));

	assert_non_null(t);
	memset(t, 0, len * sizeof(*t));
	return t;
}

static inline unsigned entries(const struct bp_rule_state *t, uint64_t len)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < len; i++)
		n += t[i].key != 0;
	return n;
}

#endif
