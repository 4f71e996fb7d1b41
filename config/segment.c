/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/segment.h"

#include <string.h>

#include "config/service.h"
#include "shm/fib/lpm/lpm_node.h"
#include "shm/fib/neighbors.h"
#include "shm/fib/nexthops.h"
#include "shm/hash.h"

uint64_t bp_capacity_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t bp_capacity_lines(uint64_t bytes)
{
	return bytes > UINT64_MAX - 63 ? bytes & ~63ull : (bytes + 63) & ~63ull;
}

/* Numbers in the tables are uint32_t, and the private memory of the writer is a multiple of
 * them. */
#define CAPACITY_MAX (1u << 28)

static uint64_t bounded_routes(uint32_t n)
{
	return n == 0 ? 1 : n < CAPACITY_MAX ? n : CAPACITY_MAX;
}

/*
 * Number of lines for the given number of routes. IPv4: prefixes of up to 24 bits need none, longer
 * ones at most one line each, and the rare prefixes of more than 28 bits a second one; five lines
 * per four routes exceed the need of any table that is not built to exhaust it. IPv6: a path of
 * nodes below the first 16 bits, which nearby prefixes mostly share; four lines per route are the
 * worst case of real tables of /32 to /64. In a VRF, whose first node has 16 bits, IPv4 routes need
 * up to one line more. A route that does not fit is rejected, counted, and forwarded by the kernel.
 */
static uint64_t lines_for(uint64_t routes4, uint64_t routes6)
{
	return routes4 * 5 / 4 + routes6 * 4 + 4096;
}

static void fib_capacities(const struct bp_config *c, uint64_t *capacity)
{
	const struct bp_config_routing *r = &c->routing;
	const uint64_t routes4 = bounded_routes(r->max_ipv4_routes),
		       routes6 = bounded_routes(r->max_ipv6_routes);

	for (unsigned t = 0; t < BP_FIB_TABLES; t++)
		capacity[t] = 1;
	capacity[BP_FT_INTERFACES] = BP_ALL_INTERFACES;
	capacity[BP_FT_NEXTHOPS] = BP_NH_FIXED;
	capacity[BP_FT_VRFS] = BP_MAX_VRFS;
	if (!bp_config_routes(c))
		return;
	capacity[BP_FT_NEIGHBORS] = 2 * (bounded_routes(r->max_neighbors) < BP_NEIGHBORS_MAX
							? bounded_routes(r->max_neighbors)
							: BP_NEIGHBORS_MAX);
	capacity[BP_FT_NEXTHOPS] = BP_NH_FIXED + bounded_routes(r->max_nexthops);
	capacity[BP_FT_GROUPS] = bounded_routes(r->max_nexthop_groups);
	capacity[BP_FT_ROUTES4] = routes4 + 1;
	capacity[BP_FT_ROUTES6] = routes6 + 1;
	capacity[BP_FT_LPM4_ROOT] = BP_LPM4_ROOT;
	capacity[BP_FT_LPM6_ROOT] = BP_LPM6_ROOT;
	capacity[BP_FT_VRF_ROOTS] = BP_MAX_VRFS * 2 * BP_VRF_ROOT;
	capacity[BP_FT_LINES] = lines_for(routes4, routes6) + BP_LPM_SLACK;
}

/* A ring is a power of two. */
static uint64_t capture_ring(uint64_t bytes)
{
	uint64_t capacity = BP_CAPTURE_RING_MIN;

	if (bytes == 0)
		return 0;
	while (capacity < bytes && capacity < BP_CAPTURE_RING_MAX)
		capacity <<= 1;
	return capacity;
}

unsigned bp_shm_specs(const struct bp_config *c, struct bp_seg_spec *specs)
{
	struct bp_shm_capacities z = {
		.workers = c->n_workers != 0 ? c->n_workers : 1,
		.ports = c->n_ports != 0 ? c->n_ports : 1,
		.events = c->monitoring.event_queue_size,
		.capture_ring = capture_ring(c->monitoring.capture_buffer),
	};

	if (c->monitoring.history_ns != 0)
		z.history_rows = c->monitoring.history_ns / BP_HISTORY_INTERVAL_NS + 1;
	fib_capacities(c, z.fib);
	for (unsigned i = 0; i < BP_SERVICE_COUNT; i++)
		if (bp_config_services[i]->capacities != NULL)
			bp_config_services[i]->capacities(c, z.service[i]);
	return bp_shm_table_specs(&z, specs);
}

uint64_t bp_config_ports_key(const struct bp_config *c)
{
	static const uint64_t key[2] = {0x8f1bbcdc5a827999ull, 0x6ed9eba1ca62c1d6ull};
	uint64_t h = c->n_ports;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		const uint64_t at[2] = {key[0] ^ h, key[1] + i};

		h = bp_hash_bytes(at, c->port[i].name, strlen(c->port[i].name));
	}
	return h;
}
