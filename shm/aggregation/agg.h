/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_AGGREGATION_AGG_H
#define BP_SHM_AGGREGATION_AGG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/aggregation.h"
#include "shm/segment.h"
#include "shm/seqlock.h"

/*
 * Aggregation in the segment.
 *
 *   table           writer       element
 *   agg_plan        CP           struct bp_agg_shared_rules, one: the rules in force
 *   agg_stats       DP worker    struct bp_agg_stats, [worker * BP_AGG_RULES_MAX + rule]
 *   disagg_stats    DP worker    struct bp_disagg_stats, likewise
 *   agg_streams     DP worker    struct bp_agg_stream_row, [worker * streams + i]
 *
 * A worker begins with the rules of its own copy of the file: a plan that it finds may be that of
 * an earlier file, whose ports were others. It takes each plan that is written from then on, and
 * where that says something else than it has, sends what waits and begins its streams anew. When
 * any port's link goes down it sends what waits, too: aggregates that are being built, and restored
 * messages before their pace lets them go.
 * Statistics belong to (worker, rule) and begin anew when the rules change.
 */

/*
 * With a reload the CP writes it before it stores rules_active, so that a worker which looks here
 * after it has read that sees both, and the answer to the reload, which waits for rules_seen, is
 * true of both: but for a worker that holds so much that it takes some walks to send it, and takes
 * these rules then.
 */
struct bp_agg_shared_rules {
	struct bp_seqlock lock;
	struct bp_agg_rules rules;
};
_Static_assert(sizeof(struct bp_agg_shared_rules) == 8 + sizeof(struct bp_agg_rules) &&
		       sizeof(struct bp_agg_rules) % 8 == 0,
	"the seqlock copies words behind it");

/* Why an aggregate left. */
#define BP_AGG_FLUSHES(X)                                                                          \
	X(FULL, "full", "it held as many messages as configured")                                  \
	X(SIZE, "size", "the next message would have exceeded the MTU")                            \
	X(TIME, "time", "its oldest message had waited max_delay")                                 \
	X(ORDER, "order", "a message of the stream that can't be aggregated came behind it")       \
	X(HEADER, "header", "the next message is for another MAC address")                         \
	X(EVICTED, "evicted", "its stream gave way to a new one at the bound")                     \
	X(RELOAD, "reload", "the rules changed")                                                   \
	X(LINK, "link", "a link went down")                                                        \
	X(STOP, "stop", "the worker was stopped")
enum bp_agg_flush {
#define X(id, name, help) BP_AGG_FLUSH_##id,
	BP_AGG_FLUSHES(X)
#undef X
		BP_AGG_FLUSH_COUNT
};

/* Bucket b counts what took less than 2^b microseconds and not less than 2^(b-1); the last one,
 * what took longer. */
#define BP_AGG_DELAYS 24

/* Of one worker and one entry of `encapsulate`. Octets are those of Ethernet frames without
 * checksum.
 */
struct bp_agg_stats {
	_Atomic uint64_t messages, message_octets;
	_Atomic uint64_t aggregates, aggregate_octets;
	_Atomic uint64_t flushed[BP_AGG_FLUSH_COUNT];
	_Atomic uint64_t delay_ns;             /* sum over messages: what they waited */
	_Atomic uint64_t delay[BP_AGG_DELAYS]; /* aggregates, by what their oldest waited */
	_Atomic uint64_t passed;               /* for the rule's destinations, not aggregated */
	_Atomic uint64_t begun, evicted;       /* streams */
	_Atomic uint64_t streams;              /* now */
	_Atomic uint64_t waiting;              /* messages, now */
} __attribute__((aligned(64)));

/* Of one worker and one entry of `decapsulate`. */
struct bp_disagg_stats {
	_Atomic uint64_t aggregates, aggregate_octets;
	_Atomic uint64_t messages, message_octets; /* restored */
	_Atomic uint64_t plain;                    /* not aggregated: passed on as they came */
	_Atomic uint64_t refused;
	/* by sequence numbers; format full alone has some */
	_Atomic uint64_t missing;   /* aggregates that had not come when a later one did */
	_Atomic uint64_t late;      /* of these, came afterwards: reordering */
	_Atomic uint64_t duplicate; /* came before */
	_Atomic uint64_t stale;     /* too far behind to tell late from duplicate */
	_Atomic uint64_t lives;     /* streams begun */
	_Atomic uint64_t forgotten; /* streams given up at the bound */
	/* pace */
	_Atomic uint64_t paced, pace_ns;      /* messages that waited, and how long in all */
	_Atomic uint64_t pace[BP_AGG_DELAYS]; /* messages, by how long */
	_Atomic uint64_t early;               /* sent before their time: the queue was full */
	_Atomic uint64_t waiting;             /* now */
} __attribute__((aligned(64)));

/* A stream of a worker. The reader compares `life` before and after; 0: free, or being rewritten.
 */
struct bp_agg_stream_row {
	_Atomic uint64_t life;
	_Atomic uint64_t messages, aggregates, message_octets, aggregate_octets;
	_Atomic uint64_t last_ns; /* Unix time at which its last aggregate left; 0: none yet */
	uint8_t address[16];      /* destination */
	uint16_t udp;
	uint16_t stream; /* its number in format full */
	uint8_t family, tos, rule, dont_fragment;
} __attribute__((aligned(64)));

struct bp_agg_tables {
	struct bp_agg_shared_rules *plan; /* NULL: no entry in section aggregation */
	struct bp_agg_stats *stats;
	struct bp_disagg_stats *disagg_stats;
	struct bp_agg_stream_row *rows;
	uint32_t streams; /* rows of one worker */
};

/* Anybody: copies a stream's row. False: it is free, or gave way to another stream meanwhile. */
bool bp_agg_stream_read(const struct bp_agg_stream_row *row, struct bp_agg_stream_row *out);

static inline void bp_agg_stat_add(_Atomic uint64_t *s, uint64_t n)
{
	atomic_store_explicit(
		s, atomic_load_explicit(s, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline unsigned bp_agg_delay_bucket(uint64_t ns)
{
	const uint64_t us = ns / 1000;
	const unsigned b = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);

	return b < BP_AGG_DELAYS ? b : BP_AGG_DELAYS - 1;
}

#endif
