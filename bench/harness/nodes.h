/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_NODES_H
#define BP_BENCH_HARNESS_NODES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * Cycles by graph node: reads the statistics of rte_graph in short slices in which the worker was
 * not preempted, for a total of the given seconds if there are enough such slices. Prints members
 * of a JSON object: "nodes", each with its cycles per packet (`packets` counts the unit of the
 * case), and "worker_cycles", the CPU time of the worker per packet: the nodes plus the graph walk
 * between them. All values are of the middle half of the slices, sorted by cycles per packet: only
 * one walk in sixteen is timed (dataplane/workers/walk.h), and an interrupt in it would show. The
 * measurement does not influence the worker. `graph`: its name. Terminates the process if there are
 * no statistics.
 */
void bench_nodes_measure(
	const char *graph, double seconds, pthread_t worker, const _Atomic uint64_t *packets);

#endif
