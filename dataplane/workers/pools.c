/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/pools.h"

#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_graph.h>
#include <rte_mbuf_pool_ops.h>

#include "config/config.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"
#include "dataplane/exception/exception.h"
#include "dataplane/ports/ports.h"
#include "dataplane/service.h"

#define CACHE RTE_MEMPOOL_CACHE_MAX_SIZE
#define DESCRIPTORS                                                                                \
	1024u /* what a driver has at most when the configuration leaves it to the driver */
/*
 * Buffers that a worker holds in addition to the queues: its cache, and the bursts between nodes,
 * with their copies.
 */
#define PER_WORKER (CACHE * 3 / 2 + 2 * RTE_GRAPH_BURST_SIZE)
#define MBUFS_MIN 4096u
#define PER_MBUF_OVERHEAD (sizeof(struct rte_mbuf) + 64 + 64)

uint32_t bp_pools_frame_capacity(const char *device, uint32_t mtu)
{
	uint32_t room = mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;

	room = RTE_MAX(room, bp_device_frame_size(device, mtu)) + bp_device_headroom(device);
	return RTE_MAX(room, 2048u);
}

static uint16_t data_room_of(uint32_t largest)
{
	uint32_t room = (largest + RTE_PKTMBUF_HEADROOM + 63) & ~63u;

	return (uint16_t)RTE_MIN(room, BP_DATA_ROOM_MAX);
}

uint64_t bp_pools_estimate(const struct bp_config *c)
{
	uint32_t largest = 0, min_mtu = UINT16_MAX;
	uint64_t mbufs = 0;

	for (unsigned p = 0; p < c->n_ports; p++) {
		const struct bp_config_port *port = &c->port[p];
		uint64_t rx = port->rx_descriptors ? port->rx_descriptors : DESCRIPTORS;
		uint64_t tx = port->tx_descriptors ? port->tx_descriptors : DESCRIPTORS;

		largest = RTE_MAX(largest, bp_pools_frame_capacity(port->device,
						   bp_interface_mtu(port->device, port->mtu)));
		min_mtu = RTE_MIN(min_mtu, port->mtu ? port->mtu : RTE_ETHER_MTU);
		mbufs += c->mbufs ? (uint64_t)c->mbufs * c->n_workers : (rx + tx) * c->n_workers;
	}
	largest = RTE_MAX(largest, bp_services_frame_size(c, min_mtu));
	mbufs += (uint64_t)PER_WORKER * c->n_workers + bp_exception_mbufs(c) + bp_services_mbufs(c);
	mbufs = RTE_MAX(mbufs, (uint64_t)MBUFS_MIN);
	/* and the memory of DPDK itself: rings, queues, graphs, page rounding */
	return mbufs * (data_room_of(largest) + PER_MBUF_OVERHEAD) + (32ull << 20);
}

static uint64_t mbufs_of_port(
	const struct bp_config *c, const struct bp_port *p, const struct bp_port_queues *q)
{
	if (c->mbufs)
		return (uint64_t)c->mbufs * c->n_workers;
	return (uint64_t)q->n_rx * p->rx_desc + (uint64_t)q->n_tx * p->tx_desc;
}

/* The largest frame that must fit one buffer: to be received in one, or to be sent from one. */
static uint16_t choose_data_room(const struct bp_config *c, const struct bp_port *ports)
{
	uint32_t largest = 2048, min_mtu = UINT16_MAX;

	for (unsigned p = 0; p < c->n_ports; p++) {
		min_mtu = RTE_MIN(min_mtu, ports[p].mtu);
		if (!(ports[p].rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER) ||
			ports[p].offloads.one_segment)
			largest = RTE_MAX(largest,
				bp_pools_frame_capacity(ports[p].config->device, ports[p].mtu));
	}
	largest = RTE_MAX(largest, bp_services_frame_size(c, min_mtu));
	return data_room_of(largest);
}

static bool has_ops(const char *name)
{
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, name) == 0)
			return true;
	return false;
}

/*
 * The exception thread uses the pools too, without a cache and on a shared CPU. If it is preempted
 * inside the default ring of DPDK, workers wait until it runs again; these kinds do not have that
 * wait. A stack returns the buffer that was used last, which is still in a cache.
 */
const char *bp_pools_ops(bool exception)
{
	const char *best = rte_mbuf_best_mempool_ops();

	if (!exception || strcmp(best, "ring_mp_mc") != 0)
		return best; /* also if the options after -- request it */
	return has_ops("lf_stack") ? "lf_stack" : "ring_mt_rts";
}

int bp_pools_create(const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan, struct bp_pools *pools, char *err, size_t err_size)
{
	uint64_t mbufs[BP_NUMA_MAX] = {0};

	memset(pools, 0, sizeof(*pools));
	pools->data_room = choose_data_room(c, ports);
	for (unsigned p = 0; p < c->n_ports; p++)
		mbufs[ports[p].socket] += mbufs_of_port(c, &ports[p], &plan->port[p]);
	for (unsigned s = 0; s < BP_NUMA_MAX; s++) {
		char name[32];

		if (mbufs[s] == 0)
			continue;
		mbufs[s] += (uint64_t)PER_WORKER * c->n_workers + bp_exception_mbufs(c) +
			    bp_services_mbufs(c);
		mbufs[s] = RTE_MAX(mbufs[s], MBUFS_MIN);
		snprintf(name, sizeof(name), "biplane-mbufs-%u", s);
		pools->mbufs[s] = (uint32_t)RTE_MIN(mbufs[s], (uint64_t)INT32_MAX);
		pools->pool[s] = rte_pktmbuf_pool_create_by_ops(name, pools->mbufs[s], CACHE, 0,
			pools->data_room, (int)s, bp_pools_ops(bp_exception_mbufs(c) != 0));
		if (!pools->pool[s]) {
			snprintf(err, err_size,
				"no memory for %u packet buffers of %u bytes on NUMA node %u (%s); "
				"give "
				"DPDK more hugepages (sysctl vm.nr_hugepages) or, without them, "
				"raise "
				"runtime.memory (now %u MiB), or lower mbufs or the descriptors",
				pools->mbufs[s], pools->data_room, s, rte_strerror(rte_errno),
				c->memory_mb);
			bp_pools_free(pools);
			return -1;
		}
		pools->n++;
	}
	return 0;
}

void bp_pools_free(struct bp_pools *pools)
{
	for (unsigned s = 0; s < BP_NUMA_MAX; s++) {
		rte_mempool_free(pools->pool[s]);
		pools->pool[s] = NULL;
	}
	pools->n = 0;
}

bool bp_pools_fit(const struct bp_pools *pools, const char *device, uint32_t mtu)
{
	return bp_pools_frame_capacity(device, mtu) + RTE_PKTMBUF_HEADROOM <= pools->data_room;
}

struct rte_mempool *bp_pools_near(const struct bp_pools *pools, int socket)
{
	if (socket >= 0 && socket < BP_NUMA_MAX && pools->pool[socket])
		return pools->pool[socket];
	for (unsigned s = 0; s < BP_NUMA_MAX; s++)
		if (pools->pool[s])
			return pools->pool[s];
	return NULL;
}
