/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/wan/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TAG 4u
#define MACS 12u
#define RECEIVE_BUFFER (16 << 20)

static void fatal(const char *interface, const char *what)
{
	fprintf(stderr, "biplane-wan-sim: %s: %s: %s\n", interface, what, strerror(errno));
	exit(71);
}

static void set(int fd, int level, int name, int value, const char *interface, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) != 0)
		fatal(interface, what);
}

int wan_socket_open(const char *interface)
{
	const unsigned index = if_nametoindex(interface);
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)index};
	struct packet_mreq all = {.mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC};
	int fd;

	if (index == 0)
		fatal(interface, "no such interface");
	/* without a protocol until it is bound, so that it receives no frames of other
	 * interfaces */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fatal(interface, "no packet socket (root, or CAP_NET_RAW, can have one)");
	set(fd, SOL_PACKET, PACKET_VNET_HDR, 1, interface, "PACKET_VNET_HDR");
	set(fd, SOL_PACKET, PACKET_AUXDATA, 1, interface, "PACKET_AUXDATA");
	set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, interface, "PACKET_IGNORE_OUTGOING");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){RECEIVE_BUFFER}, sizeof(int)) != 0)
		set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER, interface, "SO_RCVBUF");
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		fatal(interface, "cannot bind to it");
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0)
		fatal(interface, "cannot enable promiscuous mode");
	return fd;
}

/* The kernel removes the outer tag of a frame and reports it in the control message. */
static size_t put_tag_back(uint8_t *frame, size_t len, uint16_t tpid, uint16_t tci)
{
	struct virtio_net_hdr h;
	uint8_t *ethernet = frame + sizeof(h);
	const uint16_t tag[2] = {htons(tpid), htons(tci)};

	memmove(ethernet + MACS + TAG, ethernet + MACS, len - sizeof(h) - MACS);
	memcpy(ethernet + MACS, tag, TAG);
	memcpy(&h, frame, sizeof(h));
	if (h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		h.csum_start += TAG;
	if (h.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		h.hdr_len += TAG;
	memcpy(frame, &h, sizeof(h));
	return len + TAG;
}

static size_t with_tag(struct msghdr *m, uint8_t *frame, size_t len)
{
	struct tpacket_auxdata aux;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (aux.tp_status & TP_STATUS_VLAN_VALID)
			return put_tag_back(frame, len,
				aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid
									  : ETH_P_8021Q,
				aux.tp_vlan_tci);
	}
	return len;
}

ssize_t wan_socket_receive(int wire, uint8_t *frame)
{
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct iovec v = {frame, WAN_FRAME_MAX - TAG};
	struct msghdr m = {.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	const ssize_t got = recvmsg(wire, &m, 0);

	if (got < 0)
		return errno == ENETDOWN ? -1 : 0;
	if ((size_t)got < sizeof(struct virtio_net_hdr) + ETHER_HDR_LEN)
		return 0;
	return (ssize_t)with_tag(&m, frame, (size_t)got);
}

int wan_socket_send(int wire, const uint8_t *frame, size_t len)
{
	return send(wire, frame, len, 0) == (ssize_t)len;
}
