/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/mqtt/mqtt.h"

#include <string.h>

#include "proto/net/copy.h"
#include "proto/mqtt/mqtt_fields.h"
#include "proto/net/vec16.h"

/* The flags of each type are fixed except for PUBLISH, whose QoS is not 3 (2.1.3, 3.3.1). */
#define SIXTEEN(e) e, e, e, e, e, e, e, e, e, e, e, e, e, e, e, e
#define ONLY_0 BP_MQTT_OK, F, F, F, F, F, F, F, F, F, F, F, F, F, F, F
#define ONLY_2 F, F, BP_MQTT_OK, F, F, F, F, F, F, F, F, F, F, F, F, F
#define F BP_MQTT_E_FLAGS
#define Q BP_MQTT_E_QOS

const uint8_t bp_mqtt_first_byte[256] = {
	SIXTEEN(BP_MQTT_E_TYPE),                        /* reserved */
	ONLY_0,                                         /* CONNECT */
	ONLY_0,                                         /* CONNACK */
	0, 0, 0, 0, 0, 0, Q, Q, 0, 0, 0, 0, 0, 0, Q, Q, /* PUBLISH: DUP, QoS, QoS, RETAIN */
	ONLY_0,                                         /* PUBACK */
	ONLY_0,                                         /* PUBREC */
	ONLY_2,                                         /* PUBREL */
	ONLY_0,                                         /* PUBCOMP */
	ONLY_2,                                         /* SUBSCRIBE */
	ONLY_0,                                         /* SUBACK */
	ONLY_2,                                         /* UNSUBSCRIBE */
	ONLY_0,                                         /* UNSUBACK */
	ONLY_0,                                         /* PINGREQ */
	ONLY_0,                                         /* PINGRESP */
	ONLY_0,                                         /* DISCONNECT */
	ONLY_0,                                         /* AUTH */
};

#undef F
#undef Q

/*
 * Not plain ASCII, a control character, or a byte that no topic name has: + is 0x2b and # is 0x23.
 */
static inline bp_v16 topic_suspects(bp_v16 v)
{
	return v | bp_v16_eq(v | bp_v16_of(0x08), '+') | bp_v16_eq(v & bp_v16_of(0xe0), 0) |
	       bp_v16_eq(v, 0x7f);
}

/* Whether s[0..len) is printable ASCII without + and #, as nearly all topics are. */
static inline bool topic_is_plain(const uint8_t *s, size_t len)
{
	bp_v16 bad;

	if (len < 16)
		return (bp_v16_mask(topic_suspects(bp_v16_load_upto(s, len))) &
			       ((1u << len) - 1)) == 0;
	bad = topic_suspects(bp_v16_load(s + len - 16));
	for (size_t i = 0; i + 16 < len; i += 16)
		bad |= topic_suspects(bp_v16_load(s + i));
	return bp_v16_mask(bad) == 0;
}

/* The bytes of s[0..len), which ends with a part of a character, before that character. */
static uint32_t complete_characters(const uint8_t *s, uint32_t len)
{
	do
		len--;
	while (len != 0 && (s[len] & 0xc0) == 0x80);
	return len;
}

/*
 * Checks the new part of a topic of which [s, s + have) is available, after *checked bytes: OK,
 * MORE if a character is cut, or the error.
 */
static enum bp_mqtt_error check_topic(
	struct bp_mqtt_view *view, const uint8_t *s, uint32_t have, uint32_t len, uint16_t *checked)
{
	uint32_t from = *checked < have ? *checked : have;
	enum bp_mqtt_error e = BP_MQTT_OK;

	if (__builtin_expect(!topic_is_plain(s + from, have - from), 0))
		e = bp_mqtt_topic_fault(view, s + from, have - from, have == len);
	if (e == BP_MQTT_OK && have == len && from < have)
		e = bp_mqtt_levels_fault(view, s, len);
	if (e == BP_MQTT_OK)
		*checked = (uint16_t)have;
	else if (e == BP_MQTT_MORE)
		*checked = (uint16_t)complete_characters(s, have);
	return e;
}

/*
 * The parser of complete and of partial packets; with have == len, or without `head`, the compiler
 * removes the unused parts. Errors are found in the order of the bytes, so that a partial packet
 * has no error that the complete one does not have.
 */
