/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/process/peer.h"
#include "controlplane/sync/keepalive.h"
#include "controlplane/sync/sync_internal.h"

#define SETTINGS_SECONDS 10

static const struct timeval settle_every = {0, 10000};
static const struct timeval check_interval = {0, 50000}; /* for ports of a starting data plane */
static const struct timeval one_second = {1, 0};
static const struct timeval at_once = {0, 0};

enum bp_sync_state bp_sync_state(const struct bp_sync *s)
{
	if (s->phase == SYNC_HOLDING)
		return BP_SYNC_HELD;
	return s->phase == SYNC_FOLLOWING && !s->wanted ? BP_SYNC_SYNCED : BP_SYNC_LOADING;
}

void bp_sync_show(struct bp_sync *s)
{
	struct bp_shm_control *g = s->to.control;

	if (s->cache != NULL)
		atomic_store_explicit(
			&g->cp_sync_punted, (uint32_t)s->cache->punted, memory_order_relaxed);
	atomic_store_explicit(&g->cp_sync_state, bp_sync_state(s), memory_order_release);
}

/* ---- changes in the cache ---- */

/*
 * A tap of the control plane has a MAC address of the kernel's choice until the data plane sets
 * that of its port. The kernel derives the link-local address from the MAC address when the
 * interface goes up: so it stays down until then.
 */
static bool awaits_mac(const struct bp_sync *s, unsigned i)
{
	const struct bp_interface_info *info = &s->cache->own[i].info;

	return i < s->to.n_ports && bp_interfaces_held(s->config, i) && !(info->flags & BP_IF_UP) &&
	       memcmp(s->to.ports[i].mac, info->mac, sizeof(info->mac)) != 0;
}

/* Reads the operator's settings of the interfaces and translates them for the data plane. */
static void read_settings(struct bp_sync *s)
{
	s->netconf = false;
	s->settings_read = 0;
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++) {
		const struct bp_nl_interface *own = &s->cache->own[i];

		if (own->ifindex != 0 && bp_interfaces_settings(&s->interfaces, i, own->ifindex,
						 own->kernel_name, bp_nl_vrf_device(s->cache, i)))
			bp_nl_interface_publish(s->cache, i);
	}
}

/* An operator configures subinterfaces: only the sysctls of a router are set. */
static void prepare_subinterfaces(struct bp_sync *s)
{
	s->cache->subinterfaces_appeared = false;
	for (unsigned i = BP_MAX_INTERFACES; i < BP_ALL_INTERFACES; i++) {
		struct bp_nl_interface *own = &s->cache->own[i];

		if (!own->appeared || own->ifindex == 0)
			continue;
		own->appeared = false;
		bp_interfaces_prepare(&s->interfaces, i, own->ifindex, own->kernel_name);
		s->netconf = true;
	}
}

/* The kernel forwards the packets of a VRF if its device forwards. */
static void prepare_vrfs(struct bp_sync *s)
{
	s->cache->vrfs_changed = false;
	for (unsigned n = 1; n <= BP_MAX_VRFS; n++)
		if (s->cache->vrf[n].used)
			bp_interfaces_prepare_vrf(&s->interfaces, s->cache, n);
	s->netconf = true;
}

static void set_up_new(struct bp_sync *s)
{
	const uint64_t appeared = s->cache->appeared;

	s->cache->appeared = 0;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const struct bp_nl_interface *own = &s->cache->own[i];

		if (!(appeared & 1ull << i) || own->ifindex == 0 || own->ifindex == s->set_up[i])
			continue;
		if (awaits_mac(s, i)) {
			s->cache->appeared |= 1ull << i;
			continue;
		}
		s->set_up[i] = own->ifindex;
		bp_interfaces_set_up(&s->interfaces, i, &own->info);
		s->netconf = true;
	}
}

/* While no data plane runs, one check per second is enough. */
static bool awaits_data_plane(const struct bp_sync *s)
{
	return s->cache->appeared != 0 && bp_dataplane_alive(s->to.global);
}

/* An interface was removed or renamed: closes its tap, and configures its successor. */
static void let_go(struct bp_sync *s)
{
	const uint64_t vanished = s->cache->vanished;

	s->cache->vanished = 0;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!(vanished & 1ull << i))
			continue;
		s->set_up[i] = 0;
		if (s->cache->own[i].ifindex == 0)
			bp_interfaces_removed(&s->interfaces, i);
	}
}

