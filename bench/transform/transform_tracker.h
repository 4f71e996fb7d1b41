/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_TRACKER_H
#define BP_BENCH_TRANSFORM_TRANSFORM_TRACKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bench/transform/transform_frames.h"

/*
 * A tracker at one end of the links of bench/harness/veth_lab.h, and the verification of the
 * results at the robot. Every function terminates the process with a message on failure.
 */
#define BENCH_TRACKER_PIECE 40u /* readings per call; divides BENCH_TRANSFORM_READINGS */
#define BENCH_TRACKER_PATIENCE_NS 20000000000ull

struct bench_tracker {
	int fd;
	uint32_t next; /* index of the next frame */
	uint64_t sent;
	double m[12]; /* column by column */
	uint8_t frame[BENCH_TRANSFORM_READINGS][BENCH_TRANSFORM_FRAME];
	struct iovec data[BENCH_TRANSFORM_READINGS];
	struct mmsghdr head[BENCH_TRANSFORM_READINGS];
	bool frames; /* sends frames; otherwise payloads */
	uint8_t payload[BENCH_TRANSFORM_READINGS][BENCH_TRANSFORM_PAYLOAD];
};

/* Draws the matrix, and creates the frames. */
void bench_tracker_make(struct bench_tracker *t);
/* The next `n` readings, at most BENCH_TRACKER_PIECE. */
void bench_tracker_send(struct bench_tracker *t, uint32_t n);
/* Sends a few readings at a time until each result was received correctly by the robot; readings
 * sent before the receiver was ready have no result. */
void bench_tracker_check(struct bench_tracker *t);

#endif
