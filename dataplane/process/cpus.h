/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CPUS_H
#define BP_DATAPLANE_PROCESS_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "biplane/limits.h"

struct bp_config;

/*
 * The CPUs of the main thread and of each worker. lcore 0 is the main thread, lcore w + 1 is worker
 * w.
 */
struct bp_cpus {
	unsigned main_cpu;
	unsigned worker_cpu[BP_MAX_WORKERS];
	unsigned n_workers;
	bool shared; /* fewer CPUs than threads: some threads share a CPU */
	/*
	 * `poll_mode: adaptive` without a list of cores: workers start on their CPUs, but may run
	 * on each of `allowed`. A worker that is woken then does not wait for the thread that
	 * uses its CPU, and the scheduler can wake it on the CPU of the sender.
	 */
	bool floating;
	cpu_set_t allowed;
};

/*
 * The CPUs that this process may use: those of its affinity and, with `isolated`, also the isolated
 * CPUs (isolcpus) that its cpuset contains, which are in no affinity by default. Returns 0, or -1
 * with errno.
 */
int bp_cpus_allowed(bool isolated, cpu_set_t *out);

/*
 * `workers: N`: the main thread uses the first allowed CPU and the workers the following ones. A
 * list of cores: the workers use those, and the main thread the first allowed one that is not in
 * the list. If there are too few CPUs, workers share one with the main thread first, which is
 * almost always idle, then with each other. Returns 0, or -1 with a message in `err` if a listed
 * core may not be used.
 */
int bp_cpus_choose(const struct bp_config *c, const cpu_set_t *allowed, struct bp_cpus *out,
	char *err, size_t err_size);

/* Writes the value of --lcores of EAL: "0@0,1@1,2@0". */
void bp_cpus_lcores(const struct bp_cpus *cpus, char *out, size_t size);

#endif
