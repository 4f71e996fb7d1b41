/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"

/*
 * Search for a packet boundary in a stream that was picked up mid-stream, or that lost bytes.
 *
 * A hypothesis: a segment begins with a packet. It is checked strictly (types that this side may
 * send, flags, lengths, identifiers, strings, properties), for version 3.1.1 and 5.0 in parallel,
 * and continued over the following segments; the first contradiction discards it. Nothing is
 * evaluated from a hypothesis.
 *
 * The peer provides the proof: if the hypothesis contained a packet that requires a response
 * (PINGREQ, PUBLISH with QoS 1 or 2, SUBSCRIBE, ...) and the other direction carries this response,
 * with the same packet identifier, in a segment whose TCP acknowledgement covers the request, then
 * the peer, which has read the stream from its first byte, has read that packet at that position.
 * If the other direction was a hypothesis as well, the same exchange proves it. The MQTT version
 * must also be unambiguous, otherwise the stream is not inspected: a PUBLISH of 5.0 read as 3.1.1
 * would produce wrong payloads.
 *
 * Streams without responses (QoS 0) have no such proof. A payload cannot control the push
 * boundaries of its sender: TCP marks the end of a write of the application (PSH, RFC 9293 3.9.1),
 * and a client writes packets. A push counts if it is one short segment of complete packets and
 * contains a PUBLISH on a topic that this connection published while it was proven; a packet on
 * another topic, any other push, or a segment out of order or repeated restarts the count.
 * `resync_pushes` consecutive pushes are sufficient once the peer has acknowledged the last of
 * them, in a segment that is itself in sequence: an attacker who injects segments without seeing
 * the connection gets no such acknowledgement, since segments of the real sender would arrive in
 * between. Even then only known topics are evaluated (publish.c) until a response proves the
 * stream, and a contradiction restarts the search. A connection that was picked up mid-stream has
 * no known topics.
 */

#define V4 1
#define V5 2
/* 2^29 ns each: how long an answer is waited for before another question is tried: 1 s, and twice
 * as long each time, up to 8 s. The response may have been lost, or have taken another path. */
#define ANSWER_WAIT 2u
#define NEAR 65535u /* a window without scaling */

bool bp_resync_is_near(const struct bp_flow *f, unsigned dir, uint32_t seq)
{
	return seq - f->next[dir] + NEAR <= 2 * NEAR;
}

/* The search does not go back beyond this position: the data was read before, or its receiver has
 * it. */
static uint32_t *back_to(struct bp_flow *f, unsigned dir)
{
	return &f->skip[dir];
}

/* In a fleet also where nothing is evaluated: only a connection of which both positions are known
 * has a record, and without this flag the burst path would read the packets that the peer answers.
 */
void bp_resync_by_pushes(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	if (f->stream[dir] == BP_STREAM_RESYNC && in->resync_pushes != 0 &&
		(in->evaluates[dir] || in->fleet != NULL) && f->known != 0)
		f->pending |= BP_FLOW_PUSHES(dir);
}

/*
 * The lost bytes may have given an alias to another topic. In a fleet, such bytes mostly passed
 * another gateway, and clients rarely change an alias: a connection that has never done so keeps
 * its aliases.
 */
static void lose_aliases(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	if (in->fleet == NULL || (f->session & BP_SESSION_ALIAS_CHANGED))
		bp_alias_discard(in, f, dir);
	f->session |= BP_SESSION_ALIASES_LOST;
}

void bp_resync_enter(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq)
{
	if (f->proof & BP_FLOW_WEBSOCKET) {
		bp_websocket_lose(in, f, dir, seq);
		return;
	}
	if (bp_flow_is_tls(f)) {
		bp_tls_stop(in, f, dir);
		return;
	}
	bp_tally(in, BP_C_RESYNC_STARTED);
	if (f->stream[dir] == BP_STREAM_REASSEMBLE && bp_cut_type(in, f, dir) == BP_MQTT_PUBLISH)
		bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
	bp_cut_drop(in, f, dir);
	bp_hold_release(in, f, dir);
	bp_wait_release(in, f, dir);
	lose_aliases(in, f, dir);
	bp_qos2_discard(in, f, dir);
	if (dir == BP_FROM_BROKER)
		bp_ack_release(in, f); /* the acknowledgement may be in the lost bytes */
	bp_flow_unmark(f, BP_MARK_URGENT(dir) | BP_MARK_CLAIM(dir));
	f->flags |= BP_FLOW_MIDWAY;
	f->pending &= (uint8_t)~BP_FLOW_PUSHED(dir);
	*back_to(f, dir) = f->stream[dir] == BP_STREAM_UNSEEN ? seq : f->next[dir];
	f->stream[dir] = BP_STREAM_RESYNC;
	bp_resync_by_pushes(in, f, dir);
	f->next[dir] = seq;
	memset(&f->resync[dir], 0, sizeof(f->resync[dir]));
	/* without a version the other direction cannot be read either; nor can data that waits for
	 * a CONNACK, which may be lost */
	if ((f->version == 0 || (dir == BP_FROM_BROKER && !(f->proof & BP_FLOW_PROVEN))) &&
		f->stream[!dir] >= BP_STREAM_BOUNDARY && f->stream[!dir] <= BP_STREAM_REASSEMBLE)
		bp_wait_search(in, f, !dir);
}

