/* SPDX-License-Identifier: BSD-3-Clause */
/* Associations of devices that are unknown here: reads their records, within the bounds of
 * controlplane/health/associations.h, and opens their sessions. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/associations_internal.h"
#include "controlplane/health/store/store.h"
#include "controlplane/process/clock.h"

/* Searches that are pending, and devices without an association: a set for each hash. */
#define SETS 1024u
#define WAYS 4u
/* A longer datagram is not kept: the device repeats it. */
#define KEPT_MAX 2048u
/* Redis has not answered. */
#define FAILED_NS 1000000000ull
#define EACH_NS (1000000000ull / BP_ASSOCIATION_READS)

struct searched {
	struct bp_associations *a;
	struct bp_phd_peer peer;
	uint64_t until_ns; /* without an association until then; 0: the place is free */
	uint8_t *apdu;     /* pending: the device's datagram; NULL: none */
	size_t len;
	bool pending;
};

struct bp_association_search {
	uint64_t next_ns; /* when the rate would be reached, if it were used evenly */
	uint32_t pending;
	struct searched place[SETS][WAYS];
};

struct bp_association_search *bp_association_search_new(void)
{
	return calloc(1, sizeof(struct bp_association_search));
}

void bp_association_search_free(struct bp_association_search *s)
{
	for (unsigned i = 0; s != NULL && i < SETS * WAYS; i++)
		free(s->place[i / WAYS][i % WAYS].apdu);
	free(s);
}

/* ---- adoption ---- */

/* Whether the device declared another configuration here since; the store would lose it. */
static void learn(struct bp_associations *a, const struct bp_association *r)
{
	const struct bp_phd_session_spec *s = &r->session;

	if (r->config.len != 0)
		bp_phd_store_learn(a->x.store, s->system_id, r->config);
	if (r->config.len != 0 && s->spec != 0)
		bp_phd_store_spec(a->x.store, s->system_id, s->config_id, s->spec);
}

enum bp_phd_restored bp_association_take(struct bp_associations *a,
	const struct bp_association *record, uint64_t epoch, const uint8_t own[16])
{
	const uint64_t now = bp_mono_ns();
	struct bp_phd_session_spec s = record->session;
	enum bp_phd_restored result;
	uint32_t slot;

	memcpy(s.own, own, sizeof(s.own));
	/* no instance gets a name that the other gateway has used since it wrote the record */
	s.reports += BP_PHD_STORE_RAISE;
	s.carried.sent = bp_association_sent(record, now, bp_unix_ns());
	if (s.carried.sent == 0)
		s.carried = (struct bp_phd_carried){.sent = 0};
	learn(a, record);
	result = bp_phd_manager_take(a->x.manager, &s, now);
	if (result != BP_PHD_RESTORED ||
		bp_phd_manager_find(a->x.manager, s.system_id, &slot) != 0) {
		a->counters.refused++;
		return result;
	}
	a->counters.adopted++;
	if (record->made != 0)
		bp_phd_store_set_created(a->x.store, s.system_id, s.config_id, record->made);
	/* later writes of the previous owner are refused */
	bp_fleet_state_outrank(a->x.fleet, epoch);
	bp_association_adopted(a, slot);
	return result;
}

static bool is_of(const struct bp_association *r, const struct bp_phd_peer *peer)
{
	return memcmp(r->session.address, peer->address, 16) == 0 && r->session.port == peer->port;
}

/* Returns whether the device has a session. */
static bool use(
	struct bp_associations *a, const struct bp_phd_peer *peer, const struct bp_fleet_value *v)
{
	struct bp_association r;

	if (!v->found) {
		a->counters.not_found++;
		return false;
	}
	if (!bp_association_read((const uint8_t *)v->bytes, v->len, &r) || !is_of(&r, peer)) {
		a->counters.invalid++;
		return false;
	}
	return bp_association_take(a, &r, v->epoch, peer->own) == BP_PHD_RESTORED;
}

/* ---- the search ---- */

static bool has_session(const struct bp_associations *a, const struct bp_phd_peer *peer)
{
	const struct bp_phd_tables *t = a->x.tables;
	uint32_t slot;

	return bp_phd_find(t, bp_phd_hash(t->hash_key, peer->address, peer->port, peer->transport),
		       peer->address, peer->port, peer->transport, &slot) == 0;
}

static void got(void *arg, const struct bp_fleet_value *v)
{
	struct searched *p = arg;
	struct bp_associations *a = p->a;
	uint8_t *apdu = p->apdu;
	/* meanwhile it associated: what it sent before that is of no use */
	const bool associated = has_session(a, &p->peer);
	const uint64_t now = bp_mono_ns();

	a->search->pending--;
	p->pending = false;
	p->apdu = NULL;
	p->until_ns = 0;
	if (associated || !v->known || !use(a, &p->peer, v))
		p->until_ns = now + (v->known ? BP_ASSOCIATION_ABSENT_NS : FAILED_NS);
	if (apdu != NULL && v->known && !associated) {
		const struct bp_phd_peer peer = p->peer;

		bp_phd_manager_receive(a->x.manager, &peer, apdu, p->len, now, bp_unix_ns());
	}
	free(apdu);
}

static bool within_bounds(struct bp_association_search *s, uint64_t now)
{
	if (s->next_ns < now)
		s->next_ns = now;
	if (s->pending >= BP_ASSOCIATION_READS_PENDING ||
		s->next_ns + EACH_NS - now > BP_ASSOCIATION_READS_BURST * EACH_NS)
		return false;
	s->next_ns += EACH_NS;
	return true;
}

/* The place of the device, or the one to use for it; NULL: all of its set are pending. */
static struct searched *place_of(
	struct bp_associations *a, const struct bp_phd_peer *from, bool *known)
{
	const uint64_t hash =
		bp_phd_hash(a->x.tables->hash_key, from->address, from->port, from->transport);
	struct searched *set = a->search->place[hash % SETS], *oldest = NULL;

	for (unsigned i = 0; i < WAYS; i++) {
		struct searched *p = &set[i];

		*known = (p->pending || p->until_ns != 0) && p->peer.port == from->port &&
			 memcmp(p->peer.address, from->address, 16) == 0;
		if (*known)
			return p;
		if (!p->pending && (oldest == NULL || p->until_ns < oldest->until_ns))
			oldest = p;
	}
	return oldest;
}

/* Keeps a copy of the datagram; without memory the device repeats it. */
static void keep(struct searched *p, const uint8_t *apdu, size_t len)
{
	p->apdu = len != 0 && len <= KEPT_MAX ? malloc(len) : NULL;
	p->len = len;
	if (p->apdu != NULL)
		memcpy(p->apdu, apdu, len);
}

bool bp_associations_unknown(
	struct bp_associations *a, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	const uint64_t now = bp_mono_ns();
	char key[BP_ASSOCIATION_KEY_TEXT];
	struct searched *p;
	bool known;

	if (!bp_fleet_state_connected(a->x.fleet))
		return false;
	p = place_of(a, from, &known);
	if (known && p->pending)
		return true;
	if (known && p->until_ns > now)
		return false;
	if (p == NULL || !within_bounds(a->search, now)) {
		a->counters.limited++;
		return true;
	}
	*p = (struct searched){.a = a, .peer = *from, .pending = true};
	bp_association_key(from->address, from->port, key);
	keep(p, apdu, len);
	a->search->pending++;
	a->counters.requests++;
	if (bp_fleet_state_get(a->x.fleet, key, got, p))
		return true;
	a->search->pending--;
	a->counters.limited++;
	free(p->apdu);
	*p = (struct searched){.until_ns = 0};
	return true;
}
