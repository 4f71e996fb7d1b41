/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

static const struct bp_show_view *const views[] = {&bp_show_alarms, &bp_show_latency,
	&bp_show_connections, &bp_show_not_inspected, &bp_show_rules, &bp_show_policy, NULL};

const struct bp_service_views bp_views_mqtt = {
	.views = views,
};
