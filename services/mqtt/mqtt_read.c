/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mqtt_worker.h"

/*
 * A byte stream cut into MQTT control packets. Whole packets are read where they lie; of a packet
 * that the segment cuts, only what a rule may want is carried, the rest is skipped by its length.
 */

/* A carried packet. Its head is checked once, however small the pieces are that it comes in. */
struct carried {
	struct bp_mqtt_head head;
	uint8_t packet[];
};

static struct carried *carried(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return (struct carried *)(void *)bp_carry_data(in->carry, f->carry[dir]);
}

void bp_mqtt_drop_carry(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_flow_release(in, f, f->carry[dir]);
	f->carry[dir] = 0;
	f->carry_len[dir] = f->carry_need[dir] = 0;
	f->carry_decided[dir] = 0;
}

/* What is ahead is not read any more, and its end is the position. */
static void skip_to_end(struct bp_flow *f, unsigned dir)
{
	const uint32_t end = f->pending & BP_FLOW_FINWAIT(dir) ? f->fin_seq[dir] : f->top[dir];

	if (end - f->next[dir] <= BP_SEQ_OUTSIDE)
		f->next[dir] = end;
}

void bp_mqtt_opaque(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_counter reason)
{
	bp_journal_deepen(in->journal, f);
	/* it was not in step: the search goes on */
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_tally(in, BP_C_SEEK_REFUTED);
		bp_seek_enter(in, f, dir, f->next[dir]);
		return;
	}
	bp_tally(in, reason);
	f->pending &= (uint8_t) ~(BP_FLOW_PUSHES(0) | BP_FLOW_PUSHES(1) | BP_FLOW_PUSHED_EITHER);
	bp_ack_release(in, f);
	for (unsigned d = 0; d < 2; d++) {
		if (bp_stream_tracked(f, d))
			skip_to_end(f, d);
		bp_mqtt_drop_carry(in, f, d);
		bp_alias_forget(in, f, d);
		bp_hold_release(in, f, d);
		bp_wait_release(in, f, d);
		bp_qos2_forget(in, f, d);
		f->stream[d] = BP_STREAM_OPAQUE;
		f->opaque[d] = (uint8_t)(reason - BP_C_OPAQUE_NOT_MQTT);
		f->skip[d] = d == dir;
	}
}

