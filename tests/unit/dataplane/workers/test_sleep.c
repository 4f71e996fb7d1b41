/* SPDX-License-Identifier: BSD-3-Clause */
/* When a worker sleeps, for how long, and what wakes it. ppoll() is replaced: no test waits. */
#include "config/config.h"
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

#include <string.h>

#include "dataplane/workers/sleep.h"

#define WIRE                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"
#define US 1000ull
#define MS 1000000ull

/* ---- the policy ---- */

static void arrivals(struct bp_sleep_policy *p, unsigned n, uint64_t gap_ns)
{
	while (n-- > 0)
		bp_sleep_policy_arrival(p, p->rx_frames + 1, p->last_ns + gap_ns);
}

static void sleeps_soon_without_dense_traffic(void **state)
{
	struct bp_sleep_policy p = {0};

	arrivals(&p, 10, 100 * US);
	assert_false(bp_sleep_policy_due(&p, BP_IDLE_WALKS - 1, p.last_ns + MS));
	assert_true(bp_sleep_policy_due(&p, BP_IDLE_WALKS, p.last_ns));
}

static void waits_for_dense_traffic(void **state)
{
	struct bp_sleep_policy p = {0};

	arrivals(&p, 20, 10 * US);
	assert_false(bp_sleep_policy_due(&p, 100, p.last_ns + 19 * US));
	assert_true(bp_sleep_policy_due(&p, 100, p.last_ns + 21 * US));
	arrivals(&p, 20, 40 * US);
	assert_false(bp_sleep_policy_due(&p, 1000, p.last_ns + 49 * US));
	assert_true(bp_sleep_policy_due(&p, 1000, p.last_ns + 50 * US));
	/* a pause of any length is forgotten after a few frames */
	arrivals(&p, 1, 3600 * 1000 * MS);
	assert_true(bp_sleep_policy_due(&p, BP_IDLE_WALKS, p.last_ns));
	arrivals(&p, 8, 10 * US);
	assert_false(bp_sleep_policy_due(&p, BP_IDLE_WALKS, p.last_ns));
}

static void timeout_ends_before_the_deadline(void **state)
{
	assert_int_equal(bp_sleep_policy_timeout(MS, UINT64_MAX), BP_SLEEP_MAX_NS);
	assert_int_equal(bp_sleep_policy_timeout(MS, 1000 * MS), BP_SLEEP_MAX_NS);
	assert_int_equal(bp_sleep_policy_timeout(MS, 3 * MS), 2 * MS - BP_WAKE_NS);
	assert_int_equal(bp_sleep_policy_timeout(MS, MS + BP_WAKE_NS), 0);
	assert_int_equal(bp_sleep_policy_timeout(MS, MS), 0);
	assert_int_equal(bp_sleep_policy_timeout(MS, 0), 0);
}

static void naps_grow_until_frames_arrive(void **state)
{
	struct bp_sleep_policy p = {0};

	assert_int_equal(bp_sleep_policy_nap(&p), BP_NAP_MIN_NS);
	assert_int_equal(bp_sleep_policy_nap(&p), 2 * BP_NAP_MIN_NS);
	for (unsigned i = 0; i < 10; i++)
		bp_sleep_policy_nap(&p);
	assert_int_equal(bp_sleep_policy_nap(&p), BP_NAP_MAX_NS);
	arrivals(&p, 1, MS);
	assert_int_equal(bp_sleep_policy_nap(&p), BP_NAP_MIN_NS);
}

/* ---- the sleep of a worker ---- */

static struct bp_clock clock_;

