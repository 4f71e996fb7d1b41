/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

#include "apps/biplane/show/lcl/lcl_text.h"
#include "apps/biplane/show/lcl/lcl_view.h"

static const struct bp_show_view *const views[] = {&bp_show_lcl, NULL};

static json_t *of_all_flows(const struct bp_shm *shm)
{
	const struct bp_show_source all = {.shm = shm};

	return bp_lcl_view(&all);
}

static bool present(const struct bp_shm *shm)
{
	return shm->lcl.plan != NULL;
}

const struct bp_service_views bp_views_lcl = {
	.views = views,
	.replay = {"lcl", of_all_flows, bp_lcl_view_print, present},
};
