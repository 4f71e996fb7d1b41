/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"
#include "services/mqtt/suback.h"

/*
 * MQTT control packets of a byte stream, and their effect on the connection. Complete packets are
 * read in place; packets that cross a segment boundary are handled by cut_packet.c.
 */

/* The following data is not inspected; the position moves to its end. */
static void skip_to_end(struct bp_flow *f, unsigned dir)
{
	const uint32_t end = f->pending & BP_FLOW_FINWAIT(dir) ? f->fin_seq[dir] : f->top[dir];

	if (end - f->next[dir] <= BP_SEQ_OUTSIDE)
		f->next[dir] = end;
}

void bp_mqtt_stop_inspection(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_counter_t reason)
{
	bp_journal_deepen(in->journal, f);
	/* it was not synchronised: the search continues */
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_tally(in, BP_C_RESYNC_REVERTED);
		bp_resync_enter(in, f, dir, f->next[dir]);
		return;
	}
	bp_tally(in, reason);
	bp_event_inspection_stopped(in, f, reason);
	f->pending &= (uint8_t) ~(BP_FLOW_PUSHES(0) | BP_FLOW_PUSHES(1) | BP_FLOW_PUSHED_EITHER);
	bp_ack_release(in, f);
	/* only of a damaged flow */
	if (reason != BP_C_NOT_INSPECTED_TLS)
		bp_tls_release(in, f);
	for (unsigned d = 0; d < 2; d++) {
		if (bp_stream_tracked(f, d))
			skip_to_end(f, d);
		bp_cut_drop(in, f, d);
		bp_alias_discard(in, f, d);
		bp_hold_release(in, f, d);
		bp_wait_release(in, f, d);
		bp_qos2_discard(in, f, d);
		f->stream[d] = BP_STREAM_NOT_INSPECTED;
		f->not_inspected[d] = (uint8_t)(reason - BP_C_NOT_INSPECTED_NOT_MQTT);
		f->skip[d] = d == dir;
	}
}

void bp_mqtt_stop_on_error(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_mqtt_error e)
{
	static const uint16_t reason[] = {
		[BP_MQTT_OK] = BP_C_NOT_INSPECTED_PROTOCOL,
		[BP_MQTT_MORE] = BP_C_NOT_INSPECTED_TRUNCATED,
		[BP_MQTT_E_LENGTH] = BP_C_NOT_INSPECTED_LENGTH,
		[BP_MQTT_E_FLAGS] = BP_C_NOT_INSPECTED_FLAGS,
		[BP_MQTT_E_TYPE] = BP_C_NOT_INSPECTED_TYPE,
		[BP_MQTT_E_QOS] = BP_C_NOT_INSPECTED_QOS,
		[BP_MQTT_E_PACKET_ID] = BP_C_NOT_INSPECTED_PACKET_ID,
		[BP_MQTT_E_UTF8] = BP_C_NOT_INSPECTED_TOPIC_UTF8,
		[BP_MQTT_E_WILDCARD] = BP_C_NOT_INSPECTED_TOPIC_WILDCARD,
		[BP_MQTT_E_TOPIC_EMPTY] = BP_C_NOT_INSPECTED_TOPIC_EMPTY,
		[BP_MQTT_E_TRUNCATED] = BP_C_NOT_INSPECTED_TRUNCATED,
		[BP_MQTT_E_PROPERTY] = BP_C_NOT_INSPECTED_PROPERTY,
		[BP_MQTT_E_ALIAS] = BP_C_NOT_INSPECTED_ALIAS,
		[BP_MQTT_E_CONNECT] = BP_C_NOT_INSPECTED_CONNECT,
		[BP_MQTT_E_LEVELS] = BP_C_NOT_INSPECTED_TOPIC_LEVELS,
	};

	/* a stream with an error before its CONNECT has another protocol, such as TLS */
	if (!(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) && e != BP_MQTT_E_CONNECT)
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_NOT_MQTT);
	else
		bp_mqtt_stop_inspection(in, f, dir, reason[e]);
}

