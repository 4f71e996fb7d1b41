/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/shared_states.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "biplane/alarm.h"
#include "biplane/rule.h"
#include "config/config.h"
#include "controlplane/fleet/alarm_store.h"
#include "controlplane/mqtt/client_shares.h"
#include "controlplane/mqtt/connections.h"
#include "controlplane/mqtt/rule_keys.h"
#include "controlplane/mqtt/shared_holds.h"
#include "controlplane/mqtt/state_text.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "proto/mqtt/mqtt.h"
#include "services/mqtt/connection_record.h"
#include "shm/hash.h"
#include "shm/layout.h"
#include "shm/mqtt/mqtt_tables.h"

#define BUCKETS 65536u
#define PAIRS_MAX BP_ALARM_STORE_MAX
/* A cleared pair is remembered for this time, as changes of others can be read late. */
#define CLEARED_NS 60000000000ull
#define OFFER_AGAIN_NS 1000000000ull
/* States that Redis has refused are sent again, at most this number in this time. */
#define REFUSED_NS 1000000000ull
#define REFUSED_MAX 1024u
/* A topic counts as one state for each part of this length that it begins. */
#define SHARE_BYTES 256u
/* Clients with states that are not stored yet, by a hash: two may wait for each other. */
#define UNSTORED 4096u
/* Numbers of a clock that is ahead would hide all real transitions of the next time. */
#define AHEAD_NS 60000000000ull
/* Text of a state: its head, the rule's uid as 16 hexadecimal digits, the topic. */
#define TEXT_HEAD (BP_ALARM_STATE_HEAD + 16u)

/* REPEAT: Redis may have lost them; after those to send. REFUSED: by Redis, to be sent again. */
enum list { TO_SEND, REPEAT, SENT, REFUSED, RAISED, CLEARED, LISTS };

struct pair {
	TAILQ_ENTRY(pair) entry, offer_entry;
	struct pair *next; /* of the same bucket */
	uint64_t rule_uid, transition, cleared_ns;
	uint64_t ended; /* highest transition that is known to have been cleared */
	uint64_t raise; /* that was offered last; 0: a clear, or none */
	uint8_t list;
	bool raised, offered; /* offered: it is in the list of offers */
	bool refused;         /* this state was: it is counted */
	bool repeated;        /* SENT: from REPEAT */
	uint16_t sends;       /* that are not answered yet */
	uint16_t client;      /* that has raised it here: its share; 0: none */
	uint16_t unstored;    /* in TO_SEND and SENT: 1 + the place of its client; 0: none */
	uint16_t topic_len;
	char uid[BP_ALARM_UID_TEXT];
	char topic[];
};

TAILQ_HEAD(pairs, pair);

struct unstored {
	uint64_t since_ns;
	uint32_t n; /* pairs */
};

struct bp_shared_states {
	struct bp_shm *shm;
	struct bp_rule_keys by_uid, by_name; /* by_name: hashes */
	struct bp_shared_holds *holds;
	struct unstored unstored[UNSTORED];
	struct pairs list[LISTS], offers;
	struct bp_client_shares shares; /* of the pairs that were raised here */
	struct pair **bucket;
	uint32_t n;
	unsigned in_flight;                            /* sent to the store, and not answered */
	uint64_t rules_active, dp_started_ns;          /* for which all raised pairs were offered */
	uint64_t offer_again_ns;                       /* 0: not */
	uint64_t refused_ns;                           /* sent again */
	uint64_t offered_to;                           /* in the ring: end of the last offer */
	struct bp_fleet_rule_counters counters, shown; /* shown: in the segment */
	struct bp_log_limit log_ahead;
};

/* ---- pairs ---- */

static struct pair **bucket_of(const struct bp_shared_states *s, const char *uid)
{
	return &s->bucket[bp_mix64(bp_load64((const uint8_t *)uid) ^ s->shares.key) % BUCKETS];
}

static struct pair *find(const struct bp_shared_states *s, const char *uid)
{
	struct pair *p = *bucket_of(s, uid);

	while (p != NULL && strcmp(p->uid, uid) != 0)
		p = p->next;
	return p;
}