/* Lists the tables that are full, with the setting for their size. */
static void list_refused(const struct bp_fib_control *c, char *out, size_t size)
{
	const struct {
		const _Atomic uint32_t *refused;
		const char *what;
	} all[] = {
		{&c->routes4_refused, "IPv4 routes (routing.max_ipv4_routes)"},
		{&c->routes6_refused, "IPv6 routes (routing.max_ipv6_routes)"},
		{&c->neighbors_refused, "neighbors (routing.max_neighbors)"},
		{&c->nexthops_refused,
			"next hops (routing.max_nexthops, routing.max_nexthop_groups)"},
	};
	size_t at = 0;

	snprintf(out, size, "everything");
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (atomic_load_explicit(all[i].refused, memory_order_relaxed) != 0)
			at += (size_t)snprintf(
				out + at, size - at, "%s%s", at ? ", " : "", all[i].what);
}

static bool any_refused(const struct bp_fib_control *c)
{
	return c->routes4_refused != 0 || c->routes6_refused != 0 || c->neighbors_refused != 0 ||
	       c->nexthops_refused != 0;
}

static void log_limits(struct bp_sync *s)
{
	const struct bp_fib_control *control = s->to.fib != NULL ? s->to.fib->control : NULL;
	char what[256] = "everything";

	if (s->cache->full != 0 && !s->full) {
		if (control != NULL)
			list_refused(control, what, sizeof(what));
		bp_log(BP_LOG_WARNING,
			"forwarding tables full: %s; the kernel forwards the rest: raise these "
			"settings (`biplane show interfaces` has the limits)",
			what);
		s->full = true;
	} else if (s->full && control != NULL && !any_refused(control)) {
		bp_log(BP_LOG_INFO, "forwarding tables: all entries are installed again");
		s->full = false;
	}
	s->cache->full = 0;
}

static void log_refused(struct bp_sync *s, uint32_t *before, uint32_t now, const char *what,
	uint32_t limit, const char *text)
{
	if (now > *before)
		bp_log_limited(&s->log_refused, BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_NUM(what, now), BP_LOG_NUM("limit", limit)), "%s",
			text);
	*before = now;
}

/* What has no number because a limit is reached. */
static void report_refused(struct bp_sync *s)
{
	const struct bp_nl_cache *c = s->cache;

	log_refused(s, &s->subinterfaces_refused, c->subinterfaces_refused, "subinterfaces",
		BP_MAX_SUBINTERFACES,
		"VLAN subinterfaces beyond the limit: the kernel forwards their packets; "
		"remove some");
	log_refused(s, &s->vrfs_refused, c->vrfs_refused, "interfaces", BP_MAX_VRFS,
		"interfaces in VRFs that are not copied: the kernel forwards their packets; "
		"use no more VRFs than the limit, and not table 255 (local)");
	if (bp_nl_subinterfaces_waiting(c))
		bp_sync_resync_soon(s, "a subinterface has no number");
	if (bp_nl_vrfs_waiting(c))
		bp_sync_resync_soon(s, "a VRF has no number");
	if (s->to.fib == NULL || s->to.fib->control == NULL)
		return;
	atomic_store_explicit(&s->to.fib->control->subinterfaces_refused, c->subinterfaces_refused,
		memory_order_relaxed);
	atomic_store_explicit(
		&s->to.fib->control->vrfs_refused, c->vrfs_refused, memory_order_relaxed);
}

void bp_sync_after(struct bp_sync *s)
{
	if (s->cache == NULL)
		return;
	if (s->cache->vanished != 0)
		let_go(s);
	if (s->cache->appeared != 0)
		set_up_new(s);
	if (s->cache->subinterfaces_appeared)
		prepare_subinterfaces(s);
	if (s->cache->vrfs_changed)
		prepare_vrfs(s);
	report_refused(s);
	if (s->netconf && s->phase != SYNC_HOLDING)
		read_settings(s);
	if (s->cache->full != 0 || s->full)
		log_limits(s);
	if (s->cache->refused != 0) {
		bp_log_limited(&s->log_refused, BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_NUM("count", s->cache->refused)),
			"forwarding tables rejected changes as invalid; please report this");
		s->cache->refused = 0;
	}
	if (s->cache->no_memory) {
		s->cache->no_memory = false;
		bp_log_limited(&s->log_memory, BP_LOG_ERROR, NULL,
			"netlink: not enough memory for the kernel's tables completely");
		bp_sync_resync_soon(s, "there was not enough memory");
	}
	if (s->cache->invalid_reason != NULL) {
		bp_sync_resync_soon(s, s->cache->invalid_reason);
		s->cache->invalid_reason = NULL;
	}
	if (s->cache->revisit && (s->phase == SYNC_FOLLOWING || s->phase == SYNC_PUBLISHING)) {
		s->cache->revisit = false;
		bp_sync_retry_rejected(s);
	}
	if ((bp_fib_settle(s->to.writer) || awaits_data_plane(s)) &&
		!event_pending(s->settle, EV_TIMEOUT, NULL))
		event_add(s->settle, &settle_every);
	bp_sync_show(s);
}

