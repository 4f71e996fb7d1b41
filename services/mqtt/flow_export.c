/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_export.h"

#include <stdlib.h>

#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/peek.h"
#include "services/mqtt/stream.h"
#include "shm/mqtt/mqtt_tables.h"

/* What the last record of a slot was made of. */
struct exported {
	struct bp_connection_key key;
	uint64_t epoch;
	uint32_t next[2];
	uint64_t known;
	uint32_t seen, made; /* ticks */
	uint32_t busy;       /* ticks: since then it has not rested; 0: it has */
	uint16_t life;
	bool has_record;
	bool again;   /* the record was lost */
	bool refused; /* another gateway has the connection */
	bool claimed; /* and this one is to have it again */
};

struct slots {
	uint64_t n, at;
	struct exported *of; /* n */
	uint8_t *records;    /* by group */
};

/* Copies of one connection. */
struct scratch {
	struct bp_flow flow, again;
	struct bp_alias_peeked aliases[2];
	uint16_t qos2[2][BP_RECORD_QOS2_MAX];
	uint8_t identity[BP_RECORD_CLIENT_ID_MAX + 2 + BP_RECORD_USER_MAX]; /* identity.c */
	uint8_t will[BP_WILL_PEEKED] __attribute__((aligned(8)));
	uint8_t record[BP_CONNECTION_RECORD_MAX];
};

struct bp_exporter {
	unsigned workers, at;
	uint32_t begun; /* ticks */
	bool finishing;
	unsigned groups, flows, made; /* of this call */
	struct scratch copy;
	struct slots slots[];
};

struct bp_exporter *bp_exporter_create(unsigned workers, uint64_t mono_ns)
{
	struct bp_exporter *e = calloc(1, sizeof(*e) + workers * sizeof(e->slots[0]));

	if (e == NULL)
		return NULL;
	e->workers = workers;
	e->begun = bp_ticks(mono_ns);
	return e;
}

static void free_slots(struct slots *s)
{
	free(s->of);
	free(s->records);
	*s = (struct slots){0};
}

void bp_exporter_free(struct bp_exporter *e)
{
	for (unsigned w = 0; e != NULL && w < e->workers; w++)
		free_slots(&e->slots[w]);
	free(e);
}

void bp_exporter_forget(struct bp_exporter *e)
{
	for (unsigned w = 0; w < e->workers; w++)
		for (uint64_t i = 0; i < e->slots[w].n; i++)
			e->slots[w].of[i].again = true;
}

/* NULL: the slot has another connection by now. */
static struct exported *find(struct bp_exporter *e, const struct bp_export_ref *r)
{
	struct slots *s = r->worker < e->workers ? &e->slots[r->worker] : NULL;

	if (s == NULL || r->slot >= s->n || !s->of[r->slot].has_record ||
		s->of[r->slot].life != r->life)
		return NULL;
	return &s->of[r->slot];
}

bool bp_exporter_has_record(struct bp_exporter *e, const struct bp_stream_place *p)
{
	return find(e, &(struct bp_export_ref){
			       .slot = p->slot, .worker = p->worker, .life = p->life}) != NULL;
}

bool bp_exporter_key(
	const struct bp_shm *shm, const struct bp_stream_place *p, struct bp_connection_key *k)
{
	struct bp_flow copy;
	uint64_t n;
	const struct bp_flow *f;

	if (p->worker >= shm->workers || p->dir > 1)
		return false;
	f = bp_flows_of(shm->flows, shm->flows_len, shm->workers, p->worker, &n);
	if (f == NULL || p->slot >= n || !bp_flow_copy(&f[p->slot], &copy) || copy.life != p->life)
		return false;
	if (!bp_connection_key_of(
		    bp_flow_header_of(shm->flows, shm->flows_len, shm->workers, p->worker), &copy,
		    k))
		return false;
	/* the name of its network was read after the copy */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&f[p->slot].life, __ATOMIC_RELAXED) == p->life;
}

void bp_exporter_again(struct bp_exporter *e, const struct bp_export_ref *ref)
{
	struct exported *x = find(e, ref);

	if (x != NULL) {
		x->again = true;
		x->refused = x->claimed = false;
	}
}

void bp_exporter_refused(struct bp_exporter *e, const struct bp_export_ref *ref)
{
	struct exported *x = find(e, ref);

	if (x != NULL && !x->claimed)
		x->refused = true;
}

/*
 * Whether the connection is proven and both directions are between two packets. Bytes of the broker
 * that the client has and that did not pass here are no obstacle: while the routers change, only
 * one direction may have moved away, and the next gateway needs the position of the other one.
 */
