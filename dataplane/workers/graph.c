/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/graph.h"

#include "config/mqtt/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_graph.h>

#include "dataplane/capture/capture.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/service.h"

#define EDGES_MAX (BP_EDGE_PORT + BP_MAX_PORTS)
/* Source nodes in addition to those of queues: kernel_rx, and the nodes of services. */
#define SOURCES (1 + BP_SERVICE_COUNT)

/*
 * Names of the nodes that the edges lead to in this worker, for nodes that may use them;
 * see enum bp_edge.
 */
struct edges {
	char name[EDGES_MAX][RTE_NODE_NAMESIZE];
	unsigned n;
};

static int fail(char *err, size_t err_size, const char *what, const char *node)
{
	snprintf(err, err_size, "%s %s: %s", what, node, rte_strerror(rte_errno));
	return -1;
}

/* Creates a clone of a node, or finds the clone of an earlier graph of this process. */
static rte_node_t clone_of(const struct rte_node_register *parent, const char *suffix)
{
	char name[RTE_NODE_NAMESIZE * 2];
	rte_node_t id;

	snprintf(name, sizeof(name), "%s-%s", parent->name, suffix);
	id = rte_node_from_name(name);
	return rte_node_is_invalid(id) ? rte_node_clone(parent->id, suffix) : id;
}

/* Sets the edges of the node or clone of this name to the nodes of its table. */
static int set_edges(const char *name, const struct bp_node_next *table, const struct edges *e,
	char *err, size_t err_size)
{
	const uint32_t may = bp_node_next_edges(table);
	const rte_node_t id = rte_node_from_name(name);
	const char *next[EDGES_MAX];

	if (rte_node_is_invalid(id))
		return fail(err, err_size, "no node", name);
	for (unsigned i = 0; i < e->n; i++)
		next[i] = may >> RTE_MIN(i, (unsigned)BP_EDGE_PORT) & 1 ? e->name[i]
									: bp_node_unconnected.name;
	/* A list shorter than that of an earlier graph would leave old edges. */
	if (rte_node_edge_count(id) > e->n && rte_node_edge_shrink(id, (rte_edge_t)e->n) != e->n)
		return fail(err, err_size, "cannot shorten the edges of node", name);
	if (rte_node_edge_update(id, 0, next, (uint16_t)e->n) != e->n)
		return fail(err, err_size, "cannot set the edges of node", name);
	return 0;
}

/* The node that sends the frames of a port. */
static const struct rte_node_register *port_node(const struct bp_worker *w, unsigned port)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (w->service[s] && bp_dataplane_services[s]->port_node)
			return bp_dataplane_services[s]->port_node(w->service[s], port);
	return &bp_node_port_tx;
}

/* Whether a worker has the node behind an edge. */
static bool has_node(const struct bp_worker *w, rte_edge_t edge, bool checksum)
{
	switch (edge) {
	case BP_EDGE_DROP:
	case BP_EDGE_BRIDGE:
		return true;
	case BP_EDGE_CHECKSUM:
		return checksum;
	default:
		if (edge < BP_EDGE_SERVICE)
			return w->router.enabled;
		return w->service[(edge - BP_EDGE_SERVICE) / BP_EDGES_OF_SERVICE] != NULL;
	}
}

/* Names the node behind each edge in this worker. */
static int name_edges(struct edges *e, const struct bp_worker *w, unsigned n_ports, bool checksum,
	char *err, size_t err_size)
{
	for (unsigned i = 0; i < BP_EDGE_PORT; i++) {
		const struct rte_node_register *to =
			has_node(w, (rte_edge_t)i, checksum) ? bp_edge_node((rte_edge_t)i) : NULL;

		if (to && !bp_node_next_of(to))
			return fail(err, err_size, "no table of next nodes:", to->name);
		snprintf(e->name[i], sizeof(e->name[i]), "%s",
			to ? to->name : bp_node_unconnected.name);
	}
	for (unsigned i = 0; i < n_ports; i++)
		snprintf(e->name[BP_EDGE_PORT + i], sizeof(e->name[0]), "%.48s-%u",
			port_node(w, i)->name, i);
	e->n = BP_EDGE_PORT + n_ports;
	return 0;
}

static int make_inner_nodes(const struct bp_worker *w, const struct edges *e, unsigned n_ports,
	char *err, size_t err_size)
{
	char suffix[16];

	for (unsigned i = 0; i < n_ports; i++) {
		snprintf(suffix, sizeof(suffix), "%u", i);
		if (rte_node_is_invalid(clone_of(port_node(w, i), suffix)))
			return fail(err, err_size, "cannot clone node", port_node(w, i)->name);
	}
	/*
	 * Includes nodes that this worker does not have: no edge leads to them. DPDK accepts no
	 * source without an edge.
	 */
	for (const struct bp_node_next *t = bp_node_next_all(); t; t = t->other)
		if ((bp_node_next_edges(t) != 0 || (t->node->flags & RTE_NODE_SOURCE_F)) &&
			set_edges(t->node->name, t, e, err, err_size) != 0)
			return -1;
	return 0;
}

