/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_FIB_DIFF_H
#define BP_APPS_BIPLANE_SHOW_FIB_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "apps/biplane/show/show.h"
#include "controlplane/sync/kernel_dump.h"

/*
 * Differences between the forwarding tables and the kernel. An entry of the configuration file
 * (origin static) is not a difference, and neither is a kernel route that a static route replaces.
 */
enum bp_fib_side { BP_DIFF_KERNEL_ONLY, BP_DIFF_BIPLANE_ONLY, BP_DIFF_BOTH };

struct bp_fib_difference {
	enum bp_fib_side side;
	char *text; /* "10.0.0.0/8 via ...", without the side */
};

struct bp_fib_diff {
	uint32_t n, capacity;
	struct bp_fib_difference *difference;
	uint32_t same;         /* entries that agree */
	uint32_t only_in_file; /* static entries, passed over */
};

/* One view each; false without memory. */
bool bp_fib_diff_interfaces(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d);
bool bp_fib_diff_neighbors(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d);
bool bp_fib_diff_routes(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d);

/* Takes ownership of `text`; NULL means out of memory. False: out of memory. */
bool bp_fib_diff_add(struct bp_fib_diff *d, enum bp_fib_side side, char *text);
/* Keeps in `d` only the differences that are also in `before`: the others can be in transit. */
void bp_fib_diff_keep_common(struct bp_fib_diff *d, const struct bp_fib_diff *before);
void bp_fib_diff_free(struct bp_fib_diff *d);

/* "- kernel only: ...", "+ biplane only: ...", "~ differs: ...", then a line that sums up. */
void bp_fib_diff_print(const struct bp_fib_diff *d, const char *what, FILE *out);
json_t *bp_fib_diff_json(const struct bp_fib_diff *d);

#endif
