/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "controlplane/mqtt/hold_text.h"
#include "controlplane/mqtt/shared_holds_internal.h"
#include "controlplane/mqtt/state_text.h"
#include "controlplane/process/clock.h"

size_t bp_hold_write(const struct bp_shared_holds *h, const struct bp_shared_hold *e, char *text)
{
	return bp_hold_text_write(&(struct bp_hold_text){.number = e->number,
					  .rule_uid = e->rule_uid,
					  .hold = e->mixed ? 0 : e->hold,
					  .gateway = h->owner.gateway,
					  .connection = e->connection,
					  .dir = e->dir,
					  .seq = e->seq,
					  .topic = e->topic,
					  .topic_len = e->topic_len},
		text);
}

/* written: those that are in an earlier write. False: not all fit. */
static bool add_changes(struct bp_shared_holds *h, uint64_t connection, bool written,
	struct bp_hold_changes *out, size_t *used)
{
	struct bp_shared_hold *e;

	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	{
		if (e->connection != connection || e->list != BP_HOLDS_DUE ||
			(e->write != 0 && e->write != out->write) != written)
			continue;
		if (out->n == BP_FLEET_ENTRIES_MAX ||
			*used + 8 + BP_HOLD_TEXT_HEAD + e->topic_len > sizeof(out->text))
			return false;
		out->entry[out->n].iov_base = out->text + *used;
		out->entry[out->n].iov_len = bp_hold_write(h, e, out->text + *used);
		*used += out->entry[out->n++].iov_len + sizeof(uint32_t);
		if (!written)
			e->write = out->write;
	}
	return true;
}

/* What is in no write comes first, so that all get there in parts, too. What is in one is added, as
 * that write can fail; it belongs to the first one until it has. */
bool bp_shared_holds_changes(
	struct bp_shared_holds *h, uint64_t connection, struct bp_hold_changes *out)
{
	size_t used = 0;

	out->n = 0;
	out->write = ++h->writes;
	if (add_changes(h, connection, false, out, &used) &&
		add_changes(h, connection, true, out, &used))
		return true;
	h->owner.counters->too_large++;
	return false;
}

void bp_hold_end(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	if (e->hold == 0)
		return;
	e->hold = 0;
	e->number++;
	e->own = true;
	e->mixed = false;
	e->place = (struct bp_stream_place){.slot = UINT32_MAX};
	e->change = ++h->changes;
	e->write = 0;
	bp_hold_become_due(h, e);
}

void bp_shared_holds_end(struct bp_shared_holds *h, uint64_t connection)
{
	struct bp_shared_hold *e;

	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	if (e->connection == connection)
		bp_hold_end(h, e);
}

void bp_hold_became_known(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	h->owner.counters->holds++;
	e->changed_ns = bp_mono_ns();
	bp_hold_move(h, e, BP_HOLDS_KNOWN);
	if (e->hold == 0)
		bp_hold_set_client(h, e, 0); /* the client has the place for another one */
}

void bp_shared_holds_written(
	struct bp_shared_holds *h, uint64_t connection, uint64_t write, bool stored)
{
	struct bp_shared_hold *e;

	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	{
		if (e->connection != connection || e->list != BP_HOLDS_DUE || e->write != write)
			continue;
		e->write = 0;
		if (stored)
			bp_hold_became_known(h, e);
	}
}

struct bp_state_offer bp_hold_offer(const struct bp_shared_holds *h, const struct bp_shared_hold *e)
{
	return (struct bp_state_offer){.rule_uid = e->rule_uid,
		.transition = e->number,
		.hold = e->hold,
		.rule = h->owner.rule_of(h->owner.arg, e->rule_uid),
		.state = BP_OFFER_HOLD,
		.topic_len = e->topic_len,
		.seq = e->seq,
		.dir = e->dir};
}

void bp_shared_holds_of(
	struct bp_shared_holds *h, uint64_t connection, bool exact, struct bp_hold_offers *out)
{
	struct bp_state_offer o;
	struct bp_shared_hold *e;

	out->len = 0;
	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	{
		if (e->connection != connection)
			continue;
		/* also for the others: the worker reports no end of what has ended */
		if (!exact)
			bp_hold_end(h, e);
		o = bp_hold_offer(h, e);
		if (e->mixed)
			o.hold = 0;
		if (out->len + sizeof(o) + e->topic_len > sizeof(out->bytes)) {
			h->owner.counters->too_large++;
			bp_hold_end(h, e);
			o = bp_hold_offer(h, e);
			(void)bp_state_offer_write(&h->shm->adopt_offers[0], &o, e->topic);
			continue;
		}
		memcpy(out->bytes + out->len, &o, sizeof(o));
		memcpy(out->bytes + out->len + sizeof(o), e->topic, e->topic_len);
		out->len += (uint32_t)sizeof(o) + e->topic_len;
	}
}
