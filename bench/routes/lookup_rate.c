/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lookup rate of the longest prefix match of the segment, compared with rte_lpm and rte_lpm6: the
 * same routes, destinations and page sizes, measured in turn in one run.
 *
 *   lookup_rate [--routes4 N] [--routes6 N] [--rounds N] [-- EAL options]
 *
 * Prints one line of JSON: medians in million lookups/s, and the time of the writer. Needs
 * hugepages: 1024 of 2 MiB are enough for the defaults (1,000,000 and 250,000 routes).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>

#include "bench/routes/route_mix.h"
#include "dataplane/dpdk_compat.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/lpm/lpm_node.h"
#include "shm/fib/lpm/lpm_writer.h"

#define BURST 64u
#define DESTINATIONS (1u << 20)
#define ROUNDS_MAX 99u
#define NEXTHOPS 1000u

static uint32_t routes4 = 1000000, routes6 = 250000, rounds = 9;

static void die(const char *what)
{
	fprintf(stderr, "lookup_rate: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *pages(size_t n, size_t size)
{
	void *p = rte_zmalloc(NULL, n * size, 4096);

	if (p == NULL)
		die("not enough hugepages: sysctl vm.nr_hugepages=1024");
	return p;
}

/* ---- the tables ---- */

struct tables {
	struct bp_fib fib;
	struct bp_epoch epoch;
	struct bp_lpm_writer *writer;
	struct rte_lpm *lpm;
	struct rte_lpm6 *lpm6;
	struct bp_prefix *prefix[2];
	uint32_t *dst4;
	uint8_t (*dst6)[16];
	const uint8_t **dst6_at;
	uint32_t *ours, *theirs; /* next hops of all destinations */
};

static void open_tables(struct tables *t)
{
	struct bp_fib *f = &t->fib;

	f->max_lines = 2 * (routes4 / 8 + routes6 + 4096);
	f->control = pages(1, sizeof(*f->control));
	f->readers = pages(1, sizeof(*f->readers));
	f->lpm4_root = pages(1u << BP_LPM4_ROOT_BITS, sizeof(*f->lpm4_root));
	f->lpm6_root = pages(1u << BP_LPM6_ROOT_BITS, sizeof(*f->lpm6_root));
	f->lines = pages(f->max_lines + BP_LPM_SLACK, sizeof(*f->lines));
	f->max_nexthops = BP_NH_FIXED + NEXTHOPS;
	atomic_store(&f->control->epoch, 1);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&f->readers->seen[w], UINT64_MAX);
	bp_epoch_init(&t->epoch, f, NULL, NULL);
	t->writer = bp_lpm_writer_new(f, &t->epoch);
	if (t->writer == NULL)
		die("no memory");
	bp_lpm_repair(t->writer);
}

/* The same for the same prefix, so that a repeated prefix changes nothing. */
static uint32_t nexthop_of(const struct bp_prefix *p)
{
	uint32_t h = p->length;

	for (unsigned i = 0; i < sizeof(p->bytes); i++)
		h = h * 31 + p->bytes[i];
	return BP_NH_FIXED + h % NEXTHOPS;
}

static void fill(struct tables *t, uint8_t family, uint32_t n)
{
	struct bp_prefix *prefix = calloc(n, sizeof(*prefix));
	uint64_t seed = 1234567 + family;

	if (prefix == NULL)
		die("no memory");
	for (uint32_t i = 0; i < n;) {
		enum bp_fib_result result;

		prefix[i] = bp_route_mix(&seed, family);
		result = bp_lpm_set(t->writer, &prefix[i], nexthop_of(&prefix[i]));
		if (result == BP_FIB_DONE)
			i++;
		else if (result != BP_FIB_SAME)
			die("too few lines");
	}
	t->prefix[family == 6] = prefix;
}

/*
 * rte_lpm_add() searches all routes of a length before it adds one, which takes hours for a million
 * routes. So the tables are written directly, with the same content; tests/unit/dataplane compares
 * our tables with rte_lpm itself.
 */
static void copy_lpm(struct tables *t)
{
	struct rte_lpm_config c = {.max_rules = 16};
	uint32_t group = 0;

	for (uint32_t i = 0; i < 1u << 24; i++)
		c.number_tbl8s += (t->fib.lpm4_root[i] & BP_LPM_LINK) != 0;
	t->lpm = rte_lpm_create("beside", SOCKET_ID_ANY, &c);
	if (t->lpm == NULL)
		die("rte_lpm_create");
	for (uint32_t i = 0; i < 1u << 24; i++) {
		struct rte_lpm_tbl_entry e = {.valid = 1};
		uint32_t dst[256], way[256];

		if (t->fib.lpm4_root[i] == BP_NH_NONE)
			continue;
		e.next_hop = t->fib.lpm4_root[i] & 0xffffff;
		if ((t->fib.lpm4_root[i] & BP_LPM_LINK) != 0) {
			e.next_hop = group;
			e.valid_group = 1;
			for (unsigned s = 0; s < 256; s++)
				dst[s] = i << 8 | s;
			for (unsigned s = 0; s < 256; s += BURST)
				bp_lpm4_lookup(&t->fib, dst + s, way + s, BURST);
			for (unsigned s = 0; s < 256; s++) {
				t->lpm->tbl8[group * 256 + s] =
					(struct rte_lpm_tbl_entry){.next_hop = way[s] & 0xffffff,
						.valid = way[s] != 0,
						.valid_group = 1};
			}
			group++;
		}
		t->lpm->tbl24[i] = e;
	}
}

static void copy_lpm6(struct tables *t)
{
	struct rte_lpm6_config c = {.max_rules = routes6, .number_tbl8s = 1u << 18};

	t->lpm6 = rte_lpm6_create("beside6", SOCKET_ID_ANY, &c);
	if (t->lpm6 == NULL)
		die("rte_lpm6_create: not enough hugepages?");
	for (uint32_t i = 0; i < routes6; i++) {
		struct bp_prefix *p = &t->prefix[1][i];

		if (rte_lpm6_add(t->lpm6, BP_LPM6_ADDRESSES(p->bytes), p->length, nexthop_of(p)) !=
			0)
			die("rte_lpm6_add");
	}
}

/* A random address in a random route. */
static void choose_destinations(struct tables *t)
{
	uint64_t seed = 99;

	t->dst4 = pages(DESTINATIONS, sizeof(*t->dst4));
	t->dst6 = pages(DESTINATIONS, sizeof(*t->dst6));
	t->dst6_at = pages(DESTINATIONS, sizeof(*t->dst6_at));
	t->ours = pages(DESTINATIONS, sizeof(*t->ours));
	t->theirs = pages(DESTINATIONS, sizeof(*t->theirs));
	for (uint32_t i = 0; i < DESTINATIONS; i++) {
		uint32_t h = (uint32_t)((uint64_t)i * 0x9e3779b97f4a7c15ull >> 32);
		struct bp_address a =
			bp_route_mix_inside(&seed, &t->prefix[0][(uint64_t)h * routes4 >> 32]);

		t->dst4[i] = (uint32_t)a.bytes[0] << 24 | (uint32_t)a.bytes[1] << 16 |
			     (uint32_t)a.bytes[2] << 8 | a.bytes[3];
		a = bp_route_mix_inside(&seed, &t->prefix[1][(uint64_t)h * routes6 >> 32]);
		memcpy(t->dst6[i], a.bytes, 16);
		t->dst6_at[i] = t->dst6[i];
	}
}

/* ---- lookups ---- */

static void ours4(struct tables *t)
{
	uint8_t nodes = 0;

	for (uint32_t i = 0; i < DESTINATIONS; i += BURST)
		bp_lpm4_lookup_retry(&t->fib, &nodes, t->dst4 + i, t->ours + i, BURST);
}

static void theirs4(struct tables *t)
{
	for (uint32_t i = 0; i < DESTINATIONS; i += BURST)
		rte_lpm_lookup_bulk(t->lpm, t->dst4 + i, t->theirs + i, BURST);
}

static void ours6(struct tables *t)
{
	for (uint32_t i = 0; i < DESTINATIONS; i += BURST)
		bp_lpm6_lookup(&t->fib, t->dst6_at + i, t->ours + i, BURST);
}

static void theirs6(struct tables *t)
{
	for (uint32_t i = 0; i < DESTINATIONS; i += BURST)
		rte_lpm6_lookup_bulk_func(
			t->lpm6, BP_LPM6_ADDRESSES(t->dst6 + i), (int32_t *)t->theirs + i, BURST);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, rounds, sizeof(*v), by_value);
	return v[rounds / 2];
}

