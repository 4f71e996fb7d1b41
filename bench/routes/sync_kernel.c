/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/sync_kernel.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 160u

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(error));
	exit(1);
}

void bench_kernel_open(struct bench_kernel *k)
{
	struct sockaddr_nl self = {.nl_family = AF_NETLINK};
	int size = 8 << 20;

	k->used = 0;
	k->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (k->fd < 0 || bind(k->fd, (struct sockaddr *)&self, sizeof(self)) != 0)
		fail("Netlink", errno);
	setsockopt(k->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

/* Requests without NLM_F_ACK are answered only on failure; all have been processed when send()
 * returns. */
static void check(struct bench_kernel *k)
{
	uint8_t answer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t got;

	while ((got = recv(k->fd, answer, sizeof(answer), MSG_DONTWAIT)) > 0) {
		uint32_t left = (uint32_t)NLMSG_ALIGN((size_t)got);

		for (struct nlmsghdr *h = (struct nlmsghdr *)answer; NLMSG_OK(h, left);
			h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_ERROR && e->error != 0)
				fail("the kernel refuses a request", -e->error);
		}
	}
	if (got < 0 && errno != EAGAIN)
		fail("Netlink", errno);
}

void bench_kernel_flush(struct bench_kernel *k)
{
	if (k->used != 0 && send(k->fd, k->batch, k->used, 0) < 0)
		fail("Netlink", errno);
	k->used = 0;
	check(k);
}

static struct nlmsghdr *begin(struct bench_kernel *k, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *h;

	if (k->used + REQUEST_MAX > sizeof(k->batch))
		bench_kernel_flush(k);
	h = (struct nlmsghdr *)(k->batch + k->used);
	memset(h, 0, REQUEST_MAX);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	return h;
}

static void put(struct nlmsghdr *h, uint16_t type, const void *data, size_t size)
{
	struct rtattr *a = (struct rtattr *)((uint8_t *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(size);
	memcpy(RTA_DATA(a), data, size);
	h->nlmsg_len = (uint32_t)(NLMSG_ALIGN(h->nlmsg_len) + RTA_ALIGN(a->rta_len));
}

static void end(struct bench_kernel *k, const struct nlmsghdr *h)
{
	k->used += NLMSG_ALIGN(h->nlmsg_len);
}

static size_t bytes_of(uint8_t family)
{
	return family == 4 ? 4 : 16;
}

static uint8_t kernel_family(uint8_t family)
{
	return family == 4 ? AF_INET : AF_INET6;
}

void bench_kernel_link_up(struct bench_kernel *k, int ifindex)
{
	struct nlmsghdr *h = begin(k, RTM_NEWLINK, 0, sizeof(struct ifinfomsg));
	struct ifinfomsg *i = NLMSG_DATA(h);

	i->ifi_index = ifindex;
	i->ifi_flags = i->ifi_change = IFF_UP;
	end(k, h);
	bench_kernel_flush(k);
}

void bench_kernel_address(
	struct bench_kernel *k, int ifindex, const struct bp_address *a, uint8_t length)
{
	struct nlmsghdr *h =
		begin(k, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, sizeof(struct ifaddrmsg));
	struct ifaddrmsg *i = NLMSG_DATA(h);

	i->ifa_family = kernel_family(a->family);
	i->ifa_prefixlen = length;
	i->ifa_flags = IFA_F_NODAD;
	i->ifa_index = (uint32_t)ifindex;
	put(h, IFA_LOCAL, a->bytes, bytes_of(a->family));
	put(h, IFA_ADDRESS, a->bytes, bytes_of(a->family));
	end(k, h);
	bench_kernel_flush(k);
}

void bench_kernel_neighbor(struct bench_kernel *k, int ifindex, const struct bp_address *a)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 3, 1};
	struct nlmsghdr *h =
		begin(k, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(struct ndmsg));
	struct ndmsg *n = NLMSG_DATA(h);

	n->ndm_family = kernel_family(a->family);
	n->ndm_ifindex = ifindex;
	n->ndm_state = NUD_PERMANENT;
	put(h, NDA_DST, a->bytes, bytes_of(a->family));
	put(h, NDA_LLADDR, mac, sizeof(mac));
	end(k, h);
	bench_kernel_flush(k);
}

void bench_kernel_route(struct bench_kernel *k, uint16_t type, const struct bp_prefix *p,
	int ifindex, const struct bp_address *gateway)
{
	const uint16_t flags = type == RTM_NEWROUTE ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	struct nlmsghdr *h = begin(k, type, flags, sizeof(struct rtmsg));
	struct rtmsg *r = NLMSG_DATA(h);

	r->rtm_family = kernel_family(p->family);
	r->rtm_dst_len = p->length;
	r->rtm_table = RT_TABLE_MAIN;
	r->rtm_protocol = type == RTM_NEWROUTE ? RTPROT_STATIC : RTPROT_UNSPEC;
	r->rtm_scope = type == RTM_NEWROUTE ? RT_SCOPE_UNIVERSE : RT_SCOPE_NOWHERE;
	r->rtm_type = type == RTM_NEWROUTE ? RTN_UNICAST : RTN_UNSPEC;
	put(h, RTA_DST, p->bytes, bytes_of(p->family));
	if (type == RTM_NEWROUTE) {
		put(h, RTA_OIF, &ifindex, sizeof(ifindex));
		put(h, RTA_GATEWAY, gateway->bytes, bytes_of(gateway->family));
	}
	end(k, h);
}
