/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_BUDGET_H
#define BIPLANE_LCL_SIM_BUDGET_H

#include <stdint.h>

/*
 * Conditions for d0 +- tau in the worst case for any load of the slots below the capacity.
 * docs/explanation/lcl-bounds.md derives it; H(n) = 1 + 1/2 + ... + 1/n.
 */

/* The minimum d0 for this number of hops: n tau H(n - 1), and at least tau. */
uint64_t lsim_budget_ns(uint8_t hops, uint64_t tau_ns);
/* The queues that reach as far ahead as d/n may be: K. */
uint32_t lsim_queues(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns);
/*
 * Duration in which a source may send the frames planned for two consecutive slots of any node on
 * the path. If flows from different links meet there, frames planned for the first slot may arrive
 * at its end, and be sent in the second.
 */
uint64_t lsim_window_ns(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns);

#endif
