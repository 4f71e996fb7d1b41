/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/nodes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_graph.h>
#include <rte_memory.h>

#include "bench/harness/slices.h"

#define NODES_MAX 64u
#define SLICES_MAX 2000u
#define SLICE_US 2000
#define PATIENCE 10    /* maximum duration as a multiple of the requested time, on a busy machine */
#define OWN_MIN 0.98   /* share of a slice during which the worker must have been running */
#define LOOK_MAX_US 50 /* a snapshot that takes longer was interrupted and is not consistent */

struct count {
	uint64_t calls, objects, cycles;
};

/* Totals since the start, or of one slice. */
struct slice {
	struct count node[NODES_MAX];
	uint64_t packets, tsc;
	double cpu_ns;
	bool sharp; /* the snapshot is consistent */
};

struct nodes {
	char name[NODES_MAX][RTE_NODE_NAMESIZE];
	unsigned n;
	struct slice now;
};

static void must(const void *ok, const char *what)
{
	if (ok != NULL)
		return;
	fprintf(stderr, "biplane-bench: statistics of nodes: %s\n", what);
	exit(1);
}

/* The statistics of one node; the order of nodes is always the same. */
static int take(bool first, bool last, void *cookie, const struct rte_graph_cluster_node_stats *s)
{
	struct nodes *all = cookie;

	(void)last;
	if (first)
		all->n = 0;
	if (all->n == NODES_MAX)
		return -1;
	memcpy(all->name[all->n], s->name, sizeof(all->name[0]));
	all->now.node[all->n++] = (struct count){s->calls, s->objs, s->cycles};
	return 0;
}

static void look(struct nodes *all, struct rte_graph_cluster_stats *stats, pthread_t worker,
	const _Atomic uint64_t *packets)
{
	const uint64_t begin = rte_rdtsc();

	rte_graph_cluster_stats_get(stats, false);
	all->now.packets = atomic_load_explicit(packets, memory_order_relaxed);
	all->now.cpu_ns = bench_cpu_ns(worker);
	all->now.tsc = rte_rdtsc();
	all->now.sharp = all->now.tsc - begin < rte_get_tsc_hz() / 1000000 * LOOK_MAX_US;
}

static void subtract(struct slice *s, const struct slice *before)
{
	for (unsigned i = 0; i < NODES_MAX; i++) {
		s->node[i].calls -= before->node[i].calls;
		s->node[i].objects -= before->node[i].objects;
		s->node[i].cycles -= before->node[i].cycles;
	}
	s->packets -= before->packets;
	s->tsc -= before->tsc;
	s->cpu_ns -= before->cpu_ns;
	s->sharp = s->sharp && before->sharp;
}

static void add(struct slice *sum, const struct slice *s)
{
	for (unsigned i = 0; i < NODES_MAX; i++) {
		sum->node[i].calls += s->node[i].calls;
		sum->node[i].objects += s->node[i].objects;
		sum->node[i].cycles += s->node[i].cycles;
	}
	sum->packets += s->packets;
	sum->cpu_ns += s->cpu_ns;
}

/* Whether the worker was not preempted. */
static bool undisturbed(const struct slice *s)
{
	const double ns = (double)s->tsc * 1e9 / (double)rte_get_tsc_hz();

	return s->sharp && s->packets != 0 && s->cpu_ns >= OWN_MIN * ns;
}

static double cycles_each(const struct slice *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NODES_MAX; i++)
		sum += s->node[i].cycles;
	return (double)sum / (double)s->packets;
}

static int by_cycles(const void *a, const void *b)
{
	const double x = cycles_each(a), y = cycles_each(b);

	return (x > y) - (x < y);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void print(const struct nodes *all, const struct slice *s)
{
	const char *comma = "";

	printf("\"nodes\": [");
	for (unsigned i = 0; i < all->n; i++) {
		const struct count *c = &s->node[i];

		if (c->calls == 0)
			continue;
		printf("%s{\"node\": \"%s\", \"cycles\": %.2f, \"cycles_per_object\": %.2f"
		       ", \"objects_per_call\": %.2f}",
			comma, all->name[i], ratio((double)c->cycles, (double)s->packets),
			ratio((double)c->cycles, (double)c->objects),
			ratio((double)c->objects, (double)c->calls));
		comma = ", ";
	}
	printf("], \"worker_cycles\": %.2f, \"hz\": %.0f",
		s->cpu_ns * (double)rte_get_tsc_hz() / 1e9 / (double)s->packets,
		(double)rte_get_tsc_hz());
}

void bench_nodes_measure(
	const char *graph, double seconds, pthread_t worker, const _Atomic uint64_t *packets)
{
	struct nodes *all = calloc(1, sizeof(*all));
	const unsigned fit = (unsigned)(seconds * 1e6 / SLICE_US);
	const unsigned want = fit < 4 ? 4 : fit > SLICES_MAX ? SLICES_MAX : fit;
	struct slice *slice = calloc(want, sizeof(*slice)), sum = {.packets = 0};
	const struct rte_graph_cluster_stats_param param = {.socket_id = SOCKET_ID_ANY,
		.fn = take,
		.cookie = all,
		.nb_graph_patterns = 1,
		.graph_patterns = &graph};
	struct rte_graph_cluster_stats *stats = rte_graph_cluster_stats_create(&param);
	unsigned n = 0;

	must(all != NULL && slice != NULL ? all : NULL, "no memory");
	must(stats, rte_strerror(rte_errno));
	look(all, stats, worker, packets);
	for (unsigned i = 0; i < PATIENCE * want && n < want; i++) {
		const struct slice before = all->now;

		usleep(SLICE_US);
		look(all, stats, worker, packets);
		slice[n] = all->now;
		subtract(&slice[n], &before);
		n += undisturbed(&slice[n]);
	}
	must(n != 0 ? all : NULL,
		"other processes leave the worker too little of its processor (core 1); run again "
		"when they have ended");
	qsort(slice, n, sizeof(*slice), by_cycles);
	for (unsigned i = n / 4; i < n - n / 4; i++)
		add(&sum, &slice[i]);
	print(all, &sum);
	rte_graph_cluster_stats_destroy(stats);
	free(slice);
	free(all);
}
