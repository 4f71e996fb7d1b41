/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the forwarding tables follow the kernel. Both planes run as processes, in a network
 * namespace that ends with this one, and the data plane forwards at full speed all the time.
 *
 *   load      routes in the kernel before the control plane starts: until all are in the FIB
 *   visible   a route replaced in the kernel: until a worker's lookup returns the new next hop
 *   churn     changes at a constant rate: lost changes, their delay, lost frames
 *   restart   kill -9 of the control plane: until the tables are synchronized again
 *   forward   kill -9 of the data plane: until the first frame is forwarded again
 *
 *	sync_rate BIPLANE DIRECTORY NAME [ROUTES (100000) [RATE (10000) [SECONDS (10)]]]
 *
 * One line for each on standard error, and one JSON object on standard output.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "bench/routes/sync_place.h"
#include "shm/hash.h"
#include "shm/fib/lpm/lpm.h"

#define LOOKS 1000u
#define RESTARTS 5u
#define TICK_NS 1000000u
#define BASE_SECONDS 3u
#define US 1000.0
#define MS 1000000.0

static uint32_t choose(struct bench *b, uint32_t n)
{
	return (uint32_t)(bp_mix64(b->random += 0x9e3779b97f4a7c15ull) % n);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Statistics of durations, in units of `unit` nanoseconds. */
struct spread {
	double median, p99, max;
};

static struct spread spread_of(uint64_t *ns, uint32_t n, double unit)
{
	const uint32_t middle = n / 2, high = n * 99 / 100;

	qsort(ns, n, sizeof(ns[0]), ascending);
	return (struct spread){
		(double)ns[middle] / unit, (double)ns[high] / unit, (double)ns[n - 1] / unit};
}

/* Returns the time from the start of the control plane until it reports `synced`; *cpu: its
 * CPU time until then. */
static uint64_t control_plane_start(struct bench *b, uint64_t *cpu)
{
	const uint64_t loaded = bench_loaded_ns(&b->planes), begun = bench_now_ns();
	uint64_t end;

	b->planes.controlplane = bench_start(&b->planes, "controlplane");
	end = bench_await_synced(&b->planes, b->n, loaded);
	*cpu = bench_cpu_ns(b->planes.controlplane);
	return end - begun;
}

static void load(struct bench *b)
{
	uint64_t cpu;
	const double took = (double)control_plane_start(b, &cpu) / MS;
	const double load_ms = (double)bench_loaded_ns(&b->planes) / MS;

	bench_must_agree(b);
	fprintf(stderr,
		"load: %" PRIu32 " routes in %.0f ms from the control plane's start (to be under "
		"2,000): %.0f ms of processor time; load_us says %.0f ms\n",
		b->n, took, (double)cpu / MS, load_ms);
	printf("{\"routes\": %" PRIu32 ", \"load_ms\": {\"from_start\": %.1f, \"cpu\": %.1f, "
	       "\"load\": %.1f}",
		b->n, took, (double)cpu / MS, load_ms);
}

/* The result of a worker's lookup. */
static bool leads_to(struct bench *b, const struct bp_address *to, const struct bp_address *via)
{
	const struct bp_fib *f = &b->planes.shm.fib;
	const uint8_t *bytes = to->bytes;
	const uint32_t host = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
			      (uint32_t)bytes[2] << 8 | bytes[3];
	uint32_t nexthop;

	if (to->family == 4)
		bp_lpm4_lookup(f, &host, &nexthop, 1);
	else
		bp_lpm6_lookup(f, &bytes, &nexthop, 1);
	return memcmp(&f->nexthops[nexthop].hop.gateway, via, sizeof(*via)) == 0;
}

static bool covers(const struct bp_prefix *p, const struct bp_prefix *q)
{
	const struct bp_address a = {.family = q->family};
	struct bp_address b = a;
	struct bp_prefix cut;

	memcpy(b.bytes, q->bytes, sizeof(b.bytes));
	cut = bp_prefix_of(b, p->length);
	return q->family == p->family && q->length > p->length && memcmp(&cut, p, sizeof(cut)) == 0;
}

/* A route that contains no longer prefix: lookups of its addresses show its state. */
static uint32_t choose_leaf(struct bench *b)
{
	for (;;) {
		const uint32_t i = choose(b, b->n);
		uint32_t k = 0;

		while (k < b->n && !covers(&b->prefix[i], &b->prefix[k]))
			k++;
		if (k == b->n)
			return i;
	}
}

/* Replaces the route, and returns how long a worker's lookup would have returned the old next hop.
 */
static uint64_t change_and_look(struct bench *b, uint32_t i)
{
	const unsigned g = (b->route[i].gateway + 1u) % BENCH_GATEWAYS;
	struct bp_address to = {.family = b->prefix[i].family};
	const struct bp_address via = bench_gateway(to.family, g);
	uint64_t begun;

	memcpy(to.bytes, b->prefix[i].bytes, sizeof(to.bytes));
	bench_request(b, i, true, g);
	begun = bench_now_ns();
	bench_kernel_flush(&b->kernel);
	while (!leads_to(b, &to, &via)) {
		if (bench_now_ns() - begun > BENCH_PATIENCE_NS)
			bench_die("a change did not reach the forwarding tables");
		bench_sleep();
	}
	return bench_now_ns() - begun;
}

static void visible(struct bench *b)
{
	static uint64_t took[LOOKS];
	struct spread t;

	for (uint32_t k = 0; k < LOOKS; k++) {
		const uint32_t i = choose_leaf(b);

		took[k] = change_and_look(b, i);
	}
	t = spread_of(took, LOOKS, US);
	fprintf(stderr,
		"visible: a change after %.0f us in the median (to be under 5,000), %.0f at the "
		"99th percentile, %.0f at most; of %u, with %" PRIu32 " routes there\n",
		t.median, t.p99, t.max, LOOKS, b->n);
	printf(", \"visible_us\": {\"median\": %.1f, \"p99\": %.1f, \"max\": %.1f}", t.median,
		t.p99, t.max);
}

/* An absent route is added; an existing one is deleted or replaced. */
static void change(struct bench *b)
{
	const uint32_t i = choose(b, b->n);
	const struct bench_route *r = &b->route[i];

	if (!r->there)
		bench_request(b, i, true, choose(b, BENCH_GATEWAYS));
	else if (choose(b, 3) == 0)
		bench_request(b, i, false, r->gateway);
	else
		bench_request(b, i, true,
			(r->gateway + 1u + choose(b, BENCH_GATEWAYS - 1)) % BENCH_GATEWAYS);
}

/* Changes at `rate` per second for this time; returns their number. */
static uint64_t changes(struct bench *b, uint32_t rate, uint32_t seconds)
{
	const uint64_t begun = bench_now_ns(), end = begun + seconds * 1000000000ull;
	uint64_t made = 0, now;

	while ((now = bench_now_ns()) < end) {
		const uint64_t due = (now - begun) * rate / 1000000000u;
		const struct timespec tick = {0, TICK_NS};

		for (; made < due; made++)
			change(b);
		bench_kernel_flush(&b->kernel);
		nanosleep(&tick, NULL);
	}
	return made;
}

/* Frames forwarded meanwhile. */
struct meter {
	uint64_t sent, cpu, at;
};

static struct meter meter_read(const struct bench *b)
{
	return (struct meter){
		bench_sent(&b->planes), bench_cpu_ns(b->planes.dataplane), bench_now_ns()};
}

struct figure {
	double mpps, cpu_ns;
};

static struct figure figure(const struct meter *from, const struct meter *to)
{
	const double sent = (double)(to->sent - from->sent);

	if (to->sent == from->sent)
		bench_die("nothing is forwarded");
	return (struct figure){
		sent * 1000 / (double)(to->at - from->at), (double)(to->cpu - from->cpu) / sent};
}

static struct figure forwarding(const struct bench *b)
{
	const struct meter from = meter_read(b);
	struct meter to;

	sleep(BASE_SECONDS);
	to = meter_read(b);
	return figure(&from, &to);
}

static void churn(struct bench *b, uint32_t rate, uint32_t seconds)
{
	const struct bp_shm_control *g = b->planes.shm.control;
	const uint64_t overruns = atomic_load(&g->cp_sync_overruns);
	const uint64_t resyncs = atomic_load(&g->cp_sync_resyncs);
	const uint32_t last = choose_leaf(b);
	const struct figure quiet = forwarding(b);
	struct meter from = meter_read(b), to;
	struct figure busy;
	uint64_t made, lag;

	made = changes(b, rate, seconds);
	to = meter_read(b);
	lag = change_and_look(b, last);
	busy = figure(&from, &to);
	bench_must_agree(b);
	fprintf(stderr,
		"churn: %.0f changes a second for %.1f s, %" PRIu64 " overruns and %" PRIu64
		" resyncs (to be none), the last one visible after %.1f ms (to be under 1,000)\n"
		"churn: forwarding %.2f Mpps and %.1f ns of processor time a frame, without "
		"changes %.2f and %.1f\n",
		(double)made * 1e9 / (double)(to.at - from.at), (double)(to.at - from.at) / 1e9,
		atomic_load(&g->cp_sync_overruns) - overruns,
		atomic_load(&g->cp_sync_resyncs) - resyncs, (double)lag / MS, busy.mpps,
		busy.cpu_ns, quiet.mpps, quiet.cpu_ns);
	printf(", \"churn\": {\"changes\": %" PRIu64
	       ", \"per_second\": %.0f, \"overruns\": %" PRIu64 ", \"resyncs\": %" PRIu64
	       ", \"last_ms\": %.2f, \"mpps\": %.3f, \"mpps_quiet\": %.3f, "
	       "\"frame_ns\": %.2f, \"frame_ns_quiet\": %.2f}",
		made, (double)made * 1e9 / (double)(to.at - from.at),
		atomic_load(&g->cp_sync_overruns) - overruns,
		atomic_load(&g->cp_sync_resyncs) - resyncs, (double)lag / MS, busy.mpps, quiet.mpps,
		busy.cpu_ns, quiet.cpu_ns);
}

static uint32_t present(const struct bench *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++)
		n += b->route[i].there;
	return n;
}

