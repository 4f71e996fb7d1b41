/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_FACTS_H
#define BP_DATAPLANE_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * The requirements of the data plane on a machine, for `biplane doctor`, which checks them. No EAL
 * is started.
 */
struct bp_dataplane_facts {
	char dpdk[64];        /* "DPDK 22.11.5" */
	char driver_dir[256]; /* directory in which DPDK finds its drivers, or "" */
	uint64_t memory;      /* approximate bytes in hugepages: packet buffers and the segment */
	unsigned n_workers;
	unsigned worker_cpu[BP_MAX_WORKERS];
	struct {
		char pci[32];       /* PCI address with domain, or "" */
		char interface[32]; /* kernel interface that its driver uses, or "" */
	} port[BP_MAX_PORTS];
};

/* c: NULL if there is no configuration; then only the facts about DPDK are set. */
void bp_dataplane_facts(const struct bp_config *c, struct bp_dataplane_facts *out);

#endif
