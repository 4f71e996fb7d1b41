/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/process/clock.h"

#define BATCH 64
#define APDU_MAX 65536u /* the maximum length of a datagram; unused memory is never touched */
#define SOCKET_BYTES (16 << 20)
/* an iteration ends after this time: other handlers use the same event loop */
#define TIME_SLICE_NS 2000000u
#define OUT_BYTES (1u << 20) /* answers that wait for the end of the iteration */

/* Ancillary data of one datagram; over IPv4 the kernel sends both. */
struct control {
	_Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
					       CMSG_SPACE(sizeof(struct in_pktinfo))];
};

/* Buffers of one datagram, received or sent. */
struct slot {
	struct sockaddr_in6 address;
	struct control control;
	struct iovec data;
};

struct bp_phd_server {
	int fd;
	struct event *readable, *flush;
	struct bp_phd_server_ops ops;
	void *arg;
	struct bp_phd_server_counts counts;
	struct slot in[BATCH], out[BATCH];
	struct mmsghdr in_head[BATCH], out_head[BATCH];
	unsigned n_out;
	size_t out_used;
	uint8_t *in_bytes;  /* BATCH * APDU_MAX */
	uint8_t *out_bytes; /* OUT_BYTES */
};

int bp_phd_server_prepare(int fd)
{
	const int on = 1, size = SOCKET_BYTES, flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) != 0 ||
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) != 0)
		return -1;
	/* without the privilege the system's limit applies: the queue is shorter */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return 0;
}

int bp_phd_server_socket(uint16_t port, char *err, size_t err_size)
{
	const struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int off = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
		bp_phd_server_prepare(fd) == 0 &&
		bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	snprintf(err, err_size, "health_devices.listen.udp_port: port %u: %s", port,
		strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- sending ---- */

static void fill_source(struct msghdr *h, struct control *c, const uint8_t own[16])
{
	struct in6_pktinfo info = {0};
	struct cmsghdr *m;

	memset(c, 0, sizeof(*c));
	h->msg_control = c;
	h->msg_controllen = CMSG_SPACE(sizeof(info));
	m = CMSG_FIRSTHDR(h);
	m->cmsg_level = IPPROTO_IPV6;
	m->cmsg_type = IPV6_PKTINFO;
	m->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(&info.ipi6_addr, own, 16);
	memcpy(CMSG_DATA(m), &info, sizeof(info));
}

static void flush(struct bp_phd_server *s)
{
	for (unsigned i = 0; i < s->n_out;) {
		int n = sendmmsg(s->fd, s->out_head + i, s->n_out - i, 0);

		if (n > 0) {
			s->counts.sent += (unsigned)n;
			i += (unsigned)n;
		} else if (errno != EINTR) {
			/* only this one failed: no route or no buffer space; the others may
			 * succeed */
			s->counts.unsent++;
			i++;
		}
	}
	s->n_out = 0;
	s->out_used = 0;
}

static void flush_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	flush(arg);
}

void bp_phd_server_send(
	struct bp_phd_server *s, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct slot *o;
	struct msghdr *h;

	if (len > APDU_MAX) {
		s->counts.unsent++;
		return;
	}
	if (s->n_out == BATCH || s->out_used + len > OUT_BYTES)
		flush(s);
	if (s->n_out == 0)
		event_active(s->flush, EV_TIMEOUT, 0);
	o = &s->out[s->n_out];
	h = &s->out_head[s->n_out++].msg_hdr;
	memcpy(s->out_bytes + s->out_used, apdu, len);
	o->data = (struct iovec){s->out_bytes + s->out_used, len};
	s->out_used += len;
	o->address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(to->port)};
	memcpy(&o->address.sin6_addr, to->address, 16);
	*h = (struct msghdr){.msg_name = &o->address,
		.msg_namelen = sizeof(o->address),
		.msg_iov = &o->data,
		.msg_iovlen = 1};
	fill_source(h, &o->control, to->own);
}

/* ---- receiving ---- */

/* The kernel's ancillary data about a datagram. */
struct ancillary {
	struct in6_addr to; /* its destination address */
	unsigned ifindex;   /* the interface that received it; 0: unknown */
	bool shared;        /* the destination is a shared address: broadcast or multicast */
};

static struct ancillary read_control(struct msghdr *h)
{
	struct ancillary b = {0};

