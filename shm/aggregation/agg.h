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
 *   agg_plan        CP           struct bp_agg_shared_rules, one: the active rules
 *   agg_stats       DP worker    struct bp_agg_stats, [worker * BP_AGG_RULES_MAX + rule]
 *   disagg_stats    DP worker    struct bp_disagg_stats, likewise
 *   agg_streams     DP worker    struct bp_agg_stream_row, [worker * streams + i]
 *
 * A worker starts with the rules of its own copy of the configuration: the shared rules that it
 * finds may belong to an earlier configuration with other ports. It applies all shared rules
 * written from then on; where they differ from its own, it sends what is queued and restarts its
 * streams. When the link of any port goes down, it also sends what is queued: aggregates that are
 * being built, and restored messages before their pacing time. Statistics belong to (worker, rule)
 * and restart from 0 when the rules change.
 */

/*
 * In a reload the CP writes this before it stores rules_active. A worker that reads this after
 * rules_active therefore sees both, and the reply to the reload, which waits for rules_seen, holds
 * for both. Exception: a worker that needs several walks to send its queued frames applies these
 * rules after that.
 */
struct bp_agg_shared_rules {
	struct bp_seqlock lock;
	struct bp_agg_rules rules;
};
_Static_assert(sizeof(struct bp_agg_shared_rules) == 8 + sizeof(struct bp_agg_rules) &&
		       sizeof(struct bp_agg_rules) % 8 == 0,
	"the seqlock copies words behind it");

/* The reason why an aggregate was sent. */
#define BP_AGG_FLUSHES(X)                                                                          \
	X(FULL, "full", "it held as many messages as configured")                                  \
	X(SIZE, "size", "the next message would have exceeded the MTU")                            \
	X(TIME, "time", "its oldest message had waited max_delay")                                 \
	X(ORDER, "order", "a message of the stream that cannot be aggregated follows")             \
	X(HEADER, "header", "the next message is for another MAC address")                         \
	X(EVICTED, "evicted", "its stream was evicted for a new one at the limit")                 \
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

/* The statistics of one worker and one entry of `encapsulate`. Byte counts are those of Ethernet
 * frames without checksum. */
struct bp_agg_stats {
	_Atomic uint64_t messages, message_bytes;
	_Atomic uint64_t aggregates, aggregate_bytes;
	_Atomic uint64_t flushed[BP_AGG_FLUSH_COUNT];
	_Atomic uint64_t delay_ns; /* sum of the waiting times of all messages */
	_Atomic uint64_t
		delay[BP_AGG_DELAYS]; /* aggregates, by the waiting time of their oldest message */
	_Atomic uint64_t passed;      /* for the rule's destinations, not aggregated */
	_Atomic uint64_t begun, evicted; /* streams */
	_Atomic uint64_t streams;        /* now */
	_Atomic uint64_t waiting;        /* messages, now */
} __attribute__((aligned(64)));

/* The statistics of one worker and one entry of `decapsulate`. */
struct bp_disagg_stats {
	_Atomic uint64_t aggregates, aggregate_bytes;
	_Atomic uint64_t messages, message_bytes; /* restored messages */
	_Atomic uint64_t plain;                   /* not aggregated: forwarded unchanged */
	_Atomic uint64_t refused;
	/* from sequence numbers, which only the full format has */
	_Atomic uint64_t missing;   /* aggregates missing when a later one arrived */
	_Atomic uint64_t late;      /* missing aggregates that arrived later: reordering */
	_Atomic uint64_t duplicate; /* received before */
	_Atomic uint64_t stale;     /* too old to distinguish late from duplicate */
	_Atomic uint64_t lives;     /* streams started */
	_Atomic uint64_t forgotten; /* streams evicted at the limit */
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
	_Atomic uint64_t messages, aggregates, message_bytes, aggregate_bytes;
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