static struct {
	struct rig r;
	struct bp_sleep *sleep;
	unsigned sleeps, until; /* calls of ppoll(), and the last one */
	uint64_t timeout_ns;    /* of the last call */
	nfds_t n;
	uint64_t lasts_ns; /* duration of each sleep */
	bool frame;        /* a frame arrives during each sleep */
	bool readable;     /* the second descriptor, in each sleep */
	bool rung;         /* the worker was rung by stop */
} now;

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set);

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set)
{
	struct bp_worker *w = now.r.worker;
	uint8_t f[64];
	int ready = 0;

	now.n = n;
	now.timeout_ns = (uint64_t)timeout->tv_sec * 1000 * MS + (uint64_t)timeout->tv_nsec;
	assert_int_equal(atomic_load(&w->wakeup.asleep), 1);
	atomic_fetch_add(&clock_.mono_ns, now.lasts_ns);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	if (now.frame)
		rig_put(&now.r, 0, f, sizeof(f));
	if (now.readable && n > 1) {
		fds[1].revents = POLLIN;
		ready++;
	}
	if (++now.sleeps == now.until) {
		atomic_store(&w->stop, true);
		bp_wakeup_ring(&w->wakeup);
		assert_int_equal(atomic_load(&w->wakeup.asleep), 0);
	}
	return ready + poll(fds, 1, 0);
}

/* Runs a worker that sleeps until it has slept `until` times. */
static void run(const char *yaml, unsigned until, void (*change)(void))
{
	struct bp_worker_args args = {.clock = &clock_};
	char err[256];

	rig_start(&now.r, yaml, false, false);
	bp_clock_init(&clock_);
	now.sleep = bp_sleep_create(now.r.worker, NULL, NULL, 0, err, sizeof(err));
	assert_non_null(now.sleep);
	now.until = until;
	if (change)
		change();
	args.worker = now.r.worker;
	args.sleep = now.sleep;
	assert_int_equal(bp_worker_run(&args), 0);
	assert_int_equal(now.sleeps, until);
	assert_int_equal(rig_counter(&now.r, BP_C_WORKER_SLEEPS), until);
}

static void finish(void)
{
	bp_sleep_free(now.sleep);
	rig_stop(&now.r);
	memset(&now, 0, sizeof(now));
}

#define LIMIT_NS (5 * MS)

static void limit_gaps(void)
{
	now.lasts_ns = BP_SLEEP_MAX_NS;
	now.r.worker->away.limit_ns = LIMIT_NS;
}

/* Each of them is longer than the limit. This test may be descheduled a few times. */
static void sleep_is_not_a_poll_gap(void **state)
{
	run(WIRE, 200, limit_gaps);
	assert_int_equal(now.timeout_ns, BP_SLEEP_MAX_NS);
	assert_true(rig_counter(&now.r, BP_C_POLL_GAPS) < 100);
	assert_true(rig_counter(&now.r, BP_C_WORKER_SLEEP_NS) >= 200ull * BP_SLEEP_MAX_NS);
	finish();
}

static void wake_late(void)
{
	limit_gaps();
	now.lasts_ns = 3600 * 1000 * MS;
}

/* The process was stopped, or another one had its CPU. */
static void late_end_of_a_sleep_is_a_poll_gap(void **state)
{
	run(WIRE, 3, wake_late);
	assert_true(rig_counter(&now.r, BP_C_POLL_GAPS) >= 3);
	assert_true(now.r.worker->away.longest_ns >= 3600 * 1000 * MS - BP_SLEEP_MAX_NS);
	assert_true(now.r.worker->away.longest_ns < 2 * 3600 * 1000 * MS);
	finish();
}

static void frames_arrive(void)
{
	now.frame = true;
}

static void frames_end_a_sleep(void **state)
{
	uint8_t f[64];

	run(WIRE, 5, frames_arrive);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 5; i++)
		rig_expect(&now.r, 1, f, sizeof(f));
	finish();
}

static void no_descriptor(void)
{
	now.sleep->naps = true;
}

static void naps_without_event_descriptors(void **state)
{
	run(WIRE, 2, no_descriptor);
	assert_int_equal(now.timeout_ns, 2 * BP_NAP_MIN_NS);
	finish();
}

static void always_readable(void)
{
	now.sleep->event[now.sleep->n_events++] =
		(struct pollfd){.fd = now.r.worker->wakeup.fd, .events = POLLIN};
	now.readable = true;
}

