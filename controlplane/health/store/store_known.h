/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_KNOWN_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Known devices, in memory: pairs (system-id, config-id) in the order of their last use, each with
 * one of the configurations, which have a count of users, or with none. The owner limits the size;
 * indexes remain valid until the element is removed.
 */
struct bp_phd_known;

#define BP_PHD_KNOWN_NONE UINT32_MAX

struct bp_phd_known_pair {
	uint8_t system_id[8];
	uint16_t config_id, spec;
	uint32_t config; /* index, or NONE: it declared none (a standard configuration) */
	uint32_t stamp;  /* owner's data: number of uses when its position was last written */
	uint32_t newer, older, chain;
	uint64_t made; /* bp_phd_store_created() */
};

struct bp_phd_known_config {
	uint64_t content;
	uint8_t *report; /* owned; NULL: no configuration */
	uint32_t len, users;
	uint32_t chain;
	uint16_t config_id;
};

/* At most `max` pairs and as many configurations. NULL: no memory. */
struct bp_phd_known *bp_phd_known_new(uint32_t max);
void bp_phd_known_free(struct bp_phd_known *k);

uint32_t bp_phd_known_count(const struct bp_phd_known *k);
/* Returns the bytes of all reports. */
uint64_t bp_phd_known_bytes(const struct bp_phd_known *k);

struct bp_phd_known_pair *bp_phd_known_pair(struct bp_phd_known *k, uint32_t i);
uint32_t bp_phd_known_find(
	const struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id);
/* Adds a pair, which must not exist, as the newest or the oldest; its configuration, unless NONE,
 * gets a user. NONE: full. */
uint32_t bp_phd_known_add(struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id,
	uint32_t config, bool newest);
void bp_phd_known_remove(struct bp_phd_known *k, uint32_t i);
/* Makes the pair the newest. */
void bp_phd_known_use(struct bp_phd_known *k, uint32_t i);
/* Assigns another configuration to a pair. */
void bp_phd_known_assign(struct bp_phd_known *k, uint32_t i, uint32_t config);
uint32_t bp_phd_known_oldest(const struct bp_phd_known *k);

/* Scans from the oldest to the newest; pairs may be used and removed meanwhile. One scan at a
 * time. */
void bp_phd_known_walk(struct bp_phd_known *k);
uint32_t bp_phd_known_step(struct bp_phd_known *k);

/* Returns NULL for an index that never had a configuration. */
struct bp_phd_known_config *bp_phd_known_config(struct bp_phd_known *k, uint32_t i);
uint32_t bp_phd_known_config_find(const struct bp_phd_known *k, uint64_t content);
/* Adds a configuration without users; takes the report (malloc()) unless it is full (NONE). */
uint32_t bp_phd_known_config_add(struct bp_phd_known *k, uint64_t content, uint16_t config_id,
	uint8_t *report, uint32_t len);
/* It must have no user. */
void bp_phd_known_config_remove(struct bp_phd_known *k, uint32_t i);

/* ---- sessions used since the start ---- */

/* The keys of sessions that were written while the file was loaded: the file's rows for them are
 * outdated. Grows as needed, up to a limit. */
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

/* transport is not 0. False: full. */
bool bp_phd_touched_add(
	struct bp_phd_touched *t, uint8_t transport, const uint8_t address[16], uint16_t port);
bool bp_phd_touched_has(const struct bp_phd_touched *t, uint8_t transport,
	const uint8_t address[16], uint16_t port);
void bp_phd_touched_clear(struct bp_phd_touched *t);

#endif
