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

/* A port of the configuration as DPDK has it. Its index there is its port id here. */
struct bp_port {
	const struct bp_config_port *config;
	const struct bp_driver *driver;
	char driver_name[32];
	struct rte_eth_dev_info info;
	bool pci;                    /* a network card: what it says of its link is so */
	int socket;                  /* NUMA node of the device, or 0 */
	uint32_t mtu, mtu_requested; /* as it is; as it would be if buffers were long enough */
	uint16_t rx_desc, tx_desc;
	struct bp_offloads offloads;
	uint64_t rx_offloads, tx_offloads; /* what the device is asked for */
	bool pieces;                       /* frames in several buffers may leave by it */
	bool leaves_checksums; /* partial checksums of its frames are left to who sends them */
	bool started;
	bool rss_refused;    /* it was to share out, and does not do it as told */
	uint8_t tx_segments; /* buffers that a frame may lie in when it leaves; 0: any number */
	struct bp_port_caps caps;
};

/* Refuses interfaces that another data plane has: see dataplane/ports/port_claim.h. 0, or -1 with a
 * sentence. */
int bp_ports_claim(const struct bp_config *c, char *err, size_t err_size);
/* Attaches the devices in the configuration's order. Returns 0, or -1 with a sentence. */
int bp_ports_attach(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size);

/* Chooses descriptors, MTU and offloads of each, from what the driver and the configuration say.
 * Touches no device. Returns 0, or -1 with a sentence. In ports_choose.c. */
int bp_ports_choose(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size);
/* Once queues are planned: notes which ports share out after all. */
void bp_ports_planned(
	const struct bp_config *c, struct bp_port *ports, const struct bp_queue_plan *plan);
/* Once buffers are there: how many of them a frame may lie in that leaves by each. */
void bp_ports_limit(const struct bp_config *c, struct bp_port *ports, const struct bp_pools *pools);

/* Configures and starts those that are not started. Returns 0, or -1 with a sentence, or 1: a
 * device does not share out its frames as it said that it can, and with what is known now queues
 * must be planned again. */
int bp_ports_start(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools, char *err, size_t err_size);
/* Stops those that were started with other queues than they are to have now. Some virtual devices
 * can't be started twice, so the others go on. */
void bp_ports_replanned(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *before, const struct bp_queue_plan *now);
void bp_ports_stop(const struct bp_config *c);

/* Names of the offloads that the device is asked for, as "rx-tcp-checksum tx-multi-segs". */
void bp_port_offload_names(const struct bp_port *p, char *out, size_t size);

/* ports_rss.c: what a device must be told to share out frames so that both directions of a
 * connection meet, and whether it does. */
#define BP_RSS_KEY_MAX 128
/* The key is `key`, BP_RSS_KEY_MAX octets. */
void bp_ports_rss_conf(
	const struct bp_port *p, uint64_t types, uint8_t *key, struct rte_eth_rss_conf *conf);
/* Sets the redirection table of a started device, and asks what it has. NULL, or why its frames are
 * not shared out as they must be. */
const char *bp_ports_rss_check(
	const struct bp_port *p, uint16_t id, const struct bp_port_queues *q);

#endif
