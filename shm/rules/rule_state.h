/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULE_STATE_H
#define BP_SHM_RULES_RULE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/rules/ruleset.h"

/*
 * The state for hysteresis, hold and on_change, per (rule, topic). It is in the segment, so that it
 * survives a restart of the data plane, and is shared by the workers, because a device that
 * reconnects may be assigned to another worker: changed by compare-and-swap, no lock.
 *
 * Only pairs that are raised or holding have an entry: other pairs are equivalent to unseen ones,
 * so a plant without alarms needs no entries. With `quiet`, a pair has a second entry until the
 * quiet time ends, and with `deadband` another one while it is raised. Buckets of
 * BP_RULE_STATE_WAYS entries. A full bucket replaces the LRU entry among these: those of the same
 * client; those that were not used for BP_RULE_STATE_IDLE_NS; those of a client that has over half
 * of the table. Where there is none, the new state is not stored, so that a client that invents
 * topics evicts only its own states.
 */
#define BP_RULE_STATE_WAYS 4
#define BP_RULE_STATE_IDLE_NS (3600 * 1000000000ull)

struct bp_rule_state {
	_Atomic uint64_t key;  /* of (rule, topic); 0: free */
	_Atomic uint64_t word; /* bit 63 raised, bit 62 holding; bits 0..61: hold count, or
				* start of the hold, ns; raised: number of the transition, and
				* above it a count, see struct bp_rule_reading; both bits: a
				* claim, see state_table.c. Of a last alarm: see rule_last.c */
	_Atomic uint64_t used_ns;
	_Atomic uint32_t client; /* that used it last */
	_Atomic uint32_t value;  /* its value, as the bits of a float: for people */
} __attribute__((aligned(16)));  /* key and word are swapped together */

struct bp_rule_undo;

/* The result of an evaluated value. */
enum bp_verdict { BP_VERDICT_NOTHING, BP_VERDICT_RAISED, BP_VERDICT_CLEARED };

/*
 * Number of a transition, from a raise to its clear: the Unix time of the raise in units of 2^14
 * ns, and higher than the number of each earlier raise in this worker. Together with the rule and
 * the topic it identifies an alarm at all gateways of a fleet, and needs no memory of pairs that
 * are not raised. 48 bits last until 2116.
 */
#define BP_TRANSITION_SHIFT 14
#define BP_TRANSITION_BITS 48
static inline uint64_t bp_transition_next(uint64_t unix_ns, uint64_t last)
{
	const uint64_t now = unix_ns >> BP_TRANSITION_SHIFT;

	return (now > last ? now : last + 1) & (((uint64_t)1 << BP_TRANSITION_BITS) - 1);
}

/* The states that were lost. */
enum bp_state_loss {
	BP_STATE_NO_LOSS,
	BP_STATE_HOLD_EVICTED,
	BP_STATE_RAISED_EVICTED,
	BP_STATE_NOT_KEPT, /* the new state: the value was evaluated as the first of its pair */
};

/*
 * Entries (a multiple of the ways, a power of two) for at least n states: twice as many, so that
 * hardly a bucket is full when n are in use.
 */
uint64_t bp_rule_state_len(uint32_t n);

/*
 * Evaluates `value` for the rule. *transition: the number of a raise that begins with this value;
 * returns the number of the transition to which the verdict belongs. topic_hash: 64 bits of the
 * topic under the segment's key. client: the publishing client, any number but 0. now_ns: any
 * monotonic clock, the same for all workers to within a second. *loss: whether a state was evicted
 * for this one, or this one was not stored (also when 4096 attempts each collided with other
 * workers). A stateless rule never uses the table.
 *
 * - raise holds (for hold_count values in a row, or on every value for hold_ns): the pair becomes
 *   raised and the verdict is RAISED; while it stays so, RAISED again with repeat every, NOTHING
 *   with on_change.
 * - raised and `clear` holds: CLEARED. Without `clear`, the pair is no longer raised as soon
 *   as raise does not hold; with on_change this is CLEARED, with every it is NOTHING.
 * - with `clear`, a value that satisfies neither leaves a raised pair unchanged; one that satisfies
 *   both counts as raise.
 * - a value for which raise does not hold restarts the count or the time of a pair that is not yet
 *   raised.
 * - with `quiet`, a pair does not become raised, and is not RAISED again, for that time after its
 *   last alarm: a raise, a repetition or a clear. A hold continues meanwhile.
 * - with `deadband`, it is RAISED again only if the value differs by more from that of its last
 *   RAISED.
 */
