/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of combinations, names of levels, and the table of the truths of parts. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ruleset_rig.h"
#include "shm/rules/part_state.h"

#define SECOND 1000000000ull

/* ---- programs ---- */

/* The same logic by the definition: the operands follow their operator. */
static enum bp_truth defined(const struct bp_program *p, unsigned *at, const uint8_t *truth)
{
	const unsigned step = p->step[(*at)++], n = step & BP_STEP_NUMBER;
	bool one_true = false, one_false = false, all_true = true, all_false = true;

	if ((step & BP_STEP_KIND) == BP_STEP_PART)
		return truth[n];
	for (unsigned i = 0; i < ((step & BP_STEP_KIND) == BP_STEP_NOT ? 1 : n); i++) {
		const enum bp_truth t = defined(p, at, truth);

		one_true |= t == BP_TRUTH_TRUE;
		one_false |= t == BP_TRUTH_FALSE;
		all_true &= t == BP_TRUTH_TRUE;
		all_false &= t == BP_TRUTH_FALSE;
	}
	switch (step & BP_STEP_KIND) {
	case BP_STEP_NOT:
		return all_true ? BP_TRUTH_FALSE : all_false ? BP_TRUTH_TRUE : BP_TRUTH_UNKNOWN;
	case BP_STEP_ALL:
		return all_true ? BP_TRUTH_TRUE : one_false ? BP_TRUTH_FALSE : BP_TRUTH_UNKNOWN;
	default:
		return one_true ? BP_TRUTH_TRUE : all_false ? BP_TRUTH_FALSE : BP_TRUTH_UNKNOWN;
	}
}

static void add_random(struct bp_program *p, uint64_t *seed, unsigned depth)
{
	static const uint8_t kind[] = {BP_STEP_NOT, BP_STEP_ALL, BP_STEP_ANY};
	const unsigned op = depth == 0 ? 3 : test_below(seed, 4);
	const unsigned n = op == 0 ? 1 : 1 + test_below(seed, 2);

	if (op == 3) {
		p->step[p->len++] = (uint8_t)(BP_STEP_PART | test_below(seed, BP_PARTS_MAX));
		return;
	}
	p->step[p->len++] = (uint8_t)(kind[op] | n);
	for (unsigned i = 0; i < n; i++)
		add_random(p, seed, depth - 1);
}

static void programs_follow_kleene(void **state)
{
	uint64_t seed = 1;

	for (unsigned n = 0; n < 20000; n++) {
		struct bp_program p = {0};
		uint8_t truth[BP_PARTS_MAX];
		unsigned at = 0;

		add_random(&p, &seed, 4);
		assert_true(bp_program_valid(&p, BP_PARTS_MAX));
		for (unsigned i = 0; i < BP_PARTS_MAX; i++)
			truth[i] = (uint8_t)test_below(&seed, 3);
		assert_int_equal(bp_program_evaluate(&p, truth), defined(&p, &at, truth));
		assert_int_equal(at, p.len);
		p.len--; /* an operand is missing */
		assert_false(p.len != 0 && bp_program_valid(&p, BP_PARTS_MAX) &&
			     (p.step[0] & BP_STEP_KIND) == BP_STEP_NOT);
	}
}

/* Programs of a damaged segment: what is valid is evaluated within its memory. */
static void any_bytes_are_safe(void **state)
{
	uint64_t seed = 2;
	unsigned valid = 0;

	for (unsigned n = 0; n < 200000; n++) {
		const uint8_t truth[BP_PARTS_MAX] = {1, 2, 0, 1, 2, 0, 1, 2};
		struct bp_program p;

		p.len = (uint8_t)test_below(&seed, 2) ? (uint8_t)test_below(&seed, 6)
						      : (uint8_t)test_below(&seed, 256);
		for (unsigned i = 0; i < sizeof(p.step); i++)
			p.step[i] = (uint8_t)(test_below(&seed, 4) << 6 | test_below(&seed, 4));
		if (!bp_program_valid(&p, 3))
			continue;
		valid++;
		assert_true(bp_program_evaluate(&p, truth) <= BP_TRUTH_TRUE);
	}
	assert_true(valid > 1000);
}

