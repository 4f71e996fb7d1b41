/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema.h"

/* Sections aggregate, disaggregate and aggregation: what their settings must not contradict. */

/* Queues have a power of two of places. */
static uint32_t rounded_up(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

void bp_check_aggregation(struct bp_reader *r)
{
	r->config->aggregation.queue = rounded_up(r->config->aggregation.queue);
}