static uint8_t versions_of(const struct bp_flow *f)
{
	return f->version == 0 ? V4 | V5 : f->version == BP_MQTT_V5 ? V5 : V4;
}

/* The type that answers a packet of `type`, or 0. */
static uint8_t answer_to(uint8_t type, uint8_t qos)
{
	switch (type) {
	case BP_MQTT_PUBLISH:
		return qos == 1 ? BP_MQTT_PUBACK : qos == 2 ? BP_MQTT_PUBREC : 0;
	case BP_MQTT_PUBREC:
		return BP_MQTT_PUBREL;
	case BP_MQTT_PUBREL:
		return BP_MQTT_PUBCOMP;
	case BP_MQTT_SUBSCRIBE:
		return BP_MQTT_SUBACK;
	case BP_MQTT_UNSUBSCRIBE:
		return BP_MQTT_UNSUBACK;
	case BP_MQTT_PINGREQ:
		return BP_MQTT_PINGRESP;
	}
	return 0;
}

static bool sendable_midway(const struct bp_flow *f, unsigned dir, uint8_t type)
{
	if (type == BP_MQTT_CONNECT || type == BP_MQTT_CONNACK)
		return !(f->proof & BP_FLOW_PROVEN) &&
		       (type == BP_MQTT_CONNECT) == (dir == BP_TO_BROKER);
	if (dir == BP_TO_BROKER)
		return type != BP_MQTT_SUBACK && type != BP_MQTT_UNSUBACK &&
		       type != BP_MQTT_PINGRESP;
	return type != BP_MQTT_SUBSCRIBE && type != BP_MQTT_UNSUBSCRIBE && type != BP_MQTT_PINGREQ;
}

/* The possible versions of the packet, of which `have` of `fixed->remaining` bytes are
 * available. */
static uint8_t possible(uint8_t versions, const struct bp_mqtt_fixed *fixed, const uint8_t *body,
	uint32_t have, uint16_t *id)
{
	static const uint8_t version_of[] = {[V4] = BP_MQTT_V311, [V5] = BP_MQTT_V5};
	uint8_t left = 0;

	*id = 0;
	for (uint8_t v = V4; v <= V5; v <<= 1) {
		struct bp_mqtt_publish p;
		enum bp_mqtt_error e;
		uint16_t other_id = 0;

		if (!(versions & v))
			continue;
		if (fixed->type == BP_MQTT_PUBLISH) {
			e = bp_mqtt_publish_head(NULL, version_of[v], fixed->flags, body, have,
				fixed->remaining, &p);
			if (e == BP_MQTT_OK)
				*id = p.packet_id;
			if (e == BP_MQTT_MORE && have < fixed->remaining)
				e = BP_MQTT_OK;
		} else if (have < fixed->remaining) {
			e = BP_MQTT_OK;
		} else {
			e = bp_mqtt_other(NULL, version_of[v], fixed->type, fixed->flags, body,
				have, &other_id);
			if (e == BP_MQTT_OK)
				*id = other_id;
		}
		if (e == BP_MQTT_OK)
			left |= v;
	}
	return left;
}

/* Inspection continues from the end of the hypothesis. */
static void read_on(struct bp_flow *f, unsigned dir)
{
	f->skip[dir] = f->resync[dir].skip;
	f->stream[dir] = f->skip[dir] != 0 ? BP_STREAM_SKIP : BP_STREAM_BOUNDARY;
	if (f->resync[dir].ended)
		f->stream[dir] = BP_STREAM_ENDED;
	f->pending &= (uint8_t)~BP_FLOW_PUSHES(dir);
	/* a FIN about here was believed; now its number has to be exact */
	if (f->flags & BP_FLOW_FIN(dir)) {
		f->flags &= (uint8_t)~BP_FLOW_FIN(dir);
		f->pending |= BP_FLOW_FINWAIT(dir);
	}
}

