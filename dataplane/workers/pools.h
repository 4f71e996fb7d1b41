/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_POOLS_H
#define BP_DATAPLANE_WORKERS_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct bp_config;

#define BP_NUMA_MAX 8
#define BP_DATA_ROOM_MAX (UINT16_MAX - 64u)

struct bp_port;
struct bp_queue_plan;

/* Packet buffers: one pool per NUMA node that a port is on. */
struct bp_pools {
	struct rte_mempool *pool[BP_NUMA_MAX]; /* by node; NULL: no port there */
	uint32_t mbufs[BP_NUMA_MAX];
	uint16_t data_room; /* bytes of a buffer, headroom included */
	unsigned n;
};

/* Approximate bytes of the pools of this configuration, before any device is known. */
uint64_t bp_pools_estimate(const struct bp_config *c);

/* Bytes that a frame of that MTU needs if it must be in one buffer. */
uint32_t bp_pools_frame_capacity(const char *device, uint32_t mtu);
#define BP_FRAME_CAPACITY_MAX (BP_DATA_ROOM_MAX - RTE_PKTMBUF_HEADROOM)

/* The kind of pool for DPDK. `exception`: the exception thread allocates and frees buffers, too. */
const char *bp_pools_ops(bool exception);

/* Returns 0, or -1 with a message in `err`. */
int bp_pools_create(const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan, struct bp_pools *pools, char *err, size_t err_size);
void bp_pools_free(struct bp_pools *pools);

/* Whether a frame of that MTU fits one buffer, which is required without scatter. */
bool bp_pools_fit(const struct bp_pools *pools, const char *device, uint32_t mtu);

/* The pool closest to a NUMA node. */
struct rte_mempool *bp_pools_near(const struct bp_pools *pools, int socket);

#endif
