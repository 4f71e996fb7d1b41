/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_OPTIONS_H
#define BIPLANE_LCL_SIM_OPTIONS_H

#include <stdbool.h>

#include "apps/sim/lcl/scenario.h"

struct lsim_options {
	struct lsim_scenario_options s;
	uint64_t frames;    /* time-sensitive, of all flows */
	uint64_t series_ns; /* 0: none */
	bool json;
};

/* Ends the program on --help and on invalid arguments. */
void lsim_options_read(struct lsim_options *o, int argc, char **argv);

#endif
