/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/enforce.h"

#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "services/mqtt/suback.h"

/*
 * A policy that refuses packets (actions close and blank, for the latter see blank.c). See
 * enforce.h for what is forwarded of a client's stream. A refused packet ends its connection: for
 * the broker with RST; for the client with an answer of MQTT and FIN where MQTT has one, else with
 * RST. All later segments of the connection are dropped, and answered with RST, as by a host that
 * has no such connection (RFC 9293 3.10.7.1): the number that it needs is in the acknowledgement of
 * the segment.
 */

#define NOT_AUTHORIZED 0x87 /* MQTT 5.0, 3.2.2.2, 3.14.2.1 */
#define NOT_AUTHORIZED_V3 5 /* MQTT 3.1.1, 3.2.2.3 */

bool bp_mqtt_worker_enforces(const struct bp_mqtt_worker *in)
{
	return bp_policy_refuses(in->rules);
}

/* Both ends of a bridged connection are in the bridge; of a routed one, the client's port counts.
 * Not that of the flow for its own segments: the same addresses may be those of clients elsewhere.
 */
bool bp_enforce_fails_closed(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	const struct bp_frame *frame = in->frame;

	if (frame == NULL || (!frame->to_broker && frame->routed && f->client_port != 0))
		return bp_policy_fails_closed(in->rules, f->client_port);
	return bp_policy_fails_closed(in->rules, frame->port);
}

static void drop(struct bp_mqtt_worker *in, bp_counter_t reason)
{
	in->enforced->verdict = BP_FRAME_DROP;
	in->enforced->reason = reason;
}

static struct bp_answer *answer(
	struct bp_mqtt_worker *in, bool to_client, uint8_t flags, uint32_t seq, uint32_t ack)
{
	struct bp_enforced *e = in->enforced;
	struct bp_answer *a = &e->answer[e->n_answers++];

	*a = (struct bp_answer){.to_client = to_client, .tcp_flags = flags, .seq = seq, .ack = ack};
	return a;
}

/* ---- the end of a connection ---- */

static void put_packet(
	const struct bp_flow *f, struct bp_answer *a, const uint8_t *packet, uint8_t n)
{
	if (f->proof & BP_FLOW_WEBSOCKET) {
		a->data[a->len++] = 0x82; /* a binary frame, alone (RFC 6455 5.2) */
		a->data[a->len++] = n;
	}
	memcpy(a->data + a->len, packet, n);
	a->len += n;
}

/* Whether a frame may follow the last byte of the broker. */
static bool between_frames(const struct bp_flow *f)
{
	const struct bp_ws_frames *s = &f->websocket.frames[BP_FROM_BROKER];

	return !(f->proof & BP_FLOW_WEBSOCKET) ||
	       (s->have == 0 && !(s->flags & (BP_WS_IN_MESSAGE | BP_WS_CLOSED)));
}

/* What MQTT says to the client, if it may be said now. */
static void put_reason(const struct bp_flow *f, struct bp_answer *a)
{
	static const uint8_t disconnect[] = {0xe0, 1, NOT_AUTHORIZED},
			     connack[] = {0x20, 3, 0, NOT_AUTHORIZED, 0},
			     connack_v3[] = {0x20, 2, 0, NOT_AUTHORIZED_V3};
	const bool connected = f->flags & BP_FLOW_CONNACK;

	if (!(f->flags & BP_FLOW_CONNECT) || f->stream[BP_FROM_BROKER] != BP_STREAM_BOUNDARY ||
		!between_frames(f))
		return;
	if (f->version == BP_MQTT_V5 && connected)
		put_packet(f, a, disconnect, sizeof(disconnect));
	else if (f->version == BP_MQTT_V5)
		put_packet(f, a, connack, sizeof(connack));
	else if (!connected)
		put_packet(f, a, connack_v3, sizeof(connack_v3));
}

/* For the broker. Returns the number of its bytes behind `at`. */
static uint32_t end_to_broker(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t at, uint32_t to_client)
{
	struct bp_answer *a = answer(in, false, BP_TCP_RST | BP_TCP_ACK, at, to_client);

	if (in->enforced->behind_end || !bp_policy_refuses_will(in, f))
		return 0;
	if (!in->enforced->between) {
		bp_tally(in, BP_C_POLICY_WILL_LEFT);
		return 0;
	}
	bp_will_discard(in, f);
	bp_will_put_disconnect(f, a);
	return a->len + 1u; /* with the FIN */
}

