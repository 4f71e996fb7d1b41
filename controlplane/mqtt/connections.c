/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/connections.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "biplane/counters/mqtt.h"
#include "controlplane/fleet/state.h"
#include "controlplane/mqtt/shared_holds.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"
#include "services/mqtt/flow_export.h"
#include "shm/hash.h"
#include "shm/layout.h"
#include "shm/mqtt/mqtt_tables.h"

/* The record of a connection with ten messages a second is older than its last message for a
 * twentieth of the time. */
#define SCAN_MS 3
/* The mark of a deleted key remains for this time, for writes of a gateway that was cut off. */
#define DELETED_MS 60000u
#define KNOWN_NS 300000000ull
/* Requests of a worker without an answer. A worker has fewer, unless answers are too late for it.
 */
#define PENDING_MAX 1024u
/* The worker waits no longer. */
#define EXPIRED_NS 1000000000ull

/* An answer for a worker, which waits until the states are known, and the ring has space. */
struct waiting {
	TAILQ_ENTRY(waiting) entry;
	unsigned worker;
	bool known;    /* Redis has answered */
	bool deferred; /* the ring was full */
	struct bp_connection_key key;
	uint64_t read_ns;
	size_t len; /* 0: the fleet has no record */
	uint8_t record[];
};
TAILQ_HEAD(waitings, waiting);

struct bp_connections {
	struct bp_shm *shm;
	struct bp_fleet_state *fleet;
	struct bp_exporter *exporter;
	struct event *timer;
	uint64_t lifetime_ns;
	uint64_t version; /* of the last write; higher than those of an earlier process */
	uint64_t connects;
	struct bp_connection_states states; /* NULL: they are not shared */
	uint64_t holds_to[BP_MAX_WORKERS];  /* in the rings: those before are read */
	uint64_t holds_lost;                /* of the counter */
	struct waitings waiting;            /* oldest first */
	unsigned n_pending[BP_MAX_WORKERS]; /* of a worker, with those that are read */
	bool deferring;                     /* a ring is full: the scan tries again */
	struct bp_hold_changes changes;
	struct bp_hold_offers offers;
	struct bp_fleet_connection_counters counters, shown; /* shown: in the segment */
};

/* A read of a connection's record for a worker. */
struct reading {
	struct bp_connections *c;
	unsigned worker;
	struct bp_connection_key key;
};

