/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/routes.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/routes/route_mix.h"
#include "shm/hash.h"

#define GATEWAYS 16u
#define FROM 0u
#define TO 1u

static void must(enum bp_fib_result result, const char *what)
{
	if (result == BP_FIB_DONE)
		return;
	fprintf(stderr, "biplane-bench: %s: refused (%d)\n", what, (int)result);
	exit(1);
}

static void set_interface(struct bp_fib_writer *w, unsigned i, const uint8_t mac[6])
{
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER, .mtu = 1500};

	snprintf(info.name, sizeof(info.name), "%s", i == FROM ? "devices" : "cloud");
	memcpy(info.mac, mac, sizeof(info.mac));
	must(bp_fib_interface_set(w, i, &info), "interface");
}

static struct bp_address gateway(uint8_t family, uint32_t i)
{
	struct bp_address a = {.family = family};

	a.bytes[0] = family == 4 ? 10 : 0xfd;
	a.bytes[1] = 2;
	a.bytes[bp_address_bits(family) / 8 - 1] = (uint8_t)(2 + i);
	return a;
}

static void set_gateways(struct bp_fib_writer *w, uint8_t family)
{
	for (uint32_t i = 0; i < GATEWAYS; i++) {
		const uint8_t mac[6] = {2, 0, 0, 0, 7, (uint8_t)i};
		struct bp_address a = gateway(family, i);

		must(bp_fib_neighbor_set(w, TO, &a, mac, BP_NEIGHBOR_REACHABLE), "neighbor");
	}
}

enum bp_fib_result bench_route_change(
	struct bp_fib_writer *w, const struct bp_prefix *p, uint64_t through)
{
	struct bp_route r = {.prefix = *p, .type = BP_ROUTE_UNICAST, .n_hops = 1};

	r.hop[0] = (struct bp_hop){.interface = TO,
		.weight = 1,
		.gateway = gateway(p->family, (uint32_t)(through % GATEWAYS))};
	return bp_fib_route_set(w, &r);
}

enum bp_fib_result bench_route_connect(struct bp_fib_writer *w, const struct bp_prefix *p)
{
	struct bp_route r = {.prefix = *p, .type = BP_ROUTE_UNICAST, .n_hops = 1};

	r.hop[0] = (struct bp_hop){.interface = TO, .weight = 1};
	return bp_fib_route_set(w, &r);
}

static void set_route(struct bp_fib_writer *w, const struct bp_prefix *p, uint32_t i)
{
	must(bench_route_change(w, p, i), "route");
}

/* The routes of the frames of bench_route16() and of bench/harness/traffic.h. */
static void set_few(struct bp_fib_writer *w, uint32_t n)
{
	const struct bp_prefix broker = {.family = 4, .length = 24, .bytes = {192, 0, 2}};
	const struct bp_prefix clients = {.family = 4, .length = 16, .bytes = {10, 0}};

	for (uint32_t i = 0; i < n; i++) {
		struct bp_prefix p = {.family = 4, .length = 8, .bytes = {(uint8_t)(16 + i)}};

		set_route(w, &p, i);
	}
	set_route(w, &broker, 0);
	set_route(w, &clients, 0);
}

/* Adds `n` routes to the writer; returns one address in each, in random order. */
static void set_random(struct bp_fib_writer *w, uint8_t family, uint32_t n, struct bp_address *to)
{
	static const uint64_t key[2] = {1, 2};
	uint64_t seed = 1234567u + family;

	for (uint32_t i = 0; i < n;) {
		const struct bp_prefix p = bp_route_mix(&seed, family);
		/* the gateway depends on the prefix, so that a repeated prefix changes nothing */
		const uint64_t through = bp_hash_bytes(key, &p, sizeof(p));
		const enum bp_fib_result result = bench_route_change(w, &p, through);
		const uint32_t k =
			(uint32_t)(through % (i + 1)); /* shuffles during insertion (Knuth) */

		if (result == BP_FIB_SAME)
			continue;
		must(result, "route");
		to[i] = to[k];
		to[k] = bp_route_mix_inside(&seed, &p);
		i++;
	}
}

static void set_many(struct bench_routes *r, uint8_t family, uint32_t n)
{
	struct bp_address *address = calloc(n, sizeof(*address));

	if (address == NULL)
		abort();
	set_random(r->writer, family, n, address);
	bench_destinations_init(&r->destinations, address, n);
	free(address);
}

void bench_routes_set_up(struct bench_routes *r, struct bp_fib *fib, uint8_t family, uint32_t n)
{
	static const uint8_t from[6] = {2, 0, 0, 0, 2, 1}, to[6] = {2, 0, 0, 0, 2, 2};
	char err[256];

	r->writer = bp_fib_writer_new(fib, NULL, NULL, err, sizeof(err));
	if (r->writer == NULL) {
		fprintf(stderr, "biplane-bench: forwarding tables: %s\n", err);
		exit(1);
	}
	set_interface(r->writer, FROM, from);
	set_interface(r->writer, TO, to);
	set_gateways(r->writer, family);
	if (n <= GATEWAYS)
		set_few(r->writer, n);
	else
		set_many(r, family, n);
}
