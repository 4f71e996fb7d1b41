/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/arrivals.h"

#include <stdlib.h>

struct sim_device {
	double next, period;
};

/* The device at `i` may report later than those below it: a heap by `next`, the first at 0. */
static void sift(struct sim_arrivals *a, uint32_t i)
{
	struct sim_device *h = a->heap, moved = h[i];

	for (uint32_t child; (child = 2 * i + 1) < a->devices; i = child) {
		if (child + 1 < a->devices && h[child + 1].next < h[child].next)
			child++;
		if (h[child].next >= moved.next)
			break;
		h[i] = h[child];
	}
	h[i] = moved;
}

int sim_arrivals_init(struct sim_arrivals *a, double mean_ns, uint32_t devices, uint64_t seed)
{
	double rate = 0;

	*a = (struct sim_arrivals){.random = {seed}, .mean = mean_ns, .devices = devices};
	if (devices == 0)
		return 0;
	a->heap = calloc(devices, sizeof(a->heap[0]));
	if (a->heap == NULL)
		return -1;
	for (uint32_t i = 0; i < devices; i++) {
		a->heap[i].period = 0.95 + 0.1 * sim_uniform(&a->random);
		rate += 1 / a->heap[i].period;
	}
	for (uint32_t i = 0; i < devices; i++) {
		a->heap[i].period *= mean_ns * rate;
		a->heap[i].next = a->heap[i].period * sim_uniform(&a->random);
	}
	for (uint32_t i = devices / 2; i-- > 0;)
		sift(a, i);
	return 0;
}

void sim_arrivals_free(struct sim_arrivals *a)
{
	free(a->heap);
	a->heap = NULL;
}

double sim_arrivals_next(struct sim_arrivals *a)
{
	if (a->devices == 0) {
		a->now += a->mean * sim_exponential(&a->random);
	} else {
		a->now = a->heap[0].next;
		a->heap[0].next += a->heap[0].period;
		sift(a, 0);
	}
	return a->now;
}