void bp_mqtt_opaque_error(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_mqtt_error e)
{
	static const uint8_t reason[] = {
		[BP_MQTT_OK] = BP_C_OPAQUE_PROTOCOL,
		[BP_MQTT_MORE] = BP_C_OPAQUE_TRUNCATED,
		[BP_MQTT_E_LENGTH] = BP_C_OPAQUE_LENGTH,
		[BP_MQTT_E_FLAGS] = BP_C_OPAQUE_FLAGS,
		[BP_MQTT_E_TYPE] = BP_C_OPAQUE_TYPE,
		[BP_MQTT_E_QOS] = BP_C_OPAQUE_QOS,
		[BP_MQTT_E_PACKET_ID] = BP_C_OPAQUE_PACKET_ID,
		[BP_MQTT_E_UTF8] = BP_C_OPAQUE_TOPIC_UTF8,
		[BP_MQTT_E_WILDCARD] = BP_C_OPAQUE_TOPIC_WILDCARD,
		[BP_MQTT_E_TOPIC_EMPTY] = BP_C_OPAQUE_TOPIC_EMPTY,
		[BP_MQTT_E_TRUNCATED] = BP_C_OPAQUE_TRUNCATED,
		[BP_MQTT_E_PROPERTY] = BP_C_OPAQUE_PROPERTY,
		[BP_MQTT_E_ALIAS] = BP_C_OPAQUE_ALIAS,
		[BP_MQTT_E_CONNECT] = BP_C_OPAQUE_CONNECT,
		[BP_MQTT_E_LEVELS] = BP_C_OPAQUE_TOPIC_LEVELS,
	};

	/* a stream that is wrong before its CONNECT is another protocol's (TLS, say) */
	if (!(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) && e != BP_MQTT_E_CONNECT)
		bp_mqtt_opaque(in, f, dir, BP_C_OPAQUE_NOT_MQTT);
	else
		bp_mqtt_opaque(in, f, dir, (enum bp_counter)reason[e]);
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

void bp_mqtt_suspicious(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t odd)
{
	f->suspicious |= (uint16_t)odd;
	for (; odd != 0; odd &= odd - 1)
		bp_tally(in, (enum bp_counter)bp_mqtt_suspicious_counter[__builtin_ctz(odd)]);
}

/* A client identifier that finds no room stays unknown: it only names, it decides nothing. */
void bp_mqtt_keep_client_id(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t n)
{
	bp_flow_release(in, f, f->client_id);
	f->client_id = 0;
	f->client_id_len = 0;
	f->session &= (uint8_t)~BP_SESSION_NO_ID;
	if (n == 0)
		return;
	f->client_id = bp_flow_alloc(in, f, n);
	if (f->client_id == 0) {
		f->session |= BP_SESSION_NO_ID;
		return;
	}
	f->client_id_len = n;
	memcpy(bp_carry_data(in->carry, f->client_id), id, n);
}

static void read_connect(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body)
{
	struct bp_mqtt_view view = bp_view(in, f, dir);
	struct bp_mqtt_connect c;
	enum bp_mqtt_error e = bp_mqtt_connect(&view, fixed->flags, body, fixed->remaining, &c);

	if (e != BP_MQTT_OK && fixed->flags != 0) { /* TLS begins so */
		bp_mqtt_opaque_error(in, f, dir, BP_MQTT_E_FLAGS);
		return;
	}
	if (e != BP_MQTT_OK) {
		/* whatever is wrong with the first packet's protocol name: not MQTT at all */
		bp_mqtt_opaque(in, f, dir, BP_C_OPAQUE_CONNECT);
		return;
	}
	bp_mqtt_suspicious(in, f, view.odd);
	f->version = c.version;
	f->flags |= BP_FLOW_CONNECT;
	f->suspicious = (uint16_t)view.odd;
	f->session = (uint8_t)((c.auth_method ? BP_SESSION_AUTH : 0) |
			       (c.session_expiry != 0 ? BP_SESSION_EXPIRY : 0) |
			       (c.clean ? BP_SESSION_CLEAN : 0));
	f->alias_max[BP_FROM_BROKER] = c.alias_max;
	f->has_alias_max |= 1 << BP_FROM_BROKER;
	bp_mqtt_keep_client_id(in, f, c.client_id, c.client_id_len);
	bp_will_keep(in, f, &c);
}

static void read_connack(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_connack c;
	enum bp_mqtt_error e = bp_mqtt_connack(f->version, body, len, &c);

	if (e != BP_MQTT_OK) {
		bp_mqtt_opaque_error(in, f, dir, e);
		return;
	}
	if (c.code != 0) {
		bp_mqtt_opaque(in, f, dir, BP_C_OPAQUE_REFUSED);
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

	if (e == BP_MQTT_OK && dir == BP_TO_BROKER)
		bp_will_disconnect(in, f, &d);
	return e;
}

/* Flags that do not fit, mosquitto asks for later, by the type, or not at all. */
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

/* Types by who may send them; bit = type. AUTH goes both ways, in version 5 only. */
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

/* Answers of a broker: mosquitto, which is a client of other brokers too, takes them from clients.
 */
static bool is_ignored(const struct bp_mqtt_worker *in, unsigned dir, uint8_t type)
{
	return in->mosquitto && dir == BP_TO_BROKER &&
	       (type == BP_MQTT_SUBACK || type == BP_MQTT_UNSUBACK || type == BP_MQTT_PINGRESP);
}

/*
 * Whether a packet of this type may come now: a client begins with CONNECT and sends it once; a
 * broker answers it with CONNACK first (AUTH may come before, in version 5).
 */
static bool in_turn(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	uint8_t type, enum bp_counter *why)
{
	bool midway = f->flags & BP_FLOW_MIDWAY;

	/* there is nothing to authenticate by (4.12) */
	if (type == BP_MQTT_AUTH && f->version == BP_MQTT_V5 && (f->flags & BP_FLOW_CONNECT) &&
		!(f->session & BP_SESSION_AUTH)) {
		*why = BP_C_OPAQUE_PROTOCOL;
		return false;
	}
	if (!(sendable[dir] >> type & 1) && is_ignored(in, dir, type))
		type = BP_MQTT_PINGREQ;
	if (!(sendable[dir] >> type & 1)) {
		*why = !midway && dir == BP_TO_BROKER && !(f->flags & BP_FLOW_CONNECT)
			       ? BP_C_OPAQUE_NOT_MQTT
			       : BP_C_OPAQUE_TYPE;
		return false;
	}
	if (dir == BP_TO_BROKER) {
		*why = f->flags & BP_FLOW_CONNECT ? BP_C_OPAQUE_PROTOCOL : BP_C_OPAQUE_NOT_MQTT;
		return (type == BP_MQTT_CONNECT) != (midway || (f->flags & BP_FLOW_CONNECT));
	}
	/* a server that speaks before the client's CONNECT is another protocol's */
	*why = f->version == 0 ? BP_C_OPAQUE_NOT_MQTT : BP_C_OPAQUE_PROTOCOL;
	if (f->version == 0)
		return false;
	if (f->flags & BP_FLOW_CONNACK)
		return type != BP_MQTT_CONNACK;
	/* a client that lost bytes after its CONNECT may still be waiting for the CONNACK */
	if (midway)
		return type != BP_MQTT_CONNACK || (f->flags & BP_FLOW_CONNECT);
	return type == BP_MQTT_CONNACK || type == BP_MQTT_AUTH;
}

/* A broker reads nothing behind the client's DISCONNECT, nor once it has sent its own. */
static void end_reading(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	f->stream[dir] = BP_STREAM_ENDED;
	if (dir == BP_TO_BROKER || !bp_stream_tracked(f, BP_TO_BROKER))
		return;
	bp_mqtt_drop_carry(in, f, BP_TO_BROKER);
	f->stream[BP_TO_BROKER] = BP_STREAM_ENDED;
}

static void out_of_turn(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	enum bp_counter why)
{
	/* a second CONNECT ends the connection, and in mosquitto the will with it */
	if (type == BP_MQTT_CONNECT && in->mosquitto)
		bp_will_discard(in, f);
	bp_mqtt_opaque(in, f, dir, why);
}

/* PUBACK or PUBREC. */
static void acknowledged(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint16_t id)
{
	const bool pubrec = fixed->type == BP_MQTT_PUBREC;
	const bool refused = f->version == BP_MQTT_V5 && fixed->remaining > 2 && body[2] >= 0x80;
	/* the shortest way notes no identifiers of QoS 1 */
	bool sent = f->publishes != 0;

	if (pubrec && refused)
		sent = bp_qos2_end(in, f, !dir, id);
	if (dir == BP_FROM_BROKER && in->judged[BP_TO_BROKER])
		bp_ack_came(in, f, pubrec, id, refused, sent);
}

/* A complete packet. `body` is fixed->remaining bytes; `seq` is that of the fixed header. */
static void packet(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq,
	struct bp_mqtt_head *head)
{
	struct bp_mqtt_view view;
	enum bp_counter why;
	enum bp_mqtt_error e;
	uint16_t id = 0;

	bp_tally(in, BP_C_MQTT_PACKETS);
	bp_work_add(&in->work, BP_WORK_PACKET);
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_seek_ask(in, f, dir, fixed, body, seq);
	} else if (__builtin_expect(f->stream[!dir] == BP_STREAM_SEEK, 0) &&
		   bp_ack_awaited(in, f, dir)) {
		/* an acknowledgement tells where the broker's stream is */
		bp_journal_deepen(in->journal, f);
		bp_seek_ask(in, f, dir, fixed, body, seq);
	}
	/* a connected client's PUBLISH is nearly every packet there is */
	if (fixed->type == BP_MQTT_PUBLISH && dir == BP_TO_BROKER &&
		(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY))) {
		bp_publish(in, f, dir, fixed->flags, body, fixed->remaining, seq, head);
		return;
	}
	bp_journal_deepen(in->journal, f);
	if (!in_turn(in, f, dir, fixed->type, &why)) {
		out_of_turn(in, f, dir, fixed->type, why);
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
	view = bp_view(in, f, dir);
	if (fixed->type == BP_MQTT_DISCONNECT)
		e = read_disconnect(in, f, dir, &view, fixed, body);
	else
		e = bp_mqtt_other(
			&view, f->version, fixed->type, fixed->flags, body, fixed->remaining, &id);
	if (e != BP_MQTT_OK) {
		bp_mqtt_opaque_error(in, f, dir, e);
		return;
	}
	if (is_ignored(in, dir, fixed->type))
		view.odd |= 1u << BP_MQTT_E_TYPE;
	if (view.odd != 0)
		bp_mqtt_suspicious(in, f, view.odd);
	if (fixed->type == BP_MQTT_PUBREL)
		(void)bp_qos2_end(in, f, dir, id);
	else if (fixed->type == BP_MQTT_PUBACK || fixed->type == BP_MQTT_PUBREC)
		acknowledged(in, f, dir, fixed, body, id);
	else if (fixed->type == BP_MQTT_DISCONNECT)
		end_reading(in, f, dir);
	/* what was held and is read because of the other direction's frame has no ACK at hand */
	if ((f->stream[!dir] == BP_STREAM_SEEK || (f->pending & BP_FLOW_PUSHED(!dir))) &&
		in->frame->to_broker == (dir == BP_TO_BROKER))
		bp_seek_answer(in, f, dir, fixed->type, id, in->frame->ack);
}

/* From here on the packet's bytes are counted off, not read. */
static void skip(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t bytes)
{
	bp_mqtt_drop_carry(in, f, dir);
	f->skip[dir] = bytes;
	f->stream[dir] = bytes == 0 ? BP_STREAM_BOUNDARY : BP_STREAM_SKIP;
}

/* A packet can't be read whole: what that means for the packets after it. */
static void lose(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type, bool head_known)
{
	/* accepted or not: what the client sends now is searched for a proof */
	if (type == BP_MQTT_CONNACK) {
		f->flags |= BP_FLOW_CONNACK;
		if (!(f->proof & BP_FLOW_PROVEN))
			bp_wait_search(in, f, BP_TO_BROKER);
	}
	if (type == BP_MQTT_PUBREL)
		bp_qos2_forget(in, f, dir);
	if (dir == BP_FROM_BROKER && (type == BP_MQTT_PUBACK || type == BP_MQTT_PUBREC))
		bp_ack_release(in, f);
	if (type != BP_MQTT_PUBLISH)
		return;
	bp_tally(in, BP_C_MQTT_PUBLISH_LOST);
	/* it may have mapped an alias anew: what was known of aliases would be a guess */
	if (!head_known && f->version == BP_MQTT_V5)
		bp_alias_forget(in, f, dir);
}

/* Makes the carry hold at least `bytes` of a packet, better `room`. */
static bool reserve(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint64_t bytes, uint64_t room)
{
	const uint64_t before = sizeof(struct carried);

	if (f->carry[dir] != 0 && bp_carry_size(in->carry, f->carry[dir]) >= before + bytes)
		return true;
	return bp_flow_grow(in, f, &f->carry[dir], (uint32_t)before + f->carry_len[dir],
		before + bytes, before + room);
}

/* Begins to carry p[0..n) of a packet whose head is checked as far as `head` says. */
static bool carry_first(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_head *head, const uint8_t *p, uint32_t n)
{
	struct carried *c;

	if (!reserve(in, f, dir, n, n))
		return false;
	c = carried(in, f, dir);
	c->head = *head;
	memcpy(c->packet, p, n);
	return true;
}

/*
 * A fixed header that is not complete waits in the flow itself: it takes no room that may lack, and
 * without it the position would be lost.
 */
static uint8_t *header_at(struct bp_flow *f, unsigned dir)
{
	return (uint8_t *)&f->skip[dir]; /* at most four octets, or it would be complete */
}

/* All of a PUBLISH went by of which the beginning was kept. `seq`: behind it. */
static void beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq)
{
	uint32_t need = f->carry_need[dir], have = f->carry_len[dir];
	struct carried *c = carried(in, f, dir);
	struct bp_mqtt_fixed fixed;

	f->stream[dir] = BP_STREAM_BOUNDARY;
	bp_tally(in, BP_C_MQTT_PACKETS);
	if (fixed_header(in, f, dir, c->packet, have, &fixed) == BP_MQTT_OK)
		bp_publish_beginning(in, f, dir, fixed.flags, c->packet + fixed.header_len,
			have - fixed.header_len, fixed.remaining, seq - need, &c->head);
	bp_mqtt_drop_carry(in, f, dir);
}

