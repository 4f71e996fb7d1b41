/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_COPY_TABLE_H
#define BP_CONTROLPLANE_MQTT_COPY_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "controlplane/fleet/alarm_store.h"

/* The unacknowledged alarms of this gateway, and whether they have a copy in Redis. */
enum bp_copy_state {
	BP_COPY_WAITING,  /* to be stored, the oldest first */
	BP_COPY_RETRY,    /* it could not be stored: again after a second */
	BP_COPY_STORING,  /* sent, in the order of sending */
	BP_COPY_STORED,   /* Redis has it */
	BP_COPY_REMOVE,   /* acknowledged: to be removed */
	BP_COPY_REMOVING, /* sent, in the order of sending */
	BP_COPY_STATES,
};

struct bp_copy {
	TAILQ_ENTRY(bp_copy) entry;
	struct bp_copy *next_id, *next_uid; /* of the same bucket */
	uint64_t id;
	uint64_t start;  /* of the record in the ring */
	uint64_t due_ns; /* WAITING */
	uint32_t size;   /* of its copy; 0: it has none */
	uint16_t ring;   /* index + 1; 0: only in a spool */
	uint8_t state;
	uint8_t pending; /* destinations that have not acknowledged it, as bits */
	bool adopting;   /* of another gateway: not in the spools of all destinations yet */
	bool sent;       /* Redis may have it */
	bool taken;      /* another gateway has claimed it */
	bool discarded;  /* for that reason, a destination has not published it */
	char uid[BP_ALARM_UID_TEXT];
};

TAILQ_HEAD(bp_copies, bp_copy);

struct bp_copy_table {
	struct bp_copies list[BP_COPY_STATES];
	struct bp_copy **by_id, **by_uid;
	uint32_t n, max;
	uint64_t bytes; /* of all copies */
};

#define BP_COPIES_BYTES_MAX (64ull << 20)

/* False without memory. */
bool bp_copy_table_init(struct bp_copy_table *t, uint32_t max);
void bp_copy_table_end(struct bp_copy_table *t);

struct bp_copy *bp_copy_by_id(const struct bp_copy_table *t, uint64_t id);
struct bp_copy *bp_copy_by_uid(const struct bp_copy_table *t, const char *uid);
/* Adds one that is not there. NULL: the table is full, or without memory. */
struct bp_copy *bp_copy_add(
	struct bp_copy_table *t, uint64_t id, const char *uid, enum bp_copy_state state);
/* To the end of the list of that state. */
void bp_copy_set_state(struct bp_copy_table *t, struct bp_copy *c, enum bp_copy_state state);
/* The size of its copy. False: all copies together would exceed BP_COPIES_BYTES_MAX. */
bool bp_copy_set_size(struct bp_copy_table *t, struct bp_copy *c, size_t size);
void bp_copy_delete(struct bp_copy_table *t, struct bp_copy *c);
/* The connection was lost: copies that Redis may lack are stored again, others removed again. */
void bp_copy_table_disconnected(struct bp_copy_table *t);

#endif
