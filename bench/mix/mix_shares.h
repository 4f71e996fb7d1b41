/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_MIX_MIX_SHARES_H
#define BP_BENCH_MIX_MIX_SHARES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The composition of a traffic mix: shares of the five services, and of frames that no service
 * processes. Shares are frames in a repeated pattern, in which the frames of each part are evenly
 * distributed, so that every burst is mixed.
 */
enum bench_mix_part {
	BENCH_MIX_MQTT,     /* PUBLISH packets, inspected; alarms mirrored */
	BENCH_MIX_PHD,      /* reports of health devices, converted to requests to a CSE */
	BENCH_MIX_MESSAGES, /* UDP messages of sensors, aggregated */
	BENCH_MIX_READINGS, /* readings of trackers, transformed */
	BENCH_MIX_LCL,      /* time-sensitive frames with labels, scheduled */
	BENCH_MIX_PLAIN,    /* UDP that is only routed */
	BENCH_MIX_PARTS,
};

#define BENCH_MIX_PATTERN 1000u /* maximum frames in a pattern */

struct bench_mix_shares {
	uint32_t of[BENCH_MIX_PARTS];
};

extern const char *const bench_mix_name[BENCH_MIX_PARTS];
/* Default shares of the five services and of routed traffic, in a hundred frames. */
extern const struct bench_mix_shares bench_mix_all;

/*
 * Parses "all" (bench_mix_all), or comma-separated parts, each with an optional share (default 1):
 * "mqtt", "mqtt=3,plain=1". Returns 0, or -1 with a message on stderr.
 */
int bench_mix_shares_read(
	const char *text, struct bench_mix_shares *out, char *err, size_t err_size);
/* Frames in a pattern: the sum of the shares. */
uint32_t bench_mix_length(const struct bench_mix_shares *s);
/* Writes the part of each frame of a pattern; returns its length. */
uint32_t bench_mix_pattern(const struct bench_mix_shares *s, uint8_t pattern[BENCH_MIX_PATTERN]);

#endif
