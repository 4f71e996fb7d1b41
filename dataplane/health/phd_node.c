/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts reports of personal health devices into requests to the CSE. Nodes ip4 and ip6 send UDP
 * datagrams for the port of the devices here. A report of a session that is operating, and whose
 * containers exist in the CSE, leaves as CoAP by the forwarding tables; datagrams for the manager
 * are sent to the kernel, as signalling is; the rest is dropped and counted by reason.
 */
#include "biplane/counters/health.h"
#include "biplane/health.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/health/phd_node.h"
#include "services/health/last_report.h"
#include "proto/health/phd_apdu.h"

#define GONE UINT16_MAX /* no edge: no frame is left to send */

/* The current report. */
struct report {
	struct rte_mbuf *m;
	const struct bp_datagram *d;
	struct bp_phd_session *s;
	const struct bp_phd_layout *l;
	uint64_t word;
	uint32_t slot;
	uint32_t open;   /* a bit for each part to send */
	uint32_t number; /* number of the report in its session */
	uint32_t pair;   /* of its first part */
};

/* Whether the APDU is an event report of scanned data. No other APDU is converted. */
static inline bool is_report(const uint8_t *apdu, uint32_t len)
{
	uint16_t type;

	if (len < 20 || bp_be16(apdu) != BP_PHD_PRST)
		return false;
	type = bp_be16(apdu + 18);
	return (bp_be16(apdu + 8) & ~1u) == BP_PHD_EVENT && type >= BP_PHD_SCAN_FIXED &&
	       type <= BP_PHD_SCAN_MP_VAR;
}

/* Handles a report without a session, or of a session that must not send reports. */
static rte_edge_t unknown_session(struct bp_phd_burst *t, struct rte_mbuf *m, bp_counter_t why)
{
	struct bp_phd_worker *h = t->h;

	bp_count(t->w, why, 1);
	if (why == BP_C_PHD_DISCARDED_UNKNOWN_SESSION &&
		atomic_load_explicit(&h->t->control->loading, memory_order_relaxed) != 0)
		return bp_drop(m, BP_C_DROP_PHD_SESSIONS_LOADING);
	/* a bucket with rate 0 would pass one frame */
	if (h->plan.unknown_sessions == 0 ||
		bp_bucket_tokens(&h->unknown_sessions, t->w->mono_ns, 1) == 0)
		return bp_drop(m, BP_C_DROP_PHD_UNKNOWN_SESSION);
	bp_bucket_take(&h->unknown_sessions, 1);
	return bp_punt(t->w, m, BP_C_PUNT_PHD_UNKNOWN_SESSION, BP_EX_PHD);
}

static bp_counter_t reason_of(enum bp_phd_verdict v)
{
	switch (v) {
	case BP_PHD_BAD_LENGTH:
		return BP_C_PHD_DISCARDED_LENGTH;
	case BP_PHD_BAD_HANDLE:
		return BP_C_PHD_DISCARDED_HANDLE;
	case BP_PHD_NO_HANDLE:
		return BP_C_PHD_UNKNOWN_HANDLE;
	case BP_PHD_BAD_MAP:
		return BP_C_PHD_DISCARDED_MAP;
	default:
		return BP_C_PHD_DISCARDED_APDU;
	}
}

/*
 * Discards a report: no part of it is stored. The manager counts it too, and informs a device that
 * waits for a response.
 */
static rte_edge_t discard(
	struct bp_phd_burst *t, struct rte_mbuf *m, struct bp_phd_session *s, enum bp_phd_verdict v)
{
	const struct bp_phd_conversion *c = &t->h->conversion;

	bp_count(t->w, reason_of(v), 1);
	if (c->answerable && c->confirmed)
		return bp_punt(t->w, m, BP_C_PUNT_PHD_RESPONSE, BP_EX_PHD);
	bp_phd_session_refuse(s, (uint8_t)v);
	return bp_drop(m, BP_C_DROP_PHD_DISCARDED);
}

