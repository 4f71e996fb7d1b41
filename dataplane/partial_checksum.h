/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PARTIAL_CHECKSUM_H
#define BP_DATAPLANE_PARTIAL_CHECKSUM_H

#include <stdbool.h>

#include <rte_mbuf.h>

/*
 * Completes the TCP or UDP checksum of a frame that a local sender (a virtual machine, say) left to
 * its network card: such a frame holds the sum of the pseudo-header, not inverted, where the
 * checksum belongs. Anything else in that place, a wrong checksum included, is left as it is.
 * Ethernet with up to two VLAN tags, IPv4 and IPv6 with extension headers. Returns whether the
 * frame was changed.
 */
bool bp_partial_checksum_complete(struct rte_mbuf *m);

#endif
