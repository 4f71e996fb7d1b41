/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/kernel_link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	struct rtattr attribute; /* at most one attribute, of at most 8 bytes */
	uint8_t value[8];
};

union answer {
	struct nlmsghdr head;
	uint8_t bytes[32768]; /* maximum length of a kernel answer */
};

/*
 * Sends the request and waits for the answer, which the kernel sends immediately. Returns 0 or an
 * errno.
 */
static int ask(struct request *q, union answer *a)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int error = EBADMSG;
	ssize_t n = -1;

	if (fd < 0)
		return errno;
	if (send(fd, q, q->head.nlmsg_len, 0) >= 0)
		do
			n = recv(fd, a, sizeof(*a), 0);
		while (n < 0 && errno == EINTR);
	if (n < 0)
		error = errno;
	close(fd);
	if (n < 0 || !NLMSG_OK(&a->head, (size_t)n))
		return error;
	if (a->head.nlmsg_type == NLMSG_ERROR &&
		a->head.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return -((const struct nlmsgerr *)NLMSG_DATA(&a->head))->error;
	return a->head.nlmsg_type == RTM_NEWLINK ? 0 : EBADMSG;
}

static struct request request(uint16_t type, unsigned ifindex)
{
	return (struct request){
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | (type == RTM_GETLINK ? 0 : NLM_F_ACK)},
		.link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex},
	};
}

static int set(unsigned ifindex, uint16_t attribute, const void *value, unsigned len)
{
	struct request q = request(RTM_SETLINK, ifindex);
	union answer a;

	q.attribute.rta_type = attribute;
	q.attribute.rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(q.value, value, len);
	q.head.nlmsg_len += RTA_SPACE(len);
	return ask(&q, &a);
}

int bp_kernel_link_set_mac(unsigned ifindex, const uint8_t mac[6])
{
	return set(ifindex, IFLA_ADDRESS, mac, 6);
}

int bp_kernel_link_set_mtu(unsigned ifindex, uint32_t mtu)
{
	return set(ifindex, IFLA_MTU, &mtu, sizeof(mtu));
}

int bp_kernel_link_set_carrier(unsigned ifindex, bool up)
{
	uint8_t value = up;

	return set(ifindex, IFLA_CARRIER, &value, sizeof(value));
}

static uint32_t get_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (RTA_PAYLOAD(a) >= sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}

static void read_tun(const struct rtattr *data, struct bp_kernel_link *out)
{
	size_t len = RTA_PAYLOAD(data);

	for (const struct rtattr *a = RTA_DATA(data); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_TUN_NUM_QUEUES)
			out->queues = get_u32(a);
		else if (a->rta_type == IFLA_TUN_NUM_DISABLED_QUEUES)
			out->disabled_queues = get_u32(a);
	}
}

static void read_kind(const struct rtattr *info, struct bp_kernel_link *out)
{
	size_t len = RTA_PAYLOAD(info);

	/* the kernel puts the kind before its data */
	for (const struct rtattr *a = RTA_DATA(info); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_INFO_KIND)
			out->tun = RTA_PAYLOAD(a) >= 4 && memcmp(RTA_DATA(a), "tun", 4) == 0;
		else if (a->rta_type == IFLA_INFO_DATA && out->tun)
			read_tun(a, out);
	}
}

int bp_kernel_link_get(unsigned ifindex, struct bp_kernel_link *out)
{
	struct request q = request(RTM_GETLINK, ifindex);
	const struct ifinfomsg *link;
	const struct rtattr *a;
	union answer answer;
	int error;
	size_t len;

	memset(out, 0, sizeof(*out));
	error = ask(&q, &answer);
	if (error != 0)
		return error;
	link = NLMSG_DATA(&answer.head);
	out->flags = link->ifi_flags;
	len = IFLA_PAYLOAD(&answer.head);
	for (a = IFLA_RTA(link); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_MTU)
			out->mtu = get_u32(a);
		else if (a->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(a) == sizeof(out->mac))
			memcpy(out->mac, RTA_DATA(a), sizeof(out->mac));
		else if (a->rta_type == IFLA_CARRIER && RTA_PAYLOAD(a) >= 1)
			out->carrier = *(const uint8_t *)RTA_DATA(a) != 0;
		else if (a->rta_type == IFLA_LINKINFO)
			read_kind(a, out);
	}
	return 0;
}
