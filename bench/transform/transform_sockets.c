/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figure 6 of Kunze et al. (2021) for a program of ordinary sockets
 * (bench/transform/transform_socket.h): how many of the readings that it is offered come out
 * transformed.
 *
 *   transform_sockets [--one-by-one | --segments] SECONDS RATE...
 *   transform_sockets --biplane PROGRAM --driver af_packet|af_xdp SECONDS
 *   transform_sockets --compute
 *
 * Tracker, program and robot are in network namespaces joined by veth pairs
 * (bench/harness/veth_lab.h). The tracker sends on processor 0, the program works on processor 1;
 * the robot drops what it gets. All rates are per second of the program's processor time: while
 * others have the core nothing is sent, as at bench/lcl/wire.h. What the tracker cannot send in
 * time is not offered: `offered` is what was really sent. The second form puts biplane in the
 * program's place, on the same links, where whole frames come, as fast as the tracker sends them.
 *
 * In the program's favour: the kernel's half of receiving, up to its socket, is done on the
 * tracker's processor; readings cross the link forty in one piece and become datagrams at the
 * socket (UDP_SEGMENT), and with the offloads of veth no one computes a checksum. The way of a
 * result up to the robot's socket is its own processor's, as it is biplane's with both drivers.
 *
 * The third form tells what the program's arithmetic takes, from payload to payload, in nanoseconds
 * of processor time, the least of some rounds.
 *
 * Before a measurement over links, a thousand readings are compared with what they should be.
 * Prints one JSON object. Fails when one is wrong, or when what was sent is not what was
 * transformed and what the socket had no room for.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/phd_lab.h"
#include "bench/transform/transform_socket.h"
#include "bench/transform/transform_tracker.h"
#include "bench/transform/transform_veth.h"
#include "bench/harness/veth_lab.h"

#define RING 1024u /* due and not sent: what exceeds it is not offered */
#define SETTLE 0.2 /* of the time of a measurement, before it begins */
#define TIMED 15000u
#define ROUNDS 30u

/* ---- the program of sockets ---- */

/* `m`: column by column. */
static void start_matrix(const double m[12])
{
	double rows[12];

	for (unsigned i = 0; i < 9; i++)
		rows[i] = m[3 * (i % 3) + i / 3];
	memcpy(rows + 9, m + 9, 3 * sizeof(double));
	bench_transform_socket_matrix(BENCH_TRANSFORM_SOURCE, rows);
}

static pid_t start_sockets(struct bench_transform_socket *n, const double m[12])
{
	const pid_t pid = bench_veth_gateway(true);

	if (pid == 0) {
		bench_pin(1);
		start_matrix(m);
		bench_transform_socket_run(n);
	}
	while (atomic_load(&n->ready) == 0)
		bench_must(waitpid(pid, NULL, WNOHANG) == 0, "program", "it ended");
	return pid;
}

struct moment {
	uint64_t cpu_ns, sent, transformed;
};

static struct moment look(const struct bench_tracker *t, const struct bench_transform_socket *n)
{
	return (struct moment){.cpu_ns = atomic_load(&n->cpu_ns),
		.sent = t->sent,
		.transformed = atomic_load(&n->sent)};
}

/* So many readings a second, for so much of the program's processor time. */
static void send_for(
	struct bench_tracker *t, struct bench_transform_socket *n, double rate, double ns)
{
	uint64_t now = atomic_load(&n->cpu_ns), last = now;
	const uint64_t end = now + (uint64_t)ns;
	double due = 0;

	for (; now < end; now = atomic_load(&n->cpu_ns)) {
		due += (double)(now - last) * rate / 1e9;
		due = due < RING ? due : RING;
		last = now;
		atomic_store_explicit(&n->seen_ns, now, memory_order_relaxed);
		if (due >= 1) {
			const uint64_t before = t->sent;

			bench_tracker_send(
				t, due < BENCH_TRACKER_PIECE ? (uint32_t)due : BENCH_TRACKER_PIECE);
			due -= (double)(t->sent - before);
		}
	}
}

