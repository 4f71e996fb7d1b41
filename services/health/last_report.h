/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_LAST_REPORT_H
#define BP_SERVICES_HEALTH_LAST_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/cas128.h"
#include "shm/hash.h"
#include "shm/health/phd.h"

/*
 * Detection of repeated reports, and the record of which parts of a report are stored: the words
 * bp_phd_session.last and .sent. Workers and the slow path share this one definition, so that a
 * report on one path and its repetition on the other are recognised as the same report. This header
 * contains only arithmetic; the callers that load and store the words define the memory order.
 *
 *   last   invoke-id 16 | report number 16 | open 32
 *   sent   number 32 | hash 16 | time 16
 *
 * number: the number of the report's first (port, MID), bp_phd_pair() of shm/health/phd_ids.h, or
 * one of the two values below, which mean that there is none. hash: bp_phd_report_hash(). time:
 * CLOCK_MONOTONIC / 4 s. `sent` 0: there is no report.
 */

/* No (port, MID) can be reused: the open parts are sent again with new ids. This is so after an
 * error response of the CSE, which would only repeat its response to an old id, and for reports
 * that the slow path sent. */
#define BP_PHD_SENT_NONE 0xffffffffu
/* As above, for a report of more than 32 parts: its open word has another format, and a worker has
 * no bit to clear in it. */
#define BP_PHD_SENT_MANY 0xfffffffeu

#define BP_PHD_REPEAT_UNIT_S 4u

#define BP_PHD_HASH_END UINT32_MAX /* number of the last piece */

/*
 * The key of the digests of reports: not secret, and the same in all gateways, so that a gateway of
 * a fleet recognises the repetition of a report that another one stored. A device that constructs
 * two reports with the same digest affects only its own second report.
 */
static const uint64_t bp_phd_report_key[2] = {0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull};

/*
 * A 16-bit digest of all bytes of an APDU. The UDP checksum is unsuitable: it does not change where
 * one value increases by one and another decreases by one. bp_hash_bytes() is unsuitable for
 * reports, because each of its steps depends on the previous one; here the products are
 * independent, and each position has its own keys.
 */
struct bp_phd_hash_key {
	uint64_t k[2];
};
static inline struct bp_phd_hash_key bp_phd_hash_key_at(const uint64_t key[2], uint64_t i)
{
	return (struct bp_phd_hash_key){
		{key[0] + i * 0x9e3779b97f4a7c15ull, key[1] - i * 0x8ebc6af09c88c6e3ull}};
}
static inline uint64_t bp_phd_hash_piece(const struct bp_phd_hash_key *key, const uint8_t *p)
{
	return bp_fold(bp_load64(p) ^ key->k[0], bp_load64(p + 8) ^ key->k[1]);
}
static inline uint64_t bp_phd_hash_at(const uint64_t key[2], const uint8_t *p, uint64_t i)
{
	const struct bp_phd_hash_key at = bp_phd_hash_key_at(key, i);

	return bp_phd_hash_piece(&at, p);
}
static inline uint16_t bp_phd_hash_end(uint64_t h, uint64_t last_key)
{
	return (uint16_t)(bp_fold(h ^ 0xa0761d6478bd642full, last_key) >> 16);
}
static inline uint64_t bp_phd_hash_last_key(const uint64_t key[2])
{
	return key[0] ^ 0xe7037ed1a0b428dbull;
}
static inline uint16_t bp_phd_report_hash(const uint64_t key[2], const uint8_t *apdu, size_t len)
{
	uint64_t h = len;

	if (len < 32)
		return (uint16_t)bp_hash_bytes(key, apdu, len);
	h += bp_phd_hash_at(key, apdu, 0) + bp_phd_hash_at(key, apdu + 16, 1);
	for (size_t i = 2; i * 16 + 16 < len; i++)
		h += bp_phd_hash_at(key, apdu + i * 16, i);
	/* some of the last ones a second time */
	h += bp_phd_hash_at(key, apdu + len - 16, BP_PHD_HASH_END);
	return bp_phd_hash_end(h, bp_phd_hash_last_key(key));
}

/* As above, for a caller that computes many digests of APDUs with these lengths, bytes: the keys of
 * all positions are computed in advance. */
