/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/* RTM_NEWLINK and RTM_DELLINK: rtnetlink(7), linux/if_link.h. */

static uint64_t link_hash(uint32_t ifindex)
{
	return bp_map_hash(&ifindex, sizeof(ifindex));
}

struct bp_nl_link *bp_nl_link_find(const struct bp_nl_cache *cache, uint32_t ifindex)
{
	const uint64_t hash = link_hash(ifindex);

	for (struct bp_map_node *n = bp_map_chain(&cache->links, hash); n != NULL; n = n->next)
		if (((struct bp_nl_link *)n)->ifindex == ifindex)
			return (struct bp_nl_link *)n;
	return NULL;
}

struct bp_nl_link *bp_nl_link_get(struct bp_nl_cache *cache, uint32_t ifindex)
{
	struct bp_nl_link *l = bp_nl_link_find(cache, ifindex);

	if (l != NULL)
		return l;
	l = calloc(1, sizeof(*l));
	if (l == NULL || bp_map_add(&cache->links, &l->node, link_hash(ifindex)) != 0) {
		free(l);
		cache->no_memory = true;
		return NULL;
	}
	l->ifindex = ifindex;
	l->number = BP_NO_INTERFACE;
	return l;
}

void bp_nl_link_use(struct bp_nl_cache *cache, uint32_t ifindex, int change)
{
	struct bp_nl_link *l = bp_nl_link_get(cache, ifindex);

	if (l == NULL)
		return;
	l->uses += (uint32_t)change;
	if (l->uses == 0 && !l->known) {
		bp_map_remove(&cache->links, &l->node);
		free(l);
	}
}

static bool has_number(const struct bp_nl_link *l)
{
	return l->number != BP_NO_INTERFACE;
}

static uint8_t number_of(const struct bp_nl_cache *cache, const char *name)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (cache->own[i].kernel_name[0] != '\0' &&
			strcmp(cache->own[i].kernel_name, name) == 0)
			return (uint8_t)i;
	return BP_NO_INTERFACE;
}

/* Our interface i no longer has a kernel interface. */
static void own_removed(struct bp_nl_cache *cache, unsigned i)
{
	struct bp_nl_interface *own = &cache->own[i];

	own->ifindex = 0;
	own->unshown = 0;
	own->info.flags = bp_is_subinterface(i) ? 0 : BP_IF_PRESENT;
	own->released = true;
	own->info.ifindex = 0;
	own->info.n_addresses = 0;
	memset(own->info.address, 0, sizeof(own->info.address));
	bp_nl_vrf_leave(cache, i);
	if (!bp_is_subinterface(i))
		cache->vanished |= 1ull << i;
	bp_nl_neighbors_delete(cache, i);
	bp_nl_interface_publish(cache, i);
}

void bp_nl_interface_leave(struct bp_nl_cache *cache, struct bp_nl_link *l)
{
	if (has_number(l) && cache->own[l->number].ifindex == l->ifindex)
		own_removed(cache, l->number);
	l->number = BP_NO_INTERFACE;
	cache->revisit = true;
	bp_nl_vlans_of(cache, l, false);
}

static void note_appeared(struct bp_nl_cache *cache, uint8_t number)
{
	if (bp_is_subinterface(number))
		cache->own[number].appeared = cache->subinterfaces_appeared = true;
	else
		cache->appeared |= 1ull << number;
}

void bp_nl_interface_enter(
	struct bp_nl_cache *cache, struct bp_nl_link *l, uint8_t number, bool was_known)
{
	struct bp_nl_interface *own = &cache->own[number];

	if (own->ifindex != 0 && own->ifindex != l->ifindex) {
		struct bp_nl_link *old = bp_nl_link_find(cache, own->ifindex);

		if (old != NULL)
			bp_nl_interface_leave(cache, old);
	}
	own->ifindex = l->ifindex;
	l->number = number;
	note_appeared(cache, number);
	cache->revisit = true;
	/* its state under the other name was not recorded */
	if (was_known)
		bp_nl_cache_invalidate(cache, "an interface was renamed");
}

static void follow(struct bp_nl_cache *cache, unsigned i, const struct ifinfomsg *ifi,
	struct nlattr *const *tb)
{
	struct bp_interface_info *info = &cache->own[i].info;