/* A driver without mbufs leaves its frames where they are. */
static void event_without_frames_is_not_polled_again(void **state)
{
	run(WIRE, 2, always_readable);
	assert_int_equal(now.n, 1); /* the second sleep, for its wakeup only */
	assert_int_equal(now.timeout_ns, BP_NAP_MIN_NS);
	finish();
}

static void no_reader(void)
{
	now.lasts_ns = MS;
}

/* The control plane does not wait for a worker that sleeps. */
static void sleeping_worker_holds_no_tables(void **state)
{
	run(ROUTER, 1, no_reader);
	assert_true(atomic_load(&now.r.shm.fib.readers->seen[0]) == UINT64_MAX);
	finish();
}

/* A device that accepts receive interrupts, and sends none. */
static void missed_interrupts_lead_to_naps(void **state)
{
	const struct bp_port port = {.driver = bp_driver_find("")};
	const struct bp_rx_queue queue = {.port = 0};
	struct bp_sleep *s;
	uint8_t f[64];
	char err[256];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	s = bp_sleep_create(r.worker, &port, &queue, 1, err, sizeof(err));
	assert_non_null(s);
	assert_true(s->naps); /* it has no interrupts */
	assert_int_equal(s->napping_port, 0);
	s->naps = false;
	s->interrupt[0].name = "a";
	s->n_interrupts = 1;
	for (unsigned i = 0; i < 2 * BP_MISSED_MAX; i++) {
		if (i == BP_MISSED_MAX - 1)
			s->interrupt[0].missed = 0; /* there was one */
		bp_sleep_missed(s);                 /* frames of another port */
		s->interrupt[0].rx_packets = atomic_load(&r.worker->port_stats[0].rx_packets);
		rig_put(&r, 0, f, sizeof(f));
		rig_walk(&r);
		rig_expect(&r, 1, f, sizeof(f));
		bp_sleep_missed(s);
		assert_int_equal(s->naps, i >= 2 * BP_MISSED_MAX - 2);
		s->interrupt[0].rx_packets = atomic_load(&r.worker->port_stats[0].rx_packets);
	}
	s->n_interrupts = 0;
	bp_sleep_free(s);
	rig_stop(&r);
}

static void punted_frames_ring_the_exception_thread(void **state)
{
	const struct packet p = ip4("10.1.0.1", 64, 46);
	struct bp_wakeup *wakeup;
	uint64_t rings = 0;
	struct rig r;

	start_with(&r, ROUTER);
	wakeup = &r.exception->thread_wakeup;
	assert_int_equal(bp_wakeup_open(wakeup), 0);
	bp_wakeup_prepare(wakeup);
	rig_walk(&r);
	assert_int_equal(atomic_load(&wakeup->asleep), 1); /* no frame was punted */
	for (unsigned i = 0; i < 3; i++)
		rig_put(&r, A, p.bytes, p.len);
	rig_walk(&r);
	assert_int_equal(read(wakeup->fd, &rings, sizeof(rings)), sizeof(rings));
	assert_int_equal(rings, 1);
	for (unsigned i = 0; i < 3; i++)
		rig_expect_kernel(&r, BP_EX_LOCAL, A, p.bytes, p.len);
	bp_wakeup_close(wakeup);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeps_soon_without_dense_traffic),
		cmocka_unit_test(waits_for_dense_traffic),
		cmocka_unit_test(timeout_ends_before_the_deadline),
		cmocka_unit_test(naps_grow_until_frames_arrive),
		cmocka_unit_test(sleep_is_not_a_poll_gap),
		cmocka_unit_test(late_end_of_a_sleep_is_a_poll_gap),
		cmocka_unit_test(frames_end_a_sleep),
		cmocka_unit_test(naps_without_event_descriptors),
		cmocka_unit_test(event_without_frames_is_not_polled_again),
		cmocka_unit_test(sleeping_worker_holds_no_tables),
		cmocka_unit_test(missed_interrupts_lead_to_naps),
		cmocka_unit_test(punted_frames_ring_the_exception_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
