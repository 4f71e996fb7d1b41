/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that say nonsense: readers stay inside them, and a writer that takes them over makes them
 * consistent. The memory is of exactly its size: AddressSanitizer sees the rest. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/health/phd_model.h"

static uint64_t rnd;

static void damage(void *table, size_t bytes, unsigned one_in)
{
	uint8_t *b = table;

	for (size_t i = 0; i < bytes; i++) {
		if (test_below(&rnd, one_in) == 0)
			b[i] = test_below(&rnd, 2) != 0 ? (uint8_t)test_random(&rnd)
							: (uint8_t)test_below(&rnd, 4);
	}
}

static void look(const struct phd_model *m)
{
	const struct bp_phd_tables *t = m->x.t;
	struct bp_phd_settings plan;

	bp_phd_settings_read(t, &plan);
	for (uint32_t i = 0; i < m->devices + 200; i++) {
		const uint32_t slot = phd_slot(&m->x, i);
		uint64_t word;
		const struct bp_phd_layout *l;

		assert_true(bp_phd_candidate(t, test_random(&rnd)) < t->n_slots);
		if (slot == UINT32_MAX)
			continue;
		word = t->sessions[slot].word;
		l = bp_phd_layout_of(t, word);
		if (l) {
			assert_true((const uint8_t *)l >= t->layouts);
			assert_true((const uint8_t *)l + BP_PHD_LAYOUT_SIZE <=
				    t->layouts + (size_t)t->max_layouts * BP_PHD_LAYOUT_SIZE);
		}
	}
}

/* The tables must be consistent, with any content. */
static void check_consistent(const struct phd_model *m)
{
	const struct bp_phd_tables *t = m->x.t;
	uint32_t sessions = 0;

	for (uint32_t slot = 0; slot < t->n_slots; slot++) {
		struct bp_phd_session *s = &t->sessions[slot];
		const uint64_t word = s->word;
		uint32_t found;

		if (bp_phd_word_state(word) == BP_PHD_FREE)
			continue;
		sessions++;
		assert_int_equal(
			bp_phd_find(t, bp_phd_hash(t->hash_key, s->address, s->port, s->transport),
				s->address, s->port, s->transport, &found),
			0);
		assert_int_equal(found, slot);
		assert_true(bp_phd_word_state(word) <= BP_PHD_RELEASING);
		assert_true(bp_phd_word_own(word) < t->control->own_n);
		if (bp_phd_word_state(word) == BP_PHD_OPERATING)
			assert_non_null(bp_phd_layout_of(t, word));
	}
	assert_int_equal(t->control->sessions, sessions);
	assert_true(t->control->own_n <= BP_PHD_OWN_MAX);
}

static bool none(const struct bp_phd_layout *l)
{
	return false;
}

static void test_garbage(void **state)
{
	static const unsigned one_in[] = {1, 3, 20, 200, 3000, 50000};

	for (unsigned round = 0; round < 60; round++) {
		struct phd_model m;

		rnd = 1 + round;
		model_open(&m, 300, 200, MODEL_KINDS);
		for (unsigned i = 0; i < 600; i++) {
			const struct phd_change c = model_any(&m);

			if (model_apply(&m, &c) == 0)
				model_note(&m, &c);
		}
		for (unsigned table = 0; table <= BP_PT_LAYOUTS; table++)
			damage(m.x.memory[table], m.x.bytes[table], one_in[round % 6]);
		look(&m);
		phd_take_over(&m.x);
		check_consistent(&m);
		assert_int_equal(phd_take_over(&m.x), 0);
		look(&m);
		/* it can be used: all goes, and others come */
		bp_phd_writer_check(m.x.w, none);
		for (uint32_t slot = 0; slot < m.x.t->n_slots; slot++) {
			if (bp_phd_word_state(m.x.t->sessions[slot].word) != BP_PHD_FREE)
				bp_phd_session_close(m.x.w, slot);
		}
		assert_int_equal(m.x.t->control->sessions, 0);
		assert_int_equal(m.x.t->control->layouts, 0);
		m.open = 0;
		memset(m.row, 0, m.devices * sizeof(*m.row));
		memset(m.lived, 0, m.x.t->n_slots * sizeof(*m.lived));
		m.x.t->control->own_n = 0;
		for (unsigned i = 0; i < 600; i++) {
			const struct phd_change c = model_any(&m);

			if (model_apply(&m, &c) == 0)
				model_note(&m, &c);
		}
		model_check(&m);
		model_close(&m);
	}
}

/* An address that is there twice is there once. */
static void test_doubles(void **state)
{
	struct phd_rig x;
	struct bp_phd_session_spec d = phd_device(1);
	uint32_t slot, other;

	phd_open(&x, 16, 4, 1);
	d.state = BP_PHD_WAITING;
	d.layout = BP_PHD_NO_LAYOUT;
	assert_int_equal(bp_phd_session_open(x.w, &d, &slot), 0);
	other = slot % BP_PHD_WAYS == 0 ? slot + 1 : slot - 1;
	memcpy(&x.t->sessions[other], &x.t->sessions[slot], sizeof(x.t->sessions[0]));
	assert_true(phd_take_over(&x) > 0); /* which gave it its tag first */
	assert_int_equal(x.t->control->sessions, 1);
	assert_int_equal(phd_take_over(&x), 0);
	bp_phd_session_close(x.w, phd_slot(&x, 1));
	assert_int_equal(phd_slot(&x, 1), UINT32_MAX);
	assert_int_equal(x.t->control->sessions, 0);
	assert_int_equal(phd_take_over(&x), 0);
	phd_close(&x);
}

/* Sessions of the layouts that are refused go, the others stay. */
static bool is_even(const struct bp_phd_layout *l)
{
	return l->content % 2 == 0;
}

static void test_check(void **state)
{
	struct phd_model m;
	uint32_t odd = 0;

	model_open(&m, 300, 200, MODEL_KINDS);
	for (unsigned i = 0; i < 900; i++) {
		const struct phd_change c = model_any(&m);

		if (model_apply(&m, &c) == 0)
			model_note(&m, &c);
	}
	for (uint32_t i = 0; i < m.devices; i++) {
		if (!m.row[i].open || m.row[i].kind % 2 == 0)
			continue;
		m.row[i].open = false;
		m.open--;
		odd++;
	}
	assert_true(odd > 10);
	assert_int_equal(phd_take_over(&m.x), 0);
	assert_int_equal(bp_phd_writer_check(m.x.w, is_even), odd);
	model_check(&m);
	model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