	info->flags = BP_IF_PRESENT | BP_IF_KERNEL | (ifi->ifi_flags & IFF_UP ? BP_IF_UP : 0) |
		      (ifi->ifi_flags & IFF_LOWER_UP ? BP_IF_CARRIER : 0);
	info->ifindex = (uint32_t)ifi->ifi_index;
	if (tb[IFLA_MTU] != NULL)
		info->mtu = nla_get_u32(tb[IFLA_MTU]);
	if (tb[IFLA_ADDRESS] != NULL && nla_len(tb[IFLA_ADDRESS]) == (int)sizeof(info->mac))
		memcpy(info->mac, nla_data(tb[IFLA_ADDRESS]), sizeof(info->mac));
	bp_nl_interface_publish(cache, i);
}

/*
 * When an interface goes down or loses its carrier, the kernel removes IPv4 routes and marks next
 * hops as dead, without an event; it also revives next hops without an event. IPv6 next hops revive
 * with the operational state and not with the carrier; the kernel may set it up to a second later.
 */
static void state_changed(struct bp_nl_cache *cache, struct bp_nl_link *l)
{
	if (l->uses == 0)
		return;
	cache->revisit = true;
	bp_nl_cache_invalidate(cache, "an interface that routes use went up or down");
}

/* The number of a link may change: a port is found by its name, a subinterface by its port. */
static void renumber(
	struct bp_nl_cache *cache, struct bp_nl_link *l, uint8_t number, bool was_known, bool dump)
{
	if (number == l->number)
		return;
	if (has_number(l))
		bp_nl_interface_leave(cache, l);
	if (number == BP_NO_INTERFACE)
		return;
	bp_nl_interface_enter(cache, l, number, was_known);
	if (!bp_is_subinterface(number))
		bp_nl_vlans_of(cache, l, dump);
}

static void link_new(
	struct bp_nl_cache *cache, const struct ifinfomsg *ifi, struct nlattr *const *tb, bool dump)
{
	struct bp_nl_link *l = bp_nl_link_get(cache, (uint32_t)ifi->ifi_index);
	const bool up = (ifi->ifi_flags & IFF_UP) != 0;
	const bool carrier = (ifi->ifi_flags & IFF_LOWER_UP) != 0;
	const bool running = (ifi->ifi_flags & IFF_RUNNING) != 0;
	uint8_t number;
	bool was_known;

	if (l == NULL || tb[IFLA_IFNAME] == NULL)
		return;
	was_known = l->known;
	l->known = true;
	number = number_of(cache, nla_get_string(tb[IFLA_IFNAME]));
	bp_nl_vrf_read(cache, l, tb);
	bp_nl_vlan_read(cache, l, ifi, tb);
	if (number == BP_NO_INTERFACE && l->vlan != NULL)
		number = bp_nl_vlan_number(cache, l);
	renumber(cache, l, number, was_known, dump);
	if (number != BP_NO_INTERFACE)
		bp_nl_vrf_follow(cache, l, dump);
	if (up != l->up || carrier != l->carrier || running != l->running) {
		l->up = up;
		l->carrier = carrier;
		l->running = running;
		if (was_known)
			state_changed(cache, l);
	}
	if (bp_is_subinterface(number))
		bp_nl_vlan_follow(cache, l);
	else if (number != BP_NO_INTERFACE)
		follow(cache, number, ifi, tb);
}

static void link_delete(struct bp_nl_cache *cache, uint32_t ifindex)
{
	struct bp_nl_link *l = bp_nl_link_find(cache, ifindex);

	if (l == NULL)
		return;
	l->known = false;
	l->up = false;
	if (has_number(l))
		bp_nl_interface_leave(cache, l);
	bp_nl_vlan_forget(cache, l);
	state_changed(cache, l);
	if (l->uses != 0)
		return;
	bp_map_remove(&cache->links, &l->node);
	free(l);
}

void bp_nl_link_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump)
{
	static struct nla_policy policy[IFLA_MAX + 1] = {
		[IFLA_IFNAME] = {.type = NLA_STRING, .maxlen = IFNAMSIZ},
		[IFLA_MTU] = {.type = NLA_U32},
	};
	struct nlattr *tb[IFLA_MAX + 1];
	const struct ifinfomsg *ifi = nlmsg_data(h);

	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, sizeof(*ifi), tb, IFLA_MAX, policy) < 0)
		return;
	/* bridges and IPv6 send link messages of their own family */
	if (ifi->ifi_family != AF_UNSPEC || ifi->ifi_index <= 0)
		return;
	if (h->nlmsg_type == RTM_NEWLINK)
		link_new(cache, ifi, tb, dump);
	else
		link_delete(cache, (uint32_t)ifi->ifi_index);
}
