/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_HISTORY_H
#define BP_DATAPLANE_PROCESS_HISTORY_H

#include <stdint.h>

#include "shm/layout.h"

/* Main thread: takes the samples of the history (shm/history.h). */
struct bp_history_sampler {
	const struct bp_shm *shm;
	unsigned ports;  /* in use */
	uint64_t due_ns; /* of the next sample, CLOCK_MONOTONIC */
	struct bp_history_sample sample;
};

void bp_history_sampler_init(
	struct bp_history_sampler *h, const struct bp_shm *shm, unsigned ports, uint64_t mono_ns);
/* Takes a sample if one is due. A delayed call takes one, and skips those that it missed. */
void bp_history_sampler_poll(struct bp_history_sampler *h, uint64_t mono_ns, uint64_t unix_ns);
/* Takes a sample in any case: the last before the end. */
void bp_history_sampler_take(struct bp_history_sampler *h, uint64_t mono_ns, uint64_t unix_ns);

#endif
