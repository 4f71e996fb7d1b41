/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First for every frame where section lcl is: takes labels off, so that whatever follows sees the
 * frame as it was sent at first. A label of a port that is trusted stays with the frame, beside it
 * (dataplane/lcl/label.h); any other makes it best effort, and is counted.
 */
#include "dataplane/lcl/lcl.h"
#include "dataplane/lcl/straight.h"
#include "dataplane/nodes/edge_run.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"

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

/* Puts the copy in the frame's place. False: there was no mbuf for one. */
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

/* Sees to it that a label, as far as there is one, lies in the frame's first buffer. False: there
 * was no mbuf for that. */
static inline bool gather_label(struct bp_worker *w, struct rte_mbuf **m)
{
	return likely((*m)->data_len >= BP_LCL_FRAME_MIN) || gather(w, m);
}

/* Takes off what hides behind a label: then none of them is believed. False: there was no mbuf. */
static __rte_noinline bool strip_nested(struct bp_worker *w, struct rte_mbuf **m)
{
	const uint16_t type = rte_cpu_to_be_16(w->lcl->ethertype);

	(*m)->ol_flags &= ~w->lcl->field.flag;
	while (has_label(*m, type) && (*m)->data_len >= BP_LCL_FRAME_MIN) {
		bp_lcl_strip(*m);
		bp_count(w, BP_C_LCL_BAD_NESTED, 1);
		if (!gather_label(w, m))
			return false;
	}
	return true;
}

/* A frame with our EtherType. False: it could not be changed for want of an mbuf. */
static bool take_off(struct bp_worker *w, struct rte_mbuf **m)
{
	const struct bp_lcl *l = w->lcl;
	struct bp_lcl_label label;
	enum bp_lcl_verdict verdict;

	verdict = bp_lcl_read(
		rte_pktmbuf_mtod(*m, const uint8_t *), (*m)->data_len, l->ethertype, &label);
	if (unlikely(verdict == BP_LCL_TRUNCATED)) { /* there is no frame behind it */
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
	if (unlikely(!gather_label(w, m)))
		return false;
	return likely(!has_label(*m, rte_cpu_to_be_16(l->ethertype))) || strip_nested(w, m);
}

/* Takes a frame's label off, if it has one. False: that takes an mbuf, and there is none. */
static inline bool look_at(struct bp_worker *w, struct rte_mbuf **m, uint16_t type)
{
	const uint64_t flag = w->lcl->field.flag;

	/* some drivers leave flags as they were when the mbuf was another frame's */
	if (unlikely((*m)->ol_flags & flag))
		(*m)->ol_flags &= ~flag;
	if (unlikely(!gather_label(w, m)))
		return false;
	return !has_label(*m, type) || take_off(w, m);
}

static uint16_t lcl_in_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	const uint16_t type = rte_cpu_to_be_16(w->lcl->ethertype);
	struct bp_edge_run run = bp_edge_run_begin(BP_EDGE_DROP);
	const uint16_t came = nb_objs;

	nb_objs = (uint16_t)bp_lcl_go_straight(w->lcl, (struct rte_mbuf **)objs, nb_objs);
	if (nb_objs == 0)
		return came;
	node->idx = nb_objs; /* which the frames that go on are moved by */
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		const bool done = look_at(w, &m, type);
		rte_edge_t edge;

		objs[i] = m;
		edge = likely(done) ? w->lcl->after[m->port] : bp_drop(m, BP_C_DROP_LCL_NO_MBUF);
		bp_edge_run_add(&run, graph, node, objs, i, edge);
	}
	bp_edge_run_end(&run, graph, node, objs, nb_objs);
	return came;
}

struct rte_node_register bp_node_lcl_in = {
	.name = "bp_lcl_in",
	.process = lcl_in_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_lcl_in)
