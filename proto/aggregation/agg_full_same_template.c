/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/aggregation/agg_full_same_template.h"

/* Number of following address and port bytes, for each of the 64. */
#define ADDRESS(i_) ((i_)&1 ? (i_)&2 ? (i_)&4 ? (i_)&8 ? 0 : 1 : 2 : 3 : 4)
#define PORT(i_) ((i_)&16 ? (i_)&32 ? 0 : 1 : 2)

/* Source of byte `k_` after the flags: the last bytes of the port, which ends at 10, and then of
 * the address, which ends at 4. */
#define AT(i_, k_)                                                                                 \
	((k_) < PORT(i_)                      ? 10 - PORT(i_) + (k_)                               \
		: (k_)-PORT(i_) < ADDRESS(i_) ? 4 - ADDRESS(i_) + (k_)-PORT(i_)                    \
					      : 0x80)
#define ENTRY(i_)                                                                                  \
	{                                                                                          \
		.at = {0x80, AT(i_, 0), AT(i_, 1), AT(i_, 2), AT(i_, 3), AT(i_, 4), AT(i_, 5),     \
			0x80},                                                                     \
		.rest = {PORT(i_) << BP_AGG_FULL_PORT_SHIFT | ADDRESS(i_), 0, 0, 0, 0, 0, 0,       \
			1 + PORT(i_) + ADDRESS(i_)},                                               \
	}
#define FOUR(i_) ENTRY(i_), ENTRY(i_ + 1), ENTRY(i_ + 2), ENTRY(i_ + 3)
#define SIXTEEN(i_) FOUR(i_), FOUR(i_ + 4), FOUR(i_ + 8), FOUR(i_ + 12)

const struct bp_agg_full_same_template_entry bp_agg_full_same_template_entry[64] = {
	SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};