static void restart(struct bench *b)
{
	uint64_t took[RESTARTS], cpu[RESTARTS];
	struct spread t, c;

	for (uint32_t i = 0; i < b->n; i++)
		if (!b->route[i].there)
			bench_request(b, i, true, 0);
	bench_kernel_flush(&b->kernel);
	for (unsigned k = 0; k < RESTARTS; k++) {
		bench_kill(&b->planes.controlplane);
		took[k] = control_plane_start(b, &cpu[k]);
		bench_must_agree(b);
	}
	t = spread_of(took, RESTARTS, MS);
	c = spread_of(cpu, RESTARTS, MS);
	fprintf(stderr,
		"restart: control plane killed and started: synced after %.0f ms in the median, "
		"%.0f at most (to be under 2,000), of %u; %.0f ms of processor time; %" PRIu32
		" routes\n",
		t.median, t.max, RESTARTS, c.median, present(b));
	printf(", \"restart_ms\": {\"median\": %.1f, \"max\": %.1f, \"cpu\": %.1f}", t.median,
		t.max, c.median);
}

/* And the CPU time of its main thread. */
static uint64_t data_plane_restart(struct bench *b, uint64_t *cpu)
{
	uint64_t sent, begun;

	bench_kill(&b->planes.dataplane);
	sent = bench_sent(&b->planes);
	begun = bench_now_ns();
	b->planes.dataplane = bench_start(&b->planes, "dataplane");
	/* its counters start at 0 */
	while (bench_sent(&b->planes) == sent || bench_sent(&b->planes) == 0) {
		if (bench_now_ns() - begun > BENCH_PATIENCE_NS)
			bench_die("forwarding did not come back");
		bench_sleep();
	}
	*cpu = bench_cpu_ns(b->planes.dataplane);
	return bench_now_ns() - begun;
}

