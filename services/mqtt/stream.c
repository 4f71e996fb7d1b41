/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mqtt_worker.h"

/*
 * TCP as a bystander sees it (RFC 9293): each direction's position, what is new in a segment, how
 * the connection begins and ends. Nothing here touches the frame; whatever is decided, it is
 * forwarded.
 */

/* The MSS of an end that announced none, or was not heard (RFC 9293 3.7.1). */
#define MSS_UNSEEN 536
/* Nothing fitted for so long, about 10 s: the connection is not read. */
#define UNFIT_TICKS (10u << 10)
/* Of again_data: 255 of them are more than a segment. */
#define AGAIN_DATA_UNIT 32u
/* Of again_syn. */
#define AGAIN_MSS_UNIT 128u
#define AGAIN_NO_SCALE 15u

static void close_flow(struct bp_mqtt_worker *in, struct bp_flow *f, enum bp_counter why)
{
	bp_tally(in, why);
	bp_will_end(in, f);
	bp_flow_release_all(in, f);
	f->pending = 0;
	bp_flow_unmark(f, UINT8_MAX);
	f->flags |= BP_FLOW_CLOSED;
	f->seen = in->now_ticks; /* for the last time: what comes late does not keep it */
	bp_flow_file(&in->table, f, BP_LIST_CLOSED);
}

/* The FIN of this direction was seen, and its number is exact: nothing follows it. */
static bool is_behind_fin(const struct bp_flow *f, unsigned dir)
{
	return (f->flags & BP_FLOW_FIN(dir)) && bp_stream_numbered(f, dir);
}

/*
 * The broker sent its FIN. TCP lets a client go on (RFC 9293 3.6), but a broker that closes the
 * network connection (MQTT 3.1.1, 4.8) has closed its socket, which answers data with RST.
 */
static void broker_closed(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!bp_stream_tracked(f, BP_TO_BROKER) || !is_behind_fin(f, BP_FROM_BROKER) ||
		f->waiting[BP_FROM_BROKER] != 0)
		return;
	bp_mqtt_drop_carry(in, f, BP_TO_BROKER);
	bp_wait_release(in, f, BP_TO_BROKER);
	f->stream[BP_TO_BROKER] = BP_STREAM_ENDED;
}

static void fin_in_sequence(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	f->flags |= BP_FLOW_FIN(dir);
	if (is_behind_fin(f, dir))
		bp_hold_release(in, f, dir);
	bp_will_end(in, f);
	if (dir == BP_FROM_BROKER)
		broker_closed(in, f);
	if ((f->flags & BP_FLOW_FIN(0)) && (f->flags & BP_FLOW_FIN(1)) &&
		!(f->flags & BP_FLOW_CLOSED))
		close_flow(in, f, BP_C_FLOW_FIN);
}

/* Bytes at `at`, read as far as they may be; the rest waits. */
static void read_or_wait(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t at)
{
	uint32_t have = 0;

	if (n == 0)
		return;
	if (f->waiting[dir] == 0 && bp_stream_may_read(f, dir))
		have = bp_mqtt_read(in, f, dir, p, n, at);
	if (have < n && bp_stream_tracked(f, dir))
		bp_wait_add(in, f, dir, at + have, p + have, n - have);
}

void bp_stream_deliver(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	uint32_t at = f->next[dir], before = f->urgent[dir] - at;

	f->next[dir] = at + n;
	if (!(f->marks & BP_MARK_URGENT(dir)) || before >= n) {
		read_or_wait(in, f, dir, p, n, at);
		return;
	}
	bp_flow_unmark(f, BP_MARK_URGENT(dir));
	read_or_wait(in, f, dir, p, before, at);
	if (bp_stream_tracked(f, dir))
		read_or_wait(in, f, dir, p + before + 1, n - before - 1, at + before + 1);
}

/* The maximum segment size that a SYN announces (RFC 9293 3.7.1); 0 is none. */
static uint16_t announced_mss(const struct bp_frame *frame)
{
	const uint8_t *p = frame->data + frame->l4 + 20, *end = frame->data + frame->payload;

	while (end - p >= 4 && p[0] != 0) {
		if (p[0] == 2 && p[1] == 4)
			return bp_be16(p + 2) != 0 ? bp_be16(p + 2) : MSS_UNSEEN;
		if (p[0] != 1 && p[1] < 2)
			break;
		p += p[0] == 1 ? 1 : p[1];
	}
	return MSS_UNSEEN;
}

