/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/generation.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BANK 4096u
#define READERS 3u
#define GENERATIONS TEST_TIMES(4000u)
#define KILLS TEST_TIMES(100u)

/* An image whose size and words follow from its generation. */
struct numbered {
	struct bp_image image;
	uint64_t word[];
};
#define FIXED (sizeof(struct numbered) + sizeof(uint64_t))

struct shared {
	_Atomic uint64_t active, seen[READERS], said;
	_Alignas(64) uint8_t banks[2 * BANK];
};

static struct shared *open_shared(struct bp_generation *g)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(s, MAP_FAILED);
	*g = (struct bp_generation){.active = &s->active,
		.seen = s->seen,
		.readers = READERS,
		.banks = s->banks,
		.bank_size = BANK};
	bp_generation_reset(g);
	return s;
}

static size_t size_of(uint64_t generation)
{
	return FIXED + generation * 8 % (BANK - FIXED);
}

static void publish(const struct bp_generation *g)
{
	const uint64_t next = bp_generation_next(g);
	uint64_t bytes[BANK / 8];
	struct numbered *n = (struct numbered *)(void *)bytes;

	n->image = (struct bp_image){.generation = next >> 1, .size = size_of(next >> 1)};
	for (size_t i = 0; i < (n->image.size - sizeof(*n)) / 8; i++)
		n->word[i] = (next >> 1) + i;
	bp_generation_fill(g, next, n, n->image.size);
	bp_generation_publish(g, next);
}

static bool is_whole(const struct numbered *n, uint64_t active)
{
	if (n->image.generation != active >> 1 || n->image.size != size_of(active >> 1))
		return false;
	for (size_t i = 0; i < (n->image.size - sizeof(*n)) / 8; i++)
		if (n->word[i] != (active >> 1) + i)
			return false;
	return true;
}

/* The image of `active`, in memory of bank_size bytes, so that AddressSanitizer sees any beyond. */
static enum bp_generation_copied copy(
	const struct bp_generation *g, uint64_t active, struct numbered **out)
{
	*out = aligned_alloc(64, g->bank_size);
	assert_non_null(*out);
	return bp_generation_copy(g, active, *out, FIXED);
}

static void copies_are_of_the_generation_asked_for(void **state)
{
	struct bp_generation g;
	struct shared *s = open_shared(&g);
	struct numbered *n;

	(void)state;
	assert_int_equal(copy(&g, 0, &n), BP_GENERATION_COPIED);
	assert_int_equal(n->image.generation, 0);
	assert_int_equal(n->image.size, FIXED);
	free(n);
	for (unsigned i = 1; i <= 5; i++) {
		publish(&g);
		assert_int_equal(bp_generation_active(&g) >> 1, i);
		assert_int_equal(copy(&g, bp_generation_active(&g), &n), BP_GENERATION_COPIED);
		assert_true(is_whole(n, bp_generation_active(&g)));
		free(n);
		assert_int_equal(copy(&g, bp_generation_active(&g) - 1, &n), BP_GENERATION_CHANGED);
		free(n);
	}
	munmap(s, sizeof(*s));
}

static void garbage_is_not_copied(void **state)
{
	static const uint64_t sizes[] = {0, 1, FIXED - 1, FIXED + 1, FIXED + 2, FIXED + 3, BANK + 1,
		BANK + 4, UINT64_MAX, UINT64_MAX / 2, 1ull << 32};
	struct bp_generation g;
	struct shared *s = open_shared(&g);
	struct numbered *n;
	struct bp_image *image;
	uint64_t seed = 7;

	(void)state;
	publish(&g);
	image = bp_generation_bank(&g, s->active);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		image->size = sizes[i];
		assert_int_equal(copy(&g, s->active, &n), BP_GENERATION_DAMAGED);
		free(n);
	}
	/* another one's, or none, under this number */
	image->size = FIXED;
	for (image->generation = 0; image->generation < 3; image->generation += 2) {
		assert_int_equal(copy(&g, s->active, &n), BP_GENERATION_DAMAGED);
		free(n);
	}
	for (unsigned i = 0; i < TEST_TIMES(10000u); i++) {
		enum bp_generation_copied copied;

		s->active = test_random(&seed) >> test_below(&seed, 64);
		for (unsigned k = 0; k < 4; k++)
			((uint64_t *)(void *)s->banks)[k & 1 ? BANK / 8 + k / 2 : k / 2] =
				test_random(&seed) >> test_below(&seed, 64);
		copied = copy(&g, s->active, &n);
		if (copied == BP_GENERATION_COPIED)
			assert_true(n->image.generation == s->active >> 1 &&
				    n->image.size >= FIXED && n->image.size <= BANK);
		free(n);
	}
	munmap(s, sizeof(*s));
}

