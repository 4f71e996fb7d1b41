/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULE_UID_H
#define BP_SHM_RULES_RULE_UID_H

#include <stdint.h>

#include "biplane/rule.h"

/*
 * The identity of a rule, as 64 bits that are never 0; for shm/rules/ruleset_build.c. Fields that
 * the definition does not use (the clear condition without has_clear, for example) do not count.
 */
uint64_t bp_rule_uid(const struct bp_rule_spec *s);
/* Of a part of the combination with this identity. */
uint64_t bp_part_uid(uint64_t combination, unsigned part);

/* A source with only the bytes that its kind uses: equal sources are equal bytes. */
void bp_value_source_canonical(struct bp_value_source *out, const struct bp_value_source *in);

/* A hash of bytes that no process's key goes into. */
uint64_t bp_stable_hash(const void *p, uint64_t len);

#endif