/* ---- events ---- */

static void lost(struct bp_sync *s)
{
	atomic_fetch_add_explicit(&s->to.control->cp_sync_overruns, 1, memory_order_relaxed);
	if (s->phase == SYNC_HOLDING || s->phase == SYNC_DRAINING)
		return;
	bp_log_limited(&s->log_overrun, BP_LOG_WARNING, NULL,
		"netlink: receive buffer overrun, resynchronising; raise netlink.receive_buffer");
	bp_sync_load(s);
}

/* In an IPv6 dump, the kernel skips routes when others are removed. */
static void record_disturbance(struct bp_sync *s, size_t len)
{
	int left = (int)len;

	for (const struct nlmsghdr *h = (const struct nlmsghdr *)s->events.buffer;
		!s->disturbed && nlmsg_ok(h, left);
		h = nlmsg_next((struct nlmsghdr *)(uintptr_t)h, &left))
		s->disturbed = h->nlmsg_type == RTM_DELROUTE &&
			       ((const struct rtmsg *)nlmsg_data(h))->rtm_family == AF_INET6;
}

static void apply(struct bp_sync *s, size_t len)
{
	int left = (int)len;
	uint64_t n = 0;

	for (const struct nlmsghdr *h = (const struct nlmsghdr *)s->events.buffer;
		nlmsg_ok(h, left); h = nlmsg_next((struct nlmsghdr *)(uintptr_t)h, &left)) {
		if (bp_sync_hold(s, h))
			break;
		bp_nl_cache_message(s->cache, h, false);
		n++;
	}
	atomic_fetch_add_explicit(&s->to.control->cp_sync_events, n, memory_order_relaxed);
}

static void read_netconf(struct bp_sync *s, size_t len)
{
	int left = (int)len;

	for (const struct nlmsghdr *h = (const struct nlmsghdr *)s->events.buffer;
		!s->netconf && nlmsg_ok(h, left);
		h = nlmsg_next((struct nlmsghdr *)(uintptr_t)h, &left))
		s->netconf = h->nlmsg_type == RTM_NEWNETCONF;
}

static void take(struct bp_sync *s, size_t len)
{
	read_netconf(s, len);
	switch (s->phase) {
	case SYNC_LOADING:
		if (s->load.what == BP_DUMP_ROUTES6)
			record_disturbance(s, len);
		if (!bp_sync_queue_add(&s->queue, s->events.buffer, len))
			lost(s);
		break;
	case SYNC_PUBLISHING:
	case SYNC_FOLLOWING:
		apply(s, len);
		break;
	default: /* the next dump will contain it */
		break;
	}
}

bool bp_sync_read_events(struct bp_sync *s)
{
	const uint64_t end = bp_mono_ns() + BP_SYNC_TIME_SLICE_NS;

	s->checked = false;
	do {
		ssize_t got = bp_netlink_receive(&s->events);

		if (got == 0) {
			if (s->phase == SYNC_DRAINING && s->next == NULL)
				bp_sync_drained(s);
			return true;
		}
		if (got > 0)
			take(s, (size_t)got);
		else
			lost(s);
	} while (bp_mono_ns() < end);
	/* It may have been the last event, after which no other event would continue the resync. */
	if (s->phase == SYNC_DRAINING)
		event_add(s->step, &at_once);
	return false;
}

static void on_events(evutil_socket_t fd, short what, void *arg)
{
	struct bp_sync *s = arg;

	(void)fd;
	(void)what;
	bp_sync_read_events(s);
	bp_sync_after(s);
}

/* Ports without a kernel interface can be used after the data plane has described them. */
void bp_sync_follow_static(struct bp_sync *s, bool again)
{
	bp_sync_static_follow(&s->fixed, &s->to, s->config, again);
	if (!s->fixed.complete && !event_pending(s->settle, EV_TIMEOUT, NULL))
		event_add(s->settle, &check_interval);
}

