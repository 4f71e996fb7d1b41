/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes the responses of the CSE to requests of node phd: a part is stored, or not, and after
 * the last part the device gets its response, in the mbuf of the CSE. The node needs only the token
 * that the CSE returns, and the session that the token names.
 */
#include "biplane/counters/health.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/health/egress.h"
#include "dataplane/health/datagram.h"
#include "services/health/last_report.h"
#include "proto/health/coap.h"
#include "proto/health/onem2m.h"

#define STEP 64u        /* datagrams processed together */
#define GONE UINT16_MAX /* no edge: no frame is left to send */
/*
 * Maximum number of attempts on a word that other threads also change. Workers and reports do not
 * cause this many changes in such a short time.
 */
#define TRIES 64u

struct turn {
	struct rte_graph *graph;
	struct rte_node *node;
	struct bp_worker *w;
	struct bp_phd_worker *h;
	struct bp_answers answers;
};

/* Datagrams whose headers were read. */
struct heads {
	struct rte_mbuf *m[STEP];
	struct bp_coap coap[STEP];
	uint64_t token[STEP];
	uint16_t port[STEP]; /* destination port, one of ours */
};

/* Terminates a datagram, and counts the reason. */
static rte_edge_t consume(const struct turn *t, struct rte_mbuf *m, bp_counter_t why)
{
	bp_count(t->w, why, 1);
	rte_pktmbuf_free(m);
	return GONE;
}

/* The report of the session to which a response belongs. */
enum report_of {
	OF_LAST,
	OF_EARLIER, /* an earlier one with the same invoke-id */
	OF_OTHER
};

/*
 * A response belongs to the last report of the session, and not to an earlier one with the same
 * invoke-id, if it arrived on the port that the part was sent from and, in an acknowledgement, has
 * the message id of the part.
 */
static enum report_of report_of(const struct bp_phd_worker *h, const struct bp_phd_session *s,
	const struct bp_phd_token *t, uint16_t port, const struct bp_coap *c,
	struct bp_phd_report_words *words)
{
	const struct bp_phd_ids *share;
	uint32_t pair;

	*words = bp_phd_report_words_last(s);
	if (bp_phd_last_invoke_id(words->last) != t->invoke_id)
		return OF_OTHER;
	if (!bp_phd_sent_has_number(words->sent))
		return OF_EARLIER;
	pair = bp_phd_sent_number(words->sent);
	if (t->part != 0) {
		share = bp_phd_ids_of(h->t->ids, h->workers, (uint16_t)(pair >> 16));
		if (share == NULL)
			return OF_EARLIER;
		pair = bp_phd_pair_at(share, pair, t->part);
	}
	return port == pair >> 16 && (c->type != BP_COAP_ACK || c->mid == (uint16_t)pair)
		       ? OF_LAST
		       : OF_EARLIER;
}

enum closed {
	CLOSED_LAST, /* this was the last open part */
	CLOSED_PART, /* other parts are still open */
	CLOSED_BEFORE,
	CLOSED_OTHER /* the session has started another report */
};

/*
 * Closes a part that is stored. Another worker may close another part at the same time, or receive
 * the next report.
 */
static enum closed close_part(const struct bp_phd_worker *h, struct bp_phd_session *s,
	const struct bp_phd_token *t, uint16_t port, const struct bp_coap *c)
{
	const uint32_t bit = 1u << t->part;
	enum report_of of;
	struct bp_phd_report_words was;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		of = report_of(h, s, t, port, c, &was);
		if (of != OF_LAST)
			return of == OF_OTHER ? CLOSED_OTHER : CLOSED_BEFORE;
		if (!(was.last & bit))
			return CLOSED_BEFORE;
		if (bp_phd_report_words_close(s, &was, bp_phd_last_open(was.last) & ~bit))
			return (bp_phd_last_open(was.last) & ~bit) == 0 ? CLOSED_LAST : CLOSED_PART;
	}
	return CLOSED_BEFORE;
}

/* Sends the response to the device, in the mbuf of the CSE, if the device waits for it. */
static rte_edge_t answer(struct turn *t, struct rte_mbuf *m, const struct bp_phd_token *token,
	uint64_t word, enum bp_m2m_outcome o)
{
	if (!token->confirmed)
		return consume(t, m, BP_C_CSE_ACKED);
	bp_answers_add(&t->answers, t->h, m, word, o);
	return GONE;
}

static rte_edge_t stored(struct turn *t, const struct heads *heads, uint32_t i,
	struct bp_phd_session *s, const struct bp_phd_token *token)
{
	const enum closed closed = close_part(t->h, s, token, heads->port[i], &heads->coap[i]);

