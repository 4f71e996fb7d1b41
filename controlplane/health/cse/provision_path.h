/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_PATH_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the CSE keeps a device's measurements: phd.cse.path with its templates filled in. Its first
 * segment is the CSE's base, the second an AE, the rest are containers.
 */
#define BP_PROVISION_PATH_MAX 512u
#define BP_PROVISION_SEGMENTS_MAX 16u

struct bp_provision_names {
	const uint8_t *system_id; /* 8 octets */
	const char *type;
	const char *object;
};

/* False: longer than `size`, or a template that is none. */
bool bp_provision_render(
	char *out, size_t size, const char *template_, const struct bp_provision_names *n);
/* Octets of the first `n` segments of a path; all of it when it has no more. */
size_t bp_provision_prefix(const char *path, unsigned n);
unsigned bp_provision_segments(const char *path);
/* Segment `i` (from 0) as a text of its own; false: there is none, or it is longer than `size`. */
bool bp_provision_segment(char *out, size_t size, const char *path, unsigned i);

#endif
