/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figure 12 of Lin et al. (2018) for a socket program (bench/aggregation/agg_socket_gateway.h):
 * restored messages/s at a list of offered rates.
 *
 *   agg_sockets [--one-by-one] N SECONDS RATE...
 *
 * The restored messages of one aggregate leave in one call (UDP_SEGMENT), which is faster; with
 * --one-by-one each is a datagram of sendmmsg(). The program has a core of its own. A sender
 * process on another core offers messages at each RATE (messages/s) in turn; restored messages go
 * to a tap interface, which drops them. All rates are per second of CPU time of the program: while
 * it is descheduled, nothing is sent (see bench/lcl/wire.h). `offered` is the number of messages
 * sent; messages that the sender cannot send in time are not offered.
 *
 * The setup favours the program: the kernel receives on the core of the sender, loopback does not
 * verify checksums, and the interface costs nothing. Prints one JSON object. Fails if the messages
 * sent are not all restored or counted as socket drops.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/aggregation/agg_frames.h"
#include "bench/aggregation/agg_socket_gateway.h"
#include "bench/harness/phd_lab.h"

#define PIECE 42u  /* messages per call; divides BENCH_AGG_MESSAGES */
#define RING 1024u /* limit of due and unsent messages: those above it are not offered */
#define SETTLE 0.2 /* warm-up time before the measurement */
#define PATIENCE_NS 5000000000ull

struct sender {
	int fd;
	struct bench_agg_socket_gateway *gateway;
	uint32_t next; /* index of the message in payload[] */
	uint64_t sent;
	uint8_t payload[BENCH_AGG_MESSAGES * BENCH_AGG_PAYLOAD];
};

struct moment {
	uint64_t cpu_ns, sent, restored, aggregates;
};

static pid_t start_gateway(struct bench_agg_socket_gateway *n)
{
	pid_t pid = fork();

	bench_must(pid >= 0, "fork", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_pin(1);
		bench_agg_socket_run(n);
	}
	while (atomic_load(&n->ready) == 0)
		bench_must(waitpid(pid, NULL, WNOHANG) == 0, "gateway", "it ended");
	return pid;
}

static void open_sender(struct sender *s)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(BENCH_AGG_SOCKET_AGGREGATE)};
	const int segment = BENCH_AGG_PAYLOAD;
	uint8_t frame[BENCH_AGG_FRAME];

	to.sin_addr.s_addr = htonl(0x0a000001);
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bench_must(s->fd >= 0 && connect(s->fd, (struct sockaddr *)&to, sizeof(to)) == 0, "sender",
		strerror(errno));
	/* The kernel segments a longer datagram: the sender is then faster than the gateway. */
	bench_must(setsockopt(s->fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0,
		"sender", strerror(errno));
	for (uint32_t i = 0; i < BENCH_AGG_MESSAGES; i++) {
		bench_agg_message(i, frame);
		memcpy(s->payload + (size_t)i * BENCH_AGG_PAYLOAD, frame + BENCH_AGG_AT_PAYLOAD,
			BENCH_AGG_PAYLOAD);
	}
}

/* The next `n` messages, at most PIECE. */
static void send_piece(struct sender *s, uint32_t n)
{
	const uint32_t left = BENCH_AGG_MESSAGES - s->next;
	const size_t len = (size_t)(n < left ? n : left) * BENCH_AGG_PAYLOAD;

	bench_must(send(s->fd, s->payload + (size_t)s->next * BENCH_AGG_PAYLOAD, len, 0) ==
			   (ssize_t)len,
		"send", strerror(errno));
	n = n < left ? n : left;
	s->sent += n;
	s->next = (s->next + n) % BENCH_AGG_MESSAGES;
}

static struct moment look(const struct sender *s)
{
	return (struct moment){.cpu_ns = atomic_load(&s->gateway->cpu_ns),
		.sent = s->sent,
		.restored = atomic_load(&s->gateway->restored),
		.aggregates = atomic_load(&s->gateway->aggregates)};
}

