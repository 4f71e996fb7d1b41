/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbered UDP traffic through a router, for the end-to-end tests: received packets can be compared
 * with sent packets one by one.
 *
 *   route_load send    --run N --port P --rate PPS [--count N] [--sources N] [--size B]
 * <DESTINATIONS route_load receive --run N --port P route_load flood   --interface IF --to MAC
 * --source IP --destination IP [--rate PPS]
 *
 * Each pair of a destination (a line of standard input, either family) and a source port is a
 * stream; a stream's packets are numbered from 0. `send` continues until --count packets have been
 * sent or SIGTERM comes, `receive` until SIGTERM and then until nothing has come for 300 ms. Both
 * print one JSON object: for each stream that had packets its number, how many, and the sum over
 * them of a 64-bit hash of (stream, number). Equal counts and equal sums mean the same packets,
 * each once, also when the packets of one stream arrived at several receivers.
 */
#include "route_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAGIC UINT64_C(0x62706c6f61642031)
#define BATCH 32
#define MAX_STREAMS 65536
#define MAX_SOURCES 1024
#define MAX_SIZE 9000

volatile sig_atomic_t route_load_stop;

struct payload {
	uint64_t magic;
	uint32_t run;
	uint32_t stream;
	uint64_t number;
};

struct stream {
	uint64_t n, sum;
};

static struct stream stream[MAX_STREAMS];

static void on_signal(int number)
{
	(void)number;
	route_load_stop = 1;
}

const char *route_load_option(int argc, char **argv, const char *name, const char *fallback)
{
	for (int i = 2; i + 1 < argc; i += 2)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	if (!fallback) {
		fprintf(stderr, "route_load: %s is missing\n", name);
		exit(64);
	}
	return fallback;
}

static uint64_t number_option(int argc, char **argv, const char *name, const char *fallback)
{
	return strtoull(route_load_option(argc, argv, name, fallback), NULL, 10);
}

/* splitmix64's finalizer: a bijection, so that two numbers never have one hash. */
static uint64_t hash(uint32_t s, uint64_t number)
{
	uint64_t x = ((uint64_t)s << 44 ^ number) + UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void book(uint32_t s, uint64_t number)
{
	stream[s].n++;
	stream[s].sum += hash(s, number);
}

static void print_streams(uint64_t attackers)
{
	const char *comma = "";

	printf("{\"strangers\": %llu, \"streams\": {", (unsigned long long)attackers);
	for (unsigned i = 0; i < MAX_STREAMS; i++) {
		if (stream[i].n == 0)
			continue;
		printf("%s\"%u\": [%llu, \"%016llx\"]", comma, i, (unsigned long long)stream[i].n,
			(unsigned long long)stream[i].sum);
		comma = ", ";
	}
	printf("}}\n");
}

/* ---------------------------------------------------------------- send */

static struct sockaddr_in6 destination[MAX_STREAMS];
static unsigned n_destinations;

/* IPv4 addresses become mapped ones: one socket sends both families. */
static void read_destinations(uint16_t port)
{
	char line[128], text[160];

	while (n_destinations < MAX_STREAMS && fgets(line, sizeof(line), stdin)) {
		struct sockaddr_in6 *d = &destination[n_destinations];

		line[strcspn(line, "\r\n")] = 0;
		snprintf(text, sizeof(text), "%s%s", strchr(line, ':') ? "" : "::ffff:", line);
		d->sin6_family = AF_INET6;
		d->sin6_port = htons(port);
		if (inet_pton(AF_INET6, text, &d->sin6_addr) != 1) {
			fprintf(stderr, "route_load: '%s' is no address\n", line);
			exit(64);
		}
		n_destinations++;
	}
	if (n_destinations == 0) {
		fprintf(stderr, "route_load: no destinations on standard input\n");
		exit(64);
	}
}

static int open_socket(uint16_t port)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), off = 0, size = 256 << 20;
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0 ||
		bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0) {
		perror("route_load: socket");
		exit(1);
	}
	/* Packets queued in the socket while this process is descheduled must not be lost. */
	if (setsockopt(fd, SOL_SOCKET, port ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &size,
		    sizeof(size)) != 0)
		perror("route_load: buffer");
	return fd;
}

struct sender {
	int fd[MAX_SOURCES];
	unsigned n_sources;
	uint64_t run, size, next; /* next: stream whose turn it is */
};

