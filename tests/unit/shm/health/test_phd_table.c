/* SPDX-License-Identifier: BSD-3-Clause */
/* The session tables of one thread: full, and against a plain model. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/shm/health/phd_model.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLOW 16
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 16
#endif
#endif
#ifndef SLOW
#define SLOW 1
#endif
#define MANY (1048576u / SLOW)

static int one_layout(struct phd_rig *x)
{
	struct bp_phd_layout *l = malloc(BP_PHD_LAYOUT_SIZE);
	int n;

	assert_non_null(l);
	phd_layout_fill(l, 1, 64);
	n = bp_phd_layout_get(x->w, l);
	free(l);
	return n;
}

/* All that fit: each is found, and none other; a lookup's first guess is nearly always right, so
 * that it reads one session's line. */
static void test_full(void **state)
{
	struct phd_rig x;
	uint32_t guessed = 0, second = 0;
	uint32_t *slot_of = malloc(MANY * sizeof(*slot_of));
	uint8_t *taken;

	phd_open(&x, MANY, 16, 1);
	taken = calloc(x.t->n_slots, 1);
	assert_true(slot_of && taken);
	assert_int_equal(one_layout(&x), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct bp_phd_session_spec s = phd_device(i);

		assert_int_equal(bp_phd_session_open(x.w, &s, &slot_of[i]), 0);
		assert_true(slot_of[i] < x.t->n_slots);
		assert_int_equal(taken[slot_of[i]]++, 0);
	}
	assert_int_equal(x.t->control->refused, 0);
	assert_int_equal(x.t->control->sessions, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct bp_phd_session_spec s = phd_device(i);
		const uint64_t hash = bp_phd_hash(x.t->hash_key, s.address, s.port, s.transport);

		assert_int_equal(phd_slot(&x, i), slot_of[i]);
		assert_memory_equal(x.t->sessions[slot_of[i]].system_id, s.system_id, 8);
		guessed += bp_phd_candidate(x.t, hash) == slot_of[i];
		second += slot_of[i] / BP_PHD_WAYS != bp_phd_group1(x.t, hash);
	}
	assert_true(guessed >= MANY - MANY / 100);
	assert_true(second <= MANY / 5);
	for (uint32_t i = MANY; i < 2 * MANY; i++)
		assert_int_equal(phd_slot(&x, i), UINT32_MAX);
	/* the next writer finds nothing to mend */
	assert_int_equal(phd_take_over(&x), 0);
	assert_int_equal(x.t->control->sessions, MANY);
	for (uint32_t i = 0; i < MANY; i += 2)
		bp_phd_session_close(x.w, slot_of[i]);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(phd_slot(&x, i), i % 2 != 0 ? slot_of[i] : UINT32_MAX);
	assert_int_equal(x.t->control->sessions, MANY / 2);
	free(slot_of);
	free(taken);
	phd_close(&x);
}

/* One more than the capacity is refused and counted, and there is room again after a close. */
static void test_bound(void **state)
{
	struct phd_rig x;
	uint32_t slot, first = UINT32_MAX, n = 0;

	phd_open(&x, 16, 4, 1);
	assert_int_equal(one_layout(&x), 0);
	for (; n < 1000; n++) {
		const struct bp_phd_session_spec s = phd_device(n);

		if (bp_phd_session_open(x.w, &s, &slot) != 0)
			break;
		if (n == 0)
			first = slot;
	}
	assert_in_range(n, 16, x.t->max_sessions);
	assert_int_equal(x.t->control->refused, 1);
	assert_int_equal(phd_slot(&x, n), UINT32_MAX);
	bp_phd_session_close(x.w, first);
	assert_int_equal(phd_slot(&x, 0), UINT32_MAX);
	{
		const struct bp_phd_session_spec s = phd_device(0);

		assert_int_equal(bp_phd_session_open(x.w, &s, &slot), 0);
	}
	phd_close(&x);
}

/* No memory of a session is reused before every worker has passed the epoch. */
static void test_epochs(void **state)
{
	struct phd_rig x;
	uint32_t slot, again, n = 0;
	uint16_t first[1000] = {0}; /* lives: odd */

	phd_open(&x, 16, 4, 1);
	assert_true(x.t->n_slots <= 1000);
	assert_int_equal(one_layout(&x), 0);
	atomic_store(&x.epochs.readers->seen[0], 1);
	/* until nothing is left: each time another slot */
	for (; n < 1000; n++) {
		struct bp_phd_session_spec s = phd_device(n);

		s.layout = BP_PHD_NO_LAYOUT;
		s.state = BP_PHD_WAITING;
		if (bp_phd_session_open(x.w, &s, &slot) != 0)
			break;
		assert_int_equal(first[slot], 0);
		first[slot] = bp_phd_word_life(x.t->sessions[slot].word);
		assert_int_not_equal(first[slot], 0);
		bp_phd_session_close(x.w, slot);
	}
	assert_in_range(n, 1, x.t->n_slots);
	assert_int_equal(x.t->control->sessions, 0);
	/* a writer that takes over does not know better */
	assert_int_equal(phd_take_over(&x), 0);
	{
		struct bp_phd_session_spec s = phd_device(n);

		s.layout = BP_PHD_NO_LAYOUT;
		s.state = BP_PHD_WAITING;
		assert_int_equal(bp_phd_session_open(x.w, &s, &again), -1);
		atomic_store(&x.epochs.readers->seen[0], atomic_load(&x.epochs.control->epoch));
		assert_int_equal(bp_phd_session_open(x.w, &s, &again), 0);
		assert_int_not_equal(first[again], 0);
		assert_int_equal(
			bp_phd_word_life(x.t->sessions[again].word), (uint16_t)(first[again] + 1));
	}
	phd_close(&x);
}

