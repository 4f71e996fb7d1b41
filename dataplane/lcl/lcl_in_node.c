/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first node for every frame if section lcl is configured. It removes labels, so that the
 * following nodes see the original frame. A label from a trusted port is kept in the mbuf (struct
 * bp_lcl_mark). A frame with any other label becomes best effort and is counted.
 */
#include "biplane/counters/lcl.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/lcl/measure.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/port_send.h"
#include "proto/net/frame.h"

/* ---- labels that stay in place ---- */

#define BATCH 64u
_Static_assert(BATCH % 8 == 0 && BP_LCL_PUT_OK == 0, "verdicts are looked at eight at a time");
/*
 * Prefetch distance, frames. Drivers copy frames, and a burst is as large as the first-level cache.
 */
#define AHEAD 4u

/* Frames that are put into the scheduler together. */
struct batch {
	struct bp_lcl_out *out; /* NULL: frames of this port take the general path */
	uint64_t in_ns;
	uint32_t most;  /* maximum frame length of the port, bytes */
	uint64_t begin; /* first bytes of a valid label: EtherType and version */
	unsigned n;
	struct bp_lcl_arrival arrival[BATCH];
};

/*
 * The LCL port to which the frames of a port go without another node in between; NULL: there is
 * none, or another worker owns it.
 */
static struct bp_lcl_out *direct_output(const struct bp_lcl *l, uint16_t port)
{
	const unsigned edge = l->after[port];
	struct bp_lcl_out *o;

	if (!l->trust[port] || edge < BP_EDGE_PORT)
		return NULL;
	o = l->of[edge - BP_EDGE_PORT];
	return o && o->scheduler ? o : NULL;
}

static void put_batch(struct batch *b)
{
	struct bp_lcl_out *o = b->out;
	uint8_t put[BATCH];

	if (b->n == 0)
		return;
	bp_lcl_put_burst(o->scheduler, o->lcl->now_ns, b->arrival, b->n, put);
	memset(put + b->n, BP_LCL_PUT_OK, RTE_ALIGN_CEIL(b->n, 8u) - b->n);
	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->arrival[i].frame;
		uint64_t eight;

		if (i % 8 == 0) { /* often no frame has anything to count */
			memcpy(&eight, put + i, sizeof(eight));
			if (eight == 0) {
				i += 7;
				continue;
			}
		}
		if (put[i] == BP_LCL_PUT_OK)
			continue;
		bp_lcl_count_put(o, &o->row[m->hash.fdir.lo], (enum bp_lcl_put)put[i]);
		if (unlikely(put[i] == BP_LCL_PUT_FULL))
			bp_port_drop(
				o->lcl->worker, o->port, BP_C_DROP_LCL_SLOT_QUEUES_FULL, &m, 1);
	}
	b->n = 0;
}

static void switch_port(struct batch *b, struct bp_lcl *l, uint16_t port)
{
	put_batch(b);
	b->out = direct_output(l, port);
	if (b->out)
		b->most = bp_lcl_frame_most(b->out);
}

/*
 * A label and the following EtherType as two integers: EtherType, version, n, d; then flow,
 * sequence number, following EtherType.
 */
struct words {
	uint64_t a, b;
};

static inline struct words read_words(const struct rte_mbuf *m)
{
	const uint8_t *at = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT);
	struct words v;

	memcpy(&v.a, at, sizeof(v.a));
	memcpy(&v.b, at + sizeof(v.a), sizeof(v.b));
	return (struct words){rte_be_to_cpu_64(v.a), rte_be_to_cpu_64(v.b)};
}

/* True also for a frame whose headers are in several buffers. */
static inline bool may_be_labelled(const struct rte_mbuf *m, uint16_t ethertype)
{
	if (unlikely(m->data_len < BP_LCL_FRAME_MIN && m->nb_segs > 1))
		return true;
	return m->data_len >= BP_LCL_AT + sizeof(uint16_t) &&
	       bp_be16(rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT)) == ethertype;
}

/*
 * Whether a frame has a valid label that it keeps, no second label behind it, and may be modified.
 */
