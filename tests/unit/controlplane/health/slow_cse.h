/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_SLOW_CSE_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_SLOW_CSE_H

#include "tests/unit/controlplane/health/slow_rig.h"

/* A CSE that keeps names, for random tests of the slow path: it stores, forgets to answer, is busy,
 * or lost its containers. */
void cse_begin(void);
/* Ends request `i` with a random result. */
void cse_acts(unsigned i);
/* It does what request `i` asks, and no one hears of it. */
void cse_stores(unsigned i);
/* How many instances it has. */
unsigned cse_end(void);

/* A confirmed report of two values, both `value`, for configuration 400: its bytes. `number` is
 * its invoke-id and its own. Returns its length. */
#define SLOW_REPORT 64
size_t slow_report(uint8_t out[SLOW_REPORT], unsigned number, unsigned value);

#endif
