/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_CAPTURE_LINK_H
#define BP_DATAPLANE_REPLAY_CAPTURE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Link types of captures other than Ethernet (https://www.tcpdump.org/linktypes.html): Linux
 * cooked, BSD loopback and raw IP. Their link headers are replaced by an Ethernet header.
 */

/* Maximum number of bytes by which the frame grows. */
#define BP_CAPTURE_LINK_MORE 14u

/* Whether frames of this link type (DLT_*) can be replayed. */
bool bp_capture_link_known(int dlt);
/* The names of all, for a message. */
extern const char bp_capture_link_names[];

/*
 * Writes frame p[0..len) as an Ethernet frame to `out`, which has space for len +
 * BP_CAPTURE_LINK_MORE bytes. Missing MAC addresses are derived from the IP addresses, so that a
 * bridge learns them; `to`: that of the destination, or NULL. *skipped: length of the original link
 * header in bytes. Returns the bytes written, or 0: no equivalent in Ethernet, or an incomplete
 * header.
 */
size_t bp_capture_link_frame(
	int dlt, const uint8_t *p, size_t len, const uint8_t *to, uint8_t *out, size_t *skipped);

#endif