/* Ends the connection before the byte `at` of the client. */
static void end(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, uint32_t at)
{
	const uint32_t seen = frame->to_broker ? frame->ack : frame->seq;
	const uint32_t to_client =
		bp_stream_numbered(f, BP_FROM_BROKER) ? f->next[BP_FROM_BROKER] : seen;
	struct bp_answer *a;
	uint32_t more;

	if (f->proof & BP_FLOW_REFUSED)
		return;
	in->enforced->n_answers = 0;
	more = end_to_broker(in, f, at, to_client);
	a = answer(in, true, BP_TCP_RST | BP_TCP_ACK, to_client, at);
	if (bp_stream_tracked(f, BP_FROM_BROKER) && !in->enforced->behind_end)
		put_reason(f, a);
	if (a->len != 0)
		a->tcp_flags = BP_TCP_FIN | BP_TCP_PSH | BP_TCP_ACK;
	bp_stream_close(in, f, in->enforced->behind_end ? BP_C_CONN_RST : BP_C_POLICY_CLOSED);
	f->top[BP_TO_BROKER] = at;
	f->next[BP_TO_BROKER] = at + more;
	f->proof |= BP_FLOW_REFUSED;
}

/* To the broker, which expects `ack` of the client. */
static void end_again(struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t ack)
{
	struct bp_answer *a = answer(in, false, BP_TCP_RST | BP_TCP_ACK, f->top[BP_TO_BROKER], ack);

	if (bp_will_was_discarded(f))
		bp_will_put_disconnect(f, a);
}

/* A segment of the broker, to which a DISCONNECT was sent. Whether that is all: a RST could arrive
 * before the DISCONNECT is read. */
static bool of_discarded(
	struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame)
{
	if (frame->ack == f->top[BP_TO_BROKER])
		end_again(in, f, frame->seq + frame->payload_len);
	return frame->ack == f->top[BP_TO_BROKER] ||
	       (frame->ack == f->next[BP_TO_BROKER] && frame->payload_len == 0 &&
		       !(frame->tcp_flags & BP_TCP_FIN));
}

/* A segment of a connection that was ended. */
static void after_end(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	drop(in, BP_C_DROP_POLICY_AFTER_CLOSE);
	/* as long as somebody sends, it is known that the connection has ended */
	f->seen = in->now_ticks;
	bp_flow_file(&in->table, f, BP_LIST_CLOSED);
	if ((frame->tcp_flags & BP_TCP_RST) || !(frame->tcp_flags & BP_TCP_ACK))
		return;
	if (!frame->to_broker && bp_will_was_discarded(f) && of_discarded(in, f, frame))
		return;
	answer(in, frame->to_broker, BP_TCP_RST, frame->ack, 0);
	/* the first RST may be lost */
	if (frame->to_broker)
		end_again(in, f, frame->ack);
}

/* There is no decision about the bytes of this segment. `at`: where the broker's stream ends. */
static void unjudged(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, uint32_t at)
{
	bp_policy_report_undecided(in, f, NULL, UINT32_MAX, BP_EVENT_POLICY_NOT_INSPECTED);
	if (!bp_enforce_fails_closed(in, f)) {
		bp_tally(in, BP_C_POLICY_FAILED_OPEN);
		return;
	}
	bp_tally(in, BP_C_POLICY_FAILED_CLOSED);
	drop(in, BP_C_DROP_POLICY_UNJUDGED);
	end(in, f, frame, at);
}

/* ---- a segment of a client ---- */

/* Only the header of a segment leaves: its receiver answers it with the number that it expects. */
static void forward_empty(
	struct bp_mqtt_worker *in, const struct bp_frame *frame, bp_counter_t reason)
{
	struct bp_enforced *e = in->enforced;

	e->verdict = e->payload != NULL ? BP_FRAME_CUT : BP_FRAME_DROP;
	e->reason = reason;
	e->keep = 0;
}

/* An urgent byte was announced before the policy was active, and is ahead: the broker removes it
 * from the stream. */
static bool awaits_urgent(const struct bp_flow *f)
{
	return (f->marks & BP_MARK_URGENT(BP_TO_BROKER)) && bp_stream_tracked(f, BP_TO_BROKER);
}

/* Where the stream cannot be followed from byte to byte, it is not: what is in doubt is unjudged.
 */