#define BP_PHD_HASH_SHORT_MIN 32u
#define BP_PHD_HASH_SHORT 64u
struct bp_phd_hash_keys {
	struct bp_phd_hash_key at[BP_PHD_HASH_SHORT / 16 - 1], end;
	uint64_t last;
};

static inline void bp_phd_hash_keys_init(struct bp_phd_hash_keys *k, const uint64_t key[2])
{
	for (unsigned i = 0; i < BP_PHD_HASH_SHORT / 16 - 1; i++)
		k->at[i] = bp_phd_hash_key_at(key, i);
	k->end = bp_phd_hash_key_at(key, BP_PHD_HASH_END);
	k->last = bp_phd_hash_last_key(key);
}
static inline uint16_t bp_phd_report_hash_short(
	const struct bp_phd_hash_keys *k, const uint8_t *apdu, size_t len)
{
	uint64_t h = len;

	h += bp_phd_hash_piece(&k->at[0], apdu) + bp_phd_hash_piece(&k->at[1], apdu + 16);
	if (len > 48)
		h += bp_phd_hash_piece(&k->at[2], apdu + 32);
	h += bp_phd_hash_piece(&k->end, apdu + len - 16);
	return bp_phd_hash_end(h, k->last);
}

/* ---- last ---- */

static inline uint64_t bp_phd_last_pack(uint16_t invoke_id, uint16_t report_no, uint32_t open)
{
	return (uint64_t)invoke_id << 48 | (uint64_t)report_no << 32 | open;
}
static inline uint16_t bp_phd_last_invoke_id(uint64_t last)
{
	return (uint16_t)(last >> 48);
}
static inline uint16_t bp_phd_last_report_no(uint64_t last)
{
	return (uint16_t)(last >> 32);
}
/* The parts that are not stored yet; 0: all are stored. */
static inline uint32_t bp_phd_last_open(uint64_t last)
{
	return (uint32_t)last;
}
static inline uint64_t bp_phd_last_with_open(uint64_t last, uint32_t open)
{
	return (last & ~(uint64_t)UINT32_MAX) | open;
}

/* ---- sent ---- */

static inline uint16_t bp_phd_sent_time(uint64_t mono_ns)
{
	return (uint16_t)(mono_ns / (BP_PHD_REPEAT_UNIT_S * 1000000000ull));
}
/* `time`: bp_phd_sent_time(). */
static inline uint64_t bp_phd_sent_at(uint32_t number, uint16_t hash, uint16_t time)
{
	return (uint64_t)number << 32 | (uint64_t)hash << 16 | time;
}
static inline uint64_t bp_phd_sent_pack(uint32_t number, uint16_t hash, uint64_t mono_ns)
{
	return bp_phd_sent_at(number, hash, bp_phd_sent_time(mono_ns));
}
static inline uint32_t bp_phd_sent_number(uint64_t sent)
{
	return (uint32_t)(sent >> 32);
}
static inline uint16_t bp_phd_sent_hash(uint64_t sent)
{
	return (uint16_t)(sent >> 16);
}
/* Whether its number is of a (port, MID), so that the same requests can be sent once more. */
static inline bool bp_phd_sent_has_number(uint64_t sent)
{
	return bp_phd_sent_number(sent) < BP_PHD_SENT_MANY;
}
/* After an error of the CSE: the report is still known, its numbers are not used again. */
static inline uint64_t bp_phd_sent_after_error(uint64_t sent)
{
	const uint64_t none = (uint64_t)BP_PHD_SENT_NONE << 32;

	return bp_phd_sent_has_number(sent) && sent != 0 ? sent | none : sent;
}

/* Time since the time in `sent`, in units of BP_PHD_REPEAT_UNIT_S; valid up to three days. */
static inline uint16_t bp_phd_sent_age(uint64_t sent, uint64_t mono_ns)
{
	return (uint16_t)(bp_phd_sent_time(mono_ns) - (uint16_t)sent);
}
#define BP_PHD_REPEAT_AGE (BP_PHD_ID_LIFETIME_S / BP_PHD_REPEAT_UNIT_S)

/*
 * Whether a report is the one that the words describe: the same numbers and digest, and at most 247
 * s (EXCHANGE_LIFETIME) after the time in `sent`, rounded down to the resolution of the words.
 */
