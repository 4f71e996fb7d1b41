/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_BUCKET_H
#define BP_DATAPLANE_EXCEPTION_BUCKET_H

#include <stdint.h>

/*
 * A token bucket: on average `rate` frames a second, and up to `burst` at once. Integers only, and
 * exact: no fraction of a frame is lost, however often it is asked. Time is a parameter, in
 * nanoseconds of a clock that does not go back. Not for several threads.
 */
struct bp_bucket {
	uint64_t fill;    /* 10^9 per frame */
	uint64_t full;    /* the same of `burst` frames */
	uint64_t fill_ns; /* after so long it is full, whatever was in it */
	uint64_t last_ns;
	uint32_t rate;
};

/* It begins full. With rate 0 nothing follows the burst; a burst of 0 counts as 1. */
void bp_bucket_init(struct bp_bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);
/* Frames that may pass now, at most `most`. */
uint32_t bp_bucket_tokens(struct bp_bucket *b, uint64_t now_ns, uint32_t most);
/* Takes `n` out, no more than bp_bucket_tokens() has just said. */
void bp_bucket_take(struct bp_bucket *b, uint32_t n);

#endif
