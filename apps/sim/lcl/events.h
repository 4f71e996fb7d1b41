/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_EVENTS_H
#define BIPLANE_LCL_SIM_EVENTS_H

#include <stdint.h>

/*
 * Time of the next event of each of a fixed number of objects: a heap with one entry per object. At
 * equal times the object with the smallest number is first, so that runs are reproducible.
 */
#define LSIM_NEVER UINT64_MAX

struct lsim_events {
	uint64_t *at;    /* of each object, ps */
	uint32_t *heap;  /* things */
	uint32_t *place; /* index of each object in heap[] */
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
