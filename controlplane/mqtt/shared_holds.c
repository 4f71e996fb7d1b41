/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/shared_holds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "controlplane/mqtt/client_shares.h"
#include "controlplane/mqtt/hold_text.h"
#include "controlplane/mqtt/shared_holds_internal.h"
#include "controlplane/mqtt/state_text.h"
#include "controlplane/process/clock.h"
#include "proto/mqtt/mqtt.h"
#include "shm/hash.h"
#include "shm/mqtt/mqtt_tables.h"
#include "shm/rules/rule_state.h"

/* A hold without a change for this time is forgotten, as in the table of the workers; one that has
 * ended, after the time in which changes of others can be read late. */
#define KEPT_NS BP_RULE_STATE_IDLE_NS
#define ENDED_NS 60000000000ull
/* Changes from a clock that is ahead would hide those of others. */
#define AHEAD_NS 5000000000ull
#define SEND_MAX 64u /* in one tick */

static struct bp_shared_hold **bucket_of(struct bp_shared_holds *h, const char *uid)
{
	return &h->bucket[bp_mix64(bp_load64((const uint8_t *)uid) ^ h->shares.key) %
			  BP_HOLDS_BUCKETS];
}

static struct bp_shared_hold *find(struct bp_shared_holds *h, const char *uid)
{
	struct bp_shared_hold *e = *bucket_of(h, uid);

	while (e != NULL && strcmp(e->uid, uid) != 0)
		e = e->next;
	return e;
}

void bp_hold_set_client(struct bp_shared_holds *h, struct bp_shared_hold *e, uint16_t client)
{
	if (e->client != 0)
		bp_client_share_return(&h->shares, e->client, 1);
	e->client = client;
	if (client != 0)
		bp_client_share_take(&h->shares, client, 1);
}

static void set_connection(struct bp_shared_holds *h, struct bp_shared_hold *e, uint64_t connection)
{
	if (e->connection == connection)
		return;
	if (e->connection != 0)
		LIST_REMOVE(e, of_connection);
	e->connection = connection;
	if (connection != 0)
		LIST_INSERT_HEAD(bp_holds_of_connection(h, connection), e, of_connection);
}

static void withdraw(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	if (e->offered)
		TAILQ_REMOVE(&h->offers, e, offer_entry);
	e->offered = false;
}

static void drop(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	struct bp_shared_hold **at = bucket_of(h, e->uid);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	TAILQ_REMOVE(&h->list[e->list], e, entry);
	withdraw(h, e);
	bp_hold_set_client(h, e, 0);
	set_connection(h, e, 0);
	h->n--;
	free(e);
}

void bp_hold_move(struct bp_shared_holds *h, struct bp_shared_hold *e, enum bp_holds_list list)
{
	TAILQ_REMOVE(&h->list[e->list], e, entry);
	e->list = (uint8_t)list;
	TAILQ_INSERT_TAIL(&h->list[list], e, entry);
}

static bool make_offer(struct bp_shared_holds *h, const struct bp_shared_hold *e);

/* What is forgotten cannot end later: it ends now at the worker, if that has it of another gateway.
 */
static void forget_first(struct bp_shared_holds *h)
{
	struct bp_shared_hold *e = TAILQ_FIRST(&h->list[BP_HOLDS_KNOWN]);

	if (e == NULL)
		return;
	if (!e->own && e->hold != 0) {
		e->hold = 0;
		(void)make_offer(h, e);
	}
	drop(h, e);
}

static struct bp_shared_hold *add(struct bp_shared_holds *h, uint64_t rule_uid, const char *topic,
	size_t len, const char *uid)
{
	struct bp_shared_hold *e, **head = bucket_of(h, uid);

	if (h->n == BP_HOLDS_MAX)
		forget_first(h);
	e = h->n < BP_HOLDS_MAX ? calloc(1, sizeof(*e) + len) : NULL;
	if (e == NULL) {
		h->owner.counters->full++;
		return NULL;
	}
	e->rule_uid = rule_uid;
	e->topic_len = (uint16_t)len;
	memcpy(e->topic, topic, len);
	memcpy(e->uid, uid, sizeof(e->uid));
	e->list = BP_HOLDS_KNOWN;
	TAILQ_INSERT_TAIL(&h->list[BP_HOLDS_KNOWN], e, entry);
	e->next = *head;
	*head = e;
	h->n++;
	return e;
}

