/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_H
#define BP_DATAPLANE_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "shm/layout.h"

/* A port of the configuration and a capture file. */
struct bp_replay_file {
	const char *port;
	const char *path;
};

/* A part of the report, built from the tables of the segment. */
struct bp_replay_part {
	const char *name; /* name of its member of the JSON object */
	/* returns a new reference; NULL: no content */
	json_t *(*collect)(const struct bp_shm *shm);
	void (*print)(const json_t *part, FILE *out);
	bool (*present)(const struct bp_shm *shm); /* whether the segment has the tables */
};

/* A part of the report about the events of the policy, each of which is given to `event`. */
struct bp_replay_policy {
	void *arg;
	void (*event)(void *arg, const struct bp_shm *shm, const struct bp_event *e);
	json_t *(*collect)(void *arg, const struct bp_shm *shm); /* NULL: no policy */
	void (*print)(const json_t *part, FILE *out);
	bool alone; /* the report has no other part */
};

struct bp_replay_options {
	const char *config_path;
	const struct bp_replay_file *in; /* at least one; a port may have several */
	unsigned n_in;
	/* may be empty; at most one per port; written as nanosecond pcap */
	const struct bp_replay_file *out;
	unsigned n_out;
	bool json;
	/* each request to the CSE is acknowledged immediately as stored */
	bool assume_stored;
	/* Parts of the report, at most one per service: `biplane show` shows the same tables. */
	const struct bp_replay_part *const *parts; /* n_parts */
	unsigned n_parts;
	const struct bp_replay_policy *policy; /* NULL: none */
	FILE *report; /* output of the summary or the JSON object; NULL: stdout */
};

/*
 * Sends captures (pcap, pcapng) through the graph of a configuration, with the time of the
 * captures. It needs no privileges, hugepages or devices. The same input gives the same output,
 * byte for byte. The calling process must not have started EAL otherwise; it may call the function
 * again. Errors are written to stderr as sentences. Returns an exit status: 0, EX_CONFIG (78),
 * EX_NOINPUT (66) for an unreadable capture, EX_USAGE (64) for an unknown port, EX_CANTCREAT (73)
 * or EX_IOERR (74) for an output that cannot be written, EX_UNAVAILABLE (69) if DPDK cannot start.
 */
int bp_replay_run(const struct bp_replay_options *o);

#endif
