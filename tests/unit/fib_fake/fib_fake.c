/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fib_fake/fib_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

#define BUCKETS 65536u

enum kind { ROUTE, NEIGHBOR, OBJECT };

struct key {
	uint8_t kind, family, length, origin, interface, vrf, pad[2];
	uint32_t object;
	uint8_t bytes[16];
};

struct item {
	struct item *next;
	struct key key;
	bool old;
	union {
		struct bp_route route;
		struct bp_neighbor_info neighbor;
	};
};

struct bp_fib_writer {
	struct item *bucket[BUCKETS];
	struct bp_interface_info interface[BP_ALL_INTERFACES];
	struct bp_vrf_info vrf[BP_MAX_VRFS + 1];
	unsigned n[3], least, limit;
	uint64_t changes;
};

uint32_t fib_fake_used_s;

static void die(const char *what)
{
	fprintf(stderr, "fib_fake: %s\n", what);
	abort();
}

struct bp_fib_writer *fib_fake_new(void)
{
	struct bp_fib_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		die("no memory");
	w->limit = UINT32_MAX;
	return w;
}

struct bp_fib_writer *bp_fib_writer_new(
	struct bp_fib *f, bool (*readers_gone)(void *arg), void *arg, char *err, size_t err_size)
{
	(void)f;
	(void)readers_gone;
	(void)arg;
	(void)err;
	(void)err_size;
	return fib_fake_new();
}

static struct item **place(const struct bp_fib_writer *w, const struct key *key)
{
	static const uint64_t fixed[2] = {1, 2};
	struct item **at =
		(struct item **)&w->bucket[bp_hash_bytes(fixed, key, sizeof(*key)) % BUCKETS];

	while (*at != NULL && memcmp(&(*at)->key, key, sizeof(*key)) != 0)
		at = &(*at)->next;
	return at;
}

static struct key route_key(const struct bp_prefix *p, enum bp_origin origin)
{
	struct key k = {.kind = ROUTE,
		.family = p->family,
		.length = p->length,
		.origin = (uint8_t)origin,
		.vrf = p->vrf};

	memcpy(k.bytes, p->bytes, sizeof(k.bytes));
	return k;
}

static struct key neighbor_key(unsigned interface, const struct bp_address *a)
{
	struct key k = {.kind = NEIGHBOR, .family = a->family, .interface = (uint8_t)interface};

	memcpy(k.bytes, a->bytes, sizeof(k.bytes));
	return k;
}

static struct key object_key(uint32_t object)
{
	return (struct key){.kind = OBJECT, .object = object};
}

static void unlink_item(struct bp_fib_writer *w, struct item **at)
{
	struct item *i = *at;

	*at = i->next;
	w->n[i->key.kind]--;
	w->changes++;
	if (w->n[ROUTE] < w->least)
		w->least = w->n[ROUTE];
	free(i);
}

void bp_fib_writer_free(struct bp_fib_writer *w)
{
	for (unsigned b = 0; w != NULL && b < BUCKETS; b++)
		while (w->bucket[b] != NULL)
			unlink_item(w, &w->bucket[b]);
	free(w);
}

/* The item of that key, made when there is none. */
static struct item *ensure(struct bp_fib_writer *w, const struct key *key, bool *is_new)
{
	struct item **at = place(w, key);

	*is_new = *at == NULL;
	if (*at == NULL) {
		*at = calloc(1, sizeof(struct item));
		if (*at == NULL)
			die("no memory");
		(*at)->key = *key;
		w->n[key->kind]++;
	}
	(*at)->old = false;
	return *at;
}

static enum bp_fib_result delete (struct bp_fib_writer *w, const struct key *key) {
	struct item **at = place(w, key);

	if (*at == NULL) return BP_FIB_ABSENT;
	unlink_item(w, at);
	return BP_FIB_DONE;
}

/* ---- whether two are the same ---- */

