/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/sync/sync_internal.h"

/*
 * A load: fills a new cache next to the active one, applies the events that arrived during the
 * dump, and replaces the active cache. Then it writes everything to the FIB, and deletes entries
 * that were not written. Until then the tables are unchanged.
 */

/* Maximum number of repetitions of a dump that changes interrupt; the results of all attempts are
 * used, and every change during them is applied afterwards. */
#define REPEATS 5u
/* A resync is delayed to cover several changes, and two resyncs have a minimum interval. */
#define SOON_NS 20000000u
#define PAUSE_NS 100000000u
#define PAUSE_TIMES 4u /* times the duration of the last resync */

static void after_ns(struct event *e, uint64_t ns)
{
	const struct timeval tv = {
		(time_t)(ns / 1000000000u), (suseconds_t)(ns % 1000000000u / 1000u)};

	event_add(e, &tv);
}

void bp_sync_resync_soon(struct bp_sync *s, const char *why)
{
	const uint64_t now = bp_mono_ns(), by_time = PAUSE_TIMES * s->took_ns;
	const uint64_t pause = by_time > PAUSE_NS ? by_time : PAUSE_NS;
	uint64_t wait = SOON_NS;

	if (s->wanted)
		return;
	s->wanted = true;
	s->why = why;
	/* A resync that is already running does not cover later changes: published() starts another
	 * one. */
	if (s->phase == SYNC_DRAINING || s->phase == SYNC_LOADING)
		return;
	if (s->ended_ns != 0 && now < s->ended_ns + pause)
		wait += s->ended_ns + pause - now;
	after_ns(s->later, wait);
	bp_sync_show(s);
}

void bp_sync_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct bp_sync *s = arg;

	(void)fd;
	(void)what;
	if (s->phase == SYNC_HOLDING) {
		bp_sync_hold_check(s);
		return;
	}
	if (!s->wanted)
		return;
	/* Publishing the known state goes first; the caller may wait for it. */
	if (s->phase == SYNC_PUBLISHING && s->sweeping) {
		after_ns(s->later, SOON_NS);
		return;
	}
	bp_log_limited(&s->log_resync, BP_LOG_INFO, NULL, "netlink: resynchronising: %s", s->why);
	bp_sync_load(s);
}

void bp_sync_load(struct bp_sync *s)
{
	bp_nl_cache_free(s->next);
	s->next = NULL;
	s->queue.len = 0;
	s->wanted = false;
	s->begun++;
	if (s->cache != NULL) /* the reason of the resync is older */
		s->cache->invalid_reason = NULL;
	s->begun_ns = bp_mono_ns();
	s->phase = SYNC_DRAINING;
	bp_sync_show(s);
	bp_sync_read_events(s);
}

static void load_ended(struct bp_sync *s)
{
	s->ended_ns = bp_mono_ns();
	s->took_ns = s->ended_ns - s->begun_ns;
}

static void dump_failed(struct bp_sync *s, int error)
{
	bp_log_limited(&s->log_memory, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("table", bp_netlink_dump_name[s->load.what])),
		"netlink: dump failed: %s; the forwarding tables stay unchanged, retrying",
		strerror(-error));
	bp_nl_cache_free(s->next);
	s->next = NULL;
	s->phase = s->cache != NULL ? SYNC_PUBLISHING : SYNC_DRAINING;
	load_ended(s);
	s->wanted = true;
	s->why = "the last attempt failed";
	after_ns(s->later, 1000000000u);
	if (s->cache != NULL)
		bp_sync_retry_rejected(s);
}

static void dump_begin(struct bp_sync *s, enum bp_netlink_dump what)
{
	int error;

	s->disturbed = false;
	error = bp_load_begin(&s->load, &s->dumps, what);
	if (error != 0)
		dump_failed(s, error);
}

/* The event socket is empty: later events are newer than the begin of the dump. */
void bp_sync_drained(struct bp_sync *s)
{
	s->next = bp_nl_cache_new(s->config);
	if (s->next == NULL) {
		dump_failed(s, -ENOMEM);
		return;
	}
	s->next->settings = s->interfaces.settings;
	if (s->cache != NULL) {
		bp_nl_subinterfaces_adopt(s->next, s->cache, s->sweeping);
		bp_nl_vrfs_adopt(s->next, s->cache, s->sweeping);
	} else if (s->to.fib != NULL && s->to.fib->max_routes != 0) {
		bp_nl_subinterfaces_adopt_table(s->next, s->to.fib);
		bp_nl_vrfs_adopt_table(s->next, s->to.fib);
	}
	s->phase = SYNC_LOADING;
	s->repeats = 0;
	dump_begin(s, BP_DUMP_LINKS);
}

static void replay(struct bp_sync *s)
{
	int left = (int)s->queue.len;
	uint64_t n = 0;

	s->next->replaying = true;
	for (struct nlmsghdr *h = (struct nlmsghdr *)s->queue.bytes; nlmsg_ok(h, left);
		h = nlmsg_next(h, &left), n++)
		bp_nl_cache_message(s->next, h, false);
	s->next->replaying = false;
	bp_sync_queue_free(&s->queue);
	atomic_fetch_add_explicit(&s->to.control->cp_sync_events, n, memory_order_relaxed);
}

