/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_ND_H
#define BP_PROTO_NET_ND_H

#include <stdbool.h>
#include <stdint.h>

/* Neighbor discovery for IPv6 over Ethernet (RFC 4861), in an untagged frame. */

#define BP_ND_ADVERTISEMENT_FRAME 86u /* bytes: Ethernet, IPv6, advertisement, one option */

#define BP_ND_FIRST 133 /* ICMPv6 types of neighbor discovery: router solicitation .. */
#define BP_ND_LAST 137  /* .. redirect */

/*
 * Whether `frame` is a neighbor solicitation that a node must not discard (RFC 4861 7.1.1,
 * including its checksum); then `target` is the requested address: 16 bytes inside the frame.
 */
bool bp_nd_is_solicitation(const uint8_t *frame, uint32_t len, const uint8_t **target);

/*
 * Converts a solicitation in place to the advertisement that answers it (RFC 4861 7.2.4). `frame`
 * has at least BP_ND_ADVERTISEMENT_FRAME bytes, which it then holds. The requested address is at
 * `mac`, and the sender is a router.
 */
void bp_nd_write_advertisement(uint8_t *frame, const uint8_t mac[6]);

#endif
