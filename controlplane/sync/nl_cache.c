/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/nl_cache.h"

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

struct bp_mirror *bp_mirror_new(const struct bp_config *c)
{
	struct bp_mirror *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->config = c;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *f = bp_config_interface(c, i, &name);

		if (f == NULL || f->backend == BP_BACKEND_OFF)
			continue;
		snprintf(m->own[i].kernel_name, sizeof(m->own[i].kernel_name), "%.*s", IFNAMSIZ - 1,
			f->kernel_name[0] != '\0' ? f->kernel_name : name);
		m->own[i].info.flags = BP_IF_PRESENT;
		snprintf(m->own[i].info.name, sizeof(m->own[i].info.name), "%s", name);
	}
	return m;
}

static void links_free(struct bp_mirror *m)
{
	for (uint32_t b = 0; b < m->links.buckets; b++)
		while (m->links.bucket[b] != NULL) {
			struct bp_map_node *node = m->links.bucket[b];

			m->links.bucket[b] = node->next;
			free(node);
		}
	bp_map_free(&m->links);
}

void bp_mirror_free(struct bp_mirror *m)
{
	if (m == NULL)
		return;
	bp_mirror_routes_free(m);
	bp_mirror_objects_free(m);
	bp_mirror_neighbors_free(m);
	links_free(m);
	free(m);
}

void bp_mirror_answer(struct bp_mirror *m, enum bp_fib_result result)
{
	if (result == BP_FIB_FULL)
		m->full++;
	else if (result == BP_FIB_INVALID)
		m->refused++;
	else if (result == BP_FIB_NO_MEMORY)
		m->no_memory = true;
}

void bp_mirror_message(struct bp_mirror *m, const struct nlmsghdr *h, bool dump)
{
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		bp_mirror_link_message(m, h, dump);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		bp_mirror_address_message(m, h);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		bp_mirror_neighbor_message(m, h);
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		bp_mirror_object_message(m, h);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		bp_mirror_route_message(m, h, dump);
		break;
	default:
		break;
	}
}

void bp_mirror_interface_give(struct bp_mirror *m, unsigned interface)
{
	struct bp_interface_info info = m->own[interface].info;

	if (m->writer == NULL)
		return;
	if (m->settings != NULL && info.flags & BP_IF_KERNEL)
		info.flags |= m->settings[interface];
	bp_mirror_answer(m, bp_fib_interface_set(m->writer, interface, &info));
}

void bp_mirror_give(struct bp_mirror *m, struct bp_fib_writer *writer)
{
	m->writer = writer;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (m->own[i].kernel_name[0] != '\0')
			bp_mirror_interface_give(m, i);
	bp_mirror_neighbors_give(m);
	bp_mirror_objects_give(m);
}