static inline __attribute__((always_inline)) enum bp_mqtt_error publish(struct bp_mqtt_view *view,
	uint8_t version, uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len,
	struct bp_mqtt_head *head, struct bp_mqtt_publish *out)
{
	uint8_t qos = flags >> 1 & 3;
	uint32_t topic_len, at, topic_have;
	uint16_t packet_id = 0, alias = 0;
	const uint8_t *properties = NULL;
	uint32_t properties_len = 0;

	if (qos == 3)
		return BP_MQTT_E_QOS;
	if (len < 2)
		return BP_MQTT_E_TRUNCATED;
	if (have < 2)
		return BP_MQTT_MORE;
	topic_len = bp_load_be16(body);
	at = 2 + topic_len + (qos != 0 ? 2 : 0);
	if (at > len)
		return BP_MQTT_E_TRUNCATED;
	if (topic_len == 0 && version != BP_MQTT_V5)
		return BP_MQTT_E_TOPIC_EMPTY;
	topic_have = have - 2 < topic_len ? have - 2 : topic_len;
	if (head != NULL || __builtin_expect(!topic_is_plain(body + 2, topic_have), 0) ||
		topic_len > BP_MQTT_MOSQUITTO_SLASHES) {
		uint16_t checked = 0;
		enum bp_mqtt_error e = check_topic(view, body + 2, topic_have, topic_len,
			head != NULL ? &head->topic : &checked);

		if (e != BP_MQTT_OK)
			return e;
	}
	if (have < at)
		return BP_MQTT_MORE;
	if (qos != 0) {
		packet_id = bp_load_be16(body + at - 2);
		if (packet_id == 0)
			return BP_MQTT_E_PACKET_ID;
	}
	if (version == BP_MQTT_V5) {
		struct bp_mqtt_reader r = {body + at, body + len};
		struct bp_mqtt_properties p;
		enum bp_mqtt_error e;

		if (head == NULL) {
			e = bp_mqtt_take_properties(&r, view, body + have, BP_MQTT_IN_PUBLISH, &p);
		} else {
			p = (struct bp_mqtt_properties){.seen = head->seen,
				.checked = head->properties,
				.alias = head->alias};
			e = bp_mqtt_resume_properties(
				&r, view, body + have, BP_MQTT_IN_PUBLISH, &p);
			head->seen = p.seen & 0xffffffffffff;
			head->properties = p.checked;
			head->alias = p.alias;
		}
		if (e != BP_MQTT_OK)
			return e;
		if (topic_len == 0 && p.alias == 0)
			return BP_MQTT_E_TOPIC_EMPTY;
		alias = p.alias;
		properties = p.section;
		properties_len = p.section_len;
		at = (uint32_t)(r.p - body);
	}
	out->topic = body + 2;
	out->properties = properties;
	out->payload = body + at;
	out->topic_len = (uint16_t)topic_len;
	out->packet_id = packet_id;
	out->alias = alias;
	out->qos = qos;
	out->dup = (flags & 8) != 0;
	out->retain = (flags & 1) != 0;
	out->properties_len = properties_len;
	out->payload_len = len - at;
	out->packet_len = len;
	return BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_publish(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_publish *out)
{
	return publish(view, version, flags, body, len, len, NULL, out);
}

enum bp_mqtt_error bp_mqtt_publish_head(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, struct bp_mqtt_publish *out)
{
	return publish(view, version, flags, body, have < len ? have : len, len, NULL, out);
}

enum bp_mqtt_error bp_mqtt_resume(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, struct bp_mqtt_head *head,
	struct bp_mqtt_publish *out)
{
	enum bp_mqtt_error e =
		publish(view, version, flags, body, have < len ? have : len, len, head, out);

