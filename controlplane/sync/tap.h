/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_TAP_H
#define BP_CONTROLPLANE_SYNC_TAP_H

#include <stddef.h>

/*
 * Holds a multi-queue tap interface with a queue of its own that receives no frames, so that the
 * interface, its addresses and its routes outlive the data plane, whose queues carry the frames.
 * Creates the interface if it does not exist. Returns a file descriptor, which the caller closes,
 * or -1 with a sentence in `err`.
 */
int bp_tap_hold(const char *name, char *err, size_t err_size);

#endif
