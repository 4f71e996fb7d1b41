/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"

/*
 * Passive tracking of connection establishment (RFC 9293 3.5): SYN, SYN-ACK and the client's
 * acknowledgement, a new connection on the same addresses, and a connection that is picked up
 * mid-stream.
 */

/* Unit of repeated_syn_data: 255 units are more than a segment. */
#define REPEATED_SYN_DATA_UNIT 32u
/* Of repeated_syn_options. */
#define REPEATED_SYN_MSS_UNIT 128u
#define REPEATED_SYN_NO_SCALE 15u

/* The maximum segment size that a SYN announces (RFC 9293 3.7.1); 0 is none. */
static uint16_t announced_mss(const struct bp_frame *frame)
{
	const uint8_t *p = frame->data + frame->l4 + 20, *end = frame->data + frame->payload;

	while (end - p >= 4 && p[0] != 0) {
		if (p[0] == 2 && p[1] == 4)
			return bp_be16(p + 2) != 0 ? bp_be16(p + 2) : BP_MSS_UNSEEN;
		if (p[0] != 1 && p[1] < 2)
			break;
		p += p[0] == 1 ? 1 : p[1];
	}
	return BP_MSS_UNSEEN;
}

/* Options that an end announced. */
void bp_flow_record_mss(struct bp_flow *f, uint16_t mss)
{
	if (f->mss == 0 || mss < f->mss)
		f->mss = mss;
}

/* The window scale of a SYN (RFC 7323 2.2); BP_SCALE_UNSEEN without one. */
static uint8_t window_scale(const struct bp_frame *frame)
{
	const uint8_t *p = frame->data + frame->l4 + 20, *end = frame->data + frame->payload;

	while (end - p >= 3 && p[0] != 0) {
		if (p[0] == 3 && p[1] == 3)
			return p[2] < BP_SCALE_MAX ? p[2] : BP_SCALE_MAX;
		if (p[0] != 1 && p[1] < 2)
			break;
		p += p[0] == 1 ? 1 : p[1];
	}
	return BP_SCALE_UNSEEN;
}

static void set_syn(struct bp_flow *f, unsigned dir, uint32_t seq)
{
	f->next[dir] = f->top[dir] = seq + 1;
	f->stream[dir] = BP_STREAM_BOUNDARY;
}

/* Discards the read and waiting data of both directions, and all proofs. */
static void forget(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_flow_release_all(in, f);
	f->flags &= BP_FLOW_IP6;
	f->pending = 0;
	f->proof = BP_FLOW_IN_TABLE | bp_websocket_of_port(in, (uint16_t)f->k1);
	f->marks = 0;
	f->version = 0;
	f->known = 0;
	f->stream[BP_FROM_BROKER] = BP_STREAM_UNSEEN;
	bp_judged_release(in, f);
	f->has_alias_max = 0;
	memset(f->resync, 0, sizeof(f->resync));
	memset(f->window, 0, sizeof(f->window));
	f->client_id_len = 0;
	f->memo_gen = 0;
}

/* The client's SYN, and the window scale of its receiver. */
static void begin(struct bp_flow *f, uint32_t seq, uint8_t scale)
{
	f->syn_seq = seq;
	f->scale[BP_FROM_BROKER] = scale;
	set_syn(f, BP_TO_BROKER, seq);
}

/* Another connection of the same addresses and ports. */
static void reopen(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t client_seq, uint8_t scale)
{
	bp_tally(in, BP_C_CONN_REOPENED);
	bp_event_end(in, f, BP_EVENT_END_SUPERSEDED);
	bp_will_left(in, f);
	bp_will_end(in, f);
	forget(in, f);
	f->seen = in->now_ticks;
	f->mss = 0;
	f->publishes = 0;
	begin(f, client_seq, scale);
	bp_flow_file(&in->table, f, BP_LIST_UNPROVEN);
}