static uint32_t unstored_of(
	const struct bp_shared_states *s, const uint8_t ip[16], bool ip6, uint16_t tcp_port)
{
	const uint64_t key[2] = {s->shares.key, tcp_port};

	return (uint32_t)(bp_hash_bytes(key, ip, ip6 ? 16 : 4) % UNSTORED);
}

static void set_unstored(struct bp_shared_states *s, struct pair *p, uint16_t unstored)
{
	if (p->unstored != 0)
		s->unstored[p->unstored - 1].n--;
	p->unstored = unstored;
	if (unstored != 0 && s->unstored[unstored - 1].n++ == 0)
		s->unstored[unstored - 1].since_ns = bp_mono_ns();
}

static void move(struct bp_shared_states *s, struct pair *p, enum list list)
{
	if (list != TO_SEND && list != SENT)
		set_unstored(s, p, 0);
	TAILQ_REMOVE(&s->list[p->list], p, entry);
	p->list = (uint8_t)list;
	p->cleared_ns = bp_mono_ns();
	TAILQ_INSERT_TAIL(&s->list[list], p, entry);
}

static void set(struct pair *p, bool raised, uint64_t transition)
{
	p->raised = raised;
	p->transition = transition;
	p->refused = false;
	if (!raised)
		p->ended = transition;
}

static uint32_t share_of(size_t topic_len)
{
	return 1 + (uint32_t)topic_len / SHARE_BYTES;
}

static void drop(struct bp_shared_states *s, struct pair *p)
{
	struct pair **at = bucket_of(s, p->uid);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	TAILQ_REMOVE(&s->list[p->list], p, entry);
	if (p->offered)
		TAILQ_REMOVE(&s->offers, p, offer_entry);
	if (p->client != 0)
		bp_client_share_return(&s->shares, p->client, share_of(p->topic_len));
	set_unstored(s, p, 0);
	s->n--;
	free(p);
}

/* Clears of others are only remembered: they are the first to go. */
static void make_place(struct bp_shared_states *s)
{
	struct pair *p = TAILQ_FIRST(&s->list[CLEARED]);

	if (s->n == PAIRS_MAX && p != NULL && !p->offered)
		drop(s, p);
}

static struct pair *add(struct bp_shared_states *s, uint64_t rule_uid, const char *topic,
	size_t len, const char *uid)
{
	struct pair *p, **head = bucket_of(s, uid);

	make_place(s);
	p = s->n < PAIRS_MAX ? calloc(1, sizeof(*p) + len) : NULL;
	if (p == NULL) {
		s->counters.full++;
		return NULL;
	}
	p->rule_uid = rule_uid;
	p->topic_len = (uint16_t)len;
	memcpy(p->topic, topic, len);
	memcpy(p->uid, uid, sizeof(p->uid));
	p->list = CLEARED;
	TAILQ_INSERT_TAIL(&s->list[CLEARED], p, entry);
	p->next = *head;
	*head = p;
	s->n++;
	return p;
}

static void offer(struct bp_shared_states *s, struct pair *p)
{
	if (p->offered)
		return;
	p->offered = true;
	TAILQ_INSERT_TAIL(&s->offers, p, offer_entry);
}

/* ---- of this gateway ---- */

static const struct bp_ruleset *rules_of(const struct bp_shared_states *s)
{
	return bp_shm_rules(s->shm, atomic_load(&s->shm->control->rules_active));
}

/* The rule of an alarm, if its raises end with a clear; NULL: not, or a reload has replaced it. */
static const struct bp_rule *find_rule(struct bp_shared_states *s, const struct bp_alarm *a)
{
	const struct bp_ruleset *rs = rules_of(s);
	const uint64_t key = bp_rule_name_hash(bp_alarm_rule(a), a->rule_len);
	const struct bp_rule_keys *k = &s->by_name;

	for (uint32_t i = bp_rule_keys_find(&s->by_name, rs, bp_rule_key_name, key);
		i < k->n && k->key[i].key == key; i++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, k->key[i].rule);

		if (r->name_len != a->rule_len ||
			memcmp(r->name, bp_alarm_rule(a), a->rule_len) != 0)
			continue;
		return r->stateful && (r->has_clear || r->repeat == BP_REPEAT_ON_CHANGE) ? r : NULL;
	}
	return NULL;
}