static uint64_t token_of(
	const struct bp_phd_burst *t, const struct report *r, unsigned part, bool confirmed)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	const struct bp_phd_token token = {.slot = r->slot,
		.invoke_id = c->invoke_id,
		.type = (uint8_t)(c->type - BP_PHD_SCAN_FIXED),
		.part = (uint8_t)part,
		.only = c->parts == 1,
		.confirmed = confirmed};

	return bp_phd_token_pack(&token, bp_phd_word_life(r->word), t->h->t->hash_key);
}

/*
 * All parts are stored, or there was none to store: sends the response to the device in the mbuf of
 * the report.
 */
static rte_edge_t answer_now(
	struct bp_phd_burst *t, const struct report *r, bp_counter_t unconfirmed)
{
	if (!t->h->conversion.confirmed)
		return bp_drop(r->m, unconfirmed);
	if (!bp_answers_has_capacity(&t->answers))
		bp_answers_send(t->graph, t->node, t->w, &t->answers);
	bp_answers_add(&t->answers, t->h, r->m, token_of(t, r, 0, true), BP_M2M_STORED);
	return GONE;
}

/* Whether the largest request fits the output interface of the CSE and an mbuf. */
static bool fits(const struct bp_phd_burst *t, const struct rte_mbuf *m)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	const uint32_t head = t->h->head_len, room = RTE_MIN(bp_frame_tailroom(m), t->room);

	for (unsigned i = 0; i < c->parts; i++)
		if (unlikely(head + c->part[i].len > room))
			return false;
	return true;
}

/* Determines the number of the report and the parts to send. */
static bool register_report(struct bp_phd_burst *t, struct report *r)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	const struct bp_phd_report_words words = bp_phd_report_words_read(r->s);
	const uint64_t last = words.last, sent = words.sent;
	const uint16_t hash = bp_phd_report_hash(bp_phd_report_key, r->d->payload, r->d->len);
	const bool many_parts = bp_phd_sent_number(sent) == BP_PHD_SENT_MANY;
	const bool repeat =
		!many_parts &&
		bp_phd_is_repeat(last, sent, c->invoke_id, c->report_no, hash, t->w->mono_ns) &&
		bp_phd_report_words_number(r->s, &words, &r->number);

	if (unlikely(repeat)) {
		r->open = bp_phd_last_open(last) & bp_phd_open_begin(c->parts);
		r->pair = bp_phd_sent_number(sent);
		bp_count(t->w, BP_C_PHD_DUPLICATES, 1);
		/*
		 * a pair outside the share of any worker, also one that is not set, must not be
		 * used again
		 */
		if (r->open == 0 || (bp_phd_sent_has_number(sent) &&
					    bp_phd_ids_of(t->h->t->ids, t->h->workers,
						    (uint16_t)(r->pair >> 16)) != NULL))
			return true;
	}
	if (!bp_phd_worker_ids_take(t->h, c->parts, t->w->router.now_s, &r->pair))
		return false;
	if (unlikely(repeat)) {
		bp_phd_report_words_resend(
			r->s, &words, bp_phd_sent_pack(r->pair, hash, t->w->mono_ns));
		return true;
	}
	r->open = bp_phd_open_begin(c->parts);
	r->number = bp_phd_report_words_begin(r->s);
	bp_count(t->w, BP_C_PHD_OBSERVATIONS, c->observations);
	if (unlikely(c->unknown_handles != 0))
		bp_count(t->w, BP_C_PHD_UNKNOWN_HANDLE, c->unknown_handles);
	bp_count(t->w, BP_C_CSE_UNACKNOWLEDGED,
		many_parts ? bp_phd_last_open(last) & BP_PHD_OPEN_LEFT
			   : (uint64_t)__builtin_popcount(bp_phd_last_open(last)));
	bp_count(t->w, BP_C_PHD_REUSED_NUMBER,
		sent != 0 && last >> 32 == bp_phd_last_pack(c->invoke_id, c->report_no, 0) >> 32);
	bp_phd_report_words_end(r->s, bp_phd_last_pack(c->invoke_id, c->report_no, r->open),
		bp_phd_sent_pack(r->pair, hash, t->w->mono_ns));
	return true;
}

