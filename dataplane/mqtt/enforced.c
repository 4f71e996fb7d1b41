/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/enforced.h"

#include <rte_graph_worker.h>

#include "dataplane/mqtt/reading.h"
#include "services/mqtt/enforce.h"
#include "services/mqtt/inspect.h"

/* What becomes of frames is decided in services/mqtt/enforce.c; here it is done. */

struct batch {
	struct bp_worker *w;
	struct rte_graph *graph;
	struct rte_node *node;
	struct rte_mbuf **all;
	uint32_t enqueued; /* of all frames */
	uint32_t done;     /* of the burst: those that were kept, or took the general path */
	struct bp_reading r;
};

/* An answer to the frame of `m`, which is still whole: it leaves where the frame does, or where it
 * came from. */
static struct rte_mbuf *build_answer(const struct batch *b, const struct rte_mbuf *m,
	const struct bp_frame *f, const struct bp_answer *a)
{
	const uint32_t size = bp_answer_frame_size(f, a);
	struct rte_mbuf *out = size != 0 ? rte_pktmbuf_alloc(b->w->pool) : NULL;
	uint8_t *p = NULL;

	if (out != NULL)
		p = (uint8_t *)rte_pktmbuf_append(out, (uint16_t)size);
	if (p == NULL) {
		rte_pktmbuf_free(out);
		bp_count(b->w, BP_C_POLICY_NO_ANSWER, 1);
		return NULL;
	}
	bp_answer_frame_build(f, a, p);
	out->port = m->port;
	bp_count(b->w, BP_C_POLICY_ANSWER, 1);
	return out;
}

/* The first `len` bytes of `data` are the frame; it is not longer than before. */
static __rte_noinline void scatter(struct rte_mbuf *m, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *s = m;

	m->pkt_len = len;
	for (m->nb_segs = 1;; m->nb_segs++, s = s->next) {
		s->data_len = (uint16_t)RTE_MIN(len, (uint32_t)s->data_len);
		memcpy(rte_pktmbuf_mtod(s, uint8_t *), data, s->data_len);
		data += s->data_len;
		len -= s->data_len;
		if (len == 0)
			break;
	}
	rte_pktmbuf_free(s->next);
	s->next = NULL;
}

/* Its bytes were changed, and `len` of them are left. `data`: the bytes of the frame; those of `m`,
 * where it is in one buffer. */
static void set_bytes(struct rte_mbuf *m, uint8_t *data, uint32_t len)
{
	if (m->nb_segs != 1)
		scatter(m, data, len);
	else if (len < m->pkt_len)
		rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - len));
	/* no longer those that the driver has verified, and a partial checksum is complete */
	m->ol_flags &= ~(
		RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_TX_L4_MASK);
}

static void rewrite(
	struct rte_mbuf *m, const struct bp_frame *f, const struct bp_enforced *e, uint8_t *data)
{
	if (e->verdict == BP_FRAME_CUT)
		set_bytes(m, data, bp_frame_cut(data, f, e->keep));
	else if (e->changed)
		set_bytes(m, data, bp_frame_changed(data, f));
}

/* Frames whose topics the burst path has overwritten. */
static __rte_noinline void rewrite_changed(struct batch *b)
{
	struct bp_mqtt_burst *burst = &b->r.b;

	for (; burst->changed != 0; burst->changed &= burst->changed - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(burst->changed);
		struct rte_mbuf *m = b->r.m[i];
		uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);

		bp_hinted_frame(b->w, m, &burst->parsed[i]);
		set_bytes(m, data, bp_frame_changed(data, &burst->parsed[i]));
	}
}

static void drop(const struct batch *b, struct rte_mbuf *m, bp_counter_t reason)
{
	rte_node_enqueue_x1(b->graph, b->node, bp_drop(m, reason), m);
}

/* Enqueues the frames before `end` that were not enqueued yet. */
static void enqueue(struct batch *b, uint32_t end)
{
	if (b->enqueued != end)
		bp_forward_runs(b->graph, b->node, b->w, (void **)b->all + b->enqueued,
			(uint16_t)(end - b->enqueued));
	b->enqueued = end;
}

/* Frames [from, to) of the burst, of which some are not forwarded. */
static __rte_noinline void forward_some(
	struct batch *b, uint32_t from, uint32_t to, uint64_t without_room)
{
	struct rte_mbuf **m = b->r.m;

	enqueue(b, (uint32_t)(m + from - b->all));
	for (uint32_t i = from; i < to; i++) {
		if (without_room >> i & 1)
			drop(b, m[i], BP_C_DROP_POLICY_MEMORY);
		else
			rte_node_enqueue_x1(
				b->graph, b->node, bp_forward_edge(b->w, m[i]->port), m[i]);
	}
	b->enqueued += to - from;
}

/* Frames of the burst path up to `end`, each of which is a PUBLISH that is forwarded. */
static void keep_forwarded(struct batch *b, uint32_t end)
{
	uint64_t without_room;

	if (b->done == end)
		return;
	without_room = bp_enforce_allowed(bp_mqtt_worker_of(b->w), &b->r.b, b->done, end);
	if (unlikely(b->r.b.changed != 0))
		rewrite_changed(b);
	if (unlikely(without_room != 0))
		forward_some(b, b->done, end, without_room);
	b->done = end;
}

