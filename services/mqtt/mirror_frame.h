/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_MIRROR_FRAME_H
#define BP_SERVICES_MQTT_MIRROR_FRAME_H

#include "biplane/rule.h"
#include "services/mqtt/inspect.h"

/*
 * The frame of action mirror (the alarm paper, section 4.2): the device's Ethernet, VLAN, IP and
 * TCP headers with destination MAC, IP address and port set to the edge's, and as payload the
 * PUBLISH with its topic rewritten, alone. IP options, IPv6 extension headers and TCP options are
 * left out; lengths and checksums are right.
 */
enum bp_mirror_result { BP_MIRROR_OK, BP_MIRROR_E_FAMILY, BP_MIRROR_E_SIZE };

/*
 * Length of the frame, bytes; at most 65,535, because a packet buffer's length has 16 bits. 0: the
 * frame cannot be built (*result is the reason).
 */
uint32_t bp_mirror_frame_size(const struct bp_mirror_request *r, const struct bp_mirror_target *to,
	uint32_t mtu, enum bp_mirror_result *result);
/* Writes exactly that number of bytes. */
void bp_mirror_frame_build(const struct bp_mirror_request *r, const struct bp_mirror_target *to,
	uint8_t *out, uint32_t size);

#endif