/* How often the place of layout `n` was used. */
static uint32_t life_of(const struct phd_rig *x, int n)
{
	const struct bp_phd_layout *l = bp_phd_layout_of(x->t, (uint64_t)n << 16);

	assert_non_null(l);
	return l != NULL ? l->life : 0;
}

static void test_layouts(void **state)
{
	struct phd_rig x;
	struct bp_phd_layout *l = malloc(BP_PHD_LAYOUT_SIZE);
	uint32_t slot[1000], life[3];
	int n;

	assert_non_null(l);
	phd_open(&x, 1000, 3, 1);
	atomic_store(&x.epochs.readers->seen[0], 1);
	/* a thousand sessions of one configuration: one layout */
	for (uint32_t i = 0; i < 1000; i++) {
		struct bp_phd_session_spec s = phd_device(i);

		phd_layout_fill(l, 7, 1001);
		s.layout = (uint16_t)bp_phd_layout_get(x.w, l);
		assert_int_equal(s.layout, 0);
		assert_int_equal(bp_phd_session_open(x.w, &s, &slot[i]), 0);
	}
	assert_int_equal(x.t->control->layouts, 1);
	assert_int_equal(bp_phd_layout_of(x.t, 0)->users, 1000);
	assert_true(phd_layout_is(bp_phd_layout_of(x.t, 0), 7));
	/* a difference in the last byte alone makes another one */
	l->text[1000]++;
	assert_int_equal(bp_phd_layout_get(x.w, l), 1);
	phd_layout_fill(l, 9, 1);
	assert_int_equal(bp_phd_layout_get(x.w, l), 2);
	for (uint32_t i = 0; i < 3; i++)
		life[i] = life_of(&x, (int)i);
	/* full; unused ones are removed when the workers have passed the epoch */
	phd_layout_fill(l, 10, 1);
	assert_int_equal(bp_phd_layout_get(x.w, l), -1);
	assert_int_equal(x.t->control->layouts, 1);
	atomic_store(&x.epochs.readers->seen[0], atomic_load(&x.epochs.control->epoch));
	n = bp_phd_layout_get(x.w, l);
	assert_in_range(n, 1, 2);
	/* and the holder of a cached copy can detect the reuse */
	assert_int_equal(life_of(&x, 0), life[0]);
	assert_int_not_equal(life_of(&x, n), life[n]);
	assert_int_equal(bp_phd_layout_get(x.w, l), n);
	assert_int_equal(life_of(&x, n), life[n] + 1);
	/* too long, or shorter than it can be */
	phd_layout_fill(l, 11, 1);
	l->size = BP_PHD_LAYOUT_SIZE + 1;
	assert_int_equal(bp_phd_layout_get(x.w, l), -1);
	l->size = sizeof(*l) - 1;
	assert_int_equal(bp_phd_layout_get(x.w, l), -1);
	for (uint32_t i = 0; i < 1000; i++)
		bp_phd_session_close(x.w, slot[i]);
	assert_int_equal(x.t->control->layouts, 1); /* number 10's, which no one took */
	free(l);
	phd_close(&x);
}

static void test_changes(void **state)
{
	struct phd_model m;
	uint32_t refused = 0;

	model_open(&m, 700, 400, MODEL_KINDS);
	for (uint32_t i = 0; i < 200000u / SLOW; i++) {
		const struct phd_change c = model_any(&m);

		if (model_apply(&m, &c) == 0)
			model_note(&m, &c);
		else
			refused++;
		assert_true(model_says(&m, c.device, &m.row[c.device]));
		if (i % 1000 == 0)
			model_check(&m);
		if (i % 5000 == 0) {
			assert_int_equal(phd_take_over(&m.x), 0);
			model_check(&m);
		}
	}
	model_check(&m);
	/* both happened: room, and none */
	assert_true(refused > 0 && m.open > 200);
	model_close(&m);
}

