/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_NEIGHBORS_H
#define BP_SHM_FIB_NEIGHBORS_H

#include "shm/fib/fib.h"
#include "shm/hash.h"

/*
 * The neighbor table: a hash of (interface, address) in lines of 64 bytes that hold two entries
 * each. A lookup reads one line unless that line overflowed. Entries never move; a deleted entry is
 * reused after all workers have passed, so an address that is found belongs to the link word in the
 * same entry.
 */
struct bp_neighbor_entry {
	_Atomic uint64_t link; /* BP_LINK_RESOLVED with MAC and interface; 0: free. Written last. */
	_Atomic uint64_t lo, hi; /* the address, as struct bp_neighbor_key */
	_Atomic uint32_t used_s; /* workers: CLOCK_MONOTONIC second of the last use */
	/* bits 0..7, the writer's: enum bp_neighbor_state or BP_NEIGHBOR_RETIRED. Above, in the
	 * line's first entry: the number of entries that found this line full and are in a later
	 * one. A lookup continues after a line only where that number is not 0. */
	_Atomic uint32_t meta;
};
#define BP_NEIGHBOR_RETIRED 0xff
#define BP_NEIGHBORS_MAX (1u << 24)

#define BP_NEIGHBOR_WAYS 2
/* Maximum number of lines that a lookup reads, whatever their content. In a table that is a quarter
 * full, fewer than ten consecutive lines overflow. */
#define BP_NEIGHBOR_PROBES 256u
struct bp_neighbor_line {
	struct bp_neighbor_entry entry[BP_NEIGHBOR_WAYS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_neighbor_line) == 64, "one line");

/* An address's 16 bytes, of IPv4 ::ffff:a.b.c.d, as two little-endian numbers. */
struct bp_neighbor_key {
	uint64_t lo, hi;
};

/* `dst` in network byte order, as in the packet. */
static inline struct bp_neighbor_key bp_neighbor_key4(uint32_t dst)
{
	return (struct bp_neighbor_key){0, 0xffff0000u | (uint64_t)le32toh(dst) << 32};
}
static inline struct bp_neighbor_key bp_neighbor_key6(const uint8_t *dst)
{
	return (struct bp_neighbor_key){bp_load64(dst), bp_load64(dst + 8)};
}
struct bp_neighbor_key bp_neighbor_key(const struct bp_address *a);

/* The line that an address belongs to. */
static inline uint32_t bp_neighbor_home(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k)
{
	uint64_t h = bp_fold(k.lo ^ f->hash_key[0], k.hi ^ f->hash_key[1]);

	/* the key is mixed in again, since the factors of a single product may be weak */
	h = bp_fold(h ^ interface ^ 0xa0761d6478bd642full, f->hash_key[0] ^ 0xe7037ed1a0b428dbull);
	return (uint32_t)((h >> 32) * f->neighbor_lines >> 32);
}

static inline uint32_t bp_neighbor_overflows(const struct bp_neighbor_line *l)
{
	return atomic_load_explicit(&l->entry[0].meta, memory_order_acquire) >> 8;
}

/* 0 when it is this neighbor's entry. Without a branch, because the position in the line (one of
 * two entries) is unpredictable. */
static inline uint64_t bp_neighbor_differs(const struct bp_neighbor_entry *e, uint64_t link,
	uint8_t interface, struct bp_neighbor_key k)
{
	return (link ^ bp_link_make(BP_LINK_RESOLVED, interface, 0)) >> 48 |
	       (atomic_load_explicit(&e->lo, memory_order_relaxed) ^ k.lo) |
	       (atomic_load_explicit(&e->hi, memory_order_relaxed) ^ k.hi);
}

/* The entry, whose link word is *link then; or NULL, and *link is not set. */
static inline struct bp_neighbor_entry *bp_neighbor_find(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k, uint64_t *link)
{
	uint32_t at = bp_neighbor_home(f, interface, k);

	for (uint32_t n = 0; n < BP_NEIGHBOR_PROBES; n++) {
		struct bp_neighbor_line *l = &f->neighbors[at];
		struct bp_neighbor_entry *e = l->entry;
		const uint64_t w0 = atomic_load_explicit(&e[0].link, memory_order_acquire);
		const uint64_t w1 = atomic_load_explicit(&e[1].link, memory_order_acquire);
		const uint64_t d0 = bp_neighbor_differs(&e[0], w0, interface, k);
		const uint64_t d1 = bp_neighbor_differs(&e[1], w1, interface, k);

		uint32_t found = (uint32_t)(d0 == 0) | (uint32_t)(d1 == 0) << 1;

		__asm__("" : "+r"(found)); /* else the compiler branches on each */
		if (__builtin_expect(found != 0, 1)) {
			*link = w0 ^ ((w0 ^ w1) & (0 - (uint64_t)(found >> 1)));
			return e + (found >> 1);
		}
		if (__builtin_expect(bp_neighbor_overflows(l) == 0, 1))
			break;
		at = at + 1 < f->neighbor_lines ? at + 1 : 0;
	}
	return NULL;
}

/*
 * Link word of the neighbor: BP_LINK_RESOLVED, or BP_LINK_UNRESOLVED with the interface when there
 * is none. Marks it as used at second now_s. For one address; prefetch with
 * bp_neighbor_prefetch() one step ahead.
 */
static inline uint64_t bp_neighbor_use(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k, uint32_t now_s)
{
	uint64_t link;
	struct bp_neighbor_entry *e = bp_neighbor_find(f, interface, k, &link);

	if (__builtin_expect(e == NULL, 0))
		return bp_link_make(BP_LINK_UNRESOLVED, interface, 0);
	if (__builtin_expect(atomic_load_explicit(&e->used_s, memory_order_relaxed) != now_s, 0))
		atomic_store_explicit(&e->used_s, now_s, memory_order_relaxed);
	return link;
}
static inline uint64_t bp_neighbor4_use(
	const struct bp_fib *f, uint8_t interface, uint32_t dst, uint32_t now_s)
{
	return bp_neighbor_use(f, interface, bp_neighbor_key4(dst), now_s);
}
static inline uint64_t bp_neighbor6_use(
	const struct bp_fib *f, uint8_t interface, const uint8_t *dst, uint32_t now_s)
{
	return bp_neighbor_use(f, interface, bp_neighbor_key6(dst), now_s);
}

/* always_inline: gcc 12 takes a function that only prefetches for one without effect, and drops the
 * call. */
#define BP_PREFETCHES static inline __attribute__((always_inline)) void

BP_PREFETCHES bp_neighbor_prefetch(
	const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k)
{
	__builtin_prefetch(&f->neighbors[bp_neighbor_home(f, interface, k)]);
}
BP_PREFETCHES bp_neighbor4_prefetch(const struct bp_fib *f, uint8_t interface, uint32_t dst)
{
	bp_neighbor_prefetch(f, interface, bp_neighbor_key4(dst));
}
BP_PREFETCHES bp_neighbor6_prefetch(const struct bp_fib *f, uint8_t interface, const uint8_t *dst)
{
	bp_neighbor_prefetch(f, interface, bp_neighbor_key6(dst));
}

#endif
