/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_ARP_H
#define BP_PROTO_NET_ARP_H

#include <stdbool.h>
#include <stdint.h>

/* Address resolution for IPv4 over Ethernet (RFC 826), in an untagged frame. */

#define BP_ARP_FRAME 42u /* bytes, Ethernet header included */

/* Whether `frame` is a request; then `target` is the requested address (4 bytes, network byte
 * order, inside the frame). */
bool bp_arp_is_request(const uint8_t *frame, uint32_t len, const uint8_t **target);

/* Converts the request to its reply in place: the requested address is at `mac`. */
void bp_arp_write_reply(uint8_t *frame, const uint8_t mac[6]);

#endif
