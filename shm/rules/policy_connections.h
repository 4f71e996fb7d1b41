/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_POLICY_CONNECTIONS_H
#define BP_SHM_RULES_POLICY_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The number of connections of each client address, for rules of the policy: a table of the segment
 * that all workers share. A word is a count and the part of the key that does not choose its set,
 * and is changed by compare-and-swap alone, so that the counts are exact. A key may be in two sets,
 * and goes to the one with more free words; two workers that add it at the same time may give it a
 * word in both, and the count is the sum. The table is cleared when the data plane starts, and
 * counted again from the connections that it adopts.
 */
struct bp_policy_connections {
	_Atomic uint64_t *word;
	uint64_t len; /* a power of two, from BP_POLICY_CONNECTION_WAYS */
};

#define BP_POLICY_CONNECTION_WAYS 8u

/* The length of a table for `n` addresses: twice as many, so that a key finds no word in neither of
 * its sets only where far more addresses than that are in it. */
uint64_t bp_policy_connections_len(uint64_t n);
void bp_policy_connections_clear(const struct bp_policy_connections *t);
/* One connection more; false: there is no word for it, and nothing is counted. */
bool bp_policy_connections_add(const struct bp_policy_connections *t, uint64_t key);
/* One that was added ends. */
void bp_policy_connections_remove(const struct bp_policy_connections *t, uint64_t key);
uint32_t bp_policy_connections_count(const struct bp_policy_connections *t, uint64_t key);

#endif
