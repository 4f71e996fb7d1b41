/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/kernel_if.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/exception/kernel_link.h"

int bp_kernel_if_address(
	const struct bp_kernel_if *k, const struct bp_kernel_if_spec *s, char *err, size_t err_size)
{
	int error = bp_kernel_link_set_mac(k->ifindex, s->mac);

	if (error != 0) {
		snprintf(err, err_size,
			"%s: the network interface %s does not take the MAC "
			"%02x:%02x:%02x:%02x:%02x:%02x: %s; give the port another (ports[].mac)",
			s->name, s->kernel, s->mac[0], s->mac[1], s->mac[2], s->mac[3], s->mac[4],
			s->mac[5], strerror(error));
		return -1;
	}
	error = bp_kernel_link_set_mtu(k->ifindex, s->mtu);
	if (error != 0) {
		snprintf(err, err_size, "%s: the network interface %s does not take MTU %u: %s",
			s->name, s->kernel, s->mtu, strerror(error));
		return -1;
	}
	return 0;
}
