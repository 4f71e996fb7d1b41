/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_LANE_H
#define BP_CONTROLPLANE_ALARMS_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/alarm.h"
#include "controlplane/alarms/alarm_stages.h"
#include "shm/ring.h"

/*
 * The publisher's state of one worker's alarm ring: alarms that were read and are not safe yet.
 * Each section of the ring between its tail and the cursor is one entry, in order. The ring's tail
 * moves only over sections that are done: acknowledged by the broker, committed to the spool, or
 * not to be published.
 *
 *     tail                         cursor            head
 *      | done | sent | sent | pending | not read yet  |
 */
enum bp_lane_state {
	BP_LANE_DONE,
	BP_LANE_SENT,    /* in flight */
	BP_LANE_PENDING, /* to be sent: the link was lost, or older alarms of its key go first */
};

struct bp_lane_entry {
	uint64_t start, end; /* cursors */
	uint64_t id;         /* id of the alarm, of the last one if the entry covers several */
	uint64_t first_id;   /* of the first one; 0 in both: the order does not depend on it */
	uint64_t key;        /* SENT, PENDING: see key_order.h */
	struct bp_alarm_stamps stamps; /* SENT, PENDING */
	uint64_t read_ns;              /* SENT, PENDING; monotonic */
	uint16_t mid;                  /* SENT */
	uint8_t state;                 /* enum bp_lane_state */
};

struct bp_lane {
	struct bp_ring *ring;
	/* The lane of another publisher of this ring; NULL: none. Each has a tail of its own, and
	 * the ring's is the lower one. */
	struct bp_lane *other;
	uint64_t tail;
	uint64_t cursor;  /* the next record to read */
	uint64_t seen;    /* records before it were counted and logged */
	uint64_t old_end; /* records before it were written before this process read the ring */
	uint64_t stamped; /* end of the record of `stamps` and `read_ns`; 0: none */
	struct bp_alarm_stamps stamps;
	uint64_t read_ns;
	struct bp_alarm *copy; /* the last record that was read, with what follows it */
	uint64_t copy_end;     /* its end in the ring; 0: none */
	uint32_t copy_size;
	struct bp_lane_entry *entry;
	uint32_t mask;          /* entries - 1 */
	uint64_t first, next;   /* numbers of the oldest entry and of the next one */
	uint64_t scan;          /* pending entries before it need no check */
	uint32_t sent, pending; /* entries in that state */
};

/* Starts at the ring's tail. entries: rounded up to a power of two. False without memory. */
bool bp_lane_open(struct bp_lane *l, struct bp_ring *ring, uint32_t entries);
void bp_lane_close(struct bp_lane *l);
/* Two lanes of one ring, which were opened and nothing else yet. */
void bp_lane_join(struct bp_lane *a, struct bp_lane *b);
/* Records the records before `end` as seen. Returns whether no publisher has seen them. */
bool bp_lane_see(struct bp_lane *l, uint64_t end);

static inline struct bp_lane_entry *bp_lane_entry(const struct bp_lane *l, uint64_t number)
{
	return &l->entry[number & l->mask];
}
static inline bool bp_lane_full(const struct bp_lane *l)
{
	return l->next - l->first > l->mask;
}
/* Returns whether the ring is so full that alarms must be spooled. */
bool bp_lane_crowded(const struct bp_lane *l);
/* Bytes that are not read yet; bytes in the ring after the tail. */
uint64_t bp_lane_unread(const struct bp_lane *l);
uint64_t bp_lane_used(const struct bp_lane *l);
/* Returns whether records are unread that an earlier control plane may have sent. */
bool bp_lane_old_unread(const struct bp_lane *l);

/*
 * Reads the record at *cursor, which moves after it; false when there is none. *record is NULL and
 * the result true for an invalid record (or a damaged section), which is to be skipped. A record is
 * a private copy until the next one of this lane is read.
 */
bool bp_lane_read(struct bp_lane *l, uint64_t *cursor, const struct bp_alarm **record);
/* Reads the times of the record at the cursor, which must be valid; false: it has none. */
bool bp_lane_times(struct bp_lane *l, struct bp_alarm_times *times);
/* Reads the connection of the record at this cursor; false: it has none. */
bool bp_lane_flow(struct bp_lane *l, uint64_t start, struct bp_alarm_flow *flow);
/* Returns the record of an entry that is not done. */
const struct bp_alarm *bp_lane_record(struct bp_lane *l, const struct bp_lane_entry *e);

/* Adds [cursor, end) as sent with this message id; returns the entry's number. Needs a free
 * entry. */
uint64_t bp_lane_push_sent(struct bp_lane *l, uint64_t end, uint16_t mid);
/* Adds [cursor, end) as pending. */
uint64_t bp_lane_push_pending(struct bp_lane *l, uint64_t end);
/*
 * Adds [cursor, end) with alarms of these ids as done; false when there is no free entry and the
 * last entry is not done. Ids 0: joins the last entry if it is done. Others join it only in a
 * crowded lane, because an entry leaves the ring as a whole.
 */
bool bp_lane_push_done(struct bp_lane *l, uint64_t end, uint64_t first_id, uint64_t last_id);

void bp_lane_set_done(struct bp_lane *l, struct bp_lane_entry *e);
void bp_lane_set_pending(struct bp_lane *l, struct bp_lane_entry *e);
void bp_lane_set_sent(struct bp_lane *l, struct bp_lane_entry *e, uint16_t mid);

/* Checks the pending entries again. */
void bp_lane_rescan(struct bp_lane *l);
/* Returns the oldest pending entry to be checked; l->scan is then its number. NULL: none. */
struct bp_lane_entry *bp_lane_scan(struct bp_lane *l);

/* Returns the lowest id that stays in the ring after bp_lane_release_below(l, id), also of a record
 * that was not read; UINT64_MAX: none; 0: not known, the next record is not valid. */
uint64_t bp_lane_oldest_after(struct bp_lane *l, uint64_t id);
/* Moves the ring's tail over entries that are done and have a lower id. */
void bp_lane_release_below(struct bp_lane *l, uint64_t id);
/* Moves the ring's tail over entries that are done. */
void bp_lane_release(struct bp_lane *l);

#endif
