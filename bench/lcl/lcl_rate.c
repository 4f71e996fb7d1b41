/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost of the LCL scheduler alone: frames are labelled, enqueued, dequeued, and their labels
 * updated, in virtual time at full load, without mbufs, graph and statistics.
 *
 *   lcl_rate [--frames N] [--rounds N] [--burst N]
 *
 * Prints one line of JSON: CPU time per frame in nanoseconds, minimum and median of the rounds, and
 * the share of each step. Exit status 1: a frame was lost, overtook another of its flow, or
 * exceeded its delay bound.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "bench/lcl/lcl_frames.h"
#include "services/lcl/scheduler.h"

#define RATE_BPS 25000000000ull /* and slots as in the paper */
#define TAU_NS 8000u
#define QUEUES 4u
#define BUFFERS 4096u
#define BUFFER 2176u /* distance of mbufs, so that as many cache lines map to the same set */
#define BURST_MAX 256u
#define ROUNDS_MAX 999u
/* Time from one frame to the next, in 1/1024 ns, to avoid a rounding error in the sum. */
#define FRAME_PARTS (BENCH_LCL_EACH_PS(RATE_BPS) * 1024 / 1000)

struct bench {
	struct bp_lcl_scheduler *s;
	uint8_t *space;
	void *buffer[BUFFERS]; /* a stack, like the mbuf cache of a worker */
	unsigned n;
	uint64_t parts;                             /* of time */
	uint32_t next;                              /* frame */
	struct bp_lcl_label label[BENCH_LCL_FLOWS]; /* for each flow, the next frame to leave */
	uint32_t taken[BENCH_LCL_FLOWS];
	uint64_t last_slot[BENCH_LCL_FLOWS];
	uint64_t put, took, moved, bad;
	uint64_t cycles[3]; /* enqueue, dequeue, label */
};

