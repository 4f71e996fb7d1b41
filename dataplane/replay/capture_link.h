/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_CAPTURE_LINK_H
#define BP_DATAPLANE_REPLAY_CAPTURE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Link types of captures that are not Ethernet (https://www.tcpdump.org/linktypes.html): Linux
 * cooked, BSD loopback and raw IP, whose frames get an Ethernet header in the place of their own.
 */

/* What an Ethernet header needs more than any of theirs. */
#define BP_CAPTURE_LINK_MORE 14u

/* Whether frames of this link type (DLT_*) can be replayed. */
bool bp_capture_link_known(int dlt);
/* All of them, for a sentence. */
extern const char bp_capture_link_names[];

/*
 * Writes frame p[0..len) as an Ethernet frame to `out`, which has room for len +
 * BP_CAPTURE_LINK_MORE bytes. Addresses that it does not have are made of its IP addresses, so that
 * a bridge learns them; `to`: the destination's, or NULL. *skipped: bytes of its own header.
 * Returns the bytes written, or 0: it has no counterpart in Ethernet, or not even a whole header.
 */
size_t bp_capture_link_frame(
	int dlt, const uint8_t *p, size_t len, const uint8_t *to, uint8_t *out, size_t *skipped);

#endif
