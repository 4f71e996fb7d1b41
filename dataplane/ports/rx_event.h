/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_RX_EVENT_H
#define BP_DATAPLANE_PORTS_RX_EVENT_H

#include <stdint.h>

#include "dataplane/ports/ports.h"

/*
 * Event descriptors of receive queues: a descriptor that poll() reports as readable while frames
 * wait in the queue. DPDK has no function for this for the drivers that use sockets of the kernel;
 * a socket is used only if the kernel confirms that it is one of that interface. Other drivers have
 * receive interrupts (rte_eth_dev_rx_intr_enable()).
 */

/*
 * Sockets of this process of one address family (AF_PACKET, AF_XDP), in ascending order. Returns
 * their number, at most `max`.
 */
unsigned bp_rx_event_sockets(int family, int *fd, unsigned max);
/* The only socket that is in `after` and not in `before`, both in ascending order; otherwise -1. */
int bp_rx_event_added(const int *before, unsigned n_before, const int *after, unsigned n_after);
/* Whether `fd` is an AF_PACKET socket that is bound to the interface. */
bool bp_rx_event_is_packet_socket(int fd, unsigned ifindex);
/* The AF_PACKET socket of a queue of a started port of net_af_packet, which the driver owns; or -1.
 */
int bp_rx_event_packet_socket(const struct bp_port *p, uint16_t port, uint16_t queue);

/*
 * The event descriptor of a queue of a started port, which the driver owns; -1: it has none. For
 * net_af_packet, net_af_xdp and net_tap.
 */
int bp_rx_event_fd(const struct bp_port *p, uint16_t port, uint16_t queue);

#endif
