/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_EVENTS_EVENT_RING_H
#define BP_SHM_EVENTS_EVENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/events/event.h"

/*
 * A broadcast ring: one writer, any number of readers that each hold their own position. The writer
 * overwrites the oldest record and never waits. Each record begins with a sequence word: 2 * n + 1
 * while record n is written, 2 * (n + 1) when it is complete, so that a reader gets no torn record
 * and knows how many it lost. The alarm log (struct bp_alarm_log) has the same words.
 */
struct bp_event_slot {
	_Atomic uint64_t seq;
	struct bp_event is;
};
_Static_assert(sizeof(struct bp_event_slot) == 256, "four cache lines");

/* The writer's side. */
struct bp_event_ring {
	struct bp_event_slot *slot;
	uint32_t size;
	uint32_t at;   /* next % size */
	uint64_t next; /* number of the next record */
};

/* The writer, before its first record: continues after the newest existing one. */
void bp_event_ring_open(struct bp_event_ring *r);
/* No system call, no lock; some tens of nanoseconds. No effect on a ring without slots. */
void bp_event_write(struct bp_event_ring *r, const struct bp_event *e);

/* A reader of a ring with such sequence words. */
struct bp_event_cursor {
	const void *slots;
	size_t slot_size; /* a multiple of 4; the sequence word is first */
	uint64_t n;       /* slots */
	uint64_t next;    /* number of the next record */
	uint64_t opened;  /* number after the newest record when it was opened */
};

enum bp_event_got {
	BP_EVENT_GOT_NONE,
	BP_EVENT_GOT_RECORD,
	BP_EVENT_GOT_LOST,  /* *lost records were overwritten; read again */
	BP_EVENT_GOT_RESET, /* the ring was recreated or is damaged; reading continues with the
			       oldest valid record */
};

/* Begins with the oldest of the newest `backlog` records. */
void bp_event_cursor_open(struct bp_event_cursor *c, const void *slots, size_t slot_size,
	uint64_t n, uint64_t backlog);
/* Copies the next record without its sequence word: slot_size - 8 bytes to out. */
enum bp_event_got bp_event_cursor_read(struct bp_event_cursor *c, void *out, uint64_t *lost);

#endif
