/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/shared_holds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "controlplane/mqtt/client_shares.h"
#include "controlplane/mqtt/state_text.h"
#include "controlplane/process/clock.h"
#include "proto/mqtt/mqtt.h"
#include "shm/hash.h"
#include "shm/mqtt/mqtt_tables.h"
#include "shm/rules/rule_state.h"

#define BUCKETS 16384u
/* A hold without a change for this time is forgotten, as in the table of the workers; one that has
 * ended, after the time in which changes of others can be read late. */
#define KEPT_NS BP_RULE_STATE_IDLE_NS
#define ENDED_NS 60000000000ull
/* Changes from a clock that is ahead would hide those of others. */
#define AHEAD_NS 5000000000ull
#define SEND_MAX 64u /* in one tick */
/* Text: 'h' and the number of the change, the rule's uid, the hold and the gateway, as 16
 * hexadecimal digits each; then the topic. */
#define TEXT_HEAD (BP_ALARM_STATE_HEAD + 48u)

/* DUE: to be sent; the others are known. */
enum list { DUE, KNOWN, LISTS };

struct hold {
	TAILQ_ENTRY(hold) entry, offer_entry;
	struct hold *next; /* of the same bucket */
	uint64_t rule_uid, hold;
	uint64_t number; /* of the last change: its Unix time, as of a transition */
	uint64_t changed_ns;
	struct bp_stream_place place; /* own: of the packet that has made the last change */
	uint16_t client;              /* bp_client_share(); 0: it has no share of a client */
	uint16_t topic_len;
	uint8_t list;
	bool own, offered; /* own: the last change is of this gateway */
	char uid[BP_ALARM_UID_TEXT];
	char topic[];
};
TAILQ_HEAD(holds, hold);

struct bp_shared_holds {
	struct bp_shm *shm;
	struct bp_shared_holds_owner owner;
	struct holds list[LISTS], offers;
	struct hold *bucket[BUCKETS];
	struct bp_client_shares shares;
	bool (*passed)(void *arg, const struct bp_stream_place *p); /* NULL: changes do not wait */
	void *passed_arg;
	uint32_t n;
	bool read; /* all changes in Redis, since the connection */
};

static struct hold **bucket_of(struct bp_shared_holds *h, const char *uid)
{
	return &h->bucket[bp_mix64(bp_load64((const uint8_t *)uid) ^ h->shares.key) % BUCKETS];
}

static struct hold *find(struct bp_shared_holds *h, const char *uid)
{
	struct hold *e = *bucket_of(h, uid);

	while (e != NULL && strcmp(e->uid, uid) != 0)
		e = e->next;
	return e;
}

static void set_client(struct bp_shared_holds *h, struct hold *e, uint16_t client)
{
	if (e->client != 0)
		bp_client_share_return(&h->shares, e->client, 1);
	e->client = client;
	if (client != 0)
		bp_client_share_take(&h->shares, client, 1);
}

static void withdraw(struct bp_shared_holds *h, struct hold *e)
{
	if (e->offered)
		TAILQ_REMOVE(&h->offers, e, offer_entry);
	e->offered = false;
}

static void drop(struct bp_shared_holds *h, struct hold *e)
{
	struct hold **at = bucket_of(h, e->uid);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	TAILQ_REMOVE(&h->list[e->list], e, entry);
	withdraw(h, e);
	set_client(h, e, 0);
	h->n--;
	free(e);
}

static void move(struct bp_shared_holds *h, struct hold *e, enum list list)
{
	TAILQ_REMOVE(&h->list[e->list], e, entry);
	e->list = (uint8_t)list;
	TAILQ_INSERT_TAIL(&h->list[list], e, entry);
}

