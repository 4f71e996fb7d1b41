/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of 64 bytes from one network namespace to a UDP socket in another, through whatever is
 * between them: at a rate, or as fast as the kernel takes them. Prints one JSON object: how many
 * were sent, how many arrived, how long they took, and the processor time of those who worked on
 * it.
 *
 *   packet_load -F NAMESPACE -T NAMESPACE -i INTERFACE -m MAC -s ADDRESS -d ADDRESS
 *               [-r RATE] [-t SECONDS] [-n EVERY] [-P NAME=PID,...]...
 *
 * They leave by a packet socket at INTERFACE (of both namespaces), to MAC. What arrives is counted
 * by the receiver's UDP, before a filter that gives its socket only every so many of them (-n, a
 * power of two), of which the time is taken. Before it begins, a frame has come through.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/harness/cpu_of.h"
#include "bench/harness/load.h"
#include "bench/harness/load_options.h"
#include "bench/harness/percentiles.h"

#define PORT 9009u
#define FLOWS 64u
#define BATCH BENCH_LOAD_BATCH
#define SAMPLES_MAX (1u << 21)
#define PATIENCE_NS 10000000000ull
#define QUIET_NS 300000000ull

/* 60 bytes, and four of the check sequence on a wire. The number is first in the payload, where
 * the filter finds it. */
struct frame {
	struct ether_header ether;
	struct iphdr ip;
	struct udphdr udp;
	uint32_t number; /* network order */
	uint64_t stamp_ns;
	uint8_t pad[6];
} __attribute__((packed));
_Static_assert(sizeof(struct frame) == 60, "the smallest frame of Ethernet");

static struct bench_load_options o = {.seconds = 1, .every = 1};
static const char *source, *destination;

static uint64_t took_ns[SAMPLES_MAX];
static _Atomic uint32_t samples;
static _Atomic uint64_t since_ns; /* samples that were sent earlier are not counted */
static atomic_bool listening, through, stop;
static int receiver_net;

/* ---- what arrives ---- */

static void take(const uint8_t *payload, uint64_t now)
{
	const uint32_t n = atomic_load_explicit(&samples, memory_order_relaxed);
	uint64_t stamp;

	memcpy(&stamp, payload + sizeof(uint32_t), sizeof(stamp));
	atomic_store(&through, true);
	if (stamp < atomic_load(&since_ns) || n == SAMPLES_MAX)
		return;
	took_ns[n] = now - stamp;
	atomic_store(&samples, n + 1);
}

static void *receive(void *arg)
{
	static uint8_t data[BATCH][64];
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	int fd;

	(void)arg;
	bench_load_enter(o.to);
	fd = bench_load_receiver(PORT, 0, o.every);
	receiver_net = bench_load_udp_open();
	atomic_store(&listening, true);
	while (!atomic_load(&stop)) {
		uint64_t now;
		int n;

		for (unsigned i = 0; i < BATCH; i++) {
			io[i] = (struct iovec){data[i], sizeof(data[i])};
			message[i] =
				(struct mmsghdr){.msg_hdr = {.msg_iov = &io[i], .msg_iovlen = 1}};
		}
		n = recvmmsg(fd, message, BATCH, MSG_WAITFORONE, NULL);
		now = bench_load_now_ns();
		for (int i = 0; i < n; i++)
			take(data[i], now);
	}
	close(fd);
	return NULL;
}

/* What came, when nothing more has come for a while. Nothing else in the namespace has a UDP
 * socket. */
static uint64_t settled(void)
{
	uint64_t n = bench_load_udp_arrived(receiver_net), since = bench_load_now_ns();

	while (bench_load_now_ns() - since < QUIET_NS) {
		const uint64_t m = bench_load_udp_arrived(receiver_net);

		if (m != n)
			since = bench_load_now_ns();
		n = m;
		usleep(10000);
	}
	return n;
}

/* ---- what is sent ---- */

