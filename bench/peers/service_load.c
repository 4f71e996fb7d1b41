/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of devices from one network namespace, through a gateway that makes something of them,
 * to the receiver's UDP socket in another, which checks it. Prints one JSON object: how many were
 * sent, how many arrived, how late the last one was after the last that was sent and how many a
 * second that makes of all, how long they took, and the processor time of those who worked on it.
 *
 *   service_load SERVICE -F NAMESPACE -T NAMESPACE -i INTERFACE -m MAC -d ADDRESS
 *                [-r RATE] [-t SECONDS] [-n EVERY] [-P NAME=PID,...]...
 *   service_load associate -F NAMESPACE
 *
 * SERVICE is aggregation, coordinates or health (bench/peers/service_traffic.h). Messages leave by
 * a packet socket at INTERFACE to MAC and ADDRESS. A message has arrived when the receiver has got
 * what resulted from it, is right, and was not there before; anything else that comes there ends
 * the run. With -n (a power of two; not for aggregates) that is so for a sample, and all are
 * counted by the receiver's UDP. Before it begins, a message has come through. The second form
 * makes the associations of the health devices, once for several runs.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "services/aggregation/datagram.h"
#include "bench/health/association_load.h"
#include "bench/harness/cpu_of.h"
#include "bench/harness/load.h"
#include "bench/harness/load_options.h"
#include "bench/harness/percentiles.h"
#include "bench/health/phd_frames.h"
#include "bench/peers/service_traffic.h"

#define BATCH BENCH_LOAD_BATCH
#define RUN_MAX (1u << 23) /* messages */
#define SPACE_STEP 1000000u
#define DATAGRAM 2048u
#define FRAME_MAX (BP_DATAGRAM_HEAD_MOST + BENCH_SERVICE_PAYLOAD_MAX)
#define PATIENCE_NS 10000000000ull
#define QUIET_NS 300000000ull

static struct bench_load_options o = {.rate = 1000, .seconds = 1, .every = 1};
static const struct bench_service *service;
static uint8_t destination[4];

/* By a message's number in the run: when it was sent; 0: it has not been, or has arrived. */
static _Atomic uint64_t sent_ns[RUN_MAX];
static uint64_t took_ns[RUN_MAX];
static uint32_t first;         /* number of the run's first message */
static _Atomic uint32_t since; /* those before are of the warming up */
static _Atomic uint32_t right; /* messages since then that have arrived */
static _Atomic uint64_t last_ns;
static atomic_bool listening, through, stop;
static int udp;

static void die(const char *what)
{
	fprintf(stderr, "service_load: %s: %s\n", service->name, what);
	exit(1);
}

/* ---- what arrives ---- */

/* A message that was sent earlier than this run is none of it. */
static void arrived(uint32_t number, uint64_t now)
{
	const uint32_t i = number - first, n = atomic_load_explicit(&right, memory_order_relaxed);
	uint64_t at;

	if (i >= RUN_MAX)
		return;
	at = atomic_exchange(&sent_ns[i], 0);
	if (at == 0)
		die("a message arrived twice, or was never sent");
	atomic_store(&through, true);
	if (i < atomic_load(&since))
		return;
	took_ns[n] = now - at;
	atomic_store(&last_ns, now);
	atomic_store(&right, n + 1);
}

static void take(const uint8_t *payload, size_t len, uint64_t now)
{
	uint32_t number[BENCH_SERVICE_MESSAGES];
	const unsigned n = service->check_reply(payload, len, number);

	if (n == 0)
		die("what arrived is not what it should be");
	for (unsigned i = 0; i < n; i++)
		arrived(number[i], now);
}

static void *receive(void *arg)
{
	static uint8_t data[BATCH][DATAGRAM];
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	int fd;

	(void)arg;
	bench_load_enter(o.to);
	fd = bench_load_receiver(service->receiver, service->sample_at, o.every);
	udp = bench_load_udp_open();
	for (unsigned i = 0; i < BATCH; i++) {
		io[i] = (struct iovec){data[i], DATAGRAM};
		message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &io[i], .msg_iovlen = 1}};
	}
	atomic_store(&listening, true);
	while (!atomic_load(&stop)) {
		const int n = recvmmsg(fd, message, BATCH, MSG_WAITFORONE, NULL);
		const uint64_t now = bench_load_now_ns();

		for (int i = 0; i < n; i++)
			take(data[i], message[i].msg_len, now);
	}
	close(fd);
	return NULL;
}

/* ---- what is sent ---- */

struct sender {
	int fd;
	uint8_t mac[6];
	uint32_t next; /* in the run */
	uint8_t frame[BATCH][FRAME_MAX];
};

/* Returns the frame's length. */
static unsigned make_frame(const struct sender *s, uint32_t number, uint8_t *frame)
{
	uint8_t src[4], payload[BENCH_SERVICE_PAYLOAD_MAX];
	struct bp_datagram_head h = {.src = src,
		.dst = destination,
		.dport = service->udp,
		.family = 4,
		.hops = 64,
		.dont_fragment = true};
	struct bench_service_sender from;
	const unsigned len = service->make(number, &from, payload);
	const unsigned head = BP_ETHER_HDR + bp_datagram_head_len(4);

	bp_put_be32(src, from.address);
	h.sport = from.port;
	memcpy(frame, o.mac, 6);
	memcpy(frame + 6, s->mac, 6);
	bp_put_be16(frame + 12, BP_ETHER_IP4);
	bp_datagram_put_head(frame + BP_ETHER_HDR, &h, len, bp_sum(payload, len, 0));
	memcpy(frame + head, payload, len);
	return head + len;
}

