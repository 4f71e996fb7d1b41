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

struct bp_replay_options {
	const char *config_path;
	const struct bp_replay_file *in; /* at least one; a port may have several */
	unsigned n_in;
	const struct bp_replay_file *out; /* none, or one a port; written as nanosecond pcap */
	unsigned n_out;
	bool json;
	/* each request to the CSE that leaves is acknowledged at once, as if it had stored it */
	bool assume_stored;
	/* The report's part on aggregation, as an object of JSON and as text: whoever shows the
	 * segment's tables elsewhere shows them here, too. NULL: the report says nothing of it. */
	json_t *(*aggregation)(const struct bp_shm *shm);
	void (*print_aggregation)(const json_t *aggregation, FILE *out);
	/* The same on coordinate transformation. */
	json_t *(*transformation)(const struct bp_shm *shm);
	void (*print_transformation)(const json_t *transformation, FILE *out);
	/* The same on LCL scheduling. */
	json_t *(*lcl)(const struct bp_shm *shm);
	void (*print_lcl)(const json_t *lcl, FILE *out);
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