static bool same_address(const struct bp_address *a, const struct bp_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool fib_fake_same_interface(const struct bp_interface_info *a, const struct bp_interface_info *b)
{
	if (strcmp(a->name, b->name) != 0 || a->flags != b->flags || a->ifindex != b->ifindex ||
		a->mtu != b->mtu || memcmp(a->mac, b->mac, sizeof(a->mac)) != 0 ||
		a->n_addresses != b->n_addresses || a->vrf != b->vrf ||
		a->vrf_table != b->vrf_table)
		return false;
	for (unsigned i = 0; i < a->n_addresses; i++)
		if (a->address[i].length != b->address[i].length ||
			!same_address(&a->address[i].address, &b->address[i].address))
			return false;
	return true;
}

bool fib_fake_same_neighbor(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b)
{
	return same_address(&a->address, &b->address) && a->interface == b->interface &&
	       a->state == b->state && memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       a->used_s == b->used_s;
}

bool fib_fake_same_route(const struct bp_route *a, const struct bp_route *b)
{
	if (a->prefix.family != b->prefix.family || a->prefix.vrf != b->prefix.vrf ||
		a->prefix.length != b->prefix.length ||
		memcmp(a->prefix.bytes, b->prefix.bytes, sizeof(a->prefix.bytes)) != 0 ||
		a->type != b->type || a->origin != b->origin || a->protocol != b->protocol ||
		a->metric != b->metric || a->object != b->object || a->n_hops != b->n_hops)
		return false;
	for (unsigned i = 0; i < a->n_hops; i++)
		if (a->hop[i].interface != b->hop[i].interface ||
			a->hop[i].weight != b->hop[i].weight ||
			!same_address(&a->hop[i].gateway, &b->hop[i].gateway))
			return false;
	return true;
}

enum bp_fib_result bp_fib_interface_set(
	struct bp_fib_writer *w, unsigned i, const struct bp_interface_info *info)
{
	if (i >= BP_ALL_INTERFACES)
		return BP_FIB_INVALID;
	if (info->vrf != BP_VRF_MAIN && info->vrf != BP_VRF_KERNEL && w->vrf[info->vrf].table == 0)
		die("an interface in a VRF that is not there");
	if (fib_fake_same_interface(&w->interface[i], info))
		return BP_FIB_SAME;
	w->interface[i] = *info;
	w->changes++;
	return BP_FIB_DONE;
}

enum bp_fib_result bp_fib_vrf_set(
	struct bp_fib_writer *w, unsigned vrf, const struct bp_vrf_info *info)
{
	if (vrf == BP_VRF_MAIN || vrf > BP_MAX_VRFS)
		return BP_FIB_INVALID;
	w->vrf[vrf] = *info;
	w->changes++;
	return BP_FIB_DONE;
}

enum bp_fib_result bp_fib_neighbor_set(struct bp_fib_writer *w, unsigned interface,
	const struct bp_address *a, const uint8_t mac[6], enum bp_neighbor_state state)
{
	struct key k = neighbor_key(interface, a);
	struct bp_neighbor_info n;
	struct item *item;
	bool is_new;

	memset(&n, 0, sizeof(n)); /* padding between the fields is compared too */
	n.address = *a;
	n.interface = (uint8_t)interface;
	n.state = (uint8_t)state;
	if (interface >= BP_ALL_INTERFACES || !(w->interface[interface].flags & BP_IF_PRESENT))
		return BP_FIB_INVALID;
	if (state != BP_NEIGHBOR_FAILED)
		memcpy(n.mac, mac, sizeof(n.mac));
	item = ensure(w, &k, &is_new);
	if (!is_new && fib_fake_same_neighbor(&item->neighbor, &n))
		return BP_FIB_SAME;
	item->neighbor = n;
	w->changes++;
	return BP_FIB_DONE;
}

enum bp_fib_result bp_fib_neighbor_delete(
	struct bp_fib_writer *w, unsigned interface, const struct bp_address *a)
{
	struct key k = neighbor_key(interface, a);

	return delete (w, &k);
}

static bool hops_valid(const struct bp_fib_writer *w, const struct bp_hop *hop, uint32_t n)
{
	if (n == 0 || n > BP_HOPS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (hop[i].interface >= BP_ALL_INTERFACES ||
			!(w->interface[hop[i].interface].flags & BP_IF_PRESENT) ||
			hop[i].weight == 0)
			return false;
	return true;
}

enum bp_fib_result bp_fib_object_set(struct bp_fib_writer *w, uint32_t object, uint8_t type,
	const struct bp_hop *hop, uint32_t n_hops)
{
	struct key k = object_key(object);
	struct bp_route r;
	struct item *item;
	bool is_new;

	memset(&r, 0, sizeof(r));
	r.object = object;
	r.type = type;
	if (object == 0 || (type == BP_ROUTE_UNICAST && !hops_valid(w, hop, n_hops)))
		return BP_FIB_INVALID;
	if (type == BP_ROUTE_UNICAST) {
		r.n_hops = n_hops;
		memcpy(r.hop, hop, n_hops * sizeof(*hop));
	}
	item = ensure(w, &k, &is_new);
	if (!is_new && fib_fake_same_route(&item->route, &r))
		return BP_FIB_SAME;
	item->route = r;
	w->changes++;
	return BP_FIB_DONE;
}

enum bp_fib_result bp_fib_object_delete(struct bp_fib_writer *w, uint32_t object)
{
	struct key k = object_key(object);

	return delete (w, &k);
}

static bool route_valid(const struct bp_fib_writer *w, const struct bp_route *r)
{
	struct key k = object_key(r->object);

	if ((r->prefix.family != 4 && r->prefix.family != 6) ||
		r->prefix.length > bp_address_bits(r->prefix.family) || r->type >= BP_ROUTE_TYPES ||
		(r->prefix.vrf != BP_VRF_MAIN && w->vrf[r->prefix.vrf].table == 0))
		return false;
	if (r->object != 0)
		return *place(w, &k) != NULL;
	return r->type != BP_ROUTE_UNICAST || hops_valid(w, r->hop, r->n_hops);
}

enum bp_fib_result bp_fib_route_set(struct bp_fib_writer *w, const struct bp_route *r)
{
	struct key k = route_key(&r->prefix, (enum bp_origin)r->origin);
	struct item *item;
	bool is_new;

	if (!route_valid(w, r))
		return BP_FIB_INVALID;
	if (*place(w, &k) == NULL && w->n[ROUTE] >= w->limit)
		return BP_FIB_FULL;
	item = ensure(w, &k, &is_new);
	if (!is_new && fib_fake_same_route(&item->route, r))
		return BP_FIB_SAME;
	item->route = *r;
	w->changes++;
	return BP_FIB_DONE;
}

enum bp_fib_result bp_fib_route_delete(
	struct bp_fib_writer *w, const struct bp_prefix *p, enum bp_origin origin)
{
	struct key k = route_key(p, origin);

	return delete (w, &k);
}

static bool belongs(const struct item *i, enum bp_origin origin)
{
	switch (i->key.kind) {
	case ROUTE:
		return i->key.origin == origin;
	case NEIGHBOR:
		return (i->neighbor.state == BP_NEIGHBOR_PERMANENT) == (origin == BP_ORIGIN_STATIC);
	default:
		return origin == BP_ORIGIN_KERNEL;
	}
}

void bp_fib_mark(struct bp_fib_writer *w, enum bp_origin origin)
{
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct item *i = w->bucket[b]; i != NULL; i = i->next)
			if (belongs(i, origin))
				i->old = true;
}

uint32_t bp_fib_sweep(struct bp_fib_writer *w, enum bp_origin origin)
{
	uint32_t n = 0;

	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct item **at = &w->bucket[b]; *at != NULL;)
			if ((*at)->old && belongs(*at, origin)) {
				unlink_item(w, at);
				n++;
			} else {
				at = &(*at)->next;
			}
	return n;
}

