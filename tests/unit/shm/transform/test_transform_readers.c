/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers that look up and copy matrices while some are set, sources come and banks change: each
 * copy is one whole matrix of the source asked for, and never one older than before. */
#include "tests/unit/shm/transform/transform_rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define READERS 2u
#define SOURCES 24u
#define ADDED 40u
#define MATRICES 200u
#define CHANGES TEST_TIMES(40000u)

struct shared {
	struct transform_rig x;
	_Atomic bool stop;
	_Atomic uint64_t ready, read, torn, older, lost;
	/* the least mark that an address may have from now on; its source's place is in the mark's
	 * thousands */
	_Atomic uint64_t least[SOURCES + ADDED];
};

struct reader {
	struct shared *s;
	unsigned worker;
	pthread_t thread;
	uint64_t seed;
};

/* The longer prefixes of added sources are inside the shorter ones of the file. */
static struct bp_prefix prefix_of(unsigned i)
{
	return i < SOURCES ? xform_prefix4(0x0a000000u + (i << 16), 24 + i % 4)
			   : xform_prefix4(0x0b000000u + (i << 16), 16 + i % 12);
}

static double mark_of(unsigned i, uint64_t version)
{
	return (double)(version * 1000 + i);
}

static void read_one(
	struct reader *r, const struct bp_transform_view *v, uint64_t active, unsigned i)
{
	struct shared *s = r->s;
	const uint64_t least = atomic_load(&s->least[i]);
	const struct bp_prefix p = prefix_of(i);
	uint32_t at;
	double m[12], mark;

	/* not there yet; or there is another bank, which alone has what was set since */
	if (least == 0 || atomic_load(&s->x.head.active) != active)
		return;
	at = bp_transform_lookup(v, 0, 4, p.bytes);
	if (at == UINT32_MAX) {
		atomic_fetch_add(&s->lost, 1);
		return;
	}
	bp_transform_row_read(&v->row[v->source[at].first], m);
	mark = xform_mark(m);
	if (mark < 0 || (uint64_t)mark % 1000 != i)
		atomic_fetch_add(&s->torn, 1);
	else if ((uint64_t)mark / 1000 < least)
		atomic_fetch_add(&s->older, 1);
	atomic_fetch_add(&s->read, 1);
}

static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct shared *s = r->s;
	const struct bp_generation *g = &s->x.t.generation;

	bp_generation_enter(g, r->worker);
	atomic_fetch_add(&s->ready, 1);
	while (!atomic_load(&s->stop)) {
		/* as a worker does at the beginning of a walk */
		const uint64_t active = bp_generation_enter(g, r->worker);
		const struct bp_transform_view v = bp_transform_view_of(&s->x.t, active);

		for (unsigned n = 0; n < 32; n++)
			read_one(r, &v, active, test_below(&r->seed, SOURCES + ADDED));
	}
	bp_generation_acknowledge(g, r->worker, BP_GENERATION_NONE);
	return NULL;
}

static void wait_seen(struct shared *s)
{
	while (bp_generation_pending(&s->x.t.generation) >= 0)
		;
}

static void set(struct shared *s, unsigned i, uint64_t version)
{
	const struct bp_transform_view v = xform_view(&s->x);
	const struct bp_prefix p = prefix_of(i);
	double m[12];

	xform_matrix(mark_of(i, version), m);
	assert_int_equal(bp_transform_set(&v, 0, &p, 0, m, true, &s->x.head.next_uid),
		BP_TRANSFORM_SET_DONE);
	atomic_store(&s->least[i], version);
}

static void test_readers(void **state)
{
	struct shared *s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);
	struct reader reader[READERS];
	uint64_t seed = 7;

	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	xform_open(&s->x, MATRICES, 1);
	xform_rule(&s->x, 0, 1);
	for (unsigned i = 0; i < SOURCES; i++) {
		xform_source(&s->x, 0, prefix_of(i));
		xform_receiver(&s->x, mark_of(i, 1));
		atomic_store(&s->least[i], 1);
	}
	assert_int_equal(xform_load(&s->x), 0);
	bp_generation_reset(&s->x.t.generation);
	for (unsigned i = 0; i < READERS; i++) {
		reader[i] = (struct reader){.s = s, .worker = i, .seed = i + 1};
		assert_int_equal(pthread_create(&reader[i].thread, NULL, read_on, &reader[i]), 0);
	}
	while (atomic_load(&s->ready) < READERS)
		;
	for (uint64_t v = 2; v < CHANGES; v++) {
		set(s, test_below(&seed, v < CHANGES / 2 ? SOURCES : SOURCES + ADDED), v);
		if (v % 500 == 0) {
			wait_seen(s);
			assert_int_equal(xform_load(&s->x), 0);
		}
	}
	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(reader[i].thread, NULL);
	assert_int_equal(atomic_load(&s->torn), 0);
	assert_int_equal(atomic_load(&s->older), 0);
	assert_int_equal(atomic_load(&s->lost), 0);
	assert_true(atomic_load(&s->read) > 0);
	xform_close(&s->x);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests_name("shm transform readers", tests, NULL, NULL);
}