static bool is_ready(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	/* bytes that were forwarded before the policy was active */
	if (f->pending & BP_FLOW_HELD(BP_TO_BROKER))
		bp_hold_release(in, f, BP_TO_BROKER);
	if (f->waiting[BP_TO_BROKER] != 0 || awaits_urgent(f))
		bp_resync_enter(in, f, BP_TO_BROKER, f->next[BP_TO_BROKER]);
	/* the position moved over bytes that took another path */
	if (bp_judged_any(f) && bp_judged_end(in, f) != f->next[BP_TO_BROKER])
		bp_judged_release(in, f);
	return bp_stream_tracked(f, BP_TO_BROKER) && !(f->pending & BP_FLOW_PUSHED(BP_TO_BROKER)) &&
	       /* the broker has acknowledged what is missing before it */
	       !((f->marks & BP_MARK_CLAIM(BP_TO_BROKER)) && frame->seq == f->claim[BP_TO_BROKER] &&
		       frame->seq != f->next[BP_TO_BROKER]);
}

/* Bytes of the segment that are kept, `n` from its byte `at` on. */
static void restore(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame,
	uint32_t at, uint32_t n)
{
	struct bp_enforced *e = in->enforced;

	if (!bp_judged_restore(in, f, frame->seq + at, e->payload + at, n))
		return;
	e->changed = true;
	bp_tally(in, BP_C_POLICY_RESTORED);
}

/* Bytes of the segment before the first one that is kept: the broker has them, or they were
 * forwarded before the policy was active. */
static void before_first(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame,
	uint32_t before, uint32_t old, uint32_t end_before)
{
	if (!bp_judged_doubts(in, f)) {
		forward_empty(in, frame, BP_C_DROP_POLICY_NOT_READ);
	} else if (!bp_enforce_fails_closed(in, f)) {
		bp_tally(in, BP_C_POLICY_FAILED_OPEN);
		if (old > before)
			restore(in, f, frame, before, old - before);
	} else if (bp_judged_is_lacking(in, f)) {
		unjudged(in, f, frame, end_before);
	} else {
		/* the answer of the broker says whether it has them */
		bp_judged_ask(in, f);
		forward_empty(in, frame, BP_C_DROP_POLICY_NOT_READ);
	}
}

/* Of bytes that were judged earlier, a client can choose other boundaries than those of before: the
 * broker must not receive a header of a WebSocket in parts, either (websocket.c). */
static uint32_t without_part_of_header(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_frame *frame, uint32_t keep)
{
	uint32_t end;

	if (__builtin_expect(!(f->proof & BP_FLOW_WEBSOCKET), 1) || !bp_enforce_fails_closed(in, f))
		return keep;
	end = bp_judged_whole_headers(in, f, frame->seq + keep);
	return (int32_t)(end - frame->seq) > 0 ? end - frame->seq : 0;
}

/* The first `keep` bytes of the payload were judged, `old` of them earlier. */
static void forward(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame,
	uint32_t keep, uint32_t old)
{
	struct bp_enforced *e = in->enforced;
	const uint32_t before = bp_judged_first(in, f) - frame->seq;
	const uint32_t end_before = bp_judged_end(in, f);

	keep = without_part_of_header(in, f, frame, keep);
	old = old < keep ? old : keep;
	if (keep == 0) {
		drop(in, BP_C_DROP_POLICY_NOT_READ);
	} else if (keep < frame->payload_len) {
		forward_empty(in, frame, BP_C_DROP_POLICY_NOT_READ);
		e->keep = keep;
	}
	if ((int32_t)before > 0)
		before_first(in, f, frame, before, old, end_before);
	else if (old != 0)
		restore(in, f, frame, 0, old);
	/* also of a frame that is dropped: they will be sent again */
	if (keep > old && !(f->proof & BP_FLOW_REFUSED))
		bp_judged_add(in, f, e->payload + old, keep - old);
}