static inline bool bp_phd_is_repeat(uint64_t last, uint64_t sent, uint16_t invoke_id,
	uint16_t report_no, uint16_t hash, uint64_t mono_ns)
{
	return sent != 0 && last >> 32 == bp_phd_last_pack(invoke_id, report_no, 0) >> 32 &&
	       bp_phd_sent_hash(sent) == hash && bp_phd_sent_age(sent, mono_ns) < BP_PHD_REPEAT_AGE;
}

/* ---- the open word ---- */

/*
 * Up to 32 parts: one bit for each part that is not stored. More than 32 parts: bits 0..8 hold the
 * number of parts from the first open one to the end, and each bit above says for one of the 23
 * parts after it whether it is stored. A part more than 23 after the first open part cannot be
 * recorded as stored; a caller that cannot rely on names delays sending it. In both formats 0 means
 * that all parts are stored.
 */
#define BP_PHD_OPEN_PARTS 32u
#define BP_PHD_OPEN_LEFT_BITS 9u
#define BP_PHD_OPEN_BEHIND (32u - BP_PHD_OPEN_LEFT_BITS)
#define BP_PHD_OPEN_LEFT ((1u << BP_PHD_OPEN_LEFT_BITS) - 1)

/* No part is stored. parts: 1 to 256. */
static inline uint32_t bp_phd_open_begin(unsigned parts)
{
	if (parts > BP_PHD_OPEN_PARTS)
		return parts;
	return parts == 32 ? UINT32_MAX : (1u << parts) - 1;
}

/* The first open part of more than 32; `parts` when all are stored, or the word is invalid for
 * `parts`. */
static inline unsigned bp_phd_open_first(uint32_t open, unsigned parts)
{
	const unsigned left = open & BP_PHD_OPEN_LEFT;

	return left <= parts ? parts - left : parts;
}

/* The first part that cannot be recorded yet. */
static inline unsigned bp_phd_open_end(uint32_t open, unsigned parts)
{
	const unsigned first = bp_phd_open_first(open, parts);

	if (parts <= BP_PHD_OPEN_PARTS || parts - first <= BP_PHD_OPEN_BEHIND)
		return parts;
	return first + 1 + BP_PHD_OPEN_BEHIND;
}

static inline bool bp_phd_open_has(uint32_t open, unsigned parts, unsigned part)
{
	const unsigned first = bp_phd_open_first(open, parts);

	if (part >= parts)
		return false;
	if (parts <= BP_PHD_OPEN_PARTS)
		return (open >> part & 1) != 0;
	if (part <= first || part > first + BP_PHD_OPEN_BEHIND)
		return part >= first;
	return (open >> (BP_PHD_OPEN_LEFT_BITS + part - first - 1) & 1) == 0;
}

/* Whether an open word can be of a report of this number of parts. */
static inline bool bp_phd_open_valid(uint32_t open, unsigned parts)
{
	const unsigned left = open & BP_PHD_OPEN_LEFT;

	if (parts <= BP_PHD_OPEN_PARTS)
		return (open & ~bp_phd_open_begin(parts)) == 0;
	return open == 0 || (left >= 1 && left <= parts);
}

/* Records `part` as stored. Returns the same word where that was recorded before, or cannot be
 * recorded. */
static inline uint32_t bp_phd_open_close(uint32_t open, unsigned parts, unsigned part)
{
	const unsigned first = bp_phd_open_first(open, parts);
	uint32_t left = parts - first, behind = open >> BP_PHD_OPEN_LEFT_BITS;

	if (!bp_phd_open_has(open, parts, part) || part >= bp_phd_open_end(open, parts))
		return open;
	if (parts <= BP_PHD_OPEN_PARTS)
		return open & ~(1u << part);
	if (part != first)
		return open | 1u << (BP_PHD_OPEN_LEFT_BITS + part - first - 1);
	/* on to the next that is open */
	left--;
	for (; (behind & 1) != 0; behind >>= 1)
		left--;
	behind >>= 1;
	return left == 0 ? 0 : behind << BP_PHD_OPEN_LEFT_BITS | left;
}

/* ---- the words of a session ---- */

/*
 * How workers and the slow path concurrently change a session's record of its last report without a
 * lock. `sent` is set to 0 before a new report gets its number, which increments `reports`, and
 * stays 0 until the other words are written. A reader that finds `reports` unchanged and `sent` not
 * 0 therefore has the words of one report.
 */
