/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_SHOW_H
#define BP_APPS_BIPLANE_SHOW_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "apps/biplane/show/fib_list.h"
#include "apps/biplane/show/health/session_filter.h"
#include "apps/biplane/show/stream_filter.h"
#include "shm/layout.h"

struct bp_config_instance;
struct bp_fib_diff;
struct bp_kernel_state;

/*
 * `biplane show`: each view reads the segment into JSON, and sets that JSON as text. A view only
 * looks: the mapping is read only, and no look holds up a plane.
 */
struct bp_show_source {
	const struct bp_shm *shm; /* read only */
	/* of files in the runtime directory; NULL: not looked at */
	const struct bp_config_instance *instance;
	uint64_t unix_ns, mono_ns; /* now */
	uint64_t limit;            /* newest alarms, first flows, sessions, streams; 0: all */
	/* of the views that take them */
	struct bp_fib_filter filter;
	const char *vrf; /* routes: of this VRF; NULL: of all, and the lookup in the main one */
	struct bp_address address; /* look this one up as a worker does; family 0: none */
	struct bp_session_filter sessions;
	struct bp_stream_filter streams;
	bool openmetrics; /* metrics: OpenMetrics instead of Prometheus text */
	/* rates: the period before mono_ns, and the length of an interval; 0: default */
	uint64_t since_ns;
	uint32_t step_s;
};

struct bp_show_view {
	const char *name;
	const char *summary;
	uint64_t default_limit; /* 0: the view has no limit */
	/* A new reference, or NULL with a sentence in err. */
	json_t *(*collect)(const struct bp_show_source *s, char *err, size_t err_size);
	void (*print)(const json_t *view, bool all, FILE *out);
	/*
	 * Instead of both, for up to a million entries: writes each entry when it is read. `json`:
	 * an object, without line breaks when `compact`. 0, or -1 with a sentence.
	 */
	int (*write)(const struct bp_show_source *s, bool json, bool compact, FILE *out, char *err,
		size_t err_size);
	/* Compares with the kernel's state, for --diff; false without memory. */
	bool (*diff)(const struct bp_show_source *s, const struct bp_kernel_state *k,
		struct bp_fib_diff *d);
	bool takes_family;   /* -4 and -6 */
	bool takes_prefix;   /* one more word: an address or a prefix */
	bool takes_vrf;      /* --vrf */
	bool takes_sessions; /* --state, --type, --address, and one more word: a system-id */
	bool takes_streams;  /* --rule, --address */
	bool takes_format;   /* --openmetrics */
	bool takes_since;    /* --since, --step */
};

extern const struct bp_show_view bp_show_ports;
extern const struct bp_show_view bp_show_nodes;
extern const struct bp_show_view bp_show_drops;
extern const struct bp_show_view bp_show_rates;
extern const struct bp_show_view bp_show_alarms;
extern const struct bp_show_view bp_show_latency;
extern const struct bp_show_view bp_show_connections;
extern const struct bp_show_view bp_show_not_inspected;
extern const struct bp_show_view bp_show_rules;
extern const struct bp_show_view bp_show_policy;
extern const struct bp_show_view bp_show_counters;
extern const struct bp_show_view bp_show_interfaces;
extern const struct bp_show_view bp_show_neighbors;
extern const struct bp_show_view bp_show_sessions;
extern const struct bp_show_view bp_show_routes;
extern const struct bp_show_view bp_show_aggregates;
extern const struct bp_show_view bp_show_transform;
extern const struct bp_show_view bp_show_lcl;
extern const struct bp_show_view bp_show_health;
extern const struct bp_show_view bp_show_fleet;
extern const struct bp_show_view bp_show_captures;
extern const struct bp_show_view bp_show_metrics;

/* Completes the filter with the number of s->vrf. False with a sentence: there is none. */
bool bp_show_routes_filter(
	const struct bp_show_source *s, struct bp_fib_filter *out, char *err, size_t err_size);

/* `show routes ADDRESS`: collect and print of the lookup. */
json_t *bp_show_lookup(const struct bp_show_source *s, char *err, size_t err_size);
void bp_show_lookup_print(const json_t *view, FILE *out);

/* The open faults, as rows of `show health`: a new reference. */
json_t *bp_show_open_faults(const struct bp_shm *m, uint64_t unix_ns);

/* A warning that `n` of `what` found no room in the forwarding tables; nothing when n is 0. */
void bp_show_refused(json_int_t n, const char *what, FILE *out);

/* Sums over all workers, as another process may read them while they grow. */
struct bp_show_port_sum {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, tx_dropped;
	uint64_t mac_moves, mac_moves_refused, mac_table_full;
};
void bp_show_port_sum(const struct bp_shm *m, unsigned port, struct bp_show_port_sum *sum);
/* Ports that the data plane has set up, never more than the table holds. */
unsigned bp_show_ports_in_use(const struct bp_shm *m);

/* The integer at `key`, 0 when there is none. */
json_int_t bp_show_int(const json_t *object, const char *key);

/* A copy of rows with a text for each integer member NAME_ns, "15 us", as member NAME. */
json_t *bp_show_intervals(const json_t *rows);

/* Whether a process has that number; see bp_dataplane_alive() for the data plane's. */
bool bp_show_alive(uint64_t pid);

#endif
