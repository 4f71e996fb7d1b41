/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/sources.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/option_values.h"

/* Of an IPv4 network the first and last address are no hosts'. */
void sim_sources(struct sim_options *o, const char *text)
{
	char copy[128], *slash;
	unsigned bits, len;

	snprintf(copy, sizeof(copy), "%s", text);
	slash = strchr(copy, '/');
	if (slash != NULL)
		*slash = '\0';
	if (!option_address(copy, &o->source))
		option_wrong("--sources is '%s'; expected a prefix such as 10.1.2.0/24", text);
	bits = o->source.ss_family == AF_INET ? 32 : 128;
	len = slash != NULL ? (unsigned)option_integer("sources", slash + 1, 0, bits) : bits;
	o->sources = bits - len > 20 ? UINT64_C(1) << 20 : UINT64_C(1) << (bits - len);
	if (bits == 32 && len < 31) {
		struct sockaddr_in *four = (struct sockaddr_in *)&o->source;

		four->sin_addr.s_addr = htonl(
			(ntohl(four->sin_addr.s_addr) & (uint32_t)(UINT64_MAX << (32 - len))) + 1);
		o->sources -= 2;
	}
}

void sim_source(const struct sim_options *o, unsigned number, struct sockaddr_storage *out)
{
	uint64_t step = o->sources > 0 ? number % o->sources : 0;

	*out = o->source;
	if (out->ss_family == AF_INET) {
		struct sockaddr_in *four = (struct sockaddr_in *)out;

		four->sin_addr.s_addr = htonl(ntohl(four->sin_addr.s_addr) + (uint32_t)step);
	} else if (out->ss_family == AF_INET6) {
		uint8_t *bytes = ((struct sockaddr_in6 *)out)->sin6_addr.s6_addr;

		for (unsigned i = 16; i-- > 0 && step > 0; step >>= 8) {
			step += bytes[i];
			bytes[i] = (uint8_t)step;
		}
	} else if (o->source_port != 0) {
		out->ss_family = o->to.ss_family;
	} else {
		return;
	}
	if (o->source_port != 0)
		option_set_port(out, (uint16_t)(o->source_port +
						(o->sources > 0 ? number / o->sources : number)));
}
