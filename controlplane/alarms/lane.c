/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/lane.h"

#include <stdlib.h>
#include <string.h>

bool bp_lane_open(struct bp_lane *l, struct bp_ring *ring, uint32_t entries)
{
	uint32_t n = 16;

	while (n < entries)
		n *= 2;
	memset(l, 0, sizeof(*l));
	l->entry = calloc(n, sizeof(*l->entry));
	l->copy = malloc(bp_ring_record_max(ring));
	if (l->entry == NULL || l->copy == NULL) {
		bp_lane_close(l);
		return false;
	}
	l->ring = ring;
	l->mask = n - 1;
	l->cursor = bp_ring_tail(ring);
	l->tail = l->cursor;
	l->seen = l->cursor;
	l->old_end = bp_ring_written(ring);
	return true;
}

void bp_lane_close(struct bp_lane *l)
{
	free(l->entry);
	free(l->copy);
	memset(l, 0, sizeof(*l));
}

void bp_lane_join(struct bp_lane *a, struct bp_lane *b)
{
	a->other = b;
	b->other = a;
	b->cursor = b->tail = b->seen = a->cursor;
	b->old_end = a->old_end;
}

bool bp_lane_see(struct bp_lane *l, uint64_t end)
{
	const bool first = end > l->seen && (l->other == NULL || end > l->other->seen);

	if (end > l->seen)
		l->seen = end;
	return first;
}

uint64_t bp_lane_used(const struct bp_lane *l)
{
	if (l->other == NULL)
		return bp_ring_used(l->ring);
	return bp_lane_unread(l) + (l->cursor - l->tail);
}

bool bp_lane_crowded(const struct bp_lane *l)
{
	return bp_lane_used(l) > l->ring->capacity / 2 ||
	       l->next - l->first > l->mask - l->mask / 4;
}

uint64_t bp_lane_unread(const struct bp_lane *l)
{
	uint64_t used = bp_ring_used(l->ring), read = l->cursor - bp_ring_tail(l->ring);

	return used > read ? used - read : 0;
}

bool bp_lane_old_unread(const struct bp_lane *l)
{
	return l->cursor < l->old_end && bp_lane_unread(l) != 0;
}

/* The data plane can change a record at any time: it is copied once, and only the copy is checked
 * and used. NULL: there is no record. */
static const struct bp_alarm *copy_record(struct bp_lane *l, uint64_t *cursor, uint32_t *size)
{
	const void *record = bp_ring_peek(l->ring, cursor, size);

	if (record == NULL)
		return NULL;
	if (*cursor != l->copy_end) {
		memcpy(l->copy, record, *size);
		l->copy_end = *cursor;
		l->copy_size = *size;
	}
	*size = l->copy_size;
	return l->copy;
}

bool bp_lane_read(struct bp_lane *l, uint64_t *cursor, const struct bp_alarm **record)
{
	uint64_t before = *cursor;
	uint32_t size = 0;
	const struct bp_alarm *a = copy_record(l, cursor, &size);

	/* In a damaged ring the cursor moves to the head without a record. Ids in the spool are
	 * signed. */
	*record = a != NULL && bp_alarm_valid(a, size) && a->id <= INT64_MAX ? a : NULL;
	return a != NULL || *cursor != before;
}

bool bp_lane_times(struct bp_lane *l, struct bp_alarm_times *times)
{
	uint64_t cursor = l->cursor;
	uint32_t size = 0;
	const struct bp_alarm *a = copy_record(l, &cursor, &size);

	return a != NULL && bp_alarm_valid(a, size) && bp_alarm_times(a, size, times);
}

bool bp_lane_flow(struct bp_lane *l, uint64_t start, struct bp_alarm_flow *flow)
{
	uint32_t size = 0;
	const struct bp_alarm *a = copy_record(l, &start, &size);

	return a != NULL && bp_alarm_valid(a, size) && bp_alarm_flow(a, size, flow);
}

const struct bp_alarm *bp_lane_record(struct bp_lane *l, const struct bp_lane_entry *e)
{
	const struct bp_alarm *a;
	uint64_t cursor = e->start;

	return bp_lane_read(l, &cursor, &a) ? a : NULL;
}

static struct bp_lane_entry *push(struct bp_lane *l, uint64_t end, enum bp_lane_state state)
{
	struct bp_lane_entry *e = bp_lane_entry(l, l->next++);

