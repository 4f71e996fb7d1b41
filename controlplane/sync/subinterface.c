/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/*
 * VLAN subinterfaces: `ip link add link PORT name PORT.ID type vlan id ID`. Their attributes are in
 * IFLA_LINKINFO, linux/if_link.h. An interface in a bridge or a bond does not route, and the kernel
 * keeps its frames, as those of an 802.1ad interface.
 */

void bp_nl_subinterfaces_adopt_table(struct bp_nl_cache *cache, const struct bp_fib *f)
{
	for (unsigned i = BP_MAX_INTERFACES; i < bp_fib_interfaces(f); i++) {
		struct bp_interface_info info;

		if (!bp_fib_interface(f, i, &info))
			continue;
		cache->own[i].info.parent = info.parent;
		cache->own[i].info.vlan_id = info.vlan_id;
	}
}

void bp_nl_subinterfaces_adopt(struct bp_nl_cache *cache, const struct bp_nl_cache *old, bool all)
{
	for (unsigned i = BP_MAX_INTERFACES; i < BP_ALL_INTERFACES; i++) {
		const struct bp_nl_interface *own = &old->own[i];

		if (!all && own->ifindex == 0 && !own->released)
			continue;
		cache->own[i].info.parent = own->info.parent;
		cache->own[i].info.vlan_id = own->info.vlan_id;
	}
}

bool bp_nl_subinterfaces_waiting(const struct bp_nl_cache *cache)
{
	for (unsigned i = BP_MAX_INTERFACES; i < BP_ALL_INTERFACES; i++)
		if (cache->own[i].ifindex == 0)
			return cache->subinterfaces_refused != 0;
	return false;
}

static void refuse(struct bp_nl_cache *cache, struct bp_nl_vlan *v, bool refused)
{
	if (v->refused != refused)
		cache->subinterfaces_refused += refused ? 1u : UINT32_MAX;
	v->refused = refused;
}

void bp_nl_vlan_forget(struct bp_nl_cache *cache, struct bp_nl_link *l)
{
	if (l->vlan == NULL)
		return;
	refuse(cache, l->vlan, false);
	free(l->vlan);
	l->vlan = NULL;
}

/* Returns the VLAN identifier; 0: no 802.1Q interface. */
static uint16_t vlan_id(const struct nlattr *linkinfo)
{
	struct nlattr *tb[IFLA_INFO_MAX + 1], *vlan[IFLA_VLAN_MAX + 1];
	static struct nla_policy policy[IFLA_VLAN_MAX + 1] = {
		[IFLA_VLAN_ID] = {.type = NLA_U16},
		[IFLA_VLAN_PROTOCOL] = {.type = NLA_U16},
	};
	uint16_t id;

	if (linkinfo == NULL ||
		nla_parse_nested(tb, IFLA_INFO_MAX, (struct nlattr *)(uintptr_t)linkinfo, NULL) <
			0 ||
		tb[IFLA_INFO_KIND] == NULL || tb[IFLA_INFO_DATA] == NULL ||
		nla_strcmp(tb[IFLA_INFO_KIND], "vlan") != 0 ||
		nla_parse_nested(vlan, IFLA_VLAN_MAX, tb[IFLA_INFO_DATA], policy) < 0 ||
		vlan[IFLA_VLAN_ID] == NULL)
		return 0;
	if (vlan[IFLA_VLAN_PROTOCOL] != NULL &&
		nla_get_u16(vlan[IFLA_VLAN_PROTOCOL]) != htons(ETH_P_8021Q))
		return 0;
	id = nla_get_u16(vlan[IFLA_VLAN_ID]);
	return id <= BP_VLAN_ID_MAX ? id : 0;
}

void bp_nl_vlan_read(struct bp_nl_cache *cache, struct bp_nl_link *l, const struct ifinfomsg *ifi,
	struct nlattr *const *tb)
{
	const uint16_t id = tb[IFLA_LINK] == NULL || tb[IFLA_LINK_NETNSID] != NULL ||
					    (tb[IFLA_MASTER] != NULL && l->vrf_table == 0) ||
					    nla_len(tb[IFLA_LINK]) != (int)sizeof(uint32_t)
				    ? 0
				    : vlan_id(tb[IFLA_LINKINFO]);
	struct bp_interface_info *info;

