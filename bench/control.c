/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "bench/route_frames.h"
#include "bench/routes.h"
#include "proto/ip.h"

#define TAP "control"
#define OWN "10.0.0.1"
#define PORT 5683u /* of bench/route_frames.h */
#define AT_NUMBER (BP_ETHER_HDR + BP_IP4_HDR + 8)
#define ROUTES 1000u /* that messages change, one after the other */
#define RECEIVE_BUFFER (8 << 20)
#define BATCH 32u
#define SETTLE_MS 10
#define CLOCK_CALLS 32u /* bursts between two looks at the clock */
#define NS_PER_SECOND 1000000000u

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

void bench_control_isolate(void)
{
	must(unshare(CLONE_NEWNET) == 0, "network namespace of its own");
}

/* ---- the control plane: a socket in, route changes out ---- */

static void change_route(struct bench_control *c, uint32_t number)
{
	struct bp_prefix p = {.family = 4, .length = 24, .bytes = {40}};

	bp_put_be16(p.bytes + 1, (uint16_t)(number % ROUTES));
	c->applied += bench_route_change(c->writer, &p, number / ROUTES) == BP_FIB_DONE;
}

/* All that waits in the socket. */
static void read_messages(struct bench_control *c)
{
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
		n = recvmmsg(c->fd, m, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			change_route(c, bp_be32(bytes[i]));
	} while (n == (int)BATCH);
}

static void *control_plane(void *arg)
{
	struct bench_control *c = arg;
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	while (!atomic_load(&c->stop)) {
		if (poll(&p, 1, SETTLE_MS) == 1)
			read_messages(c);
		bp_fib_settle(c->writer);
	}
	return NULL;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

/* ---- one plane: the worker does what the threads would do ---- */

static void look_after(struct bench_control *c)
{
	while (bp_serve_to_kernel(&c->serve, clock_ns(CLOCK_MONOTONIC)) != 0)
		;
	read_messages(c);
	bp_fib_settle(c->writer);
	c->waiting = false;
}

/* ---- the messages ---- */

/*
 * How many are due now. The clock is the worker's processor time: while others have its core no
 * data passes either. Reading it enters the kernel, so it is read once in a while, also where no
 * messages are asked for: all runs are to cost the same.
 */
static uint32_t count_due(struct bench_control *c)
{
	uint32_t n;

	if (++c->calls % CLOCK_CALLS == 0) {
		uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t passed = c->last != 0 ? now - c->last : 0;

		c->last = now;
		c->due_parts += passed * atomic_load_explicit(&c->rate, memory_order_relaxed);
		c->due += (uint32_t)(c->due_parts / NS_PER_SECOND);
		c->due_parts %= NS_PER_SECOND;
	}
	/* one a burst, as they would come; more only when that were too few */
	n = (c->due + CLOCK_CALLS - 1) / CLOCK_CALLS;
	c->due -= n;
	return n;
}

uint16_t bench_control_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_control *c = arg;
	uint64_t made = atomic_load_explicit(&c->made, memory_order_relaxed);
	uint32_t due;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	if (c->waiting && c->single)
		look_after(c);
	if (n == 0)
		return n;
	due = RTE_MIN(count_due(c), (uint32_t)n);
	for (uint32_t i = 0; i < due; i++) {
		uint8_t *p = rte_pktmbuf_mtod(pkts[i * n / due], uint8_t *);

		memcpy(p, c->message, BENCH_ROUTE4_FRAME);
		bp_put_be32(p + AT_NUMBER, (uint32_t)made++);
	}
	c->waiting = due != 0;
	atomic_store_explicit(&c->made, made, memory_order_relaxed);
	return n;
}

static void make_message(struct bench_control *c)
{
	struct bp_address own = {.family = 4};

	inet_pton(AF_INET, OWN, own.bytes);
	bench_route_frame(0, &own, c->message);
}

/* ---- set-up ---- */

static void open_tap(struct bench_control *c, struct rte_mempool *pool)
{
	struct bp_kernel_if_spec s = {
		.name = TAP, .kernel = TAP, .mtu = 1500, .pool = pool, .pieces = true};
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	char err[512];

	memcpy(s.mac, c->message, sizeof(s.mac));
	c->tap = bp_tap_open(&s, err, sizeof(err));
	if (c->tap == NULL) {
		fprintf(stderr, "biplane-bench: %s\n", err);
		exit(1);
	}
	snprintf(r.ifr_name, sizeof(r.ifr_name), TAP);
	inet_pton(AF_INET, OWN, &a.sin_addr);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	must(ioctl(fd, SIOCSIFADDR, &r) == 0, "address of the tap");
	must(ioctl(fd, SIOCGIFFLAGS, &r) == 0, "flags of the tap");
	r.ifr_flags |= IFF_UP;
	must(ioctl(fd, SIOCSIFFLAGS, &r) == 0, "flags of the tap");
	close(fd);
}

static void open_socket(struct bench_control *c)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int size = RECEIVE_BUFFER;

	c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(c->fd >= 0 && bind(c->fd, (struct sockaddr *)&a, sizeof(a)) == 0, "socket");
	must(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0,
		"receive buffer");
}

void bench_control_start(struct bench_control *c, struct bp_fib_writer *writer,
	struct bp_exception *x, const struct bp_config *config, struct rte_mempool *pool,
	struct bp_counters *counters)
{
	struct bp_route own = {.type = BP_ROUTE_LOCAL, .prefix = {.family = 4, .length = 32}};
	char err[256];

	make_message(c);
	c->writer = writer;
	inet_pton(AF_INET, OWN, own.prefix.bytes);
	must(bp_fib_route_set(writer, &own) == BP_FIB_DONE, "route to its own address");
	open_tap(c, pool);
	open_socket(c);
	c->interface[0] = c->tap;
	atomic_store(&x->has[0], true);
	if (c->single) {
		bp_serve_init(&c->serve, x, c->interface, counters, &config->exception,
			clock_ns(CLOCK_MONOTONIC));
		return;
	}
	c->exception = bp_exception_thread_start(
		x, c->interface, &config->exception, counters, err, sizeof(err));
	if (c->exception == NULL) {
		fprintf(stderr, "biplane-bench: %s\n", err);
		exit(1);
	}
	must(rte_ctrl_thread_create(&c->thread, "control", NULL, control_plane, c) == 0,
		"thread of the control plane");
}

void bench_control_stop(struct bench_control *c)
{
	if (c->single) {
		bp_serve_finish(&c->serve);
	} else {
		bp_exception_thread_stop(c->exception);
		atomic_store(&c->stop, true);
		pthread_join(c->thread, NULL);
	}
	read_messages(c);
	c->tap->ops->close(c->tap);
	close(c->fd);
}
