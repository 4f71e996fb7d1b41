/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_monitor.h"

#include <stdio.h>
#include <string.h>

/* The state of one check. */
struct check {
	struct bp_fault_monitor *w;
	struct bp_fault_check at;
};

/* ---------------------------------------------------------------- who is watched */

/* The rows have this order: ports, pools, workers; for each, its kinds of faults. */
static const enum bp_fault_kind of_port[] = {
	BP_FAULT_LINK_DOWN, BP_FAULT_NIC_MISSED, BP_FAULT_NIC_NO_MBUF, BP_FAULT_NIC_ERRORS};
static const enum bp_fault_kind of_pool[] = {BP_FAULT_MBUFS_LOW};
static const enum bp_fault_kind of_worker[] = {
	BP_FAULT_WORKER_OVERRUN, BP_FAULT_WORKER_STUCK, BP_FAULT_NOT_INSPECTED};
#define N(kinds) (sizeof(kinds) / sizeof((kinds)[0]))
_Static_assert(
	N(of_port) == BP_FAULT_OF_PORT && N(of_pool) == 1 && N(of_worker) == BP_FAULT_OF_WORKER,
	"as the segment has room for");

static void watch_subject(struct bp_fault_monitor *w, const enum bp_fault_kind *kinds, size_t n,
	const char *name, unsigned cpu)
{
	for (size_t i = 0; i < n; i++) {
		bp_fault_tracker_init(&w->watched[w->n], &w->sink, kinds[i], name, w->started_ns);
		w->watched[w->n].cpu = cpu;
		w->n++;
	}
}

static struct bp_fault_tracker *port_row(struct bp_fault_monitor *w, unsigned port, unsigned i)
{
	return &w->watched[port * N(of_port) + i];
}

static struct bp_fault_tracker *pool_row(struct bp_fault_monitor *w, unsigned pool)
{
	return &w->watched[w->n_ports * N(of_port) + pool];
}

static struct bp_fault_tracker *worker_row(struct bp_fault_monitor *w, unsigned worker, unsigned i)
{
	return &w->watched[w->n_ports * N(of_port) + w->n_pools * N(of_pool) +
			   worker * N(of_worker) + i];
}

/*
 * Returns the increase of a cumulative value. If the driver has reset its counter, the new value is
 * the increase.
 */
static uint64_t growth(uint64_t *before, uint64_t now)
{
	uint64_t n = now >= *before ? now - *before : now;

	*before = now;
	return n;
}

/* ---------------------------------------------------------------- one look */

static void check_link(struct check *l, unsigned port, enum bp_fault_link link)
{
	struct bp_fault_monitor *w = l->w;
	struct bp_fault_tracker *t = port_row(w, port, 0);
	const uint64_t running = l->at.now_ns - w->started_ns;
	struct bp_fault_message s = {.never = !w->link_was_up[port]};
	bool bad = link == BP_FAULT_LINK_LOST;
	uint64_t ago = 0;

	if (link == BP_FAULT_LINK_IS_UP)
		w->link_was_up[port] = true;
	if (bad)
		s.never = false;
	/* an established link that is down is lost, whatever state its driver reports */
	if (link == BP_FAULT_LINK_NOT_YET) {
		bad = w->link_was_up[port] || running >= w->sink.settings.link_up_delay_ns;
		ago = w->link_was_up[port] ? 0 : running;
	}
	bp_fault_tracker_state(&l->at, t, bad, ago);
	bp_fault_tracker_log(&l->at, t, &s);
}

static void check_frames(struct check *l, struct bp_fault_tracker *t, uint64_t now)
{
	struct bp_fault_message s = {0};
	uint64_t n = growth(&t->before, now);

	bp_fault_tracker_count(&l->at, t, n);
	bp_fault_tracker_event(&l->at, t, n, 0);
	bp_fault_tracker_log(&l->at, t, &s);
}

/*
 * Values are in hundredths of a per cent. The mbufs are low below the threshold, until 25 % more
 * than the threshold is free, or half of the rest, so that the state does not alternate with each
 * mbuf.
 */
static bool is_low(uint32_t free, uint32_t size, uint32_t percent, bool was)
{
	const uint64_t low = 100ull * percent, rest = 10000 - low;
	const uint64_t more = low / 4 < rest / 2 ? low / 4 : rest / 2;

	return percent != 0 && (uint64_t)free * 10000 < size * (low + (was ? more : 0));
}

static void check_pool(struct check *l, unsigned pool, uint32_t free, uint32_t size)
{
	struct bp_fault_tracker *t = pool_row(l->w, pool);
	struct bp_fault_message s = {.free = free, .size = size};
	const bool bad = is_low(free, size, l->w->sink.settings.mbuf_low_percent, t->is.active);

	if (free < t->is.worst)
		t->is.worst = free;
	bp_fault_tracker_state(&l->at, t, bad, 0);
	if (t->is.active && free < t->worst_of_spell)
		t->worst_of_spell = free;
	bp_fault_tracker_log(&l->at, t, &s);
}

