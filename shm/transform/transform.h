/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_TRANSFORM_TRANSFORM_H
#define BP_SHM_TRANSFORM_TRANSFORM_H

#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "biplane/limits.h"
#include "biplane/transform.h"
#include "proto/net/vec16.h"
#include "shm/generation.h"

/*
 * Coordinate transformation in the segment.
 *
 *   table             writer       element
 *   transform_head    CP           struct bp_transform_head, one
 *   transform_readers DP worker    struct bp_transform_readers, one
 *   transform_banks   CP           two banks, each with the layout of struct bp_transform_bank
 *   transform_rules   DP worker    struct bp_transform_rule_stats,
 *                                  [worker * BP_TRANSFORM_RULES_MAX + rule]
 *   transform_stats   DP worker    struct bp_transform_source_stats, [worker * sources + source]
 *
 * Rules and matrices change in two ways. All together (reload, and where sources are added or
 * removed): as a new generation (shm/generation.h), whose bank workers use in place. One matrix (a
 * command, the loader): in the active bank, in the row's other copy. In both cases a reading is
 * transformed with the complete old or the complete new matrix.
 *
 * Matrices set by a command or the loader are marked (BP_TRANSFORM_SET, _ADDED) and copied to the
 * next bank, so they persist across a reload and a restart of the control plane.
 */

struct bp_transform_head {
	_Atomic uint64_t active;   /* shm/generation.h */
	_Atomic uint32_t next_uid; /* CP: of sources */
	/* CP: matrices that a command or the loader has set, and those that were refused */
	_Atomic uint64_t set, refused;
};

struct bp_transform_readers {
	/* worker w: the value of `active` that it uses */
	_Atomic uint64_t seen[BP_MAX_WORKERS] __attribute__((aligned(64)));
};

/*
 * A receiver of a source. There are two matrices. The writer fills the one that is not in use and
 * then publishes it with one store: a reader never waits, even if the writer dies in between. They
 * are doubles, because the precision of floats is not sufficient for micrometres.
 */
struct bp_transform_row {
	_Atomic uint64_t state; /* times set << 8 | flags (BP_TRANSFORM_*, the rule's `otherwise`
				 * filled in); bit 8 says which matrix */
	uint8_t address[16];
	uint8_t mac[6];
	uint16_t udp;
	_Atomic uint64_t m[2][12]; /* doubles, bit by bit; column by column */
	uint8_t family;
	uint8_t pad[31];
} __attribute__((aligned(128)));

#define BP_TRANSFORM_GONE 0x80u /* not to be taken over into the next bank */
struct bp_transform_source_row {
	uint8_t address[16];
	uint8_t family, length, rule;
	uint8_t flags;     /* BP_TRANSFORM_ADDED, BP_TRANSFORM_GONE; the writer's alone */
	uint32_t uid;      /* the same for the same source of the same rule, over banks */
	uint32_t first, n; /* rows */
} __attribute__((aligned(32)));

struct bp_transform_rule_row {
	struct bp_transform_rule rule;
	/* the row that readings of unknown sources get: without a matrix, its place the identity */
	uint32_t otherwise;
	/* Different prefix lengths among its sources, longest first; [0] of IPv4, [1] of IPv6. May
	 * grow while the bank is active, from the end: a reader that reloads the number for each
	 * length misses none that existed before, and in the worst case tries one twice. */
	_Atomic uint8_t n_lengths[2];
	_Atomic uint8_t length[2][BP_TRANSFORM_LENGTHS_MAX];
};

/* 0: free; else hash (upper 32 bits) and source number + 1. Never moved while the bank is active,
 * and stored after the entry that it refers to. */
typedef _Atomic uint64_t bp_transform_slot;
#define BP_TRANSFORM_WAYS                                                                          \
	8u /* slots of a bucket: a cache line; a full one overflows into the next */

/* Maximum number of buckets that a lookup reads: no valid bank has more consecutive full ones. */
#define BP_TRANSFORM_PROBES 64u

/* A bank begins with this; the arrays follow at offsets that depend on the capacity alone. */
struct bp_transform_bank {
	uint64_t generation; /* 0: empty */
	uint64_t ports;      /* bp_config_ports_key(): a worker with other ports does not use it */
	uint64_t loaded_ns;  /* Unix time */
	uint32_t n_rules, sources, rows; /* rows: those of `otherwise` included */
	_Atomic uint32_t n_sources,
		n_rows;   /* may grow while the bank is active; never beyond the two before */
	uint32_t buckets; /* a power of two */
	uint32_t pad;
	uint64_t key;           /* of the hash */
	uint32_t taken, missed; /* matrices and sources that were set: taken over from the bank
				 * before, and not, since their rule or receiver went */
	struct bp_transform_rule_row rule[BP_TRANSFORM_RULES_MAX];
} __attribute__((aligned(128)));

