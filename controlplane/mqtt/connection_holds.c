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

bool bp_shared_holds_changes(
	struct bp_shared_holds *h, uint64_t connection, struct bp_hold_changes *out)
{
	const struct bp_shared_hold *e;
	size_t used = 0;

	out->n = 0;
	out->upto = h->changes;
	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	{
		if (e->connection != connection || e->list != BP_HOLDS_DUE)
			continue;
		if (out->n == BP_FLEET_ENTRIES_MAX ||
			used + 8 + BP_HOLD_TEXT_HEAD + e->topic_len > sizeof(out->text)) {
			h->owner.counters->too_large++;
			return false;
		}
		out->entry[out->n].iov_base = out->text + used;
		out->entry[out->n].iov_len = bp_hold_write(h, e, out->text + used);
		used += out->entry[out->n++].iov_len + sizeof(uint32_t);
	}
	return true;
}

void bp_hold_became_known(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	h->owner.counters->holds++;
	e->changed_ns = bp_mono_ns();
	bp_hold_move(h, e, BP_HOLDS_KNOWN);
	if (e->hold == 0)
		bp_hold_set_client(h, e, 0); /* the client has the place for another one */
}

void bp_shared_holds_stored(struct bp_shared_holds *h, uint64_t connection, uint64_t upto)
{
	struct bp_shared_hold *e;

	LIST_FOREACH(e, bp_holds_of_connection(h, connection), of_connection)
	if (e->connection == connection && e->list == BP_HOLDS_DUE && e->change <= upto)
		bp_hold_became_known(h, e);
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
		/* a later change replaces it, and no repetition does: the number is the same */
		if (!exact && !e->own)
			e->hold = 0;
		o = bp_hold_offer(h, e);
		if (!exact || e->mixed)
			o.hold = 0;
		if (out->len + sizeof(o) + e->topic_len > sizeof(out->bytes)) {
			h->owner.counters->too_large++;
			o.hold = 0;
			if (!e->own)
				e->hold = 0;
			(void)bp_state_offer_write(&h->shm->adopt_offers[0], &o, e->topic);
			continue;
		}
		memcpy(out->bytes + out->len, &o, sizeof(o));
		memcpy(out->bytes + out->len + sizeof(o), e->topic, e->topic_len);
		out->len += (uint32_t)sizeof(o) + e->topic_len;
	}
}
