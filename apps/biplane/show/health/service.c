/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

static const struct bp_show_view *const views[] = {&bp_show_sessions, NULL};

const struct bp_service_views bp_views_health = {
	.views = views,
};