/* ---- of this gateway ---- */

static bool has_share(const struct bp_shared_holds *h, uint16_t client)
{
	return bp_client_share_check(&h->shares, client, 1) == BP_SHARE_FREE;
}

/* A hold that begins has no values of before: it is empty, the first value, or another time. */
static bool begins(const struct bp_shared_hold *e, uint64_t hold)
{
	return e->hold == 0 || hold <= 1 || hold > UINT32_MAX;
}

/* Newer than what is known of the pair. The worker has it: nothing is offered. False: it is older,
 * or the same. */
static bool set_own(struct bp_shared_holds *h, struct bp_shared_hold *e,
	const struct bp_hold_report *r, uint64_t connection)
{
	const uint64_t number = r->unix_ns >> BP_TRANSITION_SHIFT;

	if (number < e->number || (e->number != 0 && r->hold == e->hold))
		return false;
	e->mixed = !begins(e, r->hold) &&
		   (e->mixed || (e->list == BP_HOLDS_DUE && e->connection != connection));
	/* two changes can have one time */
	e->number = number > e->number ? number : e->number + 1;
	e->hold = r->hold;
	e->place = r->place;
	e->seq = r->place.seq;
	e->dir = r->place.dir;
	e->change = ++h->changes;
	e->write = 0;
	e->own = true;
	set_connection(h, e, connection);
	withdraw(h, e);
	return true;
}

void bp_hold_become_due(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	if (e->list == BP_HOLDS_DUE)
		return;
	e->changed_ns = bp_mono_ns();
	bp_hold_move(h, e, BP_HOLDS_DUE);
}

static void change(struct bp_shared_holds *h, const struct bp_hold_report *r, const char *topic,
	uint64_t connection)
{
	const uint16_t client = bp_client_share(&h->shares, r->client_ip, r->ip6);
	char uid[BP_ALARM_UID_TEXT];
	struct bp_shared_hold *e;

	bp_state_uid(r->rule_uid, topic, r->topic_len, uid);
	e = find(h, uid);
	/* also one that holds nothing: Redis can have an older change, and after a restart no pair
	 * is known */
	if (e == NULL && has_share(h, client)) {
		e = add(h, r->rule_uid, topic, r->topic_len, uid);
		if (e == NULL)
			return;
	}
	if (e == NULL) {
		h->owner.counters->client_full++;
		return;
	}
	/* what Redis has already is replaced also without a share */
	if (e->client != client && has_share(h, client))
		bp_hold_set_client(h, e, client);
	if (set_own(h, e, r, connection))
		bp_hold_become_due(h, e);
}

void bp_shared_holds_report(
	struct bp_shared_holds *h, const void *bytes, uint32_t len, uint64_t connection)
{
	struct bp_hold_report r;
	char topic[BP_STATE_TOPIC_MAX];

	if (len > sizeof(r)) {
		memcpy(&r, bytes, sizeof(r));
		if (r.topic_len == len - sizeof(r) && r.topic_len <= sizeof(topic) && r.ip6 <= 1 &&
			r.unix_ns >> BP_TRANSITION_SHIFT >> BP_TRANSITION_BITS == 0) {
			memcpy(topic, (const uint8_t *)bytes + sizeof(r), r.topic_len);
			if (bp_mqtt_topic_valid(topic, r.topic_len)) {
				change(h, &r, topic, connection);
				return;
			}
		}
	}
	h->owner.counters->invalid++;
}

/* A hold without a share is of an unknown client. */
static bool is_lost(const struct bp_shared_holds *h, uint16_t client)
{
	return client == 0 || (h->lost[(client - 1) / 64] >> (client - 1) % 64 & 1) != 0;
}

/* Of clients whose reports were lost, or all of an earlier process. */
static void end_own(struct bp_shared_holds *h, bool only_earlier)
{
	struct bp_shared_hold *e, *next;

	for (unsigned i = 0; i < BP_HOLDS_LISTS; i++)
		for (e = TAILQ_FIRST(&h->list[i]); e != NULL; e = next) {
			next = TAILQ_NEXT(e, entry);
			if (e->own && (only_earlier ? e->change == 0 : is_lost(h, e->client)))
				bp_hold_end(h, e);
		}
}