const uint16_t bp_mqtt_suspicious_counter[16] = {
	[BP_MQTT_E_FLAGS] = BP_C_SUSPICIOUS_FLAGS,
	[BP_MQTT_E_TYPE] = BP_C_SUSPICIOUS_TYPE,
	[BP_MQTT_E_UTF8] = BP_C_SUSPICIOUS_STRING,
	[BP_MQTT_E_WILDCARD] = BP_C_SUSPICIOUS_WILDCARD,
	[BP_MQTT_E_TOPIC_EMPTY] = BP_C_SUSPICIOUS_FILTER,
	[BP_MQTT_E_TRUNCATED] = BP_C_SUSPICIOUS_LENGTH,
	[BP_MQTT_E_PROPERTY] = BP_C_SUSPICIOUS_PROPERTY,
	[BP_MQTT_E_CONNECT] = BP_C_SUSPICIOUS_CONNECT,
	[BP_MQTT_E_LEVELS] = BP_C_SUSPICIOUS_LEVELS,
};

void bp_mqtt_suspicious(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t violations)
{
	f->suspicious |= (uint16_t)violations;
	for (; violations != 0; violations &= violations - 1)
		bp_tally(in, bp_mqtt_suspicious_counter[__builtin_ctz(violations)]);
}

static void read_connect(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body)
{
	struct bp_mqtt_view view = bp_view(in, f, dir);
	struct bp_mqtt_connect c;
	enum bp_mqtt_error e = bp_mqtt_connect(&view, fixed->flags, body, fixed->remaining, &c);

	if (e != BP_MQTT_OK && fixed->flags != 0) { /* TLS begins so */
		bp_mqtt_stop_on_error(in, f, dir, BP_MQTT_E_FLAGS);
		return;
	}
	if (e != BP_MQTT_OK) {
		/* any error in the protocol name of the first packet: not MQTT */
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_CONNECT);
		return;
	}
	bp_mqtt_suspicious(in, f, view.violations);
	f->version = c.version;
	f->flags |= BP_FLOW_CONNECT;
	f->suspicious = (uint16_t)view.violations;
	f->session = (uint8_t)((c.auth_method ? BP_SESSION_AUTH : 0) |
			       (c.session_expiry != 0 ? BP_SESSION_EXPIRY : 0) |
			       (c.clean ? BP_SESSION_CLEAN : 0));
	f->alias_max[BP_TO_BROKER] = 0;
	f->alias_max[BP_FROM_BROKER] = c.alias_max;
	f->has_alias_max |= 1 << BP_FROM_BROKER;
	bp_mqtt_keep_identity(in, f, &c);
	bp_policy_count(in, f);
	bp_policy_connect(in, f, &c);
	if (!bp_enforce_refused(in))
		bp_will_keep(in, f, &c);
}

static void read_connack(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_connack c;
	enum bp_mqtt_error e = bp_mqtt_connack(f->version, body, len, &c);

	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return;
	}
	if (c.code != 0) {
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_REFUSED);
		return;
	}
	f->flags |= BP_FLOW_CONNACK;
	f->alias_max[BP_TO_BROKER] = c.alias_max;
	f->has_alias_max |= 1 << BP_TO_BROKER;
	if (c.assigned_id != NULL)
		bp_mqtt_keep_client_id(in, f, c.assigned_id, c.assigned_id_len);
	if (f->proof & BP_FLOW_HANDSHAKE)
		bp_flow_prove(in, f);
}

static enum bp_mqtt_error read_disconnect(struct bp_mqtt_worker *in, struct bp_flow *f,
	unsigned dir, struct bp_mqtt_view *view, const struct bp_mqtt_fixed *fixed,
	const uint8_t *body)
{
	struct bp_mqtt_disconnect d = {0};
	enum bp_mqtt_error e =
		bp_mqtt_disconnect(view, f->version, fixed->flags, body, fixed->remaining, &d);

	if (e != BP_MQTT_OK || dir != BP_TO_BROKER)
		return e;
	/* the client has the broker publish the will */
	if (d.reason == BP_MQTT_DISCONNECT_WITH_WILL && in->enforced != NULL &&
		bp_policy_refuses_kept_will(in, f, true))
		bp_enforce_refuse(in, f);
	else
		bp_will_disconnect(in, f, &d);
	return e;
}