/* Data of a SYN without its SYN-ACK: the window scale, and the MSS rounded down. */
static void keep_options(struct bp_flow *f, const struct bp_frame *frame)
{
	const uint8_t scale = window_scale(frame);
	const uint32_t mss = announced_mss(frame) / REPEATED_SYN_MSS_UNIT;

	_Static_assert(BP_SCALE_MAX < REPEATED_SYN_NO_SCALE, "a scale has 4 bits");
	f->repeated_syn_options =
		(uint8_t)((mss < 15 ? mss : 15) << 4 |
			  (scale <= BP_SCALE_MAX ? scale : REPEATED_SYN_NO_SCALE));
}

static uint8_t kept_scale(const struct bp_flow *f)
{
	const uint8_t scale = f->repeated_syn_options & 0xf;

	return scale == REPEATED_SYN_NO_SCALE ? BP_SCALE_UNSEEN : scale;
}

static uint16_t kept_mss(const struct bp_flow *f)
{
	const uint8_t mss = f->repeated_syn_options >> 4;

	return (uint16_t)(mss != 0 ? mss * REPEATED_SYN_MSS_UNIT : REPEATED_SYN_MSS_UNIT / 2);
}

/*
 * A SYN on a connection that is open, or that waits for its SYN-ACK, may be forged: it is accepted
 * only when the SYN-ACK of the broker matches. On a closed connection it starts the next one.
 * False: not accepted yet.
 */
static bool syn(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t data;

	/* with a policy that refuses packets, only when the broker answers it */
	if ((f->flags & BP_FLOW_CLOSED) && in->enforced == NULL) {
		reopen(in, f, frame->seq, window_scale(frame));
		bp_flow_record_mss(f, announced_mss(frame));
		return true;
	}
	/* retransmitted; once the handshake is complete it may be the next connection's */
	if (frame->seq == f->syn_seq && !(f->flags & BP_FLOW_MIDWAY) &&
		!(f->proof & BP_FLOW_HANDSHAKE))
		return true;
	bp_tally(in, BP_C_CONN_SYN_UNCONFIRMED);
	f->flags |= BP_FLOW_SYN_REPEATED;
	f->repeated_syn_seq = frame->seq;
	data = (frame->payload_len + REPEATED_SYN_DATA_UNIT - 1) / REPEATED_SYN_DATA_UNIT;
	f->repeated_syn_data = (uint8_t)(data < UINT8_MAX ? data : UINT8_MAX);
	keep_options(f, frame);
	return false;
}

/* The SYN, its data or the SYN-ACK was not seen: the connection is picked up mid-stream. */
static void pick_up(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_tally(in, BP_C_CONN_MIDSTREAM);
	f->flags |= BP_FLOW_MIDWAY;
	bp_flow_record_mss(f, BP_MSS_UNSEEN);
	for (unsigned d = 0; d < 2; d++)
		if (bp_stream_tracked(f, d))
			bp_wait_search(in, f, d);
}

/* Whether a SYN-ACK confirms the SYN that waits for one, and is not the held connection's own. */
static bool confirms(const struct bp_flow *f, const struct bp_frame *frame)
{
	if (!(f->flags & BP_FLOW_SYN_REPEATED) ||
		frame->ack - (f->repeated_syn_seq + 1) >
			f->repeated_syn_data * REPEATED_SYN_DATA_UNIT)
		return false;
	return f->repeated_syn_seq != f->syn_seq || !(f->proof & BP_FLOW_SYN_ACKED) ||
	       frame->seq != f->broker_isn;
}

/*
 * A SYN-ACK that acknowledges the client's SYN starts the connection, and restarts it until the
 * handshake is complete, regardless of forged segments in between. Its acknowledgement number
 * covers the accepted data of the SYN (RFC 7413). False: it does not belong to this connection.
 */
