/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_STREAMS_H
#define BP_SERVICES_AGGREGATION_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "biplane/aggregation.h"
#include "proto/aggregation/agg_full.h"
#include "proto/net/ip.h"
#include "shm/aggregation/agg.h"
#include "proto/net/vec16.h"
#include "shm/hash.h"

/*
 * The streams of one worker: a bounded number of slots, a hash table that finds a stream by its
 * key, and lists. A stream is on one list: the list of its rule while an aggregate of it is being
 * built (in the order in which the aggregates began, which is the order of their deadlines, since a
 * rule has one delay), else the list of idle streams in the order in which they became idle; slots
 * that never held a stream come first.
 *
 * A message needs one or two cache lines of a stream. Slots and links are in separate arrays that
 * stay in the cache, so that neither finding nor moving a stream touches the lines of another one.
 */

#define BP_AGG_NO_STREAM UINT32_MAX
#define BP_AGG_STREAMS_MOST (1u << 20)

/*
 * The key of a stream: [0], [1] destination address as in bp_agg_match_words(); [2] VLAN tags in
 * frame order; [3] by bp_agg_key_last().
 */
struct bp_agg_key {
	uint64_t word[4];
};

static inline uint64_t bp_agg_key_last(unsigned udp, unsigned rule, unsigned tos, unsigned family,
	bool dont_fragment, unsigned tags)
{
	return udp | rule << 16 | (uint64_t)tos << 24 | (uint64_t)family << 32 |
	       (uint64_t)dont_fragment << 36 | (uint64_t)tags << 37;
}

static inline unsigned bp_agg_key_udp(const struct bp_agg_key *k)
{
	return k->word[3] & 0xffff;
}

static inline unsigned bp_agg_key_rule(const struct bp_agg_key *k)
{
	return k->word[3] >> 16 & 0xff;
}

static inline unsigned bp_agg_key_tos(const struct bp_agg_key *k)
{
	return k->word[3] >> 24 & 0xff;
}

static inline bool bp_agg_key_dont_fragment(const struct bp_agg_key *k)
{
	return (k->word[3] >> 36 & 1) != 0;
}

/* The key of the stream that differs only in Don't Fragment. */
static inline struct bp_agg_key bp_agg_key_twin(const struct bp_agg_key *k)
{
	struct bp_agg_key twin = *k;

	twin.word[3] ^= (uint64_t)1 << 36;
	return twin;
}

static inline unsigned bp_agg_key_family(const struct bp_agg_key *k)
{
	return k->word[3] >> 32 & 0xf;
}

/* VLAN tags, 4 bytes each. */
static inline unsigned bp_agg_key_tags(const struct bp_agg_key *k)
{
	return (unsigned)(k->word[3] >> 37);
}

static inline bool bp_agg_key_same(const struct bp_agg_key *a, const struct bp_agg_key *b)
{
	return ((a->word[0] ^ b->word[0]) | (a->word[1] ^ b->word[1]) | (a->word[2] ^ b->word[2]) |
		       (a->word[3] ^ b->word[3])) == 0;
}

/*
 * The key of an IPv4 stream without tags in one word, and 0 of any other: the destination address
 * in memory order; 15 bits by bp_agg_key4_rest(); its port, network byte order, in the upper 16. In
 * a frame, address and port are in one word in this layout.
 */
#define BP_AGG_KEY4_FRAME 0xffff0000ffffffffu /* the part of the key in the frame's word */
_Static_assert(BP_AGG_RULES_MAX <= 32, "five bits");

static inline uint64_t bp_agg_key4_rest(unsigned rule, unsigned tos, bool dont_fragment)
{
	return (uint64_t)(rule | tos << 5 | (unsigned)dont_fragment << 13 | 1u << 14) << 32;
}

static inline uint64_t bp_agg_key4(const struct bp_agg_key *k)
{
	if (bp_agg_key_family(k) != 4 || bp_agg_key_tags(k) != 0)
		return 0;
	return k->word[0] | (uint64_t)__builtin_bswap16((uint16_t)bp_agg_key_udp(k)) << 48 |
	       bp_agg_key4_rest(bp_agg_key_rule(k), bp_agg_key_tos(k), bp_agg_key_dont_fragment(k));
}

static inline unsigned bp_agg_key4_rule(uint64_t key4)
{
	return key4 >> 32 & 31;
}

static inline unsigned bp_agg_key4_tos(uint64_t key4)
{
	return key4 >> 37 & 0xff;
}

static inline bool bp_agg_key4_dont_fragment(uint64_t key4)
{
	return (key4 >> 45 & 1) != 0;
}

