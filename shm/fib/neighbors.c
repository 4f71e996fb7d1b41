/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_neighbors.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void address_bytes(const struct bp_address *a, uint8_t bytes[16])
{
	if (a->family == 4) {
		memcpy(bytes, mapped, sizeof(mapped));
		memcpy(bytes + sizeof(mapped), a->bytes, 4);
	} else {
		memcpy(bytes, a->bytes, 16);
	}
}

struct bp_address bp_neighbor_address(struct bp_neighbor_key k)
{
	const uint64_t words[2] = {htole64(k.lo), htole64(k.hi)};
	uint8_t bytes[16];

	memcpy(bytes, words, sizeof(bytes));
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return bp_address4(bytes + sizeof(mapped));
	return bp_address6(bytes);
}

struct bp_neighbor_key bp_neighbor_key(const struct bp_address *a)
{
	uint8_t bytes[16];

	address_bytes(a, bytes);
	return bp_neighbor_key6(bytes);
}

static uint32_t slot_of(const struct bp_fib *f, const struct bp_neighbor_entry *e)
{
	const size_t bytes = (size_t)((const char *)e - (const char *)f->neighbors);

	return (uint32_t)(bytes / sizeof(*e));
}

/* One more or less that found the lines from `home` up to `line`, without it, full. */
static void overflows_add(struct bp_fib *f, uint32_t home, uint32_t line, int d)
{
	while (home != line) {
		struct bp_neighbor_entry *e = &f->neighbors[home].entry[0];
		const uint32_t meta = atomic_load_explicit(&e->meta, memory_order_relaxed);

		atomic_store_explicit(&e->meta, meta + (uint32_t)d * 0x100, memory_order_release);
		home = home + 1 < f->neighbor_lines ? home + 1 : 0;
	}
}

void bp_neighbors_figures(struct bp_neighbors *n)
{
	atomic_store_explicit(&n->f->control->neighbors, n->count, memory_order_relaxed);
	atomic_store_explicit(
		&n->f->control->neighbors_refused, n->n_waiting, memory_order_relaxed);
}

/* ---- waiting entries ---- */

uint64_t bp_neighbor_hash(const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k)
{
	return bp_mix64(k.lo ^ bp_mix64(k.hi ^ f->hash_key[0] ^ (uint64_t)interface << 8));
}

static uint64_t waiting_hash(const void *arg, uint32_t i)
{
	const struct bp_neighbors *n = arg;
	const struct bp_neighbor_waiting *w = &n->waiting[i];

	return bp_neighbor_hash(n->f, w->interface, bp_neighbor_key(&w->address));
}

static struct bp_neighbor_waiting *waiting_find(
	const struct bp_neighbors *n, uint8_t interface, struct bp_neighbor_key k)
{
	const struct bp_index *ix = &n->waiting_index;

	if (n->n_waiting == 0)
		return NULL;
	for (uint32_t i = bp_index_first(ix, bp_neighbor_hash(n->f, interface, k));
		i != BP_INDEX_END; i = bp_index_next(ix, i)) {
		struct bp_neighbor_waiting *w = &n->waiting[i];
		const struct bp_neighbor_key other = bp_neighbor_key(&w->address);

		if (w->interface == interface && other.lo == k.lo && other.hi == k.hi)
			return w;
	}
	return NULL;
}

static void waiting_remove(struct bp_neighbors *n, struct bp_neighbor_waiting *w)
{
	const uint32_t i = (uint32_t)(w - n->waiting), last = n->n_waiting - 1;

	bp_index_remove(&n->waiting_index, waiting_hash(n, i), i);
	if (i != last) {
		const uint64_t hash = waiting_hash(n, last);

		bp_index_remove(&n->waiting_index, hash, last);
		*w = n->waiting[last];
		bp_index_add(&n->waiting_index, hash, i);
	}
	n->n_waiting--;
	bp_neighbors_figures(n);
}

static enum bp_fib_result waiting_add(struct bp_neighbors *n, const struct bp_neighbor_waiting *one)
{
	if (n->n_waiting == n->max_waiting) {
		const uint32_t more = n->max_waiting ? 2 * n->max_waiting : 64;
		struct bp_neighbor_waiting *grown = realloc(n->waiting, more * sizeof(*n->waiting));

		if (!grown)
			return BP_FIB_NO_MEMORY;
		n->waiting = grown;
		if (!bp_index_grow(&n->waiting_index, more, waiting_hash, n))
			return BP_FIB_NO_MEMORY;
		n->max_waiting = more;
	}
	n->waiting[n->n_waiting] = *one;
	bp_index_add(&n->waiting_index, waiting_hash(n, n->n_waiting), n->n_waiting);
	n->n_waiting++;
	atomic_fetch_add_explicit(&n->f->control->rejected_total, 1, memory_order_relaxed);
	bp_neighbors_figures(n);
	return BP_FIB_FULL;
}

