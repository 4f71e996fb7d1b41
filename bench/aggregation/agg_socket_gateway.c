/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/aggregation/agg_socket_gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/aggregation/agg_frames.h"
#include "bench/harness/phd_lab.h"
#include "proto/aggregation/agg_lin2018.h"

#define BATCH 64u
#define OWN 0x0a000001u      /* 10.0.0.1 */
#define RESTORED 0x0a030014u /* 10.3.0.20: destination of restored messages */
#define MOST 8u              /* N */
#define MESSAGE BENCH_AGG_PAYLOAD
#define AGGREGATE BP_AGG_LIN2018_LEN(MOST)
#define DELAY_NS 1000000u
#define LAG_NS 100000 /* the sender is late by this much: it was descheduled */
#define PAUSE_NS 1000000
#define SOCKET_BYTES (8 << 20)

/* Datagrams of one recvmmsg() or sendmmsg() call. */
struct batch {
	unsigned n;
	struct mmsghdr head[BATCH];
	struct iovec data[BATCH];
};

struct gateway {
	struct bench_agg_socket_gateway *n;
	int messages_in, aggregates_out, aggregates_in, messages_out;
	uint64_t now_ns;
	/* the open aggregate is datagram out.n */
	unsigned filled;
	uint64_t since_ns; /* arrival of its oldest message */
	struct batch in, out, back_in, back_out;
	uint8_t in_bytes[BATCH][2048], out_bytes[BATCH][AGGREGATE];
	uint8_t back_in_bytes[BATCH][2048], back_out_bytes[BATCH][MOST * MESSAGE];
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed);
}

/* Sends a batch with `each` messages per datagram; counts those that the kernel accepted. */
static void send_batch(
	struct gateway *g, int fd, struct batch *b, _Atomic uint64_t *sent, unsigned each)
{
	for (unsigned i = 0; i < b->n;) {
		const int n = sendmmsg(fd, b->head + i, b->n - i, 0);

		add(n > 0 ? sent : &g->n->bad, n > 0 ? (unsigned)n * each : 1);
		i += n > 0 ? (unsigned)n : 1;
	}
	b->n = 0;
}

/* ---- encapsulation ---- */

static void close_aggregate(struct gateway *g)
{
	struct batch *b = &g->out;

	bp_agg_lin2018_put_header(g->out_bytes[b->n], BP_AGG_LIN2018_PACKET);
	b->data[b->n].iov_len = BP_AGG_LIN2018_LEN(g->filled);
	g->filled = 0;
	if (++b->n == BATCH)
		send_batch(g, g->aggregates_out, b, &g->n->aggregates, 1);
}

/* Returns whether there was work. */
static bool aggregate(struct gateway *g)
{
	const int got = recvmmsg(g->messages_in, g->in.head, BATCH, MSG_DONTWAIT, NULL);

	g->now_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < got; i++) {
		const uint8_t *p = g->in_bytes[i];

		if (g->in.head[i].msg_len != MESSAGE || p[0] != BP_AGG_LIN2018_MESSAGE) {
			add(&g->n->bad, 1);
			continue;
		}
		if (g->filled == 0)
			g->since_ns = g->now_ns;
		bp_agg_lin2018_put(g->out_bytes[g->out.n], g->filled++, p + BP_AGG_LIN2018_HEADER);
		if (g->filled == g->n->messages)
			close_aggregate(g);
	}
	if (g->filled != 0 && g->now_ns - g->since_ns >= DELAY_NS) {
		add(&g->n->timeouts, 1);
		close_aggregate(g);
	}
	if (g->out.n != 0) {
		const unsigned open = g->out.n;

		send_batch(g, g->aggregates_out, &g->out, &g->n->aggregates, 1);
		if (g->filled != 0) /* the open aggregate becomes the first */
			memcpy(g->out_bytes[0], g->out_bytes[open], AGGREGATE);
	}
	add(&g->n->taken, got > 0 ? (unsigned)got : 0);
	return got > 0;
}

/* ---- decapsulation ---- */

static void put_message(uint8_t *to, const uint8_t *message)
{
	bp_agg_lin2018_put_header(to, BP_AGG_LIN2018_MESSAGE);
	bp_agg_lin2018_put(to, 0, message);
}

static void restore_each(struct gateway *g, const struct bp_agg_lin2018 *a)
{
	struct batch *b = &g->back_out;

	for (unsigned i = 0; i < a->count; i++) {
		put_message(g->back_out_bytes[b->n], a->messages + i * BP_AGG_LIN2018_MESSAGE_LEN);
		b->data[b->n].iov_len = MESSAGE;
		if (++b->n == BATCH)
			send_batch(g, g->messages_out, b, &g->n->restored, 1);
	}
}

