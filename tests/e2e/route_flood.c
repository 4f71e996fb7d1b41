/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mode flood of route_load: 64-byte frames out of one interface, past its queueing discipline,
 * as fast as the kernel takes them or at --rate: UDP, or with --kind arp ARP requests for the
 * destination. Prints how many it sent.
 */
#include "route_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BATCH 256
#define FRAME 60 /* and four bytes of check sequence on a wire */

struct frame {
	struct ether_header ether;
	struct iphdr ip;
	struct udphdr udp;
	unsigned char data[FRAME - sizeof(struct ether_header) - sizeof(struct iphdr) -
			   sizeof(struct udphdr)];
} __attribute__((packed));

static uint16_t ip_checksum(const void *ip)
{
	uint16_t word[sizeof(struct iphdr) / 2];
	uint32_t s = 0;

	memcpy(word, ip, sizeof(word));
	for (unsigned i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		s += word[i];
	s = (s & 0xffff) + (s >> 16);
	s += s >> 16;
	return (uint16_t)~s;
}

static void fill(struct frame *f, int argc, char **argv, const unsigned char *source_mac)
{
	unsigned m[6];

	memset(f, 0, sizeof(*f));
	if (sscanf(route_load_option(argc, argv, "--to", NULL), "%x:%x:%x:%x:%x:%x", &m[0], &m[1],
		    &m[2], &m[3], &m[4], &m[5]) != 6) {
		fprintf(stderr, "route_load: --to takes a MAC address\n");
		exit(64);
	}
	for (unsigned i = 0; i < 6; i++)
		f->ether.ether_dhost[i] = (uint8_t)m[i];
	memcpy(f->ether.ether_shost, source_mac, 6);
	f->ether.ether_type = htons(ETHERTYPE_IP);
	f->ip.version = 4;
	f->ip.ihl = 5;
	f->ip.tot_len = htons(FRAME - sizeof(f->ether));
	f->ip.ttl = 64;
	f->ip.protocol = IPPROTO_UDP;
	if (inet_pton(AF_INET, route_load_option(argc, argv, "--source", NULL), &f->ip.saddr) !=
			1 ||
		inet_pton(AF_INET, route_load_option(argc, argv, "--destination", NULL),
			&f->ip.daddr) != 1) {
		fprintf(stderr, "route_load: --source and --destination take IPv4 addresses\n");
		exit(64);
	}
	f->ip.check = ip_checksum(&f->ip);
	f->udp.len = htons(FRAME - sizeof(f->ether) - sizeof(f->ip));
	f->udp.dest = htons(9); /* discard; a checksum of 0 is none */
}

/* The same frame as an ARP request for the destination. */
static void make_arp(struct frame *f)
{
	struct ether_arp a = {.arp_hrd = htons(1),
		.arp_pro = htons(ETHERTYPE_IP),
		.arp_hln = 6,
		.arp_pln = 4,
		.arp_op = htons(ARPOP_REQUEST)};

	memcpy(a.arp_sha, f->ether.ether_shost, 6);
	memcpy(a.arp_spa, &f->ip.saddr, 4);
	memcpy(a.arp_tpa, &f->ip.daddr, 4);
	f->ether.ether_type = htons(ETHERTYPE_ARP);
	memset((unsigned char *)f + sizeof(f->ether), 0, sizeof(*f) - sizeof(f->ether));
	memcpy((unsigned char *)f + sizeof(f->ether), &a, sizeof(a));
}

static int open_interface(const char *name, unsigned char *mac)
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0), on = 1, size = 16 << 20;
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
	struct ifreq r = {0};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &r) != 0 ||
		bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) != 0) {
		perror("route_load: packet socket");
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	memcpy(mac, r.ifr_hwaddr.sa_data, 6);
	return fd;
}

int route_flood(int argc, char **argv)
{
	static struct frame frame[BATCH];
	static struct mmsghdr message[BATCH];
	static struct iovec io[BATCH];
	unsigned char mac[6];
	int fd = open_interface(route_load_option(argc, argv, "--interface", NULL), mac);
	uint64_t rate = strtoull(route_load_option(argc, argv, "--rate", "0"), NULL, 10), sent = 0;
	uint64_t begin = route_load_now();

	for (unsigned i = 0; i < BATCH; i++) {
		fill(&frame[i], argc, argv, mac);
		frame[i].udp.source = htons((uint16_t)(1024 + i));
		if (strcmp(route_load_option(argc, argv, "--kind", "udp"), "arp") == 0)
			make_arp(&frame[i]);
		io[i] = (struct iovec){&frame[i], sizeof(frame[i])};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
	}
	while (!route_load_stop) {
		int n;

		if (rate && sent > (route_load_now() - begin) / 1000 * rate / 1000000) {
			struct timespec tick = {0, 200000};

			nanosleep(&tick, NULL);
			continue;
		}
		n = sendmmsg(fd, message, BATCH, 0);
		if (n > 0) {
			sent += (uint64_t)n;
		} else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR &&
			   errno != ENETDOWN) {
			perror("route_load: flood");
			return 1;
		}
	}
	printf("{\"sent\": %llu, \"seconds\": %.3f}\n", (unsigned long long)sent,
		(double)(route_load_now() - begin) / 1e9);
	return 0;
}
