/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_EXCEPTION_CLASS_H
#define BP_DATAPLANE_EXCEPTION_EXCEPTION_CLASS_H

#include <stdbool.h>
#include <stdint.h>

struct bp_config_punt;

/*
 * Returns the class of a frame on the exception path (section exception of the configuration). A
 * pure function of the first `len` bytes of the frame, which are readable. `local`: the destination
 * is an address of this machine or a multicast group.
 */
enum bp_exception_class bp_exception_classify(
	const struct bp_config_punt *c, const uint8_t *frame, uint32_t len, bool local);

/* Whether it is neighbor or router discovery: ICMPv6 133 to 137 (RFC 4861). */
bool bp_exception_is_nd(const uint8_t *frame, uint32_t len);

#endif
