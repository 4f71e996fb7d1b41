/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_SHARES_H
#define BP_BENCH_MIX_MIX_SHARES_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a mix of traffic is made of, and how much of each: the five systems, and frames that none of
 * them takes. Shares are frames in a pattern that is repeated; in it each part's frames lie as far
 * apart as they can, so that every burst is a mix.
 */
enum bench_mix_part {
	BENCH_MIX_MQTT,     /* PUBLISHes, inspected; alarms cloned */
	BENCH_MIX_PHD,      /* health devices' reports, to requests to a CSE */
	BENCH_MIX_MESSAGES, /* UDP messages of sensors, aggregated */
	BENCH_MIX_READINGS, /* trackers' readings, transformed */
	BENCH_MIX_LCL,      /* time-sensitive frames with labels, scheduled */
	BENCH_MIX_PLAIN,    /* UDP that is only routed */
	BENCH_MIX_PARTS,
};

#define BENCH_MIX_PATTERN 1000u /* frames in a pattern, at most */

struct bench_mix_shares {
	uint32_t of[BENCH_MIX_PARTS];
};

extern const char *const bench_mix_name[BENCH_MIX_PARTS];
/* Each of the five systems and what is only routed, in a hundred frames. */
extern const struct bench_mix_shares bench_mix_all;

/*
 * "all": bench_mix_all; or parts with commas between, each with its share behind '=' or without
 * (1): "mqtt", "mqtt=3,plain=1". Returns 0, or -1 with a sentence.
 */
int bench_mix_shares_read(
	const char *text, struct bench_mix_shares *out, char *err, size_t err_size);
/* Frames in a pattern: the sum of the shares. */
uint32_t bench_mix_length(const struct bench_mix_shares *s);
/* Writes the part of each frame of a pattern; returns its length. */
uint32_t bench_mix_pattern(const struct bench_mix_shares *s, uint8_t pattern[BENCH_MIX_PATTERN]);

#endif
