/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that sleeps misses no work, and costs a producer no more than one system call a sleep.
 */
#include "tests/unit/dataplane/test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "dataplane/wakeup.h"

#define TURNS 100000u
#define LOST_MS 60000 /* only a lost wakeup takes this long */

struct player {
	struct bp_wakeup wakeup;
	_Atomic uint32_t turn; /* the work: the next number */
	struct player *other;
	bool lost;
};

/* Sleeps until the other player has played its turn. */
static void await_turn(struct player *p, uint32_t turn)
{
	while (atomic_load_explicit(&p->turn, memory_order_relaxed) != turn && !p->lost) {
		struct pollfd fd = {.fd = p->wakeup.fd, .events = POLLIN};
		int n = 0;

		bp_wakeup_prepare(&p->wakeup);
		if (atomic_load_explicit(&p->turn, memory_order_relaxed) != turn) {
			n = poll(&fd, 1, LOST_MS);
			p->lost = n == 0;
		}
		bp_wakeup_finish(&p->wakeup, n > 0);
	}
}

static void *play(void *arg)
{
	struct player *p = arg;

	for (uint32_t i = 1; i <= TURNS && !p->lost; i++) {
		await_turn(p, i);
		atomic_store_explicit(&p->other->turn, i, memory_order_relaxed);
		bp_wakeup_ring(&p->other->wakeup);
	}
	return NULL;
}

static void no_wakeup_is_lost(void **state)
{
	struct player a = {0}, b = {0};
	pthread_t thread;

	a.other = &b;
	b.other = &a;
	assert_int_equal(bp_wakeup_open(&a.wakeup), 0);
	assert_int_equal(bp_wakeup_open(&b.wakeup), 0);
	assert_int_equal(pthread_create(&thread, NULL, play, &b), 0);
	for (uint32_t i = 1; i <= TURNS && !a.lost; i++) {
		atomic_store_explicit(&b.turn, i, memory_order_relaxed);
		bp_wakeup_ring(&b.wakeup);
		await_turn(&a, i);
	}
	assert_false(a.lost);
	pthread_join(thread, NULL);
	assert_false(b.lost);
	bp_wakeup_close(&a.wakeup);
	bp_wakeup_close(&b.wakeup);
}

/* ---- both sides at the same moment ---- */

#define ROUNDS 200000u

static struct {
	struct bp_wakeup wakeup __attribute__((aligned(64)));
	_Atomic uint32_t work __attribute__((aligned(64)));
	_Atomic uint32_t round __attribute__((aligned(64)));
	_Atomic uint32_t ended __attribute__((aligned(64)));
} race;

static void until(const _Atomic uint32_t *word, uint32_t value)
{
	for (unsigned i = 1; atomic_load_explicit(word, memory_order_acquire) != value; i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void *produce(void *arg)
{
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		until(&race.round, i);
		atomic_store_explicit(&race.work, i, memory_order_relaxed);
		bp_wakeup_ring(&race.wakeup);
		atomic_store_explicit(&race.ended, i, memory_order_release);
	}
	return arg;
}

/* Without the fences, a processor may load before its store is visible, on both sides. */
static void sleeper_finds_work_or_is_found(void **state)
{
	unsigned lost = 0;
	pthread_t thread;

	assert_int_equal(bp_wakeup_open(&race.wakeup), 0);
	assert_int_equal(pthread_create(&thread, NULL, produce, NULL), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		bool found;

		atomic_store_explicit(&race.round, i, memory_order_release);
		bp_wakeup_prepare(&race.wakeup);
		found = atomic_load_explicit(&race.work, memory_order_relaxed) == i;
		until(&race.ended, i);
		lost += !found && atomic_load(&race.wakeup.asleep) != 0;
		bp_wakeup_finish(&race.wakeup, true);
	}
	pthread_join(thread, NULL);
	assert_int_equal(lost, 0);
	bp_wakeup_close(&race.wakeup);
}

static uint64_t rings(struct bp_wakeup *w)
{
	uint64_t n = 0;

	return read(w->fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void one_system_call_per_sleep(void **state)
{
	struct bp_wakeup w;

	assert_int_equal(bp_wakeup_open(&w), 0);
	bp_wakeup_ring(&w); /* it is awake */
	assert_int_equal(rings(&w), 0);
	bp_wakeup_prepare(&w);
	bp_wakeup_ring(&w);
	bp_wakeup_ring(&w);
	assert_int_equal(rings(&w), 1);
	bp_wakeup_finish(&w, false);
	bp_wakeup_prepare(&w);
	bp_wakeup_finish(&w, false); /* it found work itself */
	bp_wakeup_ring(&w);
	assert_int_equal(rings(&w), 0);
	bp_wakeup_prepare(&w);
	bp_wakeup_ring(&w);
	bp_wakeup_finish(&w, true);
	assert_int_equal(rings(&w), 0); /* drained */
	bp_wakeup_close(&w);
	assert_int_equal(w.fd, -1);
	bp_wakeup_close(&w);
	bp_wakeup_none(&w);
	bp_wakeup_ring(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wakeup_is_lost),
		cmocka_unit_test(sleeper_finds_work_or_is_found),
		cmocka_unit_test(one_system_call_per_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