static void set_flag(struct bp_node_ctx *ctx, uint16_t flag, bool on)
{
	ctx->flags = (uint16_t)(on ? ctx->flags | flag : ctx->flags & ~flag);
}

/* Sets the first node for the frames of a queue. */
static void set_next(struct bp_node_ctx *ctx, const struct bp_worker *w, rte_edge_t next)
{
	ctx->next = next;
	set_flag(ctx, BP_RX_F_PREFETCH, next < BP_EDGE_PORT);
	set_flag(ctx, BP_RX_F_SMALL_BURST, w->small_burst >> ctx->port & 1);
}

/*
 * Lets each service replace the edge by which the frames of a port enter. The last service of the
 * list is called first, since its node comes last.
 */
static rte_edge_t enter_services(
	struct bp_worker *w, unsigned port, rte_edge_t next, bool before_checksum)
{
	for (unsigned s = BP_SERVICE_COUNT; s-- > 0;) {
		const struct bp_dataplane_service *service = bp_dataplane_services[s];

		if (w->service[s] && service->enter && service->before_checksum == before_checksum)
			next = service->enter(w->service[s], w, port, next);
	}
	return next;
}

/* The same, depending on how the worker processes the frames of that port. */
static void set_first(struct bp_node_ctx *ctx, struct bp_worker *w)
{
	const rte_edge_t first =
		ctx->flags & BP_RX_F_CHECKSUM ? BP_EDGE_CHECKSUM : w->enter[ctx->port];

	set_next(ctx, w, enter_services(w, ctx->port, first, true));
}

static void set_rx_context(
	struct bp_node_ctx *ctx, struct bp_worker *w, const struct bp_rx_queue *q)
{
	ctx->port = q->port;
	ctx->queue = q->queue;
	ctx->flags = q->partial_checksums ? BP_RX_F_CHECKSUM : 0;
	set_first(ctx, w);
	if (q->qinq_fix)
		ctx->flags |= BP_RX_F_QINQ;
	if (q->set_port)
		ctx->flags |= BP_RX_F_SET_PORT;
	if (q->restore_tags)
		ctx->flags |= BP_RX_F_TAGS;
	if (q->distrust)
		ctx->flags |= BP_RX_F_DISTRUST;
	if (q->chains)
		ctx->flags |= BP_RX_F_CHAINS;
}

void bp_graph_enter(struct bp_worker *w)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	for (unsigned p = 0; p < BP_MAX_PORTS; p++)
		w->enter[p] = (uint8_t)enter_services(w, p, w->onward[p], false);
	rte_graph_foreach_node(count, off, w->graph, node)
	{
		struct bp_node_ctx *ctx = bp_node_ctx(node);

		if (bp_node_process(w, node) == bp_node_port_rx.process)
			set_first(ctx, w);
	}
}

static bool is_port_process(rte_node_process_t process)
{
	if (process == bp_node_port_tx.process)
		return true;
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		struct rte_node_register *const *node = bp_dataplane_services[s]->port_nodes;

		for (; node && *node; node++)
			if ((*node)->process == process)
				return true;
	}
	return false;
}

/* Whether the node is a clone that sends frames, and of which port. */
static bool is_port_node(const struct rte_node *node, unsigned *port)
{
	return is_port_process(node->process) &&
	       sscanf(strrchr(node->name, '-'), "-%u", port) == 1 && *port < BP_MAX_PORTS;
}

static void set_contexts(struct bp_worker *w, const struct bp_rx_queue *queues, unsigned n_queues)
{
	char name[RTE_NODE_NAMESIZE];
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;
	unsigned port;

	rte_graph_foreach_node(count, off, w->graph, node)
	{
		struct bp_node_ctx *ctx = bp_node_ctx(node);

		memset(ctx, 0, sizeof(*ctx));
		ctx->worker = w;
		if (is_port_node(node, &port)) {
			ctx->port = (uint16_t)port;
			ctx->queue = w->tx_queue[port];
		}
		for (unsigned i = 0; i < n_queues; i++) {
			snprintf(name, sizeof(name), "bp_port_rx-%u-%u", queues[i].port,
				queues[i].queue);
			if (strcmp(name, node->name) == 0)
				set_rx_context(ctx, w, &queues[i]);
		}
	}
}

