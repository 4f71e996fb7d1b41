/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULE_LAST_H
#define BP_SHM_RULES_RULE_LAST_H

#include "shm/rules/state_table.h"

/*
 * The last alarm of a pair: its time for `quiet`, its value for `deadband`, in entries of their own
 * of the table of states, each changed by one compare-and-swap. For shm/rules/rule_state.c alone.
 *
 * The state of the pair is changed first. A worker that is killed in between has published no
 * alarm, and its changes are undone in the reverse order. Where two workers evaluate values of one
 * pair at the same time, the second of them may see the state before it sees the last alarm, and
 * then sends a repetition. A last alarm that is not stored, or evicted, suppresses nothing.
 */

/* The change of the pair's state has its key, its clock, its client, ... */
struct bp_rule_last {
	const struct bp_rule *rule;
	uint64_t topic_hash;
	double value;
	const struct bp_state_change *state;
	struct bp_rule_undo *undo; /* NULL, or all records of the evaluation */
	enum bp_state_loss loss;   /* of the entries here */
};

/* Monotonic time of the last alarm, if it is stored. */
bool bp_rule_last_time(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t *ns);
/* Whether the quiet time after the last alarm has not ended. */
bool bp_rule_is_quiet(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t now_ns);

/* A raise: its time and value are the last. */
void bp_rule_last_raise(struct bp_rule_last *l);
/* A repetition: whether it is sent. It is the last alarm then. */
bool bp_rule_last_repeat(struct bp_rule_last *l);
/* The pair is not raised any more. sent: by an alarm. */
void bp_rule_last_clear(struct bp_rule_last *l, bool sent);
/* Another gateway has raised or cleared the pair now, by a value that is not known here. */
void bp_rule_last_other(struct bp_rule_last *l);
/* The pair is not raised, and not quiet: an entry of its last alarm is not needed. */
void bp_rule_last_expire(struct bp_rule_last *l);

#endif
