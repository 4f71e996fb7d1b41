/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_STATS_H
#define BP_DATAPLANE_PROCESS_STATS_H

#include <stdbool.h>
#include <stdio.h>

#include "dataplane/forwarding/fdb.h"
#include "dataplane/monitoring/fault_monitor.h"
#include "dataplane/ports/ports.h"
#include "dataplane/workers/pools.h"
#include "dataplane/workers/worker.h"
#include "shm/layout.h"

struct bp_config;

/* Sums of the counters of biplane, over all threads. */
struct bp_totals {
	struct {
		uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, tx_dropped;
	} port[BP_MAX_PORTS];
	uint64_t counter[BP_C_COUNT];
	/* the sum that is exact at rest: rx + originated = tx + drops + punted + terminated */
	uint64_t rx, tx, originated, drops, punted, terminated;
};
void bp_totals_read(const struct bp_shm *shm, unsigned n_ports, struct bp_totals *t);
bool bp_totals_exact(const struct bp_totals *t);

/* Main thread: writes the constant data, then the variable data. */
void bp_publish_ports(struct bp_shm *shm, const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan);
/* Called after the MAC or MTU of a port has changed. */
void bp_publish_address(struct bp_shm *shm, const struct bp_port *ports, unsigned port);
void bp_publish_links(struct bp_shm *shm, const struct bp_port *ports, unsigned n_ports);
void bp_publish_nodes(struct bp_shm *shm, struct bp_worker *const *workers, unsigned n);
/* Memory, tables and connections, in struct bp_shm_usage. */
void bp_publish_usage(struct bp_shm *shm, const struct bp_config *c, const struct bp_pools *pools,
	const struct bp_fdb *fdb, const struct bp_fault_monitor *faults);

/* Prints the rates since `before`, `seconds` ago, in the format of dpdk-testpmd. */
void bp_rates_print(const struct bp_config *c, const struct bp_totals *before,
	const struct bp_totals *now, double seconds, FILE *out);
/* Prints the totals of each port, the counters that are not zero, and whether the sum is exact. */
void bp_totals_print(const struct bp_config *c, const struct bp_totals *t, FILE *out);

#endif
