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
 * Builds in `bank` (bank_size octets, aligned to 128, which nobody reads) what the file says, and
 * takes over from `old` (a view of the bank in force; its bank NULL: none) what was set or added
 * there and still has a rule: the one with the same port, destination, UDP port and layout. A
 * source that the file has now is the file's, but a SET matrix of a receiver that the file still
 * has stays set, unless it is singular and the rule does not allow that any more. Where the ports
 * are others, nothing is. uids of the same sources stay. generation: not 0. `ports`:
 * bp_config_ports_key(). 0, or -1 with a sentence: more receivers than `matrices`; the bank is of
 * no use then.
 */
int bp_transform_build(struct bp_transform_bank *bank, uint32_t matrices,
	const struct bp_transform_config *c, uint64_t ports, const struct bp_transform_view *old,
	uint64_t generation, uint64_t key, _Atomic uint32_t *next_uid, uint64_t unix_ns, char *err,
	size_t err_size);

/* Octets of a bank for so many matrices. */
static inline uint64_t bp_transform_bank_size(uint32_t matrices)
{
	return bp_transform_places(matrices).size;
}

/* Whether a bank (of another process, maybe of an earlier run) can be read without going astray:
 * numbers and offsets within the capacity. An empty one can't. */
bool bp_transform_valid(const struct bp_transform_bank *bank, uint32_t matrices);
/* Of that what takes no time that grows with the bank, for a worker between two walks: the numbers
 * and the rules. It asks of each source that it uses whether its rows are there. */
bool bp_transform_rules_valid(const struct bp_transform_bank *bank, uint32_t matrices);

enum bp_transform_set {
	BP_TRANSFORM_SET_DONE,
	BP_TRANSFORM_SET_NO_RULE,     /* there is no such rule */
	BP_TRANSFORM_SET_NO_SOURCE,   /* the rule has no such source, and `add` was not asked */
	BP_TRANSFORM_SET_NO_RECEIVER, /* the source has fewer */
	BP_TRANSFORM_SET_FULL,        /* no room for a new source */
	BP_TRANSFORM_SET_SINGULAR,    /* the rule does not allow it */
	BP_TRANSFORM_SET_NOT_FINITE,
	BP_TRANSFORM_SET_LARGE,
};
/*
 * Sets a matrix in the bank in force, while workers read it. `m`: column by column. add: a source
 * that the rule does not have comes with one receiver, the rule's `otherwise`.
 */
enum bp_transform_set bp_transform_set(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add,
	_Atomic uint32_t *next_uid);

/* What bp_transform_set() would return, without setting anything. */
enum bp_transform_set bp_transform_set_check(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add);

/*
 * Marks a source whose matrices, and which itself if it was added, are not to be taken over into
 * the next bank; until that is in force nothing changes. DONE, NO_RULE or NO_SOURCE.
 */
enum bp_transform_set bp_transform_remove(
	const struct bp_transform_view *v, unsigned rule, const struct bp_prefix *source);

#endif