static void prove(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_tally(in, BP_C_RESYNC_CONFIRMED);
	bp_flow_prove(in, f);
	if (f->stream[dir] == BP_STREAM_RESYNC)
		read_on(f, dir);
	f->pending &= (uint8_t)~BP_FLOW_PUSHED(dir);
	f->memo_gen = 0;
	memset(&f->resync[dir], 0, sizeof(f->resync[dir]));
}

/* The version, once one is left; both directions narrow it down. */
static bool settle_version(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t versions)
{
	if (f->version != 0)
		return true;
	if (versions == (V4 | V5)) {
		bp_tally(in, BP_C_RESYNC_NO_VERSION);
		return false;
	}
	f->version = versions == V5 ? BP_MQTT_V5 : BP_MQTT_V311;
	return true;
}

/*
 * Whether this response matches the request in direction `dir`. A peer that has received more than
 * was seen here may respond to unseen data: the request may be forged and outdated.
 */
static bool answers(const struct bp_flow *f, unsigned dir, uint8_t type, uint16_t id, uint32_t ack)
{
	const struct bp_resync *question = &f->resync[dir];

	return question->valid && question->expect_type == type && question->expect_id == id &&
	       (int32_t)(ack - question->expect_seq) >= 0 && (int32_t)(ack - f->next[dir]) <= 0;
}

/*
 * One request at a time, the first one: a client that does not wait for responses sends the next
 * request before the response to the last one. A missing response was lost.
 */
static void ask(const struct bp_mqtt_worker *in, struct bp_resync *s, uint8_t want, uint16_t id,
	uint32_t end)
{
	uint16_t now = (uint16_t)(in->now_ticks >> 9);

	if (s->expect_type != 0) {
		if ((uint16_t)(now - s->asked) <= ANSWER_WAIT << s->missed)
			return;
		s->missed += s->missed < 3;
	}
	s->asked = now;
	s->expect_type = want;
	s->expect_id = id;
	s->expect_seq = end;
}

/*
 * The beginning of a connection without its handshake, complete and in one segment: CONNECT is the
 * request, CONNACK with success is the response, and both contain the version. Returns it; 0
 * contradicts the hypothesis.
 */
static uint8_t connect_version(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *body,
	uint32_t len, uint32_t end)
{
	struct bp_resync *s = &f->resync[BP_TO_BROKER];
	struct bp_mqtt_connect c;

	/* a client sends it once */
	if ((f->flags & BP_FLOW_CONNECT) || bp_mqtt_connect(NULL, 0, body, len, &c) != BP_MQTT_OK)
		return 0;
	bp_mqtt_keep_identity(in, f, &c);
	f->alias_max[BP_FROM_BROKER] = c.alias_max; /* counts with the answer */
	s->will = c.will.topic != NULL;
	s->expect_type = 0;
	ask(in, s, BP_MQTT_CONNACK, c.version, end);
	return c.version;
}

static uint8_t connack_version(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *body,
	uint32_t len, uint32_t ack, bool *answered)
{
	const uint8_t version = (uint8_t)f->resync[BP_TO_BROKER].expect_id;
	struct bp_mqtt_connack c;

	if (!answers(f, BP_TO_BROKER, BP_MQTT_CONNACK, version, ack) ||
		bp_mqtt_connack(version, body, len, &c) != BP_MQTT_OK || c.code != 0)
		return 0;
	if (c.assigned_id != NULL)
		bp_mqtt_keep_client_id(in, f, c.assigned_id, c.assigned_id_len);
	f->version = version;
	f->flags |= BP_FLOW_CONNECT | BP_FLOW_CONNACK;
	f->alias_max[BP_TO_BROKER] = c.alias_max;
	f->has_alias_max |= BP_ALIAS_MAX_EITHER;
	if (f->resync[BP_TO_BROKER].will)
		bp_will_not_kept(in, f);
	bp_policy_connected(in, f);
	*answered = true;
	return version;
}

/* Whether the current push has a known topic, and no other, as far as heads are available. */
static void record_topic(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t have)
{
	struct bp_resync *s = &f->resync[dir];
	struct bp_mqtt_publish p;
	uint64_t bits;

	if (bp_mqtt_publish_head(NULL, f->version, fixed->flags, body, have, fixed->remaining,
		    &p) != BP_MQTT_OK ||
		(p.topic_len == 0 && !bp_alias_topic(in, f, dir, &p)))
		return; /* cut, or an alias, whose mapping is mostly unknown after a gap */
	bits = bp_topic_known_bits(
		in, p.topic, p.topic_len, bp_topic_hash(in, p.topic, p.topic_len));
	if ((bits & ~f->known) == 0)
		s->topic = 1;
	else
		s->pushes = BP_PUSHES_CUT;
}

