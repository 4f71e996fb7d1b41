/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/copies_internal.h"

#include <string.h>

#include "controlplane/alarms/envelope.h"
#include "controlplane/process/clock.h"

/* A broker that answers acknowledges within this time, and the alarm needs no copy. */
#define DELAY_NS 10000000ull
/* Records of the rings that are read in one iteration of the event loop. */
#define RECORDS_MAX 512u

uint8_t bp_copies_destinations(const struct bp_alarm *a)
{
	return (uint8_t)(((a->flags & BP_ALARM_F_NOT_MQTT) == 0 ? 1u << BP_TO_MQTT : 0) |
			 ((a->flags & BP_ALARM_F_KAFKA) != 0 ? 1u << BP_TO_KAFKA : 0));
}

struct bp_copy *bp_copies_add(struct bp_alarm_copies *c, const struct bp_alarm *a, uint8_t pending)
{
	struct bp_copy *e = bp_copy_by_id(&c->table, a->id);
	char uid[BP_ALARM_UID_TEXT];

	if (e == NULL) {
		/* the uid is a hash, which a full table does not need */
		if (c->table.n < c->table.max) {
			bp_alarm_uid(a, uid);
			e = bp_copy_add(&c->table, a->id, uid, BP_COPY_WAITING);
		}
		if (e == NULL) {
			c->n.full++;
			return NULL;
		}
		e->due_ns = bp_mono_ns() + DELAY_NS;
		/* an earlier process may have stored it */
		e->sent = c->publisher == NULL;
		bp_copies_wake(c, DELAY_NS);
	}
	e->pending |= pending;
	return e;
}

void bp_copies_add_record(struct bp_alarm_copies *c, unsigned ring, uint64_t start, uint64_t end,
	const struct bp_alarm *a)
{
	struct bp_copy *e;

	if (end > c->cursor[ring])
		c->cursor[ring] = end;
	if (a == NULL || (a->flags & BP_ALARM_F_MIRROR) != 0 || a->id > INT64_MAX)
		return;
	bp_shared_states_alarm(c->states, a);
	e = bp_copies_add(c, a, bp_copies_destinations(a));
	if (e == NULL)
		return;
	e->ring = (uint16_t)(ring + 1);
	e->start = start;
}

/* The next record of a ring that is not in the table: its id, or 0 if it is too short for one;
 * UINT64_MAX: none. */
static uint64_t next_id(struct bp_alarm_copies *c, unsigned i)
{
	struct bp_ring *ring = bp_shm_ring(c->shm, i);
	const uint64_t tail = bp_ring_tail(ring);
	uint64_t end, id;
	const struct bp_alarm *a;
	uint32_t size;

	if (c->cursor[i] < tail)
		c->cursor[i] = tail;
	end = c->cursor[i];
	a = bp_ring_peek(ring, &end, &size);
	if (a == NULL) {
		c->cursor[i] = end; /* a damaged section is skipped */
		return UINT64_MAX;
	}
	if (size < BP_ALARM_HEAD)
		return 0;
	id = *(const volatile uint64_t *)&a->id;
	return id < UINT64_MAX ? id : 0;
}

/* The data plane can change the record at any time: it is copied once, and only the copy is checked
 * and used. */
static void read_record(struct bp_alarm_copies *c, unsigned ring)
{
	const uint64_t start = c->cursor[ring];
	uint64_t end = start;
	uint32_t size;
	const void *record = bp_ring_peek(bp_shm_ring(c->shm, ring), &end, &size);

	if (record != NULL)
		memcpy(c->read, record, size);
	bp_copies_add_record(c, ring, start, end,
		record != NULL && bp_alarm_valid(c->read, size) ? c->read : NULL);
}

/* At most *max, which it reduces by their number. True: more are there. */
static bool read_records(struct bp_alarm_copies *c, uint64_t *max)
{
	for (;; --*max) {
		uint64_t id = UINT64_MAX;
		unsigned ring = 0;

		for (unsigned i = 0; i < c->shm->workers; i++) {
			const uint64_t is = next_id(c, i);

			if (is >= id)
				continue;
			id = is;
			ring = i;
		}
		if (id == UINT64_MAX || *max == 0)
			return id != UINT64_MAX;
		read_record(c, ring);
	}
}

void bp_copies_read_all(struct bp_alarm_copies *c)
{
	uint64_t max = UINT64_MAX;

	c->unread = read_records(c, &max);
	c->left = RECORDS_MAX;
}

void bp_copies_read_more(struct bp_alarm_copies *c)
{
	c->unread = read_records(c, &c->left);
	if (c->unread)
		bp_copies_wake(c, 0);
	if (c->store != NULL)
		bp_shared_states_send(c->states, c->store);
}

void bp_copies_read_rings(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->left = RECORDS_MAX;
	bp_copies_read_more(c);
}

size_t bp_copies_find_record(struct bp_alarm_copies *c, const struct bp_copy *e)
{
	struct bp_ring *ring = e->ring != 0 ? bp_shm_ring(c->shm, e->ring - 1u) : NULL;
	uint64_t cursor = e->start;
	const struct bp_alarm *a = NULL;
	uint32_t size;
	uint64_t len;

	if (ring != NULL && e->start >= bp_ring_tail(ring))
		a = bp_ring_peek(ring, &cursor, &size);
	if (a == NULL || !bp_alarm_valid(a, size) || a->id != e->id)
		return bp_publisher_row(
			c->publisher, e->id, (struct bp_alarm *)c->record, sizeof(c->record));
	/* The record is in shared memory, and can change: its lengths are checked after the copy.
	 */
	if (size > sizeof(c->record))
		size = sizeof(c->record);
	memcpy(c->record, a, size);
	a = (const struct bp_alarm *)c->record;
	len = bp_alarm_size(a);
	return len <= size || len > sizeof(c->record) ? len : 0;
}
