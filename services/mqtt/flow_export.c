/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_export.h"

#include <stdlib.h>

#include "services/mqtt/mqtt_worker.h"

/* What the last record of a slot was made of. */
struct exported {
	struct bp_connection_key key;
	uint32_t next[2];
	uint32_t seen;
	uint16_t life;
	bool has_record;
};

struct slots {
	uint64_t n, at;
	struct exported *of; /* n */
};

/* Copies of one connection. */
struct scratch {
	struct bp_flow flow, again;
	struct bp_alias_peeked aliases[2];
	uint16_t qos2[2][BP_RECORD_QOS2_MAX];
	uint8_t client_id[BP_RECORD_CLIENT_ID_MAX];
	uint8_t will[BP_WILL_PEEKED] __attribute__((aligned(8)));
	uint8_t record[BP_CONNECTION_RECORD_MAX];
};

struct bp_exporter {
	unsigned workers;
	struct scratch copy;
	struct slots slots[];
};

struct bp_exporter *bp_exporter_create(unsigned workers)
{
	struct bp_exporter *e = calloc(1, sizeof(*e) + workers * sizeof(e->slots[0]));

	if (e != NULL)
		e->workers = workers;
	return e;
}

void bp_exporter_free(struct bp_exporter *e)
{
	for (unsigned w = 0; e != NULL && w < e->workers; w++)
		free(e->slots[w].of);
	free(e);
}

void bp_exporter_forget(struct bp_exporter *e)
{
	for (unsigned w = 0; w < e->workers; w++)
		for (uint64_t i = 0; i < e->slots[w].n; i++)
			e->slots[w].of[i].has_record = false;
}

/* Whether the connection is proven and both directions are between two packets. */
static bool at_boundary(const struct bp_flow *f)
{
	return (f->proof & (BP_FLOW_PROVEN | BP_FLOW_UNREAD)) == BP_FLOW_PROVEN &&
	       !(f->flags & (BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1))) &&
	       f->stream[0] == BP_STREAM_BOUNDARY && f->stream[1] == BP_STREAM_BOUNDARY &&
	       f->pending == 0 && f->version != 0 && f->waiting[0] == 0 && f->waiting[1] == 0 &&
	       /* held publications are no part of a record: they end with the acknowledgement */
	       f->unacked == 0 &&
	       !(f->marks & (BP_MARK_URGENT(0) | BP_MARK_URGENT(1) | BP_MARK_CLAIM(0) |
				    BP_MARK_CLAIM(1) | BP_MARK_ASKED));
}

static bool rests(const struct bp_flow *f, uint64_t mono_ns)
{
	const int32_t ago = (int32_t)(bp_ticks(mono_ns) - f->seen);

	return ago > 0 && (uint32_t)ago > bp_ticks(BP_EXPORT_REST_NS);
}

static size_t record_of(struct scratch *c, const struct bp_shm *shm, unsigned worker)
{
	const struct bp_flow *f = &c->flow;
	const uint64_t part = shm->reassembly_len / shm->workers;
	const struct bp_arena arena = {.memory = shm->reassembly + part * worker + BP_JOURNAL_BYTES,
		.bytes = part > BP_JOURNAL_BYTES ? part - BP_JOURNAL_BYTES : 0};
	struct bp_connection_record r = {.syn_seq = f->syn_seq,
		.broker_isn = f->broker_isn,
		.publishes = f->publishes,
		.mss = f->mss != 0 ? f->mss : BP_MSS_UNSEEN,
		.suspicious = f->suspicious,
		.version = f->version,
		.flags = f->flags,
		.proof = f->proof,
		.session = f->session,
		.has_alias_max = f->has_alias_max,
		.marks = f->marks,
		.client_id = c->client_id};

	bp_connection_key_of(f, &r.key);
	if (f->client_id_len <= sizeof(c->client_id))
		r.client_id_len = (uint16_t)bp_reassembly_peek(
			arena.memory, arena.bytes, f->client_id, c->client_id, f->client_id_len);
	if (r.client_id_len != f->client_id_len)
		r.session |= BP_SESSION_NO_ID;
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

static void end_record(struct exported *x, const struct bp_export_sink *sink)
{
	if (x->has_record)
		sink->end(sink->arg, &x->key);
	x->has_record = false;
}

static bool is_known(const struct exported *x, const struct bp_flow *f, uint32_t refresh_ticks)
{
	return x->has_record && x->next[0] == f->next[0] && x->next[1] == f->next[1] &&
	       f->seen - x->seen < refresh_ticks;
}

static void export_one(struct bp_exporter *e, const struct bp_shm *shm, unsigned worker,
	const struct bp_flow *f, struct exported *x, uint64_t mono_ns, uint64_t lifetime_ns,
	const struct bp_export_sink *sink)
{
	struct scratch *c = &e->copy;
	size_t n;

	if (__atomic_load_n(&f->proof, __ATOMIC_RELAXED) == 0 && !x->has_record)
		return;
	if (!bp_flow_copy(f, &c->flow)) {
		if (__atomic_load_n(&f->proof, __ATOMIC_RELAXED) == 0)
			end_record(x, sink);
		return;
	}
	if (x->life != c->flow.life || (c->flow.flags & BP_FLOW_CLOSED) ||
		c->flow.stream[0] == BP_STREAM_NOT_INSPECTED)
		end_record(x, sink);
	if (!at_boundary(&c->flow) || !rests(&c->flow, mono_ns) ||
		is_known(x, &c->flow, bp_ticks(lifetime_ns / 2)))
		return;
	n = record_of(c, shm, worker);
	if (n == 0 || !is_unchanged(c, f))
		return; /* the next scan finds it */
	bp_connection_key_of(&c->flow, &x->key);
	x->life = c->flow.life;
	x->next[0] = c->flow.next[0];
	x->next[1] = c->flow.next[1];
	x->seen = c->flow.seen;
	x->has_record = true;
	sink->put(sink->arg, &x->key, c->record, n);
}

/* The slots of a worker; another data plane may have another number. */
static bool reach(struct slots *s, uint64_t n)
{
	if (s->n == n)
		return true;
	free(s->of);
	s->of = calloc(n, sizeof(s->of[0]));
	s->n = s->of != NULL ? n : 0;
	s->at = 0;
	return s->of != NULL;
}

static uint64_t share(uint64_t slots)
{
	const uint64_t n = slots / 8 + 1;

	return n < BP_EXPORT_SLOTS_MIN   ? BP_EXPORT_SLOTS_MIN
	       : n > BP_EXPORT_SLOTS_MAX ? BP_EXPORT_SLOTS_MAX
					 : n;
}

bool bp_exporter_scan(struct bp_exporter *e, const struct bp_shm *shm, uint64_t mono_ns,
	uint64_t lifetime_ns, const struct bp_export_sink *sink)
{
	bool ok = true;

	for (unsigned w = 0; w < e->workers && w < shm->workers; w++) {
		struct slots *s = &e->slots[w];
		uint64_t n, left;
		const struct bp_flow *f =
			bp_flows_of(shm->flows, shm->flows_len, shm->workers, w, &n);

		if (f == NULL || n == 0)
			continue;
		if (!reach(s, n)) {
			ok = false;
			continue;
		}
		left = share(n) < n ? share(n) : n;
		for (; left != 0; left--) {
			export_one(e, shm, w, &f[s->at], &s->of[s->at], mono_ns, lifetime_ns, sink);
			s->at = s->at + 1 < n ? s->at + 1 : 0;
		}
	}
	return ok;
}