bool bp_fib_settle(struct bp_fib_writer *w)
{
	(void)w;
	return false;
}

uint32_t bp_fib_writer_neighbor_used(
	const struct bp_fib_writer *w, unsigned interface, const struct bp_address *a)
{
	(void)w;
	(void)interface;
	(void)a;
	return fib_fake_used_s;
}

const struct bp_route *fib_fake_route(
	const struct bp_fib_writer *w, const struct bp_prefix *p, enum bp_origin origin)
{
	struct key k = route_key(p, origin);
	struct item *i = *place(w, &k);

	return i != NULL ? &i->route : NULL;
}

const struct bp_neighbor_info *fib_fake_neighbor(
	const struct bp_fib_writer *w, unsigned interface, const struct bp_address *a)
{
	struct key k = neighbor_key(interface, a);
	struct item *i = *place(w, &k);

	return i != NULL ? &i->neighbor : NULL;
}

const struct bp_vrf_info *fib_fake_vrf(const struct bp_fib_writer *w, unsigned vrf)
{
	return &w->vrf[vrf];
}

const struct bp_interface_info *fib_fake_interface(const struct bp_fib_writer *w, unsigned i)
{
	return &w->interface[i];
}

const struct bp_route *fib_fake_object(const struct bp_fib_writer *w, uint32_t object)
{
	struct key k = object_key(object);
	struct item *i = *place(w, &k);

	return i != NULL ? &i->route : NULL;
}

unsigned fib_fake_routes(const struct bp_fib_writer *w)
{
	return w->n[ROUTE];
}

unsigned fib_fake_neighbors(const struct bp_fib_writer *w)
{
	return w->n[NEIGHBOR];
}

uint64_t fib_fake_changes(const struct bp_fib_writer *w)
{
	return w->changes;
}

void fib_fake_watch(struct bp_fib_writer *w)
{
	w->least = w->n[ROUTE];
}

unsigned fib_fake_least(const struct bp_fib_writer *w)
{
	return w->least;
}

void fib_fake_limit(struct bp_fib_writer *w, unsigned routes)
{
	w->limit = routes;
}
