/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SLOW_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_SLOW_INTERNAL_H

#include <sys/queue.h>

#include "controlplane/health/slow.h"
#include "services/health/convert.h"

/* Shared by controlplane/health/slow*.c only. */

#define BP_SLOW_NONE UINT32_MAX
/* Maximum number of concurrent requests of one report. */
#define BP_SLOW_PENDING_MAX 32u

/* A report in flight. */
struct bp_slow_pending {
	uint32_t slot;
	uint32_t next;             /* of the same bucket, or the next free one */
	uint32_t report;           /* number in the session: bp_phd_session.reports before it */
	struct bp_phd_origin name; /* origin in the names of its instances */
	uint16_t life, invoke_id, type;
	uint16_t parts; /* of the whole report */
	uint16_t at;    /* the next part to check; parts: all were sent, or no more are */
	uint32_t busy;  /* a bit for each slot with an outstanding request */
	uint64_t stored[BP_PHD_PARTS_MAX / 64]; /* a bit per part stored since acceptance */
	uint32_t open;  /* services/health/last_report.h: parts not recorded as stored */
	uint8_t worst;  /* enum bp_m2m_outcome of the ended requests */
	bool confirmed; /* the device waits for an answer until all parts are stored */
	bool no_reply;  /* a part has no answer: it may or may not be stored */
	bool waits;     /* in the queue of reports that wait for capacity of the client */
	uint8_t *apdu;  /* a copy, while there are parts to be sent; otherwise NULL */
	size_t len;
	TAILQ_ENTRY(bp_slow_pending) waiting;
};
TAILQ_HEAD(bp_slow_waiting, bp_slow_pending);

/* A request of a report: the argument for the CSE client. */
struct bp_slow_part {
	struct bp_slow *s;
	uint32_t pending;
	uint16_t part;
};

struct bp_slow {
	struct bp_phd_tables *t;
	struct bp_cse_client *cse;
	struct bp_slow_ops ops;
	void *arg;
	struct bp_slow_counts counts;
	uint32_t n, free, mask;
	struct bp_slow_pending *pending; /* [n] */
	struct bp_slow_part *part;       /* [n * BP_SLOW_PENDING_MAX] */
	uint32_t *bucket;                /* [mask + 1]: by slot */
	struct bp_slow_waiting waiting;
	struct bp_cse_watch watch;
	size_t kept; /* bytes of the copies */
	struct bp_phd_conversion conversion;
	uint8_t message[BP_CSE_MESSAGE_MAX];
};

static inline uint32_t *bp_slow_bucket(const struct bp_slow *s, uint32_t slot)
{
	return &s->bucket[slot * 0x9e3779b1u >> 7 & s->mask];
}

/* ---- slow_parts.c: pending reports ---- */

/* Takes a free one: s->free must not be BP_SLOW_NONE. */
struct bp_slow_pending *bp_slow_take(struct bp_slow *s, uint32_t slot);
/* Frees it with its copy, and removes it from the queue. Calls the owner if it was the session's
 * last one. */
void bp_slow_give_back(struct bp_slow *s, struct bp_slow_pending *p);
/* Returns whether this report of a session is in flight. */
bool bp_slow_is_pending(const struct bp_slow *s, uint32_t slot, uint16_t life, uint32_t report);
/* Copies the APDU for parts that are sent later. False: no memory, or too many bytes. */
bool bp_slow_keep(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len);

/* ---- slow_parts.c ---- */

/*
 * Sends the open parts of an accepted report, as far as there is capacity; the rest follows when
 * slots become free. False: no part was or will be sent: the report is freed.
 */
bool bp_slow_begin(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len);
/* The client has capacity: callback of bp_cse_watch. */
void bp_slow_on_capacity(void *arg);

#endif