struct bp_transform_rule_stats {
	_Atomic uint64_t readings;  /* transformed, each once */
	_Atomic uint64_t sent;      /* datagrams to receivers */
	_Atomic uint64_t bare;      /* without a matrix */
	_Atomic uint64_t saturated; /* datagrams with a result that was */
	_Atomic uint64_t refused;   /* readings dropped: their numbers, checksum, length */
	_Atomic uint64_t overflow;  /* datagrams dropped: drop_overflow */
	_Atomic uint64_t unknown;   /* readings dropped: no source */
	_Atomic uint64_t no_mbuf;   /* datagrams not made */
} __attribute__((aligned(64)));

struct bp_transform_source_stats {
	_Atomic uint64_t uid; /* uid of the source that these statistics belong to; another uid: no
				 statistics yet */
	_Atomic uint64_t readings, saturated,
		refused; /* refused: because of the input numbers, or overflow */
} __attribute__((aligned(32)));

struct bp_transform_tables {
	struct bp_transform_head *head; /* NULL: no section transform */
	struct bp_generation generation;
	struct bp_transform_rule_stats *rule_stats;
	struct bp_transform_source_stats *source_stats;
	uint32_t matrices; /* capacity: rows, without those of `otherwise`, and as many sources */
};

static inline struct bp_transform_bank *bp_transform_bank_at(
	const struct bp_transform_tables *t, uint64_t active)
{
	return (struct bp_transform_bank *)bp_generation_bank(&t->generation, active);
}

/* Offsets of the arrays from the bank's beginning, of a bank with that capacity. */
struct bp_transform_places {
	uint64_t rows, sources, slots, size;
	uint32_t buckets;
};
struct bp_transform_places bp_transform_places(uint32_t matrices);

/* One pointer each, for frequent lookups. */
struct bp_transform_view {
	const struct bp_transform_bank *bank; /* NULL: no active bank */
	struct bp_transform_row *row;
	struct bp_transform_source_row *source;
	bp_transform_slot *slot;
	/* Limits of a lookup, from the capacity and not from the bank's own fields; and a copy of
	 * the hash key. */
	uint32_t bucket_mask, sources, rows;
	uint64_t key;
};
struct bp_transform_view bp_transform_view_of(const struct bp_transform_tables *t, uint64_t active);
/* For a bank of that capacity at any address. */
struct bp_transform_view bp_transform_view_at(
	const struct bp_transform_bank *bank, uint32_t matrices);

/* A hash of the names of the ports, in their order. */
/* An address, or prefix, as two words: bytes beyond an IPv4 address and bits beyond the length 0.
 */