/* Writes the request of part `i` to this mbuf. */
static inline void write_part(struct bp_phd_burst *t, const struct report *r, unsigned i,
	struct rte_mbuf *m, const uint8_t *apdu, bool confirmed)
{
	const struct bp_phd_ids *share = t->h->ids;
	struct bp_phd_identity id = {.system_id = r->s->system_id,
		.associated_s = r->s->associated_s,
		.report = r->number,
		.life = bp_phd_word_life(r->word),
		.token = token_of(t, r, i, confirmed)};
	uint32_t pair = r->pair;

	if (unlikely(i != 0)) {
		/* the pair of a repetition may belong to another worker */
		if ((pair >> 16) - share->first >= share->ports)
			share = bp_phd_ids_of(t->h->t->ids, t->h->workers, (uint16_t)(pair >> 16));
		if (share != NULL)
			pair = bp_phd_pair_at(share, pair, i);
	}
	id.mid = (uint16_t)pair;
	bp_request_frame(t->h, m, r->l, apdu, i, &id, (uint16_t)(pair >> 16));
	bp_egress_apply(&t->w->router, &t->cse, m);
}

/* Sends the parts that do not use the mbuf of the device, one by one. */
static void send_more(struct bp_phd_burst *t, const struct report *r, struct rte_mbuf **more,
	uint32_t open, bool confirmed)
{
	for (; open != 0; open &= open - 1, more++) {
		write_part(t, r, (unsigned)__builtin_ctz(open), *more, r->d->payload, confirmed);
		rte_node_enqueue_x1(t->graph, t->node, t->cse.edge, *more);
	}
}

/* Sends a report of several parts, or one that cannot be converted in place. */
static __rte_noinline rte_edge_t send_parts(struct bp_phd_burst *t, struct report *r, bool stored)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	struct rte_mbuf *more[BP_PHD_TOKEN_PARTS + 1];
	const bool answers = c->confirmed && !stored;
	const unsigned parts = (unsigned)__builtin_popcount(r->open);
	const unsigned n = parts - c->in_place + answers;

	if (n != 0 && unlikely(rte_pktmbuf_alloc_bulk(t->w->pool, more, n) != 0))
		return bp_drop(r->m, BP_C_DROP_PHD_NO_MBUF);
	if (answers) {
		if (!bp_answers_has_capacity(&t->answers))
			bp_answers_send(t->graph, t->node, t->w, &t->answers);
		bp_answers_add(
			&t->answers, t->h, more[n - 1], token_of(t, r, 0, true), BP_M2M_STORED);
		bp_count(t->w, BP_C_PHD_RESPONSE_FRAME, 1);
	}
	/* the frame of the device is the first of them, or became it */
	bp_count(t->w, BP_C_CSE_REQUEST_FRAME, parts - 1);
	bp_count(t->w, BP_C_CSE_REQUESTS, parts);
	if (!c->in_place) {
		send_more(t, r, more, r->open, c->confirmed && stored);
		rte_pktmbuf_free(r->m);
		return GONE;
	}
	send_more(t, r, more, r->open & (r->open - 1), c->confirmed && stored);
	write_part(t, r, (unsigned)__builtin_ctz(r->open), r->m, r->d->payload,
		c->confirmed && stored);
	return t->cse.edge;
}

/*
 * Converts a report that can be stored. Returns the edge of its first request, or of the report if
 * it is not converted.
 */
static rte_edge_t convert(struct bp_phd_burst *t, struct report *r)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	const bool stored = t->h->plan.confirm == BP_PHD_CONFIRM_STORED;

	if (unlikely(!fits(t, r->m)))
		return bp_punt(t->w, r->m, BP_C_PUNT_PHD_SLOW_PATH, BP_EX_PHD);
	if (unlikely(!register_report(t, r)))
		return bp_drop(r->m, BP_C_DROP_PHD_NO_MESSAGE_ID);
	if (unlikely(r->open == 0))
		return answer_now(t, r, BP_C_DROP_PHD_DUPLICATE_UNCONFIRMED);
	if (unlikely(c->parts != 1 || !c->in_place || (c->confirmed && !stored)))
		return send_parts(t, r, stored);
	bp_count(t->w, BP_C_CSE_REQUESTS, 1);
	write_part(t, r, 0, r->m, r->d->payload, c->confirmed);
	return t->cse.edge;
}