static void names_of_levels_are_read(void **state)
{
	struct bp_level_names n;
	const char *why;
	uint32_t at;

	assert_true(bp_level_names_read("a/{b}//{c9_}", 12, &n, &why, &at));
	assert_int_equal(n.n, 2);
	assert_int_equal(n.at[0].level, 1);
	assert_int_equal(n.at[1].level, 3);
	assert_int_equal(bp_level_names_find(&n, "c9_", 3), 1);
	assert_int_equal(bp_level_names_find(&n, "c9", 2), -1);
	assert_false(bp_level_names_read("a/{b}/+", 7, &n, &why, &at));
	assert_int_equal(at, 6);
	assert_true(bp_level_names_read("", 0, &n, &why, &at) && n.n == 0);
}

/* ---- images of another process ---- */

/* Rule 0 is plain, rule 1 the combination of the parts 2 and 3. */
static struct bp_ruleset *combined(void)
{
	static const uint8_t step[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));
	struct bp_rule_spec s[2];
	struct bp_ruleset *rs;

	assert_non_null(c);
	spec(&s[0], "plain", "x/+");
	spec(&s[1], "both", "");
	spec(&c->part[0], "", "a/{x}");
	spec(&c->part[1], "", "{x}/b");
	memcpy(c->program.step, step, sizeof(step));
	c->program.len = sizeof(step);
	c->n_parts = 2;
	s[1].combination = c;
	rs = try_build(s, 2, 8, NULL, 1);
	assert_non_null(rs);
	free(c);
	return rs;
}

static bool is_valid(const struct bp_ruleset *rs)
{
	return bp_ruleset_valid(rs, bp_ruleset_bank_size(8), 8);
}

static void damaged_combinations_are_refused(void **state)
{
	struct bp_ruleset *rs = combined();
	struct bp_rule *rule = (struct bp_rule *)(void *)((uint8_t *)rs + rs->rules);

	assert_true(is_valid(rs));
	assert_true(rs->n_rules == 2 && rs->n_parts == 2);
#define REFUSED(field_, value_)                                                                    \
	do {                                                                                       \
		const typeof(field_) was_ = field_;                                                \
                                                                                                   \
		field_ = (typeof(field_))(value_);                                                 \
		assert_false(is_valid(rs));                                                        \
		field_ = was_;                                                                     \
		assert_true(is_valid(rs));                                                         \
	} while (0)
	REFUSED(rule[1].combination.n_parts, 1); /* part 1 is behind the parts */
	REFUSED(rule[1].combination.n_parts, 0);
	REFUSED(rule[1].combination.n_parts, 9);
	REFUSED(rule[1].combination.first_part, 0x80000000u);
	REFUSED(rule[1].combination.first_part, 3);
	REFUSED(rule[1].combination.first_part, 1);
	REFUSED(rule[1].combination.n_names, 9);
	REFUSED(rule[1].combination.program.len, 49);
	REFUSED(rule[1].combination.program.step[2], BP_STEP_PART | 2);
	REFUSED(rule[1].role, BP_RULE_PLAIN);
	REFUSED(rule[0].role, BP_RULE_PART);
	REFUSED(rule[0].role, 3);
	REFUSED(rule[2].role, BP_RULE_PLAIN);
	REFUSED(rule[2].part.part, 1);
	REFUSED(rule[3].part.part, 200);
	REFUSED(rule[2].part.combination, 0);
	REFUSED(rule[2].part.combination, 4);
	REFUSED(rule[2].part.slot, 4000000);
	REFUSED(rule[0].next, 1); /* a combination that a filter has */
	REFUSED(rs->n_parts, UINT32_MAX - 1);
	REFUSED(rs->n_parts, 1);
	free(rs);
}