static bool admits(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	struct bp_enforced *e = in->enforced;
	int32_t more;

	/* a byte that some receivers take out of the stream, and others do not (RFC 6093) */
	if (frame->tcp_flags & BP_TCP_URG) {
		drop(in, BP_C_DROP_POLICY_URGENT);
		return false;
	}
	if (frame->payload_len == 0 || (frame->tcp_flags & (BP_TCP_SYN | BP_TCP_RST)) ||
		e->was_closed)
		return true;
	/* the fleet has not answered yet whether it knows the connection; its record has to fit to
	 * where the stream was met */
	if (f->marks & BP_MARK_ASKED) {
		if (f->stream[BP_TO_BROKER] == BP_STREAM_UNSEEN)
			bp_fleet_first_byte(f, BP_TO_BROKER, frame->seq);
		if (!(f->proof & BP_FLOW_PROVEN) && (frame->tcp_flags & BP_TCP_ACK))
			bp_fleet_acked(f, BP_FROM_BROKER, frame->ack);
		drop(in, BP_C_DROP_POLICY_NOT_READ);
		return false;
	}
	if (e->payload == NULL) {
		drop(in, BP_C_DROP_POLICY_PIECES);
		return false;
	}
	if (!is_ready(in, f, frame))
		return true;
	if ((int32_t)(frame->seq - f->next[BP_TO_BROKER]) > 0) {
		drop(in, BP_C_DROP_POLICY_AHEAD);
		return false;
	}
	more = (int32_t)(frame->seq + frame->payload_len - f->next[BP_TO_BROKER]);
	e->reserved = bp_judged_reserve(in, f, more > 0 ? (uint32_t)more : 0);
	if (e->reserved)
		return true;
	drop(in, BP_C_DROP_POLICY_MEMORY);
	/* what was judged before may leave, so that the broker acknowledges it */
	if (bp_judged_any(f) && frame->seq != f->next[BP_TO_BROKER]) {
		e->verdict = BP_FRAME_FORWARD;
		forward(in, f, frame, f->next[BP_TO_BROKER] - frame->seq,
			f->next[BP_TO_BROKER] - frame->seq);
	}
	return false;
}

/* Both ends, or one by RST, have closed the connection. */
static void of_closed(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	const uint32_t end = frame->seq + frame->payload_len;

	if (bp_judged_any(f) && in->enforced->payload != NULL && !bp_judged_doubts(in, f) &&
		(int32_t)(end - bp_judged_end(in, f)) <= 0)
		forward(in, f, frame, frame->payload_len, frame->payload_len);
	else
		after_end(in, f, frame);
}

/* The stream is not followed from byte to byte, or was not before this segment. */
static void of_unknown_position(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t at = frame->seq;

	if (bp_judged_any(f) && (int32_t)(bp_judged_end(in, f) - at) > 0)
		at = bp_judged_end(in, f);
	bp_judged_release(in, f);
	if (in->enforced->refused) {
		drop(in, BP_C_DROP_POLICY_REFUSED);
		end(in, f, frame, at);
	} else {
		unjudged(in, f, frame, at);
	}
}

static void of_client(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	struct bp_enforced *e = in->enforced;
	uint32_t end_before, read, old;
	bool between;

	if (frame->payload_len == 0 || e->verdict != BP_FRAME_FORWARD)
		return;
	/* nothing is read before the handshake is complete: it comes again behind it */
	if (frame->tcp_flags & (BP_TCP_SYN | BP_TCP_RST)) {
		forward_empty(in, frame, BP_C_DROP_POLICY_NOT_READ);
		return;
	}
	if (e->was_closed) {
		of_closed(in, f, frame);
		return;
	}
	if (!e->reserved || !bp_stream_tracked(f, BP_TO_BROKER)) {
		of_unknown_position(in, f, frame);
		return;
	}
	end_before = bp_judged_end(in, f);
	/* of a WebSocket, packets have no numbers */
	between = !(f->proof & BP_FLOW_WEBSOCKET) && (int32_t)(e->at - end_before) >= 0;
	if (e->refused && !between)
		e->at = end_before;
	read = (e->refused ? e->at : f->next[BP_TO_BROKER]) - frame->seq;
	read = read < frame->payload_len ? read : frame->payload_len;
	old = end_before - frame->seq;
	forward(in, f, frame, read, old < read ? old : read);
	if (e->refused && !(f->proof & BP_FLOW_REFUSED)) {
		if (e->verdict == BP_FRAME_DROP)
			e->reason = e->behind_end ? BP_C_DROP_POLICY_AFTER_CLOSE
						  : BP_C_DROP_POLICY_REFUSED;
		e->between = between;
		end(in, f, frame, e->at);
	}
}

