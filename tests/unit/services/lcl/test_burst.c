/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/lcl/scheduler.h"

/*
 * Frames that are put together go where they went one by one, and what is taken together is what
 * is taken one by one: two schedulers get the same frames at the same times, and nothing that can
 * be seen of them differs.
 */
#define FLOWS 5u
#define BURST 80u
#define STEPS 3000u
#define FRAMES 4096u

struct twin {
	struct bp_lcl_scheduler *s;
	uint64_t last_slot[FLOWS];
	unsigned held;
};

static char frames[FRAMES]; /* a frame is its address */
static unsigned met[BP_LCL_PUT_FULL + 1], together;

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	return (uint32_t)((next_random(seed) >> 32) * n >> 32);
}

static struct bp_lcl_arrival random_arrival(
	uint64_t *seed, uint64_t now, unsigned i, unsigned kinds)
{
	static const uint32_t bytes[] = {101, 101, 60, 1518, BP_LCL_BYTES_MAX + 1};
	const int32_t late = draw(seed, 20) == 0;

	return (struct bp_lcl_arrival){.frame = &frames[i % FRAMES],
		.in_ns = now - (draw(seed, 8) == 0 ? draw(seed, 3000) : 0),
		.d = late ? -(int32_t)draw(seed, 1000) : (int32_t)(9000 + draw(seed, 1000 * kinds)),
		.bytes = bytes[draw(seed, 16) != 0 ? 0 : draw(seed, 5)],
		.n = (uint8_t)(1 + draw(seed, 2))};
}

static void put_both(struct twin *a, struct twin *b, uint64_t *seed, uint64_t now, unsigned *next)
{
	struct bp_lcl_arrival all[BURST];
	uint8_t one[BURST], burst[BURST];
	const unsigned n = 1 + draw(seed, BURST), kinds = 1 + draw(seed, 40);

	for (unsigned i = 0; i < n; i++) {
		const unsigned flow = draw(seed, FLOWS + 1);

		all[i] = random_arrival(seed, now, (*next)++, kinds);
		all[i].last_slot = flow < FLOWS ? &a->last_slot[flow] : NULL;
		one[i] = (uint8_t)bp_lcl_put(a->s, now, &all[i]);
		all[i].last_slot = flow < FLOWS ? &b->last_slot[flow] : NULL;
		met[one[i]]++;
		a->held += one[i] != BP_LCL_PUT_FULL;
	}
	bp_lcl_put_burst(b->s, now, all, n, burst);
	assert_memory_equal(burst, one, n);
	assert_memory_equal(a->last_slot, b->last_slot, sizeof(a->last_slot));
}

static void take_both(struct twin *a, struct twin *b, uint64_t now)
{
	struct bp_lcl_departure one, all[FRAMES];
	const unsigned n = bp_lcl_take(b->s, now, all, FRAMES);

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(bp_lcl_take(a->s, now, &one, 1), 1);
		assert_ptr_equal(one.frame, all[i].frame);
		assert_true(one.waited_ns == all[i].waited_ns && one.put == all[i].put);
	}
	assert_int_equal(bp_lcl_take(a->s, now, &one, 1), 0);
	assert_true(bp_lcl_next(a->s, now) == bp_lcl_next(b->s, now));
	assert_memory_equal(
		bp_lcl_measured(a->s), bp_lcl_measured(b->s), sizeof(struct bp_lcl_measured));
	together += n > 1;
	a->held -= n;
	assert_int_equal(bp_lcl_measured(b->s)->held, a->held);
}

static void run(uint64_t seed, uint32_t places)
{
	const struct bp_lcl_scheduler_options o = {.tau_ns = 8000,
		.rate_bps = 10000000000,
		.queues = 4,
		.queue_frames = places,
		.best_effort_frames = 4,
		.best_effort_max = 1518};
	struct twin a = {.s = bp_lcl_scheduler_create(&o)}, b = {.s = bp_lcl_scheduler_create(&o)};
	uint64_t now = 1000000;
	unsigned next = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		now += draw(&seed, draw(&seed, 30) == 0 ? 40000 : 4000);
		put_both(&a, &b, &seed, now, &next);
		now += draw(&seed, 2);
		if (draw(&seed, 3) != 0)
			take_both(&a, &b, now);
	}
	take_both(&a, &b, now + 1000000);
	bp_lcl_scheduler_free(a.s);
	bp_lcl_scheduler_free(b.s);
}

static void bursts_are_as_one_by_one(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		run(seed, seed % 4 == 0 ? 24 : 512);
	for (unsigned i = 0; i <= BP_LCL_PUT_FULL; i++)
		assert_true(met[i] > 100);
	assert_true(together > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(bursts_are_as_one_by_one)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