/* Counts values that are not numbers and times that are invalid, which were stored unchanged. */
static inline void count_oddities(const struct bp_phd_burst *t)
{
	const struct bp_phd_conversion *c = &t->h->conversion;
	const struct bp_phd_oddities *odd = &c->odd;

	if (likely((odd->special_values | odd->bad_times | c->trailing) == 0))
		return;
	bp_count(t->w, BP_C_PHD_TRAILING_BYTES, c->trailing);
	bp_count(t->w, BP_C_PHD_SPECIAL_VALUES, odd->special_values);
	bp_count(t->w, BP_C_PHD_INVALID_TIMESTAMPS, odd->bad_times);
}

/* The same, if another session has the same tag. */
static __rte_noinline bool find_other_worker(const struct bp_phd_tables *tables,
	const struct bp_phd_heads *heads, uint32_t i, uint16_t port, struct report *r)
{
	const uint64_t from[2] = {htole64(heads->from[i][0]), htole64(heads->from[i][1])};

	if (bp_phd_find(tables, heads->hash[i], (const uint8_t *)from, port, BP_PHD_TRANSPORT_UDP,
		    &r->slot) != 0)
		return false;
	r->s = &tables->sessions[r->slot];
	r->word = atomic_load_explicit(&r->s->word, memory_order_acquire);
	return true;
}

/* Finds the session of the sender, with its slot and its state word. */
static inline bool find_session(const struct bp_phd_tables *tables,
	const struct bp_phd_heads *heads, uint32_t i, struct report *r)
{
	const uint16_t port = bp_datagram_sport(r->d);
	const uint64_t *from = heads->from[i];

	r->slot = heads->candidate[i];
	r->s = &tables->sessions[r->slot];
	r->word = atomic_load_explicit(&r->s->word, memory_order_acquire);
	if (likely(bp_phd_word_state(r->word) != BP_PHD_FREE &&
		    bp_phd_is_of(r->s, from[0], from[1], port, BP_PHD_TRANSPORT_UDP)))
		return true;
	return find_other_worker(tables, heads, i, port, r);
}

/* Returns the edge of a datagram, or GONE. */
static rte_edge_t take(
	struct bp_phd_burst *t, struct bp_phd_heads *heads, uint32_t i, struct rte_mbuf *m)
{
	struct report r = {.m = m, .d = &heads->d[i]};
	struct bp_phd_worker *h = t->h;
	enum bp_phd_verdict v;
	rte_edge_t edge;

	if (unlikely(!bp_datagram_is_complete(m, r.d)))
		return bp_drop(m, BP_C_DROP_PHD_CHECKSUM);
	if (unlikely(!is_report(r.d->payload, r.d->len)))
		return bp_punt(t->w, m, BP_C_PUNT_PHD_SIGNALING, BP_EX_PHD);
	if (unlikely(!find_session(h->t, heads, i, &r)))
		return unknown_session(t, m, BP_C_PHD_DISCARDED_UNKNOWN_SESSION);
	if (unlikely(bp_phd_word_state(r.word) != BP_PHD_OPERATING))
		return unknown_session(t, m, BP_C_PHD_DISCARDED_STATE);
	r.l = bp_phd_worker_layout_of(h, r.word);
	if (unlikely(!(bp_phd_word_flags(r.word) & BP_PHD_READY) || r.l == NULL || !t->cse_known))
		return bp_punt(t->w, m, BP_C_PUNT_PHD_SLOW_PATH, BP_EX_PHD);
	v = bp_phd_convert_plan(r.l, &h->plan, r.d->payload, r.d->len, &h->conversion);
	bp_count(t->w, BP_C_PHD_REPORTS, 1);
	bp_count(t->w, BP_C_PHD_REPORTS_CONFIRMED, h->conversion.confirmed);
	switch (v) {
	case BP_PHD_CONVERT:
		bp_phd_same_template_learn(
			h, bp_phd_word_layout(r.word), r.l, r.d->payload, r.d->len);
		edge = convert(t, &r);
		count_oddities(t);
		return edge;
	case BP_PHD_EMPTY:
		return answer_now(t, &r, BP_C_DROP_PHD_EMPTY_UNCONFIRMED);
	case BP_PHD_SLOW:
		return bp_punt(t->w, m, BP_C_PUNT_PHD_SLOW_PATH, BP_EX_PHD);
	default:
		return discard(t, m, r.s, v);
	}
}

