/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PARTIAL_CHECKSUM_H
#define BP_DATAPLANE_PORTS_PARTIAL_CHECKSUM_H

#include <stdbool.h>

#include <rte_mbuf.h>

/*
 * Completes the TCP or UDP checksum of a frame that a local sender (for example a virtual machine)
 * left to its network card: the checksum field of such a frame holds the sum of the pseudo-header,
 * not inverted. Any other value, including a wrong checksum, is left unchanged. Supports Ethernet
 * with up to two VLAN tags, and IPv4 and IPv6 with extension headers. Returns whether the frame was
 * modified.
 */
bool bp_partial_checksum_complete(struct rte_mbuf *m);

/* Result for a frame whose checksum may be left to a device. */
enum bp_partial { BP_PARTIAL_NONE, BP_PARTIAL_LEFT, BP_PARTIAL_COMPLETED };

/*
 * Marks a frame with a partial checksum for the output device, which completes it
 * (RTE_ETH_TX_OFFLOAD_TCP_CKSUM, _UDP_CKSUM); the device expects the sum of the pseudo-header in
 * the field. Frames that devices may not support are completed here: those with extension headers,
 * or with headers or the field beyond the first buffer.
 */
enum bp_partial bp_partial_checksum_leave(struct rte_mbuf *m);

#endif
