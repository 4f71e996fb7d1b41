/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_QUEUE_H
#define BP_CONTROLPLANE_SYNC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events in the order of their arrival, stored until the dump is complete. */
#define BP_SYNC_QUEUE_MAX ((size_t)256 << 20)

struct bp_sync_queue {
	uint8_t *bytes; /* consecutive messages, aligned like Netlink messages */
	size_t len, room;
};

/* False: it would exceed BP_SYNC_QUEUE_MAX, or there is no memory. */
bool bp_sync_queue_add(struct bp_sync_queue *q, const void *datagram, size_t len);
void bp_sync_queue_free(struct bp_sync_queue *q);

#endif
