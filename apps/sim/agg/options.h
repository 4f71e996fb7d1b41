/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_OPTIONS_H
#define BIPLANE_AGG_SIM_OPTIONS_H

#include "apps/sim/agg/first.h"

#define SIM_BETAS_MAX 64

struct sim_options {
	struct sim_first_options first;
	unsigned streams;          /* that share the rate */
	uint64_t packets, warm_up; /* N-packets that are measured, and before them */
	enum sim_service service;  /* of the second switch */
	double mu;       /* its rate, a multiple of that of the messages; 0: no second switch */
	uint32_t buffer; /* N-packets that may wait; SIM_ENDLESS */
	double beta[SIM_BETAS_MAX];
	unsigned n_betas;
	const char *samples; /* file */
};

/* Ends the program on --help and on invalid arguments. */
void sim_options_read(struct sim_options *o, int argc, char **argv);

#endif