/* Invalid flags; mosquitto checks them later, depending on the type, or not at all. */
static inline enum bp_mqtt_error fixed_header(const struct bp_mqtt_worker *in,
	const struct bp_flow *f, unsigned dir, const uint8_t *p, size_t len,
	struct bp_mqtt_fixed *out)
{
	enum bp_mqtt_error e = bp_mqtt_fixed(p, len, out);

	if (__builtin_expect(e != BP_MQTT_E_FLAGS, 1) || !bp_view(in, f, dir).mosquitto)
		return e;
	/* a stream that does not begin with CONNECT is another protocol's */
	if (!(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) && p[0] >> 4 != BP_MQTT_CONNECT)
		return e;
	return bp_mqtt_fixed_lenient(p, len, out);
}

enum bp_mqtt_error bp_packet_fixed(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	unsigned dir, const uint8_t *p, size_t len, struct bp_mqtt_fixed *out)
{
	return fixed_header(in, f, dir, p, len, out);
}

/* Types by sender; bit = type. Both sides may send AUTH, in version 5 only. */
static const uint16_t sendable[2] = {
	[BP_TO_BROKER] = 1 << BP_MQTT_CONNECT | 1 << BP_MQTT_PUBLISH | 1 << BP_MQTT_PUBACK |
			 1 << BP_MQTT_PUBREC | 1 << BP_MQTT_PUBREL | 1 << BP_MQTT_PUBCOMP |
			 1 << BP_MQTT_SUBSCRIBE | 1 << BP_MQTT_UNSUBSCRIBE | 1 << BP_MQTT_PINGREQ |
			 1 << BP_MQTT_DISCONNECT | 1 << BP_MQTT_AUTH,
	[BP_FROM_BROKER] = 1 << BP_MQTT_CONNACK | 1 << BP_MQTT_PUBLISH | 1 << BP_MQTT_PUBACK |
			   1 << BP_MQTT_PUBREC | 1 << BP_MQTT_PUBREL | 1 << BP_MQTT_PUBCOMP |
			   1 << BP_MQTT_SUBACK | 1 << BP_MQTT_UNSUBACK | 1 << BP_MQTT_PINGRESP |
			   1 << BP_MQTT_DISCONNECT | 1 << BP_MQTT_AUTH,
};

/* Responses of a broker: mosquitto, which may be a client of other brokers, accepts them from
 * clients. */
static bool is_ignored(const struct bp_mqtt_worker *in, unsigned dir, uint8_t type)
{
	return in->mosquitto && dir == BP_TO_BROKER &&
	       (type == BP_MQTT_SUBACK || type == BP_MQTT_UNSUBACK || type == BP_MQTT_PINGRESP);
}

/*
 * Whether a packet of this type is valid now: a client begins with CONNECT and sends it once; a
 * broker answers it with CONNACK first (in version 5, AUTH may precede it).
 */
bool bp_packet_in_order(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	uint8_t type, bp_counter_t *why)
{
	bool midway = f->flags & BP_FLOW_MIDWAY;

	/* without an authentication method (4.12) */
	if (type == BP_MQTT_AUTH && f->version == BP_MQTT_V5 && (f->flags & BP_FLOW_CONNECT) &&
		!(f->session & BP_SESSION_AUTH)) {
		*why = BP_C_NOT_INSPECTED_PROTOCOL;
		return false;
	}
	if (!(sendable[dir] >> type & 1) && is_ignored(in, dir, type))
		type = BP_MQTT_PINGREQ;
	if (!(sendable[dir] >> type & 1)) {
		*why = !midway && dir == BP_TO_BROKER && !(f->flags & BP_FLOW_CONNECT)
			       ? BP_C_NOT_INSPECTED_NOT_MQTT
			       : BP_C_NOT_INSPECTED_TYPE;
		return false;
	}
	if (dir == BP_TO_BROKER) {
		*why = f->flags & BP_FLOW_CONNECT ? BP_C_NOT_INSPECTED_PROTOCOL
						  : BP_C_NOT_INSPECTED_NOT_MQTT;
		return (type == BP_MQTT_CONNECT) != (midway || (f->flags & BP_FLOW_CONNECT));
	}
	/* a server that speaks before the client's CONNECT is another protocol's */
	*why = f->version == 0 ? BP_C_NOT_INSPECTED_NOT_MQTT : BP_C_NOT_INSPECTED_PROTOCOL;
	if (f->version == 0)
		return false;
	if (f->flags & BP_FLOW_CONNACK)
		return type != BP_MQTT_CONNACK;
	/* a client that lost bytes after its CONNECT may still be waiting for the CONNACK */
	if (midway)
		return type != BP_MQTT_CONNACK || (f->flags & BP_FLOW_CONNECT);
	return type == BP_MQTT_CONNACK || type == BP_MQTT_AUTH;
}