/*
 * The share of a client has the pairs that it has raised here, until some time after their clear:
 * so it bounds what Redis has of the client, and how fast that changes. What others have raised is
 * in Redis already, and its clear must get there. False: the client, or all clients of this
 * gateway, have what they may have, so the fleet does not get this transition.
 */
static bool may_share(
	struct bp_shared_states *s, const struct pair *p, uint16_t client, size_t topic_len)
{
	enum bp_share share;

	if (p != NULL && (p->client != 0 || p->raised))
		return true;
	share = bp_client_share_check(&s->shares, client, share_of(topic_len));
	s->counters.client_full += share == BP_SHARE_CLIENT_FULL;
	s->counters.full += share == BP_SHARE_FULL;
	return share == BP_SHARE_FREE;
}

static void take_share(struct bp_shared_states *s, struct pair *p, uint16_t client)
{
	if (p->client != 0 || p->raised)
		return;
	p->client = client;
	bp_client_share_take(&s->shares, client, share_of(p->topic_len));
}

void bp_shared_states_alarm(struct bp_shared_states *s, const struct bp_alarm *a)
{
	const bool raised = a->state == BP_ALARM_RAISED;
	const uint64_t transition = bp_alarm_transition(a);
	const char *topic = bp_alarm_topic(a);
	const uint16_t client =
		bp_client_share(&s->shares, a->client_ip, (a->flags & BP_ALARM_F_IP6) != 0);
	const size_t len = a->topic_len;
	const struct bp_rule *r;
	char uid[BP_ALARM_UID_TEXT];
	struct pair *p;

	if ((a->flags & BP_ALARM_F_REPEAT) != 0 || transition == 0 || len == 0 ||
		(r = find_rule(s, a)) == NULL)
		return;
	if (len > BP_STATE_TOPIC_MAX) {
		s->counters.too_large++;
		return;
	}
	bp_state_uid(r->uid, topic, len, uid);
	p = find(s, uid);
	if (!may_share(s, p, client, len))
		return;
	if (p == NULL)
		p = add(s, r->uid, topic, len, uid);
	/* read again after a restart, or a clear that another gateway has made, too */
	if (p == NULL || p->transition > transition ||
		(p->transition == transition && (p->raised == raised || !p->raised)))
		return;
	take_share(s, p, client);
	s->counters.raised += raised;
	s->counters.cleared += !raised;
	set(p, raised, transition);
	move(s, p, TO_SEND);
	set_unstored(s, p,
		(uint16_t)(1 + unstored_of(s, a->client_ip, (a->flags & BP_ALARM_F_IP6) != 0,
				       a->client_port)));
	/* the worker may read that offer after its own clear: this one follows it */
	if (!raised && p->raise != 0 && p->raise <= transition)
		offer(s, p);
}

/* ---- of other gateways ---- */

/* Whether the state of another gateway replaces that of this one. */
static bool is_newer(const struct pair *p, bool raised, uint64_t transition)
{
	if (raised && transition <= p->ended)
		return false; /* of before the clear: a record that another gateway repeats */
	if (raised && p->raised)
		return transition < p->transition; /* raised twice at the same time */
	if (raised)
		return transition > p->transition;
	return p->raised ? transition >= p->transition : transition > p->transition;
}

static void apply(struct bp_shared_states *s, bool raised, uint64_t transition, uint64_t rule_uid,
	const char *topic, size_t len)
{
	char uid[BP_ALARM_UID_TEXT];
	struct pair *p;

	bp_state_uid(rule_uid, topic, len, uid);
	p = find(s, uid);
	if (p == NULL)
		p = add(s, rule_uid, topic, len, uid);
	if (p == NULL || !is_newer(p, raised, transition))
		return;
	s->counters.conflicts += raised && p->raised;
	s->counters.adopted++;
	set(p, raised, transition);
	move(s, p, raised ? RAISED : CLEARED);
	offer(s, p);
}

