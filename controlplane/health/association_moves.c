/* SPDX-License-Identifier: BSD-3-Clause */
/* Associations that began at a gateway, or that it adopted: each one is an entry of a stream, which
 * the other gateways read. One that has a session of the device then compares it with the record.
 */
#include <stdio.h>
#include <string.h>

#include "controlplane/health/associations_internal.h"
#include "controlplane/process/clock.h"

#define STREAM "phd-moves"
#define POLL_NS 100000000ull

/* An entry: address and UDP port of the device, and who has the association. */
#define OWNER_AT 18u

void bp_association_announce(const struct bp_associations *a, const struct bp_phd_session *s,
	uint8_t entry[BP_ASSOCIATION_MOVE], struct iovec *words, struct bp_fleet_write *w)
{
	memcpy(entry, s->address, 16);
	entry[16] = (uint8_t)(s->port >> 8);
	entry[17] = (uint8_t)s->port;
	memcpy(entry + OWNER_AT, &a->owner, sizeof(a->owner));
	*words = (struct iovec){entry, BP_ASSOCIATION_MOVE};
	w->stream = STREAM;
	w->entries = words;
	w->n_entries = 1;
}

/* The next scan writes the record of the session, and Redis refuses that if another gateway has the
 * association. The entry is untrusted: it causes no more than this write. */
static void take_move(struct bp_associations *a, const uint8_t *p, size_t len)
{
	const struct bp_phd_tables *t = a->x.tables;
	uint16_t port;
	uint64_t hash;
	uint32_t slot;

	if (len != BP_ASSOCIATION_MOVE || memcmp(p + OWNER_AT, &a->owner, sizeof(a->owner)) == 0)
		return;
	port = (uint16_t)(p[16] << 8 | p[17]);
	hash = bp_phd_hash(t->hash_key, p, port, BP_PHD_TRANSPORT_UDP);
	if (bp_phd_find(t, hash, p, port, BP_PHD_TRANSPORT_UDP, &slot) == 0)
		a->note[slot].generation = 0;
}

static void got(void *arg, const struct bp_fleet_value *v)
{
	struct bp_associations *a = arg;

	if (!v->found) {
		a->polling = false;
		if (a->moves == BP_FLEET_ENTRIES_PAGE) /* there may be more */
			a->polled_ns = 0;
		return;
	}
	a->moves++;
	snprintf(a->move, sizeof(a->move), "%s", v->id);
	take_move(a, (const uint8_t *)v->bytes, v->len);
}

void bp_association_poll_moves(struct bp_associations *a, bool connected_again, uint64_t now)
{
	if (connected_again) /* maybe another server */
		a->move[0] = '\0';
	if (a->polling || now - a->polled_ns < POLL_NS)
		return;
	a->polled_ns = now;
	a->moves = 0;
	a->polling = bp_fleet_state_get_entries(a->x.fleet, STREAM, a->move, got, a);
}
