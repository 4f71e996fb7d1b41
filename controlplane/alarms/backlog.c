/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/backlog.h"

#include <stdlib.h>
#include <string.h>

void bp_backlog_init(struct bp_backlog *b, struct bp_spool *spool)
{
	memset(b, 0, sizeof(*b));
	b->spool = spool;
}

void bp_backlog_free(struct bp_backlog *b)
{
	bp_id_set_free(&b->busy);
	free(b->done);
	memset(b, 0, sizeof(*b));
}

struct offer {
	struct bp_backlog *b;
	bp_backlog_send send;
	void *arg;
};

static bool on_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct offer *o = arg;
	struct bp_backlog *b = o->b;
	enum bp_backlog_sent r;

	if (!bp_id_set_has(&b->busy, id)) {
		/* The mark first: without memory for the mark the row must not be sent. */
		if (!bp_id_set_add(&b->busy, id))
			return false;
		r = a == NULL ? BP_BACKLOG_DISCARD : o->send(o->arg, id, a);
		if (r == BP_BACKLOG_STOP) {
			bp_id_set_remove(&b->busy, id);
			return false;
		}
		if (r == BP_BACKLOG_DISCARD)
			bp_backlog_acked(b, id);
	}
	b->from = id + 1;
	return true;
}

bool bp_backlog_offer(struct bp_backlog *b, bp_backlog_send send, void *arg)
{
	struct offer o = {b, send, arg};

	if (b->end)
		return true;
	return bp_spool_read(b->spool, b->from, on_row, &o, &b->end);
}

static void rescan_from(struct bp_backlog *b, uint64_t id)
{
	if (id < b->from)
		b->from = id;
	b->end = false;
}

void bp_backlog_rescan(struct bp_backlog *b)
{
	rescan_from(b, 0);
}

bool bp_backlog_added(struct bp_backlog *b, uint64_t id, bool in_flight)
{
	if (in_flight)
		return bp_id_set_add(&b->busy, id);
	rescan_from(b, id);
	return true;
}

void bp_backlog_acked(struct bp_backlog *b, uint64_t id)
{
	if (b->n_done == b->done_size) {
		size_t bigger = b->done_size == 0 ? 1024 : b->done_size * 2;
		uint64_t *grown = realloc(b->done, bigger * sizeof(*grown));

		/* Without memory the acknowledgement is not recorded: the row will be sent
		 * again. */
		if (grown == NULL) {
			bp_backlog_returned(b, id);
			return;
		}
		b->done = grown;
		b->done_size = bigger;
	}
	b->done[b->n_done++] = id;
}

void bp_backlog_returned(struct bp_backlog *b, uint64_t id)
{
	bp_id_set_remove(&b->busy, id);
	rescan_from(b, id);
}

void bp_backlog_dropped(struct bp_backlog *b, uint64_t id)
{
	bp_id_set_remove(&b->busy, id);
}

uint64_t bp_backlog_dropped_done(struct bp_backlog *b, uint64_t below)
{
	size_t kept = 0;
	uint64_t n;

	for (size_t i = 0; i < b->n_done; i++)
		if (b->done[i] < below)
			bp_id_set_remove(&b->busy, b->done[i]);
		else
			b->done[kept++] = b->done[i];
	n = b->n_done - kept;
	b->n_done = kept;
	return n;
}

void bp_backlog_clear(struct bp_backlog *b)
{
	bp_id_set_clear(&b->busy);
	b->n_done = 0;
	rescan_from(b, 0);
}

bool bp_backlog_delete_done(struct bp_backlog *b, uint64_t *deleted)
{
	*deleted = 0;
	if (b->n_done == 0)
		return true;
	if (!bp_spool_delete(b->spool, b->done, b->n_done, deleted))
		return false;
	for (size_t i = 0; i < b->n_done; i++)
		bp_id_set_remove(&b->busy, b->done[i]);
	b->n_done = 0;
	return true;
}
