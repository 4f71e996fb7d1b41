/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/nl_cache.h"

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

struct bp_nl_cache *bp_nl_cache_new(const struct bp_config *c)
{
	struct bp_nl_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->config = c;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *f = bp_config_interface(c, i, &name);

		if (f == NULL || f->backend == BP_BACKEND_OFF)
			continue;
		snprintf(cache->own[i].kernel_name, sizeof(cache->own[i].kernel_name), "%.*s",
			IFNAMSIZ - 1, f->kernel_name[0] != '\0' ? f->kernel_name : name);
		cache->own[i].info.flags = BP_IF_PRESENT;
		snprintf(cache->own[i].info.name, sizeof(cache->own[i].info.name), "%s", name);
	}
	return cache;
}

static void links_free(struct bp_nl_cache *cache)
{
	for (uint32_t b = 0; b < cache->links.buckets; b++)
		while (cache->links.bucket[b] != NULL) {
			struct bp_map_node *node = cache->links.bucket[b];

			cache->links.bucket[b] = node->next;
			free(((struct bp_nl_link *)node)->vlan);
			free(node);
		}
	bp_map_free(&cache->links);
}

void bp_nl_cache_free(struct bp_nl_cache *cache)
{
	if (cache == NULL)
		return;
	bp_nl_routes_free(cache);
	bp_nl_nh_objects_free(cache);
	bp_nl_neighbors_free(cache);
	links_free(cache);
	free(cache);
}

void bp_nl_cache_fib_result(struct bp_nl_cache *cache, enum bp_fib_result result)
{
	if (result == BP_FIB_FULL)
		cache->full++;
	else if (result == BP_FIB_INVALID)
		cache->refused++;
	else if (result == BP_FIB_NO_MEMORY)
		cache->no_memory = true;
}

void bp_nl_cache_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump)
{
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		bp_nl_link_message(cache, h, dump);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		bp_nl_address_message(cache, h);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		bp_nl_neighbor_message(cache, h);
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		bp_nl_nh_object_message(cache, h);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		bp_nl_route_message(cache, h, dump);
		break;
	default:
		break;
	}
}

void bp_nl_interface_publish(struct bp_nl_cache *cache, unsigned interface)
{
	struct bp_interface_info info = cache->own[interface].info;

	if (cache->writer == NULL)
		return;
	if (cache->settings != NULL && info.flags & BP_IF_KERNEL)
		info.flags |= cache->settings[interface];
	bp_nl_cache_fib_result(cache, bp_fib_interface_set(cache->writer, interface, &info));
}

void bp_nl_cache_publish(struct bp_nl_cache *cache, struct bp_fib_writer *writer)
{
	cache->writer = writer;
	bp_nl_vrfs_publish(cache);
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++)
		if (cache->own[i].kernel_name[0] != '\0' || cache->own[i].info.vlan_id != 0)
			bp_nl_interface_publish(cache, i);
	bp_nl_neighbors_publish(cache);
	bp_nl_nh_objects_publish(cache);
}
