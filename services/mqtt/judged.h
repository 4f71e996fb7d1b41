/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_JUDGED_H
#define BP_SERVICES_MQTT_JUDGED_H

#include "services/mqtt/burst.h"
#include "services/mqtt/mqtt_worker.h"

/*
 * judged.c: the bytes of a client that the policy was asked about, until the broker has
 * acknowledged them, in reassembly memory of the flow (f->judged).
 */

static inline bool bp_judged_any(const struct bp_flow *f)
{
	return f->has_alias_max & BP_FLOW_JUDGED;
}

/* Whether bp_judged_follow() will append the bytes before `end`, which the burst path has read or
 * reads next; makes room for them, if possible while a burst is read. */
bool bp_judged_can_keep(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t end);

/* Begins at the stream's position, if there are none yet, and makes room for `n` more. False: no
 * memory (counted). */
bool bp_judged_reserve(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t n);
/* Number of the byte behind them; there are some, also below. */
uint32_t bp_judged_end(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* Appends bytes for which there is room. */
void bp_judged_add(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n);
/* Loads what bp_judged_follow() and bp_judged_acknowledge() will read of the flows of a burst,
 * which may be other ones. */
void bp_judged_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b);
/* Whether the segment [seq, seq + n), to which the stream has come, is the next one behind them,
 * and there is room for it: bp_judged_follow() will append it. */
bool bp_judged_fits(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t seq, uint32_t n);
/* Appends the segments of frames [from, to), which the burst path has read: the positions of their
 * streams are behind them already. Bit i: there is no memory for that of frame i, and its stream is
 * back at its beginning. */
uint64_t bp_judged_follow(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t from, uint32_t to);
/* The first of them; bytes before it were acknowledged, or, where there are doubts, forwarded
 * before the policy was active: the broker may not have them. */
uint32_t bp_judged_first(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* The largest number up to `end` before which no header of a frame is incomplete: of a WebSocket,
 * and of bytes that are kept; else `end`. */
uint32_t bp_judged_whole_headers(struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t end);
bool bp_judged_doubts(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* The broker is asked whether it has them; and whether it has answered that it has not. */
void bp_judged_ask(const struct bp_mqtt_worker *in, const struct bp_flow *f);
bool bp_judged_is_lacking(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* Overwrites p[0..n), bytes from `seq` on, all of which are kept, with those that were judged.
 * Returns whether any differed. */
bool bp_judged_restore(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t seq,
	uint8_t *p, uint32_t n);
/* The broker has the bytes before `ack`. */
void bp_judged_acknowledge(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t ack);
/* What the connection has of suback.c; 0: nothing. */
bp_reassembly_ref *bp_judged_subacks(const struct bp_mqtt_worker *in, const struct bp_flow *f);
void bp_judged_release(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Adopts those of an earlier process, if they reach the stream's position. */
void bp_judged_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);

#endif
