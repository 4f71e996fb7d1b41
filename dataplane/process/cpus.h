/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CPUS_H
#define BP_DATAPLANE_PROCESS_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "biplane/limits.h"

struct bp_config;

/* Which CPU runs the main thread and which runs each worker. lcore 0 is main, lcore w + 1 worker w.
 */
struct bp_cpus {
	unsigned main_cpu;
	unsigned worker_cpu[BP_MAX_WORKERS];
	unsigned n_workers;
	bool shared; /* fewer CPUs than threads: some share one */
};

/*
 * The CPUs that this process may run on: those of its affinity, and with `isolated` those that the
 * kernel keeps free of other work (isolcpus), which no process has in its affinity by itself, as
 * far as its cpuset has them. Returns 0, or -1 with errno.
 */
int bp_cpus_allowed(bool isolated, cpu_set_t *out);

/*
 * `workers: N`: main takes the first allowed CPU and the workers the following ones. A list of
 * cores: the workers take those, main the first allowed one that is not among them. With too few
 * CPUs, workers share with main first, which sleeps nearly always, then with each other. Returns 0,
 * or -1 with a sentence when a listed core may not be used.
 */
int bp_cpus_choose(const struct bp_config *c, const cpu_set_t *allowed, struct bp_cpus *out,
	char *err, size_t err_size);

/* As EAL's --lcores takes it: "0@0,1@1,2@0". */
void bp_cpus_lcores(const struct bp_cpus *cpus, char *out, size_t size);

#endif
