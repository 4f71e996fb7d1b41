/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lookup rate of neighbors, compared with rte_hash_lookup_bulk(): 65,536 random neighbors in bursts
 * of 64, measured in turn.
 *
 *   neighbor_rate EAL-OPTIONS [-- ROUNDS (9)]
 *
 * Prints one line of JSON: medians in million lookups/s.
 */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/fib/fib_writer.h"
#include "shm/layout.h"
#include "config/segment.h"
#include "shm/fib/neighbors.h"

#define NEIGHBORS 65536u
#define BURST 64u
#define LOOKUPS (1u << 22)

static struct bp_shm shm;
static uint64_t sum;

static void die(const char *what)
{
	fprintf(stderr, "neighbor_rate: %s\n", what);
	exit(1);
}

static void tables_new(void)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config *c = calloc(1, sizeof(*c));
	struct bp_segment *s;
	char err[256];

	if (!c)
		die("no memory");
	c->n_workers = 1;
	c->n_ports = 1;
	c->routing = (struct bp_config_routing){16, 16, NEIGHBORS, 16, 16};
	s = bp_segment_anonymous(specs, bp_shm_specs(c, specs), err, sizeof(err));
	free(c);
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)) != 0)
		die(err);
}

/* The key in rte_hash: an address and an interface, as a router would use it. */
struct key4 {
	uint32_t address, interface;
};
struct key6 {
	uint8_t address[16];
	uint32_t interface, pad;
};

static struct bp_address address(uint32_t i, bool six)
{
	uint8_t b[16] = {six ? 0xfd : 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};

	if (six)
		b[15] = (uint8_t)(i * 7);
	return six ? bp_address6(b) : bp_address4(b);
}

static struct rte_hash *hash_new(bool six)
{
	const struct rte_hash_parameters p = {.name = six ? "six" : "four",
		.entries = NEIGHBORS * 2,
		.key_len = six ? sizeof(struct key6) : sizeof(struct key4),
		.hash_func = rte_hash_crc,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF,
		.socket_id = SOCKET_ID_ANY};
	struct rte_hash *h = rte_hash_create(&p);

	if (!h)
		die("no rte_hash");
	return h;
}

static struct key4 key4[NEIGHBORS];
static struct key6 key6[NEIGHBORS];
static uint32_t *order;

static void fill(struct rte_hash *four, struct rte_hash *six)
{
	char err[256];
	struct bp_fib_writer *w = bp_fib_writer_new(&shm.fib, NULL, NULL, err, sizeof(err));

	if (!w)
		die(err);
	for (uint32_t i = 0; i < NEIGHBORS; i++) {
		const bool is_six =
			i % 2; /* alternately first, because the first one has an advantage */
		const struct bp_address a = address(i, is_six);
		const uint8_t mac[6] = {2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i};

		if (bp_fib_neighbor_set(w, 1, &a, mac, BP_NEIGHBOR_REACHABLE) != BP_FIB_DONE)
			die("no room");
		memcpy(&key4[i].address, a.bytes, 4);
		key4[i].interface = 1;
		memcpy(key6[i].address, a.bytes, 16);
		key6[i].interface = 1;
		if (is_six ? rte_hash_add_key_data(six, &key6[i], (void *)(uintptr_t)(i + 1))
			   : rte_hash_add_key_data(four, &key4[i], (void *)(uintptr_t)(i + 1)))
			die("no room in rte_hash");
	}
	bp_fib_writer_free(w);
}

static double rate(uint64_t cycles)
{
	return (double)LOOKUPS / ((double)cycles / (double)rte_get_tsc_hz()) / 1e6;
}

static double ours(bool six)
{
	const uint64_t since = rte_rdtsc();

	for (uint32_t i = 0; i < LOOKUPS; i += BURST) {
		if (six) {
			for (unsigned k = 0; k < BURST; k++)
				bp_neighbor6_prefetch(&shm.fib, 1, key6[order[i + k]].address);
			for (unsigned k = 0; k < BURST; k++)
				sum += bp_neighbor6_use(&shm.fib, 1, key6[order[i + k]].address, 1);
		} else {
			for (unsigned k = 0; k < BURST; k++)
				bp_neighbor4_prefetch(&shm.fib, 1, key4[order[i + k]].address);
			for (unsigned k = 0; k < BURST; k++)
				sum += bp_neighbor4_use(&shm.fib, 1, key4[order[i + k]].address, 1);
		}
	}
	return rate(rte_rdtsc() - since);
}

static double theirs(const struct rte_hash *h, bool six)
{
	const uint64_t since = rte_rdtsc();

	for (uint32_t i = 0; i < LOOKUPS; i += BURST) {
		const void *key[BURST];
		void *data[BURST];
		uint64_t hits;

		for (unsigned k = 0; k < BURST; k++)
			key[k] = six ? (const void *)&key6[order[i + k]]
				     : (const void *)&key4[order[i + k]];
		rte_hash_lookup_bulk_data(h, key, BURST, &hits, data);
		for (unsigned k = 0; k < BURST; k++)
			sum += (uintptr_t)data[k];
	}
	return rate(rte_rdtsc() - since);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static void measure(const char *what, const struct rte_hash *h, bool six, unsigned rounds)
{
	double a[64], b[64], r[64];

	for (uint32_t i = 0; i < LOOKUPS; i++)
		order[i] = (uint32_t)(bp_mix64(i) % (NEIGHBORS / 2)) * 2 + six;
	ours(six);
	theirs(h, six);
	for (unsigned i = 0; i < rounds; i++) {
		a[i] = ours(six);
		b[i] = theirs(h, six);
		r[i] = a[i] / b[i];
	}
	printf("\"%s\":{\"biplane\":%.1f,\"dpdk\":%.1f,\"ratio\":%.2f}", what, median(a, rounds),
		median(b, rounds), median(r, rounds));
}

int main(int argc, char **argv)
{
	const int eal = rte_eal_init(argc, argv);
	unsigned rounds = 9;
	struct rte_hash *four, *six;

	if (eal < 0)
		die("EAL does not start");
	if (argc - eal > 1)
		rounds = (unsigned)atoi(argv[eal + 1]);
	if (rounds < 1 || rounds > 64)
		die("rounds are 1 to 64");
	order = malloc(LOOKUPS * sizeof(*order));
	if (!order)
		die("no memory");
	tables_new();
	four = hash_new(false);
	six = hash_new(true);
	fill(four, six);
	printf("{");
	measure("ip4", four, false, rounds);
	printf(",");
	measure("ip6", six, true, rounds);
	printf("}\n");
	rte_hash_free(four);
	rte_hash_free(six);
	free(order);
	bp_segment_close(shm.segment);
	return sum == 0;
}