/* A frame that is dropped or answered: not one of a run. */
static __rte_noinline void apply(
	struct batch *b, uint32_t i, const struct bp_enforced *e, uint8_t *data)
{
	struct rte_mbuf *m = b->r.m[i];
	const struct bp_frame *f = &b->r.b.parsed[i];
	const rte_edge_t onward = bp_forward_edge(b->w, m->port);
	const rte_edge_t back = (rte_edge_t)(BP_EDGE_PORT + m->port);
	struct rte_mbuf *answer[BP_ANSWERS_MAX];

	enqueue(b, (uint32_t)(&b->r.m[i] - b->all));
	b->enqueued++;
	for (unsigned k = 0; k < e->n_answers; k++)
		answer[k] = build_answer(b, m, f, &e->answer[k]);
	if (e->verdict == BP_FRAME_DROP) {
		drop(b, m, e->reason);
	} else {
		rewrite(m, f, e, data);
		rte_node_enqueue_x1(b->graph, b->node, onward, m);
	}
	/* behind the frame: their numbers are those behind its bytes */
	for (unsigned k = 0; k < e->n_answers; k++)
		if (answer[k] != NULL)
			rte_node_enqueue_x1(b->graph, b->node,
				e->answer[k].to_client == f->to_broker ? back : onward, answer[k]);
}

/* Decides about frame i, which was parsed; `data`: its bytes, writable and contiguous, or NULL. */
static void decide(struct batch *b, uint32_t i, uint8_t *data)
{
	struct bp_frame *f = &b->r.b.parsed[i];
	struct bp_enforced e = {.verdict = BP_FRAME_DROP, .reason = BP_C_DROP_POLICY_NOT_READ};
	struct bp_piece piece[BP_PIECES_MAX];

	if (bp_segment_frame(b->w, b->r.m[i], f, piece))
		bp_inspect_enforce(bp_mqtt_worker_of(b->w), f, &b->r.b.l[i],
			data != NULL ? data + f->payload : NULL, &e);
	if (e.verdict == BP_FRAME_DROP || e.n_answers != 0)
		apply(b, i, &e, data);
	else
		rewrite(b->r.m[i], f, &e, data);
}

/* Whether its bytes may be written. */
static bool is_own(const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next)
		if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m))
			return false;
	return true;
}

/* Bytes of a frame in several buffers, at most. Jumbo frames have up to about 9,000. */
#define WHOLE_MAX 16384u

/* A frame in several buffers, which is decided about in one. */
static __rte_noinline void enforce_pieces(struct batch *b, uint32_t i)
{
	struct bp_frame *f = &b->r.b.parsed[i];
	struct rte_mbuf *m = b->r.m[i];
	uint8_t whole[WHOLE_MAX];
	const void *p;

	bp_hinted_frame(b->r.w, m, f);
	if (!is_own(m) || m->pkt_len > sizeof(whole)) {
		decide(b, i, NULL);
		return;
	}
	p = rte_pktmbuf_read(m, 0, m->pkt_len, whole);
	if (p == NULL) {
		decide(b, i, NULL);
		return;
	}
	if (p != whole) /* the first buffer has all of it */
		memcpy(whole, p, m->pkt_len);
	f->data = whole;
	f->contiguous = m->pkt_len;
	decide(b, i, whole);
}

/* A frame on the general path. */
static void enforce(void *arg, uint32_t i)
{
	struct batch *b = arg;
	struct rte_mbuf *m = b->r.m[i];

	keep_forwarded(b, i);
	b->done = i + 1;
	if (unlikely(m->nb_segs != 1)) {
		enforce_pieces(b, i);
		return;
	}
	if (b->r.b.kind[i] != BP_BURST_PARSED)
		bp_hinted_frame(b->r.w, m, &b->r.b.parsed[i]);
	decide(b, i, rte_mbuf_refcnt_read(m) == 1 ? rte_pktmbuf_mtod(m, uint8_t *) : NULL);
}

/* Of a burst whose first mbuf and differences to it are these: whether each frame has one holder,
 * and is in one buffer. */
static uint64_t writable(const struct rte_mbuf *first, uint64_t differ)
{
	const uint32_t others =
		(uint32_t)(bp_mbuf_rearm(first) >> 16) ^ BP_MBUF_ONE_HOLDER_ONE_PIECE;

	return (others | (uint32_t)(differ >> 16)) == 0 ? UINT64_MAX : 0;
}

void bp_mqtt_enforce_frames(struct bp_worker *w, struct rte_graph *graph, struct rte_node *node,
	struct rte_mbuf **m, uint16_t n)
{
	uint64_t differ = 0, in_burst;
	struct batch b;

	b.w = w;
	b.graph = graph;
	b.node = node;
	b.all = m;
	b.enqueued = 0;
	for (uint16_t i = 0; i < n; i = (uint16_t)(i + BP_MQTT_BURST)) {
		const uint16_t some = RTE_MIN((uint16_t)(n - i), (uint16_t)BP_MQTT_BURST);

		b.done = 0;
		differ |= bp_mbuf_rearm(m[i]) ^ bp_mbuf_rearm(m[0]);
		in_burst = bp_reading_begin(&b.r, w, m + i, some);
		differ |= in_burst;
		b.r.b.writable = writable(m[i], in_burst);
		bp_mqtt_burst_read(bp_mqtt_worker_of(w), &b.r.b, enforce, &b);
		keep_forwarded(&b, some);
	}
	if (b.enqueued == 0 && differ >> BP_MBUF_REARM_PORT == 0)
		rte_node_next_stream_move(graph, node, bp_forward_edge(w, m[0]->port));
	else
		enqueue(&b, n);
}