/* A walk over all holds, so not for each report. */
static void end_lost(struct bp_shared_holds *h)
{
	if (!h->any_lost)
		return;
	end_own(h, false);
	memset(h->lost, 0, sizeof(h->lost));
	h->any_lost = false;
}

void bp_shared_holds_lost(struct bp_shared_holds *h, const uint64_t clients[BP_HOLD_LOST_WORDS])
{
	for (unsigned i = 0; i < BP_HOLD_LOST_WORDS; i++)
		h->lost[i] |= clients[i];
	h->any_lost = true;
}

bool bp_shared_holds_complete(const struct bp_shared_holds *h, const uint8_t ip[16], bool ip6)
{
	return !h->any_lost || !is_lost(h, bp_client_share(&h->shares, ip, ip6));
}

/* ---- in Redis ---- */

static void offer(struct bp_shared_holds *h, struct bp_shared_hold *e)
{
	if (e->offered)
		return;
	e->offered = true;
	TAILQ_INSERT_TAIL(&h->offers, e, offer_entry);
}

/* A clock that is ahead, and a hold that all others have forgotten. */
static bool is_in_time(uint64_t number)
{
	const uint64_t now = bp_unix_ns();

	return number >= (now - KEPT_NS) >> BP_TRANSITION_SHIFT &&
	       number <= (now + AHEAD_NS) >> BP_TRANSITION_SHIFT;
}

void bp_shared_holds_state(struct bp_shared_holds *h, const void *bytes, size_t len)
{
	char uid[BP_ALARM_UID_TEXT];
	struct bp_hold_text x;
	struct bp_shared_hold *e;

	if (!bp_hold_text_read(bytes, len, &x) || !is_in_time(x.number)) {
		h->owner.counters->invalid++;
		return;
	}
	bp_state_uid(x.rule_uid, x.topic, x.topic_len, uid);
	e = find(h, uid);
	if (e == NULL)
		e = add(h, x.rule_uid, x.topic, x.topic_len, uid);
	if (e != NULL)
		e->generation = h->generation;
	if (e == NULL || x.number <= e->number)
		return; /* also what this process has sent */
	e->number = x.number;
	e->hold = x.hold;
	e->mixed = false;
	e->seq = x.seq;
	e->dir = x.dir;
	set_connection(h, e, x.connection);
	e->changed_ns = bp_mono_ns();
	bp_hold_set_client(h, e, 0);
	bp_hold_move(h, e, BP_HOLDS_KNOWN);
	/* of an earlier process: the worker has it, or a newer one */
	e->own = x.gateway == h->owner.gateway;
	if (e->own) {
		withdraw(h, e);
		return;
	}
	h->owner.counters->holds_adopted++;
	offer(h, e);
}

/* ---- time ---- */

static bool make_offer(struct bp_shared_holds *h, const struct bp_shared_hold *e)
{
	const struct bp_state_offer o = bp_hold_offer(h, e);

	return bp_state_offer_write(&h->shm->adopt_offers[0], &o, e->topic);
}

static void send_due(struct bp_shared_holds *h, struct bp_alarm_store *store)
{
	const uint64_t now = bp_mono_ns();
	char text[BP_HOLD_TEXT_HEAD + BP_STATE_TOPIC_MAX + 1];
	struct bp_shared_hold *e;

	for (unsigned i = 0; i < SEND_MAX && bp_alarm_store_ready(store); i++) {
		e = TAILQ_FIRST(&h->list[BP_HOLDS_DUE]);
		if (e == NULL || now - e->changed_ns < BP_HOLDS_COLLAPSE_NS)
			return;
		e->changed_ns = now;
		if (h->recorded != NULL && h->recorded(h->recorded_arg, &e->place)) {
			bp_hold_move(h, e, BP_HOLDS_DUE);
			continue;
		}
		bp_alarm_store_add_hold(store, text, bp_hold_write(h, e, text));
		bp_hold_became_known(h, e);
	}
}

/* After a connection, or a gap, all that Redis still has was read: what was not may have changed.
 */
