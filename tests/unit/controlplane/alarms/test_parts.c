/* SPDX-License-Identifier: BSD-3-Clause */
/* The small parts: id set, in-flight table, lane, alarm log, the data plane's heartbeat. */
#include "tests/unit/controlplane/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controlplane/alarms/alarm_log.h"
#include "controlplane/alarms/id_set.h"
#include "controlplane/alarms/inflight.h"
#include "controlplane/alarms/lane.h"
#include "controlplane/process/peer.h"

/* ---- id set ---- */

/* Against a plain array of flags, with ids that collide and that count up. */
static void id_set_against_a_model(void **state)
{
	enum { IDS = 3000, STEPS = 200000 };
	static bool model[IDS];
	uint64_t seed = 88172645463325252ull;
	struct bp_id_set s = {0};
	size_t count = 0;

	(void)state;
	memset(model, 0, sizeof(model));
	assert_false(bp_id_set_has(&s, 1));
	bp_id_set_remove(&s, 1);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)(test_random(&seed) % IDS);
		uint64_t id = i % 2 == 0 ? i : (uint64_t)i << 40;

		if (test_random(&seed) % 2 == 0) {
			count += !model[i];
			model[i] = true;
			assert_true(bp_id_set_add(&s, id));
		} else {
			count -= model[i];
			model[i] = false;
			bp_id_set_remove(&s, id);
		}
		assert_int_equal(s.count, count);
		assert_true(s.count * 2 <= s.size);
		if (step % 1000 != 0)
			continue;
		for (unsigned k = 0; k < IDS; k++)
			assert_int_equal(
				bp_id_set_has(&s, k % 2 == 0 ? k : (uint64_t)k << 40), model[k]);
	}
	bp_id_set_clear(&s);
	assert_int_equal(s.count, 0);
	assert_false(bp_id_set_has(&s, 2));
	bp_id_set_free(&s);
}

/* ---- in flight ---- */

static void inflight_order_and_totals(void **state)
{
	struct bp_inflight *f = malloc(sizeof(*f));
	struct bp_inflight_slot s;

	(void)state;
	bp_inflight_init(f);
	assert_false(bp_inflight_add(f, 0, BP_INFLIGHT_LIVE, 0, 0, 1));
	assert_true(bp_inflight_add(f, 65535, BP_INFLIGHT_LIVE, 3, 100, 10));
	assert_true(bp_inflight_add(f, 1, BP_INFLIGHT_BACKLOG, 0, 200, 20));
	assert_true(bp_inflight_add(f, 2, BP_INFLIGHT_LIVE, 4, 300, 30));
	assert_false(bp_inflight_add(f, 1, BP_INFLIGHT_LIVE, 0, 9, 9)); /* in use */
	assert_int_equal(f->count, 3);
	assert_int_equal(f->backlog, 1);
	assert_int_equal(f->bytes, 60);
	assert_int_equal(f->oldest, 65535);
	bp_inflight_to_backlog(f, 2, 301);
	assert_int_equal(f->backlog, 2);
	/* Out of the middle. */
	s = bp_inflight_take(f, 1);
	assert_int_equal(s.kind, BP_INFLIGHT_BACKLOG);
	assert_int_equal(s.ref, 200);
	assert_int_equal(f->slot[65535].newer, 2);
	assert_int_equal(f->slot[2].older, 65535);
	assert_int_equal(bp_inflight_take(f, 1).kind, BP_INFLIGHT_FREE); /* a second PUBACK */
	s = bp_inflight_take(f, 65535);
	assert_int_equal(s.lane, 3);
	assert_int_equal(f->oldest, 2);
	assert_int_equal(bp_inflight_take(f, 2).ref, 301);
	assert_int_equal(f->oldest, 0);
	assert_int_equal(f->newest, 0);
	assert_int_equal(f->count + f->backlog + f->bytes, 0);
	free(f);
}