static void measure(
	struct bench_tracker *t, struct bench_transform_socket *n, double rate, double seconds)
{
	struct moment from, to;
	double cpu;

	send_for(t, n, rate, SETTLE * seconds * 1e9);
	from = look(t, n);
	send_for(t, n, rate, seconds * 1e9);
	to = look(t, n);
	cpu = (double)(to.cpu_ns - from.cpu_ns) / 1e9;
	printf("{\"rate\": %.0f, \"offered\": %.0f, \"transformed\": %.0f}", rate,
		(double)(to.sent - from.sent) / cpu,
		(double)(to.transformed - from.transformed) / cpu);
}

/* Readings that the program's socket had no room for. */
static uint64_t socket_drops(pid_t pid)
{
	char line[512], path[64];
	uint64_t drops = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/udp", (int)pid);
	f = fopen(path, "re");
	bench_must(f != NULL, path, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned port;
		uint64_t n;

		/* local address, ..., inode, references, pointer, drops */
		if (sscanf(line, " %*u: %*8x:%4x %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			    &port, &n) == 2 &&
			port == BENCH_TRANSFORM_UDP)
			drops = n;
	}
	fclose(f);
	bench_must(drops != UINT64_MAX, path, "the socket is not there");
	return drops;
}

/* Whether all that was sent is accounted for, and every reading that was taken arrived. backlog:
 * drops of the kernel's on the way to the socket, which busy machines have. */
static bool settled(const struct bench_tracker *t, struct bench_transform_socket *n, pid_t pid,
	uint64_t backlog)
{
	const uint64_t end = bench_now_ns() + BENCH_TRACKER_PATIENCE_NS / 4;
	bool all;

	do {
		const uint64_t known = atomic_load(&n->taken) + socket_drops(pid);
		const uint64_t most =
			known + BENCH_TRACKER_PIECE * (bench_veth_backlog_drops() - backlog);

		all = known <= t->sent && t->sent <= most &&
		      atomic_load(&n->sent) == atomic_load(&n->taken) &&
		      (n->way == BENCH_TRANSFORM_SEGMENTS || /* which are one frame there */
			      bench_veth_arrived() == atomic_load(&n->sent)) &&
		      atomic_load(&n->bad) == 0;
		/* it may sleep because we sent nothing */
		atomic_store(&n->seen_ns, UINT64_MAX / 2);
	} while (!all && bench_now_ns() < end);
	return all;
}

static bool sockets(
	struct bench_tracker *t, enum bench_transform_socket_way way, double seconds, char **rates)
{
	struct bench_transform_socket *n =
		mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const uint64_t backlog = bench_veth_backlog_drops();
	bool proven;
	pid_t pid;
	int robot;

	bench_must(n != MAP_FAILED, "memory", strerror(errno));
	n->way = way;
	pid = start_sockets(n, t->m);
	bench_pin(0);
	t->fd = bench_veth_tracker();
	atomic_store(&n->seen_ns, UINT64_MAX / 2);
	bench_tracker_check(t);
	robot = bench_veth_robot(true);
	printf("{\"points\": [");
	for (char **r = rates; *r != NULL; r++) {
		printf("%s", r != rates ? ", " : "");
		measure(t, n, strtod(*r, NULL), seconds);
	}
	proven = settled(t, n, pid, backlog);
	printf("], \"sent\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"transformed\": %" PRIu64
	       ", \"arrived\": %" PRIu64 ", \"no_room\": %" PRIu64 ", \"proven\": %s}\n",
		t->sent, atomic_load(&n->taken), atomic_load(&n->sent), bench_veth_arrived(),
		socket_drops(pid), proven ? "true" : "false");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(robot);
	return proven;
}

/* So many different ones as in the paper: a processor learns the branches of fewer. */
static void compute(const struct bench_tracker *t)
{
	uint8_t(*payload)[BENCH_TRANSFORM_PAYLOAD] = calloc(TIMED, BENCH_TRANSFORM_PAYLOAD);
	double least = HUGE_VAL;

	bench_must(payload != NULL, "readings", "no memory");
	start_matrix(t->m);
	for (uint32_t i = 0; i < TIMED; i++)
		bench_transform_payload(i, payload[i]);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const double from = bench_process_ns(getpid(), true);

		for (uint32_t i = 0; i < TIMED; i++)
			bench_transform_socket_compute(BENCH_TRANSFORM_SOURCE, payload[i]);
		least = fmin(least, (bench_process_ns(getpid(), true) - from) / TIMED);
	}
	printf("{\"compute_ns\": %.2f}\n", least);
	free(payload);
}

