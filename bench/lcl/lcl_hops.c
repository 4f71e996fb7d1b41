/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LCL scheduling in real time: a line of gateways on one worker (bench/lcl/lcl_line.h),
 * time-sensitive flows with different numbers of hops, and best effort at each gateway. Measures
 * end-to-end delays, and the lateness of slots, which is caused by the machine.
 *
 *   lcl_hops [--hops N,N,...] [--budget NS,NS,...] [--plain] [--tau NS] [--rate BPS] [--queues K]
 *            [--burst FRAMES] [--load PART] [--best-effort PART] [--seconds S] [--file-prefix NAME]
 *
 * There is one flow for each of --hops (3,3,3,3), with bursts of --burst frames (8) of 128 bytes,
 * and a rate of --load (0.05) of the link rate. Needs hugepages. Prints one JSON object; exit
 * status 1: a time-sensitive frame neither arrived nor was counted as dropped.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "biplane/counters/general.h"
#include "bench/lcl/lcl_line.h"
#include "bench/lcl/lcl_time.h"
#include "bench/harness/slices.h"

#define WARM_UP_US 300000u
#define SYNC_US 250000u /* as the data plane does */
#define USAGE                                                                                      \
	"usage: lcl_hops [--hops N,N,...] [--budget NS,NS,...] [--plain] [--tau NS] [--rate BPS] " \
	"[--queues K] [--burst FRAMES] [--load PART] [--best-effort PART] [--seconds S] "          \
	"[--file-prefix NAME]\n"

struct run {
	struct bench_lcl_line line;
	double seconds;
	const char *prefix;
	double wall_ns, cpu_ns; /* the measurement */
};

static void usage(void)
{
	fputs(USAGE, stderr);
	exit(64);
}

/* Parses comma-separated numbers; returns their count. */
static unsigned numbers(const char *text, uint64_t *out, unsigned most)
{
	unsigned n = 0;
	char *end;

	for (;; text = end + 1) {
		if (n == most)
			usage();
		out[n] = strtoull(text, &end, 10);
		if (end == text || out[n++] == 0)
			usage();
		if (*end == '\0')
			return n;
		if (*end != ',')
			usage();
	}
}

/*
 * A budget that is sufficient in the worst case: d of the label may be too small by tau at each
 * node, which the remaining nodes share, so with h nodes ahead each has tau/h less.
 */
static uint64_t budget(unsigned hops, uint64_t tau_ns)
{
	double parts = 1;

	for (unsigned h = 1; h < hops; h++)
		parts += 1.0 / h;
	return (uint64_t)(hops * parts * (double)tau_ns);
}

static void set_hops(struct bench_lcl_line_options *o, const char *text)
{
	uint64_t v[BENCH_LCL_LINE_FLOWS];

	o->n_flows = numbers(text, v, BENCH_LCL_LINE_FLOWS);
	for (unsigned i = 0; i < o->n_flows; i++) {
		if (v[i] > BENCH_LCL_LINE_MOST)
			usage();
		o->hops[i] = (uint8_t)v[i];
	}
}

static void read_options(struct run *r, int argc, char **argv)
{
	static const struct option longs[] = {{"hops", required_argument, NULL, 'h'},
		{"budget", required_argument, NULL, 'd'}, {"plain", no_argument, NULL, 'p'},
		{"tau", required_argument, NULL, 't'}, {"rate", required_argument, NULL, 'r'},
		{"queues", required_argument, NULL, 'q'}, {"burst", required_argument, NULL, 'b'},
		{"load", required_argument, NULL, 'l'},
		{"best-effort", required_argument, NULL, 'e'},
		{"seconds", required_argument, NULL, 's'},
		{"file-prefix", required_argument, NULL, 'x'}, {NULL, 0, NULL, 0}};
	struct bench_lcl_line_options *o = &r->line.o;
	const char *hops = "3,3,3,3", *budgets = NULL;
	int c;

	*o = (struct bench_lcl_line_options){.tau_ns = 100000,
		.rate_bps = 2500000000,
		.queues = 8,
		.burst = 8,
		.load = 0.05,
		.best_effort = 0.2};
	r->seconds = 2;
	r->prefix = "biplane-hops";
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			hops = optarg;
			break;
		case 'd':
			budgets = optarg;
			break;
		case 'p':
			o->plain = true;
			break;
		case 't':
			numbers(optarg, &o->tau_ns, 1);
			break;
		case 'r':
			numbers(optarg, &o->rate_bps, 1);
			break;
		case 'q':
			o->queues = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			o->burst = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			o->load = strtod(optarg, NULL);
			break;
		case 'e':
			o->best_effort = strtod(optarg, NULL);
			break;
		case 's':
			r->seconds = strtod(optarg, NULL);
			break;
		case 'x':
			r->prefix = optarg;
			break;
		default:
			usage();
		}
	}
	set_hops(o, hops);
	if (budgets == NULL) {
		for (unsigned i = 0; i < o->n_flows; i++)
			o->budget_ns[i] = budget(o->hops[i], o->tau_ns);
	} else if (numbers(budgets, o->budget_ns, BENCH_LCL_LINE_FLOWS) != o->n_flows) {
		usage();
	}
	if (o->burst == 0 || !(o->load > 0 && o->load < 1) || !(o->best_effort < 1))
		usage();
}

