/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CAPTURE_H
#define BP_BENCH_HARNESS_CAPTURE_H

#include <stdint.h>

#define BENCH_CAPTURE_FRAME_MAX 2048u

/* Writes frame `i` to frame[] (BENCH_CAPTURE_FRAME_MAX bytes); returns its length. */
typedef uint32_t (*bench_capture_frame)(uint32_t i, uint8_t *frame, const void *arg);

/* Writes a capture of n Ethernet frames with zero timestamps. Returns 0, or -1 with a message on
 * stderr. */
int bench_capture(const char *path, uint32_t n, bench_capture_frame make, const void *arg);

#endif
