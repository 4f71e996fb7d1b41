/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/networks.h"

#include <string.h>

#include "dataplane/mqtt/tcp_hint.h"
#include "services/mqtt/inspect.h"

/* The interface in whose VRF the frames of a port are; BP_NO_INTERFACE: the kernel does not route
 * them. */
static unsigned interface_of(const struct bp_worker *w, unsigned port)
{
	const uint8_t bridge = w->bridge_of[port];

	return bridge == BP_NO_PORT ? port : w->bridge_host[bridge];
}
_Static_assert(BP_NO_PORT == BP_NO_INTERFACE, "of a bridge without a host interface");

void bp_networks_follow(struct bp_worker *w)
{
	struct bp_mqtt_worker *in = bp_mqtt_worker_of(w);
	uint8_t network[BP_ALL_INTERFACES];

	if (in == NULL)
		return;
	bp_mqtt_worker_networks(in, w->router.vrf_table, network, BP_ALL_INTERFACES);
	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		const unsigned i = interface_of(w, p);

		if (i != BP_NO_INTERFACE)
			w->network[p] = network[i];
	}
	memcpy(w->sub_network, network + BP_MAX_INTERFACES, sizeof(w->sub_network));
}