/* Sends messages at a rate for the given CPU time of the gateway. */
static void send_for(struct sender *s, double rate, double ns)
{
	uint64_t now = atomic_load(&s->gateway->cpu_ns), last = now;
	const uint64_t end = now + (uint64_t)ns;
	double due = 0;

	for (; now < end; now = atomic_load(&s->gateway->cpu_ns)) {
		due += (double)(now - last) * rate / 1e9;
		due = due < RING ? due : RING;
		last = now;
		atomic_store_explicit(&s->gateway->seen_ns, now, memory_order_relaxed);
		if (due >= 1) {
			const uint32_t n = due < PIECE ? (uint32_t)due : PIECE;

			send_piece(s, n);
			due -= n;
		}
	}
}

/* Whether all messages sent are accounted for, and all received ones were restored. */
static bool settled(const struct sender *s, const struct bench_agg_socket_gateway *n)
{
	const uint64_t end = bench_now_ns() + PATIENCE_NS;
	uint64_t drops, lost;
	bool all;

	do {
		drops = bench_socket_drops(BENCH_AGG_SOCKET_AGGREGATE);
		lost = bench_socket_drops(BENCH_AGG_SOCKET_DISAGGREGATE);
		all = atomic_load(&n->taken) + drops == s->sent &&
		      atomic_load(&n->came) + lost == atomic_load(&n->aggregates) && lost == 0 &&
		      atomic_load(&n->restored) == atomic_load(&n->taken) &&
		      atomic_load(&n->bad) == 0;
	} while (!all && bench_now_ns() < end);
	return all;
}

static void measure(struct sender *s, double rate, double seconds)
{
	struct moment from, to;
	double cpu;

	send_for(s, rate, SETTLE * seconds * 1e9);
	from = look(s);
	send_for(s, rate, seconds * 1e9);
	to = look(s);
	cpu = (double)(to.cpu_ns - from.cpu_ns) / 1e9;
	printf("{\"rate\": %.0f, \"offered\": %.0f, \"restored\": %.0f, \"aggregates\": %.0f}",
		rate, (double)(to.sent - from.sent) / cpu,
		(double)(to.restored - from.restored) / cpu,
		(double)(to.aggregates - from.aggregates) / cpu);
}

static int usage(void)
{
	fprintf(stderr, "usage: agg_sockets [--one-by-one] N (1..8) SECONDS RATE...\n");
	return 64;
}

int main(int argc, char **argv)
{
	static struct bench_kernel kernel;
	static struct sender s;
	struct bench_agg_socket_gateway *n =
		mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double seconds;
	pid_t pid;
	bool proven;

	bench_must(n != MAP_FAILED, "memory", strerror(errno));
	n->segments = true;
	if (argc > 1 && strcmp(argv[1], "--one-by-one") == 0) {
		n->segments = false;
		argv++, argc--;
	}
	if (argc < 4)
		return usage();
	n->messages = (unsigned)strtoul(argv[1], NULL, 0);
	seconds = strtod(argv[2], NULL);
	if (n->messages < 1 || n->messages > 8 || !(seconds > 0))
		return usage();
	bench_phd_lab(&kernel);
	bench_phd_lab_card(&kernel);
	s.gateway = n;
	pid = start_gateway(n);
	bench_pin(0);
	open_sender(&s);
	printf("{\"n\": %u, \"points\": [", n->messages);
	for (int i = 3; i < argc; i++) {
		printf("%s", i > 3 ? ", " : "");
		measure(&s, strtod(argv[i], NULL), seconds);
	}
	proven = settled(&s, n);
	printf("], \"sent\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"aggregates\": %" PRIu64
	       ", \"restored\": %" PRIu64 ", \"timeouts\": %" PRIu64 ", \"proven\": %s}\n",
		s.sent, atomic_load(&n->taken), atomic_load(&n->aggregates),
		atomic_load(&n->restored), atomic_load(&n->timeouts), proven ? "true" : "false");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return proven ? 0 : 1;
}
