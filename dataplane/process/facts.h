/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_FACTS_H
#define BP_DATAPLANE_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * What the data plane would want of a machine, for `biplane doctor`, which looks whether that is
 * there. No EAL is started.
 */
struct bp_dataplane_facts {
	char dpdk[64];        /* "DPDK 22.11.5" */
	char driver_dir[256]; /* where DPDK looks for its drivers, or "" */
	uint64_t memory;      /* bytes in hugepages, about: packet buffers and the segment */
	unsigned n_workers;
	unsigned worker_cpu[BP_MAX_WORKERS];
	struct {
		char pci[32];       /* its address with domain, or "" */
		char interface[32]; /* of the kernel, that its driver sits on, or "" */
	} port[BP_MAX_PORTS];
};

/* c: NULL when there is no configuration, and then only DPDK's are known. */
void bp_dataplane_facts(const struct bp_config *c, struct bp_dataplane_facts *out);

#endif