void bp_shared_states_state(struct bp_shared_states *s, const void *bytes, size_t len)
{
	const char *text = bytes;
	uint64_t transition, rule_uid;

	if (len != 0 && text[0] == 'p') {
		bp_shared_holds_state(s->holds, bytes, len);
		return;
	}
	if (len <= TEXT_HEAD || len - TEXT_HEAD > BP_STATE_TOPIC_MAX ||
		(text[0] != 'r' && text[0] != 'c') || !bp_state_hex(text + 1, &transition) ||
		!bp_state_hex(text + BP_ALARM_STATE_HEAD, &rule_uid) || transition == 0 ||
		transition > (bp_unix_ns() + AHEAD_NS) >> BP_TRANSITION_SHIFT ||
		!bp_mqtt_topic_valid(text + TEXT_HEAD, len - TEXT_HEAD)) {
		s->counters.invalid++;
		return;
	}
	apply(s, text[0] == 'r', transition, rule_uid, text + TEXT_HEAD, len - TEXT_HEAD);
}

/* ---- to Redis ---- */

/* A new transition does not wait for all others after a connection. */
static struct pair *next_to_send(struct bp_shared_states *s)
{
	struct pair *p = TAILQ_FIRST(&s->list[TO_SEND]);

	return p != NULL ? p : TAILQ_FIRST(&s->list[REPEAT]);
}

void bp_shared_states_send(struct bp_shared_states *s, struct bp_alarm_store *store)
{
	char text[TEXT_HEAD + BP_STATE_TOPIC_MAX + 1];
	struct pair *p;

	while (bp_alarm_store_ready(store) && s->in_flight < BP_ALARM_STATES_INFLIGHT &&
		(p = next_to_send(s)) != NULL) {
		snprintf(text, sizeof(text), "%c%016" PRIx64 "%016" PRIx64, p->raised ? 'r' : 'c',
			p->transition, p->rule_uid);
		memcpy(text + TEXT_HEAD, p->topic, p->topic_len);
		p->repeated = p->list == REPEAT;
		move(s, p, SENT);
		p->sends++;
		s->in_flight++;
		bp_alarm_store_put_state(store, p->uid, text, TEXT_HEAD + (size_t)p->topic_len);
	}
}

struct bp_shared_holds *bp_shared_states_holds(struct bp_shared_states *s)
{
	return s->holds;
}

bool bp_shared_states_stored(struct bp_shared_states *s, const struct bp_connection_key *k)
{
	const struct unstored *u =
		&s->unstored[unstored_of(s, k->client_ip, k->ip6, k->client_port)];

	if (!bp_shared_holds_complete(s->holds, k->client_ip, k->ip6))
		return false;
	if (u->n == 0)
		return true;
	if (bp_mono_ns() - u->since_ns < BP_UNSTORED_NS)
		return false;
	/* values that count are of a state that the others do not have */
	bp_shared_holds_end(s->holds, bp_connection_hash(k));
	s->counters.unstored++;
	return true;
}

bool bp_shared_states_behind(const struct bp_shared_states *s)
{
	return !TAILQ_EMPTY(&s->list[TO_SEND]) || !TAILQ_EMPTY(&s->list[SENT]);
}

static void refuse(struct bp_shared_states *s, struct pair *p, bool ahead)
{
	if (!p->refused) {
		s->counters.full += !ahead;
		s->counters.invalid += ahead;
	}
	p->refused = true;
	move(s, p, REFUSED);
	if (ahead)
		bp_log_limited(&s->log_ahead, BP_LOG_ERROR, NULL,
			"the clock of this gateway is more than 5 s ahead of that of Redis: alarms "
			"that it raises are not shared with the fleet until this time has passed; "
			"synchronize the clocks");
}

void bp_shared_states_put(
	struct bp_shared_states *s, const char *uid, enum bp_alarm_state_put result)
{
	struct pair *p = find(s, uid);

