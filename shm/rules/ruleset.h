/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULESET_H
#define BP_SHM_RULES_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/limits.h"
#include "biplane/policy.h"
#include "biplane/rule.h"
#include "shm/rules/combination.h"
#include "shm/short_range.h"

/*
 * The compiled rules: one position-independent image, built aside by the control plane and read by
 * the workers. A trie over topic levels holds the filters; its edges are one hash table keyed by
 * (node, level), so that matching costs the same with one rule and with ten thousand.
 */

#define BP_RULE_NONE UINT32_MAX
#define BP_RULE_HAS_LAST 2u /* bit of stateful: quiet or deadband */

/* Whether a worker can evaluate a value by this rule immediately, and how it finds the value. */
enum bp_rule_fast {
	BP_RULE_FAST_NO, /* it keeps state; see fast_window */
	BP_RULE_FAST_TEXT,
	BP_RULE_FAST_JSON,
	BP_RULE_FAST_BINARY,
	BP_RULE_FAST_PART, /* a part of a combination, text */
	BP_RULE_FAST_SPARKPLUG,
	BP_RULE_FAST_NO_SPARKPLUG, /* as BP_RULE_FAST_NO, with a value of Sparkplug B */
};

enum bp_rule_role {
	BP_RULE_PLAIN,
	BP_RULE_COMBINATION, /* no filter matches it: its parts are rules of their own */
	BP_RULE_PART,        /* evaluates its combination */
};

/* Of a combination. */
struct bp_rule_combination {
	uint32_t first_part;
	uint8_t n_parts, n_names;
	struct bp_program program;
};
/* Of a part. Names have the order of the first part's filter. */
struct bp_rule_part {
	uint64_t max_age_ns; /* 0: no limit */
	uint32_t combination;
	uint32_t slot;  /* of the combination */
	uint8_t part;   /* its index there */
	uint8_t steady; /* truths, enum bp_truth as bits: a value that repeats one of them changes
			   neither the state nor the alarms of the combination */
	uint16_t level[BP_COMBINATION_NAMES_MAX]; /* of each name, in the filter */
};

struct bp_rule {
	/* first line: all that judging a value needs */
	uint64_t uid; /* hash of the whole definition: an unchanged rule keeps its state */
	struct bp_condition raise;
	uint8_t has_clear, hold, repeat, action;
	uint32_t hold_count;
	uint32_t source;  /* index into sources; equal sources are one */
	uint32_t slot;    /* of its statistics; kept over a reload when the rule is unchanged */
	uint32_t next;    /* next rule on the same filter, or BP_RULE_NONE */
	uint8_t fast;     /* enum bp_rule_fast */
	uint8_t stateful; /* bp_rule_spec_stateful(), and BP_RULE_HAS_LAST */
	uint8_t payload;
	uint8_t to_client;   /* `to` holds {client} */
	uint8_t destination; /* enum bp_destination_choice */
	uint8_t severity;    /* enum bp_severity; no part of uid, so a change keeps the state */
	uint8_t absent;      /* absent_ns is set: the payload is not read */
	uint8_t role;        /* enum bp_rule_role */
	uint8_t name_len;
	uint16_t to_len;
	uint8_t value_type;  /* enum bp_value_type, for readers: that of its source */
	uint8_t windowed;    /* the conditions evaluate `window` */
	uint8_t fast_window; /* enum bp_rule_fast, of a window without other state */
	/* second line and on */
	struct bp_short_ranges short_raise; /* `raise`, for short numbers */
	struct bp_condition clear;
	struct bp_window_spec window;
	uint64_t hold_ns;
	uint64_t absent_ns;
	uint8_t literal;   /* the filter has no wildcard */
	uint64_t quiet_ns; /* 0: none */
	double deadband;   /* 0: none */
	uint16_t filter_len;
	uint32_t filter; /* offset of its text from the image's start */
	union {
		struct bp_rule_combination combination;
		struct bp_rule_part part;
	};
	char name[BP_RULE_NAME_MAX + 1];
	char to[BP_RULE_TO_MAX + 1];
} __attribute__((aligned(64)));

/* A rule with a window. */
struct bp_ruleset_window {
	uint64_t uid;
	uint32_t rule; /* index */
	uint32_t pad;
};

/* Of the rules of the policy: shm/rules/policy_index.h. */
struct bp_policy_index {
	uint32_t nodes, n_nodes;   /* offset; 0: there is none, and all rules are tested */
	uint32_t slots, slot_mask; /* offset; their number - 1 */
	uint32_t not_allowing;     /* first rule of these; BP_RULE_NONE: there are none */
};

struct bp_ruleset {
	uint64_t generation; /* 0: empty, never built */
	uint64_t size;       /* bytes of the image */
	uint64_t loaded_ns;  /* Unix time */
	uint32_t n_rules;    /* of the configuration; the parts of combinations follow them */
	uint32_t n_parts, n_sources, n_nodes, n_absent;
	uint32_t rules, sources, nodes; /* offsets from the image's start */
	uint32_t absent;                /* likewise: the indexes of the absence rules */
	uint32_t edges, edge_mask;      /* offset; slots - 1 */
	uint32_t strings, n_strings;    /* offset; of rules with values of type string */
	uint64_t edge_key;              /* of the level hash */
	uint32_t n_sparkplug;           /* rules with a value of Sparkplug B */
	uint32_t pad;
	uint64_t window_pane_ns; /* shortest pane of the windows that expire; 0: there are none */
	uint32_t windows, n_windows; /* offset; of struct bp_ruleset_window, by ascending uid */
	uint32_t policy, n_policy;   /* offset; of struct bp_policy_rule */
	uint32_t n_policy_values;    /* rules of the policy with a value */
	struct bp_policy_index policy_index;
	uint32_t policy_closed_ports; /* bit i: policy_fail of port i is closed */
	uint8_t policy_given;         /* there is a policy */
	uint8_t policy_preset;        /* enum bp_policy_action of what matches none of its rules */
	uint8_t policy_refuses;       /* an action of the policy is more than to observe */
	uint8_t policy_fail;          /* enum bp_policy_fail, where the port is not known */
	uint8_t policy_fallback;      /* enum bp_policy_fallback */
	uint8_t policy_on_reload;     /* enum bp_policy_on_reload */
	uint8_t policy_quarantine_len;
	char policy_quarantine[BP_POLICY_QUARANTINE_MAX + 1];
	uint64_t policy_uid; /* of its rules, their order, the default, fail and policy_on_reload */
	struct bp_mirror_target clone;
};

