/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_TOUCHED_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_TOUCHED_H

#include <stdbool.h>
#include <stdint.h>

/* The keys of sessions that were written while the file was read back: what the file had for them
 * is history. Grows as needed, up to a bound. */
struct bp_phd_touched {
	struct bp_phd_touched_key {
		uint8_t address[16];
		uint16_t port;
		uint8_t transport; /* 0: free */
		uint8_t pad;
	} * key;
	uint32_t n, size; /* size: a power of two, or 0 */
};

#define BP_PHD_TOUCHED_MAX 1048576u

/* transport is not 0. False: no room. */
bool bp_phd_touched_add(
	struct bp_phd_touched *t, uint8_t transport, const uint8_t address[16], uint16_t port);
bool bp_phd_touched_has(const struct bp_phd_touched *t, uint8_t transport,
	const uint8_t address[16], uint16_t port);
void bp_phd_touched_clear(struct bp_phd_touched *t);

#endif
