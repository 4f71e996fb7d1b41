/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/stream.h"

/*
 * Whether a segment is acceptable to its receiver (RFC 9293 3.10.7.4, RFC 5961 5.2): it has the ACK
 * flag, begins inside the receive window, and acknowledges neither unsent data nor data that was
 * acknowledged long ago. An off-path attacker has to guess both numbers.
 *
 * A passive observer has less information than the receiver: an acknowledgement of unseen data
 * covers bytes that took another path, or is forged. Up to one window beyond is possible. It is
 * recorded as a claim, which is accepted when the other side continues from there: when a segment
 * of the sender begins exactly at the claimed position. The segments of one side alone cannot cause
 * a loss.
 */

/* The window if the scale was not seen: larger than the default of hosts. */
#define WINDOW_UNSEEN (8u << 20)

/* A window is scaled only if both ends announced a scale. */
static uint32_t announced_window(
	const struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t window = bp_be16(frame->data + frame->l4 + 14);

	if (!(f->proof & BP_FLOW_HANDSHAKE))
		return window > 0 ? WINDOW_UNSEEN : 0;
	if (f->scale[0] == BP_SCALE_UNSEEN || f->scale[1] == BP_SCALE_UNSEEN)
		return window;
	return window << f->scale[dir];
}

/* Whether the client's window is too small for the burst path. */
static void record_small_segment(struct bp_flow *f)
{
	if (f->window[BP_FROM_BROKER] != 0 && f->window[BP_FROM_BROKER] < BP_ACK_WINDOW)
		bp_flow_mark(f, BP_MARK_SMALL);
	else
		bp_flow_unmark(f, BP_MARK_SMALL);
}

void bp_segment_record_window(struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t window = announced_window(f, !dir, frame);

	if (window > f->window[!dir]) {
		f->window[!dir] = window;
		record_small_segment(f);
	}
	for (unsigned d = 0; d < 2; d++)
		if ((int32_t)(f->top[d] - f->next[d]) < 0)
			f->top[d] = f->next[d];
}

void bp_segment_record_syn(struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t window = bp_be16(frame->data + frame->l4 + 14);

	f->window[!dir] = window != 0 ? window : 1;
	record_small_segment(f);
}

/* Maximum distance ahead of the stream that the receiver may accept. */
static uint32_t window_of(const struct bp_flow *f, unsigned dir)
{
	if (f->window[dir] == 0 || f->window[dir] > BP_SEQ_OUTSIDE)
		return BP_SEQ_OUTSIDE;
	return f->window[dir] > UINT16_MAX ? f->window[dir] : UINT16_MAX;
}

/*
 * Maximum distance of an acknowledgement behind the end of the seen data: the data in flight, plus
 * a window for delayed acknowledgements (RFC 5961 5.2). Both are at most the largest announced
 * window.
 */
static uint32_t behind_of(const struct bp_flow *f, unsigned dir)
{
	if (f->window[dir] == 0 || f->window[dir] > BP_SEQ_OUTSIDE)
		return BP_SEQ_OUTSIDE;
	return 2 * f->window[dir];
}

/* The end of the seen data of a direction. */
static uint32_t top_of(const struct bp_flow *f, unsigned dir)
{
	uint32_t ahead = f->top[dir] - f->next[dir];

	return ahead <= BP_SEQ_OUTSIDE ? f->top[dir] : f->next[dir];
}

/* Sequence numbers that the segment consumes. */
static uint32_t length_of(const struct bp_frame *frame)
{
	return frame->payload_len + (frame->tcp_flags & BP_TCP_FIN ? 1 : 0);
}

static bool sequence_valid(struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_frame *frame)
{
	int32_t ahead = (int32_t)(frame->seq - f->next[dir]);

	if (ahead >= 0) {
		if ((uint32_t)ahead <= window_of(f, dir))
			return true;
		bp_tally(in, BP_C_SEG_OUT_OF_WINDOW);
		return false;
	}
	if (0u - (uint32_t)ahead < length_of(frame) ||
		bp_fleet_begins_earlier(in, f, dir, frame->seq))
		return true;
	if (frame->payload_len != 0)
		bp_tally(in, 0u - (uint32_t)ahead > BP_SEQ_OUTSIDE ? BP_C_SEG_OUT_OF_WINDOW
								   : BP_C_SEG_DUPLICATE);
	return false;
}