static void test_flags(void **state)
{
	struct phd_rig x;
	struct bp_phd_session_spec s = phd_device(1);
	uint32_t slot;

	phd_open(&x, 16, 4, 1);
	assert_int_equal(one_layout(&x), 0);
	assert_int_equal(bp_phd_session_open(x.w, &s, &slot), 0);
	assert_int_equal(x.t->control->unready, 1);
	bp_phd_session_flags(x.w, slot, BP_PHD_READY, 0);
	assert_int_equal(x.t->control->unready, 0);
	assert_int_equal(bp_phd_word_flags(x.t->sessions[slot].word), BP_PHD_READY);
	/* as a worker does */
	x.t->sessions[slot].word ^= (uint64_t)(BP_PHD_READY | BP_PHD_STALE) << 8;
	bp_phd_session_flags(x.w, slot, 0, BP_PHD_READY);
	assert_int_equal(bp_phd_word_flags(x.t->sessions[slot].word), BP_PHD_STALE);
	assert_int_equal(x.t->control->unready, 1);
	bp_phd_session_flags(x.w, slot, BP_PHD_READY, BP_PHD_STALE);
	assert_int_equal(x.t->control->unready, 0);
	assert_int_equal(bp_phd_word_state(x.t->sessions[slot].word), BP_PHD_OPERATING);
	/* the layout changes alone, and the old one goes with its last user */
	x.t->sessions[slot].word ^= (uint64_t)BP_PHD_STALE << 8;
	{
		struct bp_phd_layout *l = malloc(BP_PHD_LAYOUT_SIZE);
		int n;

		assert_non_null(l);
		phd_layout_fill(l, 2, 9);
		n = bp_phd_layout_get(x.w, l);
		assert_true(n > 0);
		bp_phd_session_layout(x.w, slot, (uint16_t)n);
		free(l);
	}
	assert_int_equal(bp_phd_word_flags(x.t->sessions[slot].word), BP_PHD_READY | BP_PHD_STALE);
	assert_true(phd_layout_is(bp_phd_layout_of(x.t, x.t->sessions[slot].word), 2));
	assert_int_equal(x.t->control->layouts, 1);
	phd_close(&x);
}

/* The copy of `show`. */
static void test_read(void **state)
{
	struct phd_rig x;
	struct bp_phd_session_spec s = phd_device(1);
	struct bp_phd_session copy;
	uint32_t slot;

	phd_open(&x, 16, 4, 1);
	assert_int_equal(one_layout(&x), 0);
	for (slot = 0; slot < x.t->n_slots; slot++)
		assert_false(bp_phd_session_read(x.t, slot, &copy));
	assert_int_equal(bp_phd_session_open(x.w, &s, &slot), 0);
	assert_true(bp_phd_session_read(x.t, slot, &copy));
	assert_memory_equal(&copy, &x.t->sessions[slot], sizeof(copy));
	bp_phd_session_close(x.w, slot);
	assert_false(bp_phd_session_read(x.t, slot, &copy));
	phd_close(&x);
}

static void test_plan(void **state)
{
	struct phd_rig x;
	struct bp_phd_settings plan, got;
	uint64_t generation;

	phd_open(&x, 16, 4, 1);
	assert_int_equal(bp_phd_settings_read(x.t, &got), 0);
	memset(&plan, 0x5a, sizeof(plan));
	bp_phd_settings_publish(x.w, &plan);
	generation = bp_phd_settings_read(x.t, &got);
	assert_int_not_equal(generation, 0);
	assert_memory_equal(&got, &plan, sizeof(plan));
	/* a writer died while it wrote */
	x.t->control->settings_generation++;
	assert_int_equal(bp_phd_settings_read(x.t, &got), 0);
	phd_take_over(&x);
	bp_phd_settings_publish(x.w, &plan);
	assert_true(bp_phd_settings_read(x.t, &got) > generation);
	phd_close(&x);
}

/* Without the section nothing is found and nothing opened. */
static void test_absent(void **state)
{
	struct phd_rig x;
	struct bp_phd_session_spec s = phd_device(1);
	uint32_t slot;

	phd_open(&x, 16, 4, 1);
	x.t->n_slots = x.t->n_groups = x.t->max_sessions = x.t->max_layouts = 0;
	phd_take_over(&x);
	assert_int_equal(phd_slot(&x, 1), UINT32_MAX);
	assert_int_equal(bp_phd_session_open(x.w, &s, &slot), -1);
	assert_null(bp_phd_layout_of(x.t, bp_phd_word(BP_PHD_OPERATING, 0, 0, 0, 0)));
	phd_close(&x);
}

/* A gateway that lost its segment, and whose clock begins again, too: the names of instances are
 * others though the times may be the same. */
static void test_first_lives(void **state)
{
	struct bp_phd_session_spec s = phd_device(1);
	unsigned same = 0;

	(void)state;
	s.layout = BP_PHD_NO_LAYOUT;
	s.state = BP_PHD_WAITING;
	for (uint64_t segment = 0; segment < 64; segment++) {
		static uint16_t last;
		struct phd_rig x;
		uint32_t slot;

		phd_open(&x, 16, 4, 1);
		x.t->hash_key[0] = 0x0123456789abcdefull * (segment + 1);
		assert_int_equal(bp_phd_session_open(x.w, &s, &slot), 0);
		same += last == bp_phd_word_life(x.t->sessions[slot].word);
		last = bp_phd_word_life(x.t->sessions[slot].word);
		phd_close(&x);
	}
	assert_int_equal(same, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_first_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
