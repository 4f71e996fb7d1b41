/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_monitor.h"

#include <stdio.h>
#include <string.h>

/* One look. */
struct look {
	struct bp_trouble_watch *w;
	struct bp_trouble_moment at;
};

/* ---------------------------------------------------------------- who is watched */

/* The rows lie in this order: ports, pools, workers; of each its kinds. */
static const enum bp_trouble_kind of_port[] = {
	BP_TROUBLE_LINK_DOWN, BP_TROUBLE_NIC_MISSED, BP_TROUBLE_NIC_NO_MBUF, BP_TROUBLE_NIC_ERRORS};
static const enum bp_trouble_kind of_pool[] = {BP_TROUBLE_MBUFS_LOW};
static const enum bp_trouble_kind of_worker[] = {
	BP_TROUBLE_WORKER_OVERRUN, BP_TROUBLE_WORKER_STUCK, BP_TROUBLE_NOT_INSPECTED};
#define N(kinds) (sizeof(kinds) / sizeof((kinds)[0]))
_Static_assert(
	N(of_port) == BP_TROUBLE_OF_PORT && N(of_pool) == 1 && N(of_worker) == BP_TROUBLE_OF_WORKER,
	"as the segment has room for");

static void watch_subject(struct bp_trouble_watch *w, const enum bp_trouble_kind *kinds, size_t n,
	const char *name, unsigned cpu)
{
	for (size_t i = 0; i < n; i++) {
		bp_trouble_watched_init(&w->watched[w->n], &w->desk, kinds[i], name, w->started_ns);
		w->watched[w->n].cpu = cpu;
		w->n++;
	}
}

static struct bp_trouble_watched *port_row(struct bp_trouble_watch *w, unsigned port, unsigned i)
{
	return &w->watched[port * N(of_port) + i];
}

static struct bp_trouble_watched *pool_row(struct bp_trouble_watch *w, unsigned pool)
{
	return &w->watched[w->n_ports * N(of_port) + pool];
}

static struct bp_trouble_watched *worker_row(
	struct bp_trouble_watch *w, unsigned worker, unsigned i)
{
	return &w->watched[w->n_ports * N(of_port) + w->n_pools * N(of_pool) +
			   worker * N(of_worker) + i];
}

/* How much a cumulative figure grew. A driver that began to count anew has counted so many. */
static uint64_t growth(uint64_t *before, uint64_t now)
{
	uint64_t n = now >= *before ? now - *before : now;

	*before = now;
	return n;
}

/* ---------------------------------------------------------------- one look */

static void look_at_link(struct look *l, unsigned port, enum bp_trouble_link link)
{
	struct bp_trouble_watch *w = l->w;
	struct bp_trouble_watched *t = port_row(w, port, 0);
	const uint64_t running = l->at.now_ns - w->started_ns;
	struct bp_trouble_said s = {.never = !w->link_was_up[port]};
	bool bad = link == BP_TROUBLE_LINK_LOST;
	uint64_t ago = 0;

	if (link == BP_TROUBLE_LINK_IS_UP)
		w->link_was_up[port] = true;
	if (bad)
		s.never = false;
	/* one that was up is lost when it is down, whatever its driver calls that */
	if (link == BP_TROUBLE_LINK_NOT_YET) {
		bad = w->link_was_up[port] || running >= w->desk.settings.link_up_delay_ns;
		ago = w->link_was_up[port] ? 0 : running;
	}
	bp_trouble_lasts(&l->at, t, bad, ago);
	bp_trouble_tell(&l->at, t, &s);
}

static void look_at_frames(struct look *l, struct bp_trouble_watched *t, uint64_t now)
{
	struct bp_trouble_said s = {0};
	uint64_t n = growth(&t->before, now);

	bp_trouble_count(&l->at, t, n);
	bp_trouble_happens(&l->at, t, n, 0);
	bp_trouble_tell(&l->at, t, &s);
}

/* In hundredths of a per cent: they are low below the mark, and until a quarter more than that is
 * free, or half of the rest, lest each buffer begins it anew. */
static bool is_low(uint32_t free, uint32_t size, uint32_t percent, bool was)
{
	const uint64_t low = 100ull * percent, rest = 10000 - low;
	const uint64_t more = low / 4 < rest / 2 ? low / 4 : rest / 2;

	return percent != 0 && (uint64_t)free * 10000 < size * (low + (was ? more : 0));
}

