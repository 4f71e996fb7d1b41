/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SLOW_INTERNAL_H
#define BP_CONTROLPLANE_HEALTH_SLOW_INTERNAL_H

#include <sys/queue.h>

#include "controlplane/health/slow.h"
#include "services/health/convert.h"

/* What the rooms of the slow path share: controlplane/health/slow*.c alone. */

#define BP_SLOW_NONE UINT32_MAX
/* Requests of one report at one time. */
#define BP_SLOW_PENDING_MAX 32u

/* A report on its way. */
struct bp_slow_pending {
	uint32_t slot;
	uint32_t next;             /* of the same bucket, or the next free one */
	uint32_t report;           /* number in the session: bp_phd_session.reports before it */
	struct bp_phd_origin name; /* what its instances are named by */
	uint16_t life, invoke_id, type;
	uint16_t parts; /* of the whole report */
	uint16_t at;    /* the next part to look at; parts: all were sent, or no more are */
	uint32_t busy;  /* a bit for each place that has a request without an end yet */
	uint64_t stored[BP_PHD_PARTS_MAX / 64]; /* a bit for each that was, since it was taken */
	uint32_t open;  /* services/health/last_report.h: what is not noted as stored */
	uint8_t worst;  /* enum bp_m2m_outcome of the requests that ended */
	bool confirmed; /* the device waits for an answer until all is stored */
	bool no_reply;  /* some of it has no answer: it may be stored or not */
	bool waits;     /* in the queue of those that need room at the client */
	uint8_t *apdu;  /* a copy, while there are parts to be sent; NULL else */
	size_t len;
	TAILQ_ENTRY(bp_slow_pending) waiting;
};
TAILQ_HEAD(bp_slow_waiting, bp_slow_pending);

/* A request of one: what is handed to the client of the CSE. */
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
	size_t kept; /* octets of the copies */
	struct bp_phd_conversion conversion;
	uint8_t message[BP_CSE_MESSAGE_MAX];
};

static inline uint32_t *bp_slow_bucket(const struct bp_slow *s, uint32_t slot)
{
	return &s->bucket[slot * 0x9e3779b1u >> 7 & s->mask];
}

/* ---- slow_parts.c: pending reports ---- */

/* One that is free: s->free is not BP_SLOW_NONE. */
struct bp_slow_pending *bp_slow_take(struct bp_slow *s, uint32_t slot);
/* With its copy, and out of the queue. Tells the owner where it was the session's last one. */
void bp_slow_give_back(struct bp_slow *s, struct bp_slow_pending *p);
/* Whether this very report of a session is on its way. */
bool bp_slow_is_pending(const struct bp_slow *s, uint32_t slot, uint16_t life, uint32_t report);
/* A copy of the APDU for parts that are sent later. False: no memory, or too many octets. */
bool bp_slow_keep(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len);

/* ---- slow_parts.c ---- */

/*
 * Sends what is open of a report that was just taken, as much as there is room for; the rest
 * follows as places become free. False: nothing of it was sent, nor will be: it is given back.
 */
bool bp_slow_begin(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len);
/* The client has room: for bp_cse_watch. */
void bp_slow_on_capacity(void *arg);

#endif
