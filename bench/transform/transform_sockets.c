/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figure 6 of Kunze et al. (2021) for a socket program (bench/transform/transform_socket.h):
 * transformed readings/s at a list of offered rates.
 *
 *   transform_sockets [--one-by-one | --segments] SECONDS RATE...
 *   transform_sockets --biplane PROGRAM --driver af_packet|af_xdp SECONDS
 *   transform_sockets --compute
 *
 * Tracker, program and robot are in network namespaces connected by veth pairs
 * (bench/harness/veth_lab.h). The tracker sends on core 0, the program runs on core 1; the robot
 * drops the results. All rates are per second of CPU time of the program: while it is descheduled,
 * nothing is sent (see bench/lcl/wire.h). Readings that the tracker cannot send in time are not
 * offered: `offered` is the number of readings sent. The second form measures biplane instead of
 * the program, on the same links, with whole frames, as fast as the tracker sends them.
 *
 * The setup favours the program: the kernel receives, up to the socket, on the core of the tracker;
 * forty readings cross the link in one packet and become datagrams at the socket (UDP_SEGMENT); and
 * with the offloads of veth no checksum is computed. The path of a result to the robot's socket is
 * on the core of the program, as with biplane and both drivers.
 *
 * The third form measures the arithmetic of the program, from payload to payload, in nanoseconds of
 * CPU time: the minimum of several rounds.
 *
 * Before a measurement over links, a thousand results are verified. Prints one JSON object. Fails
 * if a result is wrong, or if the readings sent are not all transformed or counted as socket drops.
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

#define RING 1024u /* limit of due and unsent readings: those above it are not offered */
#define SETTLE 0.2 /* warm-up time before the measurement */
#define TIMED 15000u
#define ROUNDS 30u

/* ---- the socket program ---- */

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

/* Sends readings at a rate for the given CPU time of the program. */
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

/* Socket drops of the program. */
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

/* Whether all readings sent are accounted for, and every one received was forwarded. backlog: drops
 * of the kernel before the socket, which occur on busy machines. */
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
		/* it may sleep because no readings were sent */
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

/* As many different readings as in the paper: the branch predictor learns a smaller set. */
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

/* ---- biplane instead of it ---- */

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