/* ---- the table ---- */

bool bp_neighbors_init(struct bp_neighbors *n, struct bp_fib *f, struct bp_epoch *e)
{
	*n = (struct bp_neighbors){.f = f, .epoch = e};
	n->generation = calloc(bp_neighbor_entries(f), sizeof(*n->generation));
	if (n->generation && bp_reuse_init(&n->retired, bp_neighbor_entries(f)) &&
		bp_index_init(&n->waiting_index, 0))
		return true;
	bp_neighbors_free(n);
	return false;
}

void bp_neighbors_free(struct bp_neighbors *n)
{
	free(n->generation);
	free(n->waiting);
	bp_reuse_free(&n->retired);
	bp_index_free(&n->waiting_index);
	*n = (struct bp_neighbors){0};
}

uint64_t bp_neighbors_link(const struct bp_fib *f, uint8_t interface, const struct bp_address *a)
{
	uint64_t link;

	if (bp_neighbor_find(f, interface, bp_neighbor_key(a), &link))
		return link;
	return bp_link_make(BP_LINK_UNRESOLVED, interface, 0);
}

/* At most the probe distance of a lookup from the home line. */
static bool place(const struct bp_fib *f, uint32_t home, uint32_t *slot)
{
	const uint32_t lines =
		f->neighbor_lines < BP_NEIGHBOR_PROBES ? f->neighbor_lines : BP_NEIGHBOR_PROBES;

	for (uint32_t n = 0, line = home; n < lines; n++) {
		for (unsigned i = 0; i < BP_NEIGHBOR_WAYS; i++) {
			*slot = line * BP_NEIGHBOR_WAYS + i;
			if (atomic_load_explicit(
				    &bp_neighbor_at(f, *slot)->link, memory_order_relaxed) == 0 &&
				bp_neighbor_state(bp_neighbor_at(f, *slot)) == BP_NEIGHBOR_ABSENT)
				return true;
		}
		line = line + 1 < f->neighbor_lines ? line + 1 : 0;
	}
	return false;
}

/* Inserts an absent address. False: the table is full. */
static bool enter(struct bp_neighbors *n, const struct bp_neighbor_waiting *one)
{
	struct bp_fib *f = n->f;
	const struct bp_neighbor_key k = bp_neighbor_key(&one->address);
	const uint32_t home = bp_neighbor_home(f, one->interface, k);
	struct bp_neighbor_entry *e;
	uint32_t slot;

	if (n->count == f->max_neighbors)
		return false;
	if (!place(f, home, &slot)) { /* half of the table was deleted just now */
		bp_neighbors_settle(n);
		if (!place(f, home, &slot))
			return false;
	}
	e = bp_neighbor_at(f, slot);
	atomic_store_explicit(&e->lo, k.lo, memory_order_relaxed);
	atomic_store_explicit(&e->hi, k.hi, memory_order_relaxed);
	atomic_store_explicit(&e->used_s, 0, memory_order_relaxed);
	bp_neighbor_state_set(e, one->state);
	/* before it becomes reachable: a lookup must continue to its line */
	overflows_add(f, home, slot / BP_NEIGHBOR_WAYS, 1);
	atomic_store_explicit(&e->link,
		bp_link_make(BP_LINK_RESOLVED, one->interface, bp_mac_word(one->mac)),
		memory_order_release);
	n->generation[slot] = one->generation;
	n->count++;
	bp_neighbors_figures(n);
	return true;
}

static void retire(struct bp_neighbors *n, uint8_t interface, uint32_t slot)
{
	struct bp_neighbor_entry *e = bp_neighbor_at(n->f, slot);
	const uint32_t home = bp_neighbor_home(n->f, interface, bp_neighbor_entry_key(e));

	atomic_store_explicit(&e->link, 0, memory_order_release);
	bp_neighbor_state_set(e, BP_NEIGHBOR_RETIRED);
	overflows_add(n->f, home, slot / BP_NEIGHBOR_WAYS, -1);
	bp_reuse_retire(&n->retired, slot);
	n->count--;
	bp_neighbors_figures(n);
}