/* The packet of which `have` bytes of `total` went by finds no room. */
static void no_room(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type,
	uint32_t total, uint32_t have)
{
	if (type == BP_MQTT_PUBLISH && f->carry_decided[dir] == BP_CARRY_WHOLE &&
		f->carry[dir] != 0 && have < total) {
		f->carry_decided[dir] = BP_CARRY_BEGINNING;
		f->skip[dir] = total - have;
		return;
	}
	if (type == BP_MQTT_CONNECT) {
		/* there will be no version to read the rest with */
		bp_mqtt_opaque(in, f, dir, BP_C_OPAQUE_CONNECT);
		return;
	}
	lose(in, f, dir, type, f->carry_decided[dir]);
	skip(in, f, dir, total - have);
}

/*
 * Decides about the packet whose beginning [p, p + have) is at hand and whose length `fixed` tells:
 * true when it is to be carried. Otherwise what is left of it is skipped, or the stream is opaque.
 * `head`: how far the head of a PUBLISH is checked.
 */
static bool worth_carrying(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *p, uint32_t have,
	struct bp_mqtt_head *head)
{
	uint32_t total = fixed->header_len + fixed->remaining;
	enum bp_wanted wanted = BP_WANTED_YES;
	enum bp_counter why;

	/* what a second CONNECT does to the will shows when it is whole */
	if (!in_turn(in, f, dir, fixed->type, &why) &&
		!(fixed->type == BP_MQTT_CONNECT && f->will != 0)) {
		out_of_turn(in, f, dir, fixed->type, why);
		return false;
	}
	if (fixed->type == BP_MQTT_PUBLISH) {
		wanted = bp_publish_wanted(in, f, dir, fixed->flags, p + fixed->header_len,
			have - fixed->header_len, fixed->remaining, head);
		if (wanted == BP_WANTED_OPAQUE)
			return false;
		if (wanted == BP_WANTED_YES)
			f->carry_decided[dir] = BP_CARRY_WHOLE;
	}
	if (wanted == BP_WANTED_NO) {
		bp_tally(in, BP_C_MQTT_PACKETS);
		skip(in, f, dir, total - have);
		return false;
	}
	/* of a PUBLISH that is too long the beginning is worth having */
	if (wanted == BP_WANTED_YES && fixed->type != BP_MQTT_PUBLISH &&
		total + sizeof(struct carried) > in->carry_per_flow) {
		bp_tally(in, BP_C_CARRY_FLOW_LIMIT);
		no_room(in, f, dir, fixed->type, total, have);
		return false;
	}
	return true;
}

