/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FAULT_H
#define BP_SHM_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/counters.h"
#include "biplane/limits.h"
#include "shm/events/event_ring.h"

/*
 * Faults: since when, how often and how severe. One row for each kind of fault and port, pool or
 * worker; the data plane's main thread writes it a few times a second. The faults of the control
 * plane have a table of their own, which the control plane writes. `biplane show health` reads
 * both.
 */
enum bp_fault_kind {
	BP_FAULT_LINK_DOWN,
	BP_FAULT_NIC_MISSED,
	BP_FAULT_NIC_NO_MBUF,
	BP_FAULT_NIC_ERRORS,
	BP_FAULT_MBUFS_LOW,
	BP_FAULT_WORKER_OVERRUN,
	BP_FAULT_WORKER_STUCK,
	BP_FAULT_NOT_INSPECTED,
	/* the control plane's */
	BP_FAULT_EDGE_UNREACHABLE,
	BP_FAULT_EDGE_SETTINGS,
	BP_FAULT_SPOOL_BACKLOG,
	BP_FAULT_SPOOL_ERROR,
	BP_FAULT_ALARMS_DROPPED,
	BP_FAULT_ALARMS_LOST,
	BP_FAULT_NOT_EVALUATED,
	BP_FAULT_REFUSED,
	BP_FAULT_FLEET_STATE,
	BP_FAULT_FLEET_AGENT,
	BP_FAULT_KAFKA_UNREACHABLE,
	BP_FAULT_KAFKA_SETTINGS,
	BP_FAULT_KAFKA_BACKLOG,
	BP_FAULT_KAFKA_SPOOL_ERROR,
	BP_FAULT_ALARMS_REJECTED,
	BP_FAULT_KINDS,
};
#define BP_FAULT_CONTROLPLANE_FIRST BP_FAULT_EDGE_UNREACHABLE
#define BP_FAULT_OF_CONTROLPLANE ((unsigned)BP_FAULT_KINDS - (unsigned)BP_FAULT_CONTROLPLANE_FIRST)

/* Units of `total` and `worst` of a kind. */
enum bp_fault_unit {
	BP_FAULT_NOTHING,
	BP_FAULT_TIMES,
	BP_FAULT_NS,
	BP_FAULT_FRAMES,
	BP_FAULT_BUFFERS,
	BP_FAULT_CONNECTIONS,
	BP_FAULT_ALARMS,
	BP_FAULT_PUBLICATIONS
};

struct bp_fault_info {
	const char *name;     /* its counter's */
	const char *help;     /* meaning and remedy */
	bp_counter_t counter; /* of the data plane's kinds */
	enum bp_fault_unit total, worst;
	bool state; /* lasts; else it is single events, over when there were none for some time */
};
/* Indexed by enum bp_fault_kind. */
extern const struct bp_fault_info bp_fault_info[BP_FAULT_KINDS];

struct bp_fault_record {
	char subject[BP_NAME_MAX + 1]; /* the port's name, the pool's, "worker 0" */
	uint32_t kind;                 /* enum bp_fault_kind */
	uint32_t active;               /* 1: now */
	uint64_t began_ns, ended_ns;   /* Unix time, of the last time; 0: never, not yet */
	uint64_t spells;               /* how often */
	uint64_t total;                /* frames; nanoseconds of all times together */
	uint64_t worst;                /* the longest, the fewest */
};

struct bp_fault_row {
	_Atomic uint32_t seq; /* odd while it changes; 0: unused */
	uint32_t pad;
	struct bp_fault_record is;
} __attribute__((aligned(64)));

#define BP_FAULT_POOLS 8
#define BP_FAULT_OF_PORT 4u /* kinds */
#define BP_FAULT_OF_WORKER 3u
#define BP_FAULT_ROWS_MAX                                                                          \
	(BP_FAULT_OF_PORT * BP_MAX_PORTS + BP_FAULT_POOLS + BP_FAULT_OF_WORKER * BP_MAX_WORKERS)
static inline uint32_t bp_fault_rows(uint32_t ports, uint32_t workers)
{
	return BP_FAULT_OF_PORT * ports + BP_FAULT_POOLS + BP_FAULT_OF_WORKER * workers;
}

/* By the one writer. */
void bp_fault_write(struct bp_fault_row *row, const struct bp_fault_record *t);
/* By the writer of the row, when the fault was raised (active) or cleared. NULL ring: no effect. */
void bp_fault_event(
	struct bp_event_ring *events, const struct bp_fault_record *t, uint64_t unix_ns);
/* False: the row is unused, has an unknown kind, or its writer died while it wrote. */
bool bp_fault_read(const struct bp_fault_row *row, struct bp_fault_record *t);

/* Formats a duration for `show`, rounded down to a readable unit: "153 ms", "3.2 s", "5 min", "7
 * h". Returns `out`. */
#define BP_FAULT_DURATION_LEN 32
const char *bp_fault_duration(uint64_t ns, char out[BP_FAULT_DURATION_LEN]);

#endif