	if (closed != CLOSED_BEFORE) {
		bp_count(t->w, BP_C_CSE_STORED, 1);
		atomic_fetch_add_explicit(&s->stored, 1, memory_order_relaxed);
	}
	switch (closed) {
	case CLOSED_BEFORE:
		return consume(t, heads->m[i], BP_C_CSE_ACK_DUPLICATE);
	case CLOSED_PART:
		return consume(t, heads->m[i], BP_C_CSE_ACKED);
	case CLOSED_OTHER:
		/* the bits are cleared, but for a report of one part the token is sufficient */
		if (!token->only)
			return consume(t, heads->m[i], BP_C_CSE_ACKED);
		break;
	case CLOSED_LAST:
		break;
	}
	return answer(t, heads->m[i], token, heads->token[i], BP_M2M_STORED);
}

/* Marks containers that do not exist any more, so that the control plane creates them again. */
static void set_stale(struct turn *t, struct bp_phd_session *s, uint64_t token)
{
	uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
	const uint16_t life = bp_phd_word_life(word);

	for (unsigned tries = 0;; tries++) {
		if (bp_phd_word_life(word) != life ||
			(bp_phd_word_flags(word) & BP_PHD_STALE) != 0 || tries == TRIES)
			return;
		if (atomic_compare_exchange_weak_explicit(&s->word, &word,
			    word | (uint64_t)BP_PHD_STALE << 8, memory_order_relaxed,
			    memory_order_relaxed))
			break;
	}
	bp_phd_event_send(t->w, BP_PHD_EVENT_STALE, token, BP_M2M_NO_TARGET);
}

static const bp_counter_t refusal[] = {
	[BP_M2M_DENIED] = BP_C_CSE_DENIED,
	[BP_M2M_NO_TARGET] = BP_C_CSE_NO_TARGET,
	[BP_M2M_BUSY] = BP_C_CSE_BUSY,
	[BP_M2M_REFUSED] = BP_C_CSE_ERROR,
};

static rte_edge_t refused(struct turn *t, const struct heads *heads, uint32_t i,
	struct bp_phd_session *s, const struct bp_phd_token *token, enum bp_m2m_outcome o)
{
	struct bp_phd_report_words was;
	const enum report_of of = report_of(t->h, s, token, heads->port[i], &heads->coap[i], &was);

	bp_count(t->w, refusal[o], 1);
	atomic_fetch_add_explicit(&s->errors, 1, memory_order_relaxed);
	if (o == BP_M2M_NO_TARGET)
		set_stale(t, s, heads->token[i]);
	/* the device would take it for the response to a later report */
	if (of == OF_EARLIER || (of == OF_LAST && !(was.last >> token->part & 1)))
		return consume(t, heads->m[i], BP_C_CSE_ACK_DUPLICATE);
	/* the repetition needs another message id, or the CSE would repeat its error */
	if (of == OF_LAST)
		bp_phd_report_words_resend(s, &was, bp_phd_sent_after_error(was.sent));
	return answer(t, heads->m[i], token, heads->token[i], o);
}

/* Sends an empty acknowledgement of a confirmable response (RFC 7252 4.2, 5.2.2). */
static void acknowledge(struct turn *t, uint16_t port, uint16_t mid)
{
	struct bp_phd_worker *h = t->h;
	struct rte_mbuf *out;
	struct bp_egress way;
	uint8_t *frame;
	const uint16_t sport = __builtin_bswap16(port);

	out = bp_egress_lookup(&t->w->router, h->plan.cse, h->cse_is_ip6, &way)
		      ? rte_pktmbuf_alloc(t->w->pool)
		      : NULL;
	if (out == NULL) { /* the CSE retransmits the response */
		bp_count(t->w, BP_C_CSE_ACK_UNSENT, 1);
		return;
	}
	frame = rte_pktmbuf_mtod(out, uint8_t *);
	memcpy(frame, h->head, h->head_len);
	memcpy(frame + h->head_len - BP_UDP_HDR, &sport, sizeof(sport));
	frame[h->head_len] = 1u << 6 | BP_COAP_ACK << 4;
	frame[h->head_len + 1] = BP_COAP_EMPTY;
	bp_put_be16(frame + h->head_len + 2, mid);
	bp_datagram_seal(frame, h->head_len, h->cse_is_ip6, BP_COAP_HEADER_LEN, 0, h->ip_sum,
		h->udp_sum + sport);
	out->data_len = (uint16_t)(h->head_len + BP_COAP_HEADER_LEN);
	out->pkt_len = out->data_len;
	bp_egress_apply(&t->w->router, &way, out);
	bp_count(t->w, BP_C_CSE_ACK_FRAME, 1);
	rte_node_enqueue_x1(t->graph, t->node, way.edge, out);
}

