/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/service.h"

#define X(name, NAME) extern const struct bp_service_views bp_views_##name;
BP_SERVICES(X)
#undef X

const struct bp_service_views *const bp_service_views[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = &bp_views_##name,
	BP_SERVICES(X)
#undef X
};

static const struct bp_show_view *const of_gateway[] = {
	&bp_show_ports,
	&bp_show_nodes,
	&bp_show_rates,
	&bp_show_drops,
	&bp_show_counters,
	&bp_show_interfaces,
	&bp_show_neighbors,
	&bp_show_routes,
	&bp_show_health,
	&bp_show_fleet,
	&bp_show_captures,
	&bp_show_metrics,
};
#define N_GATEWAY (sizeof(of_gateway) / sizeof(of_gateway[0]))

const struct bp_show_view *bp_show_next(unsigned *at)
{
	unsigned i = (*at)++;

	if (i < N_GATEWAY)
		return of_gateway[i];
	i -= N_GATEWAY;
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		for (const struct bp_show_view *const *v = bp_service_views[s]->views; *v; v++)
			if (i-- == 0)
				return *v;
	return NULL;
}

const struct bp_show_view *bp_show_find(const char *name)
{
	const struct bp_show_view *v;

	for (unsigned at = 0; (v = bp_show_next(&at)) != NULL;)
		if (strcmp(name, v->name) == 0)
			return v;
	return NULL;
}
