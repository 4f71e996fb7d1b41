/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/sync/sync_internal.h"

/*
 * A kernel interface that only the data plane keeps open (virtio) disappears when the data plane
 * dies, and the kernel removes its addresses, routes and neighbors. The data plane restarts in less
 * than a second and must forward immediately, with unchanged tables: so these removals are not
 * applied. When the interface is back with its addresses, or after BP_HOLD_NS, everything is read
 * again.
 */
#define BP_HOLD_NS 30000000000ull
/* An IPv6 address is valid, and has its routes, after duplicate address detection (RFC 4862, 5.4);
 * that takes the kernel one to two seconds, and never ends without carrier. */
#define BP_HOLD_TENTATIVE_NS 5000000000ull
static const struct timeval check_interval = {0, 50000};

/* Events that accompany the removal of an interface; those of routes precede its own. */
static bool may_be_a_sign(const struct nlmsghdr *h)
{
	switch (h->nlmsg_type) {
	case RTM_DELLINK:
	case RTM_DELADDR:
	case RTM_DELROUTE:
	case RTM_DELNEIGH:
	case RTM_DELNEXTHOP:
		return true;
	case RTM_NEWLINK:
		return nlmsg_datalen(h) >= (int)sizeof(struct ifinfomsg) &&
		       !(((const struct ifinfomsg *)nlmsg_data(h))->ifi_flags & IFF_UP);
	default:
		return false;
	}
}

/* The kernel answers after pending operations: an interface that is being removed is then gone. */
static bool is_gone(struct bp_sync *s, uint32_t ifindex)
{
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETLINK, 0);
	const struct ifinfomsg ifi = {.ifi_index = (int)ifindex};

	if (m == NULL || nlmsg_append(m, (void *)(uintptr_t)&ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0) {
		nlmsg_free(m);
		return false;
	}
	return bp_netlink_request(&s->requests, m) == -ENODEV;
}

static bool any_port_missing(struct bp_sync *s)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (s->cache->own[i].ifindex != 0 && !bp_interfaces_held(s->config, i) &&
			is_gone(s, s->cache->own[i].ifindex))
			return true;
	return false;
}

bool bp_sync_hold(struct bp_sync *s, const struct nlmsghdr *h)
{
	if (s->checked || s->cache == NULL || !may_be_a_sign(h))
		return false;
	s->checked = true;
	if (!any_port_missing(s))
		return false;
	bp_log(BP_LOG_WARNING, "kernel interface lost with the data plane; the forwarding tables "
			       "are kept until it is back, for 30 s at most");
	s->phase = SYNC_HOLDING;
	s->wanted = false;
	s->held_until_ns = bp_mono_ns() + BP_HOLD_NS;
	s->back = false;
	event_add(s->later, &check_interval);
	bp_sync_show(s);
	return true;
}

static bool is_ours(const struct bp_sync *s, uint32_t ifindex)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (s->cache->own[i].kernel_name[0] != '\0' && s->set_up[i] == ifindex)
			return true;
	return false;
}

/* Returns whether duplicate address detection is running for one of our IPv6 addresses: address,
 * interface, length, scope, flags and name in /proc/net/if_inet6 (numbers in hexadecimal). */
static bool any_tentative(const struct bp_sync *s)
{
	FILE *f = fopen("/proc/net/if_inet6", "re");
	unsigned ifindex, flags;
	bool found = false;

	if (f == NULL)
		return false;
	while (!found && fscanf(f, "%*32s %x %*x %*x %x %*15s", &ifindex, &flags) == 2) // NOLINT
		found = (flags & IFA_F_TENTATIVE) && !(flags & IFA_F_DADFAILED) &&
			is_ours(s, ifindex);
	fclose(f);
	return found;
}

/* The kernel has forgotten the VRF of an interface that was gone, as it has the addresses. */
static void join_vrf(struct bp_sync *s, unsigned i, uint32_t ifindex)
{
	const struct bp_nl_interface *own = &s->cache->own[i];

	if (own->info.vrf != BP_VRF_MAIN && own->info.vrf <= BP_MAX_VRFS)
		bp_interfaces_join_vrf(&s->interfaces, ifindex, own->kernel_name,
			s->cache->vrf[own->info.vrf].name);
}

/* Configures the interfaces that are back: the hold waits for the addresses and routes that
 * follow. */
static bool all_back(struct bp_sync *s)
{
	bool all = true;

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		struct bp_interface_info info = {.flags = BP_IF_PRESENT};

		if (s->cache->own[i].kernel_name[0] == '\0')
			continue;
		info.ifindex = if_nametoindex(s->cache->own[i].kernel_name);
		all = all && info.ifindex != 0;
		if (info.ifindex == 0 || info.ifindex == s->set_up[i])
			continue;
		join_vrf(s, i, info.ifindex);
		bp_interfaces_set_up(&s->interfaces, i, &info);
		s->set_up[i] = info.ifindex;
	}
	return all;
}

void bp_sync_hold_check(struct bp_sync *s)
{
	const uint64_t now = bp_mono_ns();
	const bool back = all_back(s);

	/* after it is back, only its addresses are awaited */
	if (back && now + BP_HOLD_TENTATIVE_NS < s->held_until_ns && !s->back)
		s->held_until_ns = now + BP_HOLD_TENTATIVE_NS;
	s->back = back;
	if ((!back || any_tentative(s)) && now < s->held_until_ns) {
		event_add(s->later, &check_interval);
		return;
	}
	if (back)
		bp_log(BP_LOG_INFO, "kernel interfaces are back");
	else
		bp_log(BP_LOG_WARNING, "kernel interface is still missing; its routes are removed");
	bp_sync_load(s);
}
