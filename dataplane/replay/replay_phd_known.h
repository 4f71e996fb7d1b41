/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_KNOWN_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_KNOWN_H

#include "proto/health/phd_config.h"

/*
 * The configurations that devices declared in a replay, in memory, in place of the store of a
 * gateway. Initially empty.
 */
struct bp_replay_known;

/*
 * Creates a table for at most `max` pairs of device and configuration; the caller frees it. NULL:
 * no memory.
 */
struct bp_replay_known *bp_replay_known_new(uint32_t max);
void bp_replay_known_free(struct bp_replay_known *k);

/*
 * `report`: the bytes of the ConfigReport, which are copied. If the table is full, it is not
 * stored.
 */
void bp_replay_known_learn(struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_bytes report);
/* Stores the attributes that the MDS of the device reported. */
void bp_replay_known_spec(
	struct bp_replay_known *k, const uint8_t system_id[8], uint16_t config_id, uint16_t spec);
/*
 * Whether the device declared the configuration; then *out is the configuration, and *spec the
 * attributes that its MDS reported.
 */
bool bp_replay_known_find(const struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_model *out, uint16_t *spec);

#endif
