/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_SAMPLING_H
#define BIPLANE_SAMPLING_H

#include <stdint.h>

#include "biplane/limits.h"
#include "biplane/match.h"

/* The configuration of sampling (section sampling), in the form in which the planes share it. */

#define BP_SAMPLING_MAX 16              /* entries */
#define BP_SAMPLING_ONE_IN_MAX 16777216 /* frames */

struct bp_sampling_rule {
	char name[BP_NAME_MAX + 1];
	struct bp_match match;
	uint32_t one_in; /* frames that match, of which one is mirrored; 1: all */
	uint8_t mirror;  /* index of the port that it is mirrored to */
	uint8_t pad[3];
};

struct bp_sampling_rules {
	uint32_t n, pad;
	struct bp_sampling_rule rule[BP_SAMPLING_MAX];
};
_Static_assert(sizeof(struct bp_sampling_rules) % 8 == 0, "shm/seqlock.h copies words");

#endif