static void die(const char *what)
{
	fprintf(stderr, "lcl_rate: %s\n", what);
	exit(1);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t now_ns(const struct bench *b)
{
	return b->parts >> 10;
}

static void put_burst(struct bench *b, unsigned n)
{
	struct bp_lcl_arrival a[BURST_MAX];
	uint8_t put[BURST_MAX];
	uint64_t start = rte_rdtsc();

	if (b->n < n)
		die("the scheduler holds more than it may");
	for (unsigned i = 0; i < n; i++) {
		struct bp_lcl_label *l = &b->label[(b->next + i) % BENCH_LCL_FLOWS];

		bp_lcl_write((uint8_t *)b->buffer[b->n - 1 - i] + BP_LCL_AT, BP_LCL_ETHERTYPE, l);
		l->sequence++;
	}
	b->cycles[2] += rte_rdtsc() - start;
	start = rte_rdtsc();
	for (unsigned i = 0; i < n; i++, b->next++) {
		const uint32_t flow = b->next % BENCH_LCL_FLOWS;

		a[i] = (struct bp_lcl_arrival){.frame = b->buffer[--b->n],
			.in_ns = now_ns(b),
			.d = b->label[flow].d,
			.bytes = BENCH_LCL_FRAME,
			.n = BENCH_LCL_HOPS,
			.last_slot = &b->last_slot[flow]};
	}
	bp_lcl_put_burst(b->s, now_ns(b), a, n, put);
	for (unsigned i = 0; i < n; i++) {
		if (put[i] == BP_LCL_PUT_FULL)
			die("the scheduler took no more");
		b->moved += put[i] == BP_LCL_PUT_MOVED;
		b->bad += put[i] != BP_LCL_PUT_OK && put[i] != BP_LCL_PUT_MOVED;
	}
	b->cycles[0] += rte_rdtsc() - start;
	b->put += n;
}

/* Detects lost and reordered frames by flow and sequence number. */
static void check(struct bench *b, const uint8_t *frame, const struct bp_lcl_departure *d)
{
	struct bp_lcl_label label;
	uint32_t *taken;

	if (bp_lcl_read(frame, BENCH_LCL_FRAME, BP_LCL_ETHERTYPE, &label) != BP_LCL_GOOD)
		die("a label is not as it was written");
	taken = &b->taken[label.flow - bench_lcl_flow_id(0)];
	b->bad += label.sequence != (*taken)++ || d->waited_ns > d->d / d->n + TAU_NS ||
		  d->waited_ns + TAU_NS < (uint64_t)d->d / d->n;
}

static void take_burst(struct bench *b, unsigned n, bool checked)
{
	struct bp_lcl_departure d[BURST_MAX];
	uint64_t start = rte_rdtsc(), then;
	const unsigned took = bp_lcl_take(b->s, now_ns(b), d, n);

	then = rte_rdtsc();
	b->cycles[1] += then - start;
	for (unsigned i = 0; i < took; i++)
		bp_lcl_set_delay(d[i].frame, d[i].d - (int32_t)d[i].waited_ns);
	b->cycles[2] += rte_rdtsc() - then;
	for (unsigned i = 0; i < took; i++) {
		if (checked)
			check(b, d[i].frame, &d[i]);
		b->buffer[b->n++] = d[i].frame;
	}
	b->took += took;
}

static void pass(struct bench *b, uint64_t frames, unsigned burst, bool checked)
{
	for (uint64_t i = 0; i < frames; i += burst) {
		put_burst(b, burst);
		b->parts += burst * FRAME_PARTS;
		take_burst(b, BURST_MAX, checked);
	}
}

static void set_up(struct bench *b)
{
	const struct bp_lcl_scheduler_options o = {.tau_ns = TAU_NS,
		.rate_bps = RATE_BPS,
		.queues = QUEUES,
		.queue_frames = 512,
		.best_effort_frames = 1024,
		.best_effort_max = 1518};

	for (uint32_t i = 0; i < BENCH_LCL_FLOWS; i++) {
		b->label[i] = bench_lcl_label(i);
		b->label[i].n--;
	}
	b->s = bp_lcl_scheduler_create(&o);
	b->space = aligned_alloc(64, (size_t)BUFFERS * BUFFER);
	if (b->s == NULL || b->space == NULL)
		die("no memory");
	for (b->n = 0; b->n < BUFFERS; b->n++) {
		b->buffer[b->n] = b->space + (size_t)b->n * BUFFER;
		/* with the other fields of a labelled frame */
		bench_lcl_plain(b->buffer[b->n], BENCH_LCL_FRAME, BENCH_LCL_UDP);
	}
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint32_t number(const char *text, uint32_t most)
{
	const unsigned long n = strtoul(text, NULL, 10);

	if (n == 0 || n > most)
		die("usage: lcl_rate [--frames N] [--rounds N] [--burst N]");
	return (uint32_t)n;
}

int main(int argc, char **argv)
{
	static double ns[ROUNDS_MAX];
	static struct bench b;
	uint32_t frames = 1000000, rounds = 5, burst = 64;
	double all;

	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--frames") == 0)
			frames = number(value, UINT32_MAX);
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = number(value, ROUNDS_MAX);
		else if (strcmp(argv[i], "--burst") == 0)
			burst = number(value, BURST_MAX / 2);
		else
			number("0", 1);
	}
	set_up(&b);
	pass(&b, frames, burst, true);
	memset(b.cycles, 0, sizeof(b.cycles));
	for (uint32_t r = 0; r < rounds; r++) {
		const double start = cpu_ns();

		pass(&b, frames, burst, false);
		ns[r] = (cpu_ns() - start) / frames;
	}
	qsort(ns, rounds, sizeof(ns[0]), by_size);
	all = (double)(b.cycles[0] + b.cycles[1] + b.cycles[2]) / ns[rounds / 2];
	for (unsigned i = 0; i < QUEUES + 1; i++) { /* frames still queued */
		b.parts += (uint64_t)TAU_NS << 10;
		take_burst(&b, BURST_MAX, false);
	}
	b.bad += b.put != b.took;
	printf("{\"octets\": %u, \"burst\": %u, \"frames\": %" PRIu64 ", \"ns_least\": %.2f"
	       ", \"ns\": %.2f, \"put_ns\": %.2f, \"take_ns\": %.2f, \"label_ns\": %.2f"
	       ", \"moved\": %" PRIu64 ", \"proven\": %s}\n",
		BENCH_LCL_FRAME, burst, b.put, ns[0], ns[rounds / 2], (double)b.cycles[0] / all,
		(double)b.cycles[1] / all, (double)b.cycles[2] / all, b.moved,
		b.bad == 0 ? "true" : "false");
	bp_lcl_scheduler_free(b.s);
	free(b.space);
	return b.bad != 0;
}