/* The port, host byte order. */
static inline unsigned bp_agg_key4_udp(uint64_t key4)
{
	return __builtin_bswap16((uint16_t)(key4 >> 48));
}

/* The key whose word this is. */
static inline struct bp_agg_key bp_agg_key4_expand(uint64_t key4)
{
	return (struct bp_agg_key){{(uint32_t)key4, 0, 0,
		bp_agg_key_last(bp_agg_key4_udp(key4), bp_agg_key4_rule(key4),
			bp_agg_key4_tos(key4), 4, bp_agg_key4_dont_fragment(key4), 0)}};
}

/* A message of IPv4 without tags that goes into an aggregate touches the first line alone. */
struct bp_agg_stream {
	uint64_t key4;       /* bp_agg_key4() of the key */
	uint64_t sum;        /* bp_sum() of its payloads, as if they began at an even byte */
	uint64_t arrived_ns; /* sum of the arrival times of its messages, ns */
	uint8_t target[6];   /* destination MAC address of the aggregate */
	/* the aggregate; count 0: there is none. Format lin2018 uses its buf, front, count, most
	 * and the last message's sender. */
	struct bp_agg_full_writer writer;
	void *buffer;      /* NULL: there is no aggregate */
	uint64_t began_ns; /* arrival time of its first message */
	uint32_t more; /* sum of the frame lengths of its messages beyond bp_agg_min_len(), bytes */
	struct bp_agg_key key;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_agg_stream) == 128, "two cache lines");
_Static_assert(offsetof(struct bp_agg_stream, writer.last_addr) + 4 <= 64, "all of IPv4 in one");

/* ---- staged messages ---- */

/*
 * A staging area for messages whose stream has no aggregate buffer yet. With many streams that each
 * receive a message now and then, no stream stays in the CPU caches, and adding a message to an
 * aggregate waits for about four of its cache lines. Staging touches two: the stream's entry in a
 * small array, and the record that was freed last, which is still cached. All staged messages are
 * written to an aggregate when it is sent, into the buffer that was sent last.
 *
 * Only for short IPv4 messages without VLAN tags, in the full format. Single-threaded.
 */

#define BP_AGG_STAGE_MOST 8u     /* messages of a stream */
#define BP_AGG_STAGE_PAYLOAD 36u /* bytes of a message */

/* A message: 64 bytes of its frame from the IP header on. TTL, source, port and payload stay in
 * place, and the additional fields replace the fields that all messages of a stream have in
 * common. */
struct bp_agg_record {
	uint64_t arrived_ns;
	uint8_t hops, len; /* len: of the payload */
	uint16_t more;     /* frame length beyond bp_agg_min_len(), bytes */
	uint8_t src[4]; /* from here on as proto/aggregation/agg_full_same_template.h wants it: the
			   port is at 8 */
	uint32_t sum;   /* of the payload, as bp_sum(): 18 words at most */
	uint8_t sport[2], mac[6];
	uint8_t payload[BP_AGG_STAGE_PAYLOAD];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_agg_record) == 64, "a line");
_Static_assert(offsetof(struct bp_agg_record, hops) == BP_IP4_TTL &&
		       offsetof(struct bp_agg_record, src) == BP_IP4_SRC &&
		       offsetof(struct bp_agg_record, sport) == BP_IP4_HDR &&
		       offsetof(struct bp_agg_record, payload) == BP_IP4_HDR + 8u,
	"as in the frame");

/* The part of a stream that changes while it has no aggregate. */
struct bp_agg_staged {
	uint64_t key4; /* bp_agg_key4() of its key */
	/* Destination MAC address of all, messages << 48, and BP_AGG_STAGE_NONE where it has an
	 * aggregate, and nothing can be staged. */
	uint64_t state;
	uint32_t record[BP_AGG_STAGE_MOST]; /* positions, in order of arrival */
	/* what all its aggregates have, of any stream: format full's numbers */
	uint32_t sequence;
	uint16_t number;
	/* for IPv4, the sender of its first message */
	uint16_t sport; /* host byte order */
	uint8_t src[4];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_agg_staged) == 64, "a line");
#define BP_AGG_STAGE_ONE (1ull << 48)
#define BP_AGG_STAGE_NONE (1ull << 63)

/* Messages of a stream that are staged. */
static inline unsigned bp_agg_staged_count(const struct bp_agg_staged *g)
{
	return g->state >> 48 & 0xff;
}

struct bp_agg_stage {
	struct bp_agg_record *record;
	/* [0..n): positions of free records, byte offsets from the first record; the last one was
	 * freed last. BP_AGG_STAGE_MOST more entries follow */
	uint32_t *unused;
	uint32_t n, size;
};

