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
 * Processing of a segment, from its frame to bytes in sequence. Passive TCP tracking (RFC 9293):
 * the position of each direction, the new part of a segment, the end of the connection. This code
 * does not modify the frame, which is forwarded in any case.
 */

/* After this time without a valid segment, about 10 s, the connection is shown as not inspected. */
#define INVALID_TICKS (10u << 10)

void bp_stream_close(struct bp_mqtt_worker *in, struct bp_flow *f, bp_counter_t why)
{
	bp_tls_end(in, f);
	bp_tally(in, why);
	bp_event_end(in, f,
		why == BP_C_CONN_RST        ? BP_EVENT_END_RESET
		: why == BP_C_POLICY_CLOSED ? BP_EVENT_END_REFUSED
					    : BP_EVENT_END_CLOSED);
	if (why != BP_C_POLICY_CLOSED)
		bp_will_left(in, f);
	bp_will_end(in, f);
	bp_flow_release_all(in, f);
	f->pending = 0;
	bp_flow_unmark(f, UINT8_MAX);
	f->flags |= BP_FLOW_CLOSED;
	f->seen = in->now_ticks; /* last update: later segments do not extend its life */
	bp_flow_file(&in->table, f, BP_LIST_CLOSED);
}

/* The FIN of this direction was seen, and its number is exact: no data follows it. */
static bool is_after_fin(const struct bp_flow *f, unsigned dir)
{
	return (f->flags & BP_FLOW_FIN(dir)) && bp_stream_numbered(f, dir);
}

/*
 * The broker sent its FIN. TCP permits a client to continue (RFC 9293 3.6), but a broker that
 * closes the network connection (MQTT 3.1.1, 4.8) has closed its socket, which answers data with
 * RST.
 */
static void broker_closed(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!bp_stream_tracked(f, BP_TO_BROKER) || !is_after_fin(f, BP_FROM_BROKER) ||
		f->waiting[BP_FROM_BROKER] != 0)
		return;
	bp_cut_drop(in, f, BP_TO_BROKER);
	bp_wait_release(in, f, BP_TO_BROKER);
	f->stream[BP_TO_BROKER] = BP_STREAM_ENDED;
}

static void fin_in_sequence(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	f->flags |= BP_FLOW_FIN(dir);
	if (is_after_fin(f, dir))
		bp_hold_release(in, f, dir);
	bp_will_left(in, f);
	bp_will_end(in, f);
	bp_tls_end(in, f);
	if (dir == BP_FROM_BROKER)
		broker_closed(in, f);
	if ((f->flags & BP_FLOW_FIN(0)) && (f->flags & BP_FLOW_FIN(1)) &&
		!(f->flags & BP_FLOW_CLOSED))
		bp_stream_close(in, f, BP_C_CONN_FIN);
}

