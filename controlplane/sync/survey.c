/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/survey.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/sync/netlink.h"

/* Timeout of an answer. */
#define ANSWER_MS 10000
/* Maximum number of repetitions of a dump that changes interrupted. */
#define REPEATS 10u

static bool read_address(const struct nlattr *a, struct bp_address *out)
{
	const int len = nla_len(a);

	if (len == 4)
		*out = bp_address4(nla_data(a));
	else if (len == 16)
		*out = bp_address6(nla_data(a));
	return len == 4 || len == 16;
}

static void take_address(const struct bp_survey *s, struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct nlattr *tb[IFA_MAX + 1];
	struct bp_address address;

	if (nlmsg_parse(h, sizeof(*m), tb, IFA_MAX, NULL) < 0)
		return;

	/* if both are given, IFA_ADDRESS is the remote end of a point-to-point link */
	const struct nlattr *a = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];

	if (a && read_address(a, &address))
		s->address(s->arg, m->ifa_index, &address, m->ifa_prefixlen);
}

static void take_hops(const struct bp_survey *s, const struct bp_prefix *to, uint32_t table,
	const struct nlattr *multipath)
{
	const struct rtnexthop *hop = nla_data(multipath);
	int left = nla_len(multipath);

	for (; left >= (int)sizeof(*hop) && RTNH_OK(hop, left); hop = RTNH_NEXT(hop)) {
		s->way(s->arg, to, table, (uint32_t)hop->rtnh_ifindex);
		left -= (int)NLMSG_ALIGN(hop->rtnh_len);
	}
}

static void take_route(const struct bp_survey *s, struct nlmsghdr *h)
{
	const struct rtmsg *m = nlmsg_data(h);
	struct bp_address address = {.family = m->rtm_family == AF_INET ? 4 : 6};
	struct nlattr *tb[RTA_MAX + 1];
	struct bp_prefix to;
	uint32_t table;

	if ((m->rtm_family != AF_INET && m->rtm_family != AF_INET6) || m->rtm_type != RTN_UNICAST ||
		(m->rtm_flags & RTM_F_CLONED) || nlmsg_parse(h, sizeof(*m), tb, RTA_MAX, NULL) < 0)
		return;
	if (tb[RTA_DST] && !read_address(tb[RTA_DST], &address))
		return;
	to = bp_prefix_of(address, m->rtm_dst_len);
	table = tb[RTA_TABLE] ? nla_get_u32(tb[RTA_TABLE]) : m->rtm_table;
	if (tb[RTA_MULTIPATH])
		take_hops(s, &to, table, tb[RTA_MULTIPATH]);
	else
		s->way(s->arg, &to, table, tb[RTA_OIF] ? nla_get_u32(tb[RTA_OIF]) : 0);
}

/* Returns 1 when the dump continues after this receive, 0 at its end, or -errno. *interrupted: the
 * tables changed during the dump, and entries may be missing. */
static int take(
	const struct bp_survey *s, const struct bp_netlink *n, ssize_t got, bool *interrupted)
{
	int left = (int)got;

	for (struct nlmsghdr *h = (struct nlmsghdr *)n->buffer; nlmsg_ok(h, left);
		h = nlmsg_next(h, &left)) {
		if (h->nlmsg_seq != n->seq)
			continue;
		*interrupted |= (h->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return nlmsg_datalen(h) >= (int)sizeof(int)
				       ? ((const struct nlmsgerr *)nlmsg_data(h))->error
				       : -EBADMSG;
		if (h->nlmsg_type == RTM_NEWADDR)
			take_address(s, h);
		else if (h->nlmsg_type == RTM_NEWROUTE)
			take_route(s, h);
	}
	return 1;
}

static int dump_once(const struct bp_survey *s, struct bp_netlink *n, enum bp_netlink_dump what,
	bool *interrupted)
{
	struct pollfd p = {.fd = n->fd, .events = POLLIN};
	int result = bp_netlink_dump(n, what);

	if (result == 0)
		result = 1;
	while (result > 0) {
		ssize_t got;

		if (poll(&p, 1, ANSWER_MS) == 0)
			return -ETIMEDOUT;
		got = bp_netlink_receive(n);
		if (got < 0)
			return (int)got;
		if (got > 0)
			result = take(s, n, got, interrupted);
	}
	return result;
}

/* Repeated while changes interrupt it: a duplicate entry is harmless, a missing one is not. */
static int dump(const struct bp_survey *s, struct bp_netlink *n, enum bp_netlink_dump what)
{
	for (unsigned repeats = 0; repeats < REPEATS; repeats++) {
		bool interrupted = false;
		const int result = dump_once(s, n, what, &interrupted);

		if (result != 0 || !interrupted)
			return result;
	}
	return -EAGAIN;
}

int bp_survey_kernel(const struct bp_survey *s, char *err, size_t err_size)
{
	static const enum bp_netlink_dump what[] = {
		BP_DUMP_ADDRESSES, BP_DUMP_ROUTES4, BP_DUMP_ROUTES6};
	struct bp_netlink n;
	int result;

	if (bp_netlink_open(&n, err, err_size) != 0)
		return -1;
	for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		result = dump(s, &n, what[i]);
		/* a kernel without IPv6 has no IPv6 routes */
		if (result != 0 && !(what[i] == BP_DUMP_ROUTES6 && result == -EOPNOTSUPP)) {
			snprintf(err, err_size, "cannot read the kernel's %s: %s",
				bp_netlink_dump_name[what[i]], strerror(-result));
			bp_netlink_close(&n);
			return -1;
		}
	}
	bp_netlink_close(&n);
	return 0;
}
