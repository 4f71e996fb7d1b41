/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_TRANSFORM_TRANSFORM_WRITER_H
#define BP_SHM_TRANSFORM_TRANSFORM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/transform/transform.h"

/*
 * The one writer of the banks: the control plane, or replay for itself.
 */

/*
 * Builds a bank in `bank` (bank_size bytes, aligned to 128, without readers) from the
 * configuration, and copies from `old` (a view of the active bank; its bank NULL: none) the
 * matrices that were set or added there and still have a rule: the one with the same port,
 * destination, UDP port and layout. A source in the new configuration is taken from it, but a SET
 * matrix of a receiver that the configuration still has stays set, unless it is singular and the
 * rule no longer allows that. Where the ports differ, nothing is copied. The uids of unchanged
 * sources stay. generation: not 0. `ports`: bp_config_ports_key(). Returns 0, or -1 with a sentence
 * in err: more receivers than `matrices`; the bank is then invalid.
 */
int bp_transform_build(struct bp_transform_bank *bank, uint32_t matrices,
	const struct bp_transform_config *c, uint64_t ports, const struct bp_transform_view *old,
	uint64_t generation, uint64_t key, _Atomic uint32_t *next_uid, uint64_t unix_ns, char *err,
	size_t err_size);

/* Length of a bank for `matrices` matrices, bytes. */
static inline uint64_t bp_transform_bank_size(uint32_t matrices)
{
	return bp_transform_places(matrices).size;
}

/* Whether a bank (of another process, possibly of an earlier run) is safe to read: all numbers and
 * offsets are within the capacity. An empty bank is not valid. */
bool bp_transform_valid(const struct bp_transform_bank *bank, uint32_t matrices);
/* The part of this check whose time does not grow with the bank, for a worker between two walks:
 * the numbers and the rules. The worker checks for each source that it uses whether its rows
 * exist. */
bool bp_transform_rules_valid(const struct bp_transform_bank *bank, uint32_t matrices);

enum bp_transform_set {
	BP_TRANSFORM_SET_DONE,
	BP_TRANSFORM_SET_NO_RULE,     /* there is no such rule */
	BP_TRANSFORM_SET_NO_SOURCE,   /* the rule has no such source, and `add` is false */
	BP_TRANSFORM_SET_NO_RECEIVER, /* the source has fewer */
	BP_TRANSFORM_SET_FULL,        /* no space for a new source */
	BP_TRANSFORM_SET_SINGULAR,    /* the rule does not allow it */
	BP_TRANSFORM_SET_NOT_FINITE,
	BP_TRANSFORM_SET_LARGE,
};
/*
 * Sets a matrix in the active bank, while workers read it. `m`: in column-major order. add: a
 * source that the rule does not have is added with one receiver, the rule's `otherwise`.
 */
enum bp_transform_set bp_transform_set(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add,
	_Atomic uint32_t *next_uid);

/* The result that bp_transform_set() would return; sets nothing. */
enum bp_transform_set bp_transform_set_check(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add);

/*
 * Marks a source whose matrices, and which itself if it was added, are not to be copied to the next
 * bank. Nothing changes until that bank is active. Returns DONE, NO_RULE or NO_SOURCE.
 */
enum bp_transform_set bp_transform_remove(
	const struct bp_transform_view *v, unsigned rule, const struct bp_prefix *source);

#endif
