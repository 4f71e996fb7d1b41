/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_KEY_ORDER_H
#define BP_CONTROLPLANE_ALARMS_KEY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/alarm.h"

/*
 * Determines which alarms must wait for older ones of the same key, a rule and a topic: those of a
 * key that has rows in the spool, sent or not, and those of a key with an alarm that waits in a
 * ring. A key is free again when the last of its rows is deleted, so that no restart sends an old
 * row after a newer alarm.
 *
 * Rows are not counted: the highest id of a key's rows is compared with the lowest id in the spool.
 * Rows are deleted approximately in the order of their ids, and a deletion (by an acknowledgement
 * or the limits of the spool) needs no key. A key may be blocked a little too long, and never too
 * short.
 *
 * The table is bounded: rows and waiting alarms of keys that do not fit block all keys.
 */
struct bp_key_slot {
	uint64_t key;      /* 0: free */
	uint64_t last_row; /* the highest id of its rows; 0: none */
	uint64_t waiting;  /* its alarms that wait in rings */
};

struct bp_key_order {
	struct bp_key_slot *slot;
	size_t size; /* slots: 0 or a power of two, at least twice used */
	size_t used, max_keys;
	size_t pause;       /* number of new keys before a full table is rebuilt again */
	uint64_t oldest;    /* the lowest id in the spool; UINT64_MAX: it is empty */
	uint64_t other_row; /* like last_row, for all keys without a slot */
	bool rows_unknown;
	uint64_t other_waiting; /* like waiting */
	uint64_t hash_key[2];
};

void bp_key_order_init(struct bp_key_order *o, size_t max_keys);
void bp_key_order_free(struct bp_key_order *o);

/* Returns the alarm's key, never 0: a keyed hash, so that a client cannot choose topics that
 * collide. */
uint64_t bp_key_order_key(const struct bp_key_order *o, const struct bp_alarm *a);

/* The spool has a row of this key. */
void bp_key_order_row(struct bp_key_order *o, uint64_t key, uint64_t id);
/* Rows with lower ids were deleted; UINT64_MAX: all were. Returns true when the value has
 * changed. */
bool bp_key_order_oldest(struct bp_key_order *o, uint64_t id);
/* The rows are unknown: all keys are blocked until bp_key_order_rows_known(). */
void bp_key_order_forget_rows(struct bp_key_order *o);
void bp_key_order_rows_known(struct bp_key_order *o);

/* An alarm of this key waits in a ring, or no longer does. */
void bp_key_order_wait(struct bp_key_order *o, uint64_t key);
void bp_key_order_go(struct bp_key_order *o, uint64_t key);

/* Returns whether the key may have a row that is newer than this alarm. */
bool bp_key_order_has_newer_row(const struct bp_key_order *o, uint64_t key, uint64_t id);
/* Returns whether the key has rows; whether it has rows or waiting alarms. */
bool bp_key_order_has_rows(const struct bp_key_order *o, uint64_t key);
bool bp_key_order_is_blocked(const struct bp_key_order *o, uint64_t key);

#endif