enum bp_verdict bp_rule_evaluate(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss);

/*
 * Another gateway has raised (RAISED) or cleared (CLEARED) the pair, with this number: the state is
 * the same here then. A clear of an earlier transition than that of the table changes nothing. The
 * rule is stateful. Returns whether a state was lost for it; BP_STATE_NOT_KEPT: it was not stored.
 */
enum bp_state_loss bp_rule_state_adopt(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, enum bp_verdict verdict,
	uint64_t transition, uint64_t now_ns);

/*
 * A hold in progress, as the gateways of a fleet share it: the number of values in a row, or the
 * time of the first one, by the clock of now_ns; 0: there is none. Returns whether the evaluation
 * that wrote the record has changed it; false also for a rule without hold. A raised pair has none,
 * unless its rule raises on every value and never clears: then the hold is complete.
 */
bool bp_rule_hold_changed(const struct bp_rule *rule, const struct bp_rule_undo *u,
	uint64_t topic_hash, uint64_t now_ns, uint64_t *hold);
/* Another gateway has changed the hold: it is the same here then, unless the pair is raised. The
 * rule has a hold. */
enum bp_state_loss bp_rule_state_adopt_hold(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint64_t hold, uint64_t now_ns);

/* The state of a pair, as another process reads it. */
struct bp_rule_state_view {
	bool raised, holding;
	bool quiet;          /* with `quiet`: last_ns is known */
	uint64_t last_ns;    /* monotonic time of the last alarm */
	uint64_t hold_count; /* holding, BP_HOLD_COUNT: values in a row */
	uint64_t since_ns;   /* raised: Unix time of the raise; holding, BP_HOLD_TIME: monotonic
				time of the first value */
	uint64_t used_ns;    /* of the last value that changed or confirmed the state */
	float value;         /* that value */
};
/* Any process. False: the pair has no state, as an unseen one. The table is untrusted. */
bool bp_rule_state_find(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_rule_state_view *v);

/* Describes the change of an entry before it is made. */
struct bp_rule_undo {
	uint64_t entry; /* UINT64_MAX: nothing is changed */
	uint64_t old_key, old_word, new_key, new_word;
};
/* Undoes such a change, if it was made and the entry is unchanged since. `u` is untrusted. */
void bp_rule_undo(struct bp_rule_state *table, uint64_t len, const struct bp_rule_undo *u);

/* The number of changes of one evaluation. */
#define BP_RULE_UNDOS_MAX 3u
static inline unsigned bp_rule_undos(const struct bp_rule *rule)
{
	return rule->stateful & BP_RULE_HAS_LAST ? BP_RULE_UNDOS_MAX : 1;
}

/*
 * A value that depends on more than one publication: read() is called after the state of the pair
 * was read, and again whenever another worker has changed or confirmed the state meanwhile. False:
 * there is no value now, and the state stays as it is.
 */
struct bp_rule_reading {
	bool (*read)(struct bp_rule_reading *r, double *value);
	bool shared; /* other workers evaluate the pair: a state that is raised counts their
			evaluations */
};

/* As above. `undo`: NULL, or bp_rule_undos() records for undoing it, the last one first; each has
 * the entry UINT64_MAX, and keeps it if it is not needed. */
enum bp_verdict bp_rule_evaluate_undo(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss, struct bp_rule_undo *undo);
/* The same for a value that is read meanwhile; the rule is stateful. */
enum bp_verdict bp_rule_evaluate_reading(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client,
	struct bp_rule_reading *reading, uint64_t now_ns, uint64_t *transition,
	enum bp_state_loss *loss, struct bp_rule_undo *undo);

#endif