/* What one of the ends announced. */
static void note_mss(struct bp_flow *f, uint16_t mss)
{
	if (f->mss == 0 || mss < f->mss)
		f->mss = mss;
}

static void payload_piece(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq, uint32_t ack)
{
	int32_t ahead;

	if (f->stream[dir] == BP_STREAM_OPAQUE) {
		if ((int32_t)(seq + n - f->next[dir]) > 0)
			f->next[dir] = seq + n;
		return;
	}
	if (f->stream[dir] == BP_STREAM_UNSEEN) {
		note_mss(f, MSS_UNSEEN);
		bp_seek_enter(in, f, dir, seq);
	}
	if (f->stream[dir] == BP_STREAM_SEEK) {
		bp_seek_segment(in, f, dir, p, n, seq, ack);
		return;
	}
	ahead = (int32_t)(seq - f->next[dir]);
	if (ahead == 0) {
		bp_stream_deliver(in, f, dir, p, n);
	} else if (ahead < 0) {
		uint32_t old = f->next[dir] - seq;

		if (old > BP_SEQ_OUTSIDE) {
			bp_tally(in, BP_C_SEG_OUTSIDE);
			return;
		}
		if (old >= n) {
			bp_tally(in, BP_C_SEG_DUPLICATE);
			return;
		}
		bp_tally(in, BP_C_SEG_OVERLAP);
		bp_stream_deliver(in, f, dir, p + old, n - old);
	} else {
		if ((uint32_t)ahead > BP_SEQ_OUTSIDE) {
			bp_tally(in, BP_C_SEG_OUTSIDE);
			return;
		}
		bp_hold_add(in, f, dir, seq, p, n);
		return;
	}
	if (f->pending & BP_FLOW_HELD(dir))
		bp_hold_drain(in, f, dir);
}

static void payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_frame *frame, uint32_t seq)
{
	uint32_t here = frame->contiguous - frame->payload;

	if (here > frame->payload_len)
		here = frame->payload_len;
	if (here != 0)
		payload_piece(in, f, dir, frame->data + frame->payload, here, seq, frame->ack);
	seq += here;
	for (unsigned i = 0; i < frame->n_more; i++) {
		payload_piece(in, f, dir, frame->more[i].data, frame->more[i].len, seq, frame->ack);
		seq += frame->more[i].len;
	}
}

static void set_syn(struct bp_flow *f, unsigned dir, uint32_t seq)
{
	f->next[dir] = f->top[dir] = seq + 1;
	f->stream[dir] = BP_STREAM_BOUNDARY;
}

/* What was read, or waits, of both directions is forgotten; so is what was proven. */
static void forget(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_flow_release_all(in, f);
	f->flags &= BP_FLOW_IP6;
	f->pending = 0;
	f->proof = BP_FLOW_IN_TABLE;
	f->marks = 0;
	f->version = 0;
	f->known = 0;
	f->stream[BP_FROM_BROKER] = BP_STREAM_UNSEEN;
	f->has_alias_max = 0;
	memset(f->seek, 0, sizeof(f->seek));
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
	bp_tally(in, BP_C_FLOW_REOPENED);
	bp_will_end(in, f);
	forget(in, f);
	f->seen = in->now_ticks;
	f->mss = 0;
	f->publishes = 0;
	begin(f, client_seq, scale);
	bp_flow_file(&in->table, f, BP_LIST_UNPROVEN);
}

/* What a SYN that waits for its SYN-ACK says: the scale, and the MSS rounded down. */
static void keep_options(struct bp_flow *f, const struct bp_frame *frame)
{
	const uint8_t scale = bp_segment_scale(frame);
	const uint32_t mss = announced_mss(frame) / AGAIN_MSS_UNIT;

	_Static_assert(BP_SCALE_MAX < AGAIN_NO_SCALE, "a scale has 4 bits");
	f->again_syn = (uint8_t)((mss < 15 ? mss : 15) << 4 |
				 (scale <= BP_SCALE_MAX ? scale : AGAIN_NO_SCALE));
}

static uint8_t kept_scale(const struct bp_flow *f)
{
	const uint8_t scale = f->again_syn & 0xf;

	return scale == AGAIN_NO_SCALE ? BP_SCALE_UNSEEN : scale;
}

static uint16_t kept_mss(const struct bp_flow *f)
{
	const uint8_t mss = f->again_syn >> 4;

	return (uint16_t)(mss != 0 ? mss * AGAIN_MSS_UNIT : AGAIN_MSS_UNIT / 2);
}