static inline struct bp_agg_record *bp_agg_record_at(const struct bp_agg_stage *s, uint32_t place)
{
	return (struct bp_agg_record *)(void *)((uint8_t *)s->record + place);
}

/* ---- all streams ---- */

/* Fields that are needed only when an aggregate is sent. */
struct bp_agg_stream_rest {
	uint8_t src[16]; /* of the stream's first message */
	uint16_t sport;  /* host byte order */
	uint32_t hash;   /* of the key */
};

/* Minimum length of a frame with `payload` bytes of UDP payload, bytes. */
static inline uint32_t bp_agg_min_len(uint32_t payload)
{
	return BP_ETHER_HDR + BP_IP4_HDR + 8u + payload;
}

struct bp_agg_link {
	uint32_t before, behind;
};

/* Number of bits of a slot that hold the stream; the others are hash bits that do not depend on the
 * slot's position. */
#define BP_AGG_SLOT_TAG 21u
_Static_assert(BP_AGG_STREAMS_MOST < 1u << BP_AGG_SLOT_TAG, "every stream + 1 fits");

struct bp_agg_streams {
	/* upper bits of the hash << BP_AGG_SLOT_TAG | stream + 1; 0: free. Linear probing, at most
	 * half full. Three free slots follow the last one, so that four can be read at a time */
	uint32_t *slot;
	/* stream[-1] is none: it has no key and no aggregate, and is never written */
	struct bp_agg_stream *stream;
	struct bp_agg_staged *staged; /* of the streams; likewise */
	struct bp_agg_stage stage;
	struct bp_agg_stream_rest *rest;
	struct bp_agg_link *link; /* of the streams, and behind them the lists' heads */
	struct bp_agg_stream_row *row;
	uint64_t hash_key[2];
	uint64_t lives;
	uint32_t size; /* streams */
	uint32_t used; /* stream[0..used) hold one */
	uint32_t slot_mask;
};

/* False: no memory, or more than BP_AGG_STREAMS_MOST. `row`: `size` of them, the caller's. */
bool bp_agg_streams_init(struct bp_agg_streams *t, uint32_t size, struct bp_agg_stream_row *row,
	const uint64_t hash_key[2]);
void bp_agg_streams_free(struct bp_agg_streams *t);
/* Forgets all streams and frees their rows. */
void bp_agg_streams_clear(struct bp_agg_streams *t);

#define BP_AGG_HASH_FACTOR 0x9e3779b97f4a7c15u

/* The hash of a key that has bp_agg_key4(). Consecutive addresses need the second round: after one,
 * their hashes are adjacent. */
static inline uint32_t bp_agg_streams_hash4(const struct bp_agg_streams *t, uint64_t key4)
{
	uint64_t h = (key4 ^ t->hash_key[0]) * BP_AGG_HASH_FACTOR;

	h = (h ^ h >> 32) * t->hash_key[1];
	return (uint32_t)(h >> 32);
}

static inline uint32_t bp_agg_streams_hash(
	const struct bp_agg_streams *t, const struct bp_agg_key *k)
{
	const uint64_t key4 = bp_agg_key4(k);
	uint64_t h;

	if (key4 != 0)
		return bp_agg_streams_hash4(t, key4);
	h = bp_fold(k->word[0] ^ t->hash_key[0], k->word[1] ^ t->hash_key[1]) ^ k->word[2];
	return (uint32_t)bp_fold(h ^ 0xa0761d6478bd642full, k->word[3] ^ t->hash_key[1]);
}

static inline void bp_agg_streams_prefetch_slot(const struct bp_agg_streams *t, uint32_t hash)
{
	__builtin_prefetch(&t->slot[hash & t->slot_mask]);
}

/* The stream + 1; 0 of one that is free. */
static inline uint32_t bp_agg_slot_row(uint32_t slot)
{
	return slot & ((1u << BP_AGG_SLOT_TAG) - 1);
}

static inline uint32_t bp_agg_slot_stream(uint32_t slot)
{
	return bp_agg_slot_row(slot) - 1;
}

/* Whether a slot that is not free may be of a key with that hash. */
static inline bool bp_agg_slot_may(uint32_t slot, uint32_t hash)
{
	return (slot ^ hash) >> BP_AGG_SLOT_TAG == 0;
}

/* bp_agg_streams_predict() from slot `i` on. */
struct bp_agg_stream *bp_agg_streams_predict_from(
	const struct bp_agg_streams *t, uint32_t hash, uint32_t i);

