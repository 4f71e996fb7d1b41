/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/client_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

uint32_t bp_client_name(const struct bp_flow *f, char *out, uint32_t size)
{
	bool ip6 = f->flags & BP_FLOW_IP6;
	char address[INET6_ADDRSTRLEN], name[INET6_ADDRSTRLEN + 10];
	int n;

	if (inet_ntop(ip6 ? AF_INET6 : AF_INET, f->client_ip, address, sizeof(address)) == NULL)
		return 0;
	n = snprintf(name, sizeof(name), ip6 ? "[%s]:%u" : "%s:%u", address,
		(unsigned)(uint16_t)(f->k1 >> 16));
	if (n < 0 || (uint32_t)n > size)
		return 0;
	memcpy(out, name, (size_t)n);
	return (uint32_t)n;
}