/* The broker is not where the client is; and of a routed port, it is where its address is. */
static bool is_spoofed(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame)
{
	if (frame->port == 0)
		return false;
	if (frame->routed)
		return in->is_forwarded != NULL && !in->is_forwarded(in->is_forwarded_arg, frame);
	return frame->port == f->client_port;
}

/* Whether the segment may come from an end of the connection: a forged one must not end it, and get
 * the answer. */
static bool is_of_its_ends(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	if (frame->to_broker && frame->port != 0 && !frame->routed && f->client_port != 0 &&
		frame->port != f->client_port)
		return false;
	return bp_segment_valid(in, f, frame->to_broker ? BP_TO_BROKER : BP_FROM_BROKER, frame);
}

/* A reload has changed the policy. Where the connection ends: behind what was forwarded. */
static bool ends_by_reload(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	uint32_t at = frame->to_broker ? frame->seq : frame->ack;

	/* the fleet may know more about it */
	if (in->enforced->was_closed || (f->marks & BP_MARK_ASKED) ||
		(frame->tcp_flags & (BP_TCP_SYN | BP_TCP_RST | BP_TCP_ACK)) != BP_TCP_ACK ||
		!is_of_its_ends(in, f, frame))
		return false;
	if (bp_policy_reload_waits(in, f, frame)) {
		/* what was forwarded is to be acknowledged */
		if (!frame->to_broker || frame->payload_len == 0 || !bp_judged_any(f) ||
			!bp_will_is_between(f))
			return false;
		drop(in, BP_C_DROP_POLICY_NOT_READ);
		return true;
	}
	in->enforced->between = bp_will_can_discard(in, f, frame);
	if (!bp_policy_reload_refuses(in, f))
		return false;
	if (bp_judged_any(f))
		at = bp_judged_end(in, f);
	else if (bp_stream_tracked(f, BP_TO_BROKER))
		at = f->next[BP_TO_BROKER];
	bp_tally(in, BP_C_POLICY_RELOAD_CLOSED);
	drop(in, BP_C_DROP_POLICY_REFUSED);
	end(in, f, frame, at);
	return true;
}

/*
 * A FIN or RST of a client, without a DISCONNECT before it, with which the broker would publish a
 * will that a later policy refuses: it is not forwarded, and the broker receives a DISCONNECT. A
 * FIN comes again, until the broker has acknowledged what was forwarded; a RST does not.
 */
static bool ends_with_refused_will(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	const uint32_t at = f->next[BP_TO_BROKER];
	const bool reset = frame->tcp_flags & BP_TCP_RST;

	if (f->will == 0 || !(frame->tcp_flags & (BP_TCP_FIN | BP_TCP_RST)) ||
		(frame->tcp_flags & BP_TCP_SYN) || in->enforced->was_closed ||
		(f->marks & BP_MARK_ASKED) || frame->payload_len != 0 || frame->seq != at ||
		!bp_will_is_between(f) || !bp_stream_numbered(f, BP_FROM_BROKER) ||
		(f->flags & BP_FLOW_FIN(BP_FROM_BROKER)) ||
		(!reset && !is_of_its_ends(in, f, frame)) ||
		!bp_policy_refuses_kept_will(in, f, false))
		return false;
	if (!reset && bp_judged_any(f) && (int32_t)(at - bp_judged_first(in, f)) > 0) {
		drop(in, BP_C_DROP_POLICY_NOT_READ);
		return true;
	}
	(void)bp_policy_refuses_kept_will(in, f, true);
	in->enforced->between = true;
	drop(in, BP_C_DROP_POLICY_REFUSED);
	end(in, f, frame, at);
	if (reset)
		in->enforced->n_answers = 1; /* nothing answers a RST */
	return true;
}

bool bp_enforce_before(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	in->enforced->flow = f;
	in->enforced->was_closed = f->flags & BP_FLOW_CLOSED;
	if (!frame->to_broker && is_spoofed(in, f, frame)) {
		drop(in, BP_C_DROP_POLICY_SPOOFED);
		return false;
	}
	if (__builtin_expect(f->has_alias_max & BP_FLOW_REJUDGE, 0) && ends_by_reload(in, f, frame))
		return false;
	if (bp_suback_any(in, f))
		bp_suback_segment(in, f, frame);
	if (frame->to_broker)
		return !ends_with_refused_will(in, f, frame) && admits(in, f, frame);
	if (bp_judged_any(f) && (frame->tcp_flags & BP_TCP_ACK))
		bp_judged_acknowledge(in, f, frame->ack);
	return true;
}

