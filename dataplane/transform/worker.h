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
 * The per-worker state of coordinate transformation: the active rules, and the arrays for a burst.
 * A burst is processed in steps, each over all of its readings: validation, source lookup, reading
 * of points, conversion to Cartesian; then for each receiver transformation by its matrix, writing
 * and sending. All frames leave in the order of arrival, including those that are not readings.
 *
 * Rules and matrices are in the segment (shm/transform/transform.h): the worker takes the active
 * bank before each graph walk. Until there is one for its ports, readings that match a rule of its
 * own configuration are dropped: no reading leaves untransformed.
 */
_Static_assert(BP_TRANSFORM_BURST >= BP_RX_BURST, "a burst's readings are worked on together");
_Static_assert(BP_TRANSFORM_BURST >= BP_TRANSFORM_RECEIVERS_MAX, "and a reading's receivers");

/*
 * Maximum number of copies in one call of the node: a stream between nodes holds 65,535 frames, and
 * the queue of a port holds fewer.
 */
#define BP_TRANSFORM_COPIES_MOST 16384u

#define BP_EDGE_TAKEN UINT8_MAX /* no edge: the frame is a reading */

/* An active rule, in the form needed per reading. */
struct bp_transform_worker_rule {
	struct bp_transform_layout layout;
	const struct bp_transform_ops *ops;
	struct bp_transform_rule_stats *stats; /* of this worker */
	uint32_t otherwise;                    /* row for unknown sources */
	uint8_t method;
	bool drop_unknown, drop_overflow;
};

/* A datagram for a receiver that is being processed. */
struct bp_transform_pair {
	const struct bp_transform_row *row;
	uint8_t *frame;
	uint8_t flags;    /* BP_TRANSFORM_* */
	uint8_t place;    /* index of the reading */
	uint8_t tx_index; /* index among the output frames */
};

struct bp_transform_burst {
	struct rte_mbuf *const *m;
	unsigned n;               /* readings */
	unsigned n_same_template; /* readings with the head of t->template */
	bool one_receiver;        /* each has one receiver, and none was rejected */
	bool single_source;       /* all readings are of one source */
	uint8_t edge[BP_RX_BURST];
	uint8_t at[BP_RX_BURST]; /* for each reading: the index of its frame */
	struct bp_transform_sample sample[BP_RX_BURST];
	uint8_t *payload[BP_RX_BURST];
	uint32_t source[BP_RX_BURST]; /* UINT32_MAX: unknown */
	uint32_t row[BP_RX_BURST];    /* its receivers */
	uint64_t hash[BP_RX_BURST];   /* hash of its source with the longest prefix of the rule */
	uint8_t n_rows[BP_RX_BURST];  /* 0: it is dropped */
	bool same_rule;               /* all readings are of one rule */
	struct bp_transform_points points;
	struct bp_transform_avx512_burst
		avx512; /* of the readings of one tracker, instead of reading[] */
	/* datagrams to receivers */
	unsigned n_pairs, n_tx;
	struct bp_transform_pair pair[BP_TRANSFORM_BURST];
	const double *matrix[BP_TRANSFORM_BURST];
	struct bp_transform_points results;
	double copied[BP_TRANSFORM_BURST][12]; /* matrices */
	const double *last;                    /* the copy that was read last; NULL: none */
	/* output frames in order, including those that are not readings */
	struct rte_mbuf *tx_frames[BP_RX_BURST + BP_TRANSFORM_BURST];
	uint8_t tx_edge[BP_RX_BURST + BP_TRANSFORM_BURST];
};

