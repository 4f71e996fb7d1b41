/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer that is stopped before any of its stores: readers find what was or what will be, of the
 * device that changes, and all others as they are; and the next writer makes the tables exact. */
#include "tests/unit/shm/health/phd_model.h"
#include "shm/health/phd_store.h"

/* Memory of a writer that is stopped during its creation cannot be freed: for LeakSanitizer. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void leaks(bool allowed)
{
	if (__lsan_disable && __lsan_enable)
		(allowed ? __lsan_disable : __lsan_enable)();
}

static jmp_buf stopped;
static uint64_t stores_left = UINT64_MAX;

/* The hook of shm/health/phd_store.h. */
void bp_phd_before_store(void)
{
	if (stores_left == 0) {
		stores_left = UINT64_MAX;
		longjmp(stopped, 1);
	}
	if (stores_left != UINT64_MAX)
		stores_left--;
}

/* Whether it was stopped after this many stores. */
static bool stops(struct phd_model *m, const struct phd_change *c, uint64_t stores)
{
	int done;

	if (setjmp(stopped) != 0)
		return true;
	stores_left = stores;
	done = model_apply(m, c);
	stores_left = UINT64_MAX;
	assert_int_equal(done, 0);
	return false;
}

static struct phd_row row_of(const struct phd_change *c)
{
	return (struct phd_row){
		.open = c->open, .state = c->state, .flags = c->flags, .kind = c->kind};
}

/* Whether the change is visible; the others are unchanged. */
static bool is_new(const struct phd_model *m, const struct phd_change *c)
{
	const struct phd_row new = row_of(c);

	for (uint32_t i = 0; i < m->devices; i++) {
		if (i != c->device)
			assert_true(model_says(m, i, &m->row[i]));
	}
	if (model_says(m, c->device, &m->row[c->device]))
		return false;
	assert_true(model_says(m, c->device, &new));
	return true;
}

static void take_over(struct phd_model *m)
{
	phd_take_over(&m->x);
	assert_int_equal(phd_take_over(&m->x), 0);
}

/* The other way, as the row says it now. */
static struct phd_change back(const struct phd_model *m, uint32_t device)
{
	const struct phd_row *row = &m->row[device];

	return (struct phd_change){device, row->open, row->state, row->flags, row->kind};
}

static unsigned stop_everywhere(struct phd_model *m, const struct phd_change *c)
{
	unsigned times = 0;

	for (uint64_t stores = 0; stops(m, c, stores); stores++, times++) {
		const struct phd_change undo = back(m, c->device);
		bool new = is_new(m, c);

		take_over(m);
		if (new)
			assert_true(is_new(m, c));
		new = is_new(m, c);
		if (new)
			model_note(m, c);
		model_check(m);
		if (new && c->open == undo.open && !c->open)
			continue;
		if (new) {
			assert_int_equal(model_apply(m, &undo), 0);
			model_note(m, &undo);
		}
	}
	model_note(m, c);
	model_check(m);
	return times;
}

static void test_stop(void **state)
{
	struct phd_model m;
	unsigned times = 0, repairs;

	model_open(&m, 48, 40, 2 * MODEL_KINDS);
	for (unsigned i = 0; i < 30; i++) {
		const struct phd_change c = model_any(&m);

		if (model_apply(&m, &c) == 0)
			model_note(&m, &c);
	}
	for (unsigned i = 0; i < 150; i++) {
		const struct phd_change c = model_any(&m);

		if (!c.open && !m.row[c.device].open)
			continue;
		times += stop_everywhere(&m, &c);
	}
	repairs = (unsigned)m.x.t->control->repairs;
	assert_true(times > 3000);
	assert_true(repairs > 100);
	model_close(&m);
}

/* The repair itself is stopped, and the next one continues. */
static void test_stop_repair(void **state)
{
	struct phd_model m;
	static bool stopped_once;

	model_open(&m, 48, 40, 2 * MODEL_KINDS);
	for (unsigned i = 0; i < 200; i++) {
		const struct phd_change c = model_any(&m);

		if (model_apply(&m, &c) == 0)
			model_note(&m, &c);
	}
	for (unsigned stores = 0; stores < 300; stores++) {
		/* tags and counts that are not true; the words are the truth */
		for (unsigned k = 0; k < 6; k++)
			m.x.t->groups[test_below(&m.seed, m.x.t->n_groups)]
				.tags[test_below(&m.seed, 4)] ^= 1ull << test_below(&m.seed, 64);
		bp_phd_writer_free(m.x.w);
		m.x.w = NULL;
		leaks(true);
		if (setjmp(stopped) == 0) {
			stores_left = stores;
			phd_take_over(&m.x);
		} else {
			stopped_once = true;
		}
		leaks(false);
		stores_left = UINT64_MAX;
		take_over(&m);
		model_check(&m);
	}
	assert_true(stopped_once);
	model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_repair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
