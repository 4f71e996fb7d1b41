/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PACKET_RING_H
#define BP_DATAPLANE_PORTS_PACKET_RING_H

#include <stdint.h>

/*
 * The receive ring of an AF_PACKET socket (packet(7), TPACKET_V2) that net_af_packet owns. The
 * driver opens the socket for the frames of all interfaces and binds it to its interface after it
 * has created the ring: what arrives between these steps is in the ring, first of all.
 *
 * Returns the number of frames at the beginning of the ring that another interface than `ifindex`
 * received. 0 if the ring cannot be found. `frame_size` is the size of its elements, bytes. The
 * caller has read no frame yet, and reads none meanwhile.
 */
unsigned bp_packet_ring_foreign(int fd, uint32_t frame_size, unsigned ifindex);

#endif