	s->in_flight--;
	/* it may have changed since it was sent, and be sent again */
	if (p == NULL || p->sends == 0 || --p->sends != 0 || p->list != SENT)
		return;
	if (result == BP_ALARM_STATE_STORED)
		move(s, p, p->raised ? RAISED : CLEARED);
	else
		refuse(s, p, result == BP_ALARM_STATE_AHEAD);
}

static void send_again(struct bp_shared_states *s, enum list from, uint32_t max)
{
	struct pair *p;

	while (max-- != 0 && (p = TAILQ_FIRST(&s->list[from])) != NULL)
		move(s, p, REPEAT);
}

/* Redis has free memory again, or the time of the number has come. */
static void send_refused(struct bp_shared_states *s)
{
	const uint64_t now = bp_mono_ns();

	if (now - s->refused_ns < REFUSED_NS)
		return;
	s->refused_ns = now;
	send_again(s, REFUSED, REFUSED_MAX);
}

/* The server may be another one, or have lost its data. */
void bp_shared_states_up(struct bp_shared_states *s, struct bp_alarm_store *store)
{
	send_again(s, REFUSED, UINT32_MAX);
	send_again(s, RAISED, UINT32_MAX);
	send_again(s, CLEARED, UINT32_MAX); /* it may have lost a clear, but not its raise */
	bp_alarm_store_list_states(store);
	bp_shared_states_send(s, store);
}

void bp_shared_states_down(struct bp_shared_states *s)
{
	struct pair *p;

	s->in_flight = 0;
	for (unsigned i = 0; i < LISTS; i++)
		TAILQ_FOREACH(p, &s->list[i], entry)
	p->sends = 0;
	bp_shared_holds_down(s->holds);
	while ((p = TAILQ_FIRST(&s->list[SENT])) != NULL)
		move(s, p, p->repeated ? REPEAT : TO_SEND);
}

/* ---- to the worker ---- */

/* The index of a rule among the active ones, or UINT32_MAX. */
static uint32_t index_of(void *states, uint64_t uid)
{
	struct bp_shared_states *s = states;
	const uint32_t i = bp_rule_keys_find(&s->by_uid, rules_of(s), bp_rule_key_uid, uid);

	return i < s->by_uid.n && s->by_uid.key[i].key == uid ? s->by_uid.key[i].rule : UINT32_MAX;
}

static bool make_offer(struct bp_shared_states *s, const struct pair *p)
{
	struct bp_ring *ring = &s->shm->adopt_offers[0];
	const struct bp_state_offer o = {.rule_uid = p->rule_uid,
		.transition = p->transition,
		.rule = index_of(s, p->rule_uid),
		.state = p->raised ? BP_OFFER_RAISED : BP_OFFER_CLEARED,
		.topic_len = p->topic_len};

	if (!bp_state_offer_write(ring, &o, p->topic))
		return false;
	s->offered_to = bp_ring_head(ring);
	return true;
}

/* New rules may match, and a new data plane may have an empty table. Twice: a worker takes new
 * rules some time after they are active, and cannot use what was offered meanwhile. */
static void offer_again(struct bp_shared_states *s)
{
	const uint64_t rules = atomic_load(&s->shm->control->rules_active),
		       started = atomic_load(&s->shm->global->dp_started_ns);
	struct pair *p;

	if (rules != s->rules_active || started != s->dp_started_ns)
		s->offer_again_ns = bp_mono_ns() + OFFER_AGAIN_NS;
	else if (s->offer_again_ns != 0 && bp_mono_ns() >= s->offer_again_ns)
		s->offer_again_ns = 0;
	else
		return;
	s->rules_active = rules;
	s->dp_started_ns = started;
	for (unsigned i = 0; i < LISTS; i++)
		TAILQ_FOREACH(p, &s->list[i], entry)
	if (p->transition != 0)
		offer(s, p);
	bp_shared_holds_offer_again(s->holds);
}

static void expire(struct bp_shared_states *s)
{
	const uint64_t now = bp_mono_ns();
	struct pair *p;

	while ((p = TAILQ_FIRST(&s->list[CLEARED])) != NULL && !p->offered &&
		now - p->cleared_ns > CLEARED_NS)
		drop(s, p);
}

