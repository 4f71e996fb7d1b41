/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_STORE_KNOWN_H
#define BP_CONTROLPLANE_HEALTH_STORE_STORE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is known of devices, in memory: pairs (system-id, config-id) in the order of their last use,
 * each with one of the configurations, which are counted by their users, or with none. Bounded by
 * its owner; indexes stay true until the element is removed.
 */
struct bp_phd_known;

#define BP_PHD_KNOWN_NONE UINT32_MAX

struct bp_phd_known_pair {
	uint8_t system_id[8];
	uint16_t config_id, spec;
	uint32_t config; /* index, or NONE: it declared none (a standard's) */
	uint32_t stamp;  /* the owner's: uses that were when its place was last written */
	uint32_t newer, older, chain;
	uint64_t made; /* bp_phd_store_created() */
};

struct bp_phd_known_config {
	uint64_t content;
	uint8_t *report; /* its own; NULL: no configuration */
	uint32_t len, users;
	uint32_t chain;
	uint16_t config_id;
};

/* At most `max` pairs and as many configurations. NULL: no memory. */
struct bp_phd_known *bp_phd_known_new(uint32_t max);
void bp_phd_known_free(struct bp_phd_known *k);

uint32_t bp_phd_known_count(const struct bp_phd_known *k);
/* Octets of all reports. */
uint64_t bp_phd_known_octets(const struct bp_phd_known *k);

struct bp_phd_known_pair *bp_phd_known_pair(struct bp_phd_known *k, uint32_t i);
uint32_t bp_phd_known_find(
	const struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id);
/* A new pair, which must not be there, as the newest or the oldest; its configuration, unless NONE,
 * gets a user. NONE: full. */
uint32_t bp_phd_known_add(struct bp_phd_known *k, const uint8_t system_id[8], uint16_t config_id,
	uint32_t config, bool newest);
void bp_phd_known_remove(struct bp_phd_known *k, uint32_t i);
/* It becomes the newest. */
void bp_phd_known_use(struct bp_phd_known *k, uint32_t i);
/* Gives a pair another configuration. */
void bp_phd_known_assign(struct bp_phd_known *k, uint32_t i, uint32_t config);
uint32_t bp_phd_known_oldest(const struct bp_phd_known *k);

/* Walks from the oldest to the newest; pairs may be used and removed in between. One walk. */
void bp_phd_known_walk(struct bp_phd_known *k);
uint32_t bp_phd_known_step(struct bp_phd_known *k);

/* NULL from where no configuration was ever. */
struct bp_phd_known_config *bp_phd_known_config(struct bp_phd_known *k, uint32_t i);
uint32_t bp_phd_known_config_find(const struct bp_phd_known *k, uint64_t content);
/* A new one without users; takes the report (malloc()) unless it is full (NONE). */
uint32_t bp_phd_known_config_add(struct bp_phd_known *k, uint64_t content, uint16_t config_id,
	uint8_t *report, uint32_t len);
/* It must have no user. */
void bp_phd_known_config_remove(struct bp_phd_known *k, uint32_t i);

/* ---- what was used since the start ---- */

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