static inline bool has_kept_label(const struct batch *b, const struct rte_mbuf *m, struct words *v)
{
	uint8_t n;
	int32_t d;

	if (unlikely(m->data_len < BP_LCL_FRAME_MIN || m->pkt_len > b->most))
		return false;
	*v = read_words(m);
	n = (uint8_t)(v->a >> 32);
	d = (int32_t)v->a;
	return v->a >> 40 == b->begin && (uint8_t)(n - 2) <= BP_LCL_HOPS_MAX - 2 &&
	       (uint32_t)d + BP_LCL_DELAY_MAX_NS <= 2u * BP_LCL_DELAY_MAX_NS &&
	       (uint16_t)v->b != (uint16_t)(b->begin >> 8) && bp_lcl_is_writable(m);
}

static inline void add(
	struct batch *b, struct bp_lcl_out *o, struct rte_mbuf *m, const struct words *v)
{
	const uint16_t flow = (uint16_t)(v->b >> 48);
	const uint8_t n = (uint8_t)(v->a >> 32);
	struct bp_lcl_row *r = bp_lcl_row_of(o, flow);
	struct bp_lcl_followed *f = &o->followed[flow];

	if (likely(f->row != 0)) /* not for the row that several flows share */
		bp_lcl_measure_sequence(r, (uint32_t)(v->b >> 16));
	bp_lcl_measure_last(r, false);
	m->hash.fdir.lo = f->row;
	*rte_pktmbuf_mtod_offset(m, uint8_t *, BP_LCL_AT + 3) = (uint8_t)(n - 1);
	b->arrival[b->n++] = (struct bp_lcl_arrival){.frame = m,
		.in_ns = b->in_ns,
		.d = (int32_t)v->a,
		.bytes = m->pkt_len,
		.n = n,
		.last_slot = &f->last_slot};
	if (unlikely(b->n == BATCH))
		put_batch(b);
}

/*
 * The fast path for frames with a valid label that go from a port with trusted labels to an LCL
 * port of the same worker, as in a two-port bridge with no other node in between. They keep their
 * label in place, with n decremented, and are put into the scheduler together. The result is the
 * same as on the general path, which strips the label, keeps it in the mbuf and inserts it again.
 * The function removes such frames from m[0..n), which node lcl_in received, and returns the number
 * of frames that remain for the general path, in order. After the first labelled frame that needs
 * the general path, all frames take it, so that no frame overtakes another of its flow.
 */
static unsigned forward_labelled(struct bp_lcl *l, struct rte_mbuf **m, unsigned n)
{
	struct batch b;                /* its arrays are large and are not cleared */
	struct bp_lcl_out *out = NULL; /* as in b, until a frame needs the general path */
	uint32_t port = UINT32_MAX;
	bool behind = false; /* a frame before this one needs the general path */
	unsigned left = 0;

	b.in_ns = RTE_MIN(l->worker->mono_ns, l->now_ns);
	b.begin = (uint64_t)l->ethertype << 8 | BP_LCL_VERSION;
	b.out = NULL;
	b.n = 0;
	for (unsigned i = 0; i < n; i++) {
		struct words v;

		rte_prefetch0(rte_pktmbuf_mtod(m[RTE_MIN(i + AHEAD, n - 1)], void *));
		if (unlikely(m[i]->port != port)) {
			port = m[i]->port;
			switch_port(&b, l, m[i]->port);
			out = behind ? NULL : b.out;
		}
		if (out && likely(has_kept_label(&b, m[i], &v))) {
			add(&b, out, m[i], &v);
			continue;
		}
		if (out && may_be_labelled(m[i], l->ethertype)) {
			behind = true;
			out = NULL;
		}
		m[left++] = m[i];
	}
	put_batch(&b);
	return left;
}

/* ---- labels that are stripped ---- */

_Static_assert(BP_C_LCL_BAD_DELAY == BP_C_LCL_BAD_TRUNCATED + BP_LCL_BAD_DELAY - BP_LCL_TRUNCATED,
	"a counter for each verdict");

static inline bool has_label(const struct rte_mbuf *m, uint16_t ethertype_be)
{
	uint16_t type;

	if (unlikely(m->data_len < BP_LCL_AT + sizeof(type)))
		return false;
	memcpy(&type, rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT), sizeof(type));
	return type == ethertype_be;
}

static void note(const struct bp_lcl *l, struct rte_mbuf *m, const struct bp_lcl_label *label)
{
	*bp_lcl_mark_of(&l->field, m) = (struct bp_lcl_mark){
		.d = label->d, .sequence = label->sequence, .flow = label->flow, .n = label->n};
	m->ol_flags |= l->field.flag;
}