/* Interfaces of ours that were removed or replaced since the last load: no event reports this if it
 * was read before the dump, or lost. */
static void compare_own(const struct bp_nl_cache *old, struct bp_nl_cache *new)
{
	new->vanished |= old->vanished;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (old->own[i].ifindex != 0 && old->own[i].ifindex != new->own[i].ifindex)
			new->vanished |= 1ull << i;
}

/* The load is complete: the new cache replaces the old one. */
static void loaded(struct bp_sync *s)
{
	struct bp_nl_cache *old = s->cache;

	replay(s);
	if (old != NULL)
		compare_own(old, s->next);
	/* states that were unexpected in the old cache are known now */
	s->next->revisit = false;
	s->cache = s->next;
	s->next = NULL;
	bp_fib_mark(s->to.writer, BP_ORIGIN_KERNEL);
	s->sweeping = true;
	bp_sync_retry_rejected(s);
	bp_sync_follow_static(s, false);
	bp_nl_cache_free(old);
	bp_sync_after(s);
}

static void dump_done(struct bp_sync *s)
{
	const uint64_t begun = s->begun;

	/* events that arrived during this dump show whether it is valid: events may have been lost,
	 * the load may have to start again, and it may already have, with the first part */
	bp_sync_read_events(s);
	if (s->phase != SYNC_LOADING || s->begun != begun)
		return;
	if ((s->load.interrupted || s->disturbed) && s->repeats < REPEATS) {
		s->repeats++;
		dump_begin(s, s->load.what);
		return;
	}
	s->repeats = 0;
	if (s->load.what + 1u < BP_DUMPS)
		dump_begin(s, s->load.what + 1u);
	else
		loaded(s);
}

void bp_sync_on_dumps(evutil_socket_t fd, short what, void *arg)
{
	struct bp_sync *s = arg;
	const uint64_t end = bp_mono_ns() + BP_SYNC_TIME_SLICE_NS;

	(void)fd;
	(void)what;
	do {
		struct bp_nl_cache *into = s->next;
		int error;

		if (s->phase != SYNC_LOADING || into == NULL) {
			/* the rest of an aborted dump */
			if (bp_netlink_receive(&s->dumps) <= 0)
				return;
			continue;
		}
		error = bp_load_some(&s->load, &s->dumps, into);
		if (error == 0 && into->no_memory)
			error = -ENOMEM;
		if (error != 0) {
			dump_failed(s, error);
			return;
		}
		if (s->load.done)
			dump_done(s);
	} while (bp_mono_ns() < end);
}

/* ---- publication ---- */

void bp_sync_retry_rejected(struct bp_sync *s)
{
	const struct timeval now = {0, 0};

	s->phase = SYNC_PUBLISHING;
	s->cursor = 0;
	bp_nl_cache_publish(s->cache, s->to.writer);
	event_add(s->step, &now);
	bp_sync_show(s);
}

static void log_load(struct bp_sync *s, uint32_t swept)
{
	const uint64_t ms = s->took_ns / 1000000u;

	if (s->loads == 1)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("prefixes", s->cache->prefixes.n),
				BP_LOG_NUM("neighbors", s->cache->neighbors.n),
				BP_LOG_NUM("nexthops", s->cache->objects.n),
				BP_LOG_NUM("duration_ms", ms), BP_LOG_NUM("removed", swept)),
			"netlink: forwarding tables synchronised");
	else if (swept > 0)
		bp_log_limited(&s->log_resync, BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("duration_ms", ms), BP_LOG_NUM("removed", swept)),
			"netlink: forwarding tables resynchronised");
}

static void published(struct bp_sync *s)
{
	struct bp_shm_control *g = s->to.control;
	uint32_t swept;

	s->phase = SYNC_FOLLOWING;
	if (s->sweeping) {
		swept = bp_fib_sweep(s->to.writer, BP_ORIGIN_KERNEL);
		s->sweeping = false;
		load_ended(s);
		if (s->loads++ > 0)
			atomic_fetch_add_explicit(&g->cp_sync_resyncs, 1, memory_order_relaxed);
		atomic_store_explicit(&g->cp_sync_loaded_ns, s->took_ns, memory_order_relaxed);
		log_load(s, swept);
	}
	/* the running load cannot cover a request that arrived during it */
	if (s->wanted && !event_pending(s->later, EV_TIMEOUT, NULL)) {
		s->wanted = false;
		bp_sync_resync_soon(s, s->why);
	}
	bp_sync_after(s);
	bp_sync_show(s);
}

void bp_sync_on_step(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval now = {0, 0};
	struct bp_sync *s = arg;
	const uint64_t end = bp_mono_ns() + BP_SYNC_TIME_SLICE_NS;

	(void)fd;
	(void)what;
	if (s->phase == SYNC_DRAINING)
		bp_sync_read_events(s);
	if (s->phase != SYNC_PUBLISHING)
		return;
	do
		if (!bp_nl_cache_publish_routes(s->cache, &s->cursor)) {
			published(s);
			return;
		}
	while (bp_mono_ns() < end);
	event_add(s->step, &now);
}
