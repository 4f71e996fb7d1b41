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

/* A part of the report, read from the segment's tables. */
struct bp_replay_part {
	const char *name;                             /* its member of the JSON object */
	json_t *(*collect)(const struct bp_shm *shm); /* a new reference; NULL: nothing to say */
	void (*print)(const json_t *part, FILE *out);
	bool (*present)(const struct bp_shm *shm); /* whether the segment has its tables */
};

struct bp_replay_options {
	const char *config_path;
	const struct bp_replay_file *in; /* at least one; a port may have several */
	unsigned n_in;
	const struct bp_replay_file *out; /* none, or one a port; written as nanosecond pcap */
	unsigned n_out;
	bool json;
	/* each request to the CSE that leaves is acknowledged at once, as if it had stored it */
	bool assume_stored;
	/* Parts of the report, at most one a service: `biplane show` shows the same tables. */
	const struct bp_replay_part *const *parts; /* n_parts */
	unsigned n_parts;
	FILE *report; /* where the summary or the JSON object goes; NULL: stdout */
};

/*
 * Sends captures (pcap, pcapng) through the graph of a configuration, in their own time. Needs no
 * privilege, no hugepages, no device. The same input gives the same output, byte for byte. To be
 * called from a process that has not started DPDK's EAL otherwise; may be called again there.
 * Errors go to stderr as sentences. Returns an exit status: 0, EX_CONFIG (78), EX_NOINPUT (66) for
 * a capture that can't be read, EX_USAGE (64) for a port that does not exist, EX_CANTCREAT (73) or
 * EX_IOERR (74) for an output that can't be written, EX_UNAVAILABLE (69) when DPDK can't start.
 */
int bp_replay_run(const struct bp_replay_options *o);

#endif