	for (struct cmsghdr *m = CMSG_FIRSTHDR(h); m; m = CMSG_NXTHDR(h, m)) {
		if (m->cmsg_level == IPPROTO_IPV6 && m->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(m), sizeof(info));
			b.to = info.ipi6_addr;
			b.ifindex = info.ipi6_ifindex;
			b.shared |= IN6_IS_ADDR_MULTICAST(&b.to);
		} else if (m->cmsg_level == IPPROTO_IP && m->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(m), sizeof(info));
			/* the address for the answer is another one */
			b.shared |= info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
		}
	}
	return b;
}

/* Returns whether an answer could reach the sender: a sender without one cannot associate.
 * Link-local addresses are ambiguous without their interface, and a session does not store it. */
static bool answerable(const struct ancillary *b, const struct sockaddr_in6 *from)
{
	return !b->shared && from->sin6_port != 0 && !IN6_IS_ADDR_LINKLOCAL(&from->sin6_addr);
}

static void take(struct bp_phd_server *s, unsigned i)
{
	struct msghdr *h = &s->in_head[i].msg_hdr;
	struct bp_phd_peer peer = {.transport = BP_PHD_TRANSPORT_UDP};
	const struct ancillary b = read_control(h);

	if (b.ifindex == 0 || (s->ops.ours && !s->ops.ours(s->arg, b.ifindex))) {
		s->counts.not_cse++;
		return;
	}
	if (!answerable(&b, &s->in[i].address)) {
		s->counts.unanswerable++;
		return;
	}
	if (h->msg_flags & MSG_TRUNC) {
		s->counts.oversized++;
		return;
	}
	memcpy(peer.own, &b.to, 16);
	memcpy(peer.address, &s->in[i].address.sin6_addr, 16);
	peer.port = ntohs(s->in[i].address.sin6_port);
	s->counts.received++;
	s->ops.receive(s->arg, &peer, s->in[i].data.iov_base, s->in_head[i].msg_len);
}

static void prepare(struct bp_phd_server *s)
{
	for (unsigned i = 0; i < BATCH; i++) {
		s->in[i].data = (struct iovec){s->in_bytes + (size_t)i * APDU_MAX, APDU_MAX};
		s->in_head[i].msg_hdr = (struct msghdr){.msg_name = &s->in[i].address,
			.msg_namelen = sizeof(s->in[i].address),
			.msg_iov = &s->in[i].data,
			.msg_iovlen = 1,
			.msg_control = &s->in[i].control,
			.msg_controllen = sizeof(s->in[i].control)};
	}
}

static void readable(evutil_socket_t fd, short what, void *arg)
{
	struct bp_phd_server *s = arg;
	uint64_t began = bp_mono_ns();

	(void)what;
	do {
		int n;

		prepare(s);
		n = recvmmsg(fd, s->in_head, BATCH, 0, NULL);
		/* the error of an earlier answer (ICMP) is also reported here: no action */
		for (int i = 0; i < n; i++)
			take(s, (unsigned)i);
		if (n < BATCH)
			break;
	} while (bp_mono_ns() - began < TIME_SLICE_NS);
}

/* ---- start and end ---- */

struct bp_phd_server *bp_phd_server_new(struct event_base *base, int fd,
	const struct bp_phd_server_ops *ops, void *arg, char *err, size_t err_size)
{
	struct bp_phd_server *s = calloc(1, sizeof(*s));

	if (!s) {
		close(fd);
		snprintf(err, err_size, "no memory");
		return NULL;
	}
	s->fd = fd;
	s->ops = *ops;
	s->arg = arg;
	s->in_bytes = malloc((size_t)BATCH * APDU_MAX);
	s->out_bytes = malloc(OUT_BYTES);
	s->readable = event_new(base, fd, EV_READ | EV_PERSIST, readable, s);
	s->flush = event_new(base, -1, 0, flush_later, s);
	if (s->in_bytes && s->out_bytes && s->readable && s->flush &&
		event_add(s->readable, NULL) == 0)
		return s;
	bp_phd_server_free(s);
	snprintf(err, err_size, "no memory");
	return NULL;
}

void bp_phd_server_free(struct bp_phd_server *s)
{
	if (!s)
		return;
	flush(s);
	if (s->readable)
		event_free(s->readable);
	if (s->flush)
		event_free(s->flush);
	close(s->fd);
	free(s->in_bytes);
	free(s->out_bytes);
	free(s);
}

void bp_phd_server_count(const struct bp_phd_server *s, struct bp_phd_server_counts *out)
{
	*out = s->counts;
	out->socket = bp_socket_drops(s->fd);
}