/* The steady truths of both parts: first << 4 | second. */
static unsigned steady(
	const uint8_t *step, uint8_t n, uint8_t repeat, uint32_t hold_count, uint64_t quiet_ns)
{
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));
	struct bp_rule_spec s;
	struct bp_ruleset *rs;
	unsigned result;

	assert_non_null(c);
	spec(&s, "both", "");
	spec(&c->part[0], "", "a/{x}");
	spec(&c->part[1], "", "{x}/b");
	memcpy(c->program.step, step, n);
	c->program.len = n;
	c->n_parts = 2;
	s.combination = c;
	s.repeat = repeat;
	s.hold = hold_count != 0 ? BP_HOLD_COUNT : BP_HOLD_NONE;
	s.hold_count = hold_count;
	s.quiet_ns = quiet_ns;
	rs = try_build(&s, 1, 8, NULL, 1);
	assert_non_null(rs);
	result = (unsigned)bp_ruleset_rule(rs, 1)->part.steady << 4 |
		 bp_ruleset_rule(rs, 2)->part.steady;
	free(rs);
	free(c);
	return result;
}

static void repetitions_are_steady_where_they_change_nothing(void **state)
{
	const uint8_t all[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_NOT, BP_STEP_PART | 1};
	const uint8_t any[] = {BP_STEP_ANY | 2, BP_STEP_PART, BP_STEP_PART | 1};

	assert_int_equal(steady(all, 4, BP_REPEAT_ON_CHANGE, 0, 0), 0x33);
	assert_int_equal(steady(any, 3, BP_REPEAT_ON_CHANGE, 0, 0), 0x33);
	/* the first part decides by false, the second one, negated, by true */
	assert_int_equal(steady(all, 4, BP_REPEAT_EVERY, 0, 0), 0x12);
	assert_int_equal(steady(all, 4, BP_REPEAT_ON_CHANGE, 2, 0), 0x12);
	assert_int_equal(steady(any, 3, BP_REPEAT_EVERY, 0, 0), 0);
	assert_int_equal(steady(all, 4, BP_REPEAT_ON_CHANGE, 0, 1), 0);
}

/* ---- the table ---- */

static struct bp_part_state *table_new(uint64_t len)
{
	struct bp_part_state *t = aligned_alloc(64, len * sizeof(*t));

	assert_non_null(t);
	memset(t, 0, len * sizeof(*t));
	return t;
}

static enum bp_truth truth_of(const struct bp_part_key *k, uint64_t now)
{
	return bp_part_word_truth(bp_part_state_word(k), 0, now);
}

static void a_truth_is_stored_with_its_time_and_value(void **state)
{
	struct bp_part_state *t = table_new(64);
	const struct bp_part_key k = bp_part_key(t, 64, 5, 6), other = bp_part_key(t, 64, 5, 7);
	const struct bp_part_key part = bp_part_key(t, 64, 4, 6);
	struct bp_part_view v;
	uint64_t word;

	assert_int_equal(truth_of(&k, 1), BP_TRUTH_UNKNOWN);
	assert_int_equal(bp_part_state_store(&k, 9, BP_TRUTH_TRUE, 80.1, 100), BP_STATE_NO_LOSS);
	assert_int_equal(truth_of(&part, 100), BP_TRUTH_UNKNOWN);
	assert_int_equal(truth_of(&other, 100), BP_TRUTH_UNKNOWN);
	word = bp_part_state_word(&k);
	assert_int_equal(bp_part_word_truth(word, 30, 130), BP_TRUTH_TRUE);
	assert_int_equal(bp_part_word_truth(word, 30, 131), BP_TRUTH_UNKNOWN);
	/* the clock of another worker is slightly ahead; of another boot: far */
	assert_int_equal(bp_part_word_truth(word, 30, 90), BP_TRUTH_TRUE);
	assert_int_equal(bp_part_word_truth(5 * SECOND << 2 | 2, 0, 100), BP_TRUTH_UNKNOWN);
	bp_part_state_view(&k, 150, &v);
	assert_true(v.value == 80.1 && v.age_ns == 50);
	/* a value that was not stored with the word is not shown */
	for (unsigned i = 0; i < 64; i++)
		t[i].value += t[i].key != 0;
	bp_part_state_view(&k, 150, &v);
	assert_true(isnan(v.value));
	free(t);
}