static enum bp_fib_result change(struct bp_neighbors *n, struct bp_neighbor_entry *e, uint64_t old,
	const struct bp_neighbor_waiting *to)
{
	const uint64_t link = bp_link_make(BP_LINK_RESOLVED, to->interface, bp_mac_word(to->mac));
	const uint8_t state = bp_neighbor_state(e);

	/* the configuration has priority over the kernel */
	if (state == BP_NEIGHBOR_PERMANENT && to->state != BP_NEIGHBOR_PERMANENT)
		return BP_FIB_SAME;
	n->generation[slot_of(n->f, e)] = to->generation;
	if (state == to->state && old == link)
		return BP_FIB_SAME;
	bp_neighbor_state_set(e, to->state);
	atomic_store_explicit(&e->link, link, memory_order_release);
	return BP_FIB_DONE;
}

enum bp_fib_result bp_neighbors_set(struct bp_neighbors *n, uint8_t interface,
	const struct bp_address *a, const uint8_t mac[6], enum bp_neighbor_state state)
{
	const struct bp_neighbor_key k = bp_neighbor_key(a);
	struct bp_neighbor_waiting one = {
		.address = *a, .interface = interface, .state = (uint8_t)state};
	struct bp_neighbor_waiting *w;
	struct bp_neighbor_entry *e;
	uint64_t link;

	e = bp_neighbor_find(n->f, interface, k, &link);
	if (state == BP_NEIGHBOR_FAILED) {
		if (e && bp_neighbor_state(e) == BP_NEIGHBOR_PERMANENT)
			return BP_FIB_SAME;
		return bp_neighbors_delete(n, interface, a) == BP_FIB_DONE ? BP_FIB_DONE
									   : BP_FIB_SAME;
	}
	memcpy(one.mac, mac, sizeof(one.mac));
	one.generation = n->now[state == BP_NEIGHBOR_PERMANENT];
	if (e)
		return change(n, e, link, &one);
	w = waiting_find(n, interface, k);
	if (enter(n, &one)) {
		if (w)
			waiting_remove(n, w);
		return BP_FIB_DONE;
	}
	if (!w)
		return waiting_add(n, &one);
	*w = one;
	return BP_FIB_FULL;
}

enum bp_fib_result bp_neighbors_delete(
	struct bp_neighbors *n, uint8_t interface, const struct bp_address *a)
{
	const struct bp_neighbor_key k = bp_neighbor_key(a);
	uint64_t link;
	struct bp_neighbor_entry *e = bp_neighbor_find(n->f, interface, k, &link);
	struct bp_neighbor_waiting *w;

	if (e) {
		retire(n, interface, slot_of(n->f, e));
		return BP_FIB_DONE;
	}
	w = waiting_find(n, interface, k);
	if (!w)
		return BP_FIB_ABSENT;
	waiting_remove(n, w);
	return BP_FIB_DONE;
}

bool bp_neighbors_old(struct bp_neighbors *n, enum bp_origin origin, uint32_t *cursor,
	uint8_t *interface, struct bp_address *a)
{
	const bool permanent = origin == BP_ORIGIN_STATIC;

	for (; *cursor < bp_neighbor_entries(n->f); ++*cursor) {
		const struct bp_neighbor_entry *e = bp_neighbor_at(n->f, *cursor);
		const uint64_t link = atomic_load_explicit(&e->link, memory_order_relaxed);

		if (link != 0 && (bp_neighbor_state(e) == BP_NEIGHBOR_PERMANENT) == permanent &&
			n->generation[*cursor] != n->now[permanent]) {
			*interface = bp_link_interface(link);
			*a = bp_neighbor_address(bp_neighbor_entry_key(e));
			return true;
		}
	}
	/* deleting one moves another into its slot: restart each time */
	for (uint32_t i = 0; i < n->n_waiting; i++) {
		const struct bp_neighbor_waiting *w = &n->waiting[i];

		if ((w->state == BP_NEIGHBOR_PERMANENT) == permanent &&
			w->generation != n->now[permanent]) {
			*interface = w->interface;
			*a = w->address;
			return true;
		}
	}
	return false;
}

void bp_neighbors_settle(struct bp_neighbors *n)
{
	uint32_t slot;

	while (bp_reuse_passed(&n->retired, n->epoch, &slot))
		bp_neighbor_state_set(bp_neighbor_at(n->f, slot), BP_NEIGHBOR_ABSENT);
}

bool bp_neighbors_retry(struct bp_neighbors *n, uint8_t *interface, struct bp_address *a)
{
	struct bp_neighbor_waiting *w = n->waiting;

	if (n->n_waiting == 0 || !enter(n, w))
		return false;
	*interface = w->interface;
	*a = w->address;
	waiting_remove(n, w);
	return true;
}