static void end_unread(struct bp_shared_holds *h)
{
	struct bp_shared_hold *e, *next;

	for (e = TAILQ_FIRST(&h->list[BP_HOLDS_KNOWN]); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->own || e->hold == 0 || e->generation == h->generation)
			continue;
		bp_hold_end(h, e);
		offer(h, e);
	}
	/* an earlier process may have read reports that it did not send */
	if (!h->begun)
		end_own(h, true);
	h->begun = true;
}

/* Ends, too: a replica can have the hold of before. */
void bp_shared_holds_repeat(struct bp_shared_holds *h)
{
	struct bp_shared_hold *e, *next;

	for (e = TAILQ_FIRST(&h->list[BP_HOLDS_KNOWN]); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (!e->own)
			continue;
		e->number++;
		e->write = 0;
		bp_hold_become_due(h, e);
	}
}

static void expire(struct bp_shared_holds *h)
{
	const uint64_t now = bp_mono_ns();
	struct bp_shared_hold *e;

	while ((e = TAILQ_FIRST(&h->list[BP_HOLDS_DUE])) != NULL && now - e->changed_ns > KEPT_NS)
		drop(h, e);
	/* without a connection, Redis can have older changes that are still to be read */
	while ((e = TAILQ_FIRST(&h->list[BP_HOLDS_KNOWN])) != NULL &&
		now - e->changed_ns > (e->hold == 0 && h->read ? ENDED_NS : KEPT_NS))
		drop(h, e);
}

void bp_shared_holds_tick(struct bp_shared_holds *h, struct bp_alarm_store *store)
{
	const bool read = bp_alarm_store_holds_read(store);

	end_lost(h);
	if (read && !h->read)
		end_unread(h);
	h->read = read;
	send_due(h, store);
	expire(h);
}

void bp_shared_holds_gap(struct bp_shared_holds *h)
{
	h->read = false;
	h->generation++;
}

void bp_shared_holds_down(struct bp_shared_holds *h)
{
	bp_shared_holds_gap(h);
	bp_shared_holds_repeat(h);
}

bool bp_shared_holds_read(const struct bp_shared_holds *h)
{
	return h->read;
}

bool bp_shared_holds_offer(struct bp_shared_holds *h, uint64_t *offered_to)
{
	struct bp_shared_hold *e;

	/* a later change may replace one that was read */
	if (!h->read)
		return TAILQ_EMPTY(&h->offers);
	while ((e = TAILQ_FIRST(&h->offers)) != NULL && make_offer(h, e)) {
		TAILQ_REMOVE(&h->offers, e, offer_entry);
		e->offered = false;
		*offered_to = bp_ring_head(&h->shm->adopt_offers[0]);
	}
	return e == NULL;
}

void bp_shared_holds_offer_again(struct bp_shared_holds *h)
{
	struct bp_shared_hold *e;

	TAILQ_FOREACH(e, &h->list[BP_HOLDS_KNOWN], entry)
	if (!e->own)
		offer(h, e);
}

/* ---- life cycle ---- */

struct bp_shared_holds *bp_shared_holds_new(
	struct bp_shm *shm, const struct bp_shared_holds_owner *owner)
{
	struct bp_shared_holds *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->shm = shm;
	h->owner = *owner;
	h->shares.key = shm->global->hash_key[0];
	h->shares.client_max = BP_HOLDS_CLIENT_MAX;
	h->shares.max = BP_HOLDS_MAX;
	for (unsigned i = 0; i < BP_HOLDS_LISTS; i++)
		TAILQ_INIT(&h->list[i]);
	TAILQ_INIT(&h->offers);
	return h;
}

void bp_shared_holds_wait_for(struct bp_shared_holds *h,
	bool (*recorded)(void *arg, const struct bp_stream_place *p), void *arg)
{
	h->recorded = recorded;
	h->recorded_arg = arg;
}

void bp_shared_holds_free(struct bp_shared_holds *h)
{
	struct bp_shared_hold *e;

	if (h == NULL)
		return;
	for (unsigned i = 0; i < BP_HOLDS_LISTS; i++)
		while ((e = TAILQ_FIRST(&h->list[i])) != NULL)
			drop(h, e);
	free(h);
}

uint32_t bp_shared_holds_number(const struct bp_shared_holds *h)
{
	return h->n;
}
