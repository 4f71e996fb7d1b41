/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm/fib/fib_interfaces.h"
#include "shm/fib/fib_neighbors.h"
#include "shm/fib/fib_objects.h"
#include "shm/fib/fib_routes.h"
#include "shm/fib/lpm/lpm_writer.h"
#include "shm/fib/nexthops.h"

struct bp_fib_writer {
	struct bp_fib *f;
	struct bp_epoch epoch;
	struct bp_lpm_writer *lpm;
	struct bp_neighbors neighbors;
	struct bp_nexthops nexthops;
	struct bp_objects objects;
	struct bp_routes routes;
};

static void lines_store(struct bp_fib_writer *w)
{
	atomic_store_explicit(&w->f->control->lines, w->f->max_lines - bp_lpm_free_lines(w->lpm),
		memory_order_relaxed);
}

static bool take_over(struct bp_fib_writer *w)
{
	struct bp_fib_control *c = w->f->control;
	uint64_t repaired = bp_interfaces_load(w->f), neighbors;

	if (atomic_load(&c->epoch) == 0)
		atomic_store(&c->epoch, 1);
	neighbors = bp_neighbors_load(&w->neighbors);
	if (neighbors == UINT64_MAX)
		return false;
	repaired += neighbors + bp_nexthops_load(&w->nexthops);
	if (!bp_objects_load(&w->objects) || !bp_routes_load(&w->routes, &repaired))
		return false;
	repaired += bp_lpm_repair(w->lpm);
	/* only after all references to them are removed */
	bp_nexthops_reap(&w->nexthops);
	lines_store(w);
	atomic_store(&c->writer_pid, (uint64_t)getpid());
	atomic_fetch_add(&c->repairs, repaired);
	return true;
}

struct bp_fib_writer *bp_fib_writer_new(
	struct bp_fib *f, bool (*readers_gone)(void *arg), void *arg, char *err, size_t err_size)
{
	struct bp_fib_writer *w;

	if (f->max_routes == 0) {
		snprintf(err, err_size,
			"the segment has no route tables: it was created for a configuration "
			"without routed ports; restart biplane");
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		goto no_memory;
	w->f = f;
	bp_epoch_init(&w->epoch, f, readers_gone, arg);
	w->lpm = bp_lpm_writer_new(f, &w->epoch);
	if (w->lpm && bp_neighbors_init(&w->neighbors, f, &w->epoch) &&
		bp_nexthops_init(&w->nexthops, f, &w->epoch) &&
		bp_objects_init(&w->objects, &w->nexthops) &&
		bp_routes_init(&w->routes, f, w->lpm, &w->nexthops, &w->objects) && take_over(w))
		return w;
	bp_fib_writer_free(w);
no_memory:
	snprintf(err, err_size, "no memory for the writer of the forwarding tables");
	return NULL;
}

void bp_fib_writer_free(struct bp_fib_writer *w)
{
	if (!w)
		return;
	bp_routes_free(&w->routes);
	bp_objects_free(&w->objects);
	bp_nexthops_free(&w->nexthops);
	bp_neighbors_free(&w->neighbors);
	if (w->lpm)
		bp_lpm_writer_free(w->lpm);
	free(w);
}

/* Routes count for themselves, record by record. */
static enum bp_fib_result counted(struct bp_fib_writer *w, enum bp_fib_result r)
{
	if (r == BP_FIB_DONE)
		atomic_fetch_add_explicit(&w->f->control->changes, 1, memory_order_relaxed);
	return r;
}

/* After a change of the configuration, the number belongs to another interface: packets must no
 * longer be sent to the old neighbors. The routes follow with the next updates from the kernel. */
static void forget_neighbors(struct bp_fib_writer *w, unsigned interface)
{
	struct bp_neighbor_info n;
	uint32_t cursor = 0;

	while (bp_fib_next_neighbor(w->f, &cursor, &n))
		if (n.interface == interface)
			bp_fib_neighbor_delete(w, interface, &n.address);
}

static bool is_another(const struct bp_interface_info *before, const struct bp_interface_info *info)
{
	/* the name of a subinterface may change */
	if (info->vlan_id != 0)
		return before->vlan_id != info->vlan_id || before->parent != info->parent;
	return (before->flags & info->flags & BP_IF_PRESENT) && before->name[0] != '\0' &&
	       strncmp(before->name, info->name, sizeof(before->name)) != 0;
}

enum bp_fib_result bp_fib_interface_set(
	struct bp_fib_writer *w, unsigned i, const struct bp_interface_info *info)
{
	if (i >= BP_ALL_INTERFACES)
		return BP_FIB_INVALID;
	if (is_another(&w->f->interfaces[i].info, info))
		forget_neighbors(w, i);
	return counted(w, bp_interface_set(w->f, i, info));
}

enum bp_fib_result bp_fib_vrf_set(
	struct bp_fib_writer *w, unsigned vrf, const struct bp_vrf_info *info)
{
	if (vrf == BP_VRF_MAIN || vrf > BP_MAX_VRFS)
		return BP_FIB_INVALID;
	/* the next writer reads the roots up to that number: they are valid before */
	for (unsigned i = bp_fib_vrfs(w->f) + 1; i <= vrf; i++) {
		if (!bp_lpm_vrf_add(w->lpm, i))
			return BP_FIB_NO_MEMORY;
		atomic_store_explicit(&w->f->control->vrfs, i, memory_order_release);
	}
	return counted(w, bp_vrf_set(w->f, vrf, info));
}

static bool neighbor_valid(unsigned interface, const struct bp_address *a)
{
	return interface < BP_ALL_INTERFACES && (a->family == 4 || a->family == 6);
}

enum bp_fib_result bp_fib_neighbor_set(struct bp_fib_writer *w, unsigned interface,
	const struct bp_address *a, const uint8_t mac[6], enum bp_neighbor_state state)
{
	enum bp_fib_result r;

	if (!neighbor_valid(interface, a) ||
		(state != BP_NEIGHBOR_REACHABLE && state != BP_NEIGHBOR_PERMANENT &&
			state != BP_NEIGHBOR_FAILED))
		return BP_FIB_INVALID;
	r = bp_neighbors_set(&w->neighbors, (uint8_t)interface, a, mac, state);
	if (r == BP_FIB_DONE)
		bp_nexthops_follow(&w->nexthops, (uint8_t)interface, a);
	return counted(w, r);
}

enum bp_fib_result bp_fib_neighbor_delete(
	struct bp_fib_writer *w, unsigned interface, const struct bp_address *a)
{
	enum bp_fib_result r;