void bp_connection_key_text(const struct bp_connection_key *k, char out[BP_CONNECTION_KEY_TEXT])
{
	const int family = k->ip6 ? AF_INET6 : AF_INET;
	char client[INET6_ADDRSTRLEN] = "", broker[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(family, k->client_ip, client, sizeof(client));
	(void)inet_ntop(family, k->broker_ip, broker, sizeof(broker));
	snprintf(out, BP_CONNECTION_KEY_TEXT,
		k->ip6 ? "mqtt:[%s]:%u-[%s]:%u/%u/%u/%x" : "mqtt:%s:%u-%s:%u/%u/%u/%x", client,
		k->client_port, broker, k->broker_port, k->vlan_outer, k->vlan_inner, k->tunnel);
	/* most connections have neither VLAN nor tunnel */
	if (k->vlan_outer == 0 && k->vlan_inner == 0 && k->tunnel == 0)
		*strchr(out, '/') = '\0';
	if (k->network[0] != '\0') {
		const size_t n = strlen(out);

		snprintf(
			out + n, BP_CONNECTION_KEY_TEXT - n, "@%.*s", (int)BP_NAME_MAX, k->network);
	}
}

uint64_t bp_connection_hash(const struct bp_connection_key *k)
{
	static const uint64_t key[2] = {1, 2};
	char text[BP_CONNECTION_KEY_TEXT];

	bp_connection_key_text(k, text);
	return bp_hash_bytes(key, text, strlen(text)) | 1;
}

/* ---- records of this gateway ---- */

/* A write of a record, or the read before another one is made. */
struct pending {
	struct bp_connections *c;
	struct bp_export_ref ref;
	uint64_t connection, holds; /* of holds: bp_hold_changes.write */
};

static struct pending *new_pending(struct bp_connections *c, const struct bp_export_ref *ref,
	const struct bp_connection_key *k)
{
	struct pending *p = malloc(sizeof(*p));

	if (p != NULL)
		*p = (struct pending){.c = c, .ref = *ref, .connection = bp_connection_hash(k)};
	return p;
}

static void write_done(void *arg, enum bp_fleet_result result)
{
	struct pending *p = arg;
	const struct bp_connection_states *s = &p->c->states;

	if (s->changes_written != NULL)
		s->changes_written(s->arg, p->connection, p->holds, result == BP_FLEET_STORED);
	if (result == BP_FLEET_LOST)
		bp_exporter_again(p->c->exporter, &p->ref);
	else if (result == BP_FLEET_SUPERSEDED)
		bp_exporter_refused(p->c->exporter, &p->ref);
	free(p);
}

static bool write_value(struct bp_connections *c, const struct bp_connection_key *k, const void *p,
	size_t n, struct bp_fleet_write *w)
{
	char key[BP_CONNECTION_KEY_TEXT];

	bp_connection_key_text(k, key);
	w->key = key;
	w->value = p;
	w->len = n;
	w->version = ++c->version;
	w->collapsible = w->prompt = true;
	if (bp_fleet_state_put(c->fleet, w))
		return true;
	c->counters.not_queued++;
	return false;
}

/* Adds the holds that changed since the last record. False: not all fit. */
static bool add_changes(struct bp_connections *c, struct pending *p, struct bp_fleet_write *w)
{
	const struct bp_connection_states *s = &c->states;
	bool all;

	if (s->changes == NULL)
		return true;
	all = s->changes(s->arg, p->connection, &c->changes);
	p->holds = c->changes.write;
	w->stream = c->changes.n != 0 ? "alarms:holds" : NULL;
	w->entries = c->changes.entry;
	w->n_entries = c->changes.n;
	return all;
}

static void put(void *arg, const struct bp_export_ref *ref, const struct bp_connection_key *k,
	const uint8_t *p, size_t n, uint64_t epoch)
{
	struct bp_connections *c = arg;
	struct pending *pending = new_pending(c, ref, k);
	const uint64_t ttl_ms = c->lifetime_ns / 1000000 + 1;
	struct bp_fleet_write w = {.epoch = epoch,
		.ttl_ms = ttl_ms < UINT32_MAX ? (uint32_t)ttl_ms : UINT32_MAX,
		.done = write_done,
		.arg = pending};

	if (pending != NULL) {
		/* in parts: without a position, so that none has only a part of its holds */
		const bool all = add_changes(c, pending, &w);

		if (write_value(c, k, all ? p : NULL, all ? n : 0, &w)) {
			c->counters.stored += all;
			if (!all)
				bp_exporter_again(c->exporter, ref);
			return;
		}
		if (c->states.changes_written != NULL)
			c->states.changes_written(
				c->states.arg, pending->connection, pending->holds, false);
	}
	free(pending);
	bp_exporter_again(c->exporter, ref);
}

/* With the epoch of the record: if another gateway has taken the connection over, its record has a
 * higher one, and is not deleted. */
static void end(void *arg, const struct bp_connection_key *k, uint64_t epoch)
{
	struct bp_connections *c = arg;
	struct bp_fleet_write w = {.epoch = epoch, .ttl_ms = DELETED_MS};

	if (write_value(c, k, NULL, 0, &w))
		c->counters.ended++;
}

/* The record of the gateway that had the connection meanwhile. */
static void got_owner(void *arg, const struct bp_fleet_value *v)
{
	struct pending *p = arg;
	struct bp_connections *c = p->c;

	if (v->known && v->epoch > bp_fleet_state_epoch(c->fleet))
		bp_fleet_state_outrank(c->fleet, v->epoch);
	bp_exporter_again(c->exporter, &p->ref);
	free(p);
}

static void claim(void *arg, const struct bp_export_ref *ref, const struct bp_connection_key *k)
{
	struct bp_connections *c = arg;
	struct pending *p = new_pending(c, ref, k);
	char key[BP_CONNECTION_KEY_TEXT];

	bp_connection_key_text(k, key);
	if (p != NULL && bp_fleet_state_get(c->fleet, key, got_owner, p))
		return;
	free(p);
	bp_exporter_again(c->exporter, ref);
}

static void read_holds(struct bp_connections *c);

/* For a state of the connection that was read before this call. */
static bool is_complete(void *arg, const struct bp_connection_key *k)
{
	struct bp_connections *c = arg;

	read_holds(c);
	return c->states.stored == NULL || c->states.stored(c->states.arg, k);
}

static struct bp_export_sink sink_of(struct bp_connections *c)
{
	return (struct bp_export_sink){.epoch = bp_fleet_state_epoch(c->fleet),
		.put = put,
		.end = end,
		.claim = claim,
		.is_complete = is_complete,
		.arg = c};
}

static void answer_known(struct bp_connections *c);

/* While Redis does not answer, changes are not queued: the first scan afterwards finds them. */
static void scan(evutil_socket_t fd, short what, void *arg)
{
	struct bp_connections *c = arg;
	const uint64_t connects = bp_fleet_state_counters(c->fleet)->connects;
	const struct bp_export_sink sink = sink_of(c);

	(void)fd;
	(void)what;
	answer_known(c);
	if (!bp_fleet_state_ready(c->fleet))
		return;
	/* another server, or one that was restarted, may have less */
	if (connects != c->connects) {
		bp_exporter_forget(c->exporter);
		if (c->states.repeat != NULL)
			c->states.repeat(c->states.arg);
	}
	c->connects = connects;
	if (!bp_exporter_scan(c->exporter, c->shm, bp_mono_ns(), c->lifetime_ns, &sink))
		c->counters.not_queued++;
}

void bp_connections_finish(struct bp_connections *c)
{
	const struct bp_export_sink sink = sink_of(c);

	if (bp_fleet_state_ready(c->fleet) &&
		!bp_exporter_finish(c->exporter, c->shm, bp_mono_ns(), c->lifetime_ns, &sink))
		c->counters.not_queued++;
	event_del(c->timer);
}

/* ---- requests of workers ---- */

/* False: the ring is full. exact: the states are known. */
static bool answer(struct bp_connections *c, const struct waiting *w, bool exact)
{
	struct bp_adopt_offer head = {.result = w->len != 0 ? BP_ADOPT_FOUND : BP_ADOPT_NOT_FOUND};
	struct bp_ring *ring = &c->shm->adopt_offers[w->worker];
	uint64_t mark;
	uint8_t *p;

	c->offers.len = 0;
	if (c->states.holds_of != NULL)
		c->states.holds_of(c->states.arg, bp_connection_hash(&w->key), exact, &c->offers);
	head.holds_len = c->offers.len;
	p = bp_ring_reserve(
		ring, (uint32_t)(sizeof(head) + sizeof(w->key) + head.holds_len + w->len), &mark);
	if (p == NULL)
		return false;
	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), &w->key, sizeof(w->key));
	memcpy(p + sizeof(head) + sizeof(w->key), c->offers.bytes, head.holds_len);
	memcpy(p + sizeof(head) + sizeof(w->key) + head.holds_len, w->record, w->len);
	bp_ring_commit(ring, mark);
	return true;
}