/* Only what was added since the last time. */
static void inflight_written_times(void **state)
{
	struct bp_inflight *f = malloc(sizeof(*f));

	(void)state;
	bp_inflight_init(f);
	bp_inflight_written(f, 5);
	assert_true(bp_inflight_add(f, 7, BP_INFLIGHT_LIVE, 0, 0, 1));
	assert_true(bp_inflight_add(f, 9, BP_INFLIGHT_BACKLOG, 0, 0, 1));
	assert_int_equal(f->slot[7].written_ns, 0);
	bp_inflight_written(f, 10);
	assert_true(bp_inflight_add(f, 8, BP_INFLIGHT_LIVE, 0, 0, 1));
	bp_inflight_written(f, 20);
	bp_inflight_written(f, 30);
	assert_int_equal(bp_inflight_take(f, 7).written_ns, 10);
	assert_int_equal(bp_inflight_take(f, 9).written_ns, 10);
	assert_int_equal(bp_inflight_take(f, 8).written_ns, 20);
	assert_true(bp_inflight_add(f, 8, BP_INFLIGHT_LIVE, 0, 0, 1));
	assert_int_equal(f->slot[8].written_ns, 0);
	free(f);
}

/* A round trip of four times the shortest one is the time in queues: a quarter is enough. */
static void inflight_window_follows_the_round_trip(void **state)
{
	struct bp_inflight *f = malloc(sizeof(*f));

	(void)state;
	bp_inflight_init(f);
	assert_int_equal(bp_inflight_window(f, 2000), 2000); /* unknown */
	bp_inflight_acked(f, 1000, 1100);
	bp_inflight_acked(f, 0, 9000); /* not written yet: no round trip */
	assert_int_equal(bp_inflight_window(f, 2000), 2000);
	bp_inflight_acked(f, 1000, 1403);
	assert_int_equal(bp_inflight_window(f, 2000), 2000);
	bp_inflight_acked(f, 1000, 1404);
	assert_int_equal(bp_inflight_window(f, 2000), 500);
	assert_int_equal(bp_inflight_window(f, 1000), BP_INFLIGHT_WINDOW_NEAR);
	assert_int_equal(bp_inflight_window(f, 100), 100);
	bp_inflight_acked(f, 1000, 1200);
	assert_int_equal(bp_inflight_window(f, 2000), 2000);
	/* Another connection may be longer. */
	bp_inflight_acked(f, 1000, 5000);
	bp_inflight_connected(f);
	bp_inflight_acked(f, 1000, 5000);
	assert_int_equal(bp_inflight_window(f, 2000), 2000);
	free(f);
}

/* ---- lane ---- */

/* A ring with its memory behind it. */
struct whole_ring {
	struct bp_ring ring;
	struct bp_ring_tail tail;
	struct bp_ring_data data;
};

static struct bp_ring *ring_make(uint64_t capacity)
{
	struct whole_ring *w = aligned_alloc(64, sizeof(*w) + capacity);

	assert_non_null(w);
	memset(w, 0, sizeof(*w) + capacity);
	bp_ring_attach(&w->ring, &w->data, &w->tail, capacity);
	return &w->ring;
}

static void ring_fill(struct bp_ring *r, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++) {
		struct bp_alarm *a = test_alarm_number(id, "x", 0);

		assert_true(test_ring_put(r, a));
		free(a);
	}
}

/* Sends the next record with that message id; returns the entry's number. */
static uint64_t lane_send(struct bp_lane *l, uint16_t mid)
{
	const struct bp_alarm *a;
	uint64_t cursor = l->cursor;

	assert_true(bp_lane_read(l, &cursor, &a));
	assert_non_null(a);
	return bp_lane_push_sent(l, cursor, mid);
}

