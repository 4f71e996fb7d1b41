/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_WORKER_H
#define BP_DATAPLANE_TRANSFORM_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/nodes/edge_batch.h"
#include "dataplane/workers/mbuf_stock.h"
#include "dataplane/transform/avx512.h"
#include "dataplane/workers/worker.h"
#include "shm/transform/transform.h"
#include "services/transform/layout.h"
#include "proto/transform/transform_matrix.h"
#include "services/transform/method.h"

struct bp_config;

/*
 * What a worker has for coordinate transformation: the rules in force and the arrays in which it
 * works on a burst. A burst goes through in steps, each over all of its readings: validated,
 * sources found, points read, made Cartesian, and then for each receiver moved by its matrix,
 * written and sent. All frames leave in the order in which they came, those that are no readings
 * too.
 *
 * Rules and matrices are the segment's (shm/transform/transform.h): the worker takes the bank in
 * force before each graph walk. Until there is one for its ports, readings that its own file has a
 * rule for are dropped: none leaves untransformed.
 */
_Static_assert(BP_TRANSFORM_BURST >= BP_RX_BURST, "a burst's readings are worked on together");
_Static_assert(BP_TRANSFORM_BURST >= BP_TRANSFORM_RECEIVERS_MAX, "and a reading's receivers");

/* Copies made at one go: a stream between nodes holds 65,535 frames, and no port's queue takes so
 * many. */
#define BP_TRANSFORM_COPIES_MOST 16384u

#define BP_EDGE_TAKEN UINT8_MAX /* no edge: the frame is a reading */

/* A rule in force, as readings need it. */
struct bp_transform_worker_rule {
	struct bp_transform_layout layout;
	const struct bp_transform_ops *ops;
	struct bp_transform_rule_stats *stats; /* this worker's */
	uint32_t otherwise;                    /* row of unknown sources */
	uint8_t method;
	bool drop_unknown, drop_overflow;
};

/* A receiver's datagram that is worked on. */
struct bp_transform_pair {
	const struct bp_transform_row *row;
	uint8_t *frame;
	uint8_t flags;    /* BP_TRANSFORM_* */
	uint8_t place;    /* among the readings */
	uint8_t tx_index; /* place among what leaves */
};

struct bp_transform_burst {
	struct rte_mbuf *const *m;
	unsigned n;               /* readings */
	unsigned n_same_template; /* of these with the head that t->template has */
	bool one_receiver;        /* each has one receiver, and none was refused */
	bool single_source;       /* all readings are of one source */
	uint8_t edge[BP_RX_BURST];
	uint8_t at[BP_RX_BURST]; /* of each reading: which frame */
	struct bp_transform_sample sample[BP_RX_BURST];
	uint8_t *payload[BP_RX_BURST];
	uint32_t source[BP_RX_BURST]; /* UINT32_MAX: unknown */
	uint32_t row[BP_RX_BURST];    /* its receivers */
	uint64_t hash[BP_RX_BURST];   /* of its source with the rule's longest prefix */
	uint8_t n_rows[BP_RX_BURST];  /* 0: it is dropped */
	bool same_rule;               /* all are of one rule */
	struct bp_transform_points points;
	struct bp_transform_avx512_burst
		avx512; /* of one tracker's readings, instead of reading[] */
	/* datagrams for receivers */
	unsigned n_pairs, n_tx;
	struct bp_transform_pair pair[BP_TRANSFORM_BURST];
	const double *matrix[BP_TRANSFORM_BURST];
	struct bp_transform_points results;
	double copied[BP_TRANSFORM_BURST][12]; /* matrices */
	const double *last;                    /* of these, the one read last; NULL: none */
	/* what leaves, in order, frames that are no readings too */
	struct rte_mbuf *tx_frames[BP_RX_BURST + BP_TRANSFORM_BURST];
	uint8_t tx_edge[BP_RX_BURST + BP_TRANSFORM_BURST];
};

