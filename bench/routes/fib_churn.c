/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost of changes of the forwarding tables for their writer: routes loaded, their next hops
 * changed, routes flapped, a neighbor's MAC address changed, the default route changed, takeover by
 * another writer, routes deleted.
 *
 *   fib_churn [ROUTES (100000) [IPV6 ROUTES (20000)]]
 *
 * Prints one line for each: number of changes, microseconds per change, and the CPU share of one
 * core at 10,000 changes/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/fib/fib_writer.h"
#include "shm/hash.h"
#include "shm/layout.h"
#include "config/segment.h"

#define GATEWAYS 64

static struct bp_fib_writer *w;
static struct bp_shm shm;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "fib_churn: %s\n", what);
	exit(1);
}

static void must(enum bp_fib_result r)
{
	if (r != BP_FIB_DONE && r != BP_FIB_SAME)
		die("no room");
}

static struct bp_address gateway(unsigned g)
{
	const uint8_t b[16] = {0xfe, 0x80, [15] = (uint8_t)g};

	return bp_address6(b);
}

/* Mostly /24, as in a real table; all different. */
static struct bp_route route(uint32_t i, uint32_t n4, unsigned g)
{
	struct bp_address a = {.family = i < n4 ? 4 : 6};
	const uint64_t h = bp_mix64(i + 1);
	struct bp_route r;
	unsigned length;

	memset(&r, 0, sizeof(r));
	if (a.family == 4) {
		length = h % 100 < 60 ? 24 : h % 100 < 98 ? 16 + h % 8 : 25 + h % 8;
		a.bytes[0] = (uint8_t)(1 + (h >> 8) % 220);
		a.bytes[1] = (uint8_t)(h >> 16);
		a.bytes[2] = (uint8_t)(h >> 24);
		a.bytes[3] = (uint8_t)(h >> 32);
	} else {
		length = h % 100 < 50 ? 48 : h % 100 < 98 ? 29 + h % 20 : 64;
		a.bytes[0] = 0x20 | (uint8_t)(h >> 8 & 1);
		memcpy(a.bytes + 1, &h, 7);
	}
	r.prefix = bp_prefix_of(a, length);
	r.n_hops = 1;
	r.hop[0] = (struct bp_hop){.gateway = gateway(g), .interface = 1, .weight = 1};
	return r;
}

static void tell(const char *what, uint32_t n, double since)
{
	const double each = (seconds() - since) / n * 1e6;

	printf("%-22s %9u %8.3f us %6.2f %%\n", what, n, each, each);
}

static void set_all(const char *what, uint32_t n4, uint32_t n, unsigned shift)
{
	const double since = seconds();

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_route r = route(i, n4, (i + shift) % GATEWAYS);

		must(bp_fib_route_set(w, &r));
		if (i % 64 == 0)
			bp_fib_settle(w);
	}
	tell(what, n, since);
}

static void writer_new(void)
{
	char err[256];

	w = bp_fib_writer_new(&shm.fib, NULL, NULL, err, sizeof(err));
	if (!w)
		die(err);
}

static void tables_new(uint32_t n4, uint32_t n6)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config *c = calloc(1, sizeof(*c));
	struct bp_segment *s;
	char err[256];

	if (!c)
		die("no memory");
	c->n_workers = 1;
	c->n_ports = 1;
	c->routing = (struct bp_config_routing){n4, n6, 65536, 16384, 1024};
	s = bp_segment_anonymous(specs, bp_shm_specs(c, specs), err, sizeof(err));
	free(c);
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)) != 0)
		die(err);
	writer_new();
}

static void flap(uint32_t n4, uint32_t n)
{
	const double since = seconds();

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_route r = route(i, n4, i % GATEWAYS);

		bp_fib_route_delete(w, &r.prefix, BP_ORIGIN_KERNEL);
		must(bp_fib_route_set(w, &r));
		if (i % 64 == 0)
			bp_fib_settle(w);
	}
	tell("deleted and set again", n, since);
}

static void neighbors(void)
{
	const double since = seconds();
	const uint32_t n = 100000;

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_address a = gateway(i % GATEWAYS);
		const uint8_t mac[6] = {2, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};

		must(bp_fib_neighbor_set(w, 1, &a, mac, BP_NEIGHBOR_REACHABLE));
	}
	tell("neighbor's MAC", n, since);
}

/* It is the match for all addresses between the other prefixes. */
static void default_route(void)
{
	struct bp_route r = {.prefix = {.family = 4}, .n_hops = 1};
	const uint32_t n = 10;
	double since;

	r.hop[0] = (struct bp_hop){.gateway = gateway(0), .interface = 1, .weight = 1};
	must(bp_fib_route_set(w, &r));
	since = seconds();
	for (uint32_t i = 0; i < n; i++) {
		r.hop[0].gateway = gateway(1 + i);
		must(bp_fib_route_set(w, &r));
	}
	tell("default route", n, since);
	bp_fib_route_delete(w, &r.prefix, BP_ORIGIN_KERNEL);
}

int main(int argc, char **argv)
{
	const uint32_t n4 = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
	const uint32_t n = n4 + (argc > 2 ? (uint32_t)atoi(argv[2]) : 20000);
	double since;

	tables_new(1u << 20, 1u << 18);
	set_all("set", n4, n, 0);
	set_all("another next hop", n4, n, 1);
	set_all("the same again", n4, n, 1);
	flap(n4, n);
	neighbors();
	default_route();
	bp_fib_writer_free(w);
	since = seconds();
	writer_new();
	tell("taken over (once)", 1, since);
	since = seconds();
	bp_fib_mark(w, BP_ORIGIN_KERNEL);
	bp_fib_sweep(w, BP_ORIGIN_KERNEL);
	tell("swept", n, since);
	printf("repairs %llu, routes %u, lines %u\n", (unsigned long long)shm.fib.control->repairs,
		shm.fib.control->routes4, shm.fib.control->lines);
	bp_fib_writer_free(w);
	bp_segment_close(shm.segment);
	return 0;
}