void bp_packet_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	f->stream[dir] = BP_STREAM_ENDED;
	if (dir == BP_TO_BROKER || !bp_stream_tracked(f, BP_TO_BROKER))
		return;
	bp_cut_drop(in, f, BP_TO_BROKER);
	f->stream[BP_TO_BROKER] = BP_STREAM_ENDED;
}

void bp_packet_out_of_order(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type, bp_counter_t why)
{
	/* a second CONNECT ends the connection, and in mosquitto the will with it */
	if (type == BP_MQTT_CONNECT && in->mosquitto)
		bp_will_discard(in, f);
	bp_mqtt_stop_inspection(in, f, dir, why);
}

/* PUBACK or PUBREC. */
static void acknowledged(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint16_t id)
{
	const bool pubrec = fixed->type == BP_MQTT_PUBREC;
	const bool refused = f->version == BP_MQTT_V5 && fixed->remaining > 2 && body[2] >= 0x80;
	/* the burst path notes no identifiers of QoS 1 */
	bool sent = f->publishes != 0;

	if (pubrec && refused)
		sent = bp_qos2_end(in, f, !dir, id);
	if (dir == BP_FROM_BROKER && in->evaluates[BP_TO_BROKER])
		bp_on_ack(in, f, pubrec, id, refused, sent);
}

/* Before the CONNACK, both ends send AUTH by turns. */
static void record_auth(struct bp_flow *f, unsigned dir)
{
	if ((f->flags & (BP_FLOW_CONNECT | BP_FLOW_CONNACK | BP_FLOW_MIDWAY)) == BP_FLOW_CONNECT)
		f->alias_max[BP_TO_BROKER] = dir == BP_FROM_BROKER;
}

/* A valid packet, except PUBLISH, CONNECT and CONNACK. */
static void read_other(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body)
{
	struct bp_mqtt_view view = bp_view(in, f, dir);
	enum bp_mqtt_error e;
	uint16_t id = 0;

	if (fixed->type == BP_MQTT_DISCONNECT)
		e = read_disconnect(in, f, dir, &view, fixed, body);
	else
		e = bp_mqtt_other(
			&view, f->version, fixed->type, fixed->flags, body, fixed->remaining, &id);
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return;
	}
	if (is_ignored(in, dir, fixed->type))
		view.violations |= 1u << BP_MQTT_E_TYPE;
	if (view.violations != 0)
		bp_mqtt_suspicious(in, f, view.violations);
	if (fixed->type == BP_MQTT_PUBREL)
		(void)bp_qos2_end(in, f, dir, id);
	else if (fixed->type == BP_MQTT_PUBACK || fixed->type == BP_MQTT_PUBREC)
		acknowledged(in, f, dir, fixed, body, id);
	else if (fixed->type == BP_MQTT_DISCONNECT)
		bp_packet_end(in, f, dir);
	else if (fixed->type == BP_MQTT_AUTH)
		record_auth(f, dir);
	else if (fixed->type == BP_MQTT_SUBSCRIBE && (f->pending & BP_FLOW_PUSHED(dir)))
		bp_policy_unread(in, f, dir);
	else if (fixed->type == BP_MQTT_SUBSCRIBE)
		bp_policy_subscribe(in, f, body, fixed->remaining);
	/* held data that is read because of a frame of the other direction has no related ACK */
	if ((f->stream[!dir] == BP_STREAM_RESYNC || (f->pending & BP_FLOW_PUSHED(!dir))) &&
		in->frame != NULL && in->frame->to_broker == (dir == BP_TO_BROKER))
		bp_resync_response(in, f, dir, fixed->type, id, in->frame->ack);
}