static struct hold *add(struct bp_shared_holds *h, uint64_t rule_uid, const char *topic, size_t len,
	const char *uid)
{
	struct hold *e = TAILQ_FIRST(&h->list[KNOWN]), **head = bucket_of(h, uid);

	if (h->n == BP_HOLDS_MAX && e != NULL)
		drop(h, e);
	e = h->n < BP_HOLDS_MAX ? calloc(1, sizeof(*e) + len) : NULL;
	if (e == NULL) {
		h->owner.counters->full++;
		return NULL;
	}
	e->rule_uid = rule_uid;
	e->topic_len = (uint16_t)len;
	memcpy(e->topic, topic, len);
	memcpy(e->uid, uid, sizeof(e->uid));
	e->list = KNOWN;
	TAILQ_INSERT_TAIL(&h->list[KNOWN], e, entry);
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

/* False: the client has its share of the pairs. */
static bool take(struct bp_shared_holds *h, struct hold *e, uint16_t client)
{
	if (e->client == client)
		return true;
	if (!has_share(h, client))
		return false;
	set_client(h, e, client);
	return true;
}

/* Newer than what is known of the pair. The worker has it: nothing is offered. False: it is older,
 * or the same. */
static bool set_own(struct bp_shared_holds *h, struct hold *e, const struct bp_hold_report *r)
{
	const uint64_t number = r->unix_ns >> BP_TRANSITION_SHIFT;

	if (number < e->number || (e->number != 0 && r->hold == e->hold))
		return false;
	/* two changes can have one time */
	e->number = number > e->number ? number : e->number + 1;
	e->hold = r->hold;
	e->place = r->place;
	e->own = true;
	withdraw(h, e);
	return true;
}

static void change(struct bp_shared_holds *h, const struct bp_hold_report *r, const char *topic)
{
	const uint16_t client = bp_client_share(&h->shares, r->client_ip, r->ip6);
	char uid[BP_ALARM_UID_TEXT];
	struct hold *e;

	bp_state_uid(r->rule_uid, topic, r->topic_len, uid);
	e = find(h, uid);
	/* also one that holds nothing: Redis can have an older change, and after a restart no pair
	 * is known */
	if (e == NULL && has_share(h, client)) {
		e = add(h, r->rule_uid, topic, r->topic_len, uid);
		if (e == NULL)
			return;
	}
	if (e == NULL || !take(h, e, client)) {
		h->owner.counters->client_full++;
		if (e != NULL)
			(void)set_own(h, e, r);
		return;
	}
	if (!set_own(h, e, r) || e->list == DUE)
		return;
	e->changed_ns = bp_mono_ns();
	move(h, e, DUE);
}

void bp_shared_holds_report(struct bp_shared_holds *h, const void *bytes, uint32_t len)
{
	struct bp_hold_report r;
	char topic[BP_STATE_TOPIC_MAX];

	if (len > sizeof(r)) {
		memcpy(&r, bytes, sizeof(r));
		if (r.topic_len == len - sizeof(r) && r.topic_len <= sizeof(topic) && r.ip6 <= 1 &&
			r.unix_ns >> BP_TRANSITION_SHIFT >> BP_TRANSITION_BITS == 0) {
			memcpy(topic, (const uint8_t *)bytes + sizeof(r), r.topic_len);
			if (bp_mqtt_topic_valid(topic, r.topic_len)) {
				change(h, &r, topic);
				return;
			}
		}
	}
	h->owner.counters->invalid++;
}

static void send_one(const struct bp_shared_holds *h, struct hold *e, struct bp_alarm_store *store)
{
	char text[TEXT_HEAD + BP_STATE_TOPIC_MAX + 1];

	snprintf(text, sizeof(text), "h%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
		e->number, e->rule_uid, e->hold, h->owner.gateway);
	memcpy(text + TEXT_HEAD, e->topic, e->topic_len);
	bp_alarm_store_add_hold(store, text, TEXT_HEAD + (size_t)e->topic_len);
}

/* ---- in Redis ---- */

static void offer(struct bp_shared_holds *h, struct hold *e)
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
	const char *text = bytes, *topic = text + TEXT_HEAD;
	char uid[BP_ALARM_UID_TEXT];
	uint64_t number, rule_uid, hold, gateway;
	struct hold *e;

	if (len <= TEXT_HEAD || len - TEXT_HEAD > BP_STATE_TOPIC_MAX || text[0] != 'h' ||
		!bp_state_hex(text + 1, &number) ||
		!bp_state_hex(text + BP_ALARM_STATE_HEAD, &rule_uid) ||
		!bp_state_hex(text + BP_ALARM_STATE_HEAD + 16, &hold) ||
		!bp_state_hex(text + BP_ALARM_STATE_HEAD + 32, &gateway) || !is_in_time(number) ||
		!bp_mqtt_topic_valid(topic, len - TEXT_HEAD)) {
		h->owner.counters->invalid++;
		return;
	}
	bp_state_uid(rule_uid, topic, len - TEXT_HEAD, uid);
	e = find(h, uid);
	if (e == NULL)
		e = add(h, rule_uid, topic, len - TEXT_HEAD, uid);
	if (e == NULL || number <= e->number)
		return; /* also what this process has sent */
	e->number = number;
	e->hold = hold;
	e->changed_ns = bp_mono_ns();
	set_client(h, e, 0);
	move(h, e, KNOWN);
	/* of an earlier process: the worker has it, or a newer one */
	e->own = gateway == h->owner.gateway;
	if (e->own) {
		withdraw(h, e);
		return;
	}
	h->owner.counters->holds_adopted++;
	offer(h, e);
}