static void end_waiting(struct bp_connections *c, struct waiting *w)
{
	TAILQ_REMOVE(&c->waiting, w, entry);
	c->n_pending[w->worker]--;
	free(w);
}

/* Its ring is full: the next scan tries again, for as long as the worker waits. */
static void defer(struct bp_connections *c, struct waiting *w)
{
	c->counters.answers_deferred += !w->deferred;
	w->deferred = c->deferring = true;
	if (bp_mono_ns() - w->read_ns < EXPIRED_NS)
		return;
	c->counters.not_answered++;
	end_waiting(c, w);
}

/* In the order in which they were read, so that one that waits for states holds up all after it.
 * One whose ring is full holds up those of its worker. */
static void answer_known(struct bp_connections *c)
{
	const struct bp_connection_states *s = &c->states;
	bool full[BP_MAX_WORKERS] = {false};
	struct waiting *w, *next;

	c->deferring = false;
	if (!TAILQ_EMPTY(&c->waiting))
		read_holds(c); /* another connection may have changed a hold since */
	for (w = TAILQ_FIRST(&c->waiting); w != NULL; w = next) {
		const bool known = w->known && s->known != NULL && s->known(s->arg, w->read_ns);

		if (!known && w->known && s->known != NULL && bp_mono_ns() - w->read_ns < KNOWN_NS)
			return;
		next = TAILQ_NEXT(w, entry);
		full[w->worker] = full[w->worker] || !answer(c, w, known);
		if (full[w->worker])
			defer(c, w);
		else
			end_waiting(c, w);
	}
}

