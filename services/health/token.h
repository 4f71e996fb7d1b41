/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_TOKEN_H
#define BP_SERVICES_HEALTH_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/health/onem2m.h"
#include "shm/hash.h"

/*
 * The 8 bytes of a CoAP token contain all data that the answer to the device needs, so that no
 * state is kept until the CSE has acknowledged. As a number, in network byte order in the packet,
 * from the most significant bit:
 *
 *   slot 23 | invoke-id 16 | type - 3357 2 | part 5 | only part 1 | confirmed 1 | check 16
 *
 * The check is a keyed hash of the fields before it and of the life of the session in that slot: a
 * token of a session that has ended is invalid, and a guess without the segment's key is valid with
 * probability 1 in 65,536.
 */
#define BP_PHD_TOKEN_LEN 8u
#define BP_PHD_TOKEN_SLOTS (1u << 23)
#define BP_PHD_TOKEN_PARTS 32u

struct bp_phd_token {
	uint32_t slot; /* of the session: below BP_PHD_TOKEN_SLOTS */
	uint16_t invoke_id;
	uint8_t type;   /* of the event report: its number - 3357, 0..3 */
	uint8_t part;   /* below BP_PHD_TOKEN_PARTS */
	bool only;      /* the report has this part alone, which is then 0 */
	bool confirmed; /* the device waits for a response */
};

#define BP_PHD_TOKEN_AT_SLOT 41
#define BP_PHD_TOKEN_AT_INVOKE 25
#define BP_PHD_TOKEN_AT_TYPE 23
#define BP_PHD_TOKEN_AT_PART 18
#define BP_PHD_TOKEN_AT_ONLY 17
#define BP_PHD_TOKEN_AT_CONFIRMED 16

static inline uint16_t bp_phd_token_check(uint64_t word, uint16_t life, const uint64_t key[2])
{
	const uint64_t what[2] = {htole64(word >> 16), htole64(life)};

	return (uint16_t)(bp_hash_bytes(key, what, sizeof(what)) >> 32);
}

/* `life` is that of bp_phd_word_life(). What does not fit into its bits is cut. */
static inline uint64_t bp_phd_token_pack(
	const struct bp_phd_token *t, uint16_t life, const uint64_t key[2])
{
	const uint64_t word =
		(uint64_t)(t->slot & (BP_PHD_TOKEN_SLOTS - 1)) << BP_PHD_TOKEN_AT_SLOT |
		(uint64_t)t->invoke_id << BP_PHD_TOKEN_AT_INVOKE |
		(uint64_t)(t->type & 3) << BP_PHD_TOKEN_AT_TYPE |
		(uint64_t)(t->part & (BP_PHD_TOKEN_PARTS - 1)) << BP_PHD_TOKEN_AT_PART |
		(uint64_t)t->only << BP_PHD_TOKEN_AT_ONLY |
		(uint64_t)t->confirmed << BP_PHD_TOKEN_AT_CONFIRMED;

	return word | bp_phd_token_check(word, life, key);
}

/*
 * Decodes a token without verifying it: the verification needs the life of the session, and so the
 * slot. False: no token has this form, whatever the key is.
 */
bool bp_phd_token_open(uint64_t word, struct bp_phd_token *t);
/* Verifies a token: whether it was generated with that life and that key. */
bool bp_phd_token_true(uint64_t word, uint16_t life, const uint64_t key[2]);

/* Converts eight bytes of a message to the number, and back. */
static inline uint64_t bp_phd_token_load(const uint8_t p[BP_PHD_TOKEN_LEN])
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}
static inline void bp_phd_token_store(uint8_t p[BP_PHD_TOKEN_LEN], uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	__builtin_memcpy(p, &word, sizeof(word));
}

/* ---- the answer to the device ---- */

/* Maximum length of an answer, bytes. */
#define BP_PHD_ANSWER_MAX 32u

/*
 * The answer to a confirmed report, from the result at the CSE: an APDU. The same for workers, the
 * slow path and TCP. `type`: that of the event report, 3357..3360; `invoke_id`: that of the event
 * report.
 *
 *   stored              rors, for the event report
 *   denied              roer 2 (access-denied)
 *   no target, busy     rorj 103 (resource-limitation): the device tries again
 *   refused             rorj 303 (unexpected-error)
 *
 * Returns its length, bytes, at most BP_PHD_ANSWER_MAX.
 */
size_t bp_phd_answer_write(uint8_t out[BP_PHD_ANSWER_MAX], enum bp_m2m_outcome outcome,
	uint16_t invoke_id, uint16_t type);

#endif
