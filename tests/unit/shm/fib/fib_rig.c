/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/fib/fib_rig.h"
#include "config/segment.h"
#include "config/config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fib_config(struct bp_config *c, uint32_t routes4, uint32_t routes6, uint32_t neighbors,
	uint32_t nexthops, uint32_t groups)
{
	memset(c, 0, sizeof(*c));
	c->n_workers = 2;
	c->n_ports = 1;
	c->routing = (struct bp_config_routing){routes4, routes6, neighbors, nexthops, groups};
}

void fib_open(struct fib_rig *x, uint32_t routes4, uint32_t routes6, uint32_t neighbors,
	uint32_t nexthops, uint32_t groups)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config *c = malloc(sizeof(*c));
	struct bp_segment *s;
	char err[256];

	assert_non_null(c);
	fib_config(c, routes4, routes6, neighbors, nexthops, groups);
	s = bp_segment_anonymous(specs, bp_shm_specs(c, specs), err, sizeof(err));
	free(c);
	if (!s || bp_shm_map(&x->shm, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	x->f = &x->shm.fib;
	x->w = NULL;
	fib_take_over(x);
}

void fib_take_over(struct fib_rig *x)
{
	char err[256];

	bp_fib_writer_free(x->w);
	x->w = bp_fib_writer_new(x->f, NULL, NULL, err, sizeof(err));
	if (!x->w)
		fail_msg("%s", err);
}

void fib_close(struct fib_rig *x)
{
	bp_fib_writer_free(x->w);
	bp_segment_close(x->shm.segment);
}

struct bp_address fib_address(const char *text)
{
	struct bp_address a = {0};

	if (text[0] == '\0')
		return a;
	a.family = strchr(text, ':') ? 6 : 4;
	if (inet_pton(a.family == 6 ? AF_INET6 : AF_INET, text, a.bytes) != 1)
		fail_msg("%s is no address", text);
	return a;
}

struct bp_prefix fib_prefix(const char *text)
{
	char address[64];
	const char *slash = strchr(text, '/');

	assert_non_null(slash);
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	return bp_prefix_of(fib_address(address), (unsigned)atoi(slash + 1));
}

struct bp_hop fib_hop(unsigned interface, const char *gateway, unsigned weight)
{
	struct bp_hop h;

	memset(&h, 0, sizeof(h));
	h.gateway = fib_address(gateway);
	h.interface = (uint8_t)interface;
	h.weight = (uint16_t)weight;
	return h;
}

struct bp_route fib_route(const char *prefix, unsigned interface, const char *gateway)
{
	struct bp_route r;

	memset(&r, 0, sizeof(r));
	r.prefix = fib_prefix(prefix);
	r.n_hops = 1;
	r.hop[0] = fib_hop(interface, gateway, 1);
	return r;
}

uint64_t fib_link(const struct bp_fib *f, const char *address, unsigned share)
{
	const struct bp_address a = fib_address(address);
	uint64_t link = atomic_load(&f->nexthops[bp_fib_lookup(f, BP_VRF_MAIN, &a)].link);

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = atomic_load(&f->nexthops[f->groups[(uint32_t)link].nexthop[share]].link);
	return link;
}

const uint8_t *fib_mac(unsigned n)
{
	static uint8_t mac[6] = {2};

	mac[4] = (uint8_t)(n >> 8);
	mac[5] = (uint8_t)n;
	return mac;
}

uint64_t fib_resolved(unsigned interface, unsigned mac)
{
	return bp_link_make(BP_LINK_RESOLVED, (uint8_t)interface, bp_mac_word(fib_mac(mac)));
}
