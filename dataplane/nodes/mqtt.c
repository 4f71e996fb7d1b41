/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the segments that node ethernet chose and forwards every one of them unchanged. What the
 * reading leads to leaves by other ways: alarms through the ring, clones through the edge port.
 */
#include <rte_ethdev.h>

#include "dataplane/mqtt/clone_frame.h"
#include "dataplane/mqtt/fast.h"
#include "dataplane/mqtt/inspect.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/tcp_hint.h"

/* Frames whose lookups are under way at one time: enough to cover a miss, few enough for L1. */
#define BATCH 64
#define PIECES_MAX 8

static bool send_clone(void *arg, const struct bp_clone_request *r)
{
	struct bp_worker *w = arg;
	const struct bp_clone_target *to = &w->rules->clone;
	enum bp_clone_result result;
	struct rte_mbuf *m;
	uint32_t size;
	uint16_t mtu = 0;
	uint8_t *out;

	if (!to->enabled || rte_eth_dev_get_mtu(to->port, &mtu) != 0) {
		bp_count(w, BP_C_CLONE_NO_EDGE, 1);
		return false;
	}
	size = bp_clone_frame_size(r, to, mtu, &result);
	if (size == 0) {
		bp_count(w, result == BP_CLONE_E_FAMILY ? BP_C_CLONE_FAMILY : BP_C_CLONE_TOO_LARGE,
			1);
		return false;
	}
	m = rte_pktmbuf_alloc(w->pool);
	if (m == NULL) {
		bp_count(w, BP_C_CLONE_NO_MBUF, 1);
		return false;
	}
	out = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)size);
	if (out == NULL) {
		rte_pktmbuf_free(m);
		bp_count(w, BP_C_CLONE_TOO_LARGE, 1);
		return false;
	}
	bp_clone_frame_build(r, to, out, size);
	bp_count(w, BP_C_CLONE_FRAME, 1);
	rte_node_enqueue_x1(w->graph, w->mqtt_node, (rte_edge_t)(BP_EDGE_PORT + to->port), m);
	return true;
}

/*
 * Whether the checksums are right. A segment that its receiver will throw away must not be read: it
 * will be sent again, and perhaps with other bytes.
 */
enum verdict { SUM_GOOD, SUM_BAD, SUM_UNKNOWN };

static inline enum verdict driver_says(
	const struct bp_worker *w, const struct rte_mbuf *m, bool ip6)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;

	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD || ip == RTE_MBUF_F_RX_IP_CKSUM_BAD)
		return SUM_BAD;
	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD && (ip6 || ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD))
		return SUM_GOOD;
	/* NONE: a local sender's data that never was on a wire */
	return w->trust_checksum || l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE ? SUM_GOOD : SUM_UNKNOWN;
}

/* A jumbo frame lies in several mbufs: its payload is read piece by piece. */
static __rte_noinline bool gather(
	const struct rte_mbuf *m, struct bp_frame *f, struct bp_piece *piece)
{
	uint32_t here = f->contiguous - f->payload;
	uint32_t left = f->payload_len > here ? f->payload_len - here : 0;

	for (const struct rte_mbuf *s = m->next; s != NULL && left != 0; s = s->next) {
		if (f->n_more == PIECES_MAX)
			return false;
		piece[f->n_more].data = rte_pktmbuf_mtod(s, const uint8_t *);
		piece[f->n_more].len = s->data_len < left ? s->data_len : left;
		left -= piece[f->n_more].len;
		f->n_more++;
	}
	f->more = piece;
	return left == 0;
}

/* Any frame, from the beginning. */
static __rte_noinline void read_any(struct bp_worker *w, const struct rte_mbuf *m)
{
	struct bp_piece piece[PIECES_MAX];
	struct bp_frame f;
	struct bp_lookup l;
	enum verdict sum;

	bp_hint_get(m, &f);
	if (m->nb_segs != 1 && !gather(m, &f, piece)) {
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return;
	}
	sum = driver_says(w, m, f.ip6);
	if (sum == SUM_BAD || (sum == SUM_UNKNOWN && !bp_frame_checksum_ok(&f))) {
		bp_count(w, BP_C_SEG_BAD_CHECKSUM, 1);
		return;
	}
	bp_inspect_hash(w->inspector, &f, &l);
	bp_inspect_probe(w->inspector, &f, &l);
	bp_inspect_segment(w->inspector, &f, &l);
}

static inline bool read_plain(struct bp_worker *w, const struct rte_mbuf *m,
	const struct bp_lookup *l, struct bp_fast_tally *tally)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t total = bp_be16(frame + BP_FAST_L3 + 2);
	enum verdict sum = driver_says(w, m, false);

	if (unlikely(sum != SUM_GOOD) && (sum == SUM_BAD || !bp_fast_checksum_ok(frame, total)))
		return false;
	return bp_fast_segment(w->inspector, frame, total, l, tally);
}

static inline void hash_one(struct bp_worker *w, const struct rte_mbuf *m, struct bp_lookup *l)
{
	uint32_t hint = m->hash.fdir.hi;
	struct bp_frame f;

	if (likely(hint & BP_HINT_PLAIN)) {
		bp_fast_hash(w->inspector, rte_pktmbuf_mtod(m, const uint8_t *),
			hint & BP_HINT_TO_BROKER, l);
		return;
	}
	bp_hint_get(m, &f);
	bp_inspect_hash(w->inspector, &f, l);
}

static void read_batch(struct bp_worker *w, struct rte_mbuf **m, uint16_t n)
{
	const uint32_t fast = BP_HINT_PLAIN | BP_HINT_TO_BROKER;
	struct bp_lookup l[BATCH];
	struct bp_fast_tally tally = {0, 0};

	for (uint16_t i = 0; i < n; i++)
		hash_one(w, m[i], &l[i]);
	for (uint16_t i = 0; i < n; i++)
		bp_fast_probe(w->inspector, &l[i]);
	for (uint16_t i = 0; i < n; i++) {
		if (unlikely((m[i]->hash.fdir.hi & fast) != fast ||
			     !read_plain(w, m[i], &l[i], &tally)))
			read_any(w, m[i]);
	}
	bp_fast_flush(w->inspector, &tally);
}

static uint16_t mqtt_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	rte_edge_t run;
	uint16_t begin = 0;

	if (unlikely(w->mqtt_node != node)) {
		w->mqtt_node = node;
		bp_inspector_set_clone(w->inspector, send_clone, w);
	}
	bp_inspector_begin(w->inspector, w->rules, w->now_ns, w->mono_ns);
	for (uint16_t i = 0; i < nb_objs; i = (uint16_t)(i + BATCH))
		read_batch(w, m + i, RTE_MIN((uint16_t)(nb_objs - i), (uint16_t)BATCH));

	run = bp_forward_edge(w, m[0]->port);
	for (uint16_t i = 1; i < nb_objs; i++) {
		rte_edge_t edge = bp_forward_edge(w, m[i]->port);

		if (unlikely(edge != run)) {
			rte_node_enqueue(graph, node, run, &objs[begin], (uint16_t)(i - begin));
			begin = i;
			run = edge;
		}
	}
	if (likely(begin == 0))
		rte_node_next_stream_move(graph, node, run);
	else
		rte_node_enqueue(graph, node, run, &objs[begin], (uint16_t)(nb_objs - begin));
	return nb_objs;
}

struct rte_node_register bp_node_mqtt = {
	.name = "bp_mqtt",
	.process = mqtt_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_mqtt)
