/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/* RTM_NEWADDR and RTM_DELADDR: rtnetlink(7), linux/if_addr.h. */

static int find(const struct bp_interface_info *info, const struct bp_interface_address *a)
{
	for (int k = 0; k < info->n_addresses; k++)
		if (memcmp(&info->address[k], a, sizeof(*a)) == 0)
			return k;
	return -1;
}

/* Sorts by family, address and length: events and dumps have different orders. */
static bool before(const struct bp_interface_address *a, const struct bp_interface_address *b)
{
	int by_bytes = memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));

	if (a->address.family != b->address.family)
		return a->address.family < b->address.family;
	return by_bytes != 0 ? by_bytes < 0 : a->length < b->length;
}

static void add(struct bp_nl_interface *own, const struct bp_interface_address *a)
{
	struct bp_interface_info *info = &own->info;
	unsigned k = info->n_addresses;

	if (find(info, a) >= 0)
		return;
	if (k == BP_ADDRESSES_MAX) {
		own->unshown++;
		return;
	}
	for (; k > 0 && before(a, &info->address[k - 1]); k--)
		info->address[k] = info->address[k - 1];
	info->address[k] = *a;
	info->n_addresses++;
}

static void remove_address(struct bp_nl_cache *cache, struct bp_nl_interface *own,
	const struct bp_interface_address *a)
{
	struct bp_interface_info *info = &own->info;
	int k = find(info, a);

	if (k < 0)
		return;
	info->n_addresses--;
	memmove(&info->address[k], &info->address[k + 1],
		(size_t)(info->n_addresses - k) * sizeof(info->address[0]));
	memset(&info->address[info->n_addresses], 0, sizeof(info->address[0]));
	if (own->unshown > 0) /* an address that did not fit may fit now */
		bp_nl_cache_invalidate(cache, "an interface has fewer addresses");
}

/* An IPv6 address is valid after duplicate address detection (RFC 4862, 5.4): the kernel sends an
 * event then; a dump contains the address earlier. */
static bool is_tentative(const struct ifaddrmsg *ifa, const struct nlattr *wide)
{
	uint32_t flags = wide != NULL ? nla_get_u32(wide) : ifa->ifa_flags;

	return (flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0;
}

static bool read_address(const struct nlmsghdr *h, struct bp_interface_address *out)
{
	const struct ifaddrmsg *ifa = nlmsg_data(h);
	struct nlattr *tb[IFA_MAX + 1], *own;
	const int len = ifa->ifa_family == AF_INET ? 4 : 16;

	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, sizeof(*ifa), tb, IFA_MAX, NULL) < 0 ||
		(ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return false;
	/* on a point-to-point interface IFA_ADDRESS is the address of the peer */
	own = tb[IFA_LOCAL] != NULL ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	if (own == NULL || nla_len(own) != len || ifa->ifa_prefixlen > 8 * len)
		return false;
	if (h->nlmsg_type == RTM_NEWADDR && is_tentative(ifa, tb[IFA_FLAGS]))
		return false;
	memset(out, 0, sizeof(*out));
	out->address = len == 4 ? bp_address4(nla_data(own)) : bp_address6(nla_data(own));
	out->length = ifa->ifa_prefixlen;
	return true;
}

static bool has_ip4(const struct bp_nl_interface *own)
{
	for (int k = 0; k < own->info.n_addresses; k++)
		if (own->info.address[k].address.family == 4)
			return true;
	return false;
}

/* The kernel removes an interface's IPv4 routes with its last IPv4 address, without an event. For
 * interfaces that biplane does not use, the cache does not know which address is the last. */
static void ip4_removed(struct bp_nl_cache *cache, const struct bp_nl_link *l)
{
	if (l->uses != 0 && (l->number == BP_NO_INTERFACE || !has_ip4(&cache->own[l->number])))
		bp_nl_cache_invalidate(cache, "an interface that routes use lost an IPv4 address");
}

void bp_nl_address_message(struct bp_nl_cache *cache, const struct nlmsghdr *h)
{
	struct bp_interface_address a;
	const struct ifaddrmsg *ifa = nlmsg_data(h);
	struct bp_nl_link *l;

	if (nlmsg_datalen(h) < (int)sizeof(*ifa) || !read_address(h, &a))
		return;
	/* Routes with this preferred source are removed with the address, without an event. */
	if (h->nlmsg_type == RTM_DELADDR && cache->preferred > 0)
		bp_nl_cache_invalidate(cache, "a preferred source address of routes was removed");
	l = bp_nl_link_find(cache, ifa->ifa_index);
	if (l == NULL)
		return;
	if (l->number != BP_NO_INTERFACE) {
		if (h->nlmsg_type == RTM_NEWADDR)
			add(&cache->own[l->number], &a);
		else
			remove_address(cache, &cache->own[l->number], &a);
		bp_nl_interface_publish(cache, l->number);
	}
	if (h->nlmsg_type == RTM_DELADDR && a.address.family == 4)
		ip4_removed(cache, l);
}
