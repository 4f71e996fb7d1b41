/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from one network namespace to another, through the system under test between them: at a
 * rate, or as fast as the kernel accepts them. Prints one JSON object: the numbers of sent and
 * arrived frames, the latency, and the CPU time of the processes that take part.
 *
 *   packet_load -F NAMESPACE -T NAMESPACE -i INTERFACE -m MAC -s ADDRESS -d ADDRESS [-z SIZE]
 *               [-c CONNECTIONS] [-o] [-r RATE] [-t SECONDS] [-n EVERY] [-P NAME=PID,...]...
 *
 *   -i  interface in both namespaces; packet sockets send there, to MAC address -m
 *   -z  frame size with the frame check sequence, 64 (default) to 1518 bytes
 *   -c  publications of so many MQTT connections (client addresses from -s on; the handshakes come
 *       first) instead of UDP datagrams: only through a bridge, with addresses of no host, and
 *       with -o
 *   -o  open loop: each frame has an intended send time, and latency is measured from there.
 *       Frames that could not be sent until the end are not sent ("intended" minus "sent").
 *       Without -o, a late sender skips them, and latency is measured from the send time.
 *   -n  the latency of one frame in so many (a power of two) is measured
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/harness/cpu_of.h"
#include "bench/harness/load.h"
#include "bench/harness/percentiles.h"
#include "bench/peers/packet_options.h"
#include "bench/peers/packet_traffic.h"

#define BATCH BENCH_LOAD_BATCH
#define SAMPLES_MAX (1u << 21)
#define QUIET_NS 300000000ull

static struct packet_options o;
static const struct packet_traffic *traffic;

static uint64_t latency_ns[SAMPLES_MAX];
static _Atomic uint32_t samples;
/* Without -o: samples that were sent earlier do not count. */
static _Atomic uint64_t since_ns = UINT64_MAX;
static atomic_bool listening, stop;

/* With -o, set before `scheduled`. */
static struct bench_load_open schedule;
static atomic_bool scheduled;

/* ---- what arrives ---- */

static uint64_t sent_at(const struct packet_sample *s)
{
	if (!o.open_loop)
		return s->sent_ns >= atomic_load(&since_ns) ? s->sent_ns : 0;
	if (!atomic_load(&scheduled) || (double)s->number >= o.load.rate * o.load.seconds)
		return 0;
	return bench_load_intended_ns(&schedule, s->number);
}

static void record(const uint8_t *data, size_t len, uint64_t now)
{
	const uint32_t n = atomic_load_explicit(&samples, memory_order_relaxed);
	struct packet_sample s;
	uint64_t from;

	if (n == SAMPLES_MAX || !traffic->sample(data, len, &s))
		return;
	from = sent_at(&s);
	if (from == 0 || from > now)
		return;
	latency_ns[n] = now - from;
	atomic_store(&samples, n + 1);
}

static void *receive(void *arg)
{
	static uint8_t data[BATCH][64];
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	int fd;

	(void)arg;
	bench_load_enter(o.load.to);
	fd = traffic->open_receiver(&o);
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
			record(data[i], message[i].msg_len, now);
	}
	close(fd);
	return NULL;
}

/* The number of arrived frames when all `expected` ones have arrived, or none has for a while. No
 * other traffic is counted in this namespace. */
static uint64_t settled(uint64_t expected)
{
	uint64_t n = traffic->arrived(), since = bench_load_now_ns();

	while (n != expected && bench_load_now_ns() - since < QUIET_NS) {
		uint64_t m;

		usleep(10000);
		m = traffic->arrived();
		if (m != n)
			since = bench_load_now_ns();
		n = m;
	}
	return n;
}

/* ---- a run ---- */

static int usage(void)
{
	fprintf(stderr,
		"usage: packet_load -F NAMESPACE -T NAMESPACE -i INTERFACE -m MAC -s ADDRESS "
		"-d ADDRESS [-z SIZE] [-c CONNECTIONS] [-o] [-r RATE] [-t SECONDS] [-n EVERY] "
		"[-P NAME=PID,...]...\n");
	return 64;
}

/* Sets `schedule`, also without -o. */
static void send_all(void)
{
	schedule = (struct bench_load_open){.rate = o.load.rate, .seconds = o.load.seconds};
	schedule.begin_ns = bench_load_now_ns();
	if (o.open_loop) {
		schedule.begin_ns += 1000000; /* frame 0 is not late */
		atomic_store(&scheduled, true);
		bench_load_send_open(&schedule, traffic->send, NULL);
		return;
	}
	atomic_store(&since_ns, schedule.begin_ns);
	schedule.sent = bench_load_send(o.load.rate, o.load.seconds, traffic->send, NULL);
	schedule.end_ns = bench_load_now_ns();
}

static void print(struct bench_cpu *cpu, uint64_t came)
{
	const double seconds = (double)(schedule.end_ns - schedule.begin_ns) / 1e9;

	printf("{\"rate\": %.0f, \"sent\": %llu, \"offered_pps\": %.0f, \"arrived\": %llu"
	       ", \"arrived_pps\": %.0f, \"lost\": %lld, ",
		o.load.rate, (unsigned long long)schedule.sent, (double)schedule.sent / seconds,
		(unsigned long long)came, (double)came / seconds,
		(long long)(schedule.sent - came));
	if (o.open_loop)
		printf("\"intended\": %llu, \"sender_max_late_us\": %.1f, ",
			(unsigned long long)schedule.intended, (double)schedule.max_late_ns / 1e3);
	bench_cpu_print(cpu);
	if (samples != 0) {
		printf(", \"latency\": {");
		bench_percentiles(latency_ns, samples);
		putchar('}');
	} else {
		printf(", \"latency\": null");
	}
	puts("}");
}

int main(int argc, char **argv)
{
	static struct bench_cpu cpu;
	uint64_t before, came;
	pthread_t receiver;

	if (!packet_options_read(&o, &cpu, argc, argv))
		return usage();
	traffic = o.connections != 0 ? &packet_mqtt : &packet_udp;
	bench_load_must(pthread_create(&receiver, NULL, receive, NULL) == 0, "receiver");
	while (!atomic_load(&listening))
		usleep(1000);
	bench_load_enter(o.load.from);
	traffic->open_sender(&o);
	before = settled(UINT64_MAX);
	bench_cpu_begin(&cpu);
	send_all();
	came = settled(before + schedule.sent) - before;
	atomic_store(&stop, true);
	pthread_join(receiver, NULL);
	print(&cpu, came);
	return 0;
}
