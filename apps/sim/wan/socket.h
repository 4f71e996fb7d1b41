/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAN_SIM_SOCKET_H
#define WAN_SIM_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * An end of the WAN: a packet socket on an interface (packet(7)). Frames are preceded by the
 * kernel's virtio_net_hdr, so that pending offloads (a checksum, segmentation) are passed on
 * unchanged.
 */

/* The largest frame with its header: of a segment of 64 KiB, with tags. */
#define WAN_FRAME_MAX (10u + 18u + 65536u)

/* The socket, non-blocking; on an error the program ends with status 71 and a message. */
int wan_socket_open(const char *interface);

/* Receives a frame into `frame`, of WAN_FRAME_MAX bytes. Returns its length; 0: none; -1: the
 * interface is down. */
ssize_t wan_socket_receive(int wire, uint8_t *frame);

/* Whether the kernel took it. */
int wan_socket_send(int wire, const uint8_t *frame, size_t len);

#endif