static bool at_boundary(const struct bp_flow *f)
{
	/* a record has no state of a WebSocket */
	return (f->proof & (BP_FLOW_PROVEN | BP_FLOW_UNREAD | BP_FLOW_WEBSOCKET)) ==
		       BP_FLOW_PROVEN &&
	       !(f->flags & (BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1))) &&
	       f->stream[0] == BP_STREAM_BOUNDARY && f->stream[1] == BP_STREAM_BOUNDARY &&
	       (f->pending & ~BP_FLOW_PUSHED_EITHER) == 0 && f->version != 0 &&
	       f->waiting[0] == 0 && f->waiting[1] == 0 &&
	       /* held publications are no part of a record: they end with the acknowledgement */
	       f->unacked == 0 &&
	       !(f->marks & (BP_MARK_URGENT(0) | BP_MARK_URGENT(1) | BP_MARK_CLAIM(BP_TO_BROKER) |
				    BP_MARK_ASKED));
}

static bool has_passed(uint32_t since, uint64_t mono_ns, uint64_t ns)
{
	const int32_t ago = (int32_t)(bp_ticks(mono_ns) - since);

	return ago > 0 && (uint32_t)ago > bp_ticks(ns);
}

/* Whether the connection may have another record now. */
static bool is_time(
	const struct bp_exporter *e, const struct bp_flow *f, struct exported *x, uint64_t mono_ns)
{
	if (e->finishing)
		return true;
	/* A new topic, and its alias, cannot wait: without them, nothing of it is evaluated after a
	 * move. */
	if (x->has_record && x->known == f->known &&
		!has_passed(x->made, mono_ns, BP_EXPORT_INTERVAL_NS))
		return false;
	if (has_passed(f->seen, mono_ns, BP_EXPORT_REST_NS))
		return true;
	if (x->busy == 0)
		x->busy = bp_ticks(mono_ns) | 1;
	return has_passed(x->busy, mono_ns, BP_EXPORT_BUSY_NS);
}

/* ---- records ---- */

/* The worker's part of the memory begins with its journal. */
static const struct bp_journal *journal_of(const struct bp_shm *shm, unsigned worker)
{
	const uint64_t part = shm->reassembly_len / shm->workers;

	return part < BP_JOURNAL_BYTES ? NULL : (const void *)(shm->reassembly + part * worker);
}

/*
 * Whether the worker changes this flow, or has ended while it did. A record of such a state could
 * have a position inside a segment, although the alarms before that position were never published.
 */
static bool is_in_work(const struct bp_journal *j, uint32_t slot)
{
	const uint32_t line = slot * (uint32_t)(sizeof(struct bp_flow) / 64) + 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (j == NULL || __atomic_load_n(&j->slot, __ATOMIC_ACQUIRE) == slot + 1)
		return true;
	for (unsigned i = 0; i < BP_JOURNAL_NOTES; i++)
		if ((uint32_t)__atomic_load_n(&j->note[i], __ATOMIC_RELAXED) == line)
			return true;
	return false;
}

/* The user name follows the client identifier. n: bytes of both that were copied. */
static void set_user(
	struct bp_connection_record *r, const struct bp_flow *f, const uint8_t *p, uint64_t n)
{
	const uint64_t at = f->client_id_len + 2u;

	if (!(f->flags & BP_FLOW_CONNECT) || (r->session & BP_SESSION_NO_ID))
		return;
	if (!(f->session & BP_SESSION_USER)) {
		r->user_state = BP_RECORD_USER_NONE;
		return;
	}
	/* also of BP_USER_UNKNOWN */
	if (n < at || bp_be16(p + at - 2) > BP_RECORD_USER_MAX || bp_be16(p + at - 2) > n - at)
		return;
	r->user_state = BP_RECORD_USER_GIVEN;
	r->user_len = bp_be16(p + at - 2);
	r->user = p + at;
}

static void set_identity(struct bp_connection_record *r, const struct bp_flow *f,
	const struct bp_arena *arena, struct scratch *c)
{
	uint64_t n = 0;

	if (f->client_id_len <= BP_RECORD_CLIENT_ID_MAX)
		n = bp_reassembly_peek(arena->memory, arena->bytes, f->client_id, c->identity,
			sizeof(c->identity));
	if (n >= f->client_id_len) {
		r->client_id = c->identity;
		r->client_id_len = f->client_id_len;
	} else {
		r->session |= BP_SESSION_NO_ID;
	}
	set_user(r, f, c->identity, n);
}