#ifndef BP_PHD_REPORT_WORDS_STEP
#define BP_PHD_REPORT_WORDS_STEP() /* a test lets the other threads run here */
#endif

struct bp_phd_report_words {
	uint64_t last, sent;
	uint32_t reports; /* of bp_phd_report_words_read() alone */
};

/* For the decision on a report. Consistent only where bp_phd_report_words_number() says so. */
static inline struct bp_phd_report_words bp_phd_report_words_read(const struct bp_phd_session *s)
{
	struct bp_phd_report_words w;

	w.reports = atomic_load_explicit(&s->reports, memory_order_acquire);
	BP_PHD_REPORT_WORDS_STEP();
	w.sent = atomic_load_explicit(&s->sent, memory_order_acquire);
	BP_PHD_REPORT_WORDS_STEP();
	w.last = atomic_load_explicit(&s->last, memory_order_acquire);
	BP_PHD_REPORT_WORDS_STEP();
	return w;
}

/* For the decision on an answer of the CSE: in the opposite order, so that the `sent` of an earlier
 * report is not taken for that of `last`. */
static inline struct bp_phd_report_words bp_phd_report_words_last(const struct bp_phd_session *s)
{
	struct bp_phd_report_words w = {0};

	w.last = atomic_load_explicit(&s->last, memory_order_acquire);
	BP_PHD_REPORT_WORDS_STEP();
	w.sent = atomic_load_explicit(&s->sent, memory_order_acquire);
	BP_PHD_REPORT_WORDS_STEP();
	return w;
}

/* The number in the session of the report that the words are of. False: there is another report by
 * now, or on its way, and what was read is of no use. */
static inline bool bp_phd_report_words_number(
	const struct bp_phd_session *s, const struct bp_phd_report_words *w, uint32_t *number)
{
	*number = w->reports - 1;
	return w->sent != 0 &&
	       atomic_load_explicit(&s->reports, memory_order_relaxed) == w->reports;
}

/* Begins a new report and returns its number in the session. Until bp_phd_report_words_end() the
 * session has no report. A process that dies in between has sent nothing. */
static inline uint32_t bp_phd_report_words_begin(struct bp_phd_session *s)
{
	atomic_store_explicit(&s->sent, 0, memory_order_relaxed);
	BP_PHD_REPORT_WORDS_STEP();
	/* also another's report may get its number now: none is given twice */
	return atomic_fetch_add_explicit(&s->reports, 1, memory_order_release);
}
static inline void bp_phd_report_words_end(struct bp_phd_session *s, uint64_t last, uint64_t sent)
{
	BP_PHD_REPORT_WORDS_STEP();
	atomic_store_explicit(&s->last, last, memory_order_release);
	BP_PHD_REPORT_WORDS_STEP();
	atomic_store_explicit(&s->sent, sent, memory_order_release);
}

/*
 * Whether the session over UDP began with a report of another gateway (bp_phd_carried) of which
 * parts are open: a worker must not send these, as it would name them by this session.
 */
static inline bool bp_phd_carries_open(const struct bp_phd_session *s, uint64_t mono_ns)
{
	const struct bp_phd_report_words w = bp_phd_report_words_last(s);

	return s->transport == BP_PHD_TRANSPORT_UDP && s->origin.associated_s != 0 &&
	       bp_phd_last_open(w.last) != 0 && w.sent != 0 &&
	       bp_phd_sent_age(w.sent, mono_ns) < BP_PHD_REPEAT_AGE;
}

/* Another `sent` for the report that the words were read of; nothing where there is another one. */
static inline void bp_phd_report_words_resend(
	struct bp_phd_session *s, const struct bp_phd_report_words *w, uint64_t sent)
{
	uint64_t was = w->sent;

	atomic_compare_exchange_strong_explicit(
		&s->sent, &was, sent, memory_order_relaxed, memory_order_relaxed);
}

/* Stores another open word for the report of the words that were read. False: the words have
 * changed. Both words are compared: a device with constant numbers has the same `last` again. */
static inline bool bp_phd_report_words_close(
	struct bp_phd_session *s, const struct bp_phd_report_words *w, uint32_t open)
{
	return bp_cas128(&s->last, w->last, w->sent, bp_phd_last_with_open(w->last, open), w->sent);
}

#endif