/*
 * Predicts the stream of that hash without reading a stream. The result is rarely another stream
 * than the one searched for; no stream: stream[-1]. The offset of a stream from its own slot is
 * unpredictable, so the first four slots are compared together.
 */
static inline struct bp_agg_stream *bp_agg_streams_predict(
	const struct bp_agg_streams *t, uint32_t hash)
{
	const uint32_t i = hash & t->slot_mask;
	const bp_v4 slot = (bp_v4)bp_v16_load((const uint8_t *)&t->slot[i]);
	const uint32_t may = bp_v16_mask((bp_v16)(((slot ^ hash) >> BP_AGG_SLOT_TAG) == 0));

	if (__builtin_expect(may == 0, 0))
		return bp_agg_streams_predict_from(t, hash, i);
	return &t->stream[-1] +
	       bp_agg_slot_row(t->slot[i + (uint32_t)__builtin_ctz(may) / sizeof(*t->slot)]);
}

/* As above, for staged messages. `at`: the first of four slots; `may`: `bits` bits for each of
 * them, all ones where the slot may be that of the stream. */
static inline struct bp_agg_staged *bp_agg_streams_predict_staged(
	const struct bp_agg_streams *t, uint32_t hash, uint32_t at, uint32_t may, unsigned bits)
{
	if (__builtin_expect(may == 0, 0))
		return &t->staged[bp_agg_streams_predict_from(t, hash, at) - t->stream];
	return &t->staged[-1] + bp_agg_slot_row(t->slot[at + (uint32_t)__builtin_ctz(may) / bits]);
}

/* The stream, or BP_AGG_NO_STREAM. */
uint32_t bp_agg_streams_find(
	const struct bp_agg_streams *t, const struct bp_agg_key *k, uint32_t hash);

/* A slot that has never held a stream, or else the idle one that left longest ago; or
 * BP_AGG_NO_STREAM: none is idle. */
uint32_t bp_agg_streams_idle(const struct bp_agg_streams *t);
/* Whether a slot holds a stream, which bp_agg_streams_begin() would evict. */
static inline bool bp_agg_streams_in_use(const struct bp_agg_streams *t, uint32_t stream)
{
	return stream < t->used;
}

/*
 * Begins a stream in slot `stream`, which must be idle; its old stream is discarded. Writes only
 * the key, the numbers and the row.
 */
void bp_agg_streams_begin(struct bp_agg_streams *t, uint32_t stream, const struct bp_agg_key *k,
	uint32_t hash, uint16_t number, uint32_t sequence);

/* The lists: one of each rule, and the idle ones. */
#define BP_AGG_LISTS (BP_AGG_RULES_MAX + 1u)
#define BP_AGG_LIST_IDLE BP_AGG_RULES_MAX

/* The first of a list, or BP_AGG_NO_STREAM. */
static inline uint32_t bp_agg_streams_first(const struct bp_agg_streams *t, unsigned list)
{
	const uint32_t i = t->link[t->size + list].behind;

	return i < t->size ? i : BP_AGG_NO_STREAM;
}

#define BP_AGG_MOVE_AHEAD 4u /* prefetch distance while streams are moved, streams */

/* Moves streams, each of which is on another list, to the end of this one, in that order. */
static inline void bp_agg_streams_move_all(
	struct bp_agg_streams *t, const uint32_t *stream, unsigned n, unsigned list)
{
	struct bp_agg_link *const l = t->link;
	const uint32_t head = t->size + list;
	uint32_t last = l[head].before;

	for (unsigned i = 0; i < n; i++) {
		struct bp_agg_link *const me = &l[stream[i]];

		if (i + BP_AGG_MOVE_AHEAD < n) {
			const struct bp_agg_link *next = &l[stream[i + BP_AGG_MOVE_AHEAD]];

			__builtin_prefetch(&l[next->before], 1);
			__builtin_prefetch(&l[next->behind], 1);
		}
		l[me->before].behind = me->behind;
		l[me->behind].before = me->before;
		me->before = last;
		l[last].behind = stream[i];
		last = stream[i];
	}
	l[last].behind = head;
	l[head].before = last;
}

/* Moves a stream to the end of a list. */
static inline void bp_agg_streams_move(struct bp_agg_streams *t, uint32_t stream, unsigned list)
{
	struct bp_agg_link *const l = t->link, *const me = &l[stream];
	const uint32_t head = t->size + list;

	if (l[head].before == stream)
		return; /* there it is */
	l[me->before].behind = me->behind;
	l[me->behind].before = me->before;
	me->before = l[head].before;
	me->behind = head;
	l[me->before].behind = stream;
	l[head].before = stream;
}

#endif
