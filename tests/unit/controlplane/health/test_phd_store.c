/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/phd_store_rig.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/times.h"

/* ---- against a plain model ---- */

#define SESSIONS 24u
#define DEVICES 8u
#define CONFIGS 3u
#define FIRST_ID 0x4000u

struct model {
	struct {
		bool open;
		uint32_t reports;
		unsigned start; /* at which it was put last */
	} session[SESSIONS];
	struct {
		int code; /* -1: not known */
		uint16_t spec;
		uint64_t used;
	} pair[DEVICES][CONFIGS];
	uint64_t uses;
	unsigned start;
};

/* The pairs beyond the `max` used last are forgotten. */
static void model_forget(struct model *m, unsigned max)
{
	for (;;) {
		int *oldest = NULL;
		uint64_t used = UINT64_MAX;
		unsigned n = 0;

		for (unsigned d = 0; d < DEVICES; d++)
			for (unsigned c = 0; c < CONFIGS; c++) {
				if (m->pair[d][c].code < 0)
					continue;
				n++;
				if (m->pair[d][c].used < used) {
					used = m->pair[d][c].used;
					oldest = &m->pair[d][c].code;
				}
			}
		if (n <= max)
			return;
		*oldest = -1;
	}
}

static void model_learn(struct model *m, unsigned d, unsigned c, int code)
{
	if (m->pair[d][c].code != code)
		m->pair[d][c].spec = 0;
	m->pair[d][c].code = code;
	m->pair[d][c].used = ++m->uses;
}

static void check_known(struct rig *r, struct model *m, unsigned d, unsigned c)
{
	uint16_t spec;

	assert_int_equal(rig_known(r, d, (uint16_t)(FIRST_ID + c), &spec), m->pair[d][c].code);
	if (m->pair[d][c].code < 0)
		return;
	assert_int_equal(spec, m->pair[d][c].spec);
	m->pair[d][c].used = ++m->uses;
}

static void check_sessions(const struct rig *r, const struct model *m)
{
	unsigned open = 0;

	for (unsigned n = 0; n < SESSIONS; n++) {
		const struct bp_phd_store_session *s = rig_find(r, n);
		struct bp_phd_store_session should = rig_session(n, m->session[n].reports);

		open += m->session[n].open;
		assert_int_equal(s != NULL, m->session[n].open);
		if (s == NULL)
			continue;
		should.reports += (m->start - m->session[n].start) << 20;
		assert_true(rig_equal(s, &should));
	}
	assert_int_equal(r->n, open);
}

static void random_op(struct rig *r, struct model *m, uint64_t *seed)
{
	const unsigned n = (unsigned)(test_random(seed) % SESSIONS);
	const unsigned d = (unsigned)(test_random(seed) % DEVICES);
	const unsigned c = (unsigned)(test_random(seed) % CONFIGS);
	const uint32_t value = (uint32_t)test_random(seed);
	uint8_t system_id[8];

	switch (test_random(seed) % 5) {
	case 0:
		rig_put(r, n, value);
		m->session[n].open = true;
		m->session[n].reports = value;
		m->session[n].start = m->start;
		return;
	case 1:
		rig_drop(r, n);
		m->session[n].open = false;
		return;
	case 2:
		assert_true(rig_learn(r, d, (uint16_t)(FIRST_ID + c), (uint16_t)(value % 5)));
		model_learn(m, d, c, (int)(value % 5));
		model_forget(m, r->max_known);
		return;
	case 3:
		rig_system_id(d, system_id);
		assert_int_equal(bp_phd_store_spec(r->store, system_id, (uint16_t)(FIRST_ID + c),
					 (uint16_t)(4096 + value % 3)),
			m->pair[d][c].code >= 0);
		if (m->pair[d][c].code >= 0 && m->pair[d][c].spec != 4096 + value % 3) {
			m->pair[d][c].spec = (uint16_t)(4096 + value % 3);
			m->pair[d][c].used = ++m->uses;
		}
		return;
	default:
		check_known(r, m, d, c);
	}
}

