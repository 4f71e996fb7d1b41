/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_RULE_KEYS_H
#define BP_CONTROLPLANE_MQTT_RULE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "shm/rules/ruleset.h"

/* Finds rules of a generation by their uid or name. */

struct bp_rule_key {
	uint64_t key;
	uint32_t rule; /* index */
};

/* The rules of a generation by a key, sorted. */
struct bp_rule_keys {
	struct bp_rule_key *key;
	uint32_t n;
	uint64_t generation; /* 0: none */
};

/* Hash of a name. */
uint64_t bp_rule_name_hash(const char *name, size_t len);
/* What a rule is found by: its uid, or the hash of its name. */
uint64_t bp_rule_key_uid(const struct bp_rule *r);
uint64_t bp_rule_key_name(const struct bp_rule *r);
/* The position of the first rule with this key, or of the next one; free k->key at the end. */
uint32_t bp_rule_keys_find(struct bp_rule_keys *k, const struct bp_ruleset *rs,
	uint64_t (*key_of)(const struct bp_rule *), uint64_t key);

#endif
