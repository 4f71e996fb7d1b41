/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow table against an exact model: lookup, eviction, and overflow counts of the groups that
 * match the content of the table.
 */
#include "tests/unit/services/mqtt/flow_table_rig.h"

struct model {
	uint64_t k0, k1;
	uint32_t seen;
	bool live, closed, opening;
};

/* Of the model: the number of open flows with this `opening`; *oldest: by the timer wheel. */
static unsigned living(
	const struct table *t, const struct model *m, unsigned n, bool opening, uint32_t *oldest)
{
	unsigned count = 0;

	*oldest = UINT32_MAX;
	for (unsigned i = 0; i < n; i++) {
		if (!m[i].live || m[i].closed || m[i].opening != opening)
			continue;
		count++;
		if (m[i].seen >> t->t.wheel_shift < *oldest)
			*oldest = m[i].seen >> t->t.wheel_shift;
	}
	return count;
}

/* After a flow was added: checks that the table evicted the correct flow. The limits of both kinds
 * hold separately; a full pair of groups may evict one more. */
static void check_evicted(struct table *t, struct model *m, unsigned n, bool opening)
{
	uint32_t oldest;
	const uint32_t bound = opening ? t->t.max_unproven : t->t.capacity;
	const bool at_bound = living(t, m, n, opening, &oldest) == bound;
	unsigned gone = 0, of_kind = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!m[i].live || table_find(t, m[i].k0, m[i].k1) != NULL)
			continue;
		gone++;
		if (!m[i].closed)
			assert_false(opening && !m[i].opening); /* never a proven one */
		if (!m[i].closed && m[i].opening == opening) {
			of_kind++;
			/* exact to within one list of the wheel */
			if (at_bound && !opening && gone == 1)
				assert_true(m[i].seen >> t->t.wheel_shift >= oldest);
		}
		m[i].live = false;
	}
	assert_true(gone <= 2);
	if (at_bound)
		assert_true(of_kind >= 1);
}

/* Small tables, few keys: full groups, second groups, evictions at the bound and before it. */
static void random_model(void **state)
{
	static const uint32_t capacities[] = {1, 2, 7, 16, 29, 60, 200};

	(void)state;
	for (unsigned round = 0; round < 21; round++) {
		uint32_t capacity = capacities[round % 7];
		struct table *t = table_open(capacity, 600 * SECOND, 30 * SECOND);
		enum { KEYS = 500 };
		struct model *m = calloc(KEYS, sizeof(*m));
		uint64_t s = 77 + round, full = 0;

		for (unsigned i = 0; i < KEYS; i++) {
			m[i].k0 = test_random(&s);
			m[i].k1 = test_random(&s) & 0xffffffff;
		}
		for (unsigned step = 0; step < 6000; step++) {
			unsigned i = test_below(&s, KEYS);
			struct bp_flow *f = table_find(t, m[i].k0, m[i].k1);

			table_at(t, t->mono_ns + test_below(&s, 40) * (SECOND / 100));
			assert_int_equal(f != NULL, m[i].live);
			switch (test_below(&s, 8)) {
			case 0:
				if (f != NULL) {
					bp_flow_remove(&t->t, f);
					m[i].live = false;
				}
				break;
			case 1:
				if (f != NULL) {
					f->flags |= BP_FLOW_CLOSED;
					bp_flow_file(&t->t, f, BP_LIST_CLOSED);
					m[i].closed = true;
					m[i].opening = false;
				}
				break;
			case 2:
			case 3:
				if (f != NULL) {
					f->seen = m[i].seen = t->t.now;
					break;
				}
				/* fall through */
			default:
				if (f == NULL) {
					bool opening = test_below(&s, 3) == 0;

					f = table_add(t, m[i].k0, m[i].k1,
						opening ? BP_LIST_UNPROVEN : BP_LIST_PROVEN);
					full += t->t.proven == capacity;
					check_evicted(t, m, KEYS, opening);
					if (f == NULL) {
						assert_true(opening);
						break;
					}
					assert_int_equal(f->k0, m[i].k0);
					assert_int_equal(f->carried, 0);
					m[i].live = true;
					m[i].closed = false;
					m[i].opening = opening;
					m[i].seen = t->t.now;
				}
			}
			assert_true(t->t.proven <= capacity);
			assert_true(t->t.unproven <= t->t.max_unproven);
			assert_true(t->t.count <= capacity + t->t.max_unproven);
			if (step % 500 == 0)
				table_consistent(&t->t);
		}
		assert_true(full > 100);
		for (unsigned i = 0; i < KEYS; i++)
			assert_int_equal(table_find(t, m[i].k0, m[i].k1) != NULL, m[i].live);
		table_consistent(&t->t);
		free(m);
		table_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_model),
	};

	return cmocka_run_group_tests_name("flow_table_random", tests, NULL, NULL);
}