/* Also in pieces between which the thread may have committed or not, and with the loop in turns. */
static void random_operations(void **state)
{
	struct rig *r = *state;
	struct model m = {.start = 1};
	uint64_t seed = 11;

	r->max_known = 8;
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned c = 0; c < CONFIGS; c++)
			m.pair[d][c].code = -1;
	rig_open(r);
	rig_load(r);
	for (unsigned round = 0; round < TEST_TIMES(480); round++) {
		for (unsigned k = (unsigned)(test_random(&seed) % 400); k > 0; k--) {
			random_op(r, &m, &seed);
			if (test_random(&seed) % 64 == 0)
				assert_true(bp_phd_store_flush(r->store));
			if (test_random(&seed) % 16 == 0)
				event_base_loop(r->base, EVLOOP_NONBLOCK);
		}
		rig_reopen(r);
		m.start++;
		check_sessions(r, &m);
		assert_int_equal(rig_counts(r).skipped, 0);
		assert_int_equal(rig_counts(r).failures, 0);
		for (unsigned d = 0; d < DEVICES; d++)
			for (unsigned c = 0; c < CONFIGS; c++)
				check_known(r, &m, d, c);
	}
}

/* ---- one by one ---- */

static void written_after_50_ms_without_a_flush(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	rig_put(r, 1, 5);
	assert_true(rig_learn(r, 1, 0x4000, 7));
	WAIT_UNTIL(rig_counts(r).rows == 3); /* the session, the report, the pair */
	assert_int_equal(rig_counts(r).queued, 0);
}

static void first_start_asks_for_everything(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	RUN_UNTIL(r, r->retry == 1);
	rig_put(r, 1, 1);
	rig_reopen(r);
	for (unsigned i = 0; i < 3; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK);
	assert_int_equal(r->retry, 0); /* it has everything */
	assert_int_equal(r->n, 1);
}

/* Rows written while the file is read are newer than the rows read. */
static void touched_while_read_back(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	for (unsigned n = 0; n < 3; n++)
		rig_put(r, n, 10 + n);
	assert_true(rig_learn(r, 1, 0x4000, 7));
	assert_true(rig_learn(r, 2, 0x4000, 7));
	rig_close(r);
	rig_open(r);
	rig_put(r, 0, 99);
	rig_drop(r, 1);
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), -1); /* not yet */
	assert_true(rig_learn(r, 1, 0x4000, 8));
	rig_load(r);
	assert_int_equal(r->n, 1);
	assert_non_null(rig_find(r, 2));
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 8);
	assert_int_equal(rig_known(r, 2, 0x4000, NULL), 7);
	rig_reopen(r);
	assert_int_equal(r->n, 2);
	assert_int_equal(rig_find(r, 0)->reports, 99 + (1 << 20));
	assert_int_equal(rig_find(r, 2)->reports, 12 + (2 << 20));
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 8);
}

static void refused_sessions_are_taken_out(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_put(r, 1, 1);
	rig_put(r, 2, 2);
	rig_close(r);
	r->forget = true;
	rig_open(r);
	rig_load(r);
	assert_int_equal(r->n, 2);
	rig_reopen(r);
	assert_int_equal(r->n, 0);
}

static void unreadable_reports_are_refused(void **state)
{
	struct rig *r = *state;
	struct bp_phd_bytes report = rig_report(0x4000, 7, 0);
	uint8_t system_id[8];

	rig_system_id(1, system_id);
	rig_open(r);
	report.len--;
	assert_false(bp_phd_store_learn(r->store, system_id, report));
	assert_false(bp_phd_store_learn(r->store, system_id, (struct bp_phd_bytes){NULL, 0}));
	assert_int_equal(rig_counts(r).refused, 2);
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), -1);
	assert_false(bp_phd_store_spec(r->store, system_id, 0x4000, 4100));
}

/* Other bytes that say the same are the same configuration; reports are stored once. */
static void equal_configurations_are_one(void **state)
{
	struct rig *r = *state;
	uint8_t system_id[8];

	rig_open(r);
	rig_load(r);
	for (unsigned d = 0; d < 50; d++)
		assert_true(rig_learn(r, d, 0x4000, 7));
	rig_system_id(50, system_id);
	assert_true(bp_phd_store_learn(r->store, system_id, rig_report(0x4000, 7, 100)));
	assert_true(bp_phd_store_flush(r->store));
	assert_int_equal(rig_counts(r).rows, 52);
	rig_reopen(r);
	for (unsigned d = 0; d < 51; d++)
		assert_int_equal(rig_known(r, d, 0x4000, NULL), 7);
}