/* ---- time ---- */

static bool make_offer(struct bp_shared_holds *h, const struct hold *e)
{
	return bp_state_offer_write(&h->shm->adopt_offers[0],
		&(struct bp_state_offer){.rule_uid = e->rule_uid,
			.transition = e->number,
			.hold = e->hold,
			.rule = h->owner.rule_of(h->owner.arg, e->rule_uid),
			.state = BP_OFFER_HOLD,
			.topic_len = e->topic_len},
		e->topic);
}

static void send_due(struct bp_shared_holds *h, struct bp_alarm_store *store)
{
	const uint64_t now = bp_mono_ns();
	struct hold *e;

	for (unsigned i = 0; i < SEND_MAX && bp_alarm_store_ready(store); i++) {
		e = TAILQ_FIRST(&h->list[DUE]);
		if (e == NULL || now - e->changed_ns < BP_HOLDS_COLLAPSE_NS)
			return;
		e->changed_ns = now;
		if (h->passed != NULL && !h->passed(h->passed_arg, &e->place)) {
			move(h, e, DUE);
			continue;
		}
		send_one(h, e, store);
		h->owner.counters->holds++;
		move(h, e, KNOWN);
		if (e->hold == 0)
			set_client(h, e, 0); /* the client has the place for another one */
	}
}

static void expire(struct bp_shared_holds *h)
{
	const uint64_t now = bp_mono_ns();
	struct hold *e;

	while ((e = TAILQ_FIRST(&h->list[DUE])) != NULL && now - e->changed_ns > KEPT_NS)
		drop(h, e);
	/* without a connection, Redis can have older changes that are still to be read */
	while ((e = TAILQ_FIRST(&h->list[KNOWN])) != NULL &&
		now - e->changed_ns > (e->hold == 0 && h->read ? ENDED_NS : KEPT_NS))
		drop(h, e);
}

void bp_shared_holds_tick(struct bp_shared_holds *h, struct bp_alarm_store *store)
{
	h->read = bp_alarm_store_holds_read(store);
	send_due(h, store);
	expire(h);
}

void bp_shared_holds_down(struct bp_shared_holds *h)
{
	h->read = false;
}

bool bp_shared_holds_offer(struct bp_shared_holds *h, uint64_t *offered_to)
{
	struct hold *e;

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
	struct hold *e;

	TAILQ_FOREACH(e, &h->list[KNOWN], entry)
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
	for (unsigned i = 0; i < LISTS; i++)
		TAILQ_INIT(&h->list[i]);
	TAILQ_INIT(&h->offers);
	return h;
}

void bp_shared_holds_wait_for(struct bp_shared_holds *h,
	bool (*passed)(void *arg, const struct bp_stream_place *p), void *arg)
{
	h->passed = passed;
	h->passed_arg = arg;
}

void bp_shared_holds_free(struct bp_shared_holds *h)
{
	struct hold *e;

	if (h == NULL)
		return;
	for (unsigned i = 0; i < LISTS; i++)
		while ((e = TAILQ_FIRST(&h->list[i])) != NULL)
			drop(h, e);
	free(h);
}

uint32_t bp_shared_holds_number(const struct bp_shared_holds *h)
{
	return h->n;
}