	e->start = l->cursor;
	e->end = end;
	e->id = e->first_id = 0;
	e->key = 0;
	e->stamps = (struct bp_alarm_stamps){0};
	e->state = (uint8_t)state;
	e->mid = 0;
	l->cursor = end;
	return e;
}

uint64_t bp_lane_push_sent(struct bp_lane *l, uint64_t end, uint16_t mid)
{
	push(l, end, BP_LANE_SENT)->mid = mid;
	l->sent++;
	return l->next - 1;
}

uint64_t bp_lane_push_pending(struct bp_lane *l, uint64_t end)
{
	push(l, end, BP_LANE_PENDING);
	l->pending++;
	return l->next - 1;
}

static void join(struct bp_lane *l, struct bp_lane_entry *e, uint64_t end, uint64_t first_id,
	uint64_t last_id)
{
	if (e->first_id == 0)
		e->first_id = first_id;
	if (last_id != 0)
		e->id = last_id;
	e->end = end;
	l->cursor = end;
}

bool bp_lane_push_done(struct bp_lane *l, uint64_t end, uint64_t first_id, uint64_t last_id)
{
	struct bp_lane_entry *last = l->next == l->first ? NULL : bp_lane_entry(l, l->next - 1);

	if (last != NULL && last->state == BP_LANE_DONE &&
		(last_id == 0 || last->id == 0 || bp_lane_crowded(l))) {
		join(l, last, end, first_id, last_id);
		return true;
	}
	if (bp_lane_full(l))
		return false;
	last = push(l, end, BP_LANE_DONE);
	last->first_id = first_id;
	last->id = last_id;
	return true;
}

static void leave_state(struct bp_lane *l, const struct bp_lane_entry *e)
{
	l->sent -= e->state == BP_LANE_SENT;
	l->pending -= e->state == BP_LANE_PENDING;
}

void bp_lane_set_done(struct bp_lane *l, struct bp_lane_entry *e)
{
	leave_state(l, e);
	e->state = BP_LANE_DONE;
}

void bp_lane_set_pending(struct bp_lane *l, struct bp_lane_entry *e)
{
	leave_state(l, e);
	e->state = BP_LANE_PENDING;
	l->pending++;
	bp_lane_rescan(l);
}

void bp_lane_set_sent(struct bp_lane *l, struct bp_lane_entry *e, uint16_t mid)
{
	leave_state(l, e);
	e->state = BP_LANE_SENT;
	e->mid = mid;
	l->sent++;
}

void bp_lane_rescan(struct bp_lane *l)
{
	l->scan = l->first;
}

struct bp_lane_entry *bp_lane_scan(struct bp_lane *l)
{
	if (l->pending == 0)
		l->scan = l->next;
	else if (l->scan < l->first)
		l->scan = l->first;
	for (; l->scan != l->next; l->scan++)
		if (bp_lane_entry(l, l->scan)->state == BP_LANE_PENDING)
			return bp_lane_entry(l, l->scan);
	return NULL;
}

uint64_t bp_lane_oldest_after(struct bp_lane *l, uint64_t id)
{
	uint64_t cursor = l->cursor;
	const struct bp_alarm *a;

	for (uint64_t n = l->first; n != l->next; n++) {
		const struct bp_lane_entry *e = bp_lane_entry(l, n);

		if (e->state != BP_LANE_DONE || e->id >= id)
			return e->first_id;
	}
	if (!bp_lane_read(l, &cursor, &a))
		return UINT64_MAX;
	return a != NULL ? a->id : 0;
}

void bp_lane_release_below(struct bp_lane *l, uint64_t id)
{
	uint64_t end = 0;
	bool moved = false;

	while (l->first != l->next) {
		const struct bp_lane_entry *e = bp_lane_entry(l, l->first);

		if (e->state != BP_LANE_DONE || e->id >= id)
			break;
		end = e->end;
		l->first++;
		moved = true;
	}
	if (!moved)
		return;
	l->tail = end;
	bp_ring_release(l->ring, l->other != NULL && l->other->tail < end ? l->other->tail : end);
}

void bp_lane_release(struct bp_lane *l)
{
	bp_lane_release_below(l, UINT64_MAX);
}
