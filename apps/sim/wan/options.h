/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAN_SIM_OPTIONS_H
#define WAN_SIM_OPTIONS_H

#include <stdint.h>

#include "apps/sim/wan/path.h"

struct wan_options {
	const char *interface[2];
	struct wan_path_options path; /* of either direction */
	uint64_t seed;
};

/* Ends the program with status 64 on invalid arguments, with 0 after --help. */
void wan_options_read(struct wan_options *o, int argc, char **argv);

#endif
