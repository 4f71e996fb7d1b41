/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EVENTS_COMMUNITY_ID_H
#define BP_APPS_BIPLANE_EVENTS_COMMUNITY_ID_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Community ID, version 1 (Corelight, community-id-spec): the same text for both directions of a
 * connection, in every tool that writes it (Suricata, Zeek, Wireshark). With seed 0.
 */
#define BP_COMMUNITY_ID 31 /* "1:", 28 characters of base64, NUL */
/* Addresses in frame order, IPv4 in the first four bytes; ports in host byte order; protocol: 6 or
 * 17. */
void bp_community_id(bool ip6, const uint8_t *src_ip, uint16_t src_port, const uint8_t *dest_ip,
	uint16_t dest_port, uint8_t protocol, char out[BP_COMMUNITY_ID]);

#endif
