/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_COMBINATION_H
#define BP_SHM_RULES_COMBINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/rule.h"
#include "biplane/truth.h"

/*
 * A combination: a rule whose condition is over several sources, its parts, with `all`, `any` and
 * `not`. Each part is a rule of its own, with the steps of other rules up to its condition, which
 * is its `raise`. Levels of the parts' topics that have a name in braces connect the topics: parts
 * with the same text at these levels have the same key.
 */

#define BP_PARTS_MAX 8u
#define BP_COMBINATION_DEPTH_MAX 4u   /* of nested all, any and not, the outermost included */
#define BP_COMBINATION_PROGRAM_MAX 48 /* steps: each part has at most four operators of its own */
#define BP_COMBINATION_NAMES_MAX 8u   /* levels with a name */
#define BP_COMBINATION_NAME_MAX 31    /* bytes */

/* A step of a program in prefix order: its kind in the upper bits; in the lower ones the index of
 * the part, or the number of operands that follow. */
enum bp_step {
	BP_STEP_PART = 0x00,
	BP_STEP_NOT = 0x40,
	BP_STEP_ALL = 0x80,
	BP_STEP_ANY = 0xc0,
	BP_STEP_KIND = 0xc0,
	BP_STEP_NUMBER = 0x3f,
};

struct bp_program {
	uint8_t len;
	uint8_t step[BP_COMBINATION_PROGRAM_MAX];
};

/* Whether the program has exactly one result, and only parts below n_parts. For programs of another
 * process. */
bool bp_program_valid(const struct bp_program *p, unsigned n_parts);
/* The result, from the truths of the parts. `p` is valid. */
enum bp_truth bp_program_evaluate(const struct bp_program *p, const uint8_t truth[BP_PARTS_MAX]);

struct bp_combination_spec {
	struct bp_program program;
	uint8_t n_parts;
	struct bp_rule_spec part[]; /* filter with names, value, raise, max_age_ns */
};

/* The named levels of a topic filter, in its order. */
struct bp_level_names {
	unsigned n;
	struct {
		const char *name; /* in the filter, without braces */
		uint32_t len;
		uint32_t level; /* 0: the first of the filter */
	} at[BP_COMBINATION_NAMES_MAX];
};
/*
 * Reads the names of filter[0..len). False: *why is a phrase, and *fault the offset of the fault: a
 * name that is not a whole level, not a word or given twice, a wildcard, or too many names.
 */
bool bp_level_names_read(const char *filter, uint32_t len, struct bp_level_names *names,
	const char **why, uint32_t *fault);
/* The phrase for a part that has not the same names as the others. */
extern const char *const bp_level_names_differ;
/* The index of a name; -1: it has none such. */
int bp_level_names_find(const struct bp_level_names *names, const char *name, uint32_t len);

#endif