/*
 * Nothing is evaluated from a hypothesis, but an alias that it gives to a topic has no longer the
 * topic of before the search.
 */
static void forget_alias(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t have)
{
	struct bp_mqtt_publish p;

	if (bp_mqtt_publish_head(NULL, BP_MQTT_V5, fixed->flags, body, have, fixed->remaining,
		    &p) == BP_MQTT_OK &&
		p.alias != 0 && p.topic_len != 0)
		bp_alias_discard_one(in, f, dir, p.alias);
}

/*
 * Whether a segment is short enough to be a complete write of the application. A long write is
 * split into segments of the path's maximum size, which options and tunnels reduce below the
 * announced MSS; and some senders set PSH on each of them, or on some, depending on the window (RFC
 * 9293 3.8.6.2.1).
 */
static bool is_short(const struct bp_flow *f, uint32_t len)
{
	uint32_t mss = f->mss != 0 ? f->mss : 536;

	return len <= mss - mss / 4;
}

/* A segment of `len` bytes, all of them in the hypothesis, completed a push, at `end`. */
static void count_push(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t len, uint32_t end)
{
	struct bp_resync *s = &f->resync[dir];

	if (s->skip != 0) {
		s->pushes = BP_PUSHES_CUT;
	} else if (s->pushes == BP_PUSHES_CUT || s->more || !is_short(f, len)) {
		s->pushes = 0; /* the next one begins with a packet */
	} else if (s->topic && s->pushes < in->resync_pushes) {
		s->pushes++;
		s->run_end = end;
	}
	s->topic = 0;
	s->more = 0;
}

/* The bytes of the current segment up to `end` are in the hypothesis. */
static void record_segment(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t end)
{
	const struct bp_frame *frame = in->frame;

	if (frame == NULL)
		return; /* bytes that waited have no segments any more */
	if (end != frame->seq + frame->payload_len)
		return; /* it is in several segments */
	if (frame->tcp_flags & BP_TCP_PSH)
		count_push(in, f, dir, frame->payload_len, end);
	else
		f->resync[dir].more = 1;
}

/*
 * Reads on in the guess, p[0] at sequence number `at`. Returns false at a contradiction.
 * *answered: a packet answers the other direction's question.
 */
static bool resync_continue(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t at, uint32_t ack, bool *answered)
{
	struct bp_resync *s = &f->resync[dir];

	while (n != 0) {
		struct bp_mqtt_fixed fixed;
		uint32_t have, total;
		uint16_t id;
		uint8_t want;

		if (s->skip != 0) {
			have = s->skip < n ? s->skip : n;
			s->skip -= have;
			at += have;
			p += have;
			n -= have;
			continue;
		}
		bp_work_add(&in->work, BP_WORK_GUESS);
		if (bp_mqtt_fixed(p, n, &fixed) != BP_MQTT_OK ||
			!sendable_midway(f, dir, fixed.type) || !bp_within_budget(in))
			return false;
		total = fixed.header_len + fixed.remaining;
		have = total < n ? total : n;
		if (fixed.type == BP_MQTT_CONNECT || fixed.type == BP_MQTT_CONNACK) {
			uint8_t version = 0;

			if (have == total && fixed.type == BP_MQTT_CONNECT)
				version = connect_version(
					in, f, p + fixed.header_len, fixed.remaining, at + total);
			else if (have == total)
				version = connack_version(in, f, p + fixed.header_len,
					fixed.remaining, ack, answered);
			if (version == 0)
				return false;
			s->versions = version == BP_MQTT_V5 ? V5 : V4;
			at += total;
			p += total;
			n -= total;
			continue;
		}
		s->versions = possible(
			s->versions, &fixed, p + fixed.header_len, have - fixed.header_len, &id);
		if (s->versions == 0)
			return false;
		if (have == total && answers(f, !dir, fixed.type, id, ack))
			*answered = true;
		if (fixed.type == BP_MQTT_PUBLISH && f->n_aliases[dir] != 0)
			forget_alias(
				in, f, dir, &fixed, p + fixed.header_len, have - fixed.header_len);
		if (fixed.type == BP_MQTT_PUBLISH && (f->pending & BP_FLOW_PUSHES(dir)))
			record_topic(
				in, f, dir, &fixed, p + fixed.header_len, have - fixed.header_len);
		if (fixed.type == BP_MQTT_DISCONNECT)
			s->ended = 1;
		want = answer_to(fixed.type, fixed.flags >> 1 & 3);
		if (want != 0 && (have == total || id != 0))
			ask(in, s, want, id, at + total);
		s->skip = total - have;
		at += have;
		p += have;
		n -= have;
	}
	return true;
}

