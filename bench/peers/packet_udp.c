/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/harness/load.h"
#include "bench/peers/packet_options.h"
#include "bench/peers/packet_traffic.h"

#define PORT 9009u
#define FLOWS 64u
#define BATCH BENCH_LOAD_BATCH

/* The smallest frame: 60 bytes and the frame check sequence. The number is first in the payload,
 * where the socket filter reads it. */
struct frame {
	struct ether_header ether;
	struct iphdr ip;
	struct udphdr udp;
	uint32_t number; /* network order */
	uint64_t stamp_ns;
	uint8_t pad[6];
} __attribute__((packed));
_Static_assert(sizeof(struct frame) == PACKET_SIZE_MIN - PACKET_FCS, "the smallest Ethernet frame");

static int sender, udp_counters;
static uint32_t frame_len;
static uint8_t frames[BATCH][PACKET_SIZE_MAX];

static int open_receiver(const struct packet_options *o)
{
	const int fd = bench_load_receiver(PORT, 0, o->load.every);

	udp_counters = bench_load_udp_open();
	return fd;
}

static uint64_t arrived(void)
{
	return bench_load_udp_arrived(udp_counters);
}

static bool sample(const uint8_t *data, size_t len, struct packet_sample *out)
{
	uint32_t number;

	if (len < sizeof(number) + sizeof(out->sent_ns))
		return false;
	memcpy(&number, data, sizeof(number));
	memcpy(&out->sent_ns, data + sizeof(number), sizeof(out->sent_ns));
	out->number = ntohl(number);
	return true;
}

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

static void make_frames(const struct packet_options *o, const uint8_t mac[6])
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
	struct frame f = {0};

	frame_len = o->size - PACKET_FCS;
	ip.tot_len = htons((uint16_t)(frame_len - sizeof(f.ether)));
	bench_load_must(inet_pton(AF_INET, o->source, &ip.saddr) == 1 &&
				inet_pton(AF_INET, o->destination, &ip.daddr) == 1,
		"addresses");
	ip.check = checksum(&ip);
	f.ip = ip;
	memcpy(f.ether.ether_dhost, o->load.mac, 6);
	memcpy(f.ether.ether_shost, mac, 6);
	f.ether.ether_type = htons(ETHERTYPE_IP);
	f.udp.dest = htons(PORT);
	f.udp.len = htons((uint16_t)(frame_len - sizeof(f.ether) - sizeof(f.ip)));
	for (unsigned i = 0; i < BATCH; i++)
		memcpy(frames[i], &f, sizeof(f));
}

static uint32_t send_frames(void *unused, uint64_t first, uint32_t n)
{
	struct iovec io[BATCH];

	(void)unused;
	for (uint32_t i = 0; i < n; i++) {
		struct frame *f = (struct frame *)frames[i];

		f->number = htonl((uint32_t)(first + i));
		f->stamp_ns = bench_load_now_ns();
		f->udp.source = htons((uint16_t)(1024 + (first + i) % FLOWS));
		io[i] = (struct iovec){f, frame_len};
	}
	return bench_load_frames(sender, io, n);
}

static void open_sender(const struct packet_options *o)
{
	const uint64_t before = arrived(), end = bench_load_now_ns() + PACKET_TIMEOUT_NS;
	uint8_t mac[6];

	sender = bench_load_sender(o->load.interface, mac);
	make_frames(o, mac);
	while (arrived() == before) {
		if (bench_load_now_ns() > end) {
			fprintf(stderr, "packet_load: nothing came through\n");
			exit(1);
		}
		send_frames(NULL, 0, 1);
		usleep(20000);
	}
}

const struct packet_traffic packet_udp = {
	.open_receiver = open_receiver,
	.open_sender = open_sender,
	.send = send_frames,
	.arrived = arrived,
	.sample = sample,
};
