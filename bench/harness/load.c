/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_BYTES (64 << 20)
#define PATIENCE_US 50000
#define LATE 20u /* same values as in alarm_load.c */
#define SLEEP_LATE_NS 100000u
/* An open loop is stopped this long after the intended end, plus this per second. */
#define GRACE_NS 5000000u
#define GRACE_PART_NS 10000000.0

void bench_load_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

uint64_t bench_load_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_load_enter(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bench_load_must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
	close(fd);
}

/* ---- sender ---- */

int bench_load_sender(const char *interface, uint8_t mac[6])
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface)};
	const int one = 1, size = SOCKET_BYTES;
	struct ifreq r = {0};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	bench_load_must(
		fd >= 0 && at.sll_ifindex != 0 && ioctl(fd, SIOCGIFHWADDR, &r) == 0 &&
			bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
			setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		interface);
	memcpy(mac, r.ifr_hwaddr.sa_data, 6);
	return fd;
}

uint32_t bench_load_frames(int fd, struct iovec *frames, uint32_t n)
{
	struct mmsghdr message[BENCH_LOAD_BATCH];
	int sent;

	for (uint32_t i = 0; i < n; i++)
		message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &frames[i], .msg_iovlen = 1}};
	sent = sendmmsg(fd, message, n, 0);
	if (sent >= 0)
		return (uint32_t)sent;
	bench_load_must(errno == ENOBUFS || errno == EAGAIN || errno == EINTR, "sender");
	return 0;
}

uint64_t bench_load_send(double rate, double seconds,
	uint32_t (*send)(void *arg, uint64_t sent, uint32_t n), void *arg)
{
	uint64_t begin = bench_load_now_ns(), sent = 0;
	const uint64_t end = begin + (uint64_t)(seconds * 1e9);

	for (uint64_t now = begin; now < end; now = bench_load_now_ns()) {
		uint64_t due = sent + BENCH_LOAD_BATCH;

		if (rate > 0)
			due = (uint64_t)((double)(now - begin) * rate / 1e9);
		if (sent >= due) {
			nanosleep(&(struct timespec){0, 50000}, NULL);
			continue;
		}
		if (rate > 0 && (double)(due - sent) > rate / LATE + BENCH_LOAD_BATCH) {
			begin += (uint64_t)((double)(due - sent) / rate * 1e9);
			continue;
		}
		sent += send(arg, sent,
			due - sent < BENCH_LOAD_BATCH ? (uint32_t)(due - sent) : BENCH_LOAD_BATCH);
	}
	return sent;
}

uint64_t bench_load_intended_ns(const struct bench_load_open *l, uint64_t frame)
{
	return l->begin_ns + (uint64_t)((double)frame * 1e9 / l->rate);
}

/* Polls for short delays: a sleep ends about 50 us late. */
static void wait_until(uint64_t due, uint64_t now)
{
	if (due > now + 2 * SLEEP_LATE_NS) {
		const uint64_t end = due - SLEEP_LATE_NS;
		const struct timespec t = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

void bench_load_send_open(struct bench_load_open *l,
	uint32_t (*send)(void *arg, uint64_t sent, uint32_t n), void *arg)
{
	uint64_t now = bench_load_now_ns(), deadline;

	l->sent = l->max_late_ns = 0;
	l->intended = (uint64_t)(l->rate * l->seconds);
	/* late frames are still sent for a short time */
	deadline = l->begin_ns + (uint64_t)(l->seconds * (1e9 + GRACE_PART_NS)) + GRACE_NS;
	for (; l->sent < l->intended && now < deadline; now = bench_load_now_ns()) {
		const uint64_t due = bench_load_intended_ns(l, l->sent);
		uint64_t n;

		if (due > now) {
			wait_until(due, now);
			continue;
		}
		if (now - due > l->max_late_ns)
			l->max_late_ns = now - due;
		n = (uint64_t)((double)(now - l->begin_ns) * l->rate / 1e9) + 1;
		n = n < l->intended ? n : l->intended;
		n = n > l->sent ? n - l->sent : 1; /* rounding */
		l->sent +=
			send(arg, l->sent, n < BENCH_LOAD_BATCH ? (uint32_t)n : BENCH_LOAD_BATCH);
	}
	l->end_ns = now;
}

/* ---- receiver ---- */

int bench_load_receiver(uint16_t port, unsigned at, uint32_t every)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)sizeof(struct udphdr) + at),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, every - 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
	const struct timeval patience = {0, PATIENCE_US};
	const int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	bench_load_must(
		fd >= 0 &&
			(every == 1 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
					       sizeof(program)) == 0) &&
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
			bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0,
		"receiver");
	return fd;
}

int bench_load_udp_open(void)
{
	const int fd = open("/proc/thread-self/net/snmp", O_RDONLY | O_CLOEXEC);

	bench_load_must(fd >= 0, "/proc/thread-self/net/snmp");
	return fd;
}

uint64_t bench_load_udp_arrived(int udp)
{
	char text[4096];
	unsigned long long read_ones = 0, none = 0, bad = 0;
	const char *line;
	ssize_t n = pread(udp, text, sizeof(text) - 1, 0);

	bench_load_must(n > 0, "/proc/net/snmp");
	text[n] = '\0';
	line = strstr(text, "\nUdp: "); /* names first, then values */
	line = line != NULL ? strstr(line + 1, "\nUdp: ") : NULL;
	bench_load_must(
		line != NULL && sscanf(line, "\nUdp: %llu %llu %llu", &read_ones, &none, &bad) == 3,
		"/proc/net/snmp");
	return read_ones + bad;
}