/*
 * A SYN on a connection that lives, or waits for its SYN-ACK, may be anybody's: it counts only when
 * the broker's SYN-ACK agrees. On one that is closed it is the next connection. False: not believed
 * yet.
 */
static bool syn(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t data;

	if (f->flags & BP_FLOW_CLOSED) {
		reopen(in, f, frame->seq, bp_segment_scale(frame));
		note_mss(f, announced_mss(frame));
		return true;
	}
	/* retransmitted; once the handshake is complete it may be the next connection's */
	if (frame->seq == f->syn_seq && !(f->flags & BP_FLOW_MIDWAY) &&
		!(f->proof & BP_FLOW_HANDSHAKE))
		return true;
	bp_tally(in, BP_C_FLOW_SYN_UNCONFIRMED);
	f->flags |= BP_FLOW_SYN_AGAIN;
	f->again_seq = frame->seq;
	data = (frame->payload_len + AGAIN_DATA_UNIT - 1) / AGAIN_DATA_UNIT;
	f->again_data = (uint8_t)(data < UINT8_MAX ? data : UINT8_MAX);
	keep_options(f, frame);
	return false;
}

/* The SYN, its data or the SYN-ACK was not seen: the connection is picked up mid-stream. */
static void pick_up(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_tally(in, BP_C_FLOW_MIDWAY);
	f->flags |= BP_FLOW_MIDWAY;
	note_mss(f, MSS_UNSEEN);
	for (unsigned d = 0; d < 2; d++)
		if (bp_stream_tracked(f, d))
			bp_wait_search(in, f, d);
}

/* Whether a SYN-ACK confirms the SYN that waits for one, and is not the held connection's own. */
static bool confirms(const struct bp_flow *f, const struct bp_frame *frame)
{
	if (!(f->flags & BP_FLOW_SYN_AGAIN) ||
		frame->ack - (f->again_seq + 1) > f->again_data * AGAIN_DATA_UNIT)
		return false;
	return f->again_seq != f->syn_seq || !(f->proof & BP_FLOW_SYN_ACKED) ||
	       frame->seq != f->broker_isn;
}

/*
 * A SYN-ACK that acknowledges the client's SYN begins the connection; until the handshake is
 * complete it does so again, whatever a stranger sent meanwhile. Of data that came with the SYN
 * (RFC 7413) it says how much was taken. False: it is not this connection's.
 */
static bool syn_ack(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t data, lost = 0;

	if (f->flags & BP_FLOW_CLOSED) {
		reopen(in, f, frame->ack - 1, BP_SCALE_MAX);
		note_mss(f, MSS_UNSEEN);
	} else if (confirms(f, frame)) {
		/* of the SYN, believed only now, the data was not kept */
		lost = frame->ack - (f->again_seq + 1);
		reopen(in, f, f->again_seq, kept_scale(f));
		note_mss(f, kept_mss(f));
		f->next[BP_TO_BROKER] += lost;
	}
	if (f->proof & BP_FLOW_HANDSHAKE) {
		if (frame->seq != f->broker_isn)
			bp_tally(in, BP_C_FLOW_SYN_UNCONFIRMED);
		return false;
	}
	if (f->flags & BP_FLOW_MIDWAY) {
		if (f->syn_seq == 0 || frame->ack != f->syn_seq + 1 ||
			(f->proof & BP_FLOW_PROVEN)) {
			bp_tally(in, BP_C_FLOW_SYN_UNCONFIRMED);
			return false;
		}
		forget(in, f);
		set_syn(f, BP_TO_BROKER, f->syn_seq);
	}
	data = frame->ack - (f->syn_seq + 1);
	if (data > f->next[BP_TO_BROKER] - (f->syn_seq + 1)) {
		bp_tally(in, BP_C_FLOW_SYN_UNCONFIRMED);
		return false;
	}
	bp_wait_cut(in, f, BP_TO_BROKER, data);
	f->next[BP_TO_BROKER] = f->top[BP_TO_BROKER] = frame->ack;
	bp_wait_release(in, f, BP_FROM_BROKER);
	set_syn(f, BP_FROM_BROKER, frame->seq);
	f->broker_isn = frame->seq;
	f->scale[BP_TO_BROKER] = bp_segment_scale(frame);
	f->proof |= BP_FLOW_SYN_ACKED;
	note_mss(f, announced_mss(frame));
	if (lost != 0)
		pick_up(in, f); /* behind the data that the SYN brought */
	return true;
}

