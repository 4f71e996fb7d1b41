/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_DPDK_COMPAT_H
#define BP_DATAPLANE_DPDK_COMPAT_H

/*
 * Differences between the supported versions of DPDK, 22.11 to 26.11. No other file asks for the
 * version; scripts/matrix builds and tests biplane with each version that it can get.
 */
#include <pthread.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_thread.h>
#include <rte_version.h>

/*
 * 26.11 replaces the circular buffer of struct rte_graph, whose fields bp_walk_graph() reads, and
 * leaves rte_graph_walk(). -DBP_PUBLIC_WALK=1 tries that with an earlier version.
 */
#ifndef BP_PUBLIC_WALK
#define BP_PUBLIC_WALK (RTE_VERSION >= RTE_VERSION_NUM(26, 11, 0, 1))
#endif

/* What the function of a control thread returns. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
typedef uint32_t bp_control_result_t;
#else
typedef void *bp_control_result_t;
#endif

/*
 * Starts a thread on the CPUs of the process that run no worker. Returns 0 or a negative errno.
 * bp_control_thread_join() waits for its end.
 */
static inline int bp_control_thread_start(
	rte_thread_t *thread, const char *name, bp_control_result_t (*run)(void *arg), void *arg)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	return rte_thread_create_control(thread, name, run, arg);
#else
	pthread_t id;
	const int rc = rte_ctrl_thread_create(&id, name, NULL, run, arg);

	if (rc == 0)
		thread->opaque_id = (uintptr_t)id;
	return rc;
#endif
}

static inline void bp_control_thread_join(rte_thread_t thread)
{
	/* rte_thread_join() of 22.11 is experimental, and this call */
	pthread_join((pthread_t)thread.opaque_id, NULL);
}

/* IPv6 addresses of 16 bytes each, as the functions of rte_lpm6 take them. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define BP_LPM6_ADDRESSES(bytes_) ((struct rte_ipv6_addr *)(bytes_))
#else
#define BP_LPM6_ADDRESSES(bytes_) (bytes_)
#endif

/* The name of a port's device; returns 0 or a negative errno. */
static inline int bp_port_device_name(uint16_t port, char name[RTE_ETH_NAME_MAX_LEN])
{
#if RTE_VERSION >= RTE_VERSION_NUM(26, 11, 0, 1)
	return rte_eth_dev_get_name_by_port(port, name, RTE_ETH_NAME_MAX_LEN);
#else
	return rte_eth_dev_get_name_by_port(port, name);
#endif
}

#endif
