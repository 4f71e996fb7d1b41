/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers look sessions up and change their flags while the writer opens and closes them and
 * replaces their layouts: permanent sessions are found, missing ones are not, and each result is
 * consistent.
 */
#include "tests/unit/shm/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/health/phd_rig.h"
#include "shm/fib/fib.h"

#define READERS 2u
#define DEVICES 300u
#define STEADY 60u /* devices below this stay open */
#define KINDS 8u
#define CHANGES TEST_TIMES(120000u)

enum { CLOSED, CHANGING, OPEN };

struct shared {
	struct phd_rig x;
	struct bp_fib fib; /* its control alone: the epochs */
	struct bp_phd_layout *scratch;
	/* the writer's state of each device: version << 2 | CLOSED, CHANGING or OPEN */
	_Atomic uint64_t said[DEVICES];
	_Atomic bool stop;
	_Atomic uint64_t ready, looked, found, shown, wrong;
	uint64_t seed;
};

struct reader {
	struct shared *s;
	unsigned worker;
	pthread_t thread;
};

/* The layouts of device i are KINDS * 2 of its own class, so that another's would show. */
static uint64_t content(uint32_t device, uint32_t kind)
{
	return 1000 + device % 3 * 100 + kind;
}

static bool is_whole(struct shared *s, uint32_t device, uint32_t slot)
{
	const struct bp_phd_session_spec d = phd_device(device);
	struct bp_phd_session *e = &s->x.t->sessions[slot];
	const uint64_t word = atomic_load(&e->word);
	const struct bp_phd_layout *l = bp_phd_layout_of(s->x.t, word);

	if (memcmp(e->system_id, d.system_id, 8) != 0 || e->associated_s != d.associated_s)
		return false;
	if (bp_phd_word_state(word) == BP_PHD_FREE) /* closed just now */
		return true;
	/* as a worker does it */
	if ((bp_phd_word_flags(word) & BP_PHD_READY) != 0) {
		uint64_t old = word;

		atomic_compare_exchange_strong(&e->word, &old,
			(word & ~((uint64_t)BP_PHD_READY << 8)) | (uint64_t)BP_PHD_STALE << 8);
	}
	atomic_fetch_add(&e->stored, 1);
	return l && l->content >= content(device, 0) && l->content < content(device, KINDS) &&
	       phd_layout_is(l, l->content);
}

static void look(struct shared *s, uint32_t device)
{
	const uint64_t before = atomic_load(&s->said[device]);
	const uint32_t slot = phd_slot(&s->x, device);
	const uint64_t after = atomic_load(&s->said[device]);
	bool right = true;

	if (before == after && before % 4 != CHANGING)
		right = (before % 4 == OPEN) == (slot != UINT32_MAX);
	if (slot != UINT32_MAX) {
		atomic_fetch_add(&s->found, 1);
		right = right && is_whole(s, device, slot);
	}
	if (!right)
		atomic_fetch_add(&s->wrong, 1);
	atomic_fetch_add(&s->looked, 1);
}

/* As `show` does it, which is no worker: each copy is consistent. */
static void show(struct shared *s, uint32_t slot)
{
	struct bp_phd_session e;
	struct bp_phd_session_spec d;
	uint32_t device;

	if (!bp_phd_session_read(s->x.t, slot, &e))
		return;
	device = (uint32_t)e.system_id[4] << 24 | (uint32_t)e.system_id[5] << 16 |
		 (uint32_t)e.system_id[6] << 8 | e.system_id[7];
	d = phd_device(device);
	if (device >= DEVICES || memcmp(e.address, d.address, 16) != 0 || e.port != d.port ||
		memcmp(e.system_id, d.system_id, 8) != 0 || e.config_content != d.config_content ||
		e.opened_ns != d.opened_ns)
		atomic_fetch_add(&s->wrong, 1);
	atomic_fetch_add(&s->shown, 1);
}

static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct shared *s = r->s;
	uint64_t known = 0, seed = 77 + r->worker;

	for (uint64_t round = 0; !atomic_load(&s->stop); round++) {
		bp_fib_quiesce(&s->fib, r->worker, &known);
		if (round == 0)
			atomic_fetch_add(&s->ready, 1);
		for (unsigned i = 0; i < 32; i++)
			look(s, test_below(&seed, DEVICES));
		for (unsigned i = 0; i < 8; i++)
			show(s, test_below(&seed, s->x.t->n_slots));
	}
	bp_fib_read_end(&s->fib, r->worker, &known);
	return NULL;
}

static uint16_t layout(struct shared *s, uint32_t device)
{
	int n;

	phd_layout_fill(s->scratch, content(device, test_below(&s->seed, KINDS)), 200);
	n = bp_phd_layout_get(s->x.w, s->scratch);
	while (n < 0) { /* the readers are behind */
		bp_phd_writer_settle(s->x.w);
		n = bp_phd_layout_get(s->x.w, s->scratch);
	}
	return (uint16_t)n;
}

static void open_one(struct shared *s, uint32_t device)
{
	struct bp_phd_session_spec d = phd_device(device);
	uint32_t slot;

	d.layout = layout(s, device);
	while (bp_phd_session_open(s->x.w, &d, &slot) != 0)
		;
}

static void change(struct shared *s, uint32_t device)
{
	const uint64_t said = atomic_load(&s->said[device]);
	const uint64_t version = (said >> 2) + 1;
	const uint32_t slot = phd_slot(&s->x, device);

	if (slot == UINT32_MAX) {
		atomic_store(&s->said[device], version << 2 | CHANGING);
		open_one(s, device);
		atomic_store(&s->said[device], version << 2 | OPEN);
	} else if (device >= STEADY && test_below(&s->seed, 2) == 0) {
		atomic_store(&s->said[device], version << 2 | CHANGING);
		bp_phd_session_close(s->x.w, slot);
		atomic_store(&s->said[device], version << 2 | CLOSED);
	} else if (test_below(&s->seed, 2) == 0) {
		bp_phd_session_flags(s->x.w, slot, BP_PHD_READY, BP_PHD_STALE);
	} else {
		bp_phd_session_word(
			s->x.w, slot, BP_PHD_OPERATING, BP_PHD_READY, layout(s, device));
	}
}

static void test_readers(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct reader reader[READERS];

	assert_non_null(s);
	s->seed = 10404;
	s->scratch = malloc(BP_PHD_LAYOUT_SIZE);
	assert_non_null(s->scratch);
	/* so few slots and layouts that they are reused again and again */
	phd_open(&s->x, 240, 64, READERS);
	s->fib = s->x.epochs;
	for (uint32_t i = 0; i < STEADY; i++)
		change(s, i);
	for (unsigned i = 0; i < READERS; i++) {
		reader[i] = (struct reader){.s = s, .worker = i};
		assert_int_equal(pthread_create(&reader[i].thread, NULL, read_on, &reader[i]), 0);
	}
	while (atomic_load(&s->ready) < READERS)
		;
	/* the last tenth is never opened */
	for (uint32_t i = 0; i < CHANGES; i++)
		change(s, test_below(&s->seed, DEVICES - DEVICES / 10));
	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(reader[i].thread, NULL);
	assert_int_equal(atomic_load(&s->wrong), 0);
	assert_true(atomic_load(&s->looked) > 0 && atomic_load(&s->found) > 0);
	assert_true(atomic_load(&s->shown) > 0);
	assert_int_equal(phd_take_over(&s->x), 0);
	phd_close(&s->x);
	free(s->scratch);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