/* The tail moves over what is done, in order, and over nothing else. */
static void lane_releases_in_order(void **state)
{
	struct bp_ring *r = ring_make(1 << 14);
	struct bp_lane l, again;
	const struct bp_alarm *a;
	uint64_t n[4], tail = bp_ring_tail(r), cursor;

	(void)state;
	ring_fill(r, 1, 5);
	assert_true(bp_lane_open(&l, r, 16));
	for (unsigned i = 0; i < 4; i++)
		n[i] = lane_send(&l, (uint16_t)(i + 1));
	assert_int_equal(l.sent, 4);
	bp_lane_set_done(&l, bp_lane_entry(&l, n[1]));
	bp_lane_set_done(&l, bp_lane_entry(&l, n[3]));
	bp_lane_release(&l);
	assert_int_equal(bp_ring_tail(r), tail); /* the first is not safe yet */
	bp_lane_set_pending(&l, bp_lane_entry(&l, n[0]));
	bp_lane_set_pending(&l, bp_lane_entry(&l, n[2]));
	bp_lane_release(&l);
	assert_int_equal(bp_ring_tail(r), tail);
	assert_int_equal(l.sent, 0);
	assert_int_equal(l.pending, 2);
	assert_int_equal(bp_lane_record(&l, bp_lane_entry(&l, n[2]))->id, 3);
	bp_lane_set_sent(&l, bp_lane_entry(&l, n[0]), 9);
	bp_lane_set_done(&l, bp_lane_entry(&l, n[0]));
	bp_lane_release(&l);
	/* A restarted reader sees the third, which is not safe, and all behind it. */
	assert_true(bp_lane_open(&again, r, 16));
	cursor = again.cursor;
	assert_true(bp_lane_read(&again, &cursor, &a));
	assert_int_equal(a->id, 3);
	bp_lane_close(&again);
	bp_lane_set_done(&l, bp_lane_entry(&l, n[2]));
	bp_lane_release(&l);
	assert_true(bp_lane_unread(&l) > 0);
	assert_int_equal(bp_lane_unread(&l), bp_lane_used(&l));
	bp_lane_close(&l);
	free(r);
}

static void lane_is_bounded(void **state)
{
	struct bp_ring *r = ring_make(1 << 14);
	struct bp_lane l;
	const struct bp_alarm *a;
	uint64_t cursor;

	(void)state;
	ring_fill(r, 1, 40);
	assert_true(bp_lane_open(&l, r, 16));
	for (unsigned i = 0; i < 16; i++)
		lane_send(&l, (uint16_t)(i + 1));
	assert_true(bp_lane_full(&l));
	cursor = l.cursor;
	assert_true(bp_lane_read(&l, &cursor, &a));
	assert_false(bp_lane_push_done(&l, cursor, 0, 0)); /* no entry left for it */
	bp_lane_set_done(&l, bp_lane_entry(&l, l.next - 1));
	assert_true(bp_lane_push_done(&l, cursor, 0, 0)); /* joins the last one */
	while (bp_lane_read(&l, &cursor, &a))
		assert_true(bp_lane_push_done(&l, cursor, 0, 0));
	assert_int_equal(bp_lane_unread(&l), 0);
	for (unsigned i = 0; i < 15; i++)
		bp_lane_set_done(&l, bp_lane_entry(&l, i));
	bp_lane_release(&l);
	assert_int_equal(bp_lane_used(&l), 0);
	bp_lane_close(&l);
	free(r);
}

static void push_next(struct bp_lane *l, uint64_t first_id, uint64_t last_id)
{
	const struct bp_alarm *a;
	uint64_t cursor = l->cursor;

	assert_true(bp_lane_read(l, &cursor, &a));
	assert_true(bp_lane_push_done(l, cursor, first_id, last_id));
}

/* An entry that stays because of its last id keeps its first one. */
static void lane_keeps_ids(void **state)
{
	struct bp_ring *r = ring_make(1 << 14);
	struct bp_lane l;

	(void)state;
	ring_fill(r, 1, 5);
	assert_true(bp_lane_open(&l, r, 16));
	push_next(&l, 0, 0);
	push_next(&l, 2, 3); /* joins the one without an id */
	push_next(&l, 4, 4); /* does not join one with an id */
	push_next(&l, 0, 0);
	assert_int_equal(l.next - l.first, 2);
	assert_int_equal(bp_lane_oldest_after(&l, 3), 2);
	assert_int_equal(bp_lane_oldest_after(&l, 4), 4);
	assert_int_equal(bp_lane_oldest_after(&l, UINT64_MAX), 5); /* it is not read */
	bp_lane_release_below(&l, 3);
	assert_int_equal(l.next - l.first, 2);
	bp_lane_release_below(&l, 4);
	assert_int_equal(l.next - l.first, 1);
	push_next(&l, 0, 0);
	assert_int_equal(bp_lane_oldest_after(&l, UINT64_MAX), UINT64_MAX);
	bp_lane_close(&l);
	free(r);
}

