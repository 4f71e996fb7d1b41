/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_BUDGET_H
#define BIPLANE_LCL_SIM_BUDGET_H

#include <stdint.h>

/*
 * What keeps d0 +- tau in the worst case whatever the load of each slot is, as long as none is
 * full. docs/explanation/lcl-bounds.md derives it; H(n) = 1 + 1/2 + ... + 1/n.
 */

/* The least d0 for so many hops: n tau H(n - 1), and at least tau. */
uint64_t lsim_budget_ns(uint8_t hops, uint64_t tau_ns);
/* The queues that reach as far ahead as d/n may be: K. */
uint32_t lsim_queues(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns);
/*
 * Over how long a source may have sent what is meant for two slots, one after the other, of any
 * node on the way. When flows meet there that came by different wires, what is meant for the first
 * may come as it ends, and be sent in the second.
 */
uint64_t lsim_window_ns(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns);

#endif