/* Bytes at `at`, read as far as they may be; the rest waits. */
static void read_or_wait(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t at)
{
	uint32_t have = 0;

	if (n == 0)
		return;
	if (f->waiting[dir] == 0 && (bp_stream_may_read(f, dir) || bp_stream_may_read_auth(f, dir)))
		have = bp_stream_read(in, f, dir, p, n, at);
	if (have == n || !bp_stream_tracked(f, dir))
		return;
	if (dir == BP_TO_BROKER && in->enforced != NULL)
		f->next[dir] = at + have; /* not forwarded, and sent again */
	else
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

static void payload_piece(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq, uint32_t ack)
{
	int32_t ahead;

	if (f->stream[dir] == BP_STREAM_UNSEEN) {
		bp_flow_record_mss(f, BP_MSS_UNSEEN);
		if (f->marks & BP_MARK_ASKED)
			bp_fleet_first_byte(f, dir, seq);
		else
			bp_resync_enter(in, f, dir, seq);
	}
	if (f->stream[dir] == BP_STREAM_NOT_INSPECTED) {
		if ((int32_t)(seq + n - f->next[dir]) > 0)
			f->next[dir] = seq + n;
		return;
	}
	if (f->stream[dir] == BP_STREAM_RESYNC) {
		bp_resync_segment(in, f, dir, p, n, seq, ack);
		return;
	}
	if (__builtin_expect(bp_fleet_begins_earlier(in, f, dir, seq), 0)) {
		f->resync[dir].pushes++;
		bp_wait_move(in, f, dir, seq);
	}
	ahead = (int32_t)(seq - f->next[dir]);
	if (ahead == 0) {
		bp_stream_deliver(in, f, dir, p, n);
	} else if (ahead < 0) {
		uint32_t old = f->next[dir] - seq;

		if (old > BP_SEQ_OUTSIDE) {
			bp_tally(in, BP_C_SEG_OUT_OF_WINDOW);
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
			bp_tally(in, BP_C_SEG_OUT_OF_WINDOW);
			return;
		}
		bp_hold_add(in, f, dir, seq, p, n);
		return;
	}
	if (f->pending & BP_FLOW_HELD(dir))
		bp_hold_drain(in, f, dir);
}

void bp_stream_payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
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

/* Reads the data that waits for a proof, which this segment may contain. */
static void read_waiting(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	for (unsigned d = 0; d < 2; d++)
		if (f->waiting[d] != 0)
			bp_wait_drain(in, f, d);
}

static void rst(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_frame *frame)
{
	bool fits;

	if (f->stream[dir] == BP_STREAM_RESYNC)
		fits = bp_resync_is_near(f, dir, frame->seq);
	else if (f->stream[dir] == BP_STREAM_UNSEEN)
		/* a refused SYN is answered with sequence number 0: its ACK must fit */
		fits = (frame->tcp_flags & BP_TCP_ACK) && frame->ack == f->next[!dir];
	else
		/*
		 * Exactly the next number, as the receiver requires (RFC 5961, 3.2): an on-path
		 * device has seen all data that the receiver has. An RST that only this code
		 * accepts would end the inspection of a live connection; in the opposite case, a
		 * dead flow only waits for its timeout. The FIN of the sender has its own number;
		 * no data follows it, and some RSTs respond to data that was sent before it.
		 */
		fits = frame->seq == f->next[dir] ||
		       (is_after_fin(f, dir) && frame->seq == f->next[dir] + 1);
	if (!fits) {
		bp_tally(in, BP_C_CONN_RST_IGNORED);
		return;
	}
	bp_fleet_confirm_no_longer(f);
	read_waiting(in, f);
	bp_stream_close(in, f, BP_C_CONN_RST);
}

/* Whether a FIN at `end` is the stream's. */
static bool fin_valid(const struct bp_flow *f, unsigned dir, uint32_t end)
{
	if (f->stream[dir] == BP_STREAM_RESYNC)
		return bp_resync_is_near(f, dir, end);
	return !bp_stream_numbered(f, dir) || end == f->next[dir];
}

static void fin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t end)
{
	if (f->stream[dir] == BP_STREAM_RESYNC && !fin_valid(f, dir, end))
		return;
	if (bp_stream_numbered(f, dir) && end != f->next[dir]) {
		/* a FIN after the end of the stream is not its end */
		if (end - f->next[dir] > BP_SEQ_OUTSIDE)
			return;
		f->pending |= BP_FLOW_FINWAIT(dir);
		f->fin_seq[dir] = end;
		return;
	}
	f->fin_seq[dir] = end;
	fin_in_sequence(in, f, dir);
}

/*
 * A segment with payload that fails validation. If no other segments arrive, the flow is of an
 * earlier connection, or its position is lost: the traffic is not inspected, which is shown until
 * the flow expires, since such segments do not keep it alive.
 */
static void count_rejected(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	if (bp_fleet_shares(in, f) && frame->payload_len != 0)
		bp_fleet_ask_replaced(in, f, frame, dir);
	if (frame->payload_len != 0 && in->now_ticks - f->seen > INVALID_TICKS)
		bp_flow_mark(f, BP_MARK_INVALID);
}

