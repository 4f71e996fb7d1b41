/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "dataplane/workers/worker_loop.h"

#include <pthread.h>

#include <rte_cycles.h>

#include "dataplane/capture/capture.h"
#include "dataplane/service.h"
#include "dataplane/workers/walk.h"

#define TICK_WALKS 64  /* interval of housekeeping, walks */
#define TIME_WALKS 16  /* interval of clock readings if no service needs the time, walks */
#define DRAIN_WALKS 16 /* empty walks that prove the queues empty */
#define DRAIN_NS 200000000ull

static inline const struct bp_generation *rules_of(const struct bp_worker *w)
{
	return w->ruleset_copies ? &w->ruleset_copies->copies : &w->shm->rules;
}

static __attribute__((noinline)) void apply_service_rules(struct bp_worker *w)
{
	const struct bp_generation *of = rules_of(w);

	w->rules_active = bp_generation_enter(of, w->index);
	w->rules = bp_generation_bank(of, w->rules_active);
}

void bp_worker_apply_rules(struct bp_worker *w)
{
	const uint64_t active = bp_generation_active(rules_of(w));

	for (unsigned i = 0; i < w->n_pending; i++) {
		const struct bp_pending *p = &w->pending[i];

		if (unlikely(atomic_load_explicit(p->word, memory_order_acquire) != *p->seen))
			p->apply(p->state);
	}
	if (unlikely(!w->rules || active != w->rules_active))
		apply_service_rules(w);
	if (w->ruleset_copies && unlikely(bp_ruleset_copies_pending(w->ruleset_copies)))
		bp_ruleset_copies_wake(w->ruleset_copies, w->mono_ns);
}

void bp_worker_release_rules(struct bp_worker *w)
{
	w->rules = NULL;
	bp_generation_acknowledge(rules_of(w), w->index, BP_GENERATION_NONE);
}

static void housekeeping(struct bp_worker *w)
{
	bp_capture_check(w);
	bp_router_refresh(w);
	bp_services_tick(w);
	bp_doorbell_check(&w->doorbell);
	if (w->index == 0)
		bp_fdb_tick(&w->fdb, w->n_bridges, w->mono_ns);
}

/* Between two walks a worker has no reference to the forwarding tables. */
static inline void pass_quiescent_point(struct bp_worker *w)
{
	if (w->router.enabled)
		bp_fib_quiesce(w->router.fib, w->index, &w->router.epoch);
}

void bp_worker_before_walk(struct bp_worker *w)
{
	bp_worker_apply_rules(w);
	pass_quiescent_point(w);
	housekeeping(w);
}

static __attribute__((noinline, cold)) void record_poll_gap(
	struct bp_worker *w, uint64_t ns, uint64_t end_ns)
{
	struct bp_poll_gap *a = &w->away;

	if (ns >= BP_PAUSE_NS)
		a->resumed_ns = end_ns;
	if (ns > a->longest_ns)
		__atomic_store_n(&a->longest_ns, ns, __ATOMIC_RELAXED);
	if (ns > a->limit_ns) {
		__atomic_store_n(&a->overrun_ns, a->overrun_ns + ns, __ATOMIC_RELAXED);
		bp_count(w, BP_C_POLL_GAPS, 1);
	}
	a->notable_ns = RTE_MIN(a->longest_ns, a->limit_ns);
	a->notable_ns = RTE_MIN(a->notable_ns, BP_PAUSE_NS - 1);
}

static void update_time(struct bp_worker *w, const struct bp_clock *clock)
{
	uint64_t mono;

	bp_clock_read(clock, rte_rdtsc(), &w->now_ns, &mono);
	if (mono > w->mono_ns) {
		if (unlikely(mono - w->mono_ns > w->away.notable_ns))
			record_poll_gap(w, mono - w->mono_ns, mono);
		w->mono_ns = mono;
	}
}

/* Starts the time of the worker. Time before this is not a poll gap. */
static void begin_time(struct bp_worker *w, const struct bp_clock *clock)
{
	w->away.notable_ns = UINT64_MAX;
	update_time(w, clock);
	w->away.notable_ns = 0;
}

/* A walk with the active rules and tables. Returns whether it received frames. */
static __attribute__((noinline)) bool walk_once(struct bp_worker *w, const struct bp_clock *clock)
{
	const uint64_t before = w->rx_frames;

	update_time(w, clock);
	bp_worker_apply_rules(w);
	pass_quiescent_point(w);
	bp_graph_walk(w, 0);
	return w->rx_frames != before;
}

/* A sleep is not a poll gap, but the time by which it ended late is. */
static void resume_time(struct bp_worker *w, const struct bp_clock *clock, uint64_t timeout)
{
	const uint64_t before = w->mono_ns, notable = w->away.notable_ns;
	uint64_t slept;

	w->away.notable_ns = UINT64_MAX;
	update_time(w, clock);
	w->away.notable_ns = notable;
	slept = w->mono_ns - before;
	bp_count(w, BP_C_WORKER_SLEEPS, 1);
	bp_count(w, BP_C_WORKER_SLEEP_NS, slept);
	if (unlikely(slept > timeout && slept - timeout > notable))
		record_poll_gap(w, slept - timeout, w->mono_ns);
}

