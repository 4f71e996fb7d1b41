/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FAULT_H
#define BP_SHM_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/counters.h"
#include "biplane/limits.h"

/*
 * What is in trouble, since when, how often and how badly: one row for each kind of trouble and
 * port, pool or worker, which the data plane's main thread writes a few times a second; and one for
 * each kind of fault of the control plane, in a table of its own that it writes. `biplane show
 * trouble` reads them.
 */
enum bp_trouble_kind {
	BP_TROUBLE_LINK_DOWN,
	BP_TROUBLE_NIC_MISSED,
	BP_TROUBLE_NIC_NO_MBUF,
	BP_TROUBLE_NIC_ERRORS,
	BP_TROUBLE_MBUFS_LOW,
	BP_TROUBLE_WORKER_OVERRUN,
	BP_TROUBLE_WORKER_STUCK,
	BP_TROUBLE_NOT_INSPECTED,
	/* the control plane's */
	BP_TROUBLE_EDGE_UNREACHABLE,
	BP_TROUBLE_EDGE_SETTINGS,
	BP_TROUBLE_SPOOL_BACKLOG,
	BP_TROUBLE_SPOOL_ERROR,
	BP_TROUBLE_ALARMS_DROPPED,
	BP_TROUBLE_ALARMS_LOST,
	BP_TROUBLE_NOT_EVALUATED,
	BP_TROUBLE_REFUSED,
	BP_TROUBLE_KINDS,
};
#define BP_TROUBLE_CONTROLPLANE_FIRST BP_TROUBLE_EDGE_UNREACHABLE
#define BP_TROUBLE_OF_CONTROLPLANE                                                                 \
	((unsigned)BP_TROUBLE_KINDS - (unsigned)BP_TROUBLE_CONTROLPLANE_FIRST)

/* What the figures `total` and `worst` of a kind are. */
enum bp_trouble_unit {
	BP_TROUBLE_NOTHING,
	BP_TROUBLE_TIMES,
	BP_TROUBLE_NS,
	BP_TROUBLE_FRAMES,
	BP_TROUBLE_BUFFERS,
	BP_TROUBLE_CONNECTIONS,
	BP_TROUBLE_ALARMS,
	BP_TROUBLE_PUBLICATIONS
};

struct bp_trouble_info {
	const char *name;     /* its counter's */
	const char *help;     /* what it means and what to do */
	bp_counter_t counter; /* of the data plane's kinds */
	enum bp_trouble_unit total, worst;
	bool state; /* lasts; else it is single events, over when there were none for some time */
};
/* Indexed by enum bp_trouble_kind. */
extern const struct bp_trouble_info bp_trouble_info[BP_TROUBLE_KINDS];

struct bp_trouble {
	char subject[BP_NAME_MAX + 1]; /* the port's name, the pool's, "worker 0" */
	uint32_t kind;                 /* enum bp_trouble_kind */
	uint32_t active;               /* 1: now */
	uint64_t began_ns, ended_ns;   /* Unix time, of the last time; 0: never, not yet */
	uint64_t spells;               /* how often */
	uint64_t total;                /* frames; nanoseconds of all times together */
	uint64_t worst;                /* the longest, the fewest */
};

struct bp_trouble_row {
	_Atomic uint32_t seq; /* odd while it changes; 0: nobody's */
	uint32_t pad;
	struct bp_trouble is;
} __attribute__((aligned(64)));

#define BP_TROUBLE_POOLS 8
#define BP_TROUBLE_OF_PORT 4u /* kinds */
#define BP_TROUBLE_OF_WORKER 3u
#define BP_TROUBLE_ROWS_MAX                                                                        \
	(BP_TROUBLE_OF_PORT * BP_MAX_PORTS + BP_TROUBLE_POOLS +                                    \
		BP_TROUBLE_OF_WORKER * BP_MAX_WORKERS)
static inline uint32_t bp_trouble_rows(uint32_t ports, uint32_t workers)
{
	return BP_TROUBLE_OF_PORT * ports + BP_TROUBLE_POOLS + BP_TROUBLE_OF_WORKER * workers;
}

/* By the one writer. */
void bp_trouble_write(struct bp_trouble_row *row, const struct bp_trouble *t);
/* False: the row is nobody's, of a kind that there is not, or its writer died while it wrote. */
bool bp_trouble_read(const struct bp_trouble_row *row, struct bp_trouble *t);

/* A time as log and `show` write it, in steps that a person cares about: "153 ms", "3.2 s",
 * "5 min", "7 h". Returns `out`. */
#define BP_TROUBLE_SPAN 32
const char *bp_trouble_span(uint64_t ns, char out[BP_TROUBLE_SPAN]);

#endif