static inline uint64_t bp_transform_hash(
	uint64_t key, unsigned rule, unsigned family, unsigned length, const uint64_t word[2])
{
	uint64_t h = key ^ (word[0] * 0x9e3779b97f4a7c15u) ^
		     ((uint64_t)(rule << 16 | family << 8 | length) * 0xc2b2ae3d27d4eb4fu);

	h ^= h >> 32;
	h = (h + word[1]) * 0xd6e8feb86659fd93u;
	h ^= h >> 29;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* The address's first `length` bits as bp_transform_hash() takes them. */
static inline void bp_transform_words(
	unsigned family, unsigned length, const uint8_t *address, uint64_t word[2])
{
	const unsigned high = length < 64 ? length : 64, low = length - high;

	word[0] = word[1] = 0;
	memcpy(word, address, family == 4 ? 4 : 16);
	word[0] &= high == 0 ? 0 : htobe64(UINT64_MAX << (64 - high));
	word[1] &= low == 0 ? 0 : htobe64(UINT64_MAX << (64 - low));
}

/* The bucket in which the search for a hash begins: to be fetched ahead. */
static inline const bp_transform_slot *bp_transform_bucket(
	const struct bp_transform_view *v, uint64_t hash)
{
	return v->slot + (size_t)((uint32_t)hash & v->bucket_mask) * BP_TRANSFORM_WAYS;
}

/* Sets all bits of the lanes whose slots, of four, have this upper half. */
static inline bp_v16 bp_transform_slots_with(const bp_transform_slot *s, bp_v4 upper)
{
	enum { UPPER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ }; /* of two words of four bytes */
	uint64_t w[4];

#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		w[i] = atomic_load_explicit(&s[i], memory_order_relaxed);
	return (bp_v16)(__builtin_shufflevector((bp_v4)bp_v16_of64(w[0], w[1]),
				(bp_v4)bp_v16_of64(w[2], w[3]), UPPER, UPPER + 2, UPPER + 4,
				UPPER + 6) == upper);
}

/*
 * For a lookup of many: a source in the first bucket of the hash that may match, or UINT32_MAX. The
 * caller compares it. The position in the bucket causes no branch, since the processor would
 * mispredict half of them.
 */
static inline uint32_t bp_transform_candidate(const struct bp_transform_view *v, uint64_t hash)
{
	const bp_transform_slot *s = bp_transform_bucket(v, hash);
	const bp_v4 upper = (bp_v4){0} + (uint32_t)(hash >> 32);
	uint64_t hits; /* four bits of each slot */
	uint32_t source;

	hits = bp_v16_mask(bp_transform_slots_with(s, upper));
	hits |= (uint64_t)bp_v16_mask(bp_transform_slots_with(s + 4, upper)) << 16;
	/* without a match the first entry */
	source = (uint32_t)atomic_load_explicit(
			 &s[__builtin_ctzll(hits | (uint64_t)1 << 32) / 4 % BP_TRANSFORM_WAYS],
			 memory_order_acquire) -
		 1;
	return source < v->sources ? source : UINT32_MAX;
}

/*
 * The source of that exact prefix, or UINT32_MAX. `hash`: the hash of the prefix.
 * bp_transform_lookup() calls this for every prefix length of the rule, longest first, until a
 * source is found.
 */
static inline uint32_t bp_transform_lookup_one(const struct bp_transform_view *v, uint64_t hash,
	unsigned rule, unsigned family, unsigned length, const uint64_t word[2])
{
	const uint32_t mask = v->bucket_mask;
	uint32_t b = (uint32_t)hash & mask;

	for (uint32_t tried = 0; tried <= mask && tried < BP_TRANSFORM_PROBES;
		tried++, b = (b + 1) & mask) {
		const bp_transform_slot *s = v->slot + (size_t)b * BP_TRANSFORM_WAYS;

		for (unsigned i = 0; i < BP_TRANSFORM_WAYS; i++) {
			const uint64_t e = atomic_load_explicit(&s[i], memory_order_acquire);
			const struct bp_transform_source_row *r;

			if (e == 0)
				return UINT32_MAX;
			if ((uint32_t)(e >> 32) != (uint32_t)(hash >> 32))
				continue;
			if ((uint32_t)e - 1 >= v->sources) /* damaged */
				continue;
			r = v->source + (uint32_t)e - 1;
			if (memcmp(r->address, word, 16) == 0 && r->family == family &&
				r->length == length && r->rule == rule)
				return (uint32_t)e - 1;
		}
	}
	return UINT32_MAX;
}

/* The source of exactly that prefix, or UINT32_MAX. */
uint32_t bp_transform_find(
	const struct bp_transform_view *v, unsigned rule, const struct bp_prefix *p);

/* The source of the longest prefix that holds the address, or UINT32_MAX. */
uint32_t bp_transform_lookup(
	const struct bp_transform_view *v, unsigned rule, unsigned family, const uint8_t *address);

/* Copies a row's matrix as it is at one moment; returns `state` then: while that stays, so does the
 * matrix. */
static inline uint64_t bp_transform_row_read(const struct bp_transform_row *r, double m[12])
{
	uint64_t state = atomic_load_explicit(&r->state, memory_order_acquire);

	/* bounded: a matrix that changes at every attempt was set by no writer */
	for (unsigned tries = 0;; tries++) {
		const uint64_t before = state;

		for (unsigned i = 0; i < 12; i++) {
			const uint64_t word = atomic_load_explicit(
				&r->m[before >> 8 & 1][i], memory_order_relaxed);

			memcpy(&m[i], &word, sizeof(word));
		}
		/* Set once meanwhile: the other one was written. Twice: this one may have been. */
		atomic_thread_fence(memory_order_acquire);
		state = atomic_load_explicit(&r->state, memory_order_acquire);
		if (state == before || tries == 1000)
			return state;
	}
}

#endif
