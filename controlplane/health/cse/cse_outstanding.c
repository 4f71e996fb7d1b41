/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the client: message ids, requests in flight, and watchers for free capacity. */
#include <stdlib.h>

#include "controlplane/health/cse/cse_client_internal.h"

void bp_cse_ids_init(struct bp_cse_ids *ids, uint64_t lifetime_ns, uint64_t now_ns)
{
	ids->slot_ns = (lifetime_ns + BP_CSE_ID_BLOCKS - 2) / (BP_CSE_ID_BLOCKS - 1);
	ids->slot = now_ns / ids->slot_ns;
	ids->taken = BP_CSE_ID_BLOCK;
}

uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns)
{
	if (now_ns / ids->slot_ns > ids->slot || ids->taken < BP_CSE_ID_BLOCK)
		return now_ns;
	return (ids->slot + 1) * ids->slot_ns;
}

uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns)
{
	const uint64_t slot = now_ns / ids->slot_ns;

	if (slot > ids->slot) {
		ids->slot = slot;
		ids->taken = 0;
	}
	return (uint16_t)(ids->slot % BP_CSE_ID_BLOCKS * BP_CSE_ID_BLOCK + ids->taken++);
}

/* ---- requests in flight ---- */

void bp_cse_set_timer(struct bp_cse_outstanding *r, uint64_t ns)
{
	const struct timeval t = bp_cse_timeval(ns);

	evtimer_add(r->timer, &t);
}

void bp_cse_end_request(struct bp_cse_outstanding *r, const struct bp_cse_reply *reply)
{
	struct bp_cse_client *c = r->client;

	evtimer_del(r->timer);
	free(r->bytes);
	r->bytes = NULL;
	r->used = false;
	c->outstanding--;
	if (c->full && !c->closing)
		event_active(c->room, EV_TIMEOUT, 1);
	r->done(r->arg, reply);
}

void bp_cse_send_bytes(struct bp_cse_lane *lane, const uint8_t *p, size_t len)
{
	if (!bp_cse_socket_send(&lane->socket, p, len))
		lane->client->counts.not_sent++;
}

/* ---- watchers ---- */

void bp_cse_watch_add(struct bp_cse_watch **list, struct bp_cse_watch *w)
{
	w->next = *list;
	*list = w;
}

void bp_cse_watch_notify(struct bp_cse_watch **list)
{
	struct bp_cse_watch *first = *list, **last = list;

	for (struct bp_cse_watch *w = first; w != NULL; w = w->next)
		w->room(w->arg);
	if (first == NULL)
		return;
	*list = first->next;
	first->next = NULL;
	while (*last != NULL)
		last = &(*last)->next;
	*last = first;
}
