/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

#include "apps/biplane/show/transform/transform_entries.h"

static const struct bp_show_view *const views[] = {&bp_show_transform, NULL};

static bool present(const struct bp_shm *shm)
{
	return shm->transform.head != NULL;
}

const struct bp_service_views bp_views_transform = {
	.views = views,
	.replay = {"transformation", bp_transform_entries, bp_transform_entries_print, present},
};
