/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/facts.h"

#include <stdio.h>
#include <string.h>

#include <rte_config.h>
#include <rte_version.h>

#include "dataplane/process/cpus.h"
#include "dataplane/ports/device.h"
#include "dataplane/workers/pools.h"
#include "shm/layout.h"
#include "config/segment.h"

static uint64_t segment_bytes(const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	unsigned n = bp_shm_specs(c, specs);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += specs[i].capacity * specs[i].element_size;
	return bytes;
}

/* The result of bp_cpus_choose() on a machine where every CPU is allowed. */
static void choose_cpus(const struct bp_config *c, struct bp_dataplane_facts *out)
{
	struct bp_cpus cpus;
	cpu_set_t allowed;
	char err[256];

	CPU_ZERO(&allowed);
	if (!c->workers_listed) {
		if (bp_cpus_allowed(false, &allowed) != 0)
			return;
	} else {
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			CPU_SET(i, &allowed);
	}
	if (bp_cpus_choose(c, &allowed, &cpus, err, sizeof(err)) != 0)
		return;
	out->n_workers = cpus.n_workers;
	memcpy(out->worker_cpu, cpus.worker_cpu, sizeof(out->worker_cpu));
}

void bp_dataplane_facts(const struct bp_config *c, struct bp_dataplane_facts *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->dpdk, sizeof(out->dpdk), "%s", rte_version());
#ifdef RTE_EAL_PMD_PATH
	snprintf(out->driver_dir, sizeof(out->driver_dir), "%s", RTE_EAL_PMD_PATH);
#endif
	if (!c)
		return;
	out->memory = bp_pools_estimate(c) + segment_bytes(c);
	choose_cpus(c, out);
	for (unsigned p = 0; p < c->n_ports; p++) {
		const char *device = c->port[p].device;

		if (!bp_device_is_pci(device, out->port[p].pci, sizeof(out->port[p].pci)))
			out->port[p].pci[0] = 0;
		if (!bp_device_arg(device, "iface", out->port[p].interface,
			    sizeof(out->port[p].interface)))
			out->port[p].interface[0] = 0;
	}
}
