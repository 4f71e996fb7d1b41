/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_PAUSE_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Devices that the CSE did not take lately, by their system-id, and since when they may be tried
 * again. Of more than BP_PROVISION_PAUSES the one whose pause ends first is forgotten.
 */
#define BP_PROVISION_PAUSES 1024u

struct bp_provision_pause {
	uint8_t system_id[8];
	uint64_t due_ns;  /* monotonic */
	uint64_t next_ns; /* length of the next pause, before it is limited */
	uint64_t round;   /* the last in which it was met */
};

struct bp_provision_pauses {
	unsigned n;
	struct bp_provision_pause pause[BP_PROVISION_PAUSES];
};

/* Begins a pause of the device: of first_ns, doubled with each up to max_ns. */
void bp_provision_pause_begin(struct bp_provision_pauses *p, const uint8_t system_id[8],
	uint64_t now_ns, uint64_t first_ns, uint64_t max_ns);
/* The device's, which may be over; NULL: it has none. */
struct bp_provision_pause *bp_provision_pause_of(
	struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* It was taken: the next pause is a first one. */
void bp_provision_pause_forget(struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* When the next pause ends after now_ns; UINT64_MAX: none does. */
uint64_t bp_provision_pause_end(const struct bp_provision_pauses *p, uint64_t now_ns);

#endif
