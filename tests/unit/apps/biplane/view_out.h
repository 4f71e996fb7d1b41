/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_VIEW_OUT_H
#define BP_TESTS_UNIT_APPS_BIPLANE_VIEW_OUT_H

#include "apps/biplane/show/show.h"

/* Output of a view that writes its rows one by one; the test fails if it cannot write. */

/* As text, which the caller frees. */
char *view_written(
	const struct bp_show_view *v, const struct bp_show_source *s, bool json, bool compact);
/* JSON, read again: a new reference. A compact one is a single line. */
json_t *view_parsed(const struct bp_show_view *v, const struct bp_show_source *s, bool compact);

/* Only counts of the output are kept. */
struct view_size {
	uint64_t lines, objects; /* objects: braces that open */
	size_t heap;             /* the most that was in use beyond what was before, in bytes */
};
struct view_size view_size(const struct bp_show_view *v, const struct bp_show_source *s, bool json);

#endif
