/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLEET_APPLY_H
#define BP_SERVICES_MQTT_FLEET_APPLY_H

#include "services/mqtt/connection_record.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"

/* What an answer of the fleet does to a connection; for fleet_adopt.c only. */

/* Longer than a sender waits before it repeats a segment. */
#define BP_FLEET_RETURN_TICKS (bp_ticks(250000000ull))
/* Numbers so far from those of a connection are of another one. */
#define BP_FLEET_ELSEWHERE (1u << 20)
static inline bool bp_fleet_is_near(uint32_t a, uint32_t b)
{
	return a - b + BP_FLEET_ELSEWHERE <= 2 * BP_FLEET_ELSEWHERE;
}

/* When the last answer came, in units of about 67 ms. Segments that do not fit
 * leave `seen` as it is: without this time, each of them would ask again. Of a flow that is not
 * searched, `resync` has no other use. */
#define BP_FLEET_ANSWER_SHIFT 6
static inline uint16_t *bp_fleet_answered(struct bp_flow *f)
{
	return &f->resync[0].asked;
}

static inline uint16_t bp_fleet_answer_time(const struct bp_mqtt_worker *in)
{
	return (uint16_t)(bp_ticks(in->mono_ns) >> BP_FLEET_ANSWER_SHIFT);
}

/* The holds of an answer: struct bp_state_offer and a topic, of each. Untrusted. */
struct bp_fleet_holds {
	const uint8_t *p;
	uint32_t n;
};
/* What they are at the position where a connection continues, by direction. */
enum bp_fleet_continues {
	BP_FLEET_EXACT,   /* at that of the record: what its packets have changed is in the holds */
	BP_FLEET_UNKNOWN, /* behind packets that were not read: they end */
	BP_FLEET_OWN,     /* this gateway has read more, and knows more */
};
/* fleet_states.c: before the next packet is read. r: NULL if no direction is exact. */
void bp_fleet_apply_holds(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_fleet_holds *holds, const struct bp_connection_record *r,
	const enum bp_fleet_continues continues[2]);
/*
 * There is no state that fits: the waiting bytes are searched. A stale record (NULL: there is none)
 * still has what does not change in a connection.
 */
void bp_fleet_search(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why,
	const struct bp_connection_record *stale, const struct bp_fleet_holds *holds);
/*
 * Of both directions: a record of an earlier connection may seem to be only stale in one. Where
 * only the broker has sent more, the position of the client is still that of the record: while its
 * segments come here and the answers take another path, no newer record is possible.
 */
bp_counter_t bp_fleet_positions_fit(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r);
void bp_fleet_adopt(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, const struct bp_fleet_holds *holds);
/* BP_C_FLEET_ADOPTED: the record is of the same connection, and further. */
bp_counter_t bp_fleet_is_further(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r);
/* What is held is after the gap, and what waits may be. The record replaces all else, which is of
 * the earlier position. */
void bp_fleet_adopt_returned(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, const struct bp_fleet_holds *holds);
/* The record is of another connection than this one, which has been silent here, and the segment
 * that did not fit is of that connection: it is not an older record, nor was the segment forged. */
bool bp_fleet_is_replaced(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r);
void bp_fleet_remove_replaced(struct bp_mqtt_worker *in, struct bp_flow *f);
/* There is no record that is further: the next acknowledgement finds out what was lost. */
void bp_fleet_stay(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why);
/* Whether bytes between the record and what was seen are missing. */
bool bp_fleet_has_gap(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_connection_record *r);

#endif
