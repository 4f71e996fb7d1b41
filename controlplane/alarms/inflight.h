/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_INFLIGHT_H
#define BP_CONTROLPLANE_ALARMS_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Alarms that were sent to the edge broker and are not acknowledged yet, by MQTT message id, in the
 * order of sending. An alarm is either live (in a worker's ring), from the backlog (a row of the
 * spool), or was dropped from these after it was sent: it is lost if it is not acknowledged.
 */
enum bp_inflight_kind {
	BP_INFLIGHT_FREE,
	BP_INFLIGHT_LIVE,
	BP_INFLIGHT_BACKLOG,
	BP_INFLIGHT_DROPPED
};

struct bp_inflight_slot {
	uint64_t written_ns;   /* to the connection; monotonic; 0: not yet */
	uint64_t ref;          /* live: entry number in its lane; backlog: id of the row;
				  dropped: enum bp_publish_drop */
	uint32_t bytes;        /* payload and topic */
	uint16_t older, newer; /* adjacent slots in the order of sending; 0: none */
	uint8_t kind;          /* enum bp_inflight_kind */
	uint8_t lane;          /* only if live */
};

#define BP_INFLIGHT_MIDS 65536u

struct bp_inflight {
	struct bp_inflight_slot slot[BP_INFLIGHT_MIDS]; /* by message id, 1..65535 */
	uint16_t oldest, newest;                        /* 0: none */
	uint32_t count;
	uint32_t backlog; /* of these, from the backlog */
	uint64_t bytes;
	uint64_t rtt_ns, rtt_min_ns; /* from the write to the PUBACK, of this connection; 0: none */
};

/* A smaller window costs libmosquitto little. */
#define BP_INFLIGHT_WINDOW_NEAR 256u

void bp_inflight_init(struct bp_inflight *f);
/* False when the message id is in use; that slot is unchanged. */
bool bp_inflight_add(struct bp_inflight *f, uint16_t mid, enum bp_inflight_kind kind, uint8_t lane,
	uint64_t ref, uint32_t bytes);
/* All alarms that were added were written to the connection. */
void bp_inflight_written(struct bp_inflight *f, uint64_t now_ns);
/* Removes the slot; returns a slot of kind FREE when the message id is not in flight. */
struct bp_inflight_slot bp_inflight_take(struct bp_inflight *f, uint16_t mid);
/* A PUBACK arrived for an alarm that was written at written_ns (0: not yet). */
void bp_inflight_acked(struct bp_inflight *f, uint64_t written_ns, uint64_t now_ns);
/* A new connection: its round trip is unknown. */
void bp_inflight_connected(struct bp_inflight *f);
/*
 * Returns how many alarms may be in flight, at most `max`. For each message and each PUBACK
 * libmosquitto 2.0 visits all of its unacknowledged messages, so the CPU time per alarm grows with
 * their number. When the round trip has four times its shortest time, a quarter of `max` still
 * keeps the broker busy, and the rest would only wait in queues.
 */
uint32_t bp_inflight_window(const struct bp_inflight *f, uint32_t max);
/* A live alarm was spooled and is now a row of the spool. */
void bp_inflight_to_backlog(struct bp_inflight *f, uint16_t mid, uint64_t id);
/* The alarm was dropped from its ring or from the spool, for this reason. */
void bp_inflight_drop(struct bp_inflight *f, uint16_t mid, uint64_t reason);

#endif
