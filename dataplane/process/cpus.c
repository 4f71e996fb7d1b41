/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/cpus.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define SECOND_NODE "/sys/devices/system/node/node1"

/* The allowed CPUs in ascending order. */
static unsigned list_cpus(const cpu_set_t *allowed, unsigned *cpu)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, allowed))
			cpu[n++] = i;
	return n;
}

static bool is_worker(const struct bp_cpus *c, unsigned cpu)
{
	for (unsigned w = 0; w < c->n_workers; w++)
		if (c->worker_cpu[w] == cpu)
			return true;
	return false;
}

static int take_listed(const struct bp_config *c, const cpu_set_t *allowed, const unsigned *cpu,
	unsigned n, struct bp_cpus *out, char *err, size_t err_size)
{
	for (unsigned w = 0; w < c->n_workers; w++) {
		unsigned core = c->worker_core[w];

		if (core >= CPU_SETSIZE || !CPU_ISSET(core, allowed)) {
			snprintf(err, err_size,
				"workers: core %u cannot be used here (this process may run on %u "
				"cores, the first is %u, the last %u); use other cores, or extend "
				"the affinity of the process",
				core, n, cpu[0], cpu[n - 1]);
			return -1;
		}
		out->worker_cpu[w] = core;
	}
	out->main_cpu = cpu[0];
	out->shared = true;
	for (unsigned i = 0; i < n; i++) {
		if (!is_worker(out, cpu[i])) {
			out->main_cpu = cpu[i];
			out->shared = false;
			break;
		}
	}
	return 0;
}

int bp_cpus_choose(const struct bp_config *c, const cpu_set_t *allowed, struct bp_cpus *out,
	char *err, size_t err_size)
{
	unsigned cpu[CPU_SETSIZE], n = list_cpus(allowed, cpu);

	memset(out, 0, sizeof(*out));
	out->n_workers = c->n_workers;
	if (n == 0) {
		snprintf(err, err_size, "this process may run on no CPU");
		return -1;
	}
	if (c->workers_listed)
		return take_listed(c, allowed, cpu, n, out, err, err_size);
	out->allowed = *allowed;
	/* memory of another NUMA node costs more than a wakeup on the own node */
	out->floating = c->poll_mode == BP_POLL_ADAPTIVE && access(SECOND_NODE, F_OK) != 0;
	out->main_cpu = cpu[0];
	for (unsigned w = 0; w < c->n_workers; w++)
		out->worker_cpu[w] = cpu[(w + 1) % n];
	out->shared = c->n_workers + 1 > n;
	return 0;
}

void bp_cpus_lcores(const struct bp_cpus *cpus, char *out, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; i <= cpus->n_workers && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%u@%u", i ? "," : "", i,
			i ? cpus->worker_cpu[i - 1] : cpus->main_cpu);
}
