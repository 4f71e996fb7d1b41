/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_H
#define BP_SHM_RULES_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/window.h"
#include "shm/rules/exact_sum.h"
#include "shm/rules/ruleset.h"
#include "shm/rules/watch.h"

/*
 * The windows of rules, per (rule, topic), in the segment: they survive a restart of the data
 * plane, and are shared by the workers.
 *
 * Each bucket has its keys in one cache line, and a cell of the same size for each key. Where there
 * are several workers, one changes a bucket and its cells only while it owns the lock of the
 * bucket, for some tens of nanoseconds, and tries only BP_WINDOW_TRIES times to get it. The number
 * of a worker is the owner: a worker that starts releases what a process that was killed has left
 * locked. A cell that such a process was changing is restored from the journal of the worker, or
 * else emptied, which is counted. Readers of other processes copy a cell, and use the copy if it
 * was not changed meanwhile.
 *
 * A full bucket replaces the window of a rule that is no longer active, or the LRU window among
 * these: those of the same client; those that were not used for BP_WINDOW_IDLE_NS; those of a
 * client that has over half of the table. Where there is none, the new window is not stored.
 */
#define BP_WINDOW_WAYS 7
#define BP_WINDOW_TRIES 4096u
#define BP_WINDOW_IDLE_NS (3600 * 1000000000ull)
#define BP_WINDOW_PANES 16u
#define BP_WINDOW_FEW 32u /* values that any function visits in a short time */

struct bp_window_bucket {
	_Atomic uint64_t lock; /* the lowest 16 bits: owner + 1; 0: none. Above: changes so far */
	_Atomic uint64_t key[BP_WINDOW_WAYS]; /* of (rule, topic); 0: free */
};

/* What a value changes, besides one slot or pane. */
struct bp_window_state {
	uint64_t changes; /* of this cell, so far: identifies a change for its undo */
	uint64_t last_ns; /* newest value */
	union {
		struct bp_exact_sum sum; /* of values: of those that are representable */
		struct {
			uint64_t pane;    /* of a time: number of the newest pane; first: any one */
			uint64_t pane_ns; /* and its end */
		};
	};
	uint64_t begin_ns; /* first value of the window; of a time window: since it is observed */
	double result;     /* the last one */
	uint32_t n;        /* values: in the window; time: of the newest pane */
	uint32_t at;       /* values: slot of the next value; else the last period had values */
	uint32_t outside;  /* values: that are in the window and not in `sum` */
	uint16_t full;     /* there is a result for each value */
	uint16_t has_result;
};

#define BP_WINDOW_COARSENING (1u << 16)
struct bp_window {
	struct bp_window_state state;
	/* of its last use */
	uint64_t uid; /* of the rule */
	uint64_t used_ns;
	uint32_t client;
	/* worker + 1 that changes state and data, with BP_WINDOW_COARSENING if the change has no
	 * undo; 0: they are consistent */
	uint32_t changing;
	uint64_t unlogged;       /* of the last change without undo: bp_window_unlogged() */
	_Atomic uint64_t due_ns; /* when it expires: bp_window_expire(); 0: never */
	uint64_t topic_hash;     /* of the text; 0: there is none */
	uint64_t pad[2];
	/* values, struct bp_window_timed or panes; at the end of the cell struct bp_watch_topic */
	uint64_t data[];
};
_Static_assert(sizeof(struct bp_window_state) == 64 && sizeof(struct bp_window) == 128,
	"one layout for all processes");

/* A value with its time: functions that need times. */
struct bp_window_timed {
	double value;
	uint64_t ns;
};

/* A sixteenth of a time window. */
struct bp_window_pane {
	uint64_t number; /* another one: the pane is empty */
	uint32_t n;
	uint32_t pad;
	double a, b, c; /* of the function: shm/rules/window_panes.c */
	uint64_t first_ns, last_ns;
	uint64_t pad2;
};
_Static_assert(sizeof(struct bp_window_pane) == 64, "one layout for all processes");

struct bp_window_table {
	struct bp_window_bucket *bucket;
	uint8_t *cells;
	uint64_t buckets;
	uint64_t stride; /* bytes of a cell */
	bool exclusive;  /* there is one worker: it needs no lock */
};

/* Bytes of a cell for windows of this many values. */
uint64_t bp_window_stride(uint32_t max_values);
/* Buckets for at least n windows: twice as many cells, so that hardly a bucket is full. */
uint64_t bp_window_buckets(uint32_t n);
/* Values of this function that a cell of the stride has space for. */
static inline uint32_t bp_window_capacity(uint64_t stride, enum bp_window_function f)
{
	const uint64_t data = stride - sizeof(struct bp_window) - sizeof(struct bp_watch_topic);
	const uint64_t n =
		data / (f == BP_WINDOW_RATE ? sizeof(struct bp_window_timed) : sizeof(double));

	return n < BP_WINDOW_VALUES_MAX ? (uint32_t)n : BP_WINDOW_VALUES_MAX;
}
/* Whether a cell has space for the values of the window. */
static inline bool bp_window_fits(const struct bp_window_table *t, const struct bp_window_spec *w)
{
	return w->values <= bp_window_capacity(t->stride, (enum bp_window_function)w->function);
}

/* Whether the window is a percentile over time, of classes of values. */
bool bp_window_in_classes(const struct bp_window_spec *w);
/* The classes that a cell of the stride has space for; 0: fewer than the minimum. */
#define BP_WINDOW_CLASSES_MIN 32u
#define BP_WINDOW_CLASSES_MAX 112u
uint32_t bp_window_classes(uint64_t stride);
/* Values of a window with space for this many. */
#define BP_WINDOW_CLASSES_VALUES 296u

