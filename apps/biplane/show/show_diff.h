/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_SHOW_DIFF_H
#define BP_APPS_BIPLANE_SHOW_SHOW_DIFF_H

#include "config/config.h"
#include "apps/biplane/show/show.h"

/*
 * `show VIEW --diff`: compares what the data plane uses with the kernel, which must be that of the
 * control plane: the same network namespace. What differs is looked at again after a moment, as a
 * change may be under way. Returns the exit status: BP_EX_OK when equal, BP_EX_DIFFERENT.
 */
int bp_show_diff(const struct bp_show_view *view, const struct bp_show_source *s,
	const struct bp_config_instance *id, bool json);

#endif
