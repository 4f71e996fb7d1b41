/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/health/settings.h"
#include "dataplane/replay/replay_phd_internal.h"
#include "services/health/settings.h"
#include "shm/fib/lpm/lpm.h"

/*
 * The plan for workers, and the description of this gateway for devices, from the configuration
 * only.
 */

/* The output interface of requests to the CSE, or BP_NO_INTERFACE. */
static unsigned interface_to(const struct bp_fib *f, const struct bp_address *cse)
{
	const uint8_t *to6 = cse->bytes;
	uint32_t to4, nexthop;
	uint64_t link;

	memcpy(&to4, cse->bytes, sizeof(to4));
	to4 = __builtin_bswap32(to4);
	if (cse->family == 4)
		bp_lpm4_lookup(f, &to4, &nexthop, 1);
	else
		bp_lpm6_lookup(f, &to6, &nexthop, 1);
	link = atomic_load_explicit(&f->nexthops[nexthop].link, memory_order_relaxed);
	if (bp_link_kind(link) != BP_LINK_RESOLVED && bp_link_kind(link) != BP_LINK_CONNECTED &&
		bp_link_kind(link) != BP_LINK_UNRESOLVED)
		return BP_NO_INTERFACE;
	return bp_link_interface(link);
}

static bool same_subnet(const struct bp_interface_address *own, const struct bp_address *cse)
{
	const struct bp_prefix a = bp_prefix_of(own->address, own->length),
			       b = bp_prefix_of(*cse, own->length);

	return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

/*
 * Returns the address of this gateway on that interface, as a kernel would select it: in the subnet
 * of the CSE, otherwise the first of its family. Family 0: there is none.
 */
static struct bp_address find_source(const struct bp_fib *f, const struct bp_address *cse)
{
	const unsigned interface = interface_to(f, cse);
	struct bp_address found = {0};

	if (interface >= BP_MAX_INTERFACES)
		return found;
	for (unsigned i = 0; i < f->interfaces[interface].info.n_addresses; i++) {
		const struct bp_interface_address *own = &f->interfaces[interface].info.address[i];

		if (own->address.family != cse->family)
			continue;
		if (same_subnet(own, cse))
			return own->address;
		if (found.family == 0)
			found = own->address;
	}
	return found;
}

void bp_replay_phd_settings(
	struct bp_phd_settings *out, const struct bp_config *c, const struct bp_fib *fib)
{
	struct bp_address source = find_source(fib, &bp_config_phd(c)->cse.coap_address);

	if (source.family == 0) /* no route: no request can be sent, which is counted */
		source.family = bp_config_phd(c)->cse.coap_address.family;
	bp_phd_settings_init(out, bp_config_phd(c), &source);
}

/* The MAC in it is that of the first routed interface. */
void bp_replay_phd_system_id(uint8_t out[8], const struct bp_config *c, const struct bp_fib *fib)
{
	const char *name;
	unsigned i = 0;

	while (i + 1 < BP_MAX_INTERFACES && !bp_config_interface(c, i, &name))
		i++;
	bp_phd_own_system_id(out, bp_config_phd(c), fib->interfaces[i].info.mac);
}
