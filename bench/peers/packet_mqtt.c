/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Publications of established MQTT connections, as segments from packet sockets. The two ends are
 * this process: no TCP stack delays a segment or sends it again. The addresses are of no host, so
 * the kernel of neither namespace answers.
 *
 * The sequence number and the port of a segment yield the number of its frame: frame i is
 * publication i / connections of connection i % connections.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/harness/load.h"
#include "bench/peers/packet_options.h"
#include "bench/peers/packet_publish.h"
#include "bench/peers/packet_traffic.h"
#include "proto/net/frame.h"

#define BATCH BENCH_LOAD_BATCH
#define FRAME_MAX (PACKET_SIZE_MAX - PACKET_FCS)
/* The broker acknowledges each connection once in so many segments, two segments late. */
#define ACK_EVERY 16u
#define ACK_DELAY 2u
#define RESEND_NS 200000000ull /* after which a step of the handshake is sent again */
#define BROKER_PORT 1883u
#define AT_PROTOCOL 23u
#define AT_SOURCE_PORT 34u
#define AT_DESTINATION_PORT 36u
#define AT_SEQ 38u

/* Packets that a filter accepts: those that are dropped since no one reads them are counted, too.
 */
struct counter {
	int fd;
	uint64_t n;
};

static struct packet_mqtt_ends ends;
static struct counter at_broker, at_client;
static int to_broker, to_client;
static uint32_t connections, every, frame_len, first_seq;
static uint8_t *frames; /* of each connection one below the threshold and one above it */

/* ---- what arrives ---- */

static void set_filter(int fd, struct sock_filter *code, unsigned n)
{
	const struct sock_fprog program = {(unsigned short)n, code};

	bench_load_must(
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0,
		"filter");
}

static int packet_socket(const char *interface)
{
	const struct sockaddr_ll at = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex(interface)};
	/* not of a protocol before its filter is set */
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);

	bench_load_must(fd >= 0 && at.sll_ifindex != 0, interface);
	set_filter(fd, &none, 1);
	bench_load_must(bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0, interface);
	return fd;
}

/* Counts the segments with BROKER_PORT at this offset. */
static void open_counter(struct counter *c, const char *interface, uint32_t at_port)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at_port),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BROKER_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const int smallest = 0;

	*c = (struct counter){.fd = packet_socket(interface)};
	bench_load_must(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof(smallest)) == 0,
		"counter");
	set_filter(c->fd, filter, sizeof(filter) / sizeof(filter[0]));
}

static uint64_t count(struct counter *c)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	/* since the last call; the packets include the drops */
	bench_load_must(getsockopt(c->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0, "counter");
	return c->n += s.tp_packets;
}

static uint64_t arrived(void)
{
	return count(&at_broker);
}

/* Passes the publications whose frame number `every` divides. */
static void sample_publications(int fd)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 11),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_DESTINATION_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BROKER_PORT, 0, 9),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_SEQ),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, first_seq),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, frame_len - PACKET_HEADERS),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, connections),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_SOURCE_PORT),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, PACKET_CLIENT_PORT),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, every - 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, PACKET_HEADERS),
	};

	set_filter(fd, filter, sizeof(filter) / sizeof(filter[0]));
}

static bool sample(const uint8_t *data, size_t len, struct packet_sample *out)
{
	uint32_t bytes, c;

	if (len < PACKET_HEADERS)
		return false;
	bytes = bp_be32(data + AT_SEQ) - first_seq;
	c = bp_be16(data + AT_SOURCE_PORT) - PACKET_CLIENT_PORT;
	*out = (struct packet_sample){
		.number = (uint64_t)(bytes / (frame_len - PACKET_HEADERS)) * connections + c};
	/* not a late frame of an earlier run, which had another first sequence number */
	return c < connections && bytes % (frame_len - PACKET_HEADERS) == 0;
}

/* A sequence number that no recent run had. */
static uint32_t new_isn(void)
{
	return (uint32_t)(bench_load_now_ns() >> 8);
}

static int open_receiver(const struct packet_options *o)
{
	const struct timeval wait = {0, 50000};
	const int size = 64 << 20;
	int fd;

	connections = o->connections;
	every = o->load.every;
	frame_len = o->size - PACKET_FCS;
	first_seq = packet_first_seq(new_isn());
	to_client = bench_load_sender(o->load.interface, ends.broker_mac);
	open_counter(&at_broker, o->load.interface, AT_DESTINATION_PORT);
	fd = packet_socket(o->load.interface);
	bench_load_must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
				setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0,
		"receiver");
	sample_publications(fd);
	return fd;
}

/* ---- the handshakes ---- */