/*
 * Reads lengths and senders. Datagrams with an invalid length are removed, and the others move up.
 * Checksums are verified where the payload is read.
 */
static uint32_t read_heads(
	struct bp_phd_burst *t, struct rte_mbuf **m, uint32_t n, struct bp_phd_heads *heads)
{
	const struct bp_phd_tables *tables = t->h->t;
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct bp_datagram *d = &heads->d[left];

		if (unlikely(!bp_datagram_lengths(m[i], d))) {
			rte_node_enqueue_x1(
				t->graph, t->node, bp_drop(m[i], BP_C_DROP_PHD_CHECKSUM), m[i]);
			continue;
		}
		bp_datagram_source(d, heads->from[left]);
		heads->hash[left] = bp_phd_hash_words(tables->hash_key, heads->from[left][0],
			heads->from[left][1], bp_datagram_sport(d), BP_PHD_TRANSPORT_UDP);
		bp_phd_prefetch(tables, heads->hash[left]);
		m[left++] = m[i];
	}
	for (uint32_t i = 0; i < left; i++) {
		heads->candidate[i] = bp_phd_candidate(tables, heads->hash[i]);
		__builtin_prefetch(&tables->sessions[heads->candidate[i]], 1);
	}
	return left;
}

static void take_step(struct bp_phd_burst *t, struct rte_mbuf **m, uint32_t n)
{
	struct bp_phd_heads heads;

	n = read_heads(t, m, n, &heads);
	for (uint32_t i = bp_phd_same_template_take(t, &heads, m, 0, n); i < n;
		i += 1 + bp_phd_same_template_take(t, &heads, m, i + 1, n)) {
		rte_edge_t edge = take(t, &heads, i, m[i]);

		if (likely(edge == t->out.edge)) {
			bp_edge_batch_add(&t->out, edge, m[i]);
		} else if (edge != GONE) {
			rte_node_enqueue_x1(t->graph, t->node, edge, m[i]);
		}
	}
}

static uint16_t phd_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_phd_worker *h = bp_phd_worker_of(w);
	struct bp_phd_burst t;

	bp_lcl_consume(w, (struct rte_mbuf *const *)objs, nb_objs);
	t.graph = graph;
	t.node = node;
	t.w = w;
	t.h = h;
	t.answers.n = 0;
	t.cse_known = bp_egress_lookup(&w->router, h->plan.cse, h->cse_is_ip6, &t.cse) &&
		      bp_phd_settings_has_source(&h->plan);
	bp_edge_batch_begin(
		&t.out, w, graph, node, objs, nb_objs, t.cse_known ? t.cse.edge : BP_EDGE_DROP);
	t.room = RTE_MIN(t.cse.mtu + BP_ETHER_HDR,
		(uint32_t)rte_pktmbuf_data_room_size(w->pool) - RTE_PKTMBUF_HEADROOM);
	bp_phd_same_template_begin(&t);
	for (uint32_t i = 0; i < nb_objs; i += BP_PHD_STEP)
		take_step(&t, (struct rte_mbuf **)objs + i, RTE_MIN(nb_objs - i, BP_PHD_STEP));
	bp_edge_batch_end(&t.out);
	bp_answers_send(graph, node, w, &t.answers);
	bp_phd_same_template_end(&t);
	return nb_objs;
}

struct rte_node_register bp_node_phd = {
	.name = "bp_phd",
	.process = phd_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_phd, BP_EDGE_DROP, BP_EDGE_EXCEPTION, BP_NEXT_INTERFACE)