/*
 * A segment before the handshake is complete. It is complete when the client acknowledges the
 * broker's initial number, which only who received the SYN-ACK knows. False: nothing is to be done
 * with it.
 */
static bool handshake(
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

static void rst(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	bool fits;

	if (f->stream[dir] == BP_STREAM_SEEK)
		fits = bp_seek_is_near(f, dir, frame->seq);
	else if (f->stream[dir] == BP_STREAM_UNSEEN)
		/* a refused SYN is answered with sequence number 0: its ACK must fit */
		fits = (frame->tcp_flags & BP_TCP_ACK) && frame->ack == f->next[!dir];
	else
		/*
		 * Exactly the next number, as the receiver wants it (RFC 5961, 3.2): who is in line
		 * has seen all that the receiver has. One that is believed here and not there would
		 * end the reading of a connection that goes on; the other way about, a dead flow
		 * only waits for its timeout. The sender's FIN has a number of its own; behind it
		 * there is nothing to read, and some RSTs answer what was sent before it.
		 */
		fits = frame->seq == f->next[dir] ||
		       (is_behind_fin(f, dir) && frame->seq == f->next[dir] + 1);
	if (!fits) {
		bp_tally(in, BP_C_FLOW_RST_IGNORED);
		return;
	}
	close_flow(in, f, BP_C_FLOW_RST);
}

/* Whether a FIN at `end` is the stream's. */
static bool fin_fits(const struct bp_flow *f, unsigned dir, uint32_t end)
{
	if (f->stream[dir] == BP_STREAM_SEEK)
		return bp_seek_is_near(f, dir, end);
	return !bp_stream_numbered(f, dir) || end == f->next[dir];
}

static void fin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t end)
{
	if (f->stream[dir] == BP_STREAM_SEEK && !fin_fits(f, dir, end))
		return;
	if (bp_stream_numbered(f, dir) && end != f->next[dir]) {
		/* one that lies behind the stream is not its end */
		if (end - f->next[dir] > BP_SEQ_OUTSIDE)
			return;
		f->pending |= BP_FLOW_FINWAIT(dir);
		f->fin_seq[dir] = end;
		return;
	}
	f->fin_seq[dir] = end;
	fin_in_sequence(in, f, dir);
}

/* What waits for a proof that may have come with this segment. */
static void read_waiting(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	for (unsigned d = 0; d < 2; d++)
		if (f->waiting[d] != 0)
			bp_wait_drain(in, f, d);
}

static void syn_segment(
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
	/* the SYN takes a number; data may come with it (RFC 7413) */
	if (frame->payload_len != 0)
		payload(in, f, dir, frame, frame->seq + 1);
	f->top[dir] = f->next[dir];
	bp_segment_note_syn(f, dir, frame);
}

/*
 * Whether the segment begins the next connection on the addresses of one that is closed: a SYN, or
 * a SYN-ACK, other than the last one's, whose SYN was not seen.
 */
static bool begins_connection(const struct bp_flow *f, const struct bp_frame *frame)
{
	if ((frame->tcp_flags & (BP_TCP_SYN | BP_TCP_RST)) != BP_TCP_SYN)
		return false;
	return !(frame->tcp_flags & BP_TCP_ACK) || frame->seq != f->broker_isn;
}

/*
 * A segment with payload that does not fit. Where nothing else comes the flow is of an earlier
 * connection, or its position is lost: what goes by is not read, and that is shown until the flow
 * expires, for such segments do not keep it.
 */
static void note_unfit(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	if (frame->payload_len != 0 && in->now_ticks - f->seen > UNFIT_TICKS)
		bp_flow_mark(f, BP_MARK_UNFIT);
}

