/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/queue_plan.h"

#include "config/lcl/settings.h"
#include "config/mqtt/settings.h"

#include <stdio.h>
#include <string.h>

static unsigned min_u(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Number of queues of the port if its frames are distributed over n workers. */
static unsigned spread_queues(const struct bp_port_caps *caps, unsigned n)
{
	if (caps->all_queues)
		return caps->max_rx;
	return caps->wanted ? min_u(caps->wanted, caps->max_rx) : min_u(n, caps->max_rx);
}

/* Number of queues of a port that one worker polls. */
static unsigned whole_queues(const struct bp_port_caps *caps)
{
	if (caps->all_queues)
		return caps->max_rx;
	return caps->wanted ? min_u(caps->wanted, caps->max_rx) : 1;
}

/* Whether a bridge can be distributed over n workers. If not, writes the reason to `why`. */
static bool can_spread(const struct bp_config *c, const struct bp_port_caps *caps,
	const struct bp_config_bridge *b, unsigned n, char *why, size_t size)
{
	const struct bp_port_caps *first = &caps[b->port[0]];
	unsigned queues = spread_queues(first, n);
	const bool inspected = bp_config_mqtt(c)->enabled;
	uint64_t rss = UINT64_MAX;

	for (unsigned i = 0; i < b->n; i++) {
		const struct bp_port_caps *p = &caps[b->port[i]];
		const char *name = c->port[b->port[i]].name;

		if (p->spread == BP_SPREAD_NONE || (p->spread == BP_SPREAD_FLOWS && inspected)) {
			snprintf(why, size, "the driver of port %s cannot distribute %s", name,
				inspected ? "connections by a symmetric hash"
					  : "flows over receive queues");
			return false;
		}
		/* the peer may have fewer, and then frames to the others would be lost */
		if (p->spread == BP_SPREAD_FLOWS && !p->all_queues && p->wanted < n) {
			snprintf(why, size,
				"port %s has no rx_queues: %u, the number of queues of its peer",
				name, n);
			return false;
		}
		if (spread_queues(p, n) < n) {
			snprintf(why, size, "port %s has %u receive queue(s) for %u workers%s",
				name, spread_queues(p, n), n,
				p->spread == BP_SPREAD_FANOUT ? " (qpairs=N gives N)" : "");
			return false;
		}
		if (p->max_tx < n && !bp_config_lcl_port(c, b->port[i])) {
			snprintf(why, size, "port %s has %u transmit queue(s) for %u workers", name,
				p->max_tx, n);
			return false;
		}
		if (inspected && (p->spread != first->spread || spread_queues(p, n) != queues)) {
			snprintf(why, size,
				"ports %s and %s share out connections in different ways",
				c->port[b->port[0]].name, name);
			return false;
		}
		rss &= p->rss;
	}
	if (inspected && first->spread == BP_SPREAD_RSS && rss == 0) {
		snprintf(why, size, "its ports have no packet type in common that RSS hashes over");
		return false;
	}
	return true;
}

static void take_queues(struct bp_port_queues *q, unsigned n_rx, unsigned n_workers, int worker)
{
	q->n_rx = (uint16_t)min_u(n_rx, BP_MAX_QUEUES);
	for (unsigned i = 0; i < q->n_rx; i++)
		q->rx_worker[i] = (uint8_t)(worker < 0 ? i % n_workers : (unsigned)worker);
}

/*
 * The same hash must select the same queue on every port of the bridge, for any size of the table:
 * so all tables repeat the pattern of the smallest.
 */
static void spread_bridge(struct bp_queue_plan *plan, const struct bp_port_caps *caps,
	const struct bp_config_bridge *b)
{
	uint64_t rss = UINT64_MAX;
	uint16_t base = UINT16_MAX;

	for (unsigned i = 0; i < b->n; i++) {
		const struct bp_port_caps *p = &caps[b->port[i]];

		if (p->spread == BP_SPREAD_RSS)
			rss &= p->rss;
		if (p->reta_size && p->reta_size < base)
			base = p->reta_size;
	}
	for (unsigned i = 0; i < b->n; i++) {
		const struct bp_port_caps *p = &caps[b->port[i]];
		struct bp_port_queues *q = &plan->port[b->port[i]];

		take_queues(q, spread_queues(p, plan->n_workers), plan->n_workers, -1);
		if (p->spread == BP_SPREAD_RSS) {
			q->rss = rss != 0 ? rss : p->rss;
			q->reta_base = p->reta_size ? base : 0;
		}
	}
}

static void whole_bridge(struct bp_queue_plan *plan, const struct bp_port_caps *caps,
	const struct bp_config_bridge *b, unsigned worker)
{
	for (unsigned i = 0; i < b->n; i++) {
		const struct bp_port_caps *p = &caps[b->port[i]];
		struct bp_port_queues *q = &plan->port[b->port[i]];

		take_queues(q, whole_queues(p), plan->n_workers, (int)worker);
		if (q->n_rx > 1 && p->spread == BP_SPREAD_RSS)
			q->rss = p->rss;
	}
}

/*
 * Ports that exchange frames: those of a bridge, or all routed ports, as one group after those of
 * the bridges.
 */
struct groups {
	unsigned n;
	bool routes; /* the last group */
	struct bp_config_bridge ports[BP_MAX_BRIDGES + 1];
};

static void list_groups(const struct bp_config *c, struct groups *g)
{
	struct bp_config_bridge *routed;

	g->n = c->n_bridges;
	memcpy(g->ports, c->bridge, c->n_bridges * sizeof(c->bridge[0]));
	routed = &g->ports[g->n];
	routed->n = 0;
	for (unsigned p = 0; p < c->n_ports; p++)
		if (bp_config_port_routes(c, p))
			routed->port[routed->n++] = (uint8_t)p;
	g->routes = routed->n != 0;
	g->n += g->routes;
}

static struct bp_bridge_workers *workers_of(
	struct bp_queue_plan *plan, const struct groups *g, unsigned i)
{
	return g->routes && i == g->n - 1 ? &plan->router : &plan->bridge[i];
}

static uint64_t worker_set(const struct bp_queue_plan *plan, const struct bp_bridge_workers *w)
{
	if (!w->spread)
		return 1ull << w->worker;
	return plan->n_workers == 64 ? UINT64_MAX : (1ull << plan->n_workers) - 1;
}

/* Assigns workers to each group, round-robin. */
static void choose_workers(const struct bp_config *c, const struct bp_port_caps *caps,
	struct bp_queue_plan *plan, const struct groups *g)
{
	unsigned n = plan->n_workers, turn = 0;

	for (unsigned i = 0; i < g->n; i++) {
		struct bp_bridge_workers *w = workers_of(plan, g, i);

		w->spread = n > 1 && can_spread(c, caps, &g->ports[i], n, w->why, sizeof(w->why));
		if (!w->spread)
			w->worker = (uint8_t)(turn++ % n);
	}
}

static const struct bp_mirror_target *mirror_target(const struct bp_config *c)
{
	return bp_config_mqtt(c)->enabled && bp_config_mqtt(c)->mirror.enabled
		       ? &bp_config_mqtt(c)->mirror
		       : NULL;
}

/* Whether the frames of a group can leave by its own ports only. */
static bool crosses(const struct groups *g, unsigned i)
{
	return (g->routes && i == g->n - 1) || g->ports[i].has_host_interface;
}

/* The first worker that polls the ports of a group: see spread_bridge() and whole_bridge(). */
static unsigned owner_of(const struct bp_bridge_workers *w)
{
	return w->spread ? 0 : w->worker;
}

/*
 * Lists which workers send on which port. Routed packets go from one group to another if the groups
 * have routed ports. Mirrored frames leave by one port, from any worker. Frames leave by an LCL
 * port only through its owner.
 */
static void list_senders(const struct bp_config *c, struct bp_queue_plan *plan,
	const struct groups *g, uint64_t senders[BP_MAX_PORTS])
{
	const struct bp_mirror_target *to = mirror_target(c);
	uint64_t routing = 0;

	memset(senders, 0, BP_MAX_PORTS * sizeof(*senders));
	for (unsigned i = 0; i < g->n; i++)
		if (crosses(g, i))
			routing |= worker_set(plan, workers_of(plan, g, i));
	for (unsigned i = 0; i < g->n; i++) {
		uint64_t set = worker_set(plan, workers_of(plan, g, i));

		for (unsigned k = 0; k < g->ports[i].n; k++)
			senders[g->ports[i].port[k]] |= crosses(g, i) ? set | routing : set;
		if (to)
			senders[to->port] |= set;
	}
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->ports[i].n; k++)
			if (bp_config_lcl_port(c, g->ports[i].port[k]))
				senders[g->ports[i].port[k]] = 1ull
							       << owner_of(workers_of(plan, g, i));
}

