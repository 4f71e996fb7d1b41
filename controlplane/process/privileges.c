/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/privileges.h"

#include "daemon/privileges.h"

#define LOW_PORTS 1024

static bool low(uint16_t port)
{
	return port != 0 && port < LOW_PORTS;
}

int bp_controlplane_privileges(
	const struct bp_config *c, const struct bp_phd_sockets *handed, char *err, size_t err_size)
{
	uint32_t needed = 1u << BP_PRIV_PUBLISH | 1u << BP_PRIV_LOW_PORT;

	if (bp_config_routes(c)) {
		needed |= 1u << BP_PRIV_ROUTES;
		if (bp_privilege_check(BP_PRIV_ROUTES, "routing", err, err_size) != 0)
			return -1;
	}
	if (c->phd.enabled &&
		((low(c->phd.listen_udp) && handed->udp < 0) ||
			(low(c->phd.listen_tcp) && handed->tcp < 0)) &&
		bp_privilege_check(BP_PRIV_LOW_PORT, "phd.listen", err, err_size) != 0)
		return -1;
	if (c->transformation.loader.family != 0 && low(c->transformation.loader_tcp) &&
		bp_privilege_check(BP_PRIV_LOW_PORT, "transformation.loader", err, err_size) != 0)
		return -1;
	return bp_privileges_keep(needed, err, err_size);
}