struct bp_transform_worker {
	struct bp_worker *worker;
	const struct bp_transform_tables *tables;
	struct bp_transform_view view; /* bank NULL: none of this worker's ports is in force */
	uint64_t active;               /* of the head, as it was taken */
	uint64_t ports_key;
	uint32_t ports_with_entries;  /* bit a port: has entries */
	uint32_t copies;              /* made since the node was entered */
	uint8_t numbers[BP_RX_BURST]; /* 0, 1, 2, ... */
	/* by length: what bp_transform_words() keeps; of every number that a length can be */
	uint64_t prefix[UINT8_MAX + 1][2];
	struct bp_edge_batch out;
	void *out_frames[BP_EDGE_BATCH_SIZE];
	bool avx512_supported;       /* the processor can validate eight at a time */
	struct bp_template template; /* while rules stay as they are */
	struct bp_agg_match match;
	struct bp_transform_worker_rule rule[BP_TRANSFORM_RULES_MAX];
	struct bp_transform_bank *taken; /* head and rules of the bank, as they were validated */
	/* the matrix read last, and of which row and state: a tracker alone costs a comparison */
	const struct bp_transform_row *last_row;
	uint64_t last_state;
	double last[12];
	struct bp_mbuf_stock stock;                     /* of copies; empty between bursts */
	struct bp_transform_source_stats *source_stats; /* this worker's */
	struct bp_transform_rule_stats *rule_stats;
	struct bp_transform_points scratch;
	struct bp_transform_burst burst;
	const struct bp_transform_config *own; /* what the worker's own file says */
	/* whose figures the statistics are */
	unsigned n_counted;
	struct bp_transform_rule counted[BP_TRANSFORM_RULES_MAX];
};

/* The configuration's entries, until there is a bank, and this segment's tables. NULL: no memory.
 */
struct bp_transform_worker *bp_transform_worker_create(
	const struct bp_config *c, const struct bp_transform_tables *tables, unsigned worker);
void bp_transform_worker_free(struct bp_transform_worker *t); /* NULL is allowed */

/* Once the worker's pool and `onward` are known; before the first
 * bp_transform_worker_apply_pending(). */
void bp_transform_worker_begin(struct bp_transform_worker *t, struct bp_worker *w);

/* Before each graph walk: the bank in force. */
void bp_transform_worker_apply_generation(struct bp_transform_worker *t);
static inline void bp_transform_worker_apply_pending(struct bp_transform_worker *t)
{
	if (unlikely(bp_generation_active(&t->tables->generation) != t->active))
		bp_transform_worker_apply_generation(t);
}
/* The worker reads no bank any more. */
void bp_transform_worker_end(struct bp_transform_worker *t);

/* Frames, at most BP_RX_BURST, of ports with entries: all are on their way then. */
void bp_transform_burst_process(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);

/* ---- its parts ---- */

/* Which frames are readings, and of whom: fills all of the burst up to row[] and n_rows[]; frames
 * that are none, or are refused, have their edge. */
void bp_transform_collect(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);
/* The source of the first reading alone: source[0], row[0] and n_rows[0]; without a known source
 * n_rows[0] may be 0, and no frame was dropped. */
void bp_transform_find_source(struct bp_transform_worker *t);
/* Processes n frames, at least eight, if all are readings like the template of one tracker with one
 * receiver, and t->avx512_supported. False: they are not, or that is not certain, and nothing was
 * done. */
bool bp_transform_single_stream(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);
/* Sends all of the burst's n frames, the readings to their receivers. */
void bp_transform_send(struct bp_transform_worker *t, unsigned n);

static inline void bp_transform_stat_add(_Atomic uint64_t *stat, uint64_t n)
{
	atomic_store_explicit(
		stat, atomic_load_explicit(stat, memory_order_relaxed) + n, memory_order_relaxed);
}

/* This worker's figures of a source; those of another one that had its number are gone. */
static inline struct bp_transform_source_stats *bp_transform_source_stats_of(
	struct bp_transform_worker *t, uint32_t source)
{
	struct bp_transform_source_stats *s = &t->source_stats[source];
	const uint64_t uid = t->view.source[source].uid;

	if (unlikely(atomic_load_explicit(&s->uid, memory_order_relaxed) != uid)) {
		atomic_store_explicit(&s->uid, 0, memory_order_release);
		atomic_store_explicit(&s->readings, 0, memory_order_relaxed);
		atomic_store_explicit(&s->saturated, 0, memory_order_relaxed);
		atomic_store_explicit(&s->refused, 0, memory_order_relaxed);
		atomic_store_explicit(&s->uid, uid, memory_order_release);
	}
	return s;
}

/* What a worker has for it; NULL: it has none. */
static inline struct bp_transform_worker *bp_transform_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_TRANSFORM];
}

#endif