/* Begins to carry a packet of which [p, p + n) is all that the segment has. */
static void carry_begin(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	struct bp_mqtt_head head = {0};
	struct bp_mqtt_fixed fixed;
	uint32_t total;

	bp_journal_deepen(in->journal, f);
	f->carry_decided[dir] = 0;
	f->carry_need[dir] = 0;
	if (fixed_header(in, f, dir, p, n, &fixed) != BP_MQTT_OK) {
		memcpy(header_at(f, dir), p, n);
		f->carry_len[dir] = n;
		f->stream[dir] = BP_STREAM_CARRY;
		return;
	}
	total = fixed.header_len + fixed.remaining;
	if (!worth_carrying(in, f, dir, &fixed, p, n, &head))
		return;
	if (!carry_first(in, f, dir, &head, p, n)) {
		no_room(in, f, dir, fixed.type, total, n);
		return;
	}
	f->carry_len[dir] = n;
	f->carry_need[dir] = total;
	f->stream[dir] = BP_STREAM_CARRY;
}

/* The fixed header byte by byte, until it tells the packet's length. Returns bytes taken. */
static uint32_t carry_header(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	uint8_t header[BP_MQTT_FIXED_MAX];
	uint32_t have = f->carry_len[dir];
	struct bp_mqtt_fixed fixed;
	enum bp_mqtt_error e = BP_MQTT_MORE;
	struct bp_mqtt_head head = {0};
	uint32_t taken = 0;

	memcpy(header, header_at(f, dir), have);
	while (taken < n && e == BP_MQTT_MORE) {
		header[have++] = p[taken++];
		e = fixed_header(in, f, dir, header, have, &fixed);
	}
	f->carry_len[dir] = have;
	if (e == BP_MQTT_MORE) {
		memcpy(header_at(f, dir), header, have);
		return taken;
	}
	if (e != BP_MQTT_OK) {
		bp_mqtt_opaque_error(in, f, dir, e);
		return taken;
	}
	if (fixed.remaining == 0) {
		skip(in, f, dir, 0);
		packet(in, f, dir, &fixed, header + have, seq + taken - have, NULL);
		return taken;
	}
	if (!worth_carrying(in, f, dir, &fixed, header, have, &head))
		return taken;
	if (!carry_first(in, f, dir, &head, header, have)) {
		no_room(in, f, dir, fixed.type, have + fixed.remaining, have);
		return taken;
	}
	f->carry_need[dir] = have + fixed.remaining;
	return taken;
}