static void on_settle(evutil_socket_t fd, short what, void *arg)
{
	struct bp_sync *s = arg;

	(void)fd;
	(void)what;
	if (s->cache != NULL && s->cache->appeared != 0)
		bp_sync_after(s);
	else if (bp_fib_settle(s->to.writer))
		event_add(s->settle, &settle_every);
	if (!s->fixed.complete && s->phase != SYNC_HOLDING)
		bp_sync_follow_static(s, false);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct bp_sync *s = arg;
	unsigned probes;

	(void)fd;
	(void)what;
	if (s->cache == NULL || s->phase == SYNC_HOLDING)
		return;
	bp_interfaces_hold(&s->interfaces);
	bp_sync_follow_static(s, false);
	/* the kernel does not send an event for every setting, and events can be lost */
	if (++s->settings_read >= SETTINGS_SECONDS)
		s->netconf = true;
	probes = bp_keepalive(s->cache, &s->requests, (uint32_t)(bp_mono_ns() / 1000000000u),
		(uint32_t)(s->config->netlink.neighbor_refresh_ns / 1000000000u));
	atomic_fetch_add_explicit(&s->to.control->cp_sync_probes, probes, memory_order_relaxed);
	/* the answers to requests of keepalive are ignored */
	while (bp_netlink_receive(&s->requests) > 0)
		;
	bp_sync_after(s);
}

/* ---- start and end ---- */

static int open_sockets(struct bp_sync *s, char *err, size_t err_size)
{
	uint32_t got;

	if (bp_netlink_open(&s->events, err, err_size) != 0 ||
		bp_netlink_open(&s->dumps, err, err_size) != 0 ||
		bp_netlink_open(&s->requests, err, err_size) != 0)
		return -1;
	got = bp_netlink_receive_buffer(&s->events, s->config->netlink.receive_buffer);
	if (got < s->config->netlink.receive_buffer)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_NUM("bytes", got),
				BP_LOG_NUM("expected", s->config->netlink.receive_buffer)),
			"netlink: the kernel allows only a smaller receive buffer; run with "
			"CAP_NET_ADMIN, or raise net.core.rmem_max");
	return bp_netlink_subscribe(&s->events, err, err_size);
}

static int make_events(struct bp_sync *s, struct event_base *base)
{
	s->on_events = event_new(base, s->events.fd, EV_READ | EV_PERSIST, on_events, s);
	s->on_dumps = event_new(base, s->dumps.fd, EV_READ | EV_PERSIST, bp_sync_on_dumps, s);
	s->step = event_new(base, -1, 0, bp_sync_on_step, s);
	s->settle = event_new(base, -1, 0, on_settle, s);
	s->second = event_new(base, -1, EV_PERSIST, on_second, s);
	s->later = event_new(base, -1, 0, bp_sync_on_later, s);
	if (s->on_events == NULL || s->on_dumps == NULL || s->step == NULL || s->settle == NULL ||
		s->second == NULL || s->later == NULL)
		return -1;
	return event_add(s->on_events, NULL) != 0 || event_add(s->on_dumps, NULL) != 0 ||
			       event_add(s->second, &one_second) != 0
		       ? -1
		       : 0;
}

struct bp_sync *bp_sync_new(struct event_base *base, const struct bp_sync_to *to,
	const struct bp_config *c, char *err, size_t err_size)
{
	struct bp_sync *s = calloc(1, sizeof(*s));

	snprintf(err, err_size, "not enough memory for the kernel's tables");
	if (s == NULL)
		return NULL;
	s->to = *to;
	s->config = c;
	s->events.fd = s->dumps.fd = s->requests.fd = -1;
	bp_interfaces_init(&s->interfaces, c, &s->requests);
	if (open_sockets(s, err, err_size) != 0 || make_events(s, base) != 0) {
		bp_sync_free(s);
		return NULL;
	}
	/* subscribed: later changes produce events */
	if (to->fib != NULL && to->fib->interfaces != NULL)
		bp_interfaces_adopt(&s->interfaces, to->fib);
	bp_interfaces_hold(&s->interfaces);
	bp_sync_load(s);
	return s;
}

void bp_sync_free(struct bp_sync *s)
{
	struct event *all[6];

	if (s == NULL)
		return;
	memcpy(all,
		(struct event *[]){
			s->on_events, s->on_dumps, s->step, s->settle, s->second, s->later},
		sizeof(all));
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] != NULL)
			event_free(all[i]);
	bp_interfaces_end(&s->interfaces);
	bp_nl_cache_free(s->next);
	bp_nl_cache_free(s->cache);
	bp_sync_queue_free(&s->queue);
	bp_netlink_close(&s->events);
	bp_netlink_close(&s->dumps);
	bp_netlink_close(&s->requests);
	atomic_store_explicit(&s->to.control->cp_sync_state, BP_SYNC_OFF, memory_order_release);
	free(s);
}

void bp_sync_reconfigure(struct bp_sync *s, const struct bp_config *c)
{
	s->config = c;
	s->interfaces.config = c;
	if (s->cache != NULL)
		s->cache->config = c;
	if (s->next != NULL)
		s->next->config = c;
	if (s->cache == NULL)
		return;
	bp_sync_follow_static(s, true);
	/* neighbors that were removed from the file return to the kernel's state */
	bp_sync_resync_soon(s, "the configuration was reloaded");
}