/* False: the ring is full. */
static bool offer_all(struct bp_shared_states *s)
{
	struct pair *p;

	while ((p = TAILQ_FIRST(&s->offers)) != NULL && make_offer(s, p)) {
		TAILQ_REMOVE(&s->offers, p, offer_entry);
		p->offered = false;
		p->raise = p->raised ? p->transition : 0;
	}
	return p == NULL && bp_shared_holds_offer(s->holds, &s->offered_to);
}

/* Only one worker reads the offers, before what follows them in its ring: the others continue once
 * it has moved the tail. */
bool bp_shared_states_known(struct bp_shared_states *s)
{
	return offer_all(s) &&
	       (s->shm->workers == 1 || bp_ring_tail(&s->shm->adopt_offers[0]) >= s->offered_to);
}

void bp_shared_states_tick(struct bp_shared_states *s, struct bp_alarm_store *store)
{
	send_refused(s);
	if (bp_alarm_store_ready(store))
		bp_alarm_store_poll_states(store);
	bp_shared_states_send(s, store);
	bp_shared_holds_tick(s->holds, store);
	offer_again(s);
	(void)offer_all(s); /* a full ring: the rest at the next tick */
	expire(s);
}

/* ---- life cycle ---- */

struct bp_shared_states *bp_shared_states_new(
	struct bp_shm *shm, const struct bp_config_fleet_state *c, const char *gateway)
{
	struct bp_shared_states *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->shm = shm;
	s->shares.key = shm->global->hash_key[0];
	s->shares.max = c->max_alarm_states;
	s->shares.client_max = c->max_alarm_states_per_client;
	/* an earlier process may have offered states that are not read yet */
	s->offered_to = bp_ring_head(&shm->adopt_offers[0]);
	for (unsigned i = 0; i < LISTS; i++)
		TAILQ_INIT(&s->list[i]);
	TAILQ_INIT(&s->offers);
	s->bucket = calloc(BUCKETS, sizeof(struct pair *));
	s->holds = bp_shared_holds_new(
		shm, &(struct bp_shared_holds_owner){.rule_of = index_of,
			     .arg = s,
			     .gateway = bp_rule_name_hash(gateway, strlen(gateway)),
			     .counters = &s->counters});
	if (s->bucket == NULL || s->holds == NULL) {
		bp_shared_states_free(s);
		return NULL;
	}
	return s;
}

void bp_shared_states_free(struct bp_shared_states *s)
{
	struct pair *p;

	if (s == NULL)
		return;
	for (unsigned i = 0; i < LISTS; i++)
		while ((p = TAILQ_FIRST(&s->list[i])) != NULL)
			drop(s, p);
	bp_shared_holds_free(s->holds);
	free(s->bucket);
	free(s->by_uid.key);
	free(s->by_name.key);
	free(s);
}

void bp_shared_states_status(const struct bp_shared_states *s, json_t *answer)
{
	json_object_set_new(answer, "fleet_states",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			"pairs", (json_int_t)s->n, "raised", (json_int_t)s->counters.raised,
			"cleared", (json_int_t)s->counters.cleared, "adopted",
			(json_int_t)s->counters.adopted, "conflicts",
			(json_int_t)s->counters.conflicts, "full", (json_int_t)s->counters.full,
			"too_large", (json_int_t)s->counters.too_large, "invalid",
			(json_int_t)s->counters.invalid, "client_full",
			(json_int_t)s->counters.client_full, "hold_pairs",
			(json_int_t)bp_shared_holds_number(s->holds), "holds",
			(json_int_t)s->counters.holds, "holds_adopted",
			(json_int_t)s->counters.holds_adopted, "unstored",
			(json_int_t)s->counters.unstored));
}

void bp_shared_states_show(struct bp_shared_states *s)
{
	struct bp_shm_fleet *f = &s->shm->control->fleet;

	bp_fleet_counters_show((uint64_t *)&f->rules, (const uint64_t *)&s->counters,
		(uint64_t *)&s->shown, sizeof(s->counters) / sizeof(uint64_t));
	atomic_store_explicit(&f->pairs, s->n, memory_order_relaxed);
}
