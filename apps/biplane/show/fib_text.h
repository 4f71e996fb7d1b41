/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_FIB_TEXT_H
#define BP_APPS_BIPLANE_SHOW_FIB_TEXT_H

#include <jansson.h>

#include "shm/fib/fib.h"

/* How addresses, routes and neighbors are written: as `ip` writes them. Every out is NUL
 * terminated. */

/* "192.0.2.1", "2001:db8::1" */
#define BP_TEXT_IP 46
void bp_text_ip(const struct bp_address *a, char out[BP_TEXT_IP]);

/* "192.0.2.0/24", also of one address. */
#define BP_TEXT_PREFIX 50
void bp_text_prefix(const struct bp_prefix *p, char out[BP_TEXT_PREFIX]);

/* "10.1.2.3", or with a length. Bits beyond the length are cleared. False: it is neither. */
bool bp_text_to_prefix(const char *text, struct bp_prefix *p, bool *has_length);

/* "bgp" for 186; the number itself where it has no name. Of rtnetlink.h and FRR's zebra. */
#define BP_TEXT_PROTOCOL 16
void bp_text_protocol(uint8_t protocol, char out[BP_TEXT_PROTOCOL]);

/* "reachable", "static", "failed" */
const char *bp_text_neighbor_state(uint8_t state);

/* The names of all interfaces and VRFs, copied once. */
struct bp_interface_names {
	char name[BP_ALL_INTERFACES][BP_NAME_MAX + 1];
	char vrf[BP_MAX_VRFS + 1][BP_VRF_NAME_MAX + 1];
};
void bp_interface_names_read(const struct bp_fib *f, struct bp_interface_names *names);
/* Never NULL: the text of an interface without a name is such as "if7". */
const char *bp_interface_name(
	const struct bp_interface_names *names, unsigned interface, char spare[8]);

/* The same of a VRF that is not the main one: "vrf7"; BP_VRF_KERNEL is "unsupported". */
const char *bp_vrf_name(const struct bp_interface_names *names, unsigned vrf, char spare[8]);

/*
 * "10.0.0.0/8 nhid 5 via 10.1.0.2 dev wan vrf blue proto bgp metric 20"; a type other than unicast
 * comes first, "origin static" last. Of several hops each is "nexthop via ... dev ... weight N",
 * with `between` in front of it.
 */
#define BP_TEXT_ROUTE 8192
void bp_text_route(const struct bp_route *r, const struct bp_interface_names *names,
	const char *between, char out[BP_TEXT_ROUTE]);
/* The same as an object with ip's own keys; NULL without memory. */
json_t *bp_json_route(const struct bp_route *r, const struct bp_interface_names *names);
/* One hop: {"via": ..., "dev": ...}; `via` is null when the destination is a neighbor. */
json_t *bp_json_hop(const struct bp_hop *h, const struct bp_interface_names *names);

#endif