/* ---- biplane in its place ---- */

static void send_until(struct bench_tracker *t, const struct bench_veth_biplane *b, double ns)
{
	while (bench_veth_biplane_ns(b) < ns)
		for (unsigned i = 0; i < 32; i++)
			bench_tracker_send(t, BENCH_TRACKER_PIECE);
}

static bool gateway(struct bench_tracker *t, struct bench_veth_biplane *b, double seconds)
{
	const uint64_t end = bench_now_ns() + BENCH_TRACKER_PATIENCE_NS;
	uint64_t arrived, sent;
	double from, cpu;
	int robot;

	bench_veth_biplane_start(b, t->m);
	bench_pin(0);
	t->frames = true;
	t->fd = bench_veth_frames();
	while (bench_veth_biplane_worker(b) == 0)
		bench_must(bench_now_ns() < end && usleep(10000) == 0, b->program,
			"its worker did not start");
	bench_tracker_check(t);
	robot = bench_veth_robot(true);
	send_until(t, b, bench_veth_biplane_ns(b) + SETTLE * seconds * 1e9);
	from = bench_veth_biplane_ns(b);
	arrived = bench_veth_arrived();
	sent = t->sent;
	send_until(t, b, from + seconds * 1e9);
	cpu = (bench_veth_biplane_ns(b) - from) / 1e9;
	printf("{\"driver\": \"%s\", \"offered\": %.0f, \"transformed\": %.0f}\n", b->driver,
		(double)(t->sent - sent) / cpu, (double)(bench_veth_arrived() - arrived) / cpu);
	bench_veth_biplane_stop(b);
	close(robot);
	return true;
}

static int usage(void)
{
	fprintf(stderr, "usage: transform_sockets [--one-by-one | --segments] SECONDS RATE...\n"
			"       transform_sockets --biplane PROGRAM --driver NAME SECONDS\n"
			"       transform_sockets --compute\n");
	return 64;
}

int main(int argc, char **argv)
{
	static struct bench_tracker t;
	struct bench_veth_biplane b = {.program = NULL};
	enum bench_transform_socket_way way = BENCH_TRANSFORM_BATCHES;
	bool only_compute = false;
	double seconds;
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--compute") == 0)
			only_compute = true;
		else if (strcmp(argv[i], "--one-by-one") == 0)
			way = BENCH_TRANSFORM_ONE_BY_ONE;
		else if (strcmp(argv[i], "--segments") == 0)
			way = BENCH_TRANSFORM_SEGMENTS;
		else if (strcmp(argv[i], "--biplane") == 0 && i + 1 < argc)
			b.program = argv[++i];
		else if (strcmp(argv[i], "--driver") == 0 && i + 1 < argc)
			b.driver = argv[++i];
		else
			return usage();
	}
	bench_tracker_make(&t);
	if (only_compute) {
		compute(&t);
		return 0;
	}
	seconds = i < argc ? strtod(argv[i++], NULL) : 0;
	if (!(seconds > 0) || (b.program == NULL) != (b.driver == NULL) ||
		(b.program == NULL) != (i < argc))
		return usage();
	bench_veth_enter();
	if (b.program != NULL)
		return gateway(&t, &b, seconds) ? 0 : 1;
	return sockets(&t, way, seconds, argv + i) ? 0 : 1;
}