/* Processes a response with a token of eight bytes. */
static rte_edge_t take(struct turn *t, const struct heads *heads, uint32_t i)
{
	const struct bp_phd_tables *tables = t->h->t;
	const struct bp_coap *c = &heads->coap[i];
	struct bp_phd_session *s;
	struct bp_phd_token token;
	struct bp_m2m_reply reply;
	enum bp_m2m_outcome o;
	uint64_t word;

	if (!bp_phd_token_open(heads->token[i], &token) || token.slot >= tables->n_slots)
		return bp_drop(heads->m[i], BP_C_DROP_CSE_UNKNOWN_TOKEN);
	s = &tables->sessions[token.slot];
	word = atomic_load_explicit(&s->word, memory_order_acquire);
	if (bp_phd_word_state(word) == BP_PHD_FREE ||
		!bp_phd_token_true(heads->token[i], bp_phd_word_life(word), tables->hash_key))
		return bp_drop(heads->m[i], BP_C_DROP_CSE_UNKNOWN_TOKEN);
	if (c->type == BP_COAP_CON)
		acknowledge(t, heads->port[i], c->mid);
	bp_m2m_reply_read(c, (enum bp_m2m_release)t->h->plan.release, &reply);
	o = bp_m2m_outcome(&reply, t->h->plan.named);
	return o == BP_M2M_STORED ? stored(t, heads, i, s, &token)
				  : refused(t, heads, i, s, &token, o);
}

/*
 * Reads a datagram. True: it is a response, and is added to `heads`. False: *edge is its edge, or
 * GONE.
 */
static bool read_one(
	struct turn *t, struct rte_mbuf *m, struct heads *heads, uint32_t at, rte_edge_t *edge)
{
	struct bp_datagram d;
	struct bp_coap *c = &heads->coap[at];

	*edge = BP_EDGE_DROP;
	if (unlikely(!bp_datagram_read(m, &d))) {
		bp_drop(m, BP_C_DROP_CSE_CHECKSUM);
		return false;
	}
	if (unlikely(bp_coap_read(d.payload, d.len, c) != BP_COAP_OK)) {
		bp_drop(m, BP_C_DROP_CSE_MALFORMED);
		return false;
	}
	if (unlikely(c->type == BP_COAP_RST)) {
		*edge = consume(t, m, BP_C_CSE_RESET);
		return false;
	}
	if (unlikely(c->code == BP_COAP_EMPTY && c->type == BP_COAP_ACK)) {
		*edge = consume(t, m, BP_C_CSE_ACK_EMPTY);
		return false;
	}
	if (unlikely(!BP_COAP_IS_RESPONSE(c->code) || c->token_len != BP_PHD_TOKEN_LEN)) {
		bp_drop(m, BP_COAP_IS_RESPONSE(c->code) ? BP_C_DROP_CSE_UNKNOWN_TOKEN
							: BP_C_DROP_CSE_MALFORMED);
		return false;
	}
	heads->m[at] = m;
	heads->token[at] = bp_phd_token_load(c->token);
	heads->port[at] = bp_datagram_dport(&d);
	return true;
}

static void take_step(struct turn *t, struct rte_mbuf **m, uint32_t n)
{
	const struct bp_phd_tables *tables = t->h->t;
	struct bp_phd_token token;
	struct heads heads;
	uint32_t left = 0;
	rte_edge_t edge;

	for (uint32_t i = 0; i < n; i++) {
		if (unlikely(!read_one(t, m[i], &heads, left, &edge))) {
			if (edge != GONE)
				rte_node_enqueue_x1(t->graph, t->node, edge, m[i]);
			continue;
		}
		bp_phd_token_open(heads.token[left], &token);
		if (likely(token.slot < tables->n_slots))
			__builtin_prefetch(&tables->sessions[token.slot], 1);
		left++;
	}
	for (uint32_t i = 0; i < left; i++) {
		edge = take(t, &heads, i);
		if (unlikely(edge != GONE))
			rte_node_enqueue_x1(t->graph, t->node, edge, heads.m[i]);
	}
	bp_answers_send(t->graph, t->node, t->w, &t->answers);
}

static uint16_t cse_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct turn t = {
		.graph = graph, .node = node, .w = w, .h = bp_phd_worker_of(w), .answers.n = 0};

	bp_lcl_consume(w, (struct rte_mbuf *const *)objs, nb_objs);
	for (uint32_t i = 0; i < nb_objs; i += STEP)
		take_step(&t, (struct rte_mbuf **)objs + i, RTE_MIN(nb_objs - i, STEP));
	return nb_objs;
}

struct rte_node_register bp_node_cse = {
	.name = "bp_cse",
	.process = cse_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_cse, BP_EDGE_DROP, BP_NEXT_INTERFACE)
