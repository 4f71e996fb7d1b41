/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TOP_SAMPLE_H
#define BP_APPS_BIPLANE_TOP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/show/show.h"
#include "shm/layout.h"

/* What `biplane top` reads of an instance at one time; a rate is the difference of two. */

struct bp_top_plane {
	bool running;
	uint64_t pid, started_ns;
	double cpu_s; /* used by the process; NAN: unknown */
};

struct bp_top_port {
	char name[BP_NAME_MAX + 1];
	bool link_up;
	struct bp_show_port_sum sum;
	uint64_t nic_dropped;
};

struct bp_top_worker {
	uint64_t rx, tx, drops, publishes, alarms, busy_ns, sleep_ns;
};

struct bp_top_rule {
	uint64_t uid;
	uint64_t matched, no_value, raised, cleared;
};

struct bp_top_node {
	char name[48];
	uint32_t worker;
	uint64_t calls, packets, cycles;
};

struct bp_top_sample {
	uint64_t mono_ns, unix_ns;
	struct bp_top_plane data, control;
	unsigned n_ports, n_workers;
	struct bp_top_port port[BP_MAX_PORTS];
	struct bp_top_worker worker[BP_MAX_WORKERS];
	uint64_t drops, publishes, raised, lost, acknowledged;
	uint64_t in_flight, spool_rows, connections;
	bool publisher_connected;
	unsigned faults; /* open */
	char fault[96];  /* name and object of the first */
	/* allocated: arrays that only grow */
	struct bp_top_rule *rule; /* in the order of the rule set */
	uint32_t n_rules;
	uint64_t generation;
	struct bp_top_node *node;
	uint32_t n_nodes;
};

/*
 * Reads an instance. rules: its rule set, or NULL. Returns whether there was enough memory. All
 * values of the segment are bounded: another process writes them.
 */
bool bp_top_sample_read(struct bp_top_sample *s, const struct bp_shm *m,
	const struct bp_ruleset *rules, uint64_t mono_ns, uint64_t unix_ns);
void bp_top_sample_free(struct bp_top_sample *s);

/* CPU time of a process, s; NAN: there is none, or it is not visible. */
double bp_top_cpu_s(uint64_t pid);

#endif