	if (view != NULL) {
		head->violations |= view->violations & 0xffff;
		view->violations = head->violations;
	}
	return e;
}

/* ---- writing ---- */

static unsigned varint_size(uint32_t v)
{
	return v < 128 ? 1 : v < 16384 ? 2 : v < 2097152 ? 3 : 4;
}

static uint8_t *put_varint(uint8_t *out, uint32_t v)
{
	for (; v >= 128; v >>= 7)
		*out++ = (uint8_t)(v | 0x80);
	*out++ = (uint8_t)v;
	return out;
}

static uint8_t *put_be16(uint8_t *out, uint32_t v)
{
	*out++ = (uint8_t)(v >> 8);
	*out++ = (uint8_t)v;
	return out;
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t n)
{
	bp_copy(out, bytes, n);
	return out + n;
}

#define ALIAS_LENGTH 3 /* identifier and two bytes */

/*
 * Writes the properties except Topic Alias, which is valid on the original connection only. False
 * if they do not amount to `size` bytes: then they are not those that bp_mqtt_publish() checked.
 */
static bool put_properties(uint8_t *out, size_t size, const uint8_t *p, uint32_t len)
{
	while (len > 0) {
		uint32_t n = bp_mqtt_property_length(p, len);

		if (n == 0)
			return false;
		if (*p != BP_MQTT_P_ALIAS) {
			if (n > size)
				return false;
			memcpy(out, p, n);
			out += n;
			size -= n;
		}
		p += n;
		len -= n;
	}
	return size == 0;
}

size_t bp_mqtt_publish_rewrite(uint8_t version, const struct bp_mqtt_publish *p, const char *topic,
	size_t topic_len, uint8_t *out, size_t size)
{
	uint64_t remaining, total;
	uint32_t properties = 0;

	if (topic_len > UINT16_MAX)
		return 0;
	remaining = 2 + (uint64_t)topic_len + (p->qos != 0 ? 2 : 0) + p->payload_len;
	if (version == BP_MQTT_V5) {
		properties = p->properties_len - (p->alias != 0 ? ALIAS_LENGTH : 0);
		remaining += varint_size(properties) + (uint64_t)properties;
	}
	if (remaining > BP_MQTT_REMAINING_MAX)
		return 0;
	total = 1 + varint_size((uint32_t)remaining) + remaining;
	if (out == NULL)
		return total;
	if (total > size)
		return 0;
	*out++ = (uint8_t)(BP_MQTT_PUBLISH << 4 | p->dup << 3 | p->qos << 1 | p->retain);
	out = put_varint(out, (uint32_t)remaining);
	out = put_be16(out, (uint32_t)topic_len);
	out = put_bytes(out, topic, topic_len);
	if (p->qos != 0)
		out = put_be16(out, p->packet_id);
	if (version == BP_MQTT_V5) {
		out = put_varint(out, properties);
		if (!put_properties(out, properties, p->properties, p->properties_len))
			return 0;
		out += properties;
	}
	put_bytes(out, p->payload, p->payload_len);
	return total;
}

const char *bp_mqtt_error_text(enum bp_mqtt_error e)
{
	switch (e) {
	case BP_MQTT_OK:
		return "no error";
	case BP_MQTT_MORE:
		return "the packet is incomplete";
	case BP_MQTT_E_LENGTH:
		return "the remaining length has more than four bytes";
	case BP_MQTT_E_FLAGS:
		return "flags are set that this packet type does not allow";
	case BP_MQTT_E_TYPE:
		return "the packet type is reserved or not allowed in this version";
	case BP_MQTT_E_QOS:
		return "the QoS is 3, of 0, 1 and 2";
	case BP_MQTT_E_PACKET_ID:
		return "the packet identifier is 0";
	case BP_MQTT_E_UTF8:
		return "a string is not valid UTF-8, or contains U+0000";
	case BP_MQTT_E_WILDCARD:
		return "a topic name contains + or #, or a filter has one at an invalid position";
	case BP_MQTT_E_TOPIC_EMPTY:
		return "neither a topic nor a topic alias";
	case BP_MQTT_E_TRUNCATED:
		return "a field runs past the end of the packet, or the packet has bytes left over";
	case BP_MQTT_E_PROPERTY:
		return "a property is unknown, repeated, misplaced, or contradicts its length";
	case BP_MQTT_E_ALIAS:
		return "the topic alias is 0";
	case BP_MQTT_E_CONNECT:
		return "the protocol name, the version or the connect flags are wrong";
	case BP_MQTT_E_LEVELS:
		return "the topic has more than 201 levels";
	}
	return "this is no error of the MQTT codec";
}
