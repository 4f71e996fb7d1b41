/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hops of an alarm through biplane, with nothing between them: a process that waits for frames
 * of an interface (AF_PACKET) hands the payload of each PUBLISH to a second process, which
 * publishes it. Nothing is parsed beyond what finds the payload, evaluated, counted, stored or
 * forwarded (a kernel bridge does that): no gateway with these two processes is faster on this
 * machine.
 *
 *   alarm_relay -i INTERFACE -a ALARM_BROKER [-b]
 *
 *   -b  the first process polls, as a worker with poll_mode: busy
 */
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <mosquitto.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <unistd.h>

#include "bench/alarm/alarm_client.h"

#define MQTT_PORT 1883
#define PUBLISH_QOS_0 0x30
#define THRESHOLD 80

static void die(const char *what)
{
	fprintf(stderr, "alarm_relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Of all protocols: those sockets have a frame before the bridge takes it. */
static int packet_socket(const char *interface)
{
	const struct sockaddr_ll address = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface)};
	const int one = 1, buffer = 8 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || address.sll_ifindex == 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) != 0 ||
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		die(interface);
	return fd;
}

/*
 * The payload of a PUBLISH with QoS 0 that is a whole segment, of a device to its broker, with a
 * remaining length of one byte. NULL: the frame is something else.
 */
static const uint8_t *payload_of(const uint8_t *frame, size_t n, size_t *len)
{
	const size_t ip = ETH_HLEN;
	size_t tcp, at, end;

	if (n < ip + 20 || (frame[12] << 8 | frame[13]) != ETH_P_IP || frame[ip] >> 4 != 4 ||
		frame[ip + 9] != IPPROTO_TCP)
		return NULL;
	tcp = ip + (size_t)(frame[ip] & 15) * 4;
	end = ip + (size_t)(frame[ip + 2] << 8 | frame[ip + 3]);
	if (end > n || tcp + 20 > end || (frame[tcp + 2] << 8 | frame[tcp + 3]) != MQTT_PORT)
		return NULL;
	at = tcp + (size_t)(frame[tcp + 12] >> 4) * 4;
	if (at + 4 > end || frame[at] != PUBLISH_QOS_0 || frame[at + 1] + at + 2 != end)
		return NULL;
	at += 4 + (size_t)(frame[at + 2] << 8 | frame[at + 3]);
	if (at >= end || end - at > BENCH_PAYLOAD_MAX)
		return NULL;
	*len = end - at;
	return frame + at;
}

static bool is_above(const uint8_t *payload, size_t len)
{
	char text[BENCH_PAYLOAD_MAX + 1];

	memcpy(text, payload, len);
	text[len] = '\0';
	return strtod(text, NULL) > THRESHOLD;
}

static void stay_on(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(strtoul(cpu, NULL, 10), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die(cpu);
}

static void read_frames(const char *interface, int to, bool busy)
{
	const int fd = packet_socket(interface);
	uint8_t frame[2048];

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		const uint8_t *payload;
		size_t len;
		ssize_t n;

		if (!busy && poll(&p, 1, -1) < 0)
			die("poll");
		n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
		if (n < 0) {
			if (errno != EAGAIN)
				die(interface);
			continue;
		}
		payload = payload_of(frame, (size_t)n, &len);
		if (payload && is_above(payload, len) && write(to, payload, len) != (ssize_t)len)
			die("pipe");
	}
}

static void publish(int from, struct mosquitto *m)
{
	for (;;) {
		struct pollfd p[2] = {{.fd = from, .events = POLLIN},
			{.fd = mosquitto_socket(m), .events = POLLIN}};
		char payload[BENCH_PAYLOAD_MAX];
		ssize_t n;

		/* the time limit serves the keep-alive */
		if (poll(p, 2, 1000) < 0)
			die("poll");
		if (p[0].revents) {
			n = read(from, payload, sizeof(payload));
			if (n <= 0)
				die("pipe");
			mosquitto_publish(m, NULL, BENCH_ALARM_TOPIC, (int)n, payload, 1, false);
		}
		if (p[1].revents && mosquitto_loop_read(m, 1) != MOSQ_ERR_SUCCESS)
			bench_alarm_die("connection", MOSQ_ERR_CONN_LOST);
		mosquitto_loop_misc(m);
	}
}

int main(int argc, char **argv)
{
	const char *interface = NULL, *alarms = NULL, *cpu = NULL;
	struct mosquitto *m;
	int ends[2], c;

	while ((c = getopt(argc, argv, "i:a:b:")) != -1) {
		if (c == 'i')
			interface = optarg;
		else if (c == 'a')
			alarms = optarg;
		else if (c == 'b')
			cpu = optarg;
	}
	if (interface == NULL || alarms == NULL || optind != argc) {
		fputs("usage: alarm_relay -i INTERFACE -a ALARM_BROKER [-b CPU]\n", stderr);
		return 64;
	}
	mosquitto_lib_init();
	/* each value is a packet of its own */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		die("socket pair");
	c = fork();
	if (c < 0)
		die("fork");
	if (c == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (cpu)
			stay_on(cpu);
		read_frames(interface, ends[1], cpu != NULL);
	}
	m = bench_alarm_device(alarms);
	publish(ends[0], m);
	return 0;
}