/* The control plane is stopped (SIGSTOP) meanwhile: it holds the kernel interfaces, and does
 * nothing. */
static void forward(struct bench *b)
{
	uint64_t took[RESTARTS], cpu[RESTARTS];
	struct spread t, c;

	for (unsigned k = 0; k < RESTARTS; k++) {
		kill(b->planes.controlplane, SIGSTOP);
		took[k] = data_plane_restart(b, &cpu[k]);
		kill(b->planes.controlplane, SIGCONT);
		bench_await_agreement(b);
	}
	t = spread_of(took, RESTARTS, MS);
	c = spread_of(cpu, RESTARTS, MS);
	fprintf(stderr,
		"forward: data plane killed and started: the first frame after %.0f ms in the "
		"median, %.0f at most (to be under 1,000), of %u; %.0f ms of processor time\n",
		t.median, t.max, RESTARTS, c.median);
	printf(", \"forward_ms\": {\"median\": %.1f, \"max\": %.1f, \"cpu\": %.1f}}\n", t.median,
		t.max, c.median);
}

int main(int argc, char **argv)
{
	static struct bench b;
	uint32_t rate = argc > 5 ? (uint32_t)atoi(argv[5]) : 10000;
	uint32_t seconds = argc > 6 ? (uint32_t)atoi(argv[6]) : 10;

	if (argc < 4)
		bench_die("expected: sync_rate BIPLANE DIRECTORY NAME [ROUTES [RATE [SECONDS]]]");
	b.planes = (struct bench_planes){
		.biplane = argv[1], .file = b.file, .name = argv[3], .directory = argv[2]};
	b.n = argc > 4 ? (uint32_t)atoi(argv[4]) : 100000;
	if (b.n < 1000 || rate == 0 || seconds == 0)
		bench_die("from 1,000 routes on, and a rate and seconds from 1");
	b.n4 = b.n - b.n / 10;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	if (unshare(CLONE_NEWNET) != 0)
		bench_die("no network namespace: must be root");
	bench_place(&b);
	load(&b);
	visible(&b);
	churn(&b, rate, seconds);
	restart(&b);
	forward(&b);
	bench_kill(&b.planes.controlplane);
	bench_kill(&b.planes.dataplane);
	return 0;
}