static void check_overruns(struct check *l, unsigned worker, uint64_t overruns, uint64_t overrun_ns,
	uint64_t longest_ns)
{
	struct bp_fault_tracker *t = worker_row(l->w, worker, 0);
	struct bp_fault_message s = {0};
	uint64_t n = growth(&t->before, overruns), ns = growth(&t->before_ns, overrun_ns);

	/* the worker counts the overruns itself */
	t->is.worst = longest_ns;
	bp_fault_tracker_event(&l->at, t, n, ns);
	bp_fault_tracker_log(&l->at, t, &s);
}

/*
 * `here`: this thread has run since the last check. If it has not, the machine was suspended or
 * other processes used the CPUs, which is not a fault of the worker: the gap is counted as an
 * overrun when the worker continues.
 */
static void check_heartbeat(struct check *l, unsigned worker, uint64_t heartbeat_ns, bool here)
{
	const uint64_t limit = l->w->sink.settings.worker_stall_timeout_ns;
	struct bp_fault_tracker *t = worker_row(l->w, worker, 1);
	const uint64_t since = heartbeat_ns > l->w->started_ns ? heartbeat_ns : l->w->started_ns;
	const uint64_t away = l->at.now_ns > since ? l->at.now_ns - since : 0;
	struct bp_fault_message s = {0};

	bp_fault_tracker_state(
		&l->at, t, limit != 0 && away >= limit && (here || t->is.active), away);
	bp_fault_tracker_log(&l->at, t, &s);
}

static void check_not_inspected(struct check *l, unsigned worker, const struct bp_unread *unread)
{
	struct bp_fault_tracker *t = worker_row(l->w, worker, 2);
	struct bp_fault_message s = {.connections = unread->connections};

	if (unread->connections > t->is.worst)
		t->is.worst = unread->connections;
	bp_fault_tracker_state(&l->at, t, unread->connections != 0, unread->longest_ns);
	bp_fault_tracker_log(&l->at, t, &s);
}

static void check_ports(struct check *l, const struct bp_fault_samples *r)
{
	for (unsigned i = 0; i < l->w->n_ports && i < r->n_ports; i++) {
		check_link(l, i, r->port[i].link);
		check_frames(l, port_row(l->w, i, 1), r->port[i].missed);
		check_frames(l, port_row(l->w, i, 2), r->port[i].no_mbuf);
		check_frames(l, port_row(l->w, i, 3), r->port[i].errors);
	}
}

static void look_at_workers(struct check *l, const struct bp_fault_samples *r)
{
	const bool here =
		l->at.now_ns - l->w->looked_ns < l->w->sink.settings.worker_stall_timeout_ns;

	for (unsigned i = 0; i < l->w->n_workers && i < r->n_workers; i++) {
		if (!r->worker[i].runs)
			continue;
		check_overruns(l, i, r->worker[i].overruns, r->worker[i].overrun_ns,
			r->worker[i].longest_ns);
		check_heartbeat(l, i, r->worker[i].heartbeat_ns, here);
		check_not_inspected(l, i, &r->worker[i].unread);
	}
}

static void publish(const struct bp_fault_monitor *w)
{
	for (unsigned i = 0; i < w->n; i++)
		bp_fault_write(&w->rows[i], &w->watched[i].is);
}

void bp_fault_monitor_check(struct bp_fault_monitor *w, const struct bp_fault_samples *r,
	uint64_t now_ns, uint64_t unix_ns)
{
	struct check l = {w, {&w->sink, now_ns, unix_ns, w->looked_ns}};

	check_ports(&l, r);
	for (unsigned i = 0; i < w->n_pools && i < r->n_pools; i++)
		check_pool(&l, i, r->pool[i].free, r->pool[i].size);
	look_at_workers(&l, r);
	w->looked_ns = now_ns;
	publish(w);
}

void bp_fault_monitor_init(struct bp_fault_monitor *w, const struct bp_config_monitoring *settings,
	const struct bp_fault_subjects *subjects, const struct bp_fault_samples *first,
	uint64_t now_ns)
{
	w->sink.settings = *settings;
	w->started_ns = w->looked_ns = now_ns;
	w->n = 0;
	w->n_ports = subjects->n_ports;
	w->n_pools = subjects->n_pools;
	w->n_workers = subjects->n_workers;
	memset(w->link_was_up, 0, sizeof(w->link_was_up));
	for (unsigned i = 0; i < w->n_ports; i++)
		watch_subject(w, of_port, N(of_port), subjects->port[i], 0);
	for (unsigned i = 0; i < w->n_pools; i++)
		watch_subject(w, of_pool, N(of_pool), subjects->pool[i], 0);
	for (unsigned i = 0; i < w->n_workers; i++) {
		char name[BP_NAME_MAX + 1];

		snprintf(name, sizeof(name), "worker %u", i);
		watch_subject(w, of_worker, N(of_worker), name, subjects->worker_cpu[i]);
	}
	for (unsigned i = 0; i < w->n_ports && i < first->n_ports; i++) {
		port_row(w, i, 1)->before = first->port[i].missed;
		port_row(w, i, 2)->before = first->port[i].no_mbuf;
		port_row(w, i, 3)->before = first->port[i].errors;
	}
	for (unsigned i = 0; i < w->n_workers && i < first->n_workers; i++) {
		worker_row(w, i, 0)->before = first->worker[i].overruns;
		worker_row(w, i, 0)->before_ns = first->worker[i].overrun_ns;
	}
	publish(w);
}
