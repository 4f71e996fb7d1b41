/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_TAP_H
#define BP_CONTROLPLANE_SYNC_TAP_H

#include <stddef.h>

/*
 * Holds a tap interface of several queues by a queue of its own that takes no frames, so that it,
 * its addresses and its routes outlive the data plane, whose queues carry the frames. Creates the
 * interface when it is not there. Returns a file descriptor, to be closed at the end, or -1 with a
 * sentence.
 */
int bp_tap_hold(const char *name, char *err, size_t err_size);

#endif