static bool syn_ack(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t data, lost = 0;

	if ((f->flags & BP_FLOW_CLOSED) && in->enforced != NULL && !confirms(f, frame)) {
		/* anybody may send it, and the connection may not be closed for the broker */
		bp_tally(in, BP_C_CONN_SYN_UNCONFIRMED);
		return false;
	}
	if ((f->flags & BP_FLOW_CLOSED) && in->enforced == NULL) {
		reopen(in, f, frame->ack - 1, BP_SCALE_MAX);
		bp_flow_record_mss(f, BP_MSS_UNSEEN);
	} else if (confirms(f, frame)) {
		/* of the SYN, believed only now, the data was not kept */
		lost = frame->ack - (f->repeated_syn_seq + 1);
		reopen(in, f, f->repeated_syn_seq, kept_scale(f));
		bp_flow_record_mss(f, kept_mss(f));
		f->next[BP_TO_BROKER] += lost;
	}
	if (f->proof & BP_FLOW_HANDSHAKE) {
		if (frame->seq != f->broker_isn)
			bp_tally(in, BP_C_CONN_SYN_UNCONFIRMED);
		return false;
	}
	if (f->flags & BP_FLOW_MIDWAY) {
		if (f->syn_seq == 0 || frame->ack != f->syn_seq + 1 ||
			(f->proof & BP_FLOW_PROVEN)) {
			bp_tally(in, BP_C_CONN_SYN_UNCONFIRMED);
			return false;
		}
		forget(in, f);
		set_syn(f, BP_TO_BROKER, f->syn_seq);
	}
	data = frame->ack - (f->syn_seq + 1);
	if (data > f->next[BP_TO_BROKER] - (f->syn_seq + 1)) {
		bp_tally(in, BP_C_CONN_SYN_UNCONFIRMED);
		return false;
	}
	bp_wait_cut(in, f, BP_TO_BROKER, data);
	f->next[BP_TO_BROKER] = f->top[BP_TO_BROKER] = frame->ack;
	bp_wait_release(in, f, BP_FROM_BROKER);
	set_syn(f, BP_FROM_BROKER, frame->seq);
	f->broker_isn = frame->seq;
	f->scale[BP_TO_BROKER] = window_scale(frame);
	f->proof |= BP_FLOW_SYN_ACKED;
	bp_flow_record_mss(f, announced_mss(frame));
	if (lost != 0)
		pick_up(in, f); /* behind the data that the SYN brought */
	return true;
}

/*
 * A segment before the handshake is complete. The handshake is complete when the client
 * acknowledges the initial number of the broker, which only the receiver of the SYN-ACK knows.
 * False: the segment is not processed.
 */
bool bp_handshake_segment(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	if (!(f->proof & BP_FLOW_SYN_ACKED)) {
		if (frame->payload_len == 0)
			return false;
		pick_up(in, f);
		return true;
	}
	if (dir == BP_FROM_BROKER)
		return true;
	if (!(frame->tcp_flags & BP_TCP_ACK) || frame->seq - f->next[BP_TO_BROKER] > UINT16_MAX ||
		frame->ack - (f->broker_isn + 1) > f->top[BP_FROM_BROKER] - (f->broker_isn + 1)) {
		bp_tally(in, BP_C_SEG_ACK_INVALID);
		return false;
	}
	f->proof |= BP_FLOW_HANDSHAKE;
	return true;
}

void bp_handshake_syn(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	bool ack = frame->tcp_flags & BP_TCP_ACK;

	if ((frame->tcp_flags & BP_TCP_FIN) || ack != (dir == BP_FROM_BROKER))
		return;
	if (ack ? !syn_ack(in, f, frame) : !syn(in, f, frame))
		return;
	f->seen = in->now_ticks;
	if (!ack && (f->proof & BP_FLOW_SYN_ACKED))
		return;
	/* the SYN consumes a number; it may carry data (RFC 7413) */
	if (frame->payload_len != 0)
		bp_stream_payload(in, f, dir, frame, frame->seq + 1);
	f->top[dir] = f->next[dir];
	bp_segment_record_syn(f, dir, frame);
}

/*
 * Whether the segment starts the next connection on the addresses of a closed one: a SYN, or a
 * SYN-ACK, other than the last one's, whose SYN was not seen.
 */
