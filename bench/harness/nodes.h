/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_NODES_H
#define BP_BENCH_HARNESS_NODES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * Where a worker's cycles go: what rte_graph's statistics say of each node, in short slices in
 * which nothing else had the worker's processor, together so many seconds of them, as far as there
 * are any. Prints members of a JSON object: "nodes", each with its cycles for one packet of
 * `packets` (which counts what the case measures), and "worker_cycles", the worker's processor time
 * for it, which is the nodes' and that of what is between them. All are of the middle half of the
 * slices, by cycles a packet: one walk in sixteen is timed and stands for all of them
 * (dataplane/workers/walk.h), and an interrupt in one that is shows. Nothing is different for the
 * worker than without it. `graph`: its name. Ends the process when there are no statistics.
 */
void bench_nodes_measure(
	const char *graph, double seconds, pthread_t worker, const _Atomic uint64_t *packets);

#endif