static uint16_t checksum(const struct iphdr *ip)
{
	uint16_t word[sizeof(*ip) / 2];
	uint32_t s = 0;

	memcpy(word, ip, sizeof(word));
	for (unsigned i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		s += word[i];
	s = (s & 0xffff) + (s >> 16);
	return (uint16_t) ~(s + (s >> 16));
}

static void make_frames(struct frame frame[BATCH], const uint8_t mac[6])
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};

	ip.tot_len = htons(sizeof(struct frame) - sizeof(struct ether_header));
	bench_load_must(inet_pton(AF_INET, source, &ip.saddr) == 1 &&
				inet_pton(AF_INET, destination, &ip.daddr) == 1,
		"addresses");
	ip.check = checksum(&ip);
	for (unsigned i = 0; i < BATCH; i++) {
		struct frame *f = &frame[i];

		*f = (struct frame){.ip = ip};
		memcpy(f->ether.ether_dhost, o.mac, 6);
		memcpy(f->ether.ether_shost, mac, 6);
		f->ether.ether_type = htons(ETHERTYPE_IP);
		f->udp.dest = htons(PORT);
		f->udp.len = htons(sizeof(*f) - sizeof(f->ether) - sizeof(f->ip));
	}
}

struct sender {
	int fd;
	struct frame frame[BATCH];
};

/* Numbers from `first` on; how many the kernel took. */
static uint32_t send_frames(void *arg, uint64_t first, uint32_t n)
{
	struct sender *s = arg;
	struct iovec io[BATCH];

	for (uint32_t i = 0; i < n; i++) {
		s->frame[i].number = htonl((uint32_t)(first + i));
		s->frame[i].stamp_ns = bench_load_now_ns();
		s->frame[i].udp.source = htons((uint16_t)(1024 + (first + i) % FLOWS));
		io[i] = (struct iovec){&s->frame[i], sizeof(s->frame[i])};
	}
	return bench_load_frames(s->fd, io, n);
}

static void warm_up(struct sender *s)
{
	const uint64_t end = bench_load_now_ns() + PATIENCE_NS;

	atomic_store(&since_ns, UINT64_MAX);
	while (!atomic_load(&through)) {
		if (bench_load_now_ns() > end) {
			fprintf(stderr, "packet_load: nothing came through\n");
			exit(1);
		}
		send_frames(s, 0, 1);
		usleep(20000);
	}
}

static int usage(void)
{
	fprintf(stderr,
		"usage: packet_load -F NAMESPACE -T NAMESPACE -i INTERFACE -m MAC -s ADDRESS "
		"-d ADDRESS [-r RATE] [-t SECONDS] [-n EVERY] [-P NAME=PID,...]...\n");
	return 64;
}

static bool options(struct bench_cpu *cpu, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, BENCH_LOAD_OPTIONS "s:d:")) != -1) {
		if (c == 's')
			source = optarg;
		else if (c == 'd')
			destination = optarg;
		else if (!bench_load_option(&o, cpu, c, optarg))
			return false;
	}
	return optind == argc && source != NULL && destination != NULL && bench_load_complete(&o);
}

int main(int argc, char **argv)
{
	static struct sender s;
	static struct bench_cpu cpu;
	uint64_t before, sent, came, begin, end;
	uint8_t mac[6];
	pthread_t receiver;

	if (!options(&cpu, argc, argv))
		return usage();
	bench_load_must(pthread_create(&receiver, NULL, receive, NULL) == 0, "receiver");
	bench_load_enter(o.from);
	s.fd = bench_load_sender(o.interface, mac);
	make_frames(s.frame, mac);
	while (!atomic_load(&listening))
		usleep(1000);
	warm_up(&s);
	before = settled();
	bench_cpu_begin(&cpu);
	begin = bench_load_now_ns();
	atomic_store(&since_ns, begin);
	sent = bench_load_send(o.rate, o.seconds, send_frames, &s);
	end = bench_load_now_ns();
	came = settled() - before;
	atomic_store(&stop, true);
	pthread_join(receiver, NULL);
	printf("{\"rate\": %.0f, \"sent\": %llu, \"offered_pps\": %.0f, \"arrived\": %llu"
	       ", \"arrived_pps\": %.0f, \"lost\": %lld, ",
		o.rate, (unsigned long long)sent, (double)sent * 1e9 / (double)(end - begin),
		(unsigned long long)came, (double)came * 1e9 / (double)(end - begin),
		(long long)(sent - came));
	bench_cpu_print(&cpu);
	if (samples != 0) {
		printf(", \"latency\": {");
		bench_percentiles(took_ns, samples);
		putchar('}');
	} else {
		printf(", \"latency\": null");
	}
	puts("}");
	return 0;
}