/* A segment with flags, behind or ahead of the stream, or while something is held. */
static void segment_general(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir)
{
	if (frame->payload_len == 0)
		bp_tally(in, BP_C_SEG_EMPTY);
	if ((f->flags & BP_FLOW_CLOSED) && !bp_handshake_begins(f, frame)) {
		if (frame->payload_len != 0)
			bp_tally(in, BP_C_SEG_AFTER_CLOSE);
		return;
	}
	if (__builtin_expect(in->confirms, 0) && bp_fleet_shares(in, f))
		bp_fleet_ask_paused(in, f);
	if (frame->tcp_flags & BP_TCP_RST) {
		rst(in, f, dir, frame);
		return;
	}
	if (frame->tcp_flags & BP_TCP_SYN) {
		bp_handshake_syn(in, f, frame, dir);
		return;
	}
	if (!(f->proof & BP_FLOW_HANDSHAKE) && !(f->flags & BP_FLOW_MIDWAY) &&
		!bp_handshake_segment(in, f, frame, dir))
		return;
	if (bp_fleet_shares(in, f))
		bp_fleet_ask_returned(in, f, frame, dir);
	if (!bp_segment_valid(in, f, dir, frame)) {
		count_rejected(in, f, frame, dir);
		return;
	}
	f->seen = in->now_ticks;
	if (f->proof & BP_FLOW_MARKED)
		bp_flow_unmark(f, BP_MARK_INVALID);
	bp_segment_record(in, f, dir, frame);
	if (frame->tcp_flags & BP_TCP_FIN)
		bp_fleet_confirm_no_longer(f);
	read_waiting(in, f);
	/* only the real peer knows its position: an acknowledgement may be forged */
	if ((f->pending & BP_FLOW_PUSHES(!dir)) && bp_stream_tracked(f, dir) &&
		frame->seq == f->next[dir])
		bp_resync_acked(in, f, !dir, frame->ack);
	if (frame->payload_len != 0 && is_after_fin(f, dir)) {
		bp_tally(in, frame->seq + frame->payload_len != f->next[dir] ? BP_C_AFTER_DISCONNECT
									     : BP_C_SEG_DUPLICATE);
	} else if (frame->payload_len != 0) {
		bp_stream_payload(in, f, dir, frame, frame->seq);
		read_waiting(in, f);
	}
	if (f->flags & BP_FLOW_CLOSED)
		return;
	if (frame->tcp_flags & BP_TCP_FIN)
		fin(in, f, dir, frame->seq + frame->payload_len);
	/* a response may have proven the position of the other stream */
	for (unsigned d = 0; d < 2; d++) {
		if ((f->pending & BP_FLOW_FINWAIT(d)) && fin_valid(f, d, f->fin_seq[d])) {
			f->pending &= (uint8_t)~BP_FLOW_FINWAIT(d);
			fin_in_sequence(in, f, d);
		}
	}
}