/* The number of rules and parts. */
static inline uint32_t bp_ruleset_all(const struct bp_ruleset *rs)
{
	return rs->n_rules + rs->n_parts;
}
static inline const struct bp_rule *bp_ruleset_rule(const struct bp_ruleset *rs, uint32_t i)
{
	return (const struct bp_rule *)((const uint8_t *)rs + rs->rules) + i;
}
/* The text of its topic filter, filter_len bytes. */
static inline const char *bp_ruleset_filter(const struct bp_ruleset *rs, const struct bp_rule *r)
{
	return (const char *)rs + r->filter;
}
static inline const struct bp_value_source *bp_ruleset_source(
	const struct bp_ruleset *rs, uint32_t i)
{
	return (const struct bp_value_source *)((const uint8_t *)rs + rs->sources) + i;
}

static inline const uint32_t *bp_ruleset_absent(const struct bp_ruleset *rs)
{
	return (const uint32_t *)(const void *)((const uint8_t *)rs + rs->absent);
}
/* The strings of a source; NULL: it has none. */
static inline const struct bp_value_strings *bp_ruleset_strings(
	const struct bp_ruleset *rs, const struct bp_value_source *source)
{
	return source->strings == 0
		       ? NULL
		       : (const struct bp_value_strings *)((const uint8_t *)rs + rs->strings) +
				 (source->strings - 1);
}

/* The index of the rule with a window and this uid, or BP_RULE_NONE. Works on an image with
 * generation 0. */
uint32_t bp_ruleset_window(const struct bp_ruleset *rs, uint64_t uid);

/*
 * Calls `found` with the index of the first rule of every filter that matches (bp_rule.next has the
 * other rules of that filter). `topic` is a valid topic name. Filters that begin with a wildcard do
 * not match topics that begin with $ (MQTT 5.0, 4.7.2). Works on an image with generation 0.
 * Returns the number of visited nodes, for work accounting.
 */
typedef void (*bp_rule_found)(uint32_t first_rule, void *arg);
uint32_t bp_ruleset_match(const struct bp_ruleset *rs, const uint8_t *topic, uint32_t len,
	bp_rule_found found, void *arg);

/*
 * The size of a bank in the segment: the memory of max_rules rules, each with about 1 KiB for its
 * topic filter (some ten levels that no other filter shares). The bank must be aligned to 64 bytes.
 */
uint64_t bp_ruleset_bank_size(uint32_t max_rules);

/* What an image is made of. */
struct bp_policy_spec;
struct bp_ruleset_input {
	const struct bp_rule_spec *specs;
	uint32_t n, max_rules;
	const struct bp_mirror_target *clone; /* NULL: none */
	const struct bp_policy_spec *policy;  /* NULL: none */
	uint32_t max_policy_rules;
	const struct bp_ruleset *old; /* NULL: none */
	uint64_t generation, now_ns;
};

/*
 * Control plane: builds the image of `specs` in bank[0..bank_size). `old` (may be NULL) is the
 * active image: rules with the same uid keep their slot; new rules get free slots below max_rules,
 * first those that `old` does not use, so that a slot has two rules during the change only when
 * there is no other. `old` may be in the same bank. Rule i of the image is specs[i]; a part counts
 * as a rule in max_rules. Returns 0, or
 * -1 with a sentence in err (too many rules, names or filters that do not fit, an invalid filter);
 * the bank is then unchanged.
 */
int bp_ruleset_compile(void *bank, uint64_t bank_size, const struct bp_ruleset_input *input,
	char *err, size_t err_size);
/* Likewise, without a policy. */
static inline int bp_ruleset_build(void *bank, uint64_t bank_size, const struct bp_rule_spec *specs,
	uint32_t n, uint32_t max_rules, const struct bp_mirror_target *clone,
	const struct bp_ruleset *old, uint64_t generation, uint64_t now_ns, char *err,
	size_t err_size)
{
	return bp_ruleset_compile(bank, bank_size,
		&(struct bp_ruleset_input){.specs = specs,
			.n = n,
			.max_rules = max_rules,
			.clone = clone,
			.old = old,
			.generation = generation,
			.now_ns = now_ns},
		err, err_size);
}

/*
 * Whether every offset and index of an image in bank[0..bank_size) stays inside it, and every slot
 * is below max_rules, so that bp_ruleset_match(), the accessors and the readers of values can trust
 * it; of the policy, all but the slots. Generation 0 is valid. For processes that open a segment
 * written by others.
 */
bool bp_ruleset_valid(const struct bp_ruleset *rs, uint64_t bank_size, uint32_t max_rules);
/* Whether it can be read; without its strings. */
bool bp_value_source_valid(const struct bp_value_source *s);

#endif
