/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_INSTANCE_VIEW_H
#define BP_APPS_BIPLANE_SHOW_INSTANCE_VIEW_H

#include "config/config.h"
#include "shm/layout.h"

#define BP_DEFAULT_NAME "biplane"
#define BP_DEFAULT_RUNTIME_DIR "/run/biplane"

/* The instance with this name and default settings. 0, or -1 with a sentence if `name` is invalid.
 */
int bp_instance_of_name(
	struct bp_config_instance *id, const char *name, char *err, size_t err_size);

/* An instance's segment, read only. */
struct bp_instance_view {
	struct bp_segment *segment;
	struct bp_shm shm;
};
/* 0; -1 with a sentence that says what to do. Release with bp_instance_view_close(). */
int bp_instance_view_open(struct bp_instance_view *v, const struct bp_config_instance *id,
	char *err, size_t err_size);
void bp_instance_view_close(struct bp_instance_view *v);

#endif
