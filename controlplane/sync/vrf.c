/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/sync/nl_cache.h"

/*
 * VRFs: `ip link add blue type vrf table 10`, `ip link set lan master blue`. The link of a VRF
 * device has its table, and so has that of each interface in the VRF, in IFLA_LINKINFO
 * (linux/if_link.h). A table gets a number with the first interface of ours in it. The number stays
 * reserved, as that of a subinterface, until the next load is written: routes may refer to it.
 */

uint8_t bp_nl_vrf_of_table(const struct bp_nl_cache *cache, uint32_t table)
{
	for (unsigned n = 1; table != 0 && n <= BP_MAX_VRFS; n++)
		if (cache->vrf[n].table == table && cache->vrf[n].used)
			return (uint8_t)n;
	return BP_VRF_MAIN;
}

void bp_nl_vrfs_adopt_table(struct bp_nl_cache *cache, const struct bp_fib *f)
{
	cache->vrfs = bp_fib_vrfs(f);
	for (unsigned n = 1; n <= cache->vrfs; n++) {
		struct bp_vrf_info info;

		if (bp_fib_vrf(f, n, &info))
			cache->vrf[n].table = info.table;
	}
}

void bp_nl_vrfs_adopt(struct bp_nl_cache *cache, const struct bp_nl_cache *old, bool all)
{
	cache->vrfs = old->vrfs;
	for (unsigned n = 1; n <= BP_MAX_VRFS; n++)
		if (all || old->vrf[n].used)
			cache->vrf[n].table = old->vrf[n].table;
}

static void publish(struct bp_nl_cache *cache, unsigned n)
{
	struct bp_vrf_info info = {.table = cache->vrf[n].table};

	memcpy(info.name, cache->vrf[n].name, sizeof(info.name));
	if (cache->writer != NULL)
		bp_nl_cache_fib_result(cache, bp_fib_vrf_set(cache->writer, n, &info));
}

void bp_nl_vrfs_publish(struct bp_nl_cache *cache)
{
	for (unsigned n = 1; n <= cache->vrfs; n++)
		publish(cache, n);
}

bool bp_nl_vrfs_waiting(const struct bp_nl_cache *cache)
{
	for (unsigned n = 1; cache->vrfs_refused != 0 && n <= BP_MAX_VRFS; n++)
		if (!cache->vrf[n].used && cache->vrf[n].table != 0)
			return true;
	return false;
}

/* ---- devices ---- */

static void set_device(struct bp_nl_cache *cache, unsigned n, const struct bp_nl_link *l)
{
	_Static_assert(sizeof(cache->vrf[n].name) == sizeof(l->vrf_name), "of an interface");
	memcpy(cache->vrf[n].name, l->vrf_name, sizeof(l->vrf_name));
	cache->vrf[n].ifindex = l->ifindex;
	cache->vrfs_changed = true;
	publish(cache, n);
}

/* A VRF device may be reported after the interfaces in it, and may be renamed. */
static void read_device(
	struct bp_nl_cache *cache, struct bp_nl_link *l, uint32_t table, const struct nlattr *name)
{
	const uint8_t n = bp_nl_vrf_of_table(cache, table);

	l->vrf_device = table;
	snprintf(l->vrf_name, sizeof(l->vrf_name), "%s", table != 0 ? nla_get_string(name) : "");
	if (n != BP_VRF_MAIN && (cache->vrf[n].ifindex != l->ifindex ||
					strcmp(cache->vrf[n].name, l->vrf_name) != 0))
		set_device(cache, n, l);
}

/* NULL: not reported yet. */
static const struct bp_nl_link *device_of(const struct bp_nl_cache *cache, uint32_t table)
{
	for (uint32_t b = 0; b < cache->links.buckets; b++)
		for (struct bp_map_node *at = cache->links.bucket[b]; at != NULL; at = at->next) {
			const struct bp_nl_link *l = (struct bp_nl_link *)at;

			if (l->known && l->vrf_device == table)
				return l;
		}
	return NULL;
}

const char *bp_nl_vrf_device(const struct bp_nl_cache *cache, unsigned interface)
{
	const struct bp_nl_interface *own = &cache->own[interface];
	const struct bp_nl_link *l;

	if (own->info.vrf <= BP_MAX_VRFS)
		return own->info.vrf != BP_VRF_MAIN ? cache->vrf[own->info.vrf].name : "";
	l = bp_nl_link_find(cache, own->ifindex);
	l = l != NULL ? device_of(cache, l->vrf_table) : NULL;
	return l != NULL ? l->vrf_name : "";
}