/* All messages as one datagram, which the kernel segments (UDP_SEGMENT). */
static void restore_segments(struct gateway *g, const struct bp_agg_lin2018 *a)
{
	struct batch *b = &g->back_out;
	uint8_t *to = g->back_out_bytes[b->n];

	for (unsigned i = 0; i < a->count; i++)
		put_message(to + i * MESSAGE, a->messages + i * BP_AGG_LIN2018_MESSAGE_LEN);
	b->data[b->n].iov_len = (size_t)a->count * MESSAGE;
	add(&g->n->restored, a->count);
	if (++b->n == BATCH)
		send_batch(g, g->messages_out, b, &g->n->restored, 0);
}

static bool disaggregate(struct gateway *g)
{
	const int got = recvmmsg(g->aggregates_in, g->back_in.head, BATCH, MSG_DONTWAIT, NULL);

	for (int i = 0; i < got; i++) {
		struct bp_agg_lin2018 a;

		if (bp_agg_lin2018_read(g->back_in_bytes[i], g->back_in.head[i].msg_len, MOST,
			    &a) != BP_AGG_LIN2018_OK ||
			a.type != BP_AGG_LIN2018_PACKET) {
			add(&g->n->bad, 1);
			continue;
		}
		if (g->n->segments)
			restore_segments(g, &a);
		else
			restore_each(g, &a);
	}
	if (g->back_out.n != 0)
		send_batch(
			g, g->messages_out, &g->back_out, &g->n->restored, g->n->segments ? 0 : 1);
	add(&g->n->came, got > 0 ? (unsigned)got : 0);
	return got > 0;
}

/* ---- set-up ---- */

/* peer: an IPv4 address in host byte order, or 0 for a socket that receives. */
static int udp_socket(uint16_t own_port, uint32_t peer, uint16_t peer_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(own_port)};
	const struct sockaddr_in b = {.sin_family = AF_INET,
		.sin_port = htons(peer_port),
		.sin_addr.s_addr = htonl(peer)};
	const int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (own_port != 0)
		a.sin_addr.s_addr = htonl(OWN);
	bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "socket",
		strerror(errno));
	bench_must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			   setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		"buffers", strerror(errno));
	bench_must(peer == 0 || connect(fd, (const struct sockaddr *)&b, sizeof(b)) == 0, "peer",
		strerror(errno));
	return fd;
}

static void point(struct batch *b, uint8_t *bytes, size_t stride)
{
	for (unsigned i = 0; i < BATCH; i++) {
		b->data[i] = (struct iovec){bytes + i * stride, stride};
		b->head[i].msg_hdr = (struct msghdr){.msg_iov = &b->data[i], .msg_iovlen = 1};
	}
}

/* Waits until a datagram arrives or the open aggregate is due. */
static void wait_for_work(const struct gateway *g)
{
	struct pollfd p[] = {{.fd = g->messages_in, .events = POLLIN},
		{.fd = g->aggregates_in, .events = POLLIN}};
	const uint64_t now = clock_ns(CLOCK_MONOTONIC), due = g->since_ns + DELAY_NS;
	const struct timespec left = {.tv_nsec = due > now ? (long)(due - now) : 0};

	ppoll(p, sizeof(p) / sizeof(p[0]), g->filled != 0 ? &left : NULL, NULL);
}

void bench_agg_socket_run(struct bench_agg_socket_gateway *n)
{
	static struct gateway g;
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const int segment = MESSAGE;

	g.n = n;
	point(&g.in, g.in_bytes[0], sizeof(g.in_bytes[0]));
	point(&g.out, g.out_bytes[0], sizeof(g.out_bytes[0]));
	point(&g.back_in, g.back_in_bytes[0], sizeof(g.back_in_bytes[0]));
	point(&g.back_out, g.back_out_bytes[0], sizeof(g.back_out_bytes[0]));
	g.messages_in = udp_socket(BENCH_AGG_SOCKET_AGGREGATE, 0, 0);
	g.aggregates_in = udp_socket(BENCH_AGG_SOCKET_DISAGGREGATE, 0, 0);
	g.aggregates_out = n->server != 0 ? udp_socket(0, n->server, BENCH_AGG_UDP)
					  : udp_socket(0, OWN, BENCH_AGG_SOCKET_DISAGGREGATE);
	g.messages_out = udp_socket(0, RESTORED, BENCH_AGG_UDP);
	if (n->segments)
		bench_must(setsockopt(g.messages_out, SOL_UDP, UDP_SEGMENT, &segment,
				   sizeof(segment)) == 0,
			"segments", strerror(errno));
	atomic_store(&n->ready, 1);
	for (;;) {
		const bool some = aggregate(&g), more = disaggregate(&g);
		const uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		atomic_store_explicit(&n->cpu_ns, cpu, memory_order_relaxed);
		if (!some && !more && n->waits)
			wait_for_work(&g);
		else if (!some && !more &&
			 cpu > atomic_load_explicit(&n->seen_ns, memory_order_relaxed) + LAG_NS)
			nanosleep(&pause, NULL);
	}
}
