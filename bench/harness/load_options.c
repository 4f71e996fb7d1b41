/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/load_options.h"

#include <netinet/ether.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cpu_of.h"

static bool number(const char *value, double *out)
{
	char *end;

	*out = strtod(value, &end);
	return end != value && *end == '\0';
}

bool bench_load_option(
	struct bench_load_options *o, struct bench_cpu *cpu, int letter, const char *value)
{
	const struct ether_addr *mac;
	double every;

	switch (letter) {
	case 'F':
		o->from = value;
		return true;
	case 'T':
		o->to = value;
		return true;
	case 'i':
		o->interface = value;
		return true;
	case 'm':
		mac = ether_aton(value);
		if (mac == NULL)
			return false;
		memcpy(o->mac, mac, sizeof(o->mac));
		o->has_mac = true;
		return true;
	case 'r':
		return number(value, &o->rate);
	case 't':
		return number(value, &o->seconds);
	case 'n':
		if (!number(value, &every) || !(every >= 1 && every <= UINT32_MAX))
			return false;
		o->every = (uint32_t)every;
		return true;
	case 'P':
		return bench_cpu_add(cpu, value) == 0;
	default:
		return false;
	}
}

bool bench_load_complete(const struct bench_load_options *o)
{
	return o->from != NULL && o->to != NULL && o->interface != NULL && o->has_mac &&
	       o->rate >= 0 && o->seconds > 0 && o->every != 0 && (o->every & (o->every - 1)) == 0;
}
