/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/queue.h"

#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM ((size_t)64 << 10)

static bool make_room(struct bp_sync_queue *q, size_t len)
{
	size_t room = q->room != 0 ? q->room : FIRST_ROOM;
	uint8_t *more;

	while (room - q->len < len)
		room *= 2;
	if (room == q->room)
		return true;
	more = room <= BP_SYNC_QUEUE_MAX ? realloc(q->bytes, room) : NULL;
	if (more == NULL)
		return false;
	q->bytes = more;
	q->room = room;
	return true;
}

bool bp_sync_queue_add(struct bp_sync_queue *q, const void *datagram, size_t len)
{
	if (!make_room(q, NLMSG_ALIGN(len)))
		return false;
	memcpy(q->bytes + q->len, datagram, len);
	memset(q->bytes + q->len + len, 0, NLMSG_ALIGN(len) - len);
	q->len += NLMSG_ALIGN(len);
	return true;
}

void bp_sync_queue_free(struct bp_sync_queue *q)
{
	free(q->bytes);
	*q = (struct bp_sync_queue){0};
}
