/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation in the segment: which tables there are, and the plan that workers take. */
#include "config/aggregation/settings.h"
#include "tests/unit/shm/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/aggregation/agg_shape.h"
#include "shm/layout.h"
#include "config/segment.h"

#define READERS 2u
#define WRITES TEST_TIMES(20000u)

/* ---- tables ---- */

static void config(struct bp_config *c, struct bp_config_aggregation *a, uint32_t entries)
{
	memset(c, 0, sizeof(*c));
	c->n_workers = 3;
	c->n_ports = 2;
	c->n_bridges = 1;
	c->bridge[0] = (struct bp_config_bridge){.n = 2, .port = {0, 1}};
	*a = (struct bp_config_aggregation){
		.rules.n_disaggregate = entries, .max_streams = 5, .pacing_queue_len = 16};
	c->service[BP_SERVICE_AGGREGATION] = a;
}

static void map(struct bp_shm *m, const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);
	char err[512];
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (s == NULL || bp_shm_map(m, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

/* Writes to the first and last byte of what a pointer is said to have. */
static void touch(void *p, uint64_t bytes)
{
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 64, 0);
	*(volatile uint8_t *)p = 0;
	*((volatile uint8_t *)p + bytes - 1) = 0;
}

static void tables_exist_with_aggregation(void **state)
{
	struct bp_config_aggregation a;
	struct bp_config c;
	struct bp_shm m;

	config(&c, &a, 0);
	map(&m, &c);
	assert_null(m.agg.plan);
	assert_null(m.agg.stats);
	assert_null(m.agg.disagg_stats);
	assert_null(m.agg.rows);
	assert_int_equal(m.agg.streams, 0);
	bp_segment_close(m.segment);
	config(&c, &a, 1);
	map(&m, &c);
	assert_int_equal(m.agg.streams, 5);
	touch(m.agg.plan, sizeof(*m.agg.plan));
	touch(m.agg.stats, 3 * BP_AGG_RULES_MAX * sizeof(*m.agg.stats));
	touch(m.agg.disagg_stats, 3 * BP_AGG_RULES_MAX * sizeof(*m.agg.disagg_stats));
	touch(m.agg.rows, 3 * 5 * sizeof(*m.agg.rows));
	assert_int_equal(atomic_load(&m.agg.plan->lock.generation), 0);
	bp_segment_close(m.segment);
}

/* A segment created by another process. */
static void impossible_sizes_are_refused(void **state)
{
	static const struct {
		uint64_t capacity[BP_AGG_TABLES], workers;
		bool agree;
	} of[] = {
		{{1, 1, 1, 1}, 3, true},
		{{1, 96, 96, 15}, 3, true},
		{{0, 96, 96, 15}, 3, false},
		{{2, 96, 96, 15}, 3, false},
		{{1, 95, 95, 15}, 3, false},
		{{1, 96, 95, 15}, 3, false},
		{{1, 96, 96, 14}, 3, false},
		{{1, 1, 1, 15}, 3, false},
		{{1, 1, 96, 15}, 3, false},
		{{1, 32, 32, (uint64_t)UINT32_MAX}, 1, true},
		{{1, 32, 32, (uint64_t)UINT32_MAX + 1}, 1, false},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_int_equal(bp_service_tables[BP_SERVICE_AGGREGATION]->sizes_agree(
					 of[i].capacity, of[i].workers),
			of[i].agree);
}

/* ---- the plan ---- */

/* Every word is of version `v`, and differs from its neighbors and from other versions. */
static uint64_t word_of(uint64_t v, size_t i)
{
	return v * 0x9e3779b97f4a7c15ull + i;
}

#define WORDS (sizeof(struct bp_agg_rules) / 8)

static void fill(struct bp_agg_rules *rules, uint64_t v)
{
	uint64_t *w = (uint64_t *)(void *)rules;

	for (size_t i = 0; i < WORDS; i++)
		w[i] = word_of(v, i);
}

static bool is_whole(const struct bp_agg_rules *rules)
{
	const uint64_t *w = (const uint64_t *)(const void *)rules;

	for (size_t i = 1; i < WORDS; i++)
		if (w[i] != w[0] + i)
			return false;
	return true;
}

static bool is_version(const struct bp_agg_rules *rules, uint64_t v)
{
	return is_whole(rules) && memcmp(rules, &(uint64_t){word_of(v, 0)}, sizeof(uint64_t)) == 0;
}

struct plans {
	struct bp_agg_shared_rules plan;
	struct bp_agg_rules rules, taken;
};

static void written_rows_are_read_once(void **state)
{
	struct plans *p = aligned_alloc(64, (sizeof(*p) + 63) & ~(size_t)63);
	uint64_t seen = 0, other = 0;

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	assert_false(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	/* the rules of none, which was never written */
	assert_false(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	fill(&p->rules, 1);
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	assert_true(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	assert_true(is_version(&p->taken, 1));
	assert_false(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	fill(&p->rules, 2);
	assert_false(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	fill(&p->rules, 3);
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	/* Each worker takes the last one, whichever it had. */
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	assert_true(is_version(&p->taken, 3));
	assert_true(bp_seqlock_read(&p->plan.lock, &other, &p->taken, sizeof(p->taken)));
	assert_true(is_version(&p->taken, 3));
	assert_int_equal(seen, other);
	/* The last byte counts, too. */
	((uint8_t *)&p->rules)[sizeof(p->rules) - 1] ^= 1;
	assert_false(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	free(p);
}

/* A control plane that was killed while it wrote: no one takes it, and the next one writes it
 * again.
 */
static void incomplete_settings_are_not_applied(void **state)
{
	struct plans *p = aligned_alloc(64, (sizeof(*p) + 63) & ~(size_t)63);
	uint64_t seen = 0;

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	fill(&p->rules, 1);
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	atomic_fetch_add(&p->plan.lock.generation, 1);
	assert_false(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	assert_false(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	assert_true(bp_seqlock_equals(&p->plan.lock, &p->rules, sizeof(p->rules)));
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	assert_true(is_version(&p->taken, 1));
	free(p);
}

/* As after a restart of the workers: those that have read it read it again, the others once. */
static void republished_value_is_read_again(void **state)
{
	struct plans *p = aligned_alloc(64, (sizeof(*p) + 63) & ~(size_t)63);
	uint64_t seen = 0;

	(void)state;
	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	bp_seqlock_republish(&p->plan.lock);
	assert_int_equal(p->plan.lock.generation, 0);
	fill(&p->rules, 1);
	bp_seqlock_write(&p->plan.lock, &p->rules, sizeof(p->rules));
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	bp_seqlock_republish(&p->plan.lock);
	assert_true(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	assert_true(is_version(&p->taken, 1));
	assert_false(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	/* half of a value is not */
	atomic_fetch_add(&p->plan.lock.generation, 1);
	bp_seqlock_republish(&p->plan.lock);
	assert_false(bp_seqlock_read(&p->plan.lock, &seen, &p->taken, sizeof(p->taken)));
	free(p);
}

/* ---- while it is written ---- */

struct shared {
	struct bp_agg_shared_rules plan;
	_Atomic uint64_t ready, torn, backwards, taken;
};

struct reader {
	struct shared *s;
	pthread_t thread;
	uint64_t seen;
	struct bp_agg_rules rules;
};

static void take(struct reader *r)
{
	const uint64_t before = r->seen;

	if (!bp_seqlock_read(&r->s->plan.lock, &r->seen, &r->rules, sizeof(r->rules)))
		return;
	atomic_fetch_add(&r->s->taken, 1);
	/* Generations are even, and the writer's versions are their halves. */
	if (r->seen <= before)
		atomic_fetch_add(&r->s->backwards, 1);
	if (!is_version(&r->rules, r->seen / 2))
		atomic_fetch_add(&r->s->torn, 1);
}

static void *read_on(void *arg)
{
	struct reader *r = arg;

	atomic_fetch_add(&r->s->ready, 1);
	while (r->seen != 2 * (uint64_t)WRITES)
		take(r);
	return NULL;
}

static void no_reader_takes_parts_of_two(void **state)
{
	static struct shared s;
	static struct reader readers[READERS];
	static struct bp_agg_rules rules;

	for (unsigned i = 0; i < READERS; i++) {
		readers[i].s = &s;
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
	}
	while (atomic_load(&s.ready) != READERS)
		;
	for (uint64_t v = 1; v <= WRITES; v++) {
		fill(&rules, v);
		bp_seqlock_write(&s.plan.lock, &rules, sizeof(rules));
	}
	/* Each ends when it has taken the last one. */
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	assert_int_equal(atomic_load(&s.torn), 0);
	assert_int_equal(atomic_load(&s.backwards), 0);
	assert_true(atomic_load(&s.taken) >= READERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_exist_with_aggregation),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(written_rows_are_read_once),
		cmocka_unit_test(incomplete_settings_are_not_applied),
		cmocka_unit_test(republished_value_is_read_again),
		cmocka_unit_test(no_reader_takes_parts_of_two),
	};

	return cmocka_run_group_tests_name("shm agg", tests, NULL, NULL);
}
