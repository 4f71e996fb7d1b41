/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/transform_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/harness/phd_lab.h"
#include "bench/transform/transform_frames.h"

#define BATCH 64u
#define LAG_NS 100000 /* the sender is late by this much: it was descheduled */
#define PAUSE_NS 1000000
#define SOCKET_BYTES (8 << 20)
#define SLOTS 131072u /* a power of two, twice the number of sources */
#define DATAGRAM 2048u

/* Open addressing; 0: empty. */
struct slot {
	uint32_t source;
	double m[12];
};

static struct slot slots[SLOTS];

static struct slot *slot_of(uint32_t source)
{
	uint32_t i = source * 2654435761u >> 15;

	while (slots[i].source != source && slots[i].source != 0)
		i = (i + 1) & (SLOTS - 1);
	return &slots[i];
}

void bench_transform_socket_matrix(uint32_t source, const double m[12])
{
	struct slot *s = slot_of(source);

	s->source = source;
	memcpy(s->m, m, sizeof(s->m));
}

static uint32_t word(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return ntohl(w);
}

static void put(uint8_t *p, double v)
{
	const double fixed = v * 0x1p25;
	const int32_t whole = fixed >= 0x1p31 - 0.5    ? INT32_MAX
			      : fixed <= -0x1p31 - 0.5 ? INT32_MIN
						       : (int32_t)lrint(fixed);
	const uint32_t w = htonl((uint32_t)whole);

	memcpy(p, &w, sizeof(w));
}

void bench_transform_socket_compute(uint32_t source, uint8_t *payload)
{
	const struct slot *s = slot_of(source);
	const double r = (int32_t)word(payload) * 0x1p-25, phi = word(payload + 4) * 0x1p-25;
	const double theta = word(payload + 8) * 0x1p-25;
	double sin_phi, cos_phi, sin_theta, cos_theta, x, y, z;

	sincos(phi, &sin_phi, &cos_phi);
	sincos(theta, &sin_theta, &cos_theta);
	x = r * sin_theta * cos_phi;
	y = r * sin_theta * sin_phi;
	z = r * cos_theta;
	if (s->source == 0) { /* no matrix: the point is not multiplied */
		put(payload + 12, x);
		put(payload + 16, y);
		put(payload + 20, z);
		return;
	}
	for (unsigned row = 0; row < 3; row++)
		put(payload + 12 + 4 * (size_t)row, s->m[3 * row] * x + s->m[3 * row + 1] * y +
							    s->m[3 * row + 2] * z + s->m[9 + row]);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed);
}

static int udp_socket(uint32_t address, uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	const int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "socket",
		strerror(errno));
	bench_must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			   setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		"buffers", strerror(errno));
	return fd;
}

/* ---- one datagram per call ---- */

static bool one_turn(struct bench_transform_socket *n, int in, int out)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint8_t payload[DATAGRAM];
	const ssize_t got =
		recvfrom(in, payload, sizeof(payload), 0, (struct sockaddr *)&from, &from_len);

	if (got < 0)
		return false;
	add(&n->taken, 1);
	if (got < (ssize_t)BENCH_TRANSFORM_PAYLOAD) {
		add(&n->bad, 1);
		return true;
	}
	bench_transform_socket_compute(ntohl(from.sin_addr.s_addr), payload);
	add(send(out, payload, (size_t)got, 0) == got ? &n->sent : &n->bad, 1);
	return true;
}

/* ---- many datagrams per call ---- */

static struct mmsghdr head[BATCH];
static struct iovec data[BATCH];
static struct sockaddr_in sender[BATCH];
static uint8_t bytes[BATCH][DATAGRAM];

/* The same headers are used to receive and send; only the differences are set. */
static void point(bool receive, unsigned i, size_t len)
{
	data[i] = (struct iovec){bytes[i], len};
	head[i].msg_hdr = (struct msghdr){.msg_iov = &data[i],
		.msg_iovlen = 1,
		.msg_name = receive ? &sender[i] : NULL,
		.msg_namelen = receive ? sizeof(sender[i]) : 0};
}

static void send_batch(struct bench_transform_socket *n, int out, unsigned good)
{
	for (unsigned i = 0; i < good;) {
		const int sent = sendmmsg(out, head + i, good - i, 0);

		add(sent > 0 ? &n->sent : &n->bad, sent > 0 ? (unsigned)sent : 1);
		i += sent > 0 ? (unsigned)sent : 1;
	}
}

/* All have the same length: trackers send nothing else. */
static void send_segments(struct bench_transform_socket *n, int out, unsigned good)
{
	const struct msghdr all = {.msg_iov = data, .msg_iovlen = good};

	add(sendmsg(out, &all, 0) == (ssize_t)((size_t)good * BENCH_TRANSFORM_PAYLOAD) ? &n->sent
										       : &n->bad,
		good);
}

static bool many_turn(struct bench_transform_socket *n, int in, int out)
{
	unsigned good = 0;
	int got;

	for (unsigned i = 0; i < BATCH; i++)
		point(true, i, DATAGRAM);
	got = recvmmsg(in, head, BATCH, MSG_DONTWAIT, NULL);
	if (got <= 0)
		return false;
	add(&n->taken, (unsigned)got);
	for (int i = 0; i < got; i++) {
		const size_t len = head[i].msg_len;

		if (len < BENCH_TRANSFORM_PAYLOAD ||
			(n->way == BENCH_TRANSFORM_SEGMENTS && len != BENCH_TRANSFORM_PAYLOAD)) {
			add(&n->bad, 1);
			continue;
		}
		bench_transform_socket_compute(ntohl(sender[i].sin_addr.s_addr), bytes[i]);
		point(false, good, len);
		data[good++].iov_base = bytes[i];
	}
	if (n->way == BENCH_TRANSFORM_BATCHES)
		send_batch(n, out, good);
	else if (good != 0)
		send_segments(n, out, good);
	return true;
}

void bench_transform_socket_run(struct bench_transform_socket *n)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const struct sockaddr_in robot = {.sin_family = AF_INET,
		.sin_port = htons(BENCH_TRANSFORM_RECEIVER_UDP),
		.sin_addr.s_addr = htonl(BENCH_TRANSFORM_RECEIVER)};
	const int segment = BENCH_TRANSFORM_PAYLOAD;
	const int in = udp_socket(BENCH_TRANSFORM_TO, BENCH_TRANSFORM_UDP),
		  out = udp_socket(INADDR_ANY, 0);

	bench_must(connect(out, (const struct sockaddr *)&robot, sizeof(robot)) == 0, "robot",
		strerror(errno));
	if (n->way == BENCH_TRANSFORM_SEGMENTS)
		bench_must(setsockopt(out, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0,
			"segments", strerror(errno));
	atomic_store(&n->ready, 1);
	for (;;) {
		const bool some = n->way == BENCH_TRANSFORM_ONE_BY_ONE ? one_turn(n, in, out)
								       : many_turn(n, in, out);
		const uint64_t cpu = cpu_ns();

		atomic_store_explicit(&n->cpu_ns, cpu, memory_order_relaxed);
		if (!some && n->waits)
			poll(&(struct pollfd){.fd = in, .events = POLLIN}, 1, -1);
		else if (!some &&
			 cpu > atomic_load_explicit(&n->seen_ns, memory_order_relaxed) + LAG_NS)
			nanosleep(&pause, NULL);
	}
}