static void look_at_pool(struct look *l, unsigned pool, uint32_t free, uint32_t size)
{
	struct bp_trouble_watched *t = pool_row(l->w, pool);
	struct bp_trouble_said s = {.free = free, .size = size};
	const bool bad = is_low(free, size, l->w->desk.settings.mbuf_low_percent, t->is.active);

	if (free < t->is.worst)
		t->is.worst = free;
	bp_trouble_lasts(&l->at, t, bad, 0);
	if (t->is.active && free < t->worst_of_spell)
		t->worst_of_spell = free;
	bp_trouble_tell(&l->at, t, &s);
}

static void look_at_overruns(struct look *l, unsigned worker, uint64_t overruns,
	uint64_t overrun_ns, uint64_t longest_ns)
{
	struct bp_trouble_watched *t = worker_row(l->w, worker, 0);
	struct bp_trouble_said s = {0};
	uint64_t n = growth(&t->before, overruns), ns = growth(&t->before_ns, overrun_ns);

	/* the worker counts them itself */
	t->is.worst = longest_ns;
	bp_trouble_happens(&l->at, t, n, ns);
	bp_trouble_tell(&l->at, t, &s);
}

/* `here`: this thread was at work itself since the last look. Where it was not, the machine stood
 * still, or others have the CPUs, and that is no worker's fault: it overruns when it returns. */
static void look_at_beat(struct look *l, unsigned worker, uint64_t beat_ns, bool here)
{
	const uint64_t limit = l->w->desk.settings.worker_stall_timeout_ns;
	struct bp_trouble_watched *t = worker_row(l->w, worker, 1);
	const uint64_t since = beat_ns > l->w->started_ns ? beat_ns : l->w->started_ns;
	const uint64_t away = l->at.now_ns > since ? l->at.now_ns - since : 0;
	struct bp_trouble_said s = {0};

	bp_trouble_lasts(&l->at, t, limit != 0 && away >= limit && (here || t->is.active), away);
	bp_trouble_tell(&l->at, t, &s);
}

static void look_at_unread(struct look *l, unsigned worker, const struct bp_unread *unread)
{
	struct bp_trouble_watched *t = worker_row(l->w, worker, 2);
	struct bp_trouble_said s = {.connections = unread->connections};

	if (unread->connections > t->is.worst)
		t->is.worst = unread->connections;
	bp_trouble_lasts(&l->at, t, unread->connections != 0, unread->longest_ns);
	bp_trouble_tell(&l->at, t, &s);
}

static void look_at_ports(struct look *l, const struct bp_trouble_readings *r)
{
	for (unsigned i = 0; i < l->w->n_ports && i < r->n_ports; i++) {
		look_at_link(l, i, r->port[i].link);
		look_at_frames(l, port_row(l->w, i, 1), r->port[i].missed);
		look_at_frames(l, port_row(l->w, i, 2), r->port[i].no_mbuf);
		look_at_frames(l, port_row(l->w, i, 3), r->port[i].errors);
	}
}

static void look_at_workers(struct look *l, const struct bp_trouble_readings *r)
{
	const bool here =
		l->at.now_ns - l->w->looked_ns < l->w->desk.settings.worker_stall_timeout_ns;

	for (unsigned i = 0; i < l->w->n_workers && i < r->n_workers; i++) {
		if (!r->worker[i].runs)
			continue;
		look_at_overruns(l, i, r->worker[i].overruns, r->worker[i].overrun_ns,
			r->worker[i].longest_ns);
		look_at_beat(l, i, r->worker[i].beat_ns, here);
		look_at_unread(l, i, &r->worker[i].unread);
	}
}

static void publish(const struct bp_trouble_watch *w)
{
	for (unsigned i = 0; i < w->n; i++)
		bp_trouble_write(&w->rows[i], &w->watched[i].is);
}

void bp_trouble_look(struct bp_trouble_watch *w, const struct bp_trouble_readings *r,
	uint64_t now_ns, uint64_t unix_ns)
{
	struct look l = {w, {&w->desk, now_ns, unix_ns, w->looked_ns}};

	look_at_ports(&l, r);
	for (unsigned i = 0; i < w->n_pools && i < r->n_pools; i++)
		look_at_pool(&l, i, r->pool[i].free, r->pool[i].size);
	look_at_workers(&l, r);
	w->looked_ns = now_ns;
	publish(w);
}

void bp_trouble_watch_init(struct bp_trouble_watch *w, const struct bp_config_monitoring *settings,
	const struct bp_trouble_subjects *subjects, const struct bp_trouble_readings *first,
	uint64_t now_ns)
{
	w->desk.settings = *settings;
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
