/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_ND_H
#define BP_PROTO_NET_ND_H

#include <stdbool.h>
#include <stdint.h>

/* Neighbour discovery for IPv6 over Ethernet (RFC 4861), in an untagged frame. */

#define BP_ND_ADVERTISEMENT_FRAME 86u /* bytes: Ethernet, IPv6, advertisement, one option */

#define BP_ND_FIRST 133 /* ICMPv6 types of neighbour discovery: router solicitation .. */
#define BP_ND_LAST 137  /* .. redirect */

/*
 * Whether `frame` is a neighbour solicitation that a node must not discard (RFC 4861 7.1.1, its
 * checksum included); then `target` is the address asked for: 16 bytes inside the frame.
 */
bool bp_nd_is_solicitation(const uint8_t *frame, uint32_t len, const uint8_t **target);

/*
 * The advertisement that answers it (RFC 4861 7.2.4), made of the solicitation in place. `frame`
 * has room for BP_ND_ADVERTISEMENT_FRAME bytes, which it then holds. The address asked for is at
 * `mac`, and we are a router.
 */
void bp_nd_write_advertisement(uint8_t *frame, const uint8_t mac[6]);

#endif