/* One bucket: the oldest of the same client goes, and none of another one that was used. */
static void a_client_evicts_only_its_own(void **state)
{
	struct bp_part_state *t = table_new(BP_PART_STATE_WAYS);
	struct bp_part_key k[6];

	for (unsigned i = 0; i < 6; i++)
		k[i] = bp_part_key(t, BP_PART_STATE_WAYS, 1, i);
	for (unsigned i = 0; i < 2; i++) {
		bp_part_state_store(&k[i], 1, BP_TRUTH_TRUE, 0, 10 + i);
		bp_part_state_store(&k[2 + i], 2, BP_TRUTH_TRUE, 0, 20 + i);
	}
	assert_int_equal(
		bp_part_state_store(&k[4], 2, BP_TRUTH_TRUE, 0, 30), BP_STATE_HOLD_EVICTED);
	assert_int_equal(truth_of(&k[2], 30), BP_TRUTH_UNKNOWN); /* its oldest */
	assert_int_equal(truth_of(&k[0], 30), BP_TRUTH_TRUE);
	assert_int_equal(bp_part_state_store(&k[5], 3, BP_TRUTH_TRUE, 0, 31), BP_STATE_NOT_KEPT);
	assert_int_equal(truth_of(&k[5], 31), BP_TRUTH_UNKNOWN);
	/* an hour later all may go */
	assert_int_equal(
		bp_part_state_store(&k[5], 3, BP_TRUTH_TRUE, 0, BP_RULE_STATE_IDLE_NS + 50),
		BP_STATE_HOLD_EVICTED);
	free(t);
}

/* ---- several workers ---- */

#define ROUNDS 100000u

struct shared {
	struct bp_part_state *table;
	_Atomic uint32_t arrived, missing, twice;
};

/* Without a system call, so that both continue at the same time. */
static void meet(struct shared *s, uint32_t n)
{
	atomic_fetch_add(&s->arrived, 1);
	for (unsigned i = 0; atomic_load(&s->arrived) < 2 * n; i++)
		if (i % 1024 == 1023)
			sched_yield();
}

/* In each round both threads store a truth of a new key in a full bucket. */
static void *store(void *arg)
{
	struct shared *s = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		const struct bp_part_key k = bp_part_key(s->table, BP_PART_STATE_WAYS, 1, i);

		meet(s, 2 * i + 1);
		bp_part_state_store(&k, 1, BP_TRUTH_TRUE, 1, i + 1);
		meet(s, 2 * i + 2);
		s->missing += truth_of(&k, i + 1) != BP_TRUTH_TRUE;
		for (unsigned a = 0; a < BP_PART_STATE_WAYS; a++)
			for (unsigned b = 0; b < a; b++)
				s->twice +=
					s->table[a].key != 0 && s->table[a].key == s->table[b].key;
	}
	return NULL;
}

static void a_key_has_one_entry(void **state)
{
	struct shared s = {.table = table_new(BP_PART_STATE_WAYS)};
	pthread_t thread[2];

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, store, &s), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.twice, 0);
	free(s.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_follow_kleene),
		cmocka_unit_test(any_bytes_are_safe),
		cmocka_unit_test(names_of_levels_are_read),
		cmocka_unit_test(damaged_combinations_are_refused),
		cmocka_unit_test(repetitions_are_steady_where_they_change_nothing),
		cmocka_unit_test(a_truth_is_stored_with_its_time_and_value),
		cmocka_unit_test(a_client_evicts_only_its_own),
		cmocka_unit_test(a_key_has_one_entry),
	};

	return cmocka_run_group_tests_name("truths of parts", tests, NULL, NULL);
}