void bp_worker_bridges(struct bp_worker *w, const struct bp_config *c)
{
	struct bp_networks networks;

	bp_config_networks(c, &networks);
	memcpy(w->network, networks.of_port, sizeof(w->network));
	memset(w->onward, BP_EDGE_IP4, sizeof(w->onward));
	memset(w->bridge_of, BP_NO_PORT, sizeof(w->bridge_of));
	memset(w->tx_queue, 0, sizeof(w->tx_queue));
	w->mqtt_port = bp_config_mqtt(c)->tcp_ports[0];
	w->trust_checksum = !bp_config_mqtt(c)->verify_checksums;
	w->n_bridges = (uint8_t)c->n_bridges;
	for (unsigned b = 0; b < c->n_bridges; b++) {
		const struct bp_config_bridge *br = &c->bridge[b];

		w->bridge_n[b] = (uint8_t)br->n;
		w->bridge_host[b] =
			br->has_host_interface ? (uint8_t)(BP_MAX_PORTS + b) : BP_NO_PORT;
		w->bridge_of[BP_MAX_PORTS + b] = (uint8_t)b;
		for (unsigned i = 0; i < br->n; i++) {
			w->bridge_port[b][i] = br->port[i];
			w->bridge_of[br->port[i]] = (uint8_t)b;
			w->onward[br->port[i]] = BP_EDGE_BRIDGE;
		}
		/* a two-port bridge that does not learn */
		if (br->n == 2 && !br->has_host_interface) {
			w->onward[br->port[0]] = (uint8_t)(BP_EDGE_PORT + br->port[1]);
			w->onward[br->port[1]] = (uint8_t)(BP_EDGE_PORT + br->port[0]);
		}
	}
}

static void set_bit(uint32_t *bits, unsigned bit, bool on)
{
	*bits = (*bits & ~(1u << bit)) | (uint32_t)on << bit;
}

void bp_worker_offloads(struct bp_worker *w, unsigned port, bool leaves_checksums,
	bool sends_checksums, uint8_t tx_segments)
{
	set_bit(&w->leaves_checksums, port, leaves_checksums);
	set_bit(&w->sends_checksums, port, sends_checksums);
	w->tx_segments[port] = tx_segments;
	set_bit(&w->prepare, port, sends_checksums || tx_segments != 0);
}

int bp_graph_build(struct bp_worker *w, const char *name, unsigned n_ports,
	const struct bp_rx_queue *queues, unsigned n_queues, char *err, size_t err_size)
{
	struct rte_graph_param param = {.socket_id = (int)rte_socket_id()};
	char(*names)[RTE_NODE_NAMESIZE];
	const char **patterns;
	struct edges *edges;
	bool checksum = false;
	int result = -1;

	w->graph = NULL;
	if (n_queues == 0)
		return 0;
	names = calloc(n_queues, sizeof(*names));
	patterns = calloc(n_queues + SOURCES, sizeof(*patterns));
	edges = calloc(1, sizeof(*edges));
	if (!names || !patterns || !edges) {
		snprintf(err, err_size, "no memory for the graph");
		goto out;
	}
	for (unsigned i = 0; i < n_queues; i++)
		checksum |= queues[i].partial_checksums;
	if (name_edges(edges, w, n_ports, checksum, err, err_size) != 0 ||
		make_inner_nodes(w, edges, n_ports, err, err_size) != 0)
		goto out;
	for (unsigned i = 0; i < n_queues; i++) {
		char suffix[16];

		snprintf(suffix, sizeof(suffix), "%u-%u", queues[i].port, queues[i].queue);
		if (rte_node_is_invalid(clone_of(&bp_node_port_rx, suffix))) {
			fail(err, err_size, "cannot clone node", bp_node_port_rx.name);
			goto out;
		}
		snprintf(names[i], sizeof(names[i]), "bp_port_rx-%s", suffix);
		patterns[i] = names[i];
		if (set_edges(names[i], bp_node_next_of(&bp_node_port_rx), edges, err, err_size) !=
			0)
			goto out;
	}
	param.node_patterns = patterns;
	param.nb_node_patterns = (uint16_t)n_queues;
	if (w->exception)
		patterns[param.nb_node_patterns++] = bp_node_kernel_rx.name;
	for (unsigned s = BP_SERVICE_COUNT; s-- > 0;)
		if (w->service[s] && bp_dataplane_services[s]->source)
			patterns[param.nb_node_patterns++] = bp_dataplane_services[s]->source->name;
	if (rte_graph_is_invalid(rte_graph_create(name, &param))) {
		fail(err, err_size, "cannot create graph", name);
		goto out;
	}
	w->graph = rte_graph_lookup(name);
	if (!w->graph) {
		fail(err, err_size, "cannot find graph", name);
		goto out;
	}
	set_contexts(w, queues, n_queues);
	/* Constant while the graph runs. Reading it costs a call for each clone. */
	for (unsigned p = 0; p < n_ports; p++)
		if (rte_eth_dev_get_mtu((uint16_t)p, &w->mtu[p]) != 0)
			w->mtu[p] = 0;
	bp_capture_graph(w);
	bp_graph_enter(w);
	result = bp_services_begin(w, err, err_size);
	if (result == 0)
		bp_capture_begin(w);
out:
	free(names);
	free(patterns);
	free(edges);
	return result;
}

void bp_graph_free(struct bp_worker *w)
{
	if (w->graph)
		rte_graph_destroy(w->graph->id);
	w->graph = NULL;
}
