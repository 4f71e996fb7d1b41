/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/bucket.h"

#define FRAME 1000000000ull /* one frame per second is one unit per nanosecond */

void bp_bucket_init(struct bp_bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns)
{
	b->rate = rate;
	b->full = (burst ? burst : 1) * FRAME;
	b->fill = b->full;
	b->fill_ns = rate ? b->full / rate + 1 : UINT64_MAX;
	b->last_ns = now_ns;
}

static void refill(struct bp_bucket *b, uint64_t now_ns)
{
	uint64_t passed = now_ns > b->last_ns ? now_ns - b->last_ns : 0;

	b->last_ns += passed;
	/* so the product below exceeds `full` by at most about one frame */
	if (passed >= b->fill_ns || passed * b->rate >= b->full - b->fill)
		b->fill = b->full;
	else
		b->fill += passed * b->rate;
}

uint32_t bp_bucket_tokens(struct bp_bucket *b, uint64_t now_ns, uint32_t most)
{
	uint64_t n;

	refill(b, now_ns);
	n = b->fill / FRAME;
	return n < most ? (uint32_t)n : most;
}

void bp_bucket_take(struct bp_bucket *b, uint32_t n)
{
	b->fill -= n * FRAME;
}
