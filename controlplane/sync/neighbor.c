/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/sync/nl_cache.h"

/* RTM_NEWNEIGH and RTM_DELNEIGH: rtnetlink(7), linux/neighbour.h. */

#define NUD_HAS_MAC (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_NOARP | NUD_PERMANENT)

static uint64_t neighbor_hash(unsigned interface, const struct bp_address *a)
{
	uint8_t key[18];

	memcpy(key, a->bytes, sizeof(a->bytes));
	key[16] = a->family;
	key[17] = (uint8_t)interface;
	return bp_map_hash(key, sizeof(key));
}

static struct bp_nl_neighbor *find(
	const struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a)
{
	const uint64_t hash = neighbor_hash(interface, a);

	for (struct bp_map_node *n = bp_map_chain(&cache->neighbors, hash); n != NULL;
		n = n->next) {
		struct bp_nl_neighbor *nb = (struct bp_nl_neighbor *)n;

		if (n->hash == hash && nb->interface == interface &&
			memcmp(&nb->address, a, sizeof(*a)) == 0)
			return nb;
	}
	return NULL;
}

static void forget(struct bp_nl_cache *cache, struct bp_nl_neighbor *nb)
{
	bp_map_remove(&cache->neighbors, &nb->node);
	*(nb->older != NULL ? &nb->older->newer : &cache->oldest) = nb->newer;
	*(nb->newer != NULL ? &nb->newer->older : &cache->newest) = nb->older;
	free(nb);
}

static struct bp_nl_neighbor *ensure(
	struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a)
{
	struct bp_nl_neighbor *nb = find(cache, interface, a);

	if (nb != NULL)
		return nb;
	nb = calloc(1, sizeof(*nb));
	if (nb == NULL ||
		bp_map_add(&cache->neighbors, &nb->node, neighbor_hash(interface, a)) != 0) {
		free(nb);
		cache->no_memory = true;
		return NULL;
	}
	nb->address = *a;
	nb->interface = (uint8_t)interface;
	nb->older = cache->newest;
	*(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = nb;
	cache->newest = nb;
	return nb;
}

/* A static neighbor of the file overrides the kernel's entry. */
static bool is_static(
	const struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a)
{
	const struct bp_config_static *s = &cache->config->fixed;

	for (uint32_t i = 0; i < s->n_neighbors; i++)
		if (s->neighbor[i].interface == interface &&
			s->neighbor[i].address.family == a->family &&
			memcmp(s->neighbor[i].address.bytes, a->bytes, sizeof(a->bytes)) == 0)
			return true;
	return false;
}

bool bp_nl_neighbor_info(const struct bp_nl_cache *cache, const struct bp_nl_neighbor *nb,
	struct bp_neighbor_info *out)
{
	if (is_static(cache, nb->interface, &nb->address))
		return false;
	memset(out, 0, sizeof(*out));
	out->address = nb->address;
	out->interface = nb->interface;
	/* BP_NEIGHBOR_PERMANENT is for entries of the file; a permanent entry of the kernel can
	 * change there. */
	out->state = BP_NEIGHBOR_REACHABLE;
	memcpy(out->mac, nb->mac, sizeof(out->mac));
	return true;
}

static void publish(struct bp_nl_cache *cache, const struct bp_nl_neighbor *nb)
{
	struct bp_neighbor_info info;

	if (cache->writer != NULL && bp_nl_neighbor_info(cache, nb, &info))
		bp_nl_cache_fib_result(
			cache, bp_fib_neighbor_set(cache->writer, info.interface, &info.address,
				       info.mac, (enum bp_neighbor_state)info.state));
}

static void give_absence(struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a)
{
	if (cache->writer != NULL && !is_static(cache, interface, a))
		bp_nl_cache_fib_result(cache, bp_fib_neighbor_delete(cache->writer, interface, a));
}

void bp_nl_neighbors_publish(struct bp_nl_cache *cache)
{
	for (struct bp_nl_neighbor *nb = cache->oldest; nb != NULL; nb = nb->newer)
		publish(cache, nb);
}

void bp_nl_neighbors_delete(struct bp_nl_cache *cache, unsigned interface)
{
	for (struct bp_nl_neighbor *nb = cache->oldest, *newer; nb != NULL; nb = newer) {
		newer = nb->newer;
		if (nb->interface != interface)
			continue;
		give_absence(cache, interface, &nb->address);
		forget(cache, nb);
	}
}

void bp_nl_neighbors_free(struct bp_nl_cache *cache)
{
	while (cache->oldest != NULL)
		forget(cache, cache->oldest);
	bp_map_free(&cache->neighbors);
}

/* Group addresses have entries too; no packet to them is forwarded with a neighbor's MAC
 * address. */
static bool is_group(const struct bp_address *a)
{
	return a->family == 4 ? a->bytes[0] >= 224 : a->bytes[0] == 0xff;
}

static bool broadcast_entry(uint16_t nud, const struct nlattr *mac)
{
	return nud == NUD_NOARP && mac != NULL && nla_len(mac) == 6 &&
	       (*(const uint8_t *)nla_data(mac) & 1) != 0;
}

static void neighbor_is(struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a,
	uint16_t nud, const struct nlattr *mac)
{
	struct bp_nl_neighbor *nb;

	nb = ensure(cache, interface, a);
	if (nb == NULL)
		return;
	nb->nud = nud;
	memcpy(nb->mac, nla_data(mac), sizeof(nb->mac));
	publish(cache, nb);
}

static void neighbor_is_not(
	struct bp_nl_cache *cache, unsigned interface, const struct bp_address *a)
{
	struct bp_nl_neighbor *nb = find(cache, interface, a);

	if (nb == NULL)
		return;
	give_absence(cache, interface, a);
	forget(cache, nb);
}

void bp_nl_neighbor_message(struct bp_nl_cache *cache, const struct nlmsghdr *h)
{
	struct nlattr *tb[NDA_MAX + 1];
	const struct ndmsg *nd = nlmsg_data(h);
	const struct bp_nl_link *l;
	struct bp_address a;
	const int len = nlmsg_datalen(h) >= (int)sizeof(*nd) && nd->ndm_family == AF_INET ? 4 : 16;
	bool has_mac;

	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, sizeof(*nd), tb, NDA_MAX, NULL) < 0 ||
		(nd->ndm_family != AF_INET && nd->ndm_family != AF_INET6) ||
		(nd->ndm_flags & NTF_PROXY) != 0 || tb[NDA_DST] == NULL ||
		nla_len(tb[NDA_DST]) != len)
		return;
	l = bp_nl_link_find(cache, (uint32_t)nd->ndm_ifindex);
	if (l == NULL || l->number == BP_NO_INTERFACE)
		return;
	a = len == 4 ? bp_address4(nla_data(tb[NDA_DST])) : bp_address6(nla_data(tb[NDA_DST]));
	if (is_group(&a) || broadcast_entry(nd->ndm_state, tb[NDA_LLADDR]))
		return;
	has_mac = (nd->ndm_state & NUD_HAS_MAC) != 0 && tb[NDA_LLADDR] != NULL &&
		  nla_len(tb[NDA_LLADDR]) == 6;
	/* a failed or incomplete neighbor is not an entry of the data plane: its packets go to the
	 * kernel, which resolves the address */
	if (h->nlmsg_type == RTM_NEWNEIGH && has_mac)
		neighbor_is(cache, l->number, &a, nd->ndm_state, tb[NDA_LLADDR]);
	else
		neighbor_is_not(cache, l->number, &a);
}