static void bounded_by_bytes(void **state)
{
	struct rig *r = *state;
	const unsigned len = rig_report(0x4000, 0, 0).len;
	uint8_t system_id[8];

	r->max_bytes = 3 * len;
	rig_open(r);
	rig_load(r);
	for (uint16_t d = 0; d < 10; d++)
		assert_true(rig_learn(r, d, 0x4000, d));
	assert_int_equal(rig_counts(r).evicted, 7);
	rig_system_id(77, system_id); /* larger than all there is room for */
	assert_false(bp_phd_store_learn(r->store, system_id, rig_report(0x4000, 20, 3 * len + 1)));
	assert_true(rig_learn(r, 20, 0x4000, 1));
	rig_reopen(r);
	assert_int_equal(rig_known(r, 20, 0x4000, NULL), 1);
	r->max_bytes = 0; /* a smaller bound holds for what is read back */
	rig_reopen(r);
	assert_int_equal(rig_counts(r).known, 0);
}

static void a_smaller_bound_keeps_the_newest(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	for (uint16_t d = 0; d < 600; d++)
		assert_true(rig_learn(r, d, 0x4000, d % 7));
	r->max_known = 300;
	rig_reopen(r);
	assert_int_equal(rig_counts(r).known, 300);
	assert_int_equal(rig_counts(r).evicted, 300);
	for (unsigned d = 0; d < 600; d++)
		assert_int_equal(rig_known(r, d, 0x4000, NULL), d < 300 ? -1 : (int)(d % 7));
	r->max_known = 1000;
	rig_reopen(r);
	assert_int_equal(rig_counts(r).known, 300);
}

/* The order of use is kept over a restart. */
static void a_use_after_a_restart_counts(void **state)
{
	struct rig *r = *state;

	rig_open(r);
	rig_load(r);
	for (unsigned d = 0; d < 20; d++)
		assert_true(rig_learn(r, d, 0x4000, 7));
	rig_reopen(r);
	assert_int_equal(rig_known(r, 0, 0x4000, NULL), 7);
	r->max_known = 2;
	rig_reopen(r);
	for (unsigned d = 0; d < 20; d++)
		assert_int_equal(rig_known(r, d, 0x4000, NULL), d == 0 || d == 19 ? 7 : -1);
}

/* ---- many ---- */

/* Two seconds of 20,000 associations, each with its configuration, in one turn of the loop. */
static void forty_thousand_associations(void **state)
{
	struct rig *r = *state;
	const unsigned n = 40000;

	r->max_known = n;
	rig_open(r);
	for (unsigned i = 0; i < n; i++) {
		assert_true(rig_learn(r, i, 0x4000, (uint16_t)(i % 100)));
		rig_put(r, i, i);
	}
	assert_true(bp_phd_store_flush(r->store));
	assert_int_equal(rig_counts(r).lost, 0);
	assert_int_equal(rig_counts(r).rows, 2 * n + 100);
	rig_reopen(r);
	assert_int_equal(r->n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(rig_known(r, i, 0x4000, NULL), (int)(i % 100));
}

static void a_million_sessions_in_turns(void **state)
{
	struct rig *r = *state;
	const unsigned n = 1000000;
	unsigned before, turns = 0;

	rig_open(r);
	rig_load(r);
	for (unsigned i = 0; i < n; i++) {
		if (bp_phd_store_capacity(r->store) == 0)
			assert_true(bp_phd_store_flush(r->store));
		rig_put(r, i, i);
	}
	rig_close(r);
	rig_open(r);
	while (r->whole == 0) {
		before = r->n;
		event_base_loop(r->base, EVLOOP_ONCE);
		assert_true(r->n - before <= 128);
		turns += r->n != before;
	}
	assert_int_equal(r->n, n);
	assert_true(turns >= n / 128);
	assert_int_equal(rig_counts(r).sessions_read, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(random_operations),
		TEST(written_after_50_ms_without_a_flush),
		TEST(first_start_asks_for_everything),
		TEST(touched_while_read_back),
		TEST(refused_sessions_are_taken_out),
		TEST(unreadable_reports_are_refused),
		TEST(equal_configurations_are_one),
		TEST(bounded_by_bytes),
		TEST(a_smaller_bound_keeps_the_newest),
		TEST(a_use_after_a_restart_counts),
		TEST(forty_thousand_associations),
		TEST(a_million_sessions_in_turns),
	};

	return cmocka_run_group_tests_name("phd store", tests, NULL, NULL);
}
