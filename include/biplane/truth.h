/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_TRUTH_H
#define BIPLANE_TRUTH_H

/* Three-valued logic (Kleene): bit 0 is set for what is false, bit 1 for what is true. */
enum bp_truth { BP_TRUTH_UNKNOWN = 0, BP_TRUTH_FALSE = 1, BP_TRUTH_TRUE = 2 };

#endif
