/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <netlink/msg.h>

#include "config/config.h"
#include "controlplane/sync/nl_cache.h"

/*
 * Messages as rtnetlink may send them, and as it never would: any attributes behind any header. The
 * input is a sequence of messages, each {type and flags, length, bytes}; they are read as a dump or
 * as events, and at the end all entries kept are converted to the form of the forwarding tables.
 */

static const uint16_t types[] = {RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWNEIGH,
	RTM_DELNEIGH, RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, NLMSG_DONE,
	NLMSG_ERROR};

static void message(struct bp_nl_cache *cache, uint8_t kind, const uint8_t *p, size_t n)
{
	const size_t len = NLMSG_HDRLEN + n;
	struct nlmsghdr *h = malloc(len);

	if (h == NULL)
		abort();
	memset(h, 0, NLMSG_HDRLEN);
	h->nlmsg_len = (uint32_t)len;
	h->nlmsg_type = types[(kind & 0x0f) % (sizeof(types) / sizeof(types[0]))];
	h->nlmsg_flags = kind & 0x40 ? NLM_F_REPLACE : 0;
	memcpy((uint8_t *)h + NLMSG_HDRLEN, p, n);
	bp_nl_cache_message(cache, h, (kind & 0x80) != 0);
	free(h);
}

static void translate_all(struct bp_nl_cache *cache)
{
	for (uint32_t b = 0; b < cache->prefixes.buckets; b++) {
		for (struct bp_map_node *n = cache->prefixes.bucket[b]; n != NULL; n = n->next) {
			const struct bp_nl_prefix *p = (const struct bp_nl_prefix *)n;
			struct bp_route r;

			HOLDS(p->length <= (p->family == 4 ? 32 : 128));
			(void)bp_nl_prefix_translate(cache, p, &r);
		}
	}
	for (const struct bp_nl_neighbor *n = cache->oldest; n != NULL; n = n->newer) {
		struct bp_neighbor_info info;

		(void)bp_nl_neighbor_info(cache, n, &info);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bp_config config;
	struct bp_nl_cache *cache;

	/* one interface is ours, so that what leads through it has to be said in the tables' form
	 */
	config.n_ports = 1;
	strcpy(config.port[0].name, "kern0");
	config.port[0].interface.backend = BP_BACKEND_AUTO;
	cache = bp_nl_cache_new(&config);
	if (cache == NULL)
		abort();
	while (size >= 2) {
		size_t n = data[1] < size - 2 ? data[1] : size - 2;

		message(cache, data[0], data + 2, n);
		data += 2 + n;
		size -= 2 + n;
	}
	for (uint32_t ifindex = 0; ifindex < 8; ifindex++) {
		const struct bp_nl_link *l = bp_nl_link_find(cache, ifindex);

		HOLDS(l == NULL || l->ifindex == ifindex);
	}
	translate_all(cache);
	bp_nl_cache_free(cache);
	return 0;
}
