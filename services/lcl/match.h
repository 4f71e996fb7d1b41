/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_MATCH_H
#define BP_SERVICES_LCL_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/lcl.h"

/*
 * Which flow a frame without a label is of: the first entry that is for it. A table over the
 * entries of one output port, made once for the rules in force.
 */
struct bp_lcl_matcher;

/* Of the flows whose `out` is this. NULL: no memory. Keeps no pointer to `rules`. */
struct bp_lcl_matcher *bp_lcl_matcher_create(const struct bp_lcl_rules *rules, uint8_t out);
void bp_lcl_matcher_free(struct bp_lcl_matcher *m);

/* The frame as it is to leave, of which `len` octets lie at `frame`; `port`: it came in on. Index
 * in rules->flow[], or -1. Reads no octet beyond len; fragments but the first have no ports. */
int bp_lcl_match_frame(
	const struct bp_lcl_matcher *m, const uint8_t *frame, size_t len, uint16_t port);

#endif