static void start_eal(const struct run *r, char *program)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "--file-prefix=%s", r->prefix);
	char *eal[] = {program, "-l", "0,1", "--no-pci", "--no-telemetry", "--huge-unlink", prefix,
		"--log-level=error"};
	if (rte_eal_init((int)(sizeof(eal) / sizeof(eal[0])), eal) < 0) {
		fprintf(stderr, "lcl_hops: EAL: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}

static void measure(struct run *r)
{
	struct bench_lcl_line *l = &r->line;
	const uint64_t length = (uint64_t)(r->seconds * 1e9);
	uint64_t from;
	double cpu;

	usleep(WARM_UP_US);
	cpu = bench_cpu_ns(l->thread);
	from = bench_lcl_now_ns();
	atomic_store(&l->from_ns, from);
	while (bench_lcl_now_ns() - from < length) {
		usleep(SYNC_US);
		bp_clock_sync(&l->clock);
	}
	r->cpu_ns = bench_cpu_ns(l->thread) - cpu;
	r->wall_ns = (double)(bench_lcl_now_ns() - from);
}

/* ---- output ---- */

/* Quantile `part` of a histogram of shm/lcl/lcl.h: the lower bound of its bucket. */
static uint64_t quantile(const _Atomic uint64_t bucket[BP_LCL_BUCKETS], double part)
{
	uint64_t n = 0, all = 0;

	for (unsigned i = 0; i < BP_LCL_BUCKETS; i++)
		all += atomic_load_explicit(&bucket[i], memory_order_relaxed);
	for (unsigned i = 0; i < BP_LCL_BUCKETS; i++) {
		n += atomic_load_explicit(&bucket[i], memory_order_relaxed);
		if ((double)n > part * (double)all)
			return bp_lcl_bucket_from(i);
	}
	return 0;
}

static void print_port(const struct bp_lcl_port_stats *s)
{
	printf("{\"sent\": %" PRIu64 ", \"best_effort\": %" PRIu64 ", \"outside\": %" PRIu64
	       ", \"moved\": %" PRIu64 ", \"late\": %" PRIu64 ", \"full\": %" PRIu64
	       ", \"slots\": %" PRIu64 ", \"gated_ns\": %" PRIu64 ", \"intervals\": %" PRIu64
	       ", \"intervals_broken\": %" PRIu64,
		s->sent, s->best_effort, s->outside, s->moved, s->late, s->full, s->slots,
		s->gated_ns, s->intervals, s->intervals_broken);
	printf(", \"lateness_ns\": {\"min\": %" PRIu64 ", \"median\": %" PRIu64
	       ", \"p9999\": %" PRIu64 ", \"max\": %" PRIu64 "}",
		s->late_min_ns, quantile(s->lateness, 0.5), quantile(s->lateness, 0.9999),
		s->late_max_ns);
	printf(", \"gap_ns\": {\"median\": %" PRIu64 ", \"p9999\": %" PRIu64 ", \"max\": %" PRIu64
	       "}}",
		quantile(s->gap, 0.5), quantile(s->gap, 0.9999), s->gap_max_ns);
}

static void print_flows(const struct bench_lcl_line *l)
{
	printf("\"flows\": [");
	for (unsigned i = 0; i < l->o.n_flows; i++) {
		printf("%s{\"hops\": %u, \"budget_ns\": %" PRIu64 ", ", i != 0 ? ", " : "",
			l->o.hops[i], l->o.budget_ns[i]);
		bench_lcl_sink_print(&l->sink[i], stdout);
		printf("}");
	}
	printf("]");
}

static bool report(const struct run *r)
{
	const struct bench_lcl_line *l = &r->line;
	const struct bench_lcl_line_options *o = &l->o;
	const uint64_t *v = l->shm.counters[0].v;
	uint64_t made = 0, dropped = 0, wire_lost = 0, best_effort = 0;
	bool ok;

	for (unsigned i = 0; i < o->n_flows; i++)
		made += l->source[i].made;
	for (unsigned i = 0; i < l->n; i++) {
		best_effort += l->entry[i].best_effort.made;
		wire_lost += l->wire[i].lost;
	}
	for (unsigned i = 0; i < BP_C_COUNT; i++)
		if (bp_counter_info[i].group == BP_CG_DROP)
			dropped += v[i];
	ok = made + best_effort ==
	     atomic_load(&l->taken) + l->best_effort + dropped + wire_lost + l->left;
	printf("{\"lcl\": %s, \"gateways\": %u, \"tau_ns\": %" PRIu64 ", \"rate_bps\": %" PRIu64
	       ", \"queues\": %u, \"burst\": %u, \"load\": %.3f, \"best_effort_load\": %.3f"
	       ", \"seconds\": %.3f, \"worker_cpu\": %.4f, \"gap_max_ns\": %" PRIu64 ", ",
		o->plain ? "false" : "true", l->n, o->tau_ns, o->rate_bps, o->queues, o->burst,
		o->load, o->best_effort, r->wall_ns / 1e9, r->cpu_ns / r->wall_ns, l->gap_ns);
	print_flows(l);
	printf(", \"ports\": [");
	for (unsigned i = 0; i < l->n && !o->plain; i++) {
		printf("%s", i != 0 ? ", " : "");
		print_port(&l->shm.lcl.ports[i]);
	}
	printf("], \"made\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"best_effort_made\": %" PRIu64
	       ", \"best_effort_taken\": %" PRIu64 ", \"dropped\": %" PRIu64
	       ", \"wire_lost\": %" PRIu64 ", \"left\": %" PRIu64 ", \"proven\": %s}\n",
		made, atomic_load(&l->taken), best_effort, l->best_effort, dropped, wire_lost,
		l->left, ok ? "true" : "false");
	return ok;
}

int main(int argc, char **argv)
{
	static struct run r;
	bool ok;

	read_options(&r, argc, argv);
	start_eal(&r, argv[0]);
	bench_lcl_line_make(&r.line);
	bench_lcl_line_launch(&r.line);
	measure(&r);
	bench_lcl_line_stop(&r.line);
	ok = report(&r);
	bench_lcl_line_free(&r.line);
	return ok ? 0 : 1;
}
