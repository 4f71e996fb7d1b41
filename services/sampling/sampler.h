/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_SAMPLING_SAMPLER_H
#define BP_SERVICES_SAMPLING_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/sampling.h"

/*
 * Chooses one of each `one_in` frames that an entry matches, at random, so that what sends at
 * regular intervals is not sampled at a regular phase: stratified sampling, RFC 5475, 5.2.1 (random
 * n-out-of-N with n = 1).
 */
struct bp_sampler;

/* `seed`: secret, so that senders cannot predict the samples. NULL: no memory. */
struct bp_sampler *bp_sampler_create(uint64_t seed);
void bp_sampler_free(struct bp_sampler *s);

/* Whether these rules are valid between ports of these MTUs, bytes (0: no such port). */
bool bp_sampling_valid(const struct bp_sampling_rules *r, const uint16_t mtu[BP_MAX_PORTS]);
/* Sets the rules, which must be valid; each entry begins a new interval. */
void bp_sampler_set(struct bp_sampler *s, const struct bp_sampling_rules *r);
/* Whether an entry applies to frames received on the port. */
bool bp_sampler_uses_port(const struct bp_sampler *s, unsigned port);

/* The entry that a frame matches, of which `len` bytes are at `frame`, or -1; *chosen: the caller
 * must mirror it. */
int bp_sampler_frame(
	struct bp_sampler *s, const uint8_t *frame, size_t len, uint16_t port, bool *chosen);

#endif