/* 0: there is none, and no key. */
static size_t record_of(
	struct scratch *c, const struct bp_shm *shm, unsigned worker, struct bp_connection_key *key)
{
	const struct bp_flow *f = &c->flow;
	const uint64_t part = shm->reassembly_len / shm->workers;
	const struct bp_arena arena = {.memory = shm->reassembly + part * worker + BP_JOURNAL_BYTES,
		.bytes = part > BP_JOURNAL_BYTES ? part - BP_JOURNAL_BYTES : 0};
	struct bp_connection_record r = {.syn_seq = f->syn_seq,
		.broker_isn = f->broker_isn,
		.publishes = f->publishes,
		.known = f->known,
		.mss = f->mss != 0 ? f->mss : BP_MSS_UNSEEN,
		.suspicious = f->suspicious,
		.version = f->version,
		.flags = f->flags,
		.proof = f->proof,
		.session = f->session,
		.has_alias_max = f->has_alias_max & BP_ALIAS_MAX_EITHER,
		.marks = f->marks,
		.pending = f->pending};

	if (!bp_connection_key_of(
		    bp_flow_header_of(shm->flows, shm->flows_len, shm->workers, worker), f, &r.key))
		return 0;
	*key = r.key;
	set_identity(&r, f, &arena, c);
	if (!bp_will_peek(&arena, f, &r.will, c->will))
		return 0;
	for (unsigned dir = 0; dir < 2; dir++) {
		r.next[dir] = f->next[dir];
		r.window[dir] = f->window[dir];
		r.scale[dir] = f->scale[dir];
		r.alias_max[dir] = f->alias_max[dir];
		r.n_qos2[dir] = bp_qos2_peek(&arena, f, dir, c->qos2[dir]);
		r.n_aliases[dir] =
			bp_alias_peek(&arena, shm->global->hash_key, f, dir, &c->aliases[dir]);
		if (!c->aliases[dir].all)
			r.session |= BP_SESSION_ALIASES_LOST;
	}
	return bp_connection_record_write(&r, (const uint16_t *const[]){c->qos2[0], c->qos2[1]},
		(const struct bp_record_alias *const[]){c->aliases[0].alias, c->aliases[1].alias},
		c->record, sizeof(c->record));
}

/* Whether the flow is unchanged since it was copied; its neighbors in a list may be others. */
static bool is_unchanged(struct scratch *c, const struct bp_flow *f)
{
	const uint8_t *first = (const uint8_t *)&c->flow, *again = (const uint8_t *)&c->again;

	if (!bp_flow_copy(f, &c->again))
		return false;
	c->again.lru_prev = c->flow.lru_prev;
	c->again.lru_next = c->flow.lru_next;
	return memcmp(first, again, sizeof(c->flow)) == 0;
}

static void end_record(struct slots *s, uint64_t slot, const struct bp_export_sink *sink)
{
	struct exported *x = &s->of[slot];

	if (!x->has_record)
		return;
	sink->end(sink->arg, &x->key, x->epoch);
	s->records[slot / BP_FLOW_WAYS]--;
	*x = (struct exported){0};
}

/* Whether the connection was used since its last record. */
static bool is_used(const struct exported *x, const struct bp_flow *f)
{
	return x->seen != f->seen; /* not by `next`: an adopted record moves it, too */
}

/* Whether the record is valid, and lives for long enough. */
static bool is_known(const struct exported *x, const struct bp_flow *f, uint32_t refresh_ticks)
{
	return x->has_record && !x->again && x->next[0] == f->next[0] && x->next[1] == f->next[1] &&
	       f->seen - x->seen < refresh_ticks;
}

static void make_record(struct bp_exporter *e, const struct bp_shm *shm,
	const struct bp_export_ref *ref, const struct bp_flow *f, uint64_t mono_ns,
	const struct bp_export_sink *sink)
{
	const struct bp_journal *journal = journal_of(shm, ref->worker);
	struct slots *s = &e->slots[ref->worker];
	struct exported *x = &s->of[ref->slot];
	struct scratch *c = &e->copy;
	struct bp_connection_key key;
	const size_t n = record_of(c, shm, ref->worker, &key);

	e->made++;
	/* what the packets before this position have changed was reported before the flow changed:
	 * so it is read after the copy, and nothing of a later packet is, if the flow is unchanged
	 * then */
	if (n == 0 || (sink->is_complete != NULL && !sink->is_complete(sink->arg, &key)) ||
		is_in_work(journal, ref->slot) || !is_unchanged(c, f))
		return; /* the next scan finds it */
	if (!x->has_record)
		s->records[ref->slot / BP_FLOW_WAYS]++;
	if (!x->has_record || is_used(x, &c->flow))
		x->epoch = sink->epoch;
	x->key = key;
	x->life = c->flow.life;
	x->next[0] = c->flow.next[0];
	x->next[1] = c->flow.next[1];
	x->known = c->flow.known;
	x->seen = c->flow.seen;
	x->made = bp_ticks(mono_ns);
	x->busy = 0;
	x->has_record = true;
	x->again = false;
	sink->put(sink->arg, ref, &x->key, c->record, n, x->epoch);
}