/* The record has its holds in Redis since the same moment, so they are known with what is read from
 * there after it. Without memory, the worker gets no answer. */
static void answer_later(
	struct bp_connections *c, const struct reading *r, bool known, const void *record, size_t n)
{
	struct waiting *w = malloc(sizeof(*w) + n);

	if (w == NULL) {
		c->counters.not_answered++;
		c->n_pending[r->worker]--;
		return;
	}
	*w = (struct waiting){.worker = r->worker,
		.known = known,
		.key = r->key,
		.read_ns = bp_mono_ns(),
		.len = n};
	if (n != 0)
		memcpy(w->record, record, n);
	TAILQ_INSERT_TAIL(&c->waiting, w, entry);
	if (!c->deferring)
		answer_known(c);
}

static void got(void *arg, const struct bp_fleet_value *v)
{
	struct reading *r = arg;
	struct bp_connections *c = r->c;

	if (v->found && v->len != 0 && v->len <= BP_CONNECTION_RECORD_MAX) {
		c->counters.found++;
		/* later writes of the gateway that had the connection are refused */
		if (v->epoch > bp_fleet_state_epoch(c->fleet))
			bp_fleet_state_outrank(c->fleet, v->epoch);
		answer_later(c, r, true, v->bytes, v->len);
	} else {
		answer_later(c, r, v->known, NULL, 0);
	}
	free(r);
}

static void request(struct bp_connections *c, unsigned worker, const struct bp_connection_key *k)
{
	const struct reading reading = {.c = c, .worker = worker, .key = *k};
	struct reading *r = NULL;
	char key[BP_CONNECTION_KEY_TEXT];

	c->counters.requests++;
	if (c->n_pending[worker] == PENDING_MAX) {
		c->counters.not_answered++;
		return;
	}
	c->n_pending[worker]++;
	if (bp_fleet_state_connected(c->fleet))
		r = malloc(sizeof(*r));
	if (r != NULL) {
		*r = reading;
		bp_connection_key_text(k, key);
		if (bp_fleet_state_get(c->fleet, key, got, r))
			return;
		free(r);
	}
	answer_later(c, &reading, false, NULL, 0);
}

static void read_hold(struct bp_connections *c, const void *bytes, uint32_t len)
{
	struct bp_connection_key k;
	struct bp_hold_report r;

	if (len < sizeof(r) || c->states.hold == NULL)
		return;
	memcpy(&r, bytes, sizeof(r));
	c->states.hold(c->states.arg, bytes, len,
		bp_exporter_key(c->shm, &r.place, &k) ? bp_connection_hash(&k) : 0);
}

/* A worker notes the client before it counts, and counts before the position advances. */
static void read_lost(struct bp_connections *c)
{
	const uint64_t lost = bp_shm_counter(c->shm, BP_C_FLEET_HOLD_NOT_REPORTED);
	uint64_t clients[BP_HOLD_LOST_WORDS];

	if (lost == c->holds_lost || c->states.holds_lost == NULL)
		return;
	c->holds_lost = lost;
	for (unsigned i = 0; i < BP_HOLD_LOST_WORDS; i++)
		clients[i] = atomic_exchange(&c->shm->shared->holds_lost[i], 0);
	c->states.holds_lost(c->states.arg, clients);
}