/* One packet of up to BATCH streams each, all from one source port, as sendmmsg() has it. */
static unsigned send_batch(struct sender *s, uint64_t most)
{
	static unsigned char data[BATCH][MAX_SIZE];
	struct mmsghdr message[BATCH] = {0};
	struct iovec io[BATCH];
	unsigned source = (unsigned)(s->next / n_destinations % s->n_sources), n = 0;
	uint64_t first = s->next % n_destinations;
	int sent;

	while (n < BATCH && n < most && first + n < n_destinations) {
		unsigned d = (unsigned)first + n;
		uint32_t which = source * n_destinations + d;
		struct payload p = {MAGIC, (uint32_t)s->run, which, stream[which].n};

		memcpy(data[n], &p, sizeof(p));
		io[n] = (struct iovec){data[n], s->size};
		message[n].msg_hdr = (struct msghdr){.msg_name = &destination[d],
			.msg_namelen = sizeof(destination[d]),
			.msg_iov = &io[n],
			.msg_iovlen = 1};
		n++;
	}
	sent = sendmmsg(s->fd[source], message, n, 0);
	if (sent < 0) {
		/* EHOSTUNREACH and similar errors are an earlier packet's ICMP error, reported
		 * once. */
		if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS &&
			errno != EHOSTUNREACH && errno != ENETUNREACH && errno != ECONNREFUSED &&
			errno != EACCES && errno != EMSGSIZE) {
			perror("route_load: send");
			exit(1);
		}
		return 0;
	}
	for (int i = 0; i < sent; i++) {
		uint32_t which = source * n_destinations + (uint32_t)first + (uint32_t)i;

		book(which, stream[which].n);
	}
	s->next += (uint64_t)sent;
	return (unsigned)sent;
}

static int run_send(int argc, char **argv)
{
	static struct sender s;
	uint64_t rate = number_option(argc, argv, "--rate", NULL), sent = 0, begin;
	uint64_t count = number_option(argc, argv, "--count", "18446744073709551615");

	s.n_sources = (unsigned)number_option(argc, argv, "--sources", "1");
	s.size = number_option(argc, argv, "--size", "32");
	s.run = number_option(argc, argv, "--run", NULL);
	read_destinations((uint16_t)number_option(argc, argv, "--port", NULL));
	if (s.n_sources < 1 || s.n_sources > MAX_SOURCES || s.size < sizeof(struct payload) ||
		s.size > MAX_SIZE || rate == 0 ||
		(uint64_t)s.n_sources * n_destinations > MAX_STREAMS) {
		fprintf(stderr, "route_load: --sources, --size or --rate out of range\n");
		return 64;
	}
	for (unsigned i = 0; i < s.n_sources; i++)
		s.fd[i] = open_socket(0);
	begin = route_load_now();
	while (!route_load_stop && sent < count) {
		uint64_t due = (route_load_now() - begin) / 1000 * rate / 1000000;
		struct timespec tick = {0, 500000};

		if (due > count)
			due = count;
		if (sent >= due) {
			nanosleep(&tick, NULL);
			continue;
		}
		/* After a pause of this process what is late is not sent in one go: no queue is
		 * endless, and a burst is not what is tested. */
		if (due - sent > rate / 20 + BATCH) {
			begin += (due - sent) * 1000000 / rate * 1000;
			continue;
		}
		sent += send_batch(&s, due - sent);
	}
	print_streams(0);
	return 0;
}

/* ---------------------------------------------------------------- receive */

static int run_receive(int argc, char **argv)
{
	static unsigned char data[BATCH][MAX_SIZE];
	uint64_t run = number_option(argc, argv, "--run", NULL), attackers = 0;
	int fd = open_socket((uint16_t)number_option(argc, argv, "--port", NULL));

	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct mmsghdr message[BATCH] = {0};
		struct iovec io[BATCH];
		int n = poll(&p, 1, 300);

		/* The signal itself breaks off a poll: that is not yet quiet. */
		if (n == 0 && route_load_stop)
			break;
		if (n <= 0)
			continue;
		for (unsigned i = 0; i < BATCH; i++) {
			io[i] = (struct iovec){data[i], MAX_SIZE};
			message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
		}
		n = recvmmsg(fd, message, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++) {
			struct payload q;

			memcpy(&q, data[i], sizeof(q));
			if (message[i].msg_len < sizeof(q) || q.magic != MAGIC || q.run != run ||
				q.stream >= MAX_STREAMS)
				attackers++;
			else
				book(q.stream, q.number);
		}
	}
	print_streams(attackers);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction end = {.sa_handler = on_signal};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	if (argc >= 2 && strcmp(argv[1], "send") == 0)
		return run_send(argc, argv);
	if (argc >= 2 && strcmp(argv[1], "receive") == 0)
		return run_receive(argc, argv);
	if (argc >= 2 && strcmp(argv[1], "flood") == 0)
		return route_flood(argc, argv);
	fprintf(stderr, "route_load: expected send, receive or flood\n");
	return 64;
}