/* Sends the frame of this kind of connections first .. first + n - 1 until as many have arrived. */
static void handshake_step(
	enum packet_control kind, uint32_t first, uint32_t n, uint32_t isn, uint64_t deadline)
{
	const bool from_client = kind == PACKET_SYN || kind == PACKET_CONNECT;
	struct counter *at = from_client ? &at_broker : &at_client;
	static uint8_t buffer[BATCH][PACKET_CONTROL_MAX];
	struct iovec io[BATCH];
	uint64_t resend = 0, wanted = count(at) + n;

	for (uint32_t i = 0; i < n; i++)
		io[i] = (struct iovec){
			buffer[i], packet_control(&ends, kind, first + i, isn, buffer[i])};
	while (count(at) < wanted) {
		const uint64_t now = bench_load_now_ns();

		if (now > deadline) {
			fprintf(stderr, "packet_load: no handshake came through\n");
			exit(1);
		}
		if (now >= resend) {
			wanted = count(at) + n;
			bench_load_frames(from_client ? to_broker : to_client, io, n);
			resend = now + RESEND_NS;
		}
		usleep(50);
	}
}

static void connect_all(void)
{
	const uint64_t deadline = bench_load_now_ns() + PACKET_TIMEOUT_NS;
	const uint32_t isn = first_seq - packet_first_seq(0);

	for (uint32_t first = 0; first < connections; first += BATCH) {
		const uint32_t left = connections - first, n = left < BATCH ? left : BATCH;

		for (unsigned kind = 0; kind < PACKET_CONTROLS; kind++)
			handshake_step((enum packet_control)kind, first, n, isn, deadline);
	}
}

/* ---- what is sent ---- */

static uint8_t *frame_of(uint32_t c, bool high)
{
	return frames + ((size_t)c * 2 + high) * FRAME_MAX;
}

static void open_sender(const struct packet_options *o)
{
	struct in_addr client, broker;

	bench_load_must(inet_pton(AF_INET, o->source, &client) == 1 &&
				inet_pton(AF_INET, o->destination, &broker) == 1,
		"addresses");
	ends.client = ntohl(client.s_addr);
	ends.broker = ntohl(broker.s_addr);
	to_broker = bench_load_sender(o->load.interface, ends.client_mac);
	bench_load_must(memcmp(ends.broker_mac, o->load.mac, 6) == 0,
		"-m with -c: expected the MAC address of the receiving interface");
	open_counter(&at_client, o->load.interface, AT_SOURCE_PORT);
	frames = malloc((size_t)connections * 2 * FRAME_MAX);
	bench_load_must(frames != NULL, "frames");
	for (uint32_t c = 0; c < connections; c++)
		for (unsigned high = 0; high < 2; high++)
			packet_publish(&ends, c, high, frame_len, frame_of(c, high));
	connect_all();
}

/* The acknowledgments that are due when frames first .. first + n - 1 are sent. */
static void send_acks(uint64_t first, uint32_t n)
{
	static uint8_t buffer[BATCH / ACK_EVERY + 1][PACKET_CONTROL_MAX];
	struct iovec io[BATCH / ACK_EVERY + 1];
	uint32_t acks = 0;

	for (uint64_t i = first; i < first + n; i++) {
		const uint64_t publication = i / connections;
		const uint32_t c = (uint32_t)(i / ACK_EVERY % connections);

		if (i % ACK_EVERY != 0 || publication < ACK_DELAY)
			continue;
		io[acks] = (struct iovec){
			buffer[acks], packet_ack(&ends, c,
					      first_seq + (uint32_t)(publication - ACK_DELAY) *
								  (frame_len - PACKET_HEADERS),
					      buffer[acks])};
		acks++;
	}
	if (acks != 0)
		bench_load_frames(to_client, io, acks);
}

static uint32_t send_frames(void *unused, uint64_t first, uint32_t n)
{
	struct iovec io[BATCH];
	uint32_t sent;

	(void)unused;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t publication = (first + i) / connections;
		const uint32_t c = (uint32_t)((first + i) % connections);
		uint8_t *f = frame_of(c, (publication + c) % PACKET_HIGH_EVERY == 0);

		packet_set_seq(f, first_seq + (uint32_t)publication * (frame_len - PACKET_HEADERS));
		io[i] = (struct iovec){f, frame_len};
	}
	sent = bench_load_frames(to_broker, io, n);
	send_acks(first, sent);
	return sent;
}

const struct packet_traffic packet_mqtt = {
	.open_receiver = open_receiver,
	.open_sender = open_sender,
	.send = send_frames,
	.arrived = arrived,
	.sample = sample,
};
