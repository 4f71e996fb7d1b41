/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Timeout of an answer. */
#define ANSWER_MS 5000

const char *const bp_netlink_dump_name[BP_DUMPS] = {
	"links", "addresses", "next-hop objects", "neighbors", "IPv4 routes", "IPv6 routes"};

int bp_netlink_open(struct bp_netlink *n, char *err, size_t err_size)
{
	int yes = 1, error;

	memset(n, 0, sizeof(*n));
	n->fd = -1;
	n->sock = nl_socket_alloc();
	n->buffer = malloc(BP_NETLINK_BUFFER);
	if (n->sock == NULL || n->buffer == NULL) {
		snprintf(err, err_size, "not enough memory for a Netlink socket");
		bp_netlink_close(n);
		return -1;
	}
	error = nl_connect(n->sock, NETLINK_ROUTE);
	if (error < 0) {
		snprintf(err, err_size, "cannot open a Netlink socket: %s", nl_geterror(error));
		bp_netlink_close(n);
		return -1;
	}
	nl_socket_set_nonblocking(n->sock);
	n->fd = nl_socket_get_fd(n->sock);
	/* Dumps then contain only the requested objects (above all no cached routes), and errors
	 * have no copy of the request. Older kernels without these options only send more data. */
	setsockopt(n->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes));
	setsockopt(n->fd, SOL_NETLINK, NETLINK_CAP_ACK, &yes, sizeof(yes));
	return 0;
}

void bp_netlink_close(struct bp_netlink *n)
{
	nl_socket_free(n->sock);
	free(n->buffer);
	*n = (struct bp_netlink){.fd = -1};
}

int bp_netlink_subscribe(struct bp_netlink *n, char *err, size_t err_size)
{
	static const int group[] = {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR,
		RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_NETCONF,
		RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP};

	for (unsigned i = 0; i < sizeof(group) / sizeof(group[0]); i++) {
		int error = nl_socket_add_membership(n->sock, group[i]);

		/* a kernel before 5.3 has no next-hop objects, so there are none to dump */
		if (error < 0 && group[i] != RTNLGRP_NEXTHOP) {
			snprintf(err, err_size, "cannot subscribe to Netlink group %d: %s",
				group[i], nl_geterror(error));
			return -1;
		}
	}
	return 0;
}

uint32_t bp_netlink_receive_buffer(struct bp_netlink *n, uint32_t bytes)
{
	/* the kernel doubles the requested size for its overhead, and returns the doubled size */
	int half = (int)(bytes / 2 > INT32_MAX / 2 ? INT32_MAX / 2 : bytes / 2), got = 0;
	socklen_t len = sizeof(got);

	if (setsockopt(n->fd, SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)) != 0)
		setsockopt(n->fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
	getsockopt(n->fd, SOL_SOCKET, SO_RCVBUF, &got, &len);
	return (uint32_t)got;
}

static struct nl_msg *message_new(struct bp_netlink *n, uint16_t type, int flags)
{
	struct nl_msg *m = nlmsg_alloc_simple(type, flags);

	if (m != NULL) {
		nlmsg_hdr(m)->nlmsg_seq = ++n->seq;
		nlmsg_hdr(m)->nlmsg_pid = nl_socket_get_local_port(n->sock);
	}
	return m;
}

int bp_netlink_dump(struct bp_netlink *n, enum bp_netlink_dump what)
{
	static const uint16_t type[BP_DUMPS] = {
		RTM_GETLINK, RTM_GETADDR, RTM_GETNEXTHOP, RTM_GETNEIGH, RTM_GETROUTE, RTM_GETROUTE};
	static const struct ifinfomsg link;
	static const struct ifaddrmsg address;
	static const struct nhmsg object;
	static const struct ndmsg neighbor;
	static const struct rtmsg route4 = {.rtm_family = AF_INET};
	static const struct rtmsg route6 = {.rtm_family = AF_INET6};
	static const struct {
		const void *p;
		int len;
	} header[BP_DUMPS] = {{&link, sizeof(link)}, {&address, sizeof(address)},
		{&object, sizeof(object)}, {&neighbor, sizeof(neighbor)}, {&route4, sizeof(route4)},
		{&route6, sizeof(route6)}};
	struct nl_msg *m = message_new(n, type[what], NLM_F_REQUEST | NLM_F_DUMP);

	if (m == NULL)
		return -ENOMEM;
	if (nlmsg_append(m, (void *)(uintptr_t)header[what].p, (size_t)header[what].len,
		    NLMSG_ALIGNTO) < 0 ||
		(what == BP_DUMP_LINKS &&
			nla_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) < 0)) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	/* message_new() has set the sequence number */
	ssize_t sent = send(n->fd, nlmsg_hdr(m), nlmsg_hdr(m)->nlmsg_len, 0);

	nlmsg_free(m);
	return sent < 0 ? -errno : 0;
}

ssize_t bp_netlink_receive(struct bp_netlink *n)
{
	for (;;) {
		struct sockaddr_nl from = {0};
		struct iovec iov = {.iov_base = n->buffer, .iov_len = BP_NETLINK_BUFFER};
		struct msghdr m = {.msg_name = &from,
			.msg_namelen = sizeof(from),
			.msg_iov = &iov,
			.msg_iovlen = 1};
		ssize_t got = recvmsg(n->fd, &m, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		if (m.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		/* messages of other processes are not from the kernel */
		if (got > 0 && from.nl_pid == 0)
			return got;
	}
}

static int send_message(struct bp_netlink *n, struct nl_msg *message, int flags)
{
	struct nlmsghdr *h = nlmsg_hdr(message);
	ssize_t sent;

	h->nlmsg_seq = ++n->seq;
	h->nlmsg_pid = nl_socket_get_local_port(n->sock);
	h->nlmsg_flags |= (uint16_t)(NLM_F_REQUEST | flags);
	do
		sent = send(n->fd, h, h->nlmsg_len, 0);
	while (sent < 0 && errno == EINTR);
	nlmsg_free(message);
	return sent < 0 ? -errno : 0;
}

/* Returns the answer to request n->seq among the received messages; 1 when it is not there. */
static int find_answer(const struct bp_netlink *n, ssize_t got)
{
	int left = (int)got;

	for (struct nlmsghdr *h = (struct nlmsghdr *)n->buffer; nlmsg_ok(h, left);
		h = nlmsg_next(h, &left)) {
		const struct nlmsgerr *e = nlmsg_data(h);

		if (h->nlmsg_seq != n->seq)
			continue;
		if (h->nlmsg_type != NLMSG_ERROR)
			return 0; /* the requested object */
		return nlmsg_datalen(h) >= (int)sizeof(e->error) ? e->error : -EBADMSG;
	}
	return 1;
}

int bp_netlink_request(struct bp_netlink *n, struct nl_msg *message)
{
	int result = send_message(n, message, NLM_F_ACK);
	struct pollfd p = {.fd = n->fd, .events = POLLIN};

	while (result == 0) {
		ssize_t got = bp_netlink_receive(n);

		if (got < 0)
			return (int)got;
		if (got == 0 && poll(&p, 1, ANSWER_MS) == 0)
			return -ETIMEDOUT;
		if (got == 0)
			continue;
		result = find_answer(n, got);
		if (result <= 0)
			return result;
		result = 0;
	}
	return result;
}

int bp_netlink_send(struct bp_netlink *n, struct nl_msg *message)
{
	return send_message(n, message, 0);
}