/* A complete packet. `body` is fixed->remaining bytes; `seq` is that of the fixed header. */
static void packet(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq,
	struct bp_mqtt_head *head)
{
	bp_counter_t why;

	bp_tally(in, BP_C_MQTT_PACKETS);
	bp_work_add(&in->work, BP_WORK_PACKET);
	bp_enforce_packet(in, body - fixed->header_len, fixed->header_len + fixed->remaining, seq);
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_resync_request(in, f, dir, fixed, body, seq);
	} else if (__builtin_expect(f->stream[!dir] == BP_STREAM_RESYNC, 0) &&
		   (bp_ack_awaited(in, f, dir) || (in->fleet != NULL && in->frame != NULL))) {
		/* The response determines the position of the other stream: an acknowledgement is
		 * awaited, or a record for the fleet needs it. Packets that waited for an answer of
		 * the fleet (no frame) may have their response already. */
		bp_journal_deepen(in->journal, f);
		bp_resync_request(in, f, dir, fixed, body, seq);
	}
	/* most packets are PUBLISH packets of a connected client */
	if (fixed->type == BP_MQTT_PUBLISH && dir == BP_TO_BROKER &&
		(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY))) {
		bp_publish(in, f, dir, fixed->flags, body, fixed->remaining, seq, head);
		return;
	}
	bp_journal_deepen(in->journal, f);
	if (!bp_packet_in_order(in, f, dir, fixed->type, &why)) {
		bp_packet_out_of_order(in, f, dir, fixed->type, why);
		return;
	}
	switch (fixed->type) {
	case BP_MQTT_PUBLISH:
		bp_publish(in, f, dir, fixed->flags, body, fixed->remaining, seq, head);
		return;
	case BP_MQTT_CONNECT:
		read_connect(in, f, dir, fixed, body);
		return;
	case BP_MQTT_CONNACK:
		read_connack(in, f, dir, body, fixed->remaining);
		return;
	}
	read_other(in, f, dir, fixed, body);
}

void bp_packet_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq,
	struct bp_mqtt_head *head)
{
	packet(in, f, dir, fixed, body, seq, head);
}

uint32_t bp_mqtt_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq)
{
	const uint32_t all = n;

	while (n != 0 && (bp_stream_may_read(f, dir) || bp_auth_may_read(f, dir, p[0])) &&
		!bp_enforce_refused(in)) {
		struct bp_mqtt_fixed fixed;
		enum bp_mqtt_error e;
		uint32_t take;

		in->packet_seq = seq;
		switch (f->stream[dir]) {
		case BP_STREAM_BOUNDARY:
			e = fixed_header(in, f, dir, p, n, &fixed);
			if (e == BP_MQTT_OK && fixed.remaining <= n - fixed.header_len) {
				take = fixed.header_len + fixed.remaining;
				bp_suback_passes(in, f, dir, p, take, 0, seq);
				packet(in, f, dir, &fixed, p + fixed.header_len, seq, NULL);
			} else if (e == BP_MQTT_OK || e == BP_MQTT_MORE) {
				bp_cut_begin(in, f, dir, p, n);
				return all;
			} else {
				bp_mqtt_stop_on_error(in, f, dir, e);
				return all;
			}
			break;
		case BP_STREAM_SKIP:
			take = f->skip[dir] < n ? f->skip[dir] : n;
			f->skip[dir] -= take;
			if (f->skip[dir] == 0)
				f->stream[dir] = BP_STREAM_BOUNDARY;
			break;
		case BP_STREAM_REASSEMBLE:
			take = bp_cut_continue(in, f, dir, p, n, seq);
			break;
		case BP_STREAM_ENDED:
			if (bp_enforce_refused(in))
				return all;
			bp_tally(in, BP_C_AFTER_DISCONNECT);
			if (dir == BP_TO_BROKER)
				bp_enforce_behind_end(in, f);
			return all;
		default:
			return all; /* opaque */
		}
		p += take;
		n -= take;
		seq += take;
	}
	return all - n;
}