static bool ack_valid(struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_frame *frame)
{
	int32_t beyond = (int32_t)(frame->ack - top_of(f, !dir));

	if (beyond > 0 ? (uint32_t)beyond <= window_of(f, !dir)
		       : 0u - (uint32_t)beyond <= behind_of(f, !dir))
		return true;
	bp_tally(in, BP_C_SEG_ACK_INVALID);
	return false;
}

bool bp_segment_valid(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	if (!(frame->tcp_flags & BP_TCP_ACK)) {
		bp_tally(in, BP_C_SEG_NO_ACK);
		return false;
	}
	if (bp_stream_numbered(f, dir) && !sequence_valid(in, f, dir, frame))
		return false;
	return !bp_stream_numbered(f, !dir) || ack_valid(in, f, dir, frame);
}

/* The receiver of direction `of` has `ack`, and all of that was seen or is considered lost. */
static void acknowledged(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned of, uint32_t ack)
{
	/* a FIN also consumes a number, but no byte of the stream */
	bool of_fin = (f->flags & BP_FLOW_FIN(of)) && ack == f->next[of] + 1;

	if (of_fin || bp_fleet_returned(f) ||
		((int32_t)(ack - f->next[of]) > 0 && bp_fleet_shares(in, f) &&
			bp_fleet_ask_lost(in, f)))
		return;
	bp_hold_gap_lost(in, f, of, ack);
}

/* A claim about this direction, and a segment of its sender. */
static void settle_claim(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t claim = f->claim[dir];

	if ((int32_t)(claim - top_of(f, dir)) <= 0) {
		bp_flow_unmark(f, BP_MARK_CLAIM(dir)); /* it arrived after all */
	} else if (frame->seq == claim) {
		bp_flow_unmark(f, BP_MARK_CLAIM(dir));
		acknowledged(in, f, dir, claim);
	}
}

static void record_ack(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned of, const struct bp_frame *frame)
{
	if ((int32_t)(frame->ack - f->next[of]) <= 0)
		return;
	if ((int32_t)(frame->ack - top_of(f, of)) <= 0) {
		acknowledged(in, f, of, frame->ack);
		return;
	}
	bp_tally(in, BP_C_SEG_ACK_UNSEEN);
	f->claim[of] = frame->ack;
	bp_flow_mark(f, BP_MARK_CLAIM(of));
}

/*
 * The byte that MSG_OOB sent: a receiver without SO_OOBINLINE removes it from the stream. The
 * pointer refers to the byte after it, as senders implement it (RFC 6093), and is valid only if it
 * advances.
 */
static void record_urgent(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t at = bp_be16(frame->data + frame->l4 + 18);

	at = frame->seq + (at != 0 ? at - 1 : 0);
	if ((int32_t)(at - f->next[dir]) < 0 ||
		((f->marks & BP_MARK_URGENT(dir)) && (int32_t)(at - f->urgent[dir]) <= 0))
		return;
	bp_tally(in, BP_C_SEG_URGENT);
	f->urgent[dir] = at;
	bp_flow_mark(f, BP_MARK_URGENT(dir));
}

void bp_segment_record(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	uint32_t end = frame->seq + length_of(frame);

	bp_segment_record_window(f, dir, frame);
	if ((f->marks & BP_MARK_ASKED) && !(f->proof & BP_FLOW_PROVEN))
		bp_fleet_acked(f, !dir, frame->ack);
	if (bp_stream_tracked(f, dir)) {
		if (f->marks & BP_MARK_CLAIM(dir))
			settle_claim(in, f, dir, frame);
		if ((int32_t)(end - top_of(f, dir)) > 0)
			f->top[dir] = end;
		if (frame->tcp_flags & BP_TCP_URG)
			record_urgent(in, f, dir, frame);
	}
	if (bp_stream_tracked(f, !dir))
		record_ack(in, f, !dir, frame);
}
