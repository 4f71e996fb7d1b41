/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_EVENTS_H
#define BIPLANE_LCL_SIM_EVENTS_H

#include <stdint.h>

/*
 * When each of a fixed number of things happens next: a heap in which each has one place. Of those
 * at the same time the one with the least number comes first, so that a run is the same again.
 */
#define LSIM_NEVER UINT64_MAX

struct lsim_events {
	uint64_t *at;    /* of each thing, in ps */
	uint32_t *heap;  /* things */
	uint32_t *place; /* in heap[], of each thing */
	uint32_t count;
};

/* All at LSIM_NEVER. 0, or -1: no memory. */
int lsim_events_init(struct lsim_events *e, uint32_t count);
void lsim_events_free(struct lsim_events *e);
void lsim_events_set(struct lsim_events *e, uint32_t thing, uint64_t at);

static inline uint32_t lsim_events_first(const struct lsim_events *e)
{
	return e->heap[0];
}

#endif