/* More of a packet whose length is known. Returns bytes taken. */
static uint32_t carry_body(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	uint32_t need = f->carry_need[dir], have = f->carry_len[dir];
	uint32_t take = need - have < n ? need - have : n;
	struct bp_mqtt_fixed fixed;
	uint64_t room = have + take;
	struct carried *c;

	if (f->carry_decided[dir] == BP_CARRY_BEGINNING) {
		take = f->skip[dir] < n ? f->skip[dir] : n;
		f->skip[dir] -= take;
		if (f->skip[dir] == 0)
			beginning(in, f, dir, seq + take);
		return take;
	}
	/* doubling, so that a packet of many segments is copied a bounded number of times */
	if (room < need && room < (uint64_t)have * 2)
		room = (uint64_t)have * 2 < need ? (uint64_t)have * 2 : need;
	if (!reserve(in, f, dir, have + take, room)) {
		no_room(in, f, dir, carried(in, f, dir)->packet[0] >> 4, need, have + take);
		return take;
	}
	c = carried(in, f, dir);
	memcpy(c->packet + have, p, take);
	bp_work_add(&in->work, take / 16);
	have += take;
	f->carry_len[dir] = have;
	if (fixed_header(in, f, dir, c->packet, have, &fixed) != BP_MQTT_OK)
		return take; /* can't be: it was right when it was read first */
	if (have == need) {
		f->stream[dir] = BP_STREAM_BOUNDARY;
		bp_work_allow(
			&in->work, need < BP_WORK_COMPLETED_MAX ? need : BP_WORK_COMPLETED_MAX);
		packet(in, f, dir, &fixed, c->packet + fixed.header_len, seq + take - need,
			&c->head);
		bp_mqtt_drop_carry(in, f, dir);
	} else if (fixed.type == BP_MQTT_PUBLISH && !f->carry_decided[dir]) {
		worth_carrying(in, f, dir, &fixed, c->packet, have, &c->head);
	}
	return take;
}