	if (id == 0) {
		bp_nl_vlan_forget(cache, l);
		return;
	}
	if (l->vlan == NULL)
		l->vlan = calloc(1, sizeof(*l->vlan));
	if (l->vlan == NULL) {
		cache->no_memory = true;
		return;
	}
	l->vlan->parent = nla_get_u32(tb[IFLA_LINK]);
	l->vlan->id = id;
	info = &l->vlan->info;
	snprintf(info->name, sizeof(info->name), "%s", nla_get_string(tb[IFLA_IFNAME]));
	info->flags = BP_IF_PRESENT | BP_IF_KERNEL | (ifi->ifi_flags & IFF_UP ? BP_IF_UP : 0) |
		      (ifi->ifi_flags & IFF_LOWER_UP ? BP_IF_CARRIER : 0);
	info->ifindex = (uint32_t)ifi->ifi_index;
	if (tb[IFLA_MTU] != NULL)
		info->mtu = nla_get_u32(tb[IFLA_MTU]);
	if (tb[IFLA_ADDRESS] != NULL && nla_len(tb[IFLA_ADDRESS]) == (int)sizeof(info->mac))
		memcpy(info->mac, nla_data(tb[IFLA_ADDRESS]), sizeof(info->mac));
}

static bool is_for(const struct bp_interface_info *info, uint8_t parent, uint16_t id)
{
	return info->vlan_id == id && (id == 0 || info->parent == parent);
}

uint8_t bp_nl_vlan_number(struct bp_nl_cache *cache, struct bp_nl_link *l)
{
	const struct bp_nl_link *parent = bp_nl_link_find(cache, l->vlan->parent);
	unsigned free_number = BP_ALL_INTERFACES;

	refuse(cache, l->vlan, false);
	if (parent == NULL || parent->number >= BP_MAX_PORTS)
		return BP_NO_INTERFACE;
	for (unsigned i = BP_MAX_INTERFACES; i < BP_ALL_INTERFACES; i++) {
		if (is_for(&cache->own[i].info, parent->number, l->vlan->id))
			return (uint8_t)i;
		if (free_number == BP_ALL_INTERFACES && is_for(&cache->own[i].info, 0, 0))
			free_number = i;
	}
	if (free_number == BP_ALL_INTERFACES) {
		refuse(cache, l->vlan, true);
		return BP_NO_INTERFACE;
	}
	cache->own[free_number].info.parent = parent->number;
	cache->own[free_number].info.vlan_id = l->vlan->id;
	return (uint8_t)free_number;
}

void bp_nl_vlan_follow(struct bp_nl_cache *cache, const struct bp_nl_link *l)
{
	struct bp_nl_interface *own = &cache->own[l->number];
	const struct bp_interface_info *from = &l->vlan->info;

	snprintf(own->kernel_name, sizeof(own->kernel_name), "%.*s", IFNAMSIZ - 1, from->name);
	memcpy(own->info.name, from->name, sizeof(own->info.name));
	own->info.flags = from->flags;
	own->info.ifindex = from->ifindex;
	own->info.mtu = from->mtu;
	memcpy(own->info.mac, from->mac, sizeof(own->info.mac));
	bp_nl_interface_publish(cache, l->number);
}

static void reconsider(struct bp_nl_cache *cache, struct bp_nl_link *l, bool dump)
{
	const uint8_t number = bp_nl_vlan_number(cache, l);

	if (number == l->number)
		return;
	if (l->number != BP_NO_INTERFACE)
		bp_nl_interface_leave(cache, l);
	if (number == BP_NO_INTERFACE)
		return;
	bp_nl_interface_enter(cache, l, number, !dump);
	bp_nl_vrf_follow(cache, l, dump);
	bp_nl_vlan_follow(cache, l);
}

void bp_nl_vlans_of(struct bp_nl_cache *cache, const struct bp_nl_link *parent, bool dump)
{
	for (uint32_t b = 0; b < cache->links.buckets; b++)
		for (struct bp_map_node *n = cache->links.bucket[b]; n != NULL; n = n->next) {
			struct bp_nl_link *l = (struct bp_nl_link *)n;

			if (l->vlan != NULL && l->vlan->parent == parent->ifindex && l != parent)
				reconsider(cache, l, dump);
		}
}