/* Changes of holds that workers have reported, or could not report. */
static void read_holds(struct bp_connections *c)
{
	for (unsigned w = 0; w < c->shm->workers; w++) {
		struct bp_ring *ring = &c->shm->adopt_requests[w];
		const uint64_t tail = bp_ring_tail(ring), end = bp_ring_written(ring);
		uint64_t *cursor = &c->holds_to[w];
		const void *p;
		uint32_t size;

		if (*cursor < tail || *cursor > end)
			*cursor = tail;
		while ((p = bp_ring_peek(ring, cursor, &size)) != NULL)
			if (size > sizeof(struct bp_connection_key))
				read_hold(c, p, size);
	}
	read_lost(c);
}

static void read_requests(void *arg)
{
	struct bp_connections *c = arg;

	read_holds(c);
	for (unsigned w = 0; w < c->shm->workers; w++) {
		struct bp_ring *ring = &c->shm->adopt_requests[w];
		uint64_t cursor = bp_ring_tail(ring);
		const void *p;
		uint32_t size;

		while (cursor < c->holds_to[w] &&
			(p = bp_ring_peek(ring, &cursor, &size)) != NULL) {
			struct bp_connection_key k;

			if (size != sizeof(k))
				continue;
			memcpy(&k, p, sizeof(k));
			if (bp_connection_key_sound(&k))
				request(c, w, &k);
		}
		bp_ring_release(ring, cursor);
	}
}

/* ---- life cycle ---- */

struct bp_connections *bp_connections_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, struct bp_fleet_state *fleet, uint64_t lifetime_ns, char *err,
	size_t err_size)
{
	const struct timeval interval = {.tv_usec = SCAN_MS * 1000};
	struct bp_connections *c = calloc(1, sizeof(*c));
	struct timespec now;

	if (c == NULL) {
		snprintf(err, err_size, "no memory for the connections of the fleet");
		return NULL;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	c->version = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	TAILQ_INIT(&c->waiting);
	c->shm = shm;
	c->holds_lost = bp_shm_counter(shm, BP_C_FLEET_HOLD_NOT_REPORTED);
	c->fleet = fleet;
	c->lifetime_ns = lifetime_ns;
	c->exporter = bp_exporter_create(shm->workers, bp_mono_ns());
	c->timer = event_new(base, -1, EV_PERSIST, scan, c);
	if (c->exporter == NULL || c->timer == NULL || event_add(c->timer, &interval) != 0 ||
		!bp_ring_events_add(rings, shm->adopt_requests, shm->workers, read_requests, c)) {
		snprintf(err, err_size, "no memory for the connections of the fleet");
		bp_connections_free(c);
		return NULL;
	}
	return c;
}

void bp_connections_share(struct bp_connections *c, const struct bp_connection_states *states)
{
	c->states = *states;
}

bool bp_connections_recorded(struct bp_connections *c, const struct bp_stream_place *p)
{
	return bp_exporter_has_record(c->exporter, p);
}

void bp_connections_free(struct bp_connections *c)
{
	struct waiting *w;

	if (c == NULL)
		return;
	while ((w = TAILQ_FIRST(&c->waiting)) != NULL) {
		TAILQ_REMOVE(&c->waiting, w, entry);
		free(w);
	}
	if (c->timer != NULL)
		event_free(c->timer);
	bp_exporter_free(c->exporter);
	free(c);
}

void bp_connections_configure(struct bp_connections *c, uint64_t lifetime_ns)
{
	c->lifetime_ns = lifetime_ns;
}

void bp_connections_status(const struct bp_connections *c, json_t *answer)
{
	const struct bp_fleet_connection_counters *n = &c->counters;

	json_object_set_new(answer, "fleet_connections",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "stored", (json_int_t)n->stored,
			"ended", (json_int_t)n->ended, "not_queued", (json_int_t)n->not_queued,
			"requests", (json_int_t)n->requests, "found", (json_int_t)n->found,
			"not_answered", (json_int_t)n->not_answered, "answers_deferred",
			(json_int_t)n->answers_deferred));
}

void bp_connections_show(struct bp_connections *c)
{
	const uint64_t *now = (const uint64_t *)&c->counters;

	bp_fleet_counters_show((uint64_t *)&c->shm->control->fleet.connections, now,
		(uint64_t *)&c->shown, sizeof(c->counters) / sizeof(*now));
}