/* Million lookups/s. */
static double rate(void (*pass)(struct tables *), struct tables *t)
{
	double start = now();

	pass(t);
	return DESTINATIONS / (now() - start) / 1e6;
}

static void compare(struct tables *t, const char *name, void (*ours)(struct tables *),
	void (*theirs)(struct tables *))
{
	double a[ROUNDS_MAX], b[ROUNDS_MAX], ratio[ROUNDS_MAX];

	ours(t);
	theirs(t);
	for (uint32_t i = 0; i < DESTINATIONS; i++) {
		/* rte_lpm: flags in the bits above the next hop */
		if (t->ours[i] != (t->theirs[i] & 0xffffff))
			die("the tables do not agree");
	}
	for (uint32_t i = 0; i < rounds; i++) {
		a[i] = rate(ours, t);
		b[i] = rate(theirs, t);
		ratio[i] = a[i] / b[i];
	}
	printf("\"%s\":{\"biplane\":%.1f,\"dpdk\":%.1f,\"ratio\":%.2f},", name, median(a),
		median(b), median(ratio));
}

/* Time of the writer: a takeover without repairs, and changes of routes, each in turn. */
static void writer_figures(struct tables *t)
{
	const uint32_t changes = 100000;
	const struct bp_prefix any = {.family = 4};
	struct bp_lpm_writer *w = bp_lpm_writer_new(&t->fib, &t->epoch);
	double start = now(), loaded, repaired, changed, defaulted;
	uint32_t n[2] = {routes4, routes6};
	uint64_t mended;

	if (w == NULL)
		die("no memory");
	for (unsigned f = 0; f < 2; f++) {
		for (uint32_t i = 0; i < n[f]; i++) {
			const struct bp_prefix *p = &t->prefix[f][i];

			bp_lpm_load(w, p, nexthop_of(p));
		}
	}
	loaded = now();
	mended = bp_lpm_repair(w);
	repaired = now();
	for (uint32_t i = 0; i < changes; i++) {
		unsigned f = i % 4 == 3;
		const struct bp_prefix *p =
			&t->prefix[f][((uint64_t)i * 0x9e3779b97f4a7c15ull >> 32) % n[f]];

		bp_lpm_delete(w, p);
		bp_lpm_set(w, p, nexthop_of(p));
	}
	changed = now();
	bp_lpm_set(w, &any, BP_NH_FIXED);
	bp_lpm_delete(w, &any);
	defaulted = now();
	printf("\"load_ms\":%.0f,\"repair_ms\":%.0f,\"mended\":%" PRIu64
	       ",\"change_us\":%.2f,\"default_ms\":%.1f,\"lines\":%u}\n",
		(loaded - start) * 1e3, (repaired - loaded) * 1e3, mended,
		(changed - repaired) * 1e6 / (2 * changes), (defaulted - changed) * 1e3 / 2,
		t->fib.max_lines - bp_lpm_free_lines(w));
	bp_lpm_writer_free(w);
}