static void export_one(struct bp_exporter *e, const struct bp_shm *shm, unsigned worker,
	uint64_t slot, const struct bp_flow *f, uint64_t mono_ns, uint64_t lifetime_ns,
	const struct bp_export_sink *sink)
{
	struct exported *x = &e->slots[worker].of[slot];
	struct bp_export_ref ref = {.slot = (uint32_t)slot, .worker = (uint16_t)worker};
	const struct bp_flow *copy = &e->copy.flow;

	if (!bp_flow_copy(f, &e->copy.flow)) {
		if (__atomic_load_n(&f->proof, __ATOMIC_RELAXED) == 0)
			end_record(&e->slots[worker], slot, sink);
		return;
	}
	e->flows++;
	if (x->life != copy->life || (copy->flags & BP_FLOW_CLOSED) ||
		copy->stream[0] == BP_STREAM_NOT_INSPECTED)
		end_record(&e->slots[worker], slot, sink);
	if (!at_boundary(copy) || is_known(x, copy, bp_ticks(lifetime_ns / 2)) ||
		!is_time(e, copy, x, mono_ns) ||
		(!x->has_record && (int32_t)(copy->seen - e->begun) < 0))
		return;
	ref.life = copy->life;
	memcpy(ref.next, copy->next, sizeof(ref.next));
	if (x->claimed || (x->refused && !is_used(x, copy)))
		return;
	if (x->refused) {
		x->refused = false;
		x->claimed = true;
		sink->claim(sink->arg, &ref, &x->key);
		return;
	}
	make_record(e, shm, &ref, f, mono_ns, sink);
}

/* The slots of a worker; another data plane may have another number. */
static bool reach(struct slots *s, uint64_t n)
{
	if (s->n == n)
		return true;
	free_slots(s);
	s->of = calloc(n, sizeof(s->of[0]));
	s->records = calloc(n / BP_FLOW_WAYS + 1, 1);
	if (s->of == NULL || s->records == NULL) {
		free_slots(s);
		return false;
	}
	s->n = n;
	return true;
}

/* Free slots without a record: the tags of a group are in fewer lines than its flows. */
static bool is_free(const struct slots *s, const struct bp_flow_group *g, uint64_t group)
{
	if (s->records[group] != 0)
		return false;
	for (unsigned i = 0; i < BP_FLOW_WAYS; i++)
		if (__atomic_load_n(&g[group].tag[i], __ATOMIC_RELAXED) != 0)
			return false;
	return true;
}

static bool is_exhausted(const struct bp_exporter *e)
{
	return !e->finishing && (e->groups >= BP_EXPORT_GROUPS || e->flows >= BP_EXPORT_FLOWS ||
					e->made >= BP_EXPORT_RECORDS);
}

/* The rest of a worker's table, as far as the bounds of the call allow. */
static bool scan_worker(struct bp_exporter *e, const struct bp_shm *shm, unsigned w,
	uint64_t mono_ns, uint64_t lifetime_ns, const struct bp_export_sink *sink)
{
	struct slots *s = &e->slots[w];
	uint64_t n;
	const struct bp_flow *f = bp_flows_of(shm->flows, shm->flows_len, shm->workers, w, &n);
	const struct bp_flow_header *h =
		(const void *)(shm->flows + shm->flows_len / shm->workers * w);
	const struct bp_flow_group *groups = (const void *)(h + 1);

	if (f == NULL || n == 0)
		return true;
	if (!reach(s, n))
		return false;
	while (s->at < n && !is_exhausted(e)) {
		e->groups++;
		if (is_free(s, groups, s->at / BP_FLOW_WAYS)) {
			s->at += BP_FLOW_WAYS;
			continue;
		}
		for (unsigned i = 0; i < BP_FLOW_WAYS; i++, s->at++)
			export_one(e, shm, w, s->at, &f[s->at], mono_ns, lifetime_ns, sink);
	}
	return true;
}

bool bp_exporter_scan(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink)
{
	const unsigned workers = e->workers < shm->workers ? e->workers : shm->workers;
	bool ok = true;

	e->groups = e->flows = e->made = 0;
	for (unsigned i = 0; i < workers && !is_exhausted(e); i++) {
		struct slots *s;

		e->at = e->at < workers ? e->at : 0;
		s = &e->slots[e->at];
		ok &= scan_worker(e, shm, e->at, mono_ns, lifetime_ns, sink);
		if (s->at < s->n)
			break; /* the next call continues here */
		s->at = 0;
		e->at++;
	}
	return ok;
}

bool bp_exporter_finish(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink)
{
	bool ok;

	e->finishing = true;
	for (unsigned w = 0; w < e->workers; w++)
		e->slots[w].at = 0;
	ok = bp_exporter_scan(e, shm, mono_ns, lifetime_ns, sink);
	e->finishing = false;
	return ok;
}
