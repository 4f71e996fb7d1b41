/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HOSTILE_HOSTILE_H
#define BP_BENCH_HOSTILE_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/services/mqtt/rig.h"

/* Frames on a link, sorted by their arrival. */
struct hostile_frame {
	uint64_t at_ns;
	uint8_t *data;
	uint32_t len;
	bool attack;
};

struct hostile_trace {
	struct hostile_frame *frame;
	size_t n, room;
};

/* The frames of an attack so far. hostile.c limits their rate; an attack only selects them. */
struct hostile_attack_run {
	struct hostile_trace *trace;
	struct peer peer;
	uint64_t wire; /* bytes on the link */
	uint64_t limit;
	uint64_t seed;
};

void hostile_frame(
	struct hostile_trace *t, uint64_t at_ns, const uint8_t *data, size_t n, bool attack);
/* Adds a frame of the attack at the time given by its rate. Returns false if the time is over. */
bool hostile_attack_frame(struct hostile_attack_run *r, const uint8_t *data, size_t n);
bool hostile_segment(struct hostile_attack_run *r, unsigned from, uint8_t flags, uint32_t seq,
	const void *payload, size_t n);
/* Sends `b` in segments of `size`. */
bool hostile_send(struct hostile_attack_run *r, const struct bytes *b, size_t size);
/* Opens a connection up to its CONNACK, which allows this number of topic aliases. */
void hostile_connect(struct hostile_attack_run *r, uint32_t number, uint16_t aliases, bool connack);
uint64_t hostile_random(uint64_t *seed);

struct hostile_attack {
	const char *name, *what;
	/* Adds frames until one of the calls above returns false. */
	void (*make)(struct hostile_attack_run *r);
};
extern const struct hostile_attack hostile_attacks[];
extern const size_t hostile_n_attacks;

#endif
