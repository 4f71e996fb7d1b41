/* SPDX-License-Identifier: BSD-3-Clause */
#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/process/ring_events.h"
#include "shm/doorbell.h"
#include "../test.h"

#define CAPACITY 4096u
#define RECORDS 20000u
#define WAIT_S 30

struct rig {
	char dir[64];
	struct event_base *base;
	struct bp_ring_events *events;
	_Atomic uint64_t sleeps;
	struct bp_doorbell bell;
	struct bp_ring writer, ring; /* of this process and of the reader */
	struct bp_ring_tail tail;
	struct bp_ring_data *data;
	unsigned calls, records, wanted, other;
	uint64_t cursor;
	bool leaves; /* the reader leaves the records in the ring */
};

static void on_records(void *arg)
{
	struct rig *r = arg;
	uint32_t size;

	r->calls++;
	if (r->leaves)
		return;
	for (; bp_ring_peek(&r->ring, &r->cursor, &size) != NULL; r->records++)
		bp_ring_release(&r->ring, r->cursor);
	if (r->records >= r->wanted)
		event_base_loopbreak(r->base);
}

static void create_bell(struct rig *r)
{
	char err[256] = "";

	if (r->bell.fd >= 0)
		close(r->bell.fd);
	r->bell.fd = bp_doorbell_create(r->dir, "x", err, sizeof(err));
	if (r->bell.fd < 0)
		fail_msg("%s", err);
}

static void remove_bell(const struct rig *r)
{
	char path[128];

	assert_int_equal(bp_doorbell_path(r->dir, "x", path, sizeof(path)), 0);
	unlink(path);
}

static void rig_init(struct rig *r, bool bell)
{
	char *dir;

	memset(r, 0, sizeof(*r));
	test_dir_make(r->dir, sizeof(r->dir));
	r->data = aligned_alloc(64, sizeof(*r->data) + CAPACITY);
	assert_non_null(r->data);
	memset(r->data, 0, sizeof(*r->data) + CAPACITY);
	bp_ring_attach(&r->writer, r->data, &r->tail, CAPACITY);
	bp_ring_attach(&r->ring, r->data, &r->tail, CAPACITY);
	r->bell.fd = -1;
	r->bell.sleeps = &r->sleeps;
	bp_doorbell_watch(&r->bell, &r->writer);
	if (bell)
		create_bell(r);
	r->base = event_base_new();
	dir = strdup(r->dir);
	assert_non_null(dir);
	r->events = bp_ring_events_new(r->base, &r->sleeps, dir, "x");
	assert_non_null(r->events);
	memset(dir, '-', strlen(dir)); /* as at a reload, which frees the configuration */
	free(dir);
	assert_true(bp_ring_events_add(r->events, &r->ring, 1, on_records, r));
}

static void rig_free(struct rig *r)
{
	bp_ring_events_free(r->events);
	assert_int_equal(r->sleeps & 1, 0); /* no worker rings for a reader that is gone */
	event_base_free(r->base);
	if (r->bell.fd >= 0)
		close(r->bell.fd);
	free(r->data);
	test_dir_remove(r->dir);
}

static bool put(struct rig *r)
{
	uint64_t mark;

	if (bp_ring_reserve(&r->writer, 8, &mark) == NULL)
		return false;
	bp_ring_commit(&r->writer, mark);
	bp_doorbell_check(&r->bell);
	return true;
}

static void run(struct rig *r)
{
	const struct timeval most = {WAIT_S, 0};

	event_base_loopexit(r->base, &most);
	event_base_dispatch(r->base);
}

/* Runs the loop until it has handled what is there. */
static void settle(struct rig *r)
{
	for (unsigned i = 0; i < 4; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK);
}