/* ---- links ---- */

static uint32_t table_of(const struct nlattr *data, int attribute)
{
	struct nlattr *tb[IFLA_VRF_MAX + 1];

	_Static_assert((int)IFLA_VRF_MAX >= (int)IFLA_VRF_PORT_TABLE, "for both");
	if (data == NULL ||
		nla_parse_nested(tb, IFLA_VRF_MAX, (struct nlattr *)(uintptr_t)data, NULL) < 0 ||
		tb[attribute] == NULL || nla_len(tb[attribute]) != (int)sizeof(uint32_t))
		return 0;
	return nla_get_u32(tb[attribute]);
}

static bool is_vrf(const struct nlattr *kind)
{
	return kind != NULL && nla_strcmp(kind, "vrf") == 0;
}

void bp_nl_vrf_read(struct bp_nl_cache *cache, struct bp_nl_link *l, struct nlattr *const *tb)
{
	struct nlattr *info[IFLA_INFO_MAX + 1] = {NULL};
	uint32_t device = 0;

	l->vrf_table = 0;
	if (tb[IFLA_LINKINFO] != NULL &&
		nla_parse_nested(info, IFLA_INFO_MAX, tb[IFLA_LINKINFO], NULL) >= 0) {
		if (is_vrf(info[IFLA_INFO_KIND]))
			device = table_of(info[IFLA_INFO_DATA], IFLA_VRF_TABLE);
		if (tb[IFLA_MASTER] != NULL && is_vrf(info[IFLA_INFO_SLAVE_KIND]))
			l->vrf_table = table_of(info[IFLA_INFO_SLAVE_DATA], IFLA_VRF_PORT_TABLE);
	}
	if (device != 0 || l->vrf_device != 0)
		read_device(cache, l, device, tb[IFLA_IFNAME]);
}

/* Returns the number of a table, and assigns one if necessary. */
static uint8_t number_of(struct bp_nl_cache *cache, uint32_t table)
{
	const struct bp_nl_link *device;
	unsigned free_number = 0;

	if (table == 0 || table == cache->config->netlink.route_table)
		return BP_VRF_MAIN;
	if (table == RT_TABLE_LOCAL)
		return BP_VRF_KERNEL;
	for (unsigned n = BP_MAX_VRFS; n >= 1; n--) {
		if (cache->vrf[n].table == table) {
			free_number = n;
			break;
		}
		if (cache->vrf[n].table == 0)
			free_number = n;
	}
	if (free_number == 0)
		return BP_VRF_KERNEL;
	if (!cache->vrf[free_number].used) {
		cache->vrf[free_number].table = table;
		cache->vrf[free_number].used = true;
		if (cache->vrfs < free_number)
			cache->vrfs = free_number;
		publish(cache, free_number);
		device = device_of(cache, table);
		if (device != NULL)
			set_device(cache, free_number, device);
	}
	return (uint8_t)free_number;
}

static void count_refused(struct bp_nl_cache *cache, struct bp_interface_info *info, uint8_t now)
{
	cache->vrfs_refused += (now == BP_VRF_KERNEL) - (uint32_t)(info->vrf == BP_VRF_KERNEL);
}

void bp_nl_vrf_leave(struct bp_nl_cache *cache, unsigned interface)
{
	count_refused(cache, &cache->own[interface].info, BP_VRF_MAIN);
	cache->own[interface].info.vrf = BP_VRF_MAIN;
	cache->own[interface].info.vrf_table = 0;
}

/*
 * When an interface enters or leaves a VRF, the kernel sets it down and up again: it moves the
 * connected routes without an event, and the table of the VRF may have routes already.
 */
void bp_nl_vrf_follow(struct bp_nl_cache *cache, const struct bp_nl_link *l, bool dump)
{
	struct bp_nl_interface *own = &cache->own[l->number];
	const uint8_t now = number_of(cache, l->vrf_table);
	const uint32_t table = now != BP_VRF_MAIN ? l->vrf_table : 0;

	if (now == own->info.vrf && table == own->info.vrf_table)
		return;
	count_refused(cache, &own->info, now);
	own->info.vrf = now;
	own->info.vrf_table = table;
	cache->vrfs_changed = true;
	if (!dump)
		bp_nl_cache_invalidate(cache, "an interface entered or left a VRF");
}
