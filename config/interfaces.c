/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"

bool bp_config_port_routes(const struct bp_config *c, unsigned port)
{
	for (unsigned b = 0; b < c->n_bridges; b++)
		for (unsigned i = 0; i < c->bridge[b].n; i++)
			if (c->bridge[b].port[i] == port)
				return false;
	return port < c->n_ports;
}

bool bp_config_routes(const struct bp_config *c)
{
	for (unsigned b = 0; b < c->n_bridges; b++)
		if (c->bridge[b].has_host_interface)
			return true;
	for (unsigned p = 0; p < c->n_ports; p++)
		if (bp_config_port_routes(c, p))
			return true;
	return false;
}

const struct bp_config_interface *bp_config_interface(
	const struct bp_config *c, unsigned interface, const char **name)
{
	if (interface < BP_MAX_PORTS) {
		if (!bp_config_port_routes(c, interface))
			return NULL;
		*name = c->port[interface].name;
		return &c->port[interface].interface;
	}
	interface -= BP_MAX_PORTS;
	if (interface >= c->n_bridges || !c->bridge[interface].has_host_interface)
		return NULL;
	*name = c->bridge[interface].name;
	return &c->bridge[interface].host_interface;
}
