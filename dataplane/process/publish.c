/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that the main thread writes to the segment for `biplane show`. */
#include <stdio.h>
#include <string.h>

#include <rte_mempool.h>

#include "config/config.h"
#include "dataplane/forwarding/mac_table.h"
#include "dataplane/ports/link.h"
#include "dataplane/process/startup.h"
#include "dataplane/process/stats.h"

static unsigned bridge_of(const struct bp_config *c, unsigned port)
{
	for (unsigned b = 0; b < c->n_bridges; b++)
		for (unsigned i = 0; i < c->bridge[b].n; i++)
			if (c->bridge[b].port[i] == port)
				return b;
	return BP_NO_PORT;
}

static void address(struct bp_port_info *o, const struct bp_port *ports, unsigned port)
{
	struct rte_ether_addr mac = {0};

	rte_eth_macaddr_get((uint16_t)port, &mac);
	memcpy(o->mac, mac.addr_bytes, sizeof(o->mac));
	o->mtu = ports[port].mtu;
}

void bp_publish_address(struct bp_shm *shm, const struct bp_port *ports, unsigned port)
{
	address(&shm->ports[port], ports, port);
}

void bp_publish_ports(struct bp_shm *shm, const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct bp_port_info o = {0};
		unsigned bridge = bridge_of(c, i);

		snprintf(o.name, sizeof(o.name), "%s", c->port[i].name);
		snprintf(o.device, sizeof(o.device), "%.*s", (int)sizeof(o.device) - 1,
			c->port[i].device);
		if (bridge != BP_NO_PORT)
			snprintf(o.bridge, sizeof(o.bridge), "%s", c->bridge[bridge].name);
		address(&o, ports, i);
		o.numa = rte_eth_dev_socket_id((uint16_t)i);
		o.rx_queues = plan->port[i].n_rx;
		o.tx_queues = plan->port[i].n_tx;
		o.workers = bp_queue_plan_workers(plan, i);
		memcpy(o.offload, ports[i].offloads.of, sizeof(o.offload));
		/*
		 * The driver is written last: a control plane that sees it can rely on the other
		 * fields, which are unchanged since before a restart in any case.
		 */
		memcpy(o.driver, shm->ports[i].driver, sizeof(o.driver));
		shm->ports[i] = o;
		atomic_thread_fence(memory_order_release);
		snprintf(shm->ports[i].driver, sizeof(shm->ports[i].driver), "%s",
			ports[i].driver_name);
	}
}

void bp_publish_links(struct bp_shm *shm, const struct bp_port *ports, unsigned n_ports)
{
	for (unsigned i = 0; i < n_ports; i++) {
		struct bp_port_info *o = &shm->ports[i];
		struct rte_eth_link link = {0};
		struct rte_eth_stats st = {0};

		o->link_up = bp_link_poll((uint16_t)i, ports[i].pci);
		if (rte_eth_link_get_nowait((uint16_t)i, &link) == 0) {
			o->full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
			o->speed_mbps = link.link_speed;
		}
		if (rte_eth_stats_get((uint16_t)i, &st) == 0) {
			o->hw_rx_bytes = st.ibytes;
			o->hw_tx_bytes = st.obytes;
			o->hw_imissed = st.imissed;
			o->hw_ierrors = st.ierrors;
			o->hw_oerrors = st.oerrors;
			o->hw_rx_nombuf = st.rx_nombuf;
		}
	}
}

static void publish_node(struct bp_node_info *o, const struct rte_node *n, unsigned worker)
{
	/* the name is constant: written before the first values */
	if (o->name[0] == '\0')
		snprintf(o->name, sizeof(o->name), "%.*s", (int)sizeof(o->name) - 1, n->name);
	o->worker = worker;
	atomic_store_explicit(&o->calls, n->total_calls, memory_order_relaxed);
	atomic_store_explicit(&o->objects, n->total_objs, memory_order_relaxed);
	atomic_store_explicit(&o->cycles, n->total_cycles, memory_order_relaxed);
}

void bp_publish_nodes(struct bp_shm *shm, struct bp_worker *const *workers, unsigned n_workers)
{
	for (unsigned w = 0; w < n_workers; w++) {
		struct bp_node_info *row = &shm->nodes[w * BP_MAX_NODES];
		struct rte_node *node;
		rte_graph_off_t off;
		rte_node_t count;

		if (!workers[w]->graph)
			continue;
		rte_graph_foreach_node(count, off, workers[w]->graph,
			node) if (count < BP_MAX_NODES) publish_node(&row[count], node, w);
	}
}

static void put(_Atomic uint64_t *to, uint64_t v)
{
	atomic_store_explicit(to, v, memory_order_relaxed);
}

static void publish_connections(struct bp_shm_usage *u, const struct bp_fault_monitor *faults)
{
	struct bp_inspected all = {0};

	for (unsigned w = 0; w < BP_MAX_WORKERS; w++) {
		const struct bp_inspected *one = &faults->unread[w].last_of_all;

		all.inspected += one->inspected;
		for (unsigned r = 0; r < BP_FLOW_UNREAD_REASONS; r++)
			all.reason[r] += one->reason[r];
	}
	put(&u->inspected, all.inspected);
	for (unsigned r = 0; r < BP_FLOW_UNREAD_REASONS; r++)
		put(&u->not_inspected[r], all.reason[r]);
}
_Static_assert(
	BP_FLOW_UNREAD_REASONS <= BP_NOT_INSPECTED_REASONS, "raise BP_NOT_INSPECTED_REASONS");

void bp_publish_usage(struct bp_shm *shm, const struct bp_config *c, const struct bp_pools *pools,
	const struct bp_fdb *fdb, const struct bp_fault_monitor *faults)
{
	struct bp_shm_usage *u = &shm->global->usage;

	for (unsigned i = 0; i < BP_NUMA_MAX; i++) {
		put(&u->pool[i].mbufs, pools->pool[i] ? pools->mbufs[i] : 0);
		put(&u->pool[i].free, pools->pool[i] ? rte_mempool_avail_count(pools->pool[i]) : 0);
	}
	for (unsigned b = 0; b < c->n_bridges; b++) {
		uint64_t entries = 0, capacity = 0;

		if (fdb->of[b])
			bp_mac_table_usage(fdb->of[b], &entries, &capacity);
		snprintf(u->fdb[b].name, sizeof(u->fdb[b].name), "%s", c->bridge[b].name);
		put(&u->fdb[b].entries, entries);
		put(&u->fdb[b].capacity, capacity);
	}
	publish_connections(u, faults);
}