/* What the fast path leaves out: flags, gaps, what is held. */
static void segment_slow(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	if (frame->payload_len == 0)
		bp_tally(in, BP_C_SEG_EMPTY);
	if ((f->flags & BP_FLOW_CLOSED) && !begins_connection(f, frame)) {
		if (frame->payload_len != 0)
			bp_tally(in, BP_C_SEG_CLOSED);
		return;
	}
	if (frame->tcp_flags & BP_TCP_RST) {
		rst(in, f, dir, frame);
		return;
	}
	if (frame->tcp_flags & BP_TCP_SYN) {
		syn_segment(in, f, frame, dir);
		return;
	}
	if (!(f->proof & BP_FLOW_HANDSHAKE) && !(f->flags & BP_FLOW_MIDWAY) &&
		!handshake(in, f, frame, dir))
		return;
	if (!bp_segment_fits(in, f, dir, frame)) {
		note_unfit(in, f, frame);
		return;
	}
	f->seen = in->now_ticks;
	if (f->proof & BP_FLOW_MARKED)
		bp_flow_unmark(f, BP_MARK_UNFIT);
	bp_segment_note(in, f, dir, frame);
	read_waiting(in, f);
	/* only the true peer knows its own position: an acknowledgement may be anybody's */
	if ((f->pending & BP_FLOW_PUSHES(!dir)) && bp_stream_tracked(f, dir) &&
		frame->seq == f->next[dir])
		bp_seek_acked(in, f, !dir, frame->ack);
	if (frame->payload_len != 0 && is_behind_fin(f, dir)) {
		bp_tally(in, frame->seq + frame->payload_len != f->next[dir] ? BP_C_AFTER_DISCONNECT
									     : BP_C_SEG_DUPLICATE);
	} else if (frame->payload_len != 0) {
		payload(in, f, dir, frame, frame->seq);
		read_waiting(in, f);
	}
	if (f->flags & BP_FLOW_CLOSED)
		return;
	if (frame->tcp_flags & BP_TCP_FIN)
		fin(in, f, dir, frame->seq + frame->payload_len);
	/* an answer may have proven where the other one's stream is */
	for (unsigned d = 0; d < 2; d++) {
		if ((f->pending & BP_FLOW_FINWAIT(d)) && fin_fits(f, d, f->fin_seq[d])) {
			f->pending &= (uint8_t)~BP_FLOW_FINWAIT(d);
			fin_in_sequence(in, f, d);
		}
	}
}

void bp_stream_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	unsigned dir = frame->to_broker ? BP_TO_BROKER : BP_FROM_BROKER;

	/* The usual segment: in sequence, on a packet boundary, nothing held, all of it in one
	 * piece. */
	if (frame->seq == f->next[dir] && f->stream[dir] == BP_STREAM_BOUNDARY && f->pending == 0 &&
		(f->proof & (BP_FLOW_PROVEN | BP_FLOW_MARKED)) == BP_FLOW_PROVEN &&
		(frame->tcp_flags & (BP_TCP_SYN | BP_TCP_FIN | BP_TCP_RST | BP_TCP_ACK |
					    BP_TCP_URG)) == BP_TCP_ACK &&
		frame->n_more == 0 &&
		!(f->flags & (BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1))) &&
		(f->next[!dir] - frame->ack <= BP_ACK_WINDOW || !bp_stream_tracked(f, !dir))) {
		f->seen = in->now_ticks;
		if (frame->payload_len == 0) {
			bp_tally(in, BP_C_SEG_EMPTY);
			bp_segment_note_window(f, dir, frame);
			return;
		}
		bp_change_begin(in, f);
		f->next[dir] += frame->payload_len;
		bp_mqtt_read(
			in, f, dir, frame->data + frame->payload, frame->payload_len, frame->seq);
		bp_change_end(in);
		return;
	}
	bp_change_begin(in, f);
	bp_journal_deepen(in->journal, f);
	segment_slow(in, f, frame, dir);
	bp_change_end(in);
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
	return f;
}

struct bp_flow *bp_stream_first(
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
		bp_tally(in, BP_C_FLOW_OPENED);
		begin(f, frame->seq, bp_segment_scale(frame));
		note_mss(f, announced_mss(frame));
		syn_segment(in, f, frame, BP_TO_BROKER);
	} else if (syn_bits == (BP_TCP_SYN | BP_TCP_ACK) && !frame->to_broker) {
		/* the SYN went by before biplane looked: its number is in the acknowledgement */
		f = add(in, frame, l, 0);
		if (f == NULL)
			return NULL;
		bp_tally(in, BP_C_FLOW_OPENED);
		begin(f, frame->ack - 1, BP_SCALE_MAX);
		note_mss(f, MSS_UNSEEN);
		syn_segment(in, f, frame, BP_FROM_BROKER);
	} else if (frame->payload_len != 0 && !(syn_bits & (BP_TCP_SYN | BP_TCP_RST))) {
		f = add(in, frame, l, BP_FLOW_MIDWAY);
		if (f == NULL)
			return NULL;
		bp_tally(in, BP_C_FLOW_MIDWAY);
		bp_stream_segment(in, f, frame);
	} else {
		bp_tally(in, BP_C_SEG_NO_FLOW);
	}
	bp_change_end(in);
	return f;
}