/*
 * Sleeps until frames arrive, another thread rings, or a service has something to do, unless one of
 * these is the case already. Meanwhile the worker holds no reference to the forwarding tables.
 */
static __attribute__((noinline)) void sleep_until_event(const struct bp_worker_args *a)
{
	struct bp_worker *w = a->worker;
	uint64_t timeout;

	bp_sleep_prepare(a->sleep);
	if (!walk_once(w, a->clock) && !atomic_load_explicit(&w->stop, memory_order_acquire) &&
		!bp_services_need_polling(w)) {
		timeout = bp_sleep_policy_timeout(w->mono_ns, bp_services_due(w));
		if (timeout != 0) {
			if (w->router.enabled)
				bp_fib_read_end(w->router.fib, w->index, &w->router.epoch);
			timeout = bp_sleep_wait(a->sleep, timeout);
			resume_time(w, a->clock, timeout);
			if (a->sleep->timed_out && !a->sleep->naps && walk_once(w, a->clock))
				bp_sleep_missed(a->sleep);
		}
	}
	bp_sleep_finish(a->sleep);
}

/* Called after an empty walk. Returns whether the worker slept, or was about to and found work. */
static bool may_sleep(const struct bp_worker_args *a, uint64_t idle)
{
	struct bp_worker *w = a->worker;
	struct bp_sleep_policy *p = &a->sleep->policy;

	if (w->rx_frames != p->rx_frames) {
		update_time(w, a->clock);
		bp_sleep_policy_arrival(p, w->rx_frames, w->mono_ns);
	}
	if (!bp_sleep_policy_due(p, idle, w->mono_ns) || bp_services_need_polling(w) ||
		bp_sleep_policy_timeout(w->mono_ns, bp_services_due(w)) == 0)
		return false;
	sleep_until_event(a);
	return true;
}

/* Counts the time of a walk that represents `walks` of them. */
static __attribute__((noinline)) void count_busy(
	struct bp_worker *w, uint64_t start, unsigned walks)
{
	const double ns = 1e9 / (double)rte_get_tsc_hz();

	bp_count(w, BP_C_WORKER_BUSY_NS, (uint64_t)((double)(rte_rdtsc() - start) * ns * walks));
}

/* Walks until `stop` is set or, when draining, until the queues are empty. */
static void walk(const struct bp_worker_args *a, bool draining)
{
	struct bp_worker *w = a->worker;
	uint64_t walks = 0, idle = 0, until = w->mono_ns + DRAIN_NS;
	bool slept = false; /* before this walk: each of these is timed */

	for (;;) {
		uint64_t before = w->rx_frames, start = 0;
		unsigned timed; /* walks that this one represents; 0: it is not timed */

		if (w->needs_time || idle || (walks & (TIME_WALKS - 1)) == 0)
			update_time(w, a->clock);
		bp_worker_apply_rules(w);
		pass_quiescent_point(w);
		if ((++walks & (TICK_WALKS - 1)) == 0) {
			if (!draining && atomic_load_explicit(&w->stop, memory_order_relaxed))
				return;
			housekeeping(w);
		}
		timed = (walks & (BP_WALKS_TIMED - 1)) != 0 ? 0 : slept ? 1 : BP_WALKS_TIMED;
		if (timed != 0)
			start = rte_rdtsc();
		bp_graph_walk(w, timed);
		if (w->rx_frames != before) {
			idle = 0;
			if (unlikely(timed != 0))
				count_busy(w, start, timed);
			slept = false;
			if (draining && w->mono_ns >= until && !bp_services_hold(w))
				return;
			continue;
		}
		idle++;
		slept = false;
		if (draining && (idle >= DRAIN_WALKS || w->mono_ns >= until) &&
			!bp_services_hold(w))
			return;
		if (a->sleep && !draining && may_sleep(a, idle)) {
			idle = 0;
			slept = true;
			/* check `stop` and the clocks immediately */
			walks |= TICK_WALKS - 1;
		}
	}
}

int bp_worker_run(void *args)
{
	const struct bp_worker_args *a = args;
	struct bp_worker *w = a->worker;

	if (!w->graph) /* more workers than queues: no work */
		return 0;
	if (a->sleep)
		bp_sleep_begin();
	/* a worker that never sleeps, as for LCL, keeps its CPU */
	if (a->cpus && !bp_services_need_polling(w))
		pthread_setaffinity_np(pthread_self(), sizeof(*a->cpus), a->cpus);
	begin_time(w, a->clock);
	if (w->capture)
		w->capture->clock = a->clock;
	housekeeping(w);
	bp_services_start(w, a->clock);
	walk(a, false);
	bp_services_drain(w);
	walk(a, true);
	bp_services_end(w);
	bp_capture_end(w);
	bp_worker_release_rules(w);
	if (w->router.enabled)
		bp_fib_read_end(w->router.fib, w->index, &w->router.epoch);
	return 0;
}
