/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/control_routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/routes/route_frames.h"
#include "bench/routes/routes.h"
#include "proto/net/ip.h"

#define PORT 5683u /* of bench/routes/route_frames.h */
#define AT_NUMBER (BP_ETHER_HDR + BP_IP4_HDR + 8)
#define ROUTES 1000u /* routes changed by the messages, one after the other */
#define RECEIVE_BUFFER (8 << 20)
#define BATCH 32u
#define SETTLE_MS 10

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make(void *user, struct rte_mbuf *m, uint64_t number)
{
	const struct bench_control_routes *r = user;
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(p, r->message, BENCH_ROUTE4_FRAME);
	bp_put_be32(p + AT_NUMBER, (uint32_t)number);
}

static void change_route(struct bench_control_routes *r, uint32_t number)
{
	struct bp_prefix p = {.family = 4, .length = 24, .bytes = {40}};

	bp_put_be16(p.bytes + 1, (uint16_t)(number % ROUTES));
	r->applied += bench_route_change(r->writer, &p, number / ROUTES) == BP_FIB_DONE;
}

static void look(void *user)
{
	struct bench_control_routes *r = user;
	uint8_t bytes[BATCH][64];
	struct iovec v[BATCH];
	struct mmsghdr m[BATCH];
	int n;

	memset(m, 0, sizeof(m));
	for (unsigned i = 0; i < BATCH; i++) {
		v[i] = (struct iovec){bytes[i], sizeof(bytes[i])};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
	}
	do {
		n = recvmmsg(r->fd, m, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			change_route(r, bp_be32(bytes[i]));
	} while (n == (int)BATCH);
	bp_fib_settle(r->writer);
}

static void wait_and_look(void *user)
{
	const struct bench_control_routes *r = user;
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	poll(&p, 1, SETTLE_MS);
	look(user);
}

static uint64_t applied(void *user)
{
	return ((const struct bench_control_routes *)user)->applied;
}

static int open_socket(void)
{
	const struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	const int size = RECEIVE_BUFFER;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0, "socket");
	must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0,
		"receive buffer");
	return fd;
}

void bench_control_routes(struct bench_control *c, struct bench_control_routes *r,
	struct bp_fib_writer *writer, struct rte_mempool *pool)
{
	static const struct bench_control_user user = {make, wait_and_look, look, applied};
	struct bp_route own = {.type = BP_ROUTE_LOCAL, .prefix = {.family = 4, .length = 32}};
	struct bp_address to = {.family = 4};

	bp_put_be32(to.bytes, BENCH_CONTROL_OWN);
	memcpy(own.prefix.bytes, to.bytes, 4);
	must(bp_fib_route_set(writer, &own) == BP_FIB_DONE, "route to its own address");
	r->writer = writer;
	bench_route_frame(0, &to, r->message);
	bench_control_tap(c, 0, "control", r->message, BENCH_CONTROL_OWN, pool);
	r->fd = open_socket();
	c->user = &user;
	c->arg = r;
}