struct bp_transform_worker {
	struct bp_worker *worker;
	const struct bp_transform_tables *tables;
	/* bank NULL: no rules are active for the ports of this worker */
	struct bp_transform_view view;
	uint64_t active; /* value of the head when the bank was taken */
	uint64_t ports_key;
	uint32_t ports_with_entries;  /* bit per port: has entries */
	uint32_t copies;              /* since the node was entered */
	uint8_t numbers[BP_RX_BURST]; /* 0, 1, 2, ... */
	/*
	 * by length: the mask for bp_transform_words(); one entry for each value of the length
	 * field
	 */
	uint64_t prefix[UINT8_MAX + 1][2];
	struct bp_edge_batch out;
	void *out_frames[BP_EDGE_BATCH_SIZE];
	bool avx512_supported;       /* the CPU supports validation of eight at a time */
	struct bp_template template; /* valid until the rules change */
	struct bp_agg_match match;
	struct bp_transform_worker_rule rule[BP_TRANSFORM_RULES_MAX];
	struct bp_transform_bank *taken; /* validated copy of the head and rules of the bank */
	/* the last matrix with its row and state: a single tracker costs one comparison */
	const struct bp_transform_row *last_row;
	uint64_t last_state;
	double last[12];
	struct bp_mbuf_stock stock;                     /* for copies; empty between bursts */
	struct bp_transform_source_stats *source_stats; /* of this worker */
	struct bp_transform_rule_stats *rule_stats;
	struct bp_transform_points scratch;
	struct bp_transform_burst burst;
	const struct bp_transform_config *own; /* the configuration file of the worker */
	/* the rules to which the statistics belong */
	unsigned n_counted;
	struct bp_transform_rule counted[BP_TRANSFORM_RULES_MAX];
};

/*
 * Creates the state, with the entries of the configuration until there is a bank, and the tables of
 * this segment. The caller frees it with bp_transform_worker_free(). NULL: no memory.
 */
struct bp_transform_worker *bp_transform_worker_create(
	const struct bp_config *c, const struct bp_transform_tables *tables, unsigned worker);
void bp_transform_worker_free(struct bp_transform_worker *t); /* NULL is allowed */

/*
 * Called once the pool and `onward` of the worker are known, before the first
 * bp_transform_worker_apply_pending().
 */
void bp_transform_worker_begin(struct bp_transform_worker *t, struct bp_worker *w);

/* Called before each graph walk: takes the active bank. */
void bp_transform_worker_apply_generation(struct bp_transform_worker *t);
static inline void bp_transform_worker_apply_pending(struct bp_transform_worker *t)
{
	if (unlikely(bp_generation_active(&t->tables->generation) != t->active))
		bp_transform_worker_apply_generation(t);
}
/* Records that the worker reads no bank any more. */
void bp_transform_worker_end(struct bp_transform_worker *t);

/* Processes at most BP_RX_BURST frames of ports with entries, and enqueues all of them. */
void bp_transform_burst_process(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);

/* ---- its parts ---- */

/*
 * Determines which frames are readings, with their sources: sets all of the burst up to row[] and
 * n_rows[]; frames that are not readings, or are rejected, get their edge.
 */
void bp_transform_collect(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);
/*
 * Finds the source of the first reading only: source[0], row[0] and n_rows[0]. Without a known
 * source, n_rows[0] may be 0, and no frame is dropped.
 */
void bp_transform_find_source(struct bp_transform_worker *t);
/*
 * Processes n frames, at least eight, if all are readings of one tracker that match the template,
 * with one receiver, and t->avx512_supported. False: this is not certain, and no state was changed.
 */
bool bp_transform_single_stream(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n);
/* Sends all n frames of the burst, the readings to their receivers. */
void bp_transform_send(struct bp_transform_worker *t, unsigned n);

static inline void bp_transform_stat_add(_Atomic uint64_t *stat, uint64_t n)
{
	atomic_store_explicit(
		stat, atomic_load_explicit(stat, memory_order_relaxed) + n, memory_order_relaxed);
}

/*
 * Returns the statistics of this worker for a source; those of a former source with the same index
 * are cleared.
 */
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

/* The transformation state of a worker; NULL: transformation is not configured. */
static inline struct bp_transform_worker *bp_transform_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_TRANSFORM];
}

#endif
