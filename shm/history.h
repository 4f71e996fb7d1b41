/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HISTORY_H
#define BP_SHM_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"
#include "shm/histogram.h"
#include "shm/seqlock.h"

/*
 * The history: a ring of samples that the main thread of the data plane takes once a second. A
 * sample has the values of the counters, not rates: the rate over any interval is the difference of
 * two samples divided by the difference of their times. A sample that is missing, because the main
 * thread was stalled, therefore makes an interval longer, and no rate wrong. Samples survive a
 * restart of the data plane, which shows as another start time in the later samples.
 *
 * The table consists of words: a header, then the rows. A row is a seqlock and the values of one
 * sample: those of enum bp_history_value, then of each port, then of each worker, then the
 * histogram of the delays of alarms, as pairs of 32-bit counts modulo 2^32.
 */
enum bp_history_value {
	BP_HISTORY_NUMBER, /* from 1, without gaps; row (number - 1) % rows */
	BP_HISTORY_UNIX_NS,
	BP_HISTORY_MONO_NS,
	BP_HISTORY_DP_STARTED_NS, /* counters of two samples belong together if this is equal */
	BP_HISTORY_CP_STARTED_NS, /* the same for the delays of alarms */
	/* counters of the data plane */
	BP_HISTORY_DROPS,
	BP_HISTORY_PUBLISHES, /* that were inspected */
	BP_HISTORY_MATCHES,   /* of a PUBLISH and a rule */
	BP_HISTORY_ALARMS_RAISED,
	BP_HISTORY_ALARMS_CLEARED,
	BP_HISTORY_ALARMS_LOST,
	/* counters of the control plane, which survive its restart */
	BP_HISTORY_ALARMS_ACKNOWLEDGED,
	BP_HISTORY_ALARMS_SPOOLED,
	/* gauges */
	BP_HISTORY_SPOOL_ROWS,
	BP_HISTORY_SPOOL_BYTES,
	BP_HISTORY_IN_FLIGHT, /* alarms */
	BP_HISTORY_CONNECTIONS,
	BP_HISTORY_VALUES,
};
enum bp_history_port {
	BP_HISTORY_RX_PACKETS,
	BP_HISTORY_RX_BYTES,
	BP_HISTORY_TX_PACKETS,
	BP_HISTORY_TX_BYTES,
	BP_HISTORY_TX_DROPPED,
	BP_HISTORY_NIC_DROPPED, /* RX queue full, or no mbuf */
	BP_HISTORY_PORT_VALUES,
};
enum bp_history_worker {
	BP_HISTORY_BUSY_NS,
	BP_HISTORY_SLEEP_NS,
	BP_HISTORY_WORKER_VALUES,
};
#define BP_HISTORY_DELAYS (BP_HISTOGRAM_BUCKETS / 2) /* words */

#define BP_HISTORY_INTERVAL_NS 1000000000ull
#define BP_HISTORY_ROWS_MAX 86401u
#define BP_HISTORY_HEADER 8u /* words; the first: number of the newest sample, 0: none */
#define BP_HISTORY_WORDS_MAX                                                                       \
	(BP_HISTORY_VALUES + BP_MAX_PORTS * BP_HISTORY_PORT_VALUES +                               \
		BP_MAX_WORKERS * BP_HISTORY_WORKER_VALUES + BP_HISTORY_DELAYS)

/* A process's view of the table. */
struct bp_history {
	_Atomic uint64_t *header;
	uint64_t *rows;
	uint32_t n_rows;         /* 0: no history */
	uint32_t ports, workers; /* of a row */
	uint32_t words;          /* of a sample */
};

/* A copy of a sample. */
struct bp_history_sample {
	uint64_t word[BP_HISTORY_WORDS_MAX];
};

/* Words of a table for that many rows. */
uint64_t bp_history_capacity(uint64_t rows, uint64_t ports, uint64_t workers);
bool bp_history_size_agrees(uint64_t capacity, uint64_t ports, uint64_t workers);
void bp_history_map(
	struct bp_history *h, void *table, uint64_t capacity, uint32_t ports, uint32_t workers);

/* Positions in a sample, words. */
static inline uint32_t bp_history_port_at(unsigned port, enum bp_history_port value)
{
	return (uint32_t)(BP_HISTORY_VALUES + port * BP_HISTORY_PORT_VALUES + value);
}
static inline uint32_t bp_history_worker_at(
	const struct bp_history *h, unsigned worker, enum bp_history_worker value)
{
	return (uint32_t)(BP_HISTORY_VALUES + h->ports * BP_HISTORY_PORT_VALUES +
			  worker * BP_HISTORY_WORKER_VALUES + value);
}
static inline uint32_t bp_history_delays_at(const struct bp_history *h)
{
	return h->words - BP_HISTORY_DELAYS;
}
/* The count of a bucket modulo 2^32. */
static inline uint32_t bp_history_delay(
	const struct bp_history *h, const struct bp_history_sample *s, unsigned bucket)
{
	return (uint32_t)(s->word[bp_history_delays_at(h) + bucket / 2] >> (bucket % 2 * 32));
}

/* The writer: stores the sample, of which it sets BP_HISTORY_NUMBER. */
void bp_history_append(const struct bp_history *h, struct bp_history_sample *s);

/* Any process. The number of the newest sample, 0: none; and of the oldest that may be left. */
uint64_t bp_history_newest(const struct bp_history *h);
uint64_t bp_history_oldest(const struct bp_history *h);
/*
 * Copies the first n words of a sample, as one writer's. False: it was overwritten, or is being
 * written. The values are only as trustworthy as the writer.
 */
bool bp_history_read(
	const struct bp_history *h, uint64_t number, struct bp_history_sample *s, uint32_t n);

#endif
