/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_SOURCE_H
#define BIPLANE_LCL_SIM_SOURCE_H

#include <stdint.h>

#include "apps/sim/sim_random.h"

/* Frames of a flow, and their complete arrival at the first node. */
enum lsim_kind {
	LSIM_BURSTS,   /* `burst` frames back to back at `peak_bps`, then a pause */
	LSIM_CONSTANT, /* gaps as long as the frames' sizes ask for */
	LSIM_POISSON,  /* frames at random */
};

struct lsim_source {
	enum lsim_kind kind;
	uint64_t rate_bps, peak_bps;   /* on the wire, with checksum, preamble and gap */
	uint32_t burst;                /* frames */
	uint32_t bytes_min, bytes_max; /* without checksum; sizes are random between */
	uint64_t phase_ps;             /* when the first burst or gap begins */
	double wander; /* gaps between bursts are longer than they need be by up to this share */
	struct sim_random random;
	uint32_t in_burst; /* frames that it has sent of this burst */
	uint64_t begin_ps; /* of this burst */
	uint64_t at_ps;    /* when the frame before was whole */
};

struct lsim_next {
	uint64_t at_ps;
	uint32_t bytes;
};
/* The next frame; times do not go back. */
struct lsim_next lsim_source_next(struct lsim_source *s);

/* Link time of this number of bytes, with checksum, preamble and gap. */
uint64_t lsim_tx_time_ps(uint32_t bytes, uint64_t rate_bps);

#endif