void bp_resync_segment(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq, uint32_t ack)
{
	struct bp_resync *s = &f->resync[dir];
	bool answered = false;

	/* also before the start of the search: evaluated data must not be evaluated again */
	if ((int32_t)(seq + n - f->next[dir]) <= 0) {
		bp_tally(in, BP_C_SEG_DUPLICATE);
		s->pushes = BP_PUSHES_CUT;
		s->behind = seq + n != f->next[dir];
		s->run_end = seq + n;
		/*
		 * It may be of the real sender, and the hypothesis of an attacker, at a position
		 * that the real stream will reach: then a response would be attributed to the
		 * attacker's request. A sender that retransmits later data also repeats its
		 * request.
		 */
		if (s->behind)
			s->expect_type = 0;
		return;
	}
	s->behind = 0;
	if (!s->valid || seq != f->next[dir]) {
		memset(s, 0, sizeof(*s));
		s->valid = 1;
		s->pushes = BP_PUSHES_CUT;
		s->versions = versions_of(f);
	}
	f->next[dir] = seq + n;
	if (!resync_continue(in, f, dir, p, n, seq, ack, &answered)) {
		s->valid = 0;
		return;
	}
	if (f->pending & BP_FLOW_PUSHES(dir))
		record_segment(in, f, dir, seq + n);
	if (!answered)
		return;
	/* two hypotheses with different versions exclude each other */
	if ((s->versions & f->resync[!dir].versions) == 0) {
		s->valid = f->resync[!dir].valid = 0;
		return;
	}
	/* a request and its response in opposite directions: both hypotheses are proven */
	if (!settle_version(in, f, s->versions & f->resync[!dir].versions)) {
		f->resync[!dir].expect_type = 0;
		return;
	}
	prove(in, f, !dir);
	prove(in, f, dir);
}

void bp_resync_acked(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t ack)
{
	struct bp_resync *s = &f->resync[dir];

	if ((int32_t)(ack - *back_to(f, dir)) > 0)
		*back_to(f, dir) = ack;
	/* unseen bytes were acknowledged: their content is unknown */
	if ((int32_t)(ack - f->next[dir]) > 0) {
		s->valid = 0;
		f->next[dir] = ack;
		return;
	}
	/*
	 * A segment seemed to be a repetition, and the peer has received no more: a forged segment,
	 * or an acknowledgement of unsent data, has moved the search ahead of the stream. It moves
	 * back only to the position that the peer has reached, since an attacker could otherwise
	 * move it to data that a response of the peer seems to prove although the peer never read
	 * it; and not before evaluated data, which the peer may not have received yet.
	 */
	if (s->behind && s->run_end - ack <= NEAR) {
		s->valid = s->behind = 0;
		f->next[dir] = s->run_end;
		if ((int32_t)(f->next[dir] - *back_to(f, dir)) < 0)
			f->next[dir] = *back_to(f, dir);
		return;
	}
	if (!s->valid || s->pushes != in->resync_pushes || (int32_t)(ack - s->run_end) < 0)
		return;
	bp_tally(in, BP_C_RESYNC_UNCONFIRMED);
	read_on(f, dir);
	f->pending |= BP_FLOW_PUSHED(dir);
	f->memo_gen = 0;
	memset(s, 0, sizeof(*s));
}

void bp_resync_request(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq)
{
	uint8_t want = answer_to(fixed->type, fixed->flags >> 1 & 3);
	struct bp_resync *s = &f->resync[dir];
	uint16_t id;

	if (want == 0 || possible(versions_of(f), fixed, body, fixed->remaining, &id) == 0)
		return;
	s->valid = 1;
	s->versions = versions_of(f);
	ask(in, s, want, id, seq + fixed->header_len + fixed->remaining);
}

void bp_resync_response(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	uint16_t packet_id, uint32_t ack)
{
	struct bp_resync *s = &f->resync[!dir];

	if (!answers(f, !dir, type, packet_id, ack))
		return;
	if (settle_version(in, f, s->versions))
		prove(in, f, !dir);
	else
		s->expect_type = 0;
}