static void generation_without_readers_is_free(void **state)
{
	struct bp_generation g;
	struct shared *s = open_shared(&g);
	struct bp_generation off = {0};
	uint64_t first;

	(void)state;
	assert_int_equal(bp_generation_pending(&off), -1);
	publish(&g);
	first = bp_generation_enter(&g, 1);
	assert_int_equal(bp_generation_pending(&g), -1);
	publish(&g);
	assert_int_equal(bp_generation_pending(&g), 1);
	assert_true(bp_generation_enter(&g, 1) != first);
	assert_int_equal(bp_generation_pending(&g), -1);
	publish(&g);
	bp_generation_acknowledge(&g, 1, BP_GENERATION_NONE);
	assert_int_equal(bp_generation_pending(&g), -1);
	/* The bank of a killed reader remains in use until the readers restart. */
	bp_generation_enter(&g, 2);
	publish(&g);
	assert_int_equal(bp_generation_pending(&g), 2);
	bp_generation_reset(&g);
	assert_int_equal(bp_generation_pending(&g), -1);
	munmap(s, sizeof(*s));
}

/* The writer's part was made again while readers use what it had published before. */
static void numbers_in_use_are_not_given_again(void **state)
{
	struct bp_generation g;
	struct shared *s = open_shared(&g);

	(void)state;
	bp_generation_acknowledge(&g, 0, 7 << 1 | 1);
	assert_int_equal(bp_generation_next(&g), 8 << 1 | 1);
	/* and where a reader has acknowledged the last number, none is 0 */
	bp_generation_acknowledge(&g, 0, UINT64_MAX - 1);
	assert_int_equal(bp_generation_next(&g), 1 << 1 | 1);
	munmap(s, sizeof(*s));
}

/* ---- while it is written ---- */

struct reader {
	const struct bp_generation *g;
	pthread_t thread;
	unsigned index;
	_Atomic uint64_t whole, torn;
};

static bool is_last(uint64_t active)
{
	return active >> 1 == GENERATIONS;
}

/* Uses the bank in place. */
static void *use_in_place(void *arg)
{
	struct reader *r = arg;
	uint64_t active = 0;

	while (!is_last(active)) {
		active = bp_generation_enter(r->g, r->index);
		if (active != 0 && is_whole(bp_generation_bank(r->g, active), active))
			atomic_fetch_add(&r->whole, 1);
		else if (active != 0)
			atomic_fetch_add(&r->torn, 1);
		/* one of them as workers that are stopped and started, without a pause */
		if (r->index == 1)
			bp_generation_acknowledge(r->g, r->index, BP_GENERATION_NONE);
		else
			sched_yield();
	}
	bp_generation_acknowledge(r->g, r->index, BP_GENERATION_NONE);
	return NULL;
}

/* Copies it, and the writer does not wait for it. */
static void *use_copies(void *arg)
{
	struct reader *r = arg;
	uint64_t active = 0;

	while (!is_last(active)) {
		struct numbered *n;
		enum bp_generation_copied copied;

		active = bp_generation_active(r->g);
		copied = copy(r->g, active, &n);
		if (copied == BP_GENERATION_DAMAGED ||
			(copied == BP_GENERATION_COPIED && active != 0 && !is_whole(n, active)))
			atomic_fetch_add(&r->torn, 1);
		else if (copied == BP_GENERATION_COPIED)
			atomic_fetch_add(&r->whole, 1);
		free(n);
	}
	return NULL;
}

static void readers_see_whole_images(void **state)
{
	struct bp_generation g;
	struct shared *s = open_shared(&g);
	struct reader readers[READERS] = {0};

	(void)state;
	for (unsigned i = 0; i < READERS; i++) {
		readers[i].g = &g;
		readers[i].index = i;
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
					 i == 0 ? use_copies : use_in_place, &readers[i]),
			0);
	}
	for (unsigned i = 0; i < GENERATIONS; i++) {
		while (bp_generation_pending(&g) >= 0)
			sched_yield();
		publish(&g);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(atomic_load(&readers[i].torn), 0);
		assert_true(atomic_load(&readers[i].whole) > 0);
	}
	munmap(s, sizeof(*s));
}

/* ---- two processes ---- */

static void killed_writer_keeps_the_generation(void **state)
{
	struct bp_generation g;
	struct shared *s = open_shared(&g);
	struct numbered *n;
	uint64_t seed = 5;

	(void)state;
	for (unsigned i = 0; i < KILLS; i++) {
		const struct timespec some = {.tv_nsec = 1000 + test_below(&seed, 2000000)};
		const pid_t pid = fork();
		uint64_t said;

		assert_true(pid >= 0);
		if (pid == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (pid == 0) {
			publish(&g);
			atomic_store(&s->said, s->active >> 1);
		}
		nanosleep(&some, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		said = atomic_load(&s->said);
		assert_int_equal(copy(&g, s->active, &n), BP_GENERATION_COPIED);
		assert_true(s->active >> 1 == said || s->active >> 1 == said + 1);
		assert_true(s->active == 0 || is_whole(n, s->active));
		free(n);
	}
	assert_true(atomic_load(&s->said) > KILLS / 10);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_of_the_generation_asked_for),
		cmocka_unit_test(garbage_is_not_copied),
		cmocka_unit_test(generation_without_readers_is_free),
		cmocka_unit_test(numbers_in_use_are_not_given_again),
		cmocka_unit_test(readers_see_whole_images),
		cmocka_unit_test(killed_writer_keeps_the_generation),
	};

	return cmocka_run_group_tests_name("shm generation", tests, NULL, NULL);
}
