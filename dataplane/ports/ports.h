/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORTS_H
#define BP_DATAPLANE_PORTS_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "dataplane/ports/drivers.h"
#include "dataplane/ports/offloads.h"
#include "dataplane/workers/pools.h"
#include "dataplane/ports/queue_plan.h"

struct bp_config;
struct bp_config_port;

/* A port of the configuration in DPDK. Its index in the configuration is its DPDK port id. */
struct bp_port {
	const struct bp_config_port *config;
	const struct bp_driver *driver;
	char driver_name[32];
	struct rte_eth_dev_info info;
	bool pci;                    /* a network card: its link state is reliable */
	int socket;                  /* NUMA node of the device, or 0 */
	uint32_t mtu, mtu_requested; /* effective MTU; MTU if buffers were long enough */
	uint16_t rx_desc, tx_desc;
	struct bp_offloads offloads;
	uint64_t rx_offloads, tx_offloads; /* configured offload flags */
	bool pieces;                       /* frames in several buffers may leave by it */
	bool leaves_checksums; /* partial checksums of its frames are left to the output device */
	bool started;
	bool rss_refused;    /* RSS is configured, but the device does not apply it */
	uint8_t tx_segments; /* maximum number of buffers of an output frame; 0: unlimited */
	bool rx_interrupts;  /* configured with receive interrupts, for workers that sleep */
	/* AF_XDP socket of each receive queue, owned by the driver; 0, -1: not known */
	int xdp_socket[BP_MAX_QUEUES];
	struct bp_port_caps caps;
};

/*
 * Rejects interfaces that another data plane has: see dataplane/ports/port_claim.h. 0, or -1 with a
 * message in `err`.
 */
int bp_ports_claim(const struct bp_config *c, char *err, size_t err_size);
/*
 * Attaches the devices in the order of the configuration. Returns 0, or -1 with a message in `err`.
 */
int bp_ports_attach(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size);

/*
 * Chooses the descriptors, MTU and offloads of each port from the driver and the configuration.
 * Does not modify any device. Returns 0, or -1 with a message in `err`. In ports_choose.c.
 */
int bp_ports_choose(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size);
/* Called after the queues are planned: records which ports use RSS. */
void bp_ports_planned(
	const struct bp_config *c, struct bp_port *ports, const struct bp_queue_plan *plan);
/*
 * Called after the pools are created: sets the maximum number of buffers of an output frame of each
 * port.
 */
void bp_ports_limit(const struct bp_config *c, struct bp_port *ports, const struct bp_pools *pools);

/*
 * Configures and starts the ports that are not started. Returns 0; -1 with a message in `err`; or 1
 * if a device does not distribute its frames as its driver reported: then the queues must be
 * planned again with the new facts.
 */
int bp_ports_start(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools, char *err, size_t err_size);
/*
 * Stops the ports that were started with queues other than those of the new plan. Some virtual
 * devices cannot be started twice, so the other ports continue.
 */
void bp_ports_replanned(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *before, const struct bp_queue_plan *now);
void bp_ports_stop(const struct bp_config *c);

/* Whether the port may deliver a frame in several buffers. */
static inline bool bp_port_chains(const struct bp_port *p)
{
	return p->driver->chains || (p->rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
}

/* Writes the names of the configured offloads, as "rx-tcp-checksum tx-multi-segs". */
void bp_port_offload_names(const struct bp_port *p, char *out, size_t size);

/*
 * ports_rss.c: the RSS configuration of a device such that both directions of a connection have the
 * same hash, and the check of the result.
 */
#define BP_RSS_KEY_MAX 128
/* `key` is the RSS key, BP_RSS_KEY_MAX bytes. */
void bp_ports_rss_conf(
	const struct bp_port *p, uint64_t types, uint8_t *key, struct rte_eth_rss_conf *conf);
/*
 * Sets the redirection table of a started device and reads it back. NULL, or the reason why its
 * frames are not distributed as required.
 */
const char *bp_ports_rss_check(
	const struct bp_port *p, uint16_t id, const struct bp_port_queues *q);

#endif
