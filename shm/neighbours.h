/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_NEIGHBOURS_H
#define BP_SHM_NEIGHBOURS_H

#include "shm/fib.h"
#include "shm/hash.h"

/*
 * The neighbour table: a hash of (interface, address) in lines of 64 bytes that hold two entries
 * each. A lookup reads one line unless that line overflowed. Entries never move; one that was
 * deleted is reused after all workers have passed, so an address that is found belongs to the link
 * word beside it.
 */
struct bp_neighbour_entry {
	_Atomic uint64_t link; /* BP_LINK_RESOLVED with MAC and interface; 0: free. Written last. */
	uint8_t address[16];   /* IPv4 as ::ffff:a.b.c.d */
	_Atomic uint32_t used_s; /* workers: CLOCK_MONOTONIC second of the last use */
	/* bits 0..7, the writer's: enum bp_neighbour_state or BP_NEIGHBOUR_RETIRED. Above, in the
	 * line's first entry: how many entries found this line full on their way to a later one. A
	 * lookup goes on from a line only where that is not 0. */
	_Atomic uint32_t meta;
};
#define BP_NEIGHBOUR_RETIRED 0xff
#define BP_NEIGHBOURS_MAX (1u << 24)

#define BP_NEIGHBOUR_WAYS 2
struct bp_neighbour_line {
	struct bp_neighbour_entry entry[BP_NEIGHBOUR_WAYS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_neighbour_line) == 64, "one line");

/* An address as the two words that the table compares. */
struct bp_neighbour_key {
	uint64_t lo, hi;
};

/* `dst` in network byte order, as it stands in the packet. */
static inline struct bp_neighbour_key bp_neighbour_key4(uint32_t dst)
{
	return (struct bp_neighbour_key){0, 0xffff0000u | (uint64_t)le32toh(dst) << 32};
}
static inline struct bp_neighbour_key bp_neighbour_key6(const uint8_t *dst)
{
	return (struct bp_neighbour_key){bp_load64(dst), bp_load64(dst + 8)};
}
struct bp_neighbour_key bp_neighbour_key(const struct bp_address *a);

/* The line that an address belongs to. */
static inline uint32_t bp_neighbour_home(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbour_key k)
{
	uint64_t h = bp_fold(k.lo ^ f->hash_key[0], k.hi ^ f->hash_key[1]);

	/* the key comes in again, so that the sum of two unlucky factors is not all there is */
	h = bp_fold(h ^ interface ^ 0xa0761d6478bd642full, f->hash_key[0] ^ 0xe7037ed1a0b428dbull);
	return (uint32_t)((h >> 32) * f->max_neighbours >> 32);
}

static inline uint32_t bp_neighbour_overflows(const struct bp_neighbour_line *l)
{
	return atomic_load_explicit(&l->entry[0].meta, memory_order_acquire) >> 8;
}

/* The entry, or NULL. */
static inline struct bp_neighbour_entry *bp_neighbour_find(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbour_key k, uint64_t *link)
{
	uint32_t at = bp_neighbour_home(f, interface, k);

	for (uint32_t n = 0; n < f->max_neighbours; n++) {
		struct bp_neighbour_line *l = &f->neighbours[at];

		for (unsigned i = 0; i < BP_NEIGHBOUR_WAYS; i++) {
			struct bp_neighbour_entry *e = &l->entry[i];
			const uint64_t w = atomic_load_explicit(&e->link, memory_order_acquire);

			if (w != 0 && bp_link_interface(w) == interface &&
				bp_load64(e->address) == k.lo &&
				bp_load64(e->address + 8) == k.hi) {
				*link = w;
				return e;
			}
		}
		if (__builtin_expect(bp_neighbour_overflows(l) == 0, 1))
			break;
		at = at + 1 < f->max_neighbours ? at + 1 : 0;
	}
	return NULL;
}

/*
 * Link word of the neighbour: BP_LINK_RESOLVED, or BP_LINK_UNRESOLVED with the interface when there
 * is none. Marks it as used at second now_s. For one address; prefetch with
 * bp_neighbour_prefetch() one step ahead.
 */
static inline uint64_t bp_neighbour_use(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbour_key k, uint32_t now_s)
{
	uint64_t link;
	struct bp_neighbour_entry *e = bp_neighbour_find(f, interface, k, &link);

	if (__builtin_expect(e == NULL, 0))
		return bp_link_make(BP_LINK_UNRESOLVED, interface, 0);
	if (__builtin_expect(atomic_load_explicit(&e->used_s, memory_order_relaxed) != now_s, 0))
		atomic_store_explicit(&e->used_s, now_s, memory_order_relaxed);
	return link;
}
static inline uint64_t bp_neighbour4_use(
	const struct bp_fib *f, uint8_t interface, uint32_t dst, uint32_t now_s)
{
	return bp_neighbour_use(f, interface, bp_neighbour_key4(dst), now_s);
}
static inline uint64_t bp_neighbour6_use(
	const struct bp_fib *f, uint8_t interface, const uint8_t *dst, uint32_t now_s)
{
	return bp_neighbour_use(f, interface, bp_neighbour_key6(dst), now_s);
}

static inline void bp_neighbour_prefetch(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbour_key k)
{
	__builtin_prefetch(&f->neighbours[bp_neighbour_home(f, interface, k)]);
}
static inline void bp_neighbour4_prefetch(const struct bp_fib *f, uint8_t interface, uint32_t dst)
{
	bp_neighbour_prefetch(f, interface, bp_neighbour_key4(dst));
}
static inline void bp_neighbour6_prefetch(
	const struct bp_fib *f, uint8_t interface, const uint8_t *dst)
{
	bp_neighbour_prefetch(f, interface, bp_neighbour_key6(dst));
}

#endif