/* The data plane process is compromised: it changes a record after the check. */
static void lane_copies_a_record(void **state)
{
	struct bp_ring *r = ring_make(1 << 14);
	uint64_t tail = bp_ring_tail(r), cursor = tail;
	struct bp_lane l;
	const struct bp_alarm *a;
	struct bp_alarm *shared;
	uint32_t size;

	(void)state;
	ring_fill(r, 1, 2);
	assert_true(bp_lane_open(&l, r, 16));
	shared = (struct bp_alarm *)(uintptr_t)bp_ring_peek(r, &cursor, &size);
	assert_true(bp_lane_read(&l, &tail, &a));
	assert_non_null(a);
	shared->topic_len = UINT16_MAX;
	assert_true(bp_alarm_valid(a, size));
	/* also for the next reader of the same record */
	bp_lane_push_pending(&l, tail);
	a = bp_lane_record(&l, bp_lane_entry(&l, 0));
	assert_true(bp_alarm_valid(a, size));
	/* and if it was changed before it is read, it is damaged */
	assert_true(bp_lane_read(&l, &tail, &a));
	assert_int_equal(a->id, 2);
	assert_null(bp_lane_record(&l, bp_lane_entry(&l, 0)));
	bp_lane_close(&l);
	free(r);
}

/* ---- alarm log ---- */

static struct bp_alarm_log *log_make(void)
{
	return calloc(BP_ALARM_LOG_LEN, sizeof(struct bp_alarm_log));
}

static void log_fill(struct bp_alarm_log_writer *w, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++) {
		struct bp_alarm *a = test_alarm_number(id, "x", 0);

		bp_alarm_log_add(w, a, NULL);
		free(a);
	}
}

static void log_keeps_the_newest(void **state)
{
	struct bp_alarm_log *log = log_make(), *out = log_make();
	struct bp_alarm_log_writer w;

	(void)state;
	bp_alarm_log_open(&w, log);
	assert_int_equal(bp_alarm_log_read(log, out, 10), 0);
	log_fill(&w, 1, 3);
	assert_int_equal(bp_alarm_log_read(log, out, 10), 3);
	assert_int_equal(out[0].id, 1);
	log_fill(&w, 4, BP_ALARM_LOG_LEN + 500);
	assert_int_equal(bp_alarm_log_read(log, out, BP_ALARM_LOG_LEN), BP_ALARM_LOG_LEN);
	for (unsigned i = 0; i < BP_ALARM_LOG_LEN; i++)
		assert_int_equal(out[i].id, 501 + i);
	/* A restarted writer continues behind the newest. */
	bp_alarm_log_open(&w, log);
	log_fill(&w, BP_ALARM_LOG_LEN + 501, BP_ALARM_LOG_LEN + 501);
	assert_int_equal(bp_alarm_log_read(log, out, 2), 2);
	assert_int_equal(out[0].id, BP_ALARM_LOG_LEN + 500);
	assert_int_equal(out[1].id, BP_ALARM_LOG_LEN + 501);
	free(log);
	free(out);
}

/* An incomplete entry of a killed writer is skipped and not overwritten. */
static void log_torn_entry(void **state)
{
	struct bp_alarm_log *log = log_make(), *out = log_make();
	struct bp_alarm_log_writer w;

	(void)state;
	bp_alarm_log_open(&w, log);
	log_fill(&w, 1, 5);
	atomic_store(&log[5].seq, 2 * 5 + 1);
	assert_int_equal(bp_alarm_log_read(log, out, 10), 5);
	bp_alarm_log_open(&w, log);
	log_fill(&w, 7, 7);
	assert_int_equal(bp_alarm_log_read(log, out, 10), 6);
	assert_int_equal(out[5].id, 7);
	assert_int_equal(atomic_load(&out[5].seq) / 2, 7); /* position 6 */
	/* A number that cannot be in that slot is damage. */
	atomic_store(&log[9].seq, UINT64_MAX - 1);
	assert_int_equal(bp_alarm_log_read(log, out, 10), 6);
	bp_alarm_log_open(&w, log);
	assert_int_equal(w.next, 7);
	free(log);
	free(out);
}

