/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_DEVICE_H
#define BP_DATAPLANE_PORTS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The device strings of the configuration: "0000:03:00.0,args" or "net_af_packet0,iface=x,...". */

/*
 * Whether the string begins with a PCI address. Writes the address with its domain ("0000:03:00.0")
 * to `bdf`.
 */
bool bp_device_is_pci(const char *device, char *bdf, size_t size);
/* Writes the name before the first comma. */
void bp_device_name(const char *device, char *name, size_t size);
/* Writes the value of an argument. False: the argument is absent. The last of several is used. */
bool bp_device_arg(const char *device, const char *key, char *value, size_t size);
/*
 * For a worker that sleeps: adds arguments with which the driver makes no system call in a poll
 * without frames, unless the device string has them. net_af_xdp calls recvfrom() in each such poll
 * by default, to process the queue of the network card (busy polling).
 */
void bp_device_no_busy_poll(char *device, size_t size);
/* Returns an argument with a number above 0, or `otherwise`. */
uint32_t bp_device_arg_u32(const char *device, const char *key, uint32_t otherwise);
/*
 * Returns the size of an element of the rings of net_af_packet, bytes: framesz=, or else as long as
 * a frame of this MTU needs. Returns 0 for other devices without framesz=.
 */
uint32_t bp_device_frame_size(const char *device, uint32_t mtu);
/*
 * Adds framesz= and blocksz= of this size to net_af_packet, unless the device string has one of
 * them. The kernel truncates frames that are longer than an element.
 */
void bp_device_fit_mtu(char *device, size_t size, uint32_t mtu);

/*
 * Returns the bytes of a buffer, in addition to its headroom, that precede a frame of this device:
 * those that the kernel reserves for XDP programs.
 */
uint32_t bp_device_headroom(const char *device);

/*
 * Checks whether the device can exist on this system: the PCI device exists and is bound to a
 * driver that DPDK can use, the interface exists, the capture file is readable. Returns 0, or -1
 * with a message that ends with the remedy.
 */
int bp_device_check(const char *device, char *err, size_t err_size);

#endif