static void *write_records(void *arg)
{
	struct rig *r = arg;

	for (unsigned i = 0; i < RECORDS; i++) {
		while (!put(r))
			sched_yield();
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void records_of_another_thread_arrive(bool bell)
{
	struct rig r;
	pthread_t writer;

	rig_init(&r, bell);
	r.wanted = RECORDS;
	assert_int_equal(pthread_create(&writer, NULL, write_records, &r), 0);
	run(&r);
	pthread_join(writer, NULL);
	assert_int_equal(r.records, RECORDS);
	rig_free(&r);
}

static void records_arrive_by_doorbell(void **state)
{
	records_of_another_thread_arrive(true);
}

static void records_arrive_by_timer(void **state)
{
	records_of_another_thread_arrive(false);
}

static void the_loop_sleeps_between_records(void **state)
{
	struct rig r;

	rig_init(&r, true);
	settle(&r);
	assert_int_equal(r.sleeps & 1, 1);
	for (unsigned i = 0; i < 10; i++) {
		put(&r);
		put(&r);
		settle(&r);
		assert_int_equal(r.records, 2 * (i + 1));
		assert_int_equal(r.calls, i + 1); /* a burst is one call */
		assert_int_equal(r.sleeps & 1, 1);
	}
	rig_free(&r);
}

static void unread_records_cause_no_second_wakeup(void **state)
{
	struct rig r;

	rig_init(&r, true);
	r.leaves = true;
	put(&r);
	settle(&r);
	assert_int_equal(r.calls, 1);
	put(&r);
	settle(&r);
	assert_int_equal(r.calls, 2);
	assert_int_equal(r.sleeps & 1, 1);
	rig_free(&r);
}

static void records_from_before_the_start_are_read(void **state)
{
	struct rig r;
	struct bp_ring_events *second;

	rig_init(&r, true);
	r.leaves = true;
	put(&r);
	settle(&r);
	second = bp_ring_events_new(r.base, &r.sleeps, r.dir, "x");
	assert_non_null(second);
	r.leaves = false;
	r.wanted = UINT32_MAX;
	assert_true(bp_ring_events_add(second, &r.ring, 1, on_records, &r));
	settle(&r);
	assert_int_equal(r.records, 1);
	bp_ring_events_free(second);
	rig_free(&r);
}

static void busy_loop_never_sleeps(void **state)
{
	struct rig r;
	pthread_t writer;

	(void)state;
	rig_init(&r, true);
	settle(&r);
	assert_int_equal(r.sleeps & 1, 1);
	bp_ring_events_busy(r.events);
	assert_int_equal(r.sleeps & 1, 0);
	r.wanted = RECORDS;
	assert_int_equal(pthread_create(&writer, NULL, write_records, &r), 0);
	run(&r);
	pthread_join(writer, NULL);
	assert_int_equal(r.records, RECORDS);
	assert_int_equal(r.sleeps & 1, 0);
	rig_free(&r);
}

static void count_call(evutil_socket_t fd, short what, void *arg)
{
	struct rig *r = arg;
	char byte;

	(void)what;
	if (fd >= 0)
		assert_int_equal(read(fd, &byte, 1), 1);
	if (++r->other == 2)
		event_base_loopbreak(r->base);
}

static void busy_loop_handles_other_events(void **state)
{
	static const struct timeval soon = {0, 1000};
	struct event *timer, *input;
	struct rig r;
	int fds[2];

	(void)state;
	rig_init(&r, false);
	bp_ring_events_busy(r.events);
	assert_int_equal(pipe(fds), 0);
	timer = evtimer_new(r.base, count_call, &r);
	input = event_new(r.base, fds[0], EV_READ, count_call, &r);
	evtimer_add(timer, &soon);
	event_add(input, NULL);
	assert_int_equal(write(fds[1], "x", 1), 1);
	run(&r);
	assert_int_equal(r.other, 2);
	event_free(timer);
	event_free(input);
	close(fds[0]);
	close(fds[1]);
	rig_free(&r);
}

/* A data plane that starts later, and one whose pipe was removed. */
static void a_doorbell_that_appears_later_is_used(void **state)
{
	struct rig r;

	rig_init(&r, false);
	for (unsigned i = 0; i < 2; i++) {
		create_bell(&r);
		for (unsigned n = 0; (r.sleeps & 1) == 0; n++) {
			assert_true(n < 3000);
			usleep(10000);
			settle(&r);
		}
		r.wanted = r.records + 1;
		put(&r);
		run(&r);
		assert_int_equal(r.records, r.wanted);
		remove_bell(&r);
		for (unsigned n = 0; (r.sleeps & 1) == 1; n++) { /* by timer again */
			assert_true(n < 3000);
			usleep(10000);
			settle(&r);
		}
		r.wanted = r.records + 1;
		put(&r);
		run(&r);
		assert_int_equal(r.records, r.wanted);
	}
	rig_free(&r);
}

/* Meanwhile the pipe has no writer, which is an event of its own. */
static void the_data_plane_restarts(void **state)
{
	struct rig r;

	rig_init(&r, true);
	settle(&r);
	for (unsigned i = 0; i < 3; i++) {
		close(r.bell.fd);
		r.bell.fd = -1;
		settle(&r);
		assert_int_equal(event_base_loop(r.base, EVLOOP_NONBLOCK | EVLOOP_ONCE), 0);
		assert_int_equal(r.sleeps & 1, 1);
		create_bell(&r);
		put(&r);
		settle(&r);
		assert_int_equal(r.records, i + 1);
	}
	rig_free(&r);
}

/* The word in the segment says awake although the loop sleeps: the next second ends that. */
static void an_overwritten_word_delays_no_longer_than_a_second(void **state)
{
	struct rig r;

	rig_init(&r, true);
	settle(&r);
	r.sleeps = 0;
	r.wanted = 1;
	put(&r);
	run(&r);
	assert_int_equal(r.records, 1);
	rig_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_arrive_by_doorbell),
		cmocka_unit_test(records_arrive_by_timer),
		cmocka_unit_test(the_loop_sleeps_between_records),
		cmocka_unit_test(busy_loop_never_sleeps),
		cmocka_unit_test(busy_loop_handles_other_events),
		cmocka_unit_test(unread_records_cause_no_second_wakeup),
		cmocka_unit_test(records_from_before_the_start_are_read),
		cmocka_unit_test(a_doorbell_that_appears_later_is_used),
		cmocka_unit_test(the_data_plane_restarts),
		cmocka_unit_test(an_overwritten_word_delays_no_longer_than_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
