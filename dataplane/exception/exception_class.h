/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_EXCEPTION_CLASS_H
#define BP_DATAPLANE_EXCEPTION_EXCEPTION_CLASS_H

#include <stdbool.h>
#include <stdint.h>

struct bp_config_punt;

/*
 * Which class of the exception path a frame belongs to (section exception of the configuration). A
 * pure function of its first bytes: `len` of them can be read. `local`: it is for an address of
 * this machine, or for a multicast group.
 */
enum bp_exception_class bp_exception_classify(
	const struct bp_config_punt *c, const uint8_t *frame, uint32_t len, bool local);

/* Whether it is neighbour or router discovery: ICMPv6 133 to 137 (RFC 4861). */
bool bp_exception_is_nd(const uint8_t *frame, uint32_t len);

#endif