/* Replaces the frame by the copy. False: there was no mbuf for a copy. */
static bool replace(struct rte_mbuf **m, struct rte_mbuf *copy)
{
	if (unlikely(!copy))
		return false;
	rte_pktmbuf_free(*m);
	*m = copy;
	return true;
}

static __rte_noinline bool gather(struct bp_worker *w, struct rte_mbuf **m)
{
	return (*m)->nb_segs == 1 || replace(m, rte_pktmbuf_copy(*m, w->pool, 0, UINT32_MAX));
}

/* Ensures that the label, if any, is in the first buffer of the frame. False: no mbuf. */
static inline bool collect_labelled(struct bp_worker *w, struct rte_mbuf **m)
{
	return likely((*m)->data_len >= BP_LCL_FRAME_MIN) || gather(w, m);
}

/* Removes nested labels. None of them is trusted then. False: no mbuf. */
static __rte_noinline bool strip_nested(struct bp_worker *w, struct rte_mbuf **m)
{
	const struct bp_lcl *l = bp_lcl_of(w);
	const uint16_t type = rte_cpu_to_be_16(l->ethertype);

	(*m)->ol_flags &= ~l->field.flag;
	while (has_label(*m, type) && (*m)->data_len >= BP_LCL_FRAME_MIN) {
		bp_lcl_strip(*m);
		bp_count(w, BP_C_LCL_BAD_NESTED, 1);
		if (!collect_labelled(w, m))
			return false;
	}
	return true;
}

/*
 * Handles a frame with the EtherType of LCL. False: the frame could not be modified because there
 * was no mbuf.
 */
static bool strip_one(struct bp_worker *w, struct rte_mbuf **m)
{
	const struct bp_lcl *l = bp_lcl_of(w);
	struct bp_lcl_label label;
	enum bp_lcl_verdict verdict;

	verdict = bp_lcl_read(
		rte_pktmbuf_mtod(*m, const uint8_t *), (*m)->data_len, l->ethertype, &label);
	if (unlikely(verdict == BP_LCL_TRUNCATED)) { /* no frame follows the label */
		bp_count(w, BP_C_LCL_BAD_TRUNCATED, 1);
		return true;
	}
	if (unlikely(!bp_lcl_is_writable(*m)) &&
		!replace(m, rte_pktmbuf_copy(*m, w->pool, 0, UINT32_MAX)))
		return false;
	bp_lcl_strip(*m);
	if (unlikely(!l->trust[(*m)->port]))
		bp_count(w, BP_C_LCL_UNTRUSTED, 1);
	else if (unlikely(verdict != BP_LCL_GOOD))
		bp_count(w, BP_C_LCL_BAD_TRUNCATED + verdict - BP_LCL_TRUNCATED, 1);
	else
		note(l, *m, &label);
	if (unlikely(!collect_labelled(w, m)))
		return false;
	return likely(!has_label(*m, rte_cpu_to_be_16(l->ethertype))) || strip_nested(w, m);
}

/* Removes the label of a frame, if it has one. False: no mbuf. */
static inline bool strip_label(struct bp_worker *w, struct rte_mbuf **m, uint16_t type)
{
	const uint64_t flag = bp_lcl_of(w)->field.flag;

	/* some drivers do not clear the flags of a recycled mbuf */
	if (unlikely((*m)->ol_flags & flag))
		(*m)->ol_flags &= ~flag;
	if (unlikely(!collect_labelled(w, m)))
		return false;
	return !has_label(*m, type) || strip_one(w, m);
}

static uint16_t lcl_in_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_lcl *l = bp_lcl_of(w);
	const uint16_t type = rte_cpu_to_be_16(l->ethertype);
	const uint16_t in_known = nb_objs;
	struct bp_edge_batch out;

	nb_objs = (uint16_t)forward_labelled(l, (struct rte_mbuf **)objs, nb_objs);
	if (nb_objs == 0)
		return in_known;
	bp_edge_batch_begin(&out, w, graph, node, objs, nb_objs, BP_EDGE_DROP);
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		const bool done = strip_label(w, &m, type);
		rte_edge_t edge;

		edge = likely(done) ? l->after[m->port] : bp_drop(m, BP_C_DROP_LCL_NO_MBUF);
		bp_edge_batch_add(&out, edge, m);
	}
	bp_edge_batch_end(&out);
	return in_known;
}

struct rte_node_register bp_node_lcl_in = {
	.name = "bp_lcl_in",
	.process = lcl_in_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_lcl_in, BP_EDGE_DROP, BP_NEXT_PATH)
