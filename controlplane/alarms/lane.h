/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_LANE_H
#define BP_CONTROLPLANE_ALARMS_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/alarm.h"
#include "shm/ring.h"

/*
 * One worker's alarm ring as the publisher sees it: what was read and is not safe yet. Every
 * stretch of the ring between its tail and the cursor is one entry, in order. The ring's tail moves
 * only over stretches that are done: acknowledged by the broker, committed to the spool, or not to
 * be published.
 *
 *     tail                         cursor            head
 *      | done | sent | sent | pending | not read yet  |
 */
enum bp_lane_state {
	BP_LANE_DONE,
	BP_LANE_SENT,    /* in flight */
	BP_LANE_PENDING, /* to be sent: the link was lost, or older alarms of its key come first */
};

struct bp_lane_entry {
	uint64_t start, end; /* cursors */
	uint64_t id;         /* the alarm's, of the last one where it covers several */
	uint64_t key;        /* SENT, PENDING: see key_order.h */
	uint16_t mid;        /* SENT */
	uint8_t state;       /* enum bp_lane_state */
};

struct bp_lane {
	struct bp_ring *ring;
	uint64_t cursor; /* the next record to read */
	uint64_t seen;   /* records before it were counted and logged */
	struct bp_lane_entry *entry;
	uint32_t mask;          /* entries - 1 */
	uint64_t first, next;   /* numbers of the oldest entry and of the next one */
	uint64_t scan;          /* pending entries before it need not be looked at */
	uint32_t sent, pending; /* entries in that state */
};

/* Starts at the ring's tail. entries: rounded up to a power of two. False without memory. */
bool bp_lane_open(struct bp_lane *l, struct bp_ring *ring, uint32_t entries);
void bp_lane_close(struct bp_lane *l);

static inline struct bp_lane_entry *bp_lane_entry(const struct bp_lane *l, uint64_t number)
{
	return &l->entry[number & l->mask];
}
static inline bool bp_lane_full(const struct bp_lane *l)
{
	return l->next - l->first > l->mask;
}
/* So full that the spool must help. */
bool bp_lane_crowded(const struct bp_lane *l);
/* Bytes not read yet; bytes in the ring at all. */
uint64_t bp_lane_unread(const struct bp_lane *l);
uint64_t bp_lane_used(const struct bp_lane *l);

/*
 * The record at *cursor, which moves behind it; NULL when there is none. *record is NULL and the
 * result true for one that is no alarm (or a damaged stretch): it is to be passed over.
 */
bool bp_lane_read(const struct bp_lane *l, uint64_t *cursor, const struct bp_alarm **record);
/* The record of an entry that is not done. */
const struct bp_alarm *bp_lane_record(const struct bp_lane *l, const struct bp_lane_entry *e);

/* Enters [cursor, end) as sent with this message id; returns the entry's number. Needs room. */
uint64_t bp_lane_push_sent(struct bp_lane *l, uint64_t end, uint16_t mid);
/* The same, to be sent. */
uint64_t bp_lane_push_pending(struct bp_lane *l, uint64_t end);
/* Enters [cursor, end) as done; false when there is no room and the last entry is not done. */
bool bp_lane_push_done(struct bp_lane *l, uint64_t end);

void bp_lane_set_done(struct bp_lane *l, struct bp_lane_entry *e);
void bp_lane_set_pending(struct bp_lane *l, struct bp_lane_entry *e);
void bp_lane_set_sent(struct bp_lane *l, struct bp_lane_entry *e, uint16_t mid);

/* The pending entries are to be looked at again. */
void bp_lane_rescan(struct bp_lane *l);
/* The oldest pending entry that is to be looked at; its number is l->scan then. NULL: none. */
struct bp_lane_entry *bp_lane_scan(struct bp_lane *l);

/* The id of the oldest entry that is not done; UINT64_MAX: all are. */
uint64_t bp_lane_oldest(const struct bp_lane *l);
/* Moves the ring's tail over what is done and of a lower id. */
void bp_lane_release_below(struct bp_lane *l, uint64_t id);
/* Moves the ring's tail over what is done. */
void bp_lane_release(struct bp_lane *l);

#endif