uint32_t bp_mqtt_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq)
{
	const uint32_t all = n;

	while (n != 0 && bp_stream_may_read(f, dir)) {
		struct bp_mqtt_fixed fixed;
		enum bp_mqtt_error e;
		uint32_t take;

		switch (f->stream[dir]) {
		case BP_STREAM_BOUNDARY:
			e = fixed_header(in, f, dir, p, n, &fixed);
			if (e == BP_MQTT_OK && fixed.remaining <= n - fixed.header_len) {
				packet(in, f, dir, &fixed, p + fixed.header_len, seq, NULL);
				take = fixed.header_len + fixed.remaining;
			} else if (e == BP_MQTT_OK || e == BP_MQTT_MORE) {
				carry_begin(in, f, dir, p, n);
				return all;
			} else {
				bp_mqtt_opaque_error(in, f, dir, e);
				return all;
			}
			break;
		case BP_STREAM_SKIP:
			take = f->skip[dir] < n ? f->skip[dir] : n;
			f->skip[dir] -= take;
			if (f->skip[dir] == 0)
				f->stream[dir] = BP_STREAM_BOUNDARY;
			break;
		case BP_STREAM_CARRY:
			take = f->carry_need[dir] == 0 ? carry_header(in, f, dir, p, n, seq)
						       : carry_body(in, f, dir, p, n, seq);
			break;
		case BP_STREAM_ENDED:
			bp_tally(in, BP_C_AFTER_DISCONNECT);
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

uint8_t bp_mqtt_carried_type(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const uint8_t *p =
		f->carry_need[dir] == 0 ? header_at(f, dir) : carried(in, f, dir)->packet;

	return p[0] >> 4;
}

bool bp_mqtt_carry_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const uint32_t need = f->carry_need[dir], have = f->carry_len[dir];
	struct bp_mqtt_fixed fixed;
	struct carried *c;

	if (need == 0)
		return f->carry[dir] == 0 && have >= 1 && have < BP_MQTT_FIXED_MAX &&
		       fixed_header(in, f, dir, header_at(f, dir), have, &fixed) == BP_MQTT_MORE;
	if (f->carry_decided[dir] == BP_CARRY_BEGINNING &&
		(have >= need || f->skip[dir] == 0 || f->skip[dir] > need - have))
		return false;
	if (have >= need || !bp_adopt_block(in, f, f->carry[dir], sizeof(*c) + (uint64_t)have))
		return false;
	/* the head may be checked beyond what is there: it begins from the start */
	c = carried(in, f, dir);
	c->head = (struct bp_mqtt_head){0};
	if (fixed_header(in, f, dir, c->packet, have, &fixed) == BP_MQTT_OK &&
		fixed.header_len + fixed.remaining == need)
		return true;
	bp_adopt_undo(in, f, f->carry[dir]);
	return false;
}

bool bp_mqtt_read_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap)
{
	uint32_t rest;

	switch (f->stream[dir]) {
	case BP_STREAM_ENDED:
		return true;
	case BP_STREAM_SKIP:
		rest = f->skip[dir];
		break;
	case BP_STREAM_CARRY:
		if (f->carry_need[dir] == 0)
			return false;
		rest = f->carry_need[dir] - f->carry_len[dir];
		if (f->carry_decided[dir] == BP_CARRY_BEGINNING)
			rest = f->skip[dir];
		break;
	default:
		return false;
	}
	if (gap > rest)
		return false;
	if (f->stream[dir] == BP_STREAM_CARRY && f->carry_decided[dir] == BP_CARRY_BEGINNING) {
		f->skip[dir] -= gap;
		if (f->skip[dir] == 0)
			beginning(in, f, dir, f->next[dir] + gap);
		return true;
	}
	if (f->stream[dir] == BP_STREAM_CARRY) {
		uint8_t type = bp_mqtt_carried_type(in, f, dir);

		if (type == BP_MQTT_CONNECT)
			return false; /* without its CONNECT the version is unknown */
		lose(in, f, dir, type, f->carry_decided[dir]);
	}
	skip(in, f, dir, rest - gap);
	return true;
}
