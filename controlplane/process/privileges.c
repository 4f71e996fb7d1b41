/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/privileges.h"

#include "config/config.h"
#include "daemon/privileges.h"

int bp_controlplane_privileges(const struct bp_plane_context *x, char *err, size_t err_size)
{
	uint32_t needed = 1u << BP_PRIV_PUBLISH | 1u << BP_PRIV_LOW_PORT;

	if (bp_config_routes(x->config)) {
		needed |= 1u << BP_PRIV_ROUTES;
		if (bp_privilege_check(BP_PRIV_ROUTES, "routing", err, err_size) != 0)
			return -1;
	}
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_controlplane_service *d = bp_controlplane_services[s];
		const char *by = x->state[s] != NULL && d->low_port != NULL
					 ? d->low_port(x->state[s])
					 : NULL;

		if (by != NULL && bp_privilege_check(BP_PRIV_LOW_PORT, by, err, err_size) != 0)
			return -1;
	}
	return bp_privileges_keep(needed, err, err_size);
}