/* Describes a change of a cell before it is made. */
#define BP_WINDOW_UNIT 64u /* a pane is the largest unit that a value changes */
enum bp_window_undo_form {
	BP_WINDOW_UNDO_MOVE,  /* a value took the place of the oldest one in a full window */
	BP_WINDOW_UNDO_STATE, /* state and unit */
	BP_WINDOW_UNDO_ALL,   /* and whose window it is, and when it is due */
};
struct bp_window_undo {
	uint64_t cell;   /* UINT64_MAX: nothing is changed */
	uint32_t offset; /* of the unit in the data, bytes */
	uint16_t len;    /* of the unit */
	uint16_t form;   /* enum bp_window_undo_form */
	union {
		struct { /* as in the state, but for the value: the record is one cache line */
			uint64_t changes, last_ns;
			struct bp_exact_sum sum;
			double result, value;
		} move;
		struct {
			struct bp_window_state state;
			uint8_t unit[BP_WINDOW_UNIT];
			uint64_t old_key, old_uid, old_due_ns;
		};
	};
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct bp_window_undo, move.value) + sizeof(double) == 64 &&
		       offsetof(struct bp_window_undo, move.changes) ==
			       offsetof(struct bp_window_undo, state.changes),
	"all forms have the number of changes");

enum bp_window_result {
	BP_WINDOW_VALUE, /* *value is the result */
	BP_WINDOW_NONE,  /* no result yet: the window is not full, or has none by definition */
	BP_WINDOW_BUSY,  /* another worker did not release the bucket: the value is not counted */
	BP_WINDOW_NOT_STORED, /* the bucket is full of windows of others: likewise */
};

/* Who published, for results of a window that expires. */
struct bp_window_origin {
	const uint8_t *topic, *client_ip, *client_id;
	uint16_t topic_len, client_port, client_id_len;
	bool ip6;
};

/* The user of a window. */
struct bp_window_use {
	const struct bp_ruleset *rules; /* the active ones */
	const struct bp_rule *rule;     /* has a window */
	uint64_t topic_hash;
	uint64_t now_ns; /* any monotonic clock, the same for all workers to within a second */
	uint32_t client; /* the publishing client, any number but 0 */
	uint16_t worker;
	uint64_t unlogged;           /* bp_window_unlogged(), where undo is NULL */
	struct bp_window_undo *undo; /* or NULL */
	const struct bp_window_origin *origin;
	/* results */
	bool evicted;    /* another window was replaced */
	bool coarsened;  /* the classes of a percentile: their error has doubled */
	bool not_shown;  /* the topic is too long for results without a value */
	bool inexact;    /* all values were visited, since their sum is not exact */
	uint64_t due_ns; /* of the window; 0: never */
};
/* Adds a finite value to the window of (rule, topic). */
enum bp_window_result bp_window_add(
	const struct bp_window_table *t, struct bp_window_use *u, double value, double *result);

/* Whether a value does not visit the other ones, as long as their sum is exact. */
static inline bool bp_window_moves(const struct bp_window_spec *w)
{
	return w->function == BP_WINDOW_MEAN || w->function == BP_WINDOW_SUM ||
	       w->function == BP_WINDOW_COUNT || w->function == BP_WINDOW_DELTA;
}
/* Whether a value has a short bounded cost, but for sums that are not exact. A percentile is
 * ranked by counting, which costs the same for few values. */
static inline bool bp_window_is_fast(const struct bp_window_spec *w)
{
	return w->values != 0 && w->function != BP_WINDOW_PERCENTILE &&
	       (w->values <= BP_WINDOW_FEW || bp_window_moves(w));
}

/* Whether the window has results when its time passes without a value. */
bool bp_window_expires(const struct bp_window_spec *w);
/* The time of a pane of a time window. */
static inline uint64_t bp_window_pane_ns(const struct bp_window_spec *w)
{
	return w->tumbling ? w->time_ns : w->time_ns / BP_WINDOW_PANES;
}
/* A window whose time has passed. */
struct bp_window_expired {
	uint32_t rule; /* index */
	double result;
	struct bp_watch_topic text; /* of its last value */
};
/* Evaluates the window in this cell if it is due; u: rules, now_ns, worker and undo are set. True:
 * it has a result that its rule evaluates. */
bool bp_window_expire(const struct bp_window_table *t, struct bp_window_use *u, uint64_t cell,
	struct bp_window_expired *out);
/* When the window in this cell is due; 0: never. */
uint64_t bp_window_due(const struct bp_window_table *t, uint64_t cell);

/* Undoes a change of this worker, whose process was killed. `u` is untrusted. False: another worker
 * has changed the window since, and it was emptied. */
bool bp_window_undo(
	const struct bp_window_table *t, const struct bp_window_undo *u, uint16_t worker);
/* Empties the windows that were changed with this number; returns how many. */
uint64_t bp_window_empty_unlogged(const struct bp_window_table *t, uint64_t unlogged);
/* Releases the buckets that an earlier process of this worker, or of one that no longer exists,
 * has left locked. Returns how many windows had to be emptied. */
uint64_t bp_window_recover(const struct bp_window_table *t, uint16_t worker, uint16_t workers);

/* The changes of one segment by one worker. */
static inline uint64_t bp_window_unlogged(uint64_t serial, uint16_t worker)
{
	return serial << 16 | (uint64_t)(worker + 1);
}

/* The window of a pair, as another process reads it. */
struct bp_window_view {
	struct bp_window_state state;
	uint64_t used_ns;
	uint32_t n; /* values in the window */
};
/* False: the pair has no window, or it changes too fast to be read. The table is untrusted. */
bool bp_window_find(const struct bp_window_table *t, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_window_view *v);

#endif
