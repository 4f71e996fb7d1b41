/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_H
#define BP_DATAPLANE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "dataplane/drivers.h"
#include "dataplane/pools.h"
#include "dataplane/queue_plan.h"

/* A port of the configuration as DPDK has it. Its index there is its port id here. */
struct bp_port {
	const struct bp_config_port *config;
	const struct bp_driver *driver;
	char driver_name[32];
	struct rte_eth_dev_info info;
	bool pci;   /* a network card: what it says of its link is so */
	int socket; /* NUMA node of the device, or 0 */
	uint32_t mtu;
	uint16_t rx_desc, tx_desc;
	uint64_t rx_offloads, tx_offloads;
	bool partial_checksums; /* the driver will tell of partial checksums */
	struct bp_port_caps caps;
};

/* Attaches the devices in the configuration's order. Returns 0, or -1 with a sentence. */
int bp_ports_attach(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size);

/* Chooses descriptors, MTU and offloads of each, from what the driver says. Touches no device. */
void bp_ports_choose(const struct bp_config *c, struct bp_port *ports);

/* Configures and starts all. Returns 0, or -1 with a sentence. */
int bp_ports_start(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools, char *err, size_t err_size);
void bp_ports_stop(const struct bp_config *c);

/* Names of the offloads in use, as "ipv4-checksum tcp-checksum multi-segs". */
void bp_port_offload_names(const struct bp_port *p, char *out, size_t size);

#endif
