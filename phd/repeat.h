/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PHD_REPEAT_H
#define BP_PHD_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/hash.h"
#include "shm/phd_ids.h"

/*
 * Which report of a session was the last one, and what of it is not stored yet: the words `last`
 * and `sent` of struct bp_phd_session, as workers and the slow path write and read them.
 *
 *   last   invoke-id << 48 | report number << 32 | a bit for each part that is not stored yet
 *   sent   pair of the first part << 32 | octets << 16 | CLOCK_MONOTONIC / 4 s, its low 16 bits;
 *          0: there was none
 *
 * The pair is the source port << 16 | message id that part 0 was sent with; a repeat of the report
 * uses it again, so that the CSE's duplicate detection answers it. BP_PHD_NO_PAIR: parts that are
 * open are to be sent with new ones, since they went by the slow path, or the CSE answered with an
 * error that it would repeat.
 *
 * The octets are 16 bits of a keyed hash of the APDU. Its UDP checksum would not do: two readings
 * of which one value is up by one and the other down have the same.
 */
#define BP_PHD_NO_PAIR 0u /* there is no port 0 */
#define BP_PHD_SENT_TICK_NS 4000000000ull

static inline uint16_t bp_phd_octets(const uint64_t key[2], const uint8_t *apdu, size_t len)
{
	return (uint16_t)bp_hash_bytes(key, apdu, len);
}

/* A bit for each of `parts` parts, at most 32. */
static inline uint32_t bp_phd_all_parts(unsigned parts)
{
	return parts >= 32 ? UINT32_MAX : (1u << parts) - 1;
}

static inline uint64_t bp_phd_last(uint16_t invoke_id, uint16_t report_no, uint32_t open)
{
	return (uint64_t)invoke_id << 48 | (uint64_t)report_no << 32 | open;
}
static inline uint16_t bp_phd_last_invoke(uint64_t last)
{
	return (uint16_t)(last >> 48);
}
static inline uint32_t bp_phd_last_open(uint64_t last)
{
	return (uint32_t)last;
}

static inline uint64_t bp_phd_sent(uint32_t pair, uint16_t octets, uint64_t mono_ns)
{
	return (uint64_t)pair << 32 | (uint64_t)octets << 16 |
	       (uint16_t)(mono_ns / BP_PHD_SENT_TICK_NS);
}
static inline uint32_t bp_phd_sent_pair(uint64_t sent)
{
	return (uint32_t)(sent >> 32);
}
/* The same, but to be sent with new pairs. */
static inline uint64_t bp_phd_sent_anew(uint64_t sent)
{
	return (uint32_t)sent;
}

/* Whether a report with these numbers and octets is the last one again. */
static inline bool bp_phd_is_repeat(uint64_t last, uint64_t sent, uint16_t invoke_id,
	uint16_t report_no, uint16_t octets, uint64_t mono_ns)
{
	const uint16_t age = (uint16_t)((uint16_t)(mono_ns / BP_PHD_SENT_TICK_NS) - (uint16_t)sent);

	return sent != 0 && last >> 32 == bp_phd_last(invoke_id, report_no, 0) >> 32 &&
	       (uint16_t)(sent >> 16) == octets &&
	       age < BP_PHD_ID_LIFETIME_S * 1000000000ull / BP_PHD_SENT_TICK_NS;
}

#endif
