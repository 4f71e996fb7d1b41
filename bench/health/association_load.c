/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/association_load.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/health/phd_frames.h"
#include "bench/harness/phd_lab.h"
#include "proto/net/frame.h"

#define BATCH 64u
#define APDU_MAX 256u
#define SOCKET_BYTES (32 << 20)
#define PATIENCE_MS 3000

/* Written from the standard: uses nothing of the gateway's codec. */

/* SpO2 and pulse rate as SFLOAT with an absolute time. */
static const uint8_t config[] = {0xe7, 0, 0, 0x70, 0, 0x6e, 0, 1, 1, 1, 0, 0x68, 0, 0, 0xff, 0xff,
	0xff, 0xff, 0x0d, 0x1c, 0, 0x5e, 0x40, 1, 0, 2, 0, 0x58, 0, 6, 0, 1, 0, 4, 0, 0x24, 9, 0x2f,
	0, 4, 0, 2, 0x4b, 0xb8, 0x0a, 0x46, 0, 2, 0x40, 0x40, 9, 0x96, 0, 2, 2, 0x20, 0x0a, 0x55, 0,
	0x0c, 0, 2, 0, 8, 0x0a, 0x4c, 0, 2, 9, 0x90, 0, 8, 0, 6, 0, 0x0a, 0, 4, 0, 0x24, 9, 0x2f, 0,
	4, 0, 2, 0x48, 0x1a, 0x0a, 0x46, 0, 2, 0x40, 0x40, 9, 0x96, 0, 2, 0x0a, 0xa0, 0x0a, 0x55, 0,
	0x0c, 0, 2, 0, 8, 0x0a, 0x4c, 0, 2, 9, 0x90, 0, 8};
/* Its MDS: only the specialisation 10404. */
static const uint8_t mds[] = {0xe7, 0, 0, 0x1a, 0, 0x18, 0, 0, 2, 3, 0, 0x12, 0, 0, 0, 1, 0, 0x0c,
	0x0a, 0x5a, 0, 8, 0, 1, 0, 4, 0x10, 4, 0, 1};
#define AT_INVOKE_ID 6

enum { AARE = 0xe300, PRST = 0xe700, CONFIGURED = 0x0201, GET = 0x0103 };

/* The buffer of a datagram. */
struct place {
	struct bench_association_place head;
	uint8_t apdu[APDU_MAX];
};

struct devices {
	struct bench_association_load *l;
	int fd;
	uint64_t began_ns;
	struct place in[BATCH], out[BATCH];
	struct mmsghdr in_head[BATCH], out_head[BATCH];
	unsigned n_out;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static void set_head(struct mmsghdr *m, struct bench_association_place *p, void *apdu, size_t len)
{
	p->data = (struct iovec){apdu, len};
	m->msg_hdr = (struct msghdr){.msg_name = &p->peer,
		.msg_namelen = sizeof(p->peer),
		.msg_iov = &p->data,
		.msg_iovlen = 1,
		.msg_control = p->control,
		.msg_controllen = sizeof(p->control)};
}

void bench_association_from(
	struct mmsghdr *m, struct bench_association_place *p, uint32_t i, void *apdu, size_t len)
{
	const struct in_pktinfo from = {.ipi_spec_dst.s_addr = htonl(BENCH_DEVICES_FIRST + i)};
	struct cmsghdr *c = (struct cmsghdr *)p->control;

	set_head(m, p, apdu, len);
	p->peer = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(BENCH_MANAGER_PORT),
		.sin_addr.s_addr = htonl(BENCH_MANAGER)};
	*c = (struct cmsghdr){.cmsg_level = IPPROTO_IP,
		.cmsg_type = IP_PKTINFO,
		.cmsg_len = CMSG_LEN(sizeof(from))};
	memcpy(CMSG_DATA(c), &from, sizeof(from));
}