void bp_stream_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	unsigned dir = frame->to_broker ? BP_TO_BROKER : BP_FROM_BROKER;

	/* Fast path: in sequence, on a packet boundary, no held data, and complete packets only. */
	if (frame->seq == f->next[dir] && f->stream[dir] == BP_STREAM_BOUNDARY && f->pending == 0 &&
		!in->confirms &&
		(f->proof & (BP_FLOW_PROVEN | BP_FLOW_MARKED | BP_FLOW_WEBSOCKET)) ==
			BP_FLOW_PROVEN &&
		(frame->tcp_flags & (BP_TCP_SYN | BP_TCP_FIN | BP_TCP_RST | BP_TCP_ACK |
					    BP_TCP_URG)) == BP_TCP_ACK &&
		frame->n_more == 0 &&
		!(f->flags & (BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1))) &&
		(f->next[!dir] - frame->ack <= BP_ACK_WINDOW || !bp_stream_tracked(f, !dir)) &&
		(in->enforced == NULL ||
			(dir == BP_FROM_BROKER && !(f->has_alias_max & BP_FLOW_REJUDGE) &&
				bp_enforce_before(in, f, frame)))) {
		f->seen = in->now_ticks;
		if (frame->payload_len == 0) {
			bp_tally(in, BP_C_SEG_EMPTY);
			bp_segment_record_window(f, dir, frame);
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
	if (in->enforced == NULL)
		bp_judged_release(in, f); /* the policy no longer refuses packets */
	if (in->enforced == NULL || bp_enforce_before(in, f, frame))
		segment_general(in, f, frame, dir);
	if (in->enforced != NULL)
		bp_enforce_after(in, f, frame);
	bp_change_end(in);
}

/* ---- the flow that a frame is of ---- */

/*
 * Client first, broker second, in both directions.
 */
void bp_inspect_hash(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	const uint8_t *src = f->data + f->l3 + (f->ip6 ? 8 : 12);
	const uint32_t width = f->ip6 ? 16 : 4;
	const uint8_t *client = src + (f->to_broker ? 0 : width);
	const uint8_t *broker = src + (f->to_broker ? width : 0);
	uint64_t cport = f->to_broker ? f->sport : f->dport;
	uint64_t bport = f->to_broker ? f->dport : f->sport;

	l->k1 = bp_flow_k1_network(f->network) | (uint64_t)f->ip6 << BP_FLOW_K1_IP6 |
		(uint64_t)f->vlan_inner << 44 | (uint64_t)f->vlan_outer << 32 | cport << 16 | bport;
	l->k0 = f->ip6 ? bp_flow_k0_ip6(&in->table, client, broker)
		       : bp_flow_k0_ip4(client, broker);
	if (__builtin_expect(f->tunnel != 0, 0))
		l->k0 ^= bp_flow_k0_tunnel(&in->table, f->tunnel);
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
	__builtin_prefetch(&in->table.group[bp_flow_group1(&in->table, l->hash)]);
}

void bp_inspect_probe(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	l->flow = bp_flow_candidate(&in->table, l->hash);
	__builtin_prefetch(l->flow, 1);
	if (f->ip6)
		__builtin_prefetch((const uint8_t *)l->flow + 64);
}

static struct bp_flow *find(
	struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	const uint8_t *src;

	if (!f->ip6)
		return bp_flow_find(&in->table, l->hash, l->k0, l->k1, NULL, NULL);
	src = f->data + f->l3 + 8;
	return f->to_broker ? bp_flow_find(&in->table, l->hash, l->k0, l->k1, src, src + 16)
			    : bp_flow_find(&in->table, l->hash, l->k0, l->k1, src + 16, src);
}

/* A connection with TLS whose names do not come: it is reported without them. */
static bool is_late_tls(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return !(f->proof & BP_FLOW_PROVEN) && bp_flow_is_tls(f) &&
	       ((f->proof & BP_FLOW_UNREAD) || in->now_ticks - f->seen > bp_ticks(1000000000ull));
}

/* Whether a direction that is evaluated is not inspected: inspection has stopped, or is
 * resynchronising. */
static bool is_unread(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return !(f->flags & BP_FLOW_CLOSED) &&
	       ((in->evaluates[0] && bp_stream_unread(f, 0)) ||
		       (in->evaluates[1] && bp_stream_unread(f, 1)) || is_late_tls(in, f));
}

void bp_flow_settle(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t before)
{
	if (__builtin_expect(is_unread(in, f) != ((f->proof & BP_FLOW_UNREAD) != 0), 0)) {
		f->proof ^= BP_FLOW_UNREAD;
		f->unread_since = in->now_ticks;
		bp_event_unread_changed(in, f, before);
	}
	if (__builtin_expect(((f->proof ^ before) & BP_FLOW_PROOFS) == 0, 1) ||
		(f->flags & BP_FLOW_CLOSED))
		return;
	bp_flow_file(&in->table, f, f->proof & BP_FLOW_PROVEN ? BP_LIST_PROVEN : BP_LIST_UNPROVEN);
}

/* Whether the end with the inspected port is one of mqtt.brokers. */
static bool is_broker(const struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	const uint32_t width = f->ip6 ? 16 : 4;
	const uint8_t *src = f->data + f->l3 + (f->ip6 ? 8 : 12);
	struct bp_address a = {.family = f->ip6 ? 6 : 4};

	memcpy(a.bytes, src + (f->to_broker ? width : 0), width);
	for (uint32_t i = 0; i < in->n_brokers; i++)
		if (bp_prefix_contains(&in->brokers[i], &a))
			return true;
	return false;
}

/*
 * Whether a segment may prove its connection. Its peer never receives a segment that the gateway
 * does not forward, or that arrives on the port of the peer itself. Without this check a single
 * host could send the segments of both ends and prove a connection that does not exist. `flow`:
 * NULL before the first segment of the connection.
 */
static bool may_prove(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_flow *flow)
{
	if (bp_enforce_is_ambiguous(in, f))
		return false;
	if (in->n_brokers != 0 && !is_broker(in, f)) {
		bp_tally(in, BP_C_SEG_OTHER_BROKER);
		return false;
	}
	if (f->port == 0)
		return true;
	if (f->routed) {
		if (in->is_forwarded == NULL || in->is_forwarded(in->is_forwarded_arg, f))
			return true;
		bp_tally(in, BP_C_SEG_NOT_FORWARDED);
		if (!f->to_broker)
			bp_enforce_spoofed(in);
		return false;
	}
	if (flow == NULL)
		return true;
	if (f->to_broker) {
		/* the latest port: an earlier forged segment has no lasting effect */
		flow->client_port = f->port;
	} else if (flow->client_port == f->port) {
		bp_tally(in, BP_C_SEG_SAME_PORT);
		bp_enforce_spoofed(in);
		return false;
	}
	return true;
}

struct bp_flow *bp_stream_inspect(
	struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	struct bp_flow *flow = l->flow;
	uint8_t before;

	bp_tally(in, BP_C_SEG_INSPECTED);
	if (bp_segment_low_ttl(in, f)) {
		bp_tally(in, BP_C_SEG_LOW_TTL);
		return NULL;
	}
	in->frame = f;
	bp_work_begin(&in->work, l->hash, f->payload + f->payload_len);
	/* the candidate may be another flow with the same tag, or removed since the probe */
	if (flow->k0 != l->k0 || flow->k1 != l->k1 || f->ip6 || flow->proof == 0)
		flow = find(in, f, l);
	if (__builtin_expect(flow == NULL || !(flow->proof & BP_FLOW_PROVEN), 0) &&
		!may_prove(in, f, flow)) {
		bp_work_end(&in->work);
		return NULL;
	}
	if (flow == NULL) {
		flow = bp_handshake_first(in, f, l);
		if (flow != NULL) {
			flow->client_port = f->to_broker ? f->port : 0;
			bp_flow_settle(in, flow, BP_FLOW_IN_TABLE);
		}
	} else {
		before = flow->proof;
		bp_stream_segment(in, flow, f);
		bp_flow_settle(in, flow, before);
	}
	bp_alarms_commit(in); /* of wills of evicted connections */
	bp_work_end(&in->work);
	return flow;
}

void bp_inspect_segment(struct bp_mqtt_worker *in, const struct bp_frame *f, struct bp_lookup *l)
{
	(void)bp_stream_inspect(in, f, l);
}

void bp_inspect_one(struct bp_mqtt_worker *in, const struct bp_frame *f)
{
	struct bp_lookup l;

	bp_inspect_hash(in, f, &l);
	bp_inspect_probe(in, f, &l);
	bp_inspect_segment(in, f, &l);
}