/*
 * Each worker needs its own queue on every port that it sends on. If a port has too few, one worker
 * serves all ports.
 */
static void assign_senders(const struct bp_config *c, const struct bp_port_caps *caps,
	struct bp_queue_plan *plan, const struct groups *g)
{
	uint64_t senders[BP_MAX_PORTS];

	list_senders(c, plan, g, senders);
	for (unsigned p = 0; p < c->n_ports; p++) {
		if ((unsigned)__builtin_popcountll(senders[p]) <= caps[p].max_tx)
			continue;
		for (unsigned i = 0; i < g->n; i++) {
			struct bp_bridge_workers *w = workers_of(plan, g, i);

			w->spread = false;
			w->worker = 0;
			snprintf(w->why, sizeof(w->why),
				"port %s, on which several would send, has %u transmit queue(s)",
				c->port[p].name, caps[p].max_tx);
		}
		return;
	}
}

/* Adds unused queues of one kind to a port that needs as many of the other. */
static void pair_queues(struct bp_port_queues *q)
{
	while (q->n_rx < q->n_tx && q->n_rx < BP_MAX_QUEUES)
		q->rx_worker[q->n_rx++] = q->rx_worker[0];
	if (q->n_tx < q->n_rx)
		q->n_tx = q->n_rx;
}

