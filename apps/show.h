/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SHOW_H
#define BP_APPS_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shm/layout.h"

/*
 * `biplane show`: each view reads the segment into JSON, and sets that JSON as text. A view only
 * looks: the mapping is read only, and no look holds up a plane.
 */
struct bp_show_source {
	const struct bp_shm *shm;  /* read only */
	uint64_t unix_ns, mono_ns; /* now */
	uint64_t limit;            /* newest alarms, first flows; 0: all */
};

struct bp_show_view {
	const char *name;
	const char *summary;
	uint64_t default_limit; /* 0: the view has no limit */
	/* A new reference, or NULL with a sentence in err. */
	json_t *(*collect)(const struct bp_show_source *s, char *err, size_t err_size);
	void (*print)(const json_t *view, bool all, FILE *out);
};

extern const struct bp_show_view bp_show_ports;
extern const struct bp_show_view bp_show_nodes;
extern const struct bp_show_view bp_show_drops;
extern const struct bp_show_view bp_show_alarms;
extern const struct bp_show_view bp_show_flows;
extern const struct bp_show_view bp_show_rules;
extern const struct bp_show_view bp_show_counters;
extern const struct bp_show_view bp_show_planes;

/* Sums over all workers, as another process may read them while they grow. */
struct bp_show_port_sum {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, tx_dropped;
};
void bp_show_port_sum(const struct bp_shm *m, unsigned port, struct bp_show_port_sum *sum);
/* Ports that the data plane has set up, never more than the table holds. */
unsigned bp_show_ports_in_use(const struct bp_shm *m);

/* The integer at `key`, 0 when there is none. */
json_int_t bp_show_int(const json_t *object, const char *key);

/* Whether a process has that number; see bp_dataplane_alive() for the data plane's. */
bool bp_show_alive(uint64_t pid);

#endif
