/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_STREAM_H
#define BP_SERVICES_MQTT_STREAM_H

#include "services/mqtt/mqtt_worker.h"

/* The two streams of a connection: from segments to bytes in sequence. */

/* Whether this direction is not inspected: stopped, in resynchronisation, or none of its segments
 * fits. */
static inline bool bp_stream_unread(const struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] >= BP_STREAM_RESYNC ||
	       ((f->proof & BP_FLOW_MARKED) && (f->marks & BP_MARK_INVALID));
}

/* Whether it may expire before it reaches its receiver (mqtt.min_ttl). */
static inline bool bp_segment_low_ttl(const struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	return f->data[f->l3 + (f->ip6 ? 7 : 8)] < in->min_ttl;
}

/* segment.c: one segment of a known flow. */
void bp_stream_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);
/* The payload of a segment and the sequence number of its first byte. */
void bp_stream_payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_frame *frame, uint32_t seq);

/* handshake.c: the first segment of an unknown pair of addresses. NULL: it is not followed. */
struct bp_flow *bp_handshake_first(
	struct bp_mqtt_worker *in, const struct bp_frame *frame, struct bp_lookup *l);
/* A SYN or SYN-ACK of a known flow. */
void bp_handshake_syn(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Any other segment before the handshake is complete. False: it is not read. */
bool bp_handshake_segment(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Whether the segment begins the next connection on the addresses of one that is closed. */
bool bp_handshake_begins(const struct bp_flow *f, const struct bp_frame *frame);
/* The MSS of an end that announced none, or was not heard (RFC 9293 3.7.1). */
#define BP_MSS_UNSEEN 536
/* The announcement of one end. */
void bp_flow_record_mss(struct bp_flow *f, uint16_t mss);

/* reorder.c: segments ahead of the stream. */
void bp_hold_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n);
/* Sequence number of the first one; there is one: BP_FLOW_HELD(dir). */
uint32_t bp_hold_first(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir);
/* Delivers what is in sequence now. */
void bp_hold_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The peer acknowledged up to `ack`, beyond what was seen: the bytes between will never come. */
void bp_hold_gap_lost(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack);
void bp_hold_release(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* waiting.c: bytes in sequence that may not be read before the connection is proven. */
void bp_wait_add(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq,
	const uint8_t *p, uint32_t n);
/* Reads what may be read now. */
void bp_wait_drain(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* A search begins in which what waits is searched first. */
void bp_wait_search(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The same in two steps. */
void bp_wait_search_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_wait_search_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* Sequence number of the first byte that waits, or the flow's `next` where none does. */
uint32_t bp_wait_first(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir);
/* The stream continues at `next` instead of what waits: waiting bytes before it are discarded, and
 * others are read, or held until the bytes before them arrive. */
void bp_wait_move(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t next);
/* Throws away all behind the first `keep` bytes, counted. */
void bp_wait_cut(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t keep);
static inline void bp_wait_release(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_wait_cut(in, f, dir, 0);
}

/* validate.c: whether a segment of a known flow is one that its receiver takes. */
bool bp_segment_valid(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* Notes what a segment that fits says of both directions, and what was lost of them. */
void bp_segment_record(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* For a segment without payload on a stream in sequence: updates only the window. */
void bp_segment_record_window(struct bp_flow *f, unsigned dir, const struct bp_frame *frame);
/* The window that a SYN or SYN-ACK announces, which is never scaled. */
void bp_segment_record_syn(struct bp_flow *f, unsigned dir, const struct bp_frame *frame);

static inline bool bp_websocket_awaits(const struct bp_flow *f)
{
	return (f->proof & BP_FLOW_WEBSOCKET) && f->websocket.upgraded[BP_TO_BROKER] &&
	       !f->websocket.upgraded[BP_FROM_BROKER];
}

/* fleet_adopt.c: a proven connection that another gateway may have read further. Of a flow that is
 * asked for, and not searched, `resync` has no other use. */
static inline bool bp_fleet_is_unconfirmed(const struct bp_flow *f)
{
	return (f->marks & BP_MARK_ASKED) && (f->proof & BP_FLOW_PROVEN) && f->resync[0].valid;
}

/*
 * Whether the bytes of this direction may be read: none before the handshake is complete, and of
 * the client none behind its CONNECT before the broker has accepted that (but
 * bp_auth_may_read()), nor, of a WebSocket, behind its request before the response was read; and
 * none until the fleet has answered whether they were read elsewhere. In a stream that is searched
 * nothing is evaluated, and what has been found there is proven.
 */
static inline bool bp_stream_may_read(const struct bp_flow *f, unsigned dir)
{
	if ((f->proof & (BP_FLOW_PROVEN | BP_FLOW_MARKED)) == BP_FLOW_PROVEN ||
		f->stream[dir] >= BP_STREAM_RESYNC)
		return true;
	if (f->proof & BP_FLOW_PROVEN)
		return !bp_fleet_is_unconfirmed(f);
	if (!(f->proof & BP_FLOW_HANDSHAKE))
		return false;
	if (dir == BP_TO_BROKER)
		return !(f->flags & BP_FLOW_CONNECT) && !bp_websocket_awaits(f);
	/* a broker that sends before the CONNECT was inspected; bytes of it may be lost */
	return (f->flags & BP_FLOW_CONNECT) || !(f->marks & BP_MARK_CLAIM(BP_TO_BROKER));
}

/* The exception of a client's AUTH that the broker waits for. Whether the next bytes may be some of
 * it: bp_auth_may_read() decides about each packet. */
static inline bool bp_stream_may_read_auth(const struct bp_flow *f, unsigned dir)
{
	return dir == BP_TO_BROKER && bp_auth_is_awaited(f);
}

/* Whether a packet that begins with byte `first` is that AUTH; or the rest of it follows. */
static inline bool bp_auth_may_read(const struct bp_flow *f, unsigned dir, uint8_t first)
{
	if (!bp_stream_may_read_auth(f, dir))
		return false;
	if (f->stream[dir] == BP_STREAM_BOUNDARY)
		return first >> 4 == BP_MQTT_AUTH;
	return f->stream[dir] == BP_STREAM_SKIP || f->stream[dir] == BP_STREAM_REASSEMBLE;
}

/* Whether the position of the stream is known. */
static inline bool bp_stream_tracked(const struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] >= BP_STREAM_BOUNDARY && f->stream[dir] <= BP_STREAM_ENDED;
}

/* Whether its sequence numbers are known: those of a stream without inspection are tracked, too. */
static inline bool bp_stream_numbered(const struct bp_flow *f, unsigned dir)
{
	return bp_stream_tracked(f, dir) || f->stream[dir] == BP_STREAM_NOT_INSPECTED;
}

/* Further ahead or behind than any window without scaling surprises: not of this stream. */
#define BP_SEQ_OUTSIDE (1u << 30)

/* segment.c: the connection ends; `why` counts it. */
void bp_stream_close(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why);
/* segment.c: bp_inspect_segment(). Returns its flow; NULL: none, or the segment was not read. */
struct bp_flow *bp_stream_inspect(
	struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l);

/* segment.c: bytes at the stream's position, which moves on. */
void bp_stream_deliver(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n);

/* resync.c: finding a boundary again. */
void bp_resync_enter(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq);
/* The search that is under way also counts pushes with topics in bp_flow.known, if there are any.
 */
void bp_resync_by_pushes(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_resync_segment(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq, uint32_t ack);
/* Whether `seq` is near the current position of the search. */
bool bp_resync_is_near(const struct bp_flow *f, unsigned dir, uint32_t seq);
/* The receiver of `dir`, in BP_FLOW_PUSHES, has `ack`, by a segment that is in its own sequence. */
void bp_resync_acked(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack);
/* A packet of a stream in BP_FLOW_PUSHED: its response, if it requires one, will prove the stream.
 * `body`: the complete body; `seq` is that of the fixed header. */
void bp_resync_request(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq);
/* A packet of the readable direction `dir` may be the answer that the other one waits for. */
void bp_resync_response(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	uint16_t packet_id, uint32_t ack);

/* segment.c: after a change of a flow: files it by its proofs, and records the begin and the end of
 * a period without inspection. `before`: the proofs before the change. */
void bp_flow_settle(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t before);

#endif