bool bp_handshake_begins(const struct bp_flow *f, const struct bp_frame *frame)
{
	if ((frame->tcp_flags & (BP_TCP_SYN | BP_TCP_RST)) != BP_TCP_SYN)
		return false;
	return !(frame->tcp_flags & BP_TCP_ACK) || frame->seq != f->broker_isn;
}

/* NULL: counted; the connection passes unread. */
static struct bp_flow *add(struct bp_mqtt_worker *in, const struct bp_frame *frame,
	const struct bp_lookup *l, uint8_t flags)
{
	const unsigned width = frame->ip6 ? 16 : 4;
	const uint8_t *src = frame->data + frame->l3 + (frame->ip6 ? 8 : 12);
	const uint8_t *client = frame->to_broker ? src : src + width;
	const uint8_t *broker = frame->to_broker ? src + width : src;
	struct bp_flow *f =
		bp_flow_add(&in->table, &(struct bp_flow_new){.hash = l->hash,
						.k0 = l->k0,
						.k1 = l->k1,
						.list = BP_LIST_UNPROVEN,
						.flags = frame->ip6 ? flags | BP_FLOW_IP6 : flags,
						.client_ip6 = client,
						.broker_ip6 = broker});

	if (f == NULL)
		return NULL;
	bp_journal_begin_new(in->journal, &in->table, f, in->ring);
	memcpy(f->client_ip, client, width);
	memcpy(f->broker_ip, broker, width);
	f->tunnel = frame->tunnel;
	f->proof |= bp_websocket_of_port(in, (uint16_t)f->k1);
	return f;
}

struct bp_flow *bp_handshake_first(
	struct bp_mqtt_worker *in, const struct bp_frame *frame, struct bp_lookup *l)
{
	struct bp_flow *f = NULL;
	unsigned syn_bits = frame->tcp_flags & (BP_TCP_SYN | BP_TCP_ACK | BP_TCP_RST);

	if (frame->payload_len == 0)
		bp_tally(in, BP_C_SEG_EMPTY);
	if (syn_bits == BP_TCP_SYN && frame->to_broker) {
		f = add(in, frame, l, 0);
		if (f == NULL)
			return NULL;
		bp_tally(in, BP_C_CONN_OPENED);
		begin(f, frame->seq, window_scale(frame));
		bp_flow_record_mss(f, announced_mss(frame));
		bp_handshake_syn(in, f, frame, BP_TO_BROKER);
	} else if (syn_bits == (BP_TCP_SYN | BP_TCP_ACK) && !frame->to_broker &&
		   in->enforced == NULL) {
		/* the SYN went by before biplane looked: its number is in the acknowledgement */
		f = add(in, frame, l, 0);
		if (f == NULL)
			return NULL;
		bp_tally(in, BP_C_CONN_OPENED);
		begin(f, frame->ack - 1, BP_SCALE_MAX);
		bp_flow_record_mss(f, BP_MSS_UNSEEN);
		bp_handshake_syn(in, f, frame, BP_FROM_BROKER);
	} else if (frame->payload_len != 0 && !(syn_bits & (BP_TCP_SYN | BP_TCP_RST))) {
		f = add(in, frame, l, BP_FLOW_MIDWAY);
		if (f == NULL)
			return NULL;
		bp_tally(in, BP_C_CONN_MIDSTREAM);
		if (in->fleet != NULL && (frame->tcp_flags & BP_TCP_ACK) &&
			!(f->proof & BP_FLOW_WEBSOCKET))
			bp_fleet_ask(in, f);
		bp_stream_segment(in, f, frame);
	} else {
		bp_tally(in, BP_C_SEG_NO_CONNECTION);
	}
	/* that of a connection met mid-stream was decided about */
	if (f != NULL && in->enforced != NULL && !(f->flags & BP_FLOW_MIDWAY))
		bp_enforce_after(in, f, frame);
	bp_change_end(in);
	return f;
}
