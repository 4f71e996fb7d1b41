/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PARTIAL_CHECKSUM_H
#define BP_DATAPLANE_PORTS_PARTIAL_CHECKSUM_H

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

/* What became of a frame that was to be left to a device. */
enum bp_partial { BP_PARTIAL_NONE, BP_PARTIAL_LEFT, BP_PARTIAL_COMPLETED };

/*
 * Marks such a frame for the device that sends it, which completes the checksum
 * (RTE_ETH_TX_OFFLOAD_TCP_CKSUM, _UDP_CKSUM): it wants to find what is there already. What devices
 * are not sure to understand is completed here: extension headers, and a field or headers that
 * reach beyond the first buffer.
 */
enum bp_partial bp_partial_checksum_leave(struct rte_mbuf *m);

#endif
