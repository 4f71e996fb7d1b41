/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACKER_SIM_OPTIONS_H
#define TRACKER_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "apps/sim/tracker/path.h"

#define TRACKERS_MAX 256u

struct tracker_options {
	bool receive, timed;
	struct sockaddr_storage at; /* of the readings' receiver; or to listen on */
	uint32_t n_from;            /* trackers */
	struct sockaddr_storage from[TRACKERS_MAX];
	enum tracker_path path;
	double rate;      /* readings per second of each tracker; 0: unlimited */
	uint64_t count;   /* readings of each tracker; when receiving: of all, 0 for no end */
	uint64_t idle_ns; /* receiving ends after this time without a packet */
	uint64_t seed;
	const char *log; /* file for a line a reading, or NULL */
};

/* Ends the program with status 64 on invalid arguments, with 0 after --help. */
void tracker_options_read(struct tracker_options *o, int argc, char **argv);

#endif