static void log_cuts_strings(void **state)
{
	struct bp_alarm_log *log = log_make(), *out = log_make();
	struct bp_alarm_log_writer w;
	struct test_alarm t = {.id = 1, .state = BP_ALARM_RAISED};
	char text[400], rule[BP_RULE_NAME_MAX + 1], euro[80];
	struct bp_alarm *a;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[399] = '\0';
	t.topic = t.to = text;
	memset(rule, 'r', BP_RULE_NAME_MAX);
	rule[BP_RULE_NAME_MAX] = '\0';
	t.rule = rule;
	memset(euro, 'c', 62);
	memcpy(euro + 62, "\xe2\x82\xac!", 5); /* its last byte would be the 65th */
	t.client_id = euro;
	a = test_alarm_make(&t);
	bp_alarm_log_open(&w, log);
	bp_alarm_log_add(&w, a, NULL);
	assert_int_equal(bp_alarm_log_read(log, out, 1), 1);
	assert_int_equal(strlen(out[0].topic), 159);
	assert_int_equal(strlen(out[0].to), 159);
	assert_int_equal(strlen(out[0].rule), BP_RULE_NAME_MAX);
	assert_int_equal(strlen(out[0].client_id), 62); /* no half character */
	free(a);
	free(log);
	free(out);
}

/* ---- peer ---- */

static void dataplane_life(void **state)
{
	struct bp_shm_global *g = calloc(1, sizeof(*g));
	uint64_t now = (uint64_t)time(NULL) * 1000000000u;
	pid_t child;
	siginfo_t info;

	(void)state;
	assert_false(bp_dataplane_alive(g));
	atomic_store(&g->dp_pid, UINT64_MAX);
	assert_false(bp_dataplane_alive(g));
	atomic_store(&g->dp_pid, (uint64_t)getpid());
	assert_true(bp_dataplane_alive(g)); /* no heartbeat yet */
	atomic_store(&g->dp_heartbeat_ns, now);
	assert_true(bp_dataplane_alive(g));
	/* A stale heartbeat of a process that lived then (init): stopped, but there. */
	atomic_store(&g->dp_pid, 1);
	atomic_store(&g->dp_heartbeat_ns, now - 11000000000ull);
	assert_true(bp_dataplane_alive(g));
	atomic_store(&g->dp_pid, (uint64_t)getpid());
	/* This process started long after that heartbeat: the pid now belongs to another process.
	 */
	atomic_store(&g->dp_heartbeat_ns, 1000000000ull);
	assert_false(bp_dataplane_alive(g));
	child = fork();
	if (child == 0)
		_exit(0);
	atomic_store(&g->dp_pid, (uint64_t)child);
	atomic_store(&g->dp_heartbeat_ns, now);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_false(bp_dataplane_alive(g)); /* a zombie */
	waitpid(child, NULL, 0);
	assert_false(bp_dataplane_alive(g));
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_set_against_a_model),
		cmocka_unit_test(inflight_order_and_totals),
		cmocka_unit_test(inflight_written_times),
		cmocka_unit_test(inflight_window_follows_the_round_trip),
		cmocka_unit_test(lane_releases_in_order),
		cmocka_unit_test(lane_is_bounded),
		cmocka_unit_test(lane_keeps_ids),
		cmocka_unit_test(lane_copies_a_record),
		cmocka_unit_test(log_keeps_the_newest),
		cmocka_unit_test(log_torn_entry),
		cmocka_unit_test(log_cuts_strings),
		cmocka_unit_test(dataplane_life),
	};

	return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