static bool is_syn(const struct bp_frame *frame)
{
	return frame->to_broker &&
	       (frame->tcp_flags & (BP_TCP_SYN | BP_TCP_ACK | BP_TCP_RST)) == BP_TCP_SYN;
}

static bool is_reset(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame)
{
	return (frame->tcp_flags & BP_TCP_RST) && (f->flags & BP_FLOW_CLOSED) &&
	       !in->enforced->was_closed && bp_stream_numbered(f, BP_TO_BROKER);
}

/* The client has reset the connection. Its number is the next one here, but not for a broker that
 * has not received all bytes before it: that one answers with an ACK (RFC 5961, 3.2) and continues.
 * So what it sends is answered as after a refusal. */
static void after_reset(struct bp_flow *f)
{
	f->top[BP_TO_BROKER] = f->next[BP_TO_BROKER];
	f->proof |= BP_FLOW_REFUSED;
}

void bp_enforce_after(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	struct bp_enforced *e = in->enforced;

	if (e->n_answers != 0) {
		/* this segment has ended it already */
	} else if ((f->proof & BP_FLOW_REFUSED) && is_syn(frame)) {
		/* of the next connection: it passes, and the broker's answer decides */
		if (frame->payload_len != 0)
			forward_empty(in, frame, BP_C_DROP_POLICY_NOT_READ);
	} else if (f->proof & BP_FLOW_REFUSED)
		after_end(in, f, frame);
	else if (frame->to_broker) {
		of_client(in, f, frame);
		if (is_reset(in, f, frame))
			after_reset(f);
	} else if (e->refused) /* bytes that were forwarded before the policy was active */
		end(in, f, frame, f->next[BP_TO_BROKER]);
	if (f->proof & BP_FLOW_REFUSED)
		bp_judged_release(in, f);
}

uint64_t bp_enforce_allowed(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t from, uint32_t to)
{
	return bp_judged_follow(in, b, from, to);
}

void bp_enforce_spoofed(struct bp_mqtt_worker *in)
{
	if (in->enforced != NULL)
		drop(in, BP_C_DROP_POLICY_SPOOFED);
}

bool bp_enforce_is_ambiguous(struct bp_mqtt_worker *in, const struct bp_frame *frame)
{
	if (in->enforced == NULL || !bp_mqtt_worker_is_ambiguous(in, frame->sport, frame->dport))
		return false;
	drop(in, BP_C_DROP_POLICY_NOT_INSPECTED);
	return true;
}

void bp_enforce_refuse(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	struct bp_enforced *e = in->enforced;

	if (e == NULL || e->refused)
		return;
	e->refused = true;
	e->at = in->packet_seq;
	f->stream[BP_TO_BROKER] = BP_STREAM_ENDED;
}

void bp_enforce_behind_end(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (in->enforced == NULL || in->enforced->refused)
		return;
	bp_enforce_refuse(in, f);
	in->enforced->behind_end = true;
}

void bp_enforce_undecided(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (in->enforced == NULL)
		return;
	if (bp_enforce_fails_closed(in, f)) {
		bp_tally(in, BP_C_POLICY_FAILED_CLOSED);
		bp_enforce_refuse(in, f);
	} else {
		bp_tally(in, BP_C_POLICY_FAILED_OPEN);
	}
}

/* A segment of a client that belongs to no connection that is followed. */
static void not_followed(struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	/* it was not read: other bytes with its numbers may be */
	if (bp_segment_low_ttl(in, f)) {
		drop(in, BP_C_DROP_POLICY_NOT_READ);
		return;
	}
	if (f->payload_len == 0 || in->enforced->verdict == BP_FRAME_DROP)
		return;
	if (bp_policy_fails_closed(in->rules, f->port)) {
		bp_tally(in, BP_C_POLICY_FAILED_CLOSED);
		drop(in, BP_C_DROP_POLICY_UNJUDGED);
	} else {
		bp_tally(in, BP_C_POLICY_FAILED_OPEN);
	}
}

void bp_inspect_enforce(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l,
	uint8_t *payload, struct bp_enforced *e)
{
	*e = (struct bp_enforced){.verdict = BP_FRAME_FORWARD, .payload = payload};
	in->enforced = e;
	if (bp_stream_inspect(in, f, l) == NULL && f->to_broker)
		not_followed(in, f);
	in->enforced = NULL;
}
