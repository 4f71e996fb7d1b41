/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MATCH_MATCH_H
#define BP_SERVICES_MATCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/match.h"

/*
 * Matches the headers of a frame against several entries: the first match wins. The table is built
 * once for the active rules.
 */
#define BP_MATCHES_MAX 256

struct bp_matcher;

/* NULL: no memory. */
struct bp_matcher *bp_matcher_create(void);
void bp_matcher_free(struct bp_matcher *m);

/* Removes all entries. */
void bp_matcher_clear(struct bp_matcher *m);

/* Behind those that were added before. Keeps no pointer to `match`. False: there are
 * BP_MATCHES_MAX. */
bool bp_matcher_add(struct bp_matcher *m, const struct bp_match *match, uint16_t value);

/* Matches a frame, of which `len` bytes are at `frame`; `port`: its input port. Returns the value
 * of its entry, or -1. Reads no byte beyond len; fragments other than the first have no ports. */
int bp_matcher_find(const struct bp_matcher *m, const uint8_t *frame, size_t len, uint16_t port);

#endif