static uint32_t number(const char *text, uint32_t most)
{
	unsigned long v = text != NULL ? strtoul(text, NULL, 10) : 0;

	if (v == 0 || v > most)
		die("--routes4 N, --routes6 N and --rounds N: N from 1 to 4000000, rounds to 99");
	return (uint32_t)v;
}

int main(int argc, char **argv)
{
	char *args[64] = {argv[0], "--in-memory", "--no-pci", "--no-telemetry", "--lcores=0"};
	static struct tables t;
	int n = 5, i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--routes4") == 0)
			routes4 = number(argv[i + 1], 4000000);
		else if (strcmp(argv[i], "--routes6") == 0)
			routes6 = number(argv[i + 1], 4000000);
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = number(argv[i + 1], ROUNDS_MAX);
		else
			die("usage: lookup_rate [--routes4 N] [--routes6 N] [--rounds N] [-- EAL "
			    "options]");
	}
	for (i++; i < argc && n < 63; i++)
		args[n++] = argv[i];
	if (rte_eal_init(n, args) < 0)
		die(rte_strerror(rte_errno));
	open_tables(&t);
	fill(&t, 4, routes4);
	fill(&t, 6, routes6);
	copy_lpm(&t);
	copy_lpm6(&t);
	choose_destinations(&t);
	printf("{");
	compare(&t, "lpm4", ours4, theirs4);
	compare(&t, "lpm6", ours6, theirs6);
	writer_figures(&t);
	rte_eal_cleanup();
	return 0;
}
