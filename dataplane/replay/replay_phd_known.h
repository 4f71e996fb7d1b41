/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_KNOWN_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_KNOWN_H

#include "proto/health/phd_config.h"

/*
 * Which device declared which configuration in a replay, in memory: what the store is to a gateway.
 * It begins with nothing.
 */
struct bp_replay_known;

/* Of at most `max` pairs of device and configuration. NULL without memory. */
struct bp_replay_known *bp_replay_known_new(uint32_t max);
void bp_replay_known_free(struct bp_replay_known *k);

/* `report`: the ConfigReport's octets, which are copied. Without room it is not remembered. */
void bp_replay_known_learn(struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_bytes report);
/* What its MDS told. */
void bp_replay_known_spec(
	struct bp_replay_known *k, const uint8_t system_id[8], uint16_t config_id, uint16_t spec);
/* Whether the device declared it; then *out is the configuration, and *spec what its MDS told. */
bool bp_replay_known_find(const struct bp_replay_known *k, const uint8_t system_id[8],
	uint16_t config_id, struct bp_phd_model *out, uint16_t *spec);

#endif
