/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

#include "apps/biplane/show/aggregation/agg_entries.h"
#include "apps/biplane/show/aggregation/agg_text.h"

static const struct bp_show_view *const views[] = {&bp_show_aggregates, NULL};

static bool present(const struct bp_shm *shm)
{
	return shm->agg.plan != NULL;
}

const struct bp_service_views bp_views_aggregation = {
	.views = views,
	.replay = {"aggregation", bp_agg_entries, bp_agg_entries_print, present},
};