static uint32_t send_messages(void *arg, uint64_t sent, uint32_t n)
{
	struct sender *s = arg;
	struct iovec io[BATCH];
	uint32_t took;
	uint64_t now;

	(void)sent;
	n = n < RUN_MAX - s->next ? n : RUN_MAX - s->next;
	for (uint32_t i = 0; i < n; i++)
		io[i] = (struct iovec){
			s->frame[i], make_frame(s, first + s->next + i, s->frame[i])};
	now = bench_load_now_ns();
	for (uint32_t i = 0; i < n; i++)
		atomic_store_explicit(&sent_ns[s->next + i], now, memory_order_release);
	took = bench_load_frames(s->fd, io, n);
	for (uint32_t i = took; i < n; i++)
		atomic_store(&sent_ns[s->next + i], 0);
	s->next += took;
	return took;
}

static void warm_up(struct sender *s)
{
	const uint64_t end = bench_load_now_ns() + PATIENCE_NS;

	atomic_store(&since, RUN_MAX);
	while (!atomic_load(&through)) {
		if (bench_load_now_ns() > end)
			die("nothing came through");
		send_messages(s, 0, 1);
		usleep(20000);
	}
}

/* ---- */

/* How many have arrived, of which all or a sample are known to be right. */
static uint64_t count(uint64_t before)
{
	return o.every == 1 ? atomic_load(&right) : bench_load_udp_arrived(udp) - before;
}

/* Until `n` have arrived, or nothing more has come for a while. */
static void await(uint64_t before, uint64_t n)
{
	uint64_t had = count(before), at = bench_load_now_ns();

	while (count(before) < n && bench_load_now_ns() - at < QUIET_NS) {
		if (count(before) != had)
			at = bench_load_now_ns();
		had = count(before);
		usleep(1000);
	}
}

static void run(struct sender *s, struct bench_cpu *cpu)
{
	uint64_t before, datagrams, begin, end, last, sent, came;

	await(bench_load_udp_arrived(udp), UINT64_MAX);
	atomic_store(&since, s->next);
	datagrams = before = bench_load_udp_arrived(udp);
	bench_cpu_begin(cpu);
	begin = bench_load_now_ns();
	sent = bench_load_send(o.rate, o.seconds, send_messages, s);
	end = bench_load_now_ns();
	await(before, sent);
	came = count(before);
	datagrams = bench_load_udp_arrived(udp) - datagrams;
	last = atomic_load(&last_ns) > end ? atomic_load(&last_ns) : end;
	printf("{\"rate\": %.0f, \"sent\": %llu, \"per_second\": %.0f"
	       ", \"finished_per_second\": %.0f, \"arrived\": %llu, \"lost\": %lld"
	       ", \"datagrams\": %llu, \"behind_ms\": %.1f, ",
		o.rate, (unsigned long long)sent, (double)sent * 1e9 / (double)(end - begin),
		(double)came * 1e9 / (double)(last - begin), (unsigned long long)came,
		(long long)(sent - came), (unsigned long long)datagrams,
		(double)(last - end) / 1e6);
	bench_cpu_print(cpu);
}

static void print_latency(void)
{
	if (right != 0) {
		printf(", \"latency\": {");
		bench_percentiles(took_ns, right);
		puts("}}");
	} else {
		puts(", \"latency\": null}");
	}
}

/* By the manager's own way, with the configuration that the reports have. */
static int associate(void)
{
	uint8_t config[256];
	struct bench_association_load l = {.under_way = 64,
		.at_least = BENCH_PHD_DEVICES,
		.at_most = BENCH_PHD_DEVICES,
		.config = config,
		.config_len = bench_phd_config_report(BENCH_PHD_APDU_MIN + 2, config)};

	bench_load_enter(o.from);
	bench_association_load(&l);
	if (!l.stuck && l.others == 0 && l.done == BENCH_PHD_DEVICES)
		return 0;
	fprintf(stderr, "service_load: %u of %u devices associated, %llu other answers\n", l.done,
		BENCH_PHD_DEVICES, (unsigned long long)l.others);
	return 1;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: service_load aggregation|coordinates|health -F NAMESPACE -T NAMESPACE "
		"-i INTERFACE -m MAC -d ADDRESS [-r RATE] [-t SECONDS] [-n EVERY] "
		"[-P NAME=PID,...]...\n"
		"       service_load associate -F NAMESPACE\n");
	return 64;
}

static bool options(struct bench_cpu *cpu, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, BENCH_LOAD_OPTIONS "d:")) != -1) {
		if (c == 'd' ? inet_pton(AF_INET, optarg, destination) != 1
			     : !bench_load_option(&o, cpu, c, optarg))
			return false;
	}
	return optind == argc && o.from != NULL;
}

static bool complete(void)
{
	return service != NULL && destination[0] != 0 && o.rate > 0 && bench_load_complete(&o) &&
	       (o.every == 1 || service->sampled);
}

int main(int argc, char **argv)
{
	static struct bench_cpu cpu;
	static struct sender s;
	pthread_t receiver;

	if (argc < 2 || !options(&cpu, argc - 1, argv + 1))
		return usage();
	if (strcmp(argv[1], "associate") == 0)
		return associate();
	service = bench_service_find(argv[1]);
	if (!complete())
		return usage();
	first = (uint32_t)(bench_load_now_ns() / 1000000u % (BENCH_SERVICE_SPACE / SPACE_STEP)) *
		SPACE_STEP;
	bench_load_must(pthread_create(&receiver, NULL, receive, NULL) == 0, "receiver");
	bench_load_enter(o.from);
	s.fd = bench_load_sender(o.interface, s.mac);
	while (!atomic_load(&listening))
		usleep(1000);
	warm_up(&s);
	run(&s, &cpu);
	atomic_store(&stop, true);
	pthread_join(receiver, NULL);
	print_latency();
	return 0;
}
