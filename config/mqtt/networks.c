/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/config.h"

/*
 * Networks of MQTT inspection: connections of different networks are different connections, even if
 * their addresses and TCP ports are equal. Network 0, the main one, has the routed ports and the
 * bridges with a host interface, since the kernel routes between them: a connection may pass two of
 * them. Another bridge is a network of its own, by its name, unless it shares one.
 */

static const char *name_of(const struct bp_config *c, const struct bp_config_bridge *b)
{
	const char *name = b->network[0] != '\0' ? b->network : b->name;
	uint32_t bridged = 0;

	for (uint32_t i = 0; i < c->n_bridges; i++)
		bridged += c->bridge[i].n;
	/* alone, it needs no name: gateways of a fleet may have other names for it */
	if (b->network[0] == '\0' && c->n_bridges == 1 && bridged == c->n_ports)
		return "";
	return b->has_host_interface || strcmp(name, BP_NETWORK_MAIN) == 0 ? "" : name;
}

void bp_config_networks(const struct bp_config *c, struct bp_networks *out)
{
	memset(out, 0, sizeof(*out));
	out->n = 1;
	for (uint32_t b = 0; b < c->n_bridges; b++) {
		const char *name = name_of(c, &c->bridge[b]);
		uint8_t k = 0;

		while (k < out->n && strcmp(out->name[k], name) != 0)
			k++;
		if (k == out->n)
			memcpy(out->name[out->n++], name, strlen(name) + 1);
		for (uint32_t i = 0; i < c->bridge[b].n; i++)
			out->of_port[c->bridge[b].port[i]] = k;
	}
}
