/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_QUEUE_H
#define BP_CONTROLPLANE_SYNC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events that wait, as they came, until the dump is complete. */
#define BP_SYNC_QUEUE_MAX ((size_t)256 << 20)

struct bp_sync_queue {
	uint8_t *bytes; /* messages, one behind the other, aligned as Netlink's are */
	size_t len, room;
};

/* False: it would be longer than BP_SYNC_QUEUE_MAX, or there is no memory. */
bool bp_sync_queue_add(struct bp_sync_queue *q, const void *datagram, size_t len);
void bp_sync_queue_free(struct bp_sync_queue *q);

#endif
