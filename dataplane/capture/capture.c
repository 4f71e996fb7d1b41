/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/capture/trace.h"
#include "dataplane/dpdk_compat.h"
#include "dataplane/nodes/nodes.h"

struct bp_capture_worker *bp_capture_worker_create(struct bp_worker *w, struct bp_shm *shm)
{
	struct bp_capture_worker *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->trace = bp_trace_worker_create(c);
	if (c->trace == NULL) {
		free(c);
		return NULL;
	}
	c->worker = w;
	c->counts = &shm->capture.counts[w->index];
	if (shm->capture.ring_capacity != 0)
		bp_capture_ring_attach(&c->ring, bp_capture_ring_of(&shm->capture, w->index),
			shm->capture.ring_capacity);
	return c;
}

void bp_capture_worker_free(struct bp_capture_worker *c)
{
	if (c == NULL)
		return;
	free(c->trace);
	free(c);
}

void bp_capture_graph(struct bp_worker *w)
{
	struct bp_capture_worker *c = w->capture;
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	if (c == NULL)
		return;
	c->wraps = false;
	c->set = NULL;
	c->drop = NULL;
	c->current = BP_CAPTURE_NO_NODE;
	rte_graph_foreach_node(count, off, w->graph, node)
	{
		if (node->process == bp_node_drop.process)
			c->drop = node;
		if (node->id >= BP_CAPTURE_NODE_IDS)
			continue;
		c->process[node->id] = node->process;
		c->index[node->id] = count < BP_MAX_NODES ? (uint16_t)count : BP_CAPTURE_NO_NODE;
	}
}

/* ---- the node that drops ---- */

static void note_dropped(struct bp_capture_worker *c, uint16_t index)
{
	if (c->n_dropped == BP_MAX_NODES)
		return;
	c->dropped[c->n_dropped].node = index;
	c->dropped[c->n_dropped++].until = c->drop->idx;
}

/* Node lcl_in sends most frames of a burst immediately, but none before an earlier frame of the
 * burst that it does not: a burst that is split would change their order. */
static bool is_split(const struct bp_capture_worker *c, const struct rte_node *node)
{
	return c->trace->slots != 0 && c->process[node->id] != bp_node_lcl_in.process;
}

static void run_after(const struct bp_after_node *after)
{
	after->node->total_objs += after->run(after->state);
}

/* In place of the function of each node. */
static uint16_t wrapped(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_capture_worker *c = bp_node_ctx(node)->worker->capture;
	const uint16_t before = c->drop->idx;
	uint16_t n;

	c->current = c->index[node->id];
	if (is_split(c, node) && bp_trace_any(c->trace, objs, nb_objs))
		n = bp_trace_process(
			c->trace, c->process[node->id], c->current, graph, node, objs, nb_objs);
	else
		n = c->process[node->id](graph, node, objs, nb_objs);
	if (node == c->drop)
		c->n_dropped = c->drop_done = 0;
	else if (c->drop->idx != before)
		note_dropped(c, c->current);
	c->current = BP_CAPTURE_NO_NODE;
	if (BP_PUBLIC_WALK && c->worker->after_node.run)
		run_after(&c->worker->after_node);
	return n;
}

static void wrap(struct bp_capture_worker *c, bool on)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	on = (on || (BP_PUBLIC_WALK && c->worker->after_node.run)) && c->drop != NULL;
	if (c->wraps == on)
		return;
	c->wraps = on;
	c->n_dropped = c->drop_done = 0;
	rte_graph_foreach_node(count, off, c->worker->graph, node)
	{
		if (node->id < BP_CAPTURE_NODE_IDS)
			node->process = on ? wrapped : c->process[node->id];
	}
}

void bp_capture_begin(struct bp_worker *w)
{
	if (w->capture != NULL)
		wrap(w->capture, false);
}

/* ---- a new set ---- */

static void zero_counts(struct bp_capture_worker *c)
{
	for (unsigned i = 0; i < c->set->n; i++) {
		const struct bp_capture_active *a = &c->set->of[i];

		if (c->id[a->slot] == a->id)
			continue;
		c->id[a->slot] = a->id;
		for (unsigned p = 0; p <= BP_MAX_PORTS; p++)
			atomic_store_explicit(
				&c->counts->matched[a->slot][p], 0, memory_order_relaxed);
	}
}

/* Bit per port with frames that are captured at a point. */
static uint32_t ports_at(const struct bp_capture_set *set, enum bp_capture_point point)
{
	uint32_t ports = 0;

	for (unsigned i = 0; i < set->n; i++)
		ports |= set->of[i].at[point] ? set->of[i].ports : 0;
	return ports;
}

static void set_rx_flags(struct bp_worker *w, uint32_t ports)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	rte_graph_foreach_node(count, off, w->graph, node)
	{
		struct bp_node_ctx *ctx = bp_node_ctx(node);

		if (bp_node_process(w, node) != bp_node_port_rx.process)
			continue;
		if (ports >> ctx->port & 1)
			ctx->flags |= BP_RX_F_CAPTURE;
		else
			ctx->flags &= (uint16_t)~BP_RX_F_CAPTURE;
	}
}

void bp_capture_apply(struct bp_worker *w)
{
	struct bp_capture_worker *c = w->capture;

	c->set = atomic_load_explicit(&c->sets->active, memory_order_acquire);
	zero_counts(c);
	bp_trace_apply(c->trace, c->set);
	wrap(c, ports_at(c->set, BP_CAPTURE_DROP) != 0 || c->trace->slots != 0);
	set_rx_flags(w, ports_at(c->set, BP_CAPTURE_RX));
	/* a traced frame may leave by any port */
	w->capture_tx = c->trace->slots != 0 ? UINT32_MAX : ports_at(c->set, BP_CAPTURE_TX);
	w->capture_drops = ports_at(c->set, BP_CAPTURE_DROP) != 0;
	atomic_store_explicit(&c->sets->seen[w->index], c->set->sequence, memory_order_release);
}

void bp_capture_end(struct bp_worker *w)
{
	struct bp_capture_worker *c = w->capture;

	if (c == NULL || c->sets == NULL)
		return;
	c->trace->slots = 0;
	wrap(c, false);
	set_rx_flags(w, 0);
	w->capture_tx = 0;
	w->capture_drops = false;
	c->set = NULL;
	atomic_store_explicit(&c->sets->seen[w->index], BP_CAPTURE_SEEN_ALL, memory_order_release);
}
