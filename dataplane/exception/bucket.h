/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_BUCKET_H
#define BP_DATAPLANE_EXCEPTION_BUCKET_H

#include <stdint.h>

/*
 * A token bucket with an average of `rate` frames per second and a burst of `burst` frames. It uses
 * exact integers: no fraction of a frame is lost at any call rate. Time is a parameter, in
 * nanoseconds of a clock that does not go backwards. Not thread-safe.
 */
struct bp_bucket {
	uint64_t fill;    /* 10^9 per frame */
	uint64_t full;    /* the same of `burst` frames */
	uint64_t fill_ns; /* time to fill an empty bucket, ns */
	uint64_t last_ns;
	uint32_t rate;
};

/*
 * Initialises a full bucket. With rate 0 no frame passes after the burst; a burst of 0 counts as 1.
 */
void bp_bucket_init(struct bp_bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);
/* Returns the number of frames that may pass now, at most `most`. */
uint32_t bp_bucket_tokens(struct bp_bucket *b, uint64_t now_ns, uint32_t most);
/* Removes `n` tokens, at most the number that bp_bucket_tokens() has just returned. */
void bp_bucket_take(struct bp_bucket *b, uint32_t n);

#endif