	if (!neighbor_valid(interface, a))
		return BP_FIB_INVALID;
	r = bp_neighbors_delete(&w->neighbors, (uint8_t)interface, a);
	if (r == BP_FIB_DONE)
		bp_nexthops_follow(&w->nexthops, (uint8_t)interface, a);
	return counted(w, r);
}

uint32_t bp_fib_writer_neighbor_used(
	const struct bp_fib_writer *w, unsigned interface, const struct bp_address *a)
{
	const struct bp_neighbor_entry *e;
	uint32_t used = 0, by_nexthop;
	uint64_t link;

	if (!neighbor_valid(interface, a))
		return 0;
	e = bp_neighbor_find(w->f, (uint8_t)interface, bp_neighbor_key(a), &link);
	if (e)
		used = atomic_load_explicit(&e->used_s, memory_order_relaxed);
	by_nexthop = bp_nexthops_used(&w->nexthops, (uint8_t)interface, a);
	return used > by_nexthop ? used : by_nexthop;
}

static bool hops_valid(const struct bp_hop *hop, uint32_t n_hops)
{
	if (n_hops < 1 || n_hops > BP_HOPS_MAX)
		return false;
	for (uint32_t i = 0; i < n_hops; i++) {
		const uint8_t family = hop[i].gateway.family;

		if (hop[i].interface >= BP_ALL_INTERFACES ||
			(family != 0 && family != 4 && family != 6))
			return false;
	}
	return true;
}

enum bp_fib_result bp_fib_object_set(struct bp_fib_writer *w, uint32_t object, uint8_t type,
	const struct bp_hop *hop, uint32_t n_hops)
{
	if (object == 0 || type >= BP_ROUTE_TYPES || type == BP_ROUTE_LOCAL ||
		(type == BP_ROUTE_UNICAST && !hops_valid(hop, n_hops)))
		return BP_FIB_INVALID;
	if (type != BP_ROUTE_UNICAST)
		n_hops = 0;
	return counted(w, bp_object_set(&w->objects, object, type, hop, n_hops));
}

enum bp_fib_result bp_fib_object_delete(struct bp_fib_writer *w, uint32_t object)
{
	return counted(w, bp_object_delete(&w->objects, object));
}

enum bp_fib_result bp_fib_route_set(struct bp_fib_writer *w, const struct bp_route *r)
{
	const enum bp_fib_result result = bp_routes_set(&w->routes, r);

	lines_store(w);
	return result;
}

enum bp_fib_result bp_fib_route_delete(
	struct bp_fib_writer *w, const struct bp_prefix *p, enum bp_origin origin)
{
	const enum bp_fib_result result = bp_routes_delete(&w->routes, p, origin);

	lines_store(w);
	return result;
}

void bp_fib_mark(struct bp_fib_writer *w, enum bp_origin origin)
{
	w->routes.now[origin]++;
	w->neighbors.now[origin]++;
	if (origin == BP_ORIGIN_KERNEL)
		w->objects.now++;
}

uint32_t bp_fib_sweep(struct bp_fib_writer *w, enum bp_origin origin)
{
	uint32_t swept = bp_routes_sweep(&w->routes, origin), cursor = 0;
	struct bp_address a;
	uint8_t interface;

	while (bp_neighbors_old(&w->neighbors, origin, &cursor, &interface, &a))
		swept += bp_fib_neighbor_delete(w, interface, &a) == BP_FIB_DONE;
	if (origin == BP_ORIGIN_KERNEL)
		swept += bp_objects_sweep(&w->objects);
	lines_store(w);
	return swept;
}

bool bp_fib_settle(struct bp_fib_writer *w)
{
	bool waiting = bp_nexthops_settle(&w->nexthops);
	struct bp_address a;
	uint8_t interface;

	bp_neighbors_settle(&w->neighbors);
	waiting |= bp_lpm_settle(w->lpm);
	while (bp_neighbors_retry(&w->neighbors, &interface, &a))
		bp_nexthops_follow(&w->nexthops, interface, &a);
	bp_objects_retry(&w->objects);
	if (bp_routes_waiting(&w->routes))
		bp_routes_retry(&w->routes);
	lines_store(w);
	return waiting || bp_neighbors_waiting(&w->neighbors) || w->objects.waiting > 0 ||
	       bp_routes_waiting(&w->routes);
}
