/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of 64 octets from one network namespace to a UDP socket in another, through whatever is
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
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/cpu_of.h"
#include "bench/percentiles.h"

#define PORT 9009u
#define FLOWS 64u
#define BATCH 32u
#define SAMPLES_MAX (1u << 21)
#define SOCKET_BYTES (64 << 20)
#define PATIENCE_NS 10000000000ull
#define QUIET_NS 300000000ull
#define LATE 20u /* as in alarm_load.c */

/* 60 octets, and four of the check sequence on a wire. The number is first in the payload, where
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

static struct {
	const char *from, *to, *interface, *source, *destination;
	uint8_t mac[6];
	double rate, seconds;
	uint32_t every;
} o = {.seconds = 1, .every = 1};

static uint64_t took_ns[SAMPLES_MAX];
static _Atomic uint32_t samples;
static _Atomic uint64_t since_ns; /* samples that were sent earlier are not counted */
static atomic_bool listening, through, stop;
static int receiver_net;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "packet_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* This thread is then in it. */
static void enter(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
	close(fd);
}

/* ---- what arrives ---- */

static int open_receiver(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct udphdr)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, o.every - 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	const int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 &&
			setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ==
				0 &&
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0,
		"receiver");
	return fd;
}

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
	const struct timeval patience = {0, 50000};
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	int fd;

	(void)arg;
	enter(o.to);
	fd = open_receiver();
	receiver_net = open("/proc/thread-self/net/snmp", O_RDONLY | O_CLOEXEC);
	must(receiver_net >= 0 &&
			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0,
		"receiver");
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
		now = now_ns();
		for (int i = 0; i < n; i++)
			take(data[i], now);
	}
	close(fd);
	return NULL;
}

/* Datagrams that came to the receiver's UDP: those that were read, and those that were not, of
 * which the filter's are most. Nothing else in the namespace has a UDP socket. */
static uint64_t arrived(void)
{
	char text[4096];
	unsigned long long read_ones = 0, none = 0, bad = 0;
	const char *line;
	ssize_t n = pread(receiver_net, text, sizeof(text) - 1, 0);

	must(n > 0, "/proc/net/snmp");
	text[n] = '\0';
	line = strstr(text, "\nUdp: "); /* the names, and then the figures */
	line = line != NULL ? strstr(line + 1, "\nUdp: ") : NULL;
	must(line != NULL && sscanf(line, "\nUdp: %llu %llu %llu", &read_ones, &none, &bad) == 3,
		"/proc/net/snmp");
	return read_ones + bad;
}

/* Until nothing more has come for a while. */
static uint64_t settled(void)
{
	uint64_t n = arrived(), since = now_ns();

	while (now_ns() - since < QUIET_NS) {
		const uint64_t m = arrived();

		if (m != n)
			since = now_ns();
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

static int open_sender(uint8_t mac[6])
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(o.interface)};
	const int one = 1, size = SOCKET_BYTES;
	struct ifreq r = {0};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", o.interface);
	must(fd >= 0 && at.sll_ifindex != 0 && ioctl(fd, SIOCGIFHWADDR, &r) == 0 &&
			bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
			setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		o.interface);
	memcpy(mac, r.ifr_hwaddr.sa_data, 6);
	return fd;
}

static void make_frames(struct frame frame[BATCH], const uint8_t mac[6])
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};

	ip.tot_len = htons(sizeof(struct frame) - sizeof(struct ether_header));
	must(inet_pton(AF_INET, o.source, &ip.saddr) == 1 &&
			inet_pton(AF_INET, o.destination, &ip.daddr) == 1,
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

/* Numbers from `first` on; how many the kernel took. */
static uint32_t send_frames(int fd, struct frame frame[BATCH], uint64_t first, uint32_t n)
{
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	int sent;

	for (uint32_t i = 0; i < n; i++) {
		frame[i].number = htonl((uint32_t)(first + i));
		frame[i].stamp_ns = now_ns();
		frame[i].udp.source = htons((uint16_t)(1024 + (first + i) % FLOWS));
		io[i] = (struct iovec){&frame[i], sizeof(frame[i])};
		message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &io[i], .msg_iovlen = 1}};
	}
	sent = sendmmsg(fd, message, n, 0);
	if (sent >= 0)
		return (uint32_t)sent;
	must(errno == ENOBUFS || errno == EAGAIN || errno == EINTR, "sender");
	return 0;
}

static void warm_up(int fd, struct frame frame[BATCH])
{
	const uint64_t end = now_ns() + PATIENCE_NS;

	atomic_store(&since_ns, UINT64_MAX);
	while (!atomic_load(&through)) {
		if (now_ns() > end) {
			fprintf(stderr, "packet_load: nothing came through\n");
			exit(1);
		}
		send_frames(fd, frame, 0, 1);
		usleep(20000);
	}
}

static uint64_t send_all(int fd, struct frame frame[BATCH])
{
	uint64_t begin = now_ns(), sent = 0;
	const uint64_t end = begin + (uint64_t)(o.seconds * 1e9);

	for (uint64_t now = begin; now < end; now = now_ns()) {
		uint64_t due = sent + BATCH;

		if (o.rate > 0)
			due = (uint64_t)((double)(now - begin) * o.rate / 1e9);
		if (sent >= due) {
			nanosleep(&(struct timespec){0, 50000}, NULL);
			continue;
		}
		if (o.rate > 0 && (double)(due - sent) > o.rate / LATE + BATCH) {
			begin += (uint64_t)((double)(due - sent) / o.rate * 1e9);
			continue;
		}
		sent += send_frames(
			fd, frame, sent, due - sent < BATCH ? (uint32_t)(due - sent) : BATCH);
	}
	return sent;
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
	const struct ether_addr *mac = NULL;
	int c;

	while ((c = getopt(argc, argv, "F:T:i:m:s:d:r:t:n:P:")) != -1) {
		if (c == 'F')
			o.from = optarg;
		else if (c == 'T')
			o.to = optarg;
		else if (c == 'i')
			o.interface = optarg;
		else if (c == 'm')
			mac = ether_aton(optarg);
		else if (c == 's')
			o.source = optarg;
		else if (c == 'd')
			o.destination = optarg;
		else if (c == 'r')
			o.rate = strtod(optarg, NULL);
		else if (c == 't')
			o.seconds = strtod(optarg, NULL);
		else if (c == 'n')
			o.every = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c != 'P' || bench_cpu_add(cpu, optarg) != 0)
			return false;
	}
	if (mac == NULL || o.from == NULL || o.to == NULL || o.interface == NULL ||
		o.source == NULL || o.destination == NULL)
		return false;
	memcpy(o.mac, mac, sizeof(o.mac));
	return o.rate >= 0 && o.seconds > 0 && o.every != 0 && (o.every & (o.every - 1)) == 0;
}

int main(int argc, char **argv)
{
	static struct frame frame[BATCH];
	static struct bench_cpu cpu;
	uint64_t before, sent, came, begin, end;
	uint8_t mac[6];
	pthread_t receiver;
	int fd;

	if (!options(&cpu, argc, argv))
		return usage();
	must(pthread_create(&receiver, NULL, receive, NULL) == 0, "receiver");
	enter(o.from);
	fd = open_sender(mac);
	make_frames(frame, mac);
	while (!atomic_load(&listening))
		usleep(1000);
	warm_up(fd, frame);
	before = settled();
	bench_cpu_begin(&cpu);
	begin = now_ns();
	atomic_store(&since_ns, begin);
	sent = send_all(fd, frame);
	end = now_ns();
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