static void flush(struct devices *d)
{
	for (unsigned i = 0; i < d->n_out;) {
		int n = sendmmsg(d->fd, d->out_head + i, d->n_out - i, 0);

		must(n > 0 || errno == EINTR, "sendmmsg");
		i += n > 0 ? (unsigned)n : 0;
	}
	d->n_out = 0;
}

/* Sends an APDU from device `i`; returns the copy, to be modified. */
static uint8_t *say(struct devices *d, uint32_t i, const uint8_t *apdu, size_t len)
{
	struct place *p;

	if (d->n_out == BATCH)
		flush(d);
	p = &d->out[d->n_out];
	bench_association_from(&d->out_head[d->n_out++], &p->head, i, p->apdu, len);
	memcpy(p->apdu, apdu, len);
	return p->apdu;
}

static void begin_next(struct devices *d)
{
	struct bench_association_load *l = d->l;
	const bool enough = l->begun >= l->at_least && bench_now_ns() - d->began_ns >= l->for_ns;

	if (enough || l->begun == l->at_most)
		return;
	bp_put_be32(
		say(d, l->begun, bench_phd_aarq, sizeof(bench_phd_aarq)) + BENCH_PHD_AARQ_NUMBER,
		l->begun + 1);
	l->begun++;
}

/* The device that a datagram is for. */
static uint32_t device_of(const struct mmsghdr *m)
{
	struct in_pktinfo to = {0};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m->msg_hdr);

	must(c != NULL && c->cmsg_type == IP_PKTINFO, "no destination address");
	memcpy(&to, CMSG_DATA(c), sizeof(to));
	return ntohl(to.ipi_addr.s_addr) - BENCH_DEVICES_FIRST;
}

static void take(struct devices *d, uint32_t device, const uint8_t *p, size_t len)
{
	struct bench_association_load *l = d->l;
	const uint16_t kind = len >= 6 ? bp_be16(p) : 0;
	const uint16_t choice = kind == PRST && len >= 14 ? bp_be16(p + 8) : 0;

	if (kind == AARE && bp_be16(p + 4) == 3) { /* accepted, configuration unknown */
		l->aares++;
		say(d, device, l->config, l->config_len);
	} else if (choice == CONFIGURED && bp_be16(p + len - 2) == 0) {
		l->configured++;
	} else if (choice == GET) {
		memcpy(say(d, device, mds, sizeof(mds)) + AT_INVOKE_ID, p + AT_INVOKE_ID, 2);
		l->told++;
		l->done++;
		begin_next(d);
	} else {
		l->others++;
	}
}

static bool receive(struct devices *d)
{
	struct pollfd p = {.fd = d->fd, .events = POLLIN};
	int n;

	for (unsigned i = 0; i < BATCH; i++)
		set_head(&d->in_head[i], &d->in[i].head, d->in[i].apdu, APDU_MAX);
	if (poll(&p, 1, PATIENCE_MS) == 0)
		return false;
	n = recvmmsg(d->fd, d->in_head, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		take(d, device_of(&d->in_head[i]), d->in[i].apdu, d->in_head[i].msg_len);
	return true;
}

static int open_socket(void)
{
	const int on = 1, size = SOCKET_BYTES;
	const struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(BENCH_DEVICES_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0,
		"socket of the devices");
	return fd;
}

void bench_association_load(struct bench_association_load *l)
{
	struct devices *d = calloc(1, sizeof(*d));

	must(d != NULL, "memory");
	if (l->config == NULL) {
		l->config = config;
		l->config_len = sizeof(config);
	}
	d->l = l;
	l->fd = d->fd = open_socket();
	d->began_ns = bench_now_ns();
	for (uint32_t i = 0; i < l->under_way; i++)
		begin_next(d);
	flush(d);
	while (l->done < l->begun && !l->stuck) {
		l->stuck = !receive(d);
		flush(d);
	}
	l->took_ns = bench_now_ns() - d->began_ns;
	free(d);
}