static void assign_tx(const struct bp_config *c, const struct bp_port_caps *caps,
	struct bp_queue_plan *plan, const struct groups *g)
{
	uint64_t senders[BP_MAX_PORTS];

	list_senders(c, plan, g, senders);
	for (unsigned p = 0; p < c->n_ports; p++) {
		struct bp_port_queues *q = &plan->port[p];

		for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
			q->tx_queue[w] = senders[p] >> w & 1 ? q->n_tx++ : (uint16_t)UINT16_MAX;
		if (q->n_tx == 0) /* a driver requires one, even if unused */
			q->n_tx = 1;
		if (caps[p].queue_pairs)
			pair_queues(q);
	}
}

void bp_queue_plan_make(
	const struct bp_config *c, const struct bp_port_caps *caps, struct bp_queue_plan *plan)
{
	struct groups g;

	memset(plan, 0, sizeof(*plan));
	plan->n_workers = c->n_workers;
	list_groups(c, &g);
	choose_workers(c, caps, plan, &g);
	assign_senders(c, caps, plan, &g);
	for (unsigned i = 0; i < g.n; i++) {
		const struct bp_bridge_workers *w = workers_of(plan, &g, i);

		if (w->spread)
			spread_bridge(plan, caps, &g.ports[i]);
		else
			whole_bridge(plan, caps, &g.ports[i], w->worker);
	}
	assign_tx(c, caps, plan, &g);
}

uint8_t bp_queue_plan_owner(const struct bp_queue_plan *plan, unsigned port)
{
	return plan->port[port].rx_worker[0];
}

uint64_t bp_queue_plan_workers(const struct bp_queue_plan *plan, unsigned port)
{
	uint64_t set = 0;

	for (unsigned q = 0; q < plan->port[port].n_rx; q++)
		set |= 1ull << plan->port[port].rx_worker[q];
	return set;
}
