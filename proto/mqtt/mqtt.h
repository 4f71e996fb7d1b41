/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_MQTT_MQTT_H
#define BP_PROTO_MQTT_MQTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * MQTT 3.1, 3.1.1 and 5.0 control packets, as bytes. Sources: OASIS MQTT Version 3.1.1 and 5.0,
 * section numbers below are those of 5.0. Pure functions over bytes; every pointer in a result
 * points into the input.
 */

enum bp_mqtt_type {
	BP_MQTT_CONNECT = 1,
	BP_MQTT_CONNACK,
	BP_MQTT_PUBLISH,
	BP_MQTT_PUBACK,
	BP_MQTT_PUBREC,
	BP_MQTT_PUBREL,
	BP_MQTT_PUBCOMP,
	BP_MQTT_SUBSCRIBE,
	BP_MQTT_SUBACK,
	BP_MQTT_UNSUBSCRIBE,
	BP_MQTT_UNSUBACK,
	BP_MQTT_PINGREQ,
	BP_MQTT_PINGRESP,
	BP_MQTT_DISCONNECT,
	BP_MQTT_AUTH,
};

/* The version byte of CONNECT. */
enum bp_mqtt_version { BP_MQTT_V31 = 3, BP_MQTT_V311 = 4, BP_MQTT_V5 = 5 };

/* Errors of a packet. OK is 0. MORE: the input ends before the packet. */
enum bp_mqtt_error {
	BP_MQTT_OK = 0,
	BP_MQTT_MORE,
	BP_MQTT_E_LENGTH,      /* remaining length of more than four bytes (2.1.4) */
	BP_MQTT_E_FLAGS,       /* flags that the type does not allow (2.1.3), reserved bits not 0 */
	BP_MQTT_E_TYPE,        /* reserved type, or not allowed in that version */
	BP_MQTT_E_QOS,         /* QoS 3 (3.3.1.2) */
	BP_MQTT_E_PACKET_ID,   /* packet identifier 0 (2.2.1) */
	BP_MQTT_E_UTF8,        /* topic or other string not valid (1.5.4) */
	BP_MQTT_E_WILDCARD,    /* + or # in a topic name (3.3.2.1) */
	BP_MQTT_E_TOPIC_EMPTY, /* no topic and no alias (3.3.2.1) */
	BP_MQTT_E_TRUNCATED,   /* a field runs past the packet, or the packet has bytes left over */
	BP_MQTT_E_PROPERTY,    /* unknown, repeated, misplaced or lying property (2.2.2) */
	BP_MQTT_E_ALIAS,       /* topic alias 0 (3.3.2.3.4) */
	BP_MQTT_E_CONNECT,     /* protocol name, version or connect flags wrong (3.1.2) */
	BP_MQTT_E_LEVELS,      /* a topic with more levels than the broker accepts */
};

/*
 * The interpretation where brokers and the standard differ. As mosquitto 2.0: input after which it
 * continues is OK and recorded as a violation; input for which it closes the connection is an
 * error, even if the standard leaves that open (control characters in a string, a topic of more
 * than 200 levels). A NULL view is that of the standard: an error is input for which a broker must
 * close the connection.
 */
struct bp_mqtt_view {
	bool mosquitto;
	uint32_t violations; /* bit 1 << enum bp_mqtt_error: against the standard, and let pass */
};

#define BP_MQTT_MOSQUITTO_SLASHES 200 /* at most, in a topic */

#define BP_MQTT_REMAINING_MAX 268435455u
#define BP_MQTT_FIXED_MAX 5u

struct bp_mqtt_fixed {
	uint8_t type;       /* enum bp_mqtt_type */
	uint8_t flags;      /* low four bits of the first byte */
	uint8_t header_len; /* 2..5 */
	uint32_t remaining; /* bytes after the fixed header */
};

/*
 * Reads a fixed header at p[0..len). MORE if the input is too short; a wrong type or wrong flags
 * are reported from the first byte on. PUBLISH flags: QoS 3 is E_QOS; DUP with QoS 0 is accepted,
 * as brokers accept it.
 */
static inline enum bp_mqtt_error bp_mqtt_fixed(
	const uint8_t *p, size_t len, struct bp_mqtt_fixed *out);
/* The same as mosquitto reads it from a client: flags are bp_mqtt_other()'s business. */
static inline enum bp_mqtt_error bp_mqtt_fixed_lenient(
	const uint8_t *p, size_t len, struct bp_mqtt_fixed *out);

struct bp_mqtt_publish {
	const uint8_t *topic;      /* empty when only an alias is given (version 5) */
	const uint8_t *properties; /* version 5: after the property length; else NULL */
	const uint8_t *payload;
	uint16_t topic_len;
	uint16_t packet_id; /* 0 for QoS 0 */
	uint16_t alias;     /* 0: none */
	uint8_t qos;
	bool dup, retain;
	uint32_t properties_len;
	uint32_t payload_len;
	uint32_t packet_len; /* of the body */
};

/*
 * Parses the body of a PUBLISH (the `remaining` bytes after the fixed header), strictly. `flags` is
 * bp_mqtt_fixed.flags. With `version` 5 the properties are checked and the alias taken out.
 */
enum bp_mqtt_error bp_mqtt_publish(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_publish *out);

/*
 * As bp_mqtt_publish(), with only body[0..have) of `len` available: OK as soon as topic, packet id
 * and properties are complete (payload then points at its available part and payload_len is the
 * length of the whole payload), MORE before that, or the error in the available part: the same that
 * bp_mqtt_publish() reports for the whole. *out is written with OK only, in both.
 */
enum bp_mqtt_error bp_mqtt_publish_head(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, struct bp_mqtt_publish *out);

/* The message that the broker publishes when the connection is lost (3.1.2.5). */
struct bp_mqtt_will {
	const uint8_t *topic; /* NULL: none */
	const uint8_t *payload;
	uint16_t topic_len, payload_len;
	uint8_t qos;
	bool retain;
	uint32_t delay; /* seconds; version 5 */
};

/*
 * The checked part of the head of a partial PUBLISH; all zero at its beginning. bp_mqtt_resume() is
 * bp_mqtt_publish_head() that starts there and records its end, so that a packet is checked only
 * once for any number of parts.
 */
struct bp_mqtt_head {
	uint64_t seen : 48;       /* properties: bit n is identifier n */
	uint64_t violations : 16; /* of the view */
	uint32_t properties;      /* bytes of complete properties that are checked */
	uint16_t topic;           /* bytes of the topic that are checked: whole characters */
	uint16_t alias;
};
enum bp_mqtt_error bp_mqtt_resume(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, struct bp_mqtt_head *head,
	struct bp_mqtt_publish *out);

struct bp_mqtt_connect {
	uint8_t version; /* enum bp_mqtt_version */
	const uint8_t *client_id;
	uint16_t client_id_len; /* 0: the broker assigns one */
	uint16_t user_len;
	const uint8_t *user;     /* NULL: no user name */
	uint16_t keep_alive;     /* seconds */
	uint16_t alias_max;      /* version 5: Topic Alias Maximum; the limit for the broker */
	bool clean;              /* clean session, clean start */
	bool auth_method;        /* version 5: AUTH packets may follow */
	uint32_t session_expiry; /* version 5: seconds */
	uint32_t packet_len;     /* of the body */
	struct bp_mqtt_will will;
};
/*
 * Strict (reserved flag 0, will flags consistent, all strings present, nothing left over). The
 * bridge flag that mosquitto sets in the version byte (0x80) is accepted and removed. Version 3.1
 * permits missing user name and password although their flags are set; an empty client identifier
 * that the broker will refuse is not an error of the packet.
 */
enum bp_mqtt_error bp_mqtt_connect(struct bp_mqtt_view *view, uint8_t flags, const uint8_t *body,
	uint32_t len, struct bp_mqtt_connect *out);

struct bp_mqtt_connack {
	uint8_t code; /* 0: accepted */
	bool session_present;
	uint16_t alias_max;         /* version 5: the limit for the client; 0 if absent */
	const uint8_t *assigned_id; /* version 5: Assigned Client Identifier, or NULL */
	uint16_t assigned_id_len;
};
/*
 * A refusal of two bytes is accepted in version 5 too: a broker that supports only 3.1.1 responds
 * so. Values of return and reason codes are not checked, here and in bp_mqtt_other().
 */
enum bp_mqtt_error bp_mqtt_connack(
	uint8_t version, const uint8_t *body, uint32_t len, struct bp_mqtt_connack *out);

/*
 * Checks the body of any packet except PUBLISH, CONNECT and CONNACK as strictly as the standard
 * permits without knowledge of the session (packet identifiers, lengths, properties, subscription
 * options, reason codes present, strings valid). *packet_id is set to the identifier, or 0 if the
 * type has none.
 */
enum bp_mqtt_error bp_mqtt_other(struct bp_mqtt_view *view, uint8_t version, uint8_t type,
	uint8_t flags, const uint8_t *body, uint32_t len, uint16_t *packet_id);

/* The topic filters of a SUBSCRIBE that bp_mqtt_other() has found valid. */
struct bp_mqtt_filters {
	const uint8_t *p, *end;
};
void bp_mqtt_filters(struct bp_mqtt_filters *f, struct bp_mqtt_view *view, uint8_t version,
	const uint8_t *body, uint32_t len);
/* The next one, with the maximum QoS of the subscription. False: there is none. */
bool bp_mqtt_next_filter(
	struct bp_mqtt_filters *f, const uint8_t **filter, uint32_t *len, uint8_t *qos);

#define BP_MQTT_DISCONNECT_WITH_WILL 0x04

struct bp_mqtt_disconnect {
	uint8_t reason;          /* version 5; 0 otherwise */
	uint32_t session_expiry; /* version 5: seconds; 0 when absent */
};
/* The same for a DISCONNECT, with its contents. */
enum bp_mqtt_error bp_mqtt_disconnect(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_disconnect *out);

/* The flags that a type other than PUBLISH has. */
static inline uint8_t bp_mqtt_flags(uint8_t type)
{
	return type == BP_MQTT_PUBREL || type == BP_MQTT_SUBSCRIBE || type == BP_MQTT_UNSUBSCRIBE
		       ? 2
		       : 0;
}

/*
 * Writes a PUBLISH with another topic: fixed header, `topic`, packet id, properties without a Topic
 * Alias, payload (all of it must be available). Returns its length, or 0 if it exceeds `size` or
 * the maximum of the protocol. With out == NULL only the length is computed.
 */
size_t bp_mqtt_publish_rewrite(uint8_t version, const struct bp_mqtt_publish *p, const char *topic,
	size_t topic_len, uint8_t *out, size_t size);

/* Whether `filter` is a valid topic filter (4.7.1), and `topic` a valid topic name. */
bool bp_mqtt_filter_valid(const char *filter, size_t len);
bool bp_mqtt_topic_valid(const char *topic, size_t len);

/* Plain reference matcher of one filter (4.7); the trie in shm/ruleset must agree with it. */
bool bp_mqtt_filter_matches(
	const char *filter, size_t filter_len, const char *topic, size_t topic_len);

/* A static string. */
const char *bp_mqtt_error_text(enum bp_mqtt_error e);

/*
 * A variable byte integer (1.5.5) at p[0..len): OK, MORE or E_LENGTH. *used: bytes read. A form
 * longer than necessary is accepted: 3.1.1 permits it, and brokers also accept it in the fixed
 * header of version 5; in properties the codec refuses it.
 */
static inline enum bp_mqtt_error bp_mqtt_varint(
	const uint8_t *p, size_t len, uint32_t *value, uint8_t *used)
{
	uint32_t v = 0;

	for (uint8_t i = 0; i < 4; i++) {
		if (i == len)
			return BP_MQTT_MORE;
		v |= (uint32_t)(p[i] & 0x7f) << (7 * i);
		if ((p[i] & 0x80) == 0) {
			*value = v;
			*used = (uint8_t)(i + 1);
			return BP_MQTT_OK;
		}
	}
	return BP_MQTT_E_LENGTH;
}

/* First byte -> 0 if valid, else an enum bp_mqtt_error: one load instead of a chain of
 * comparisons. */
extern const uint8_t bp_mqtt_first_byte[256];

static inline enum bp_mqtt_error bp_mqtt_fixed(
	const uint8_t *p, size_t len, struct bp_mqtt_fixed *out)
{
	enum bp_mqtt_error e;
	uint8_t used;

	if (len == 0)
		return BP_MQTT_MORE;
	e = (enum bp_mqtt_error)bp_mqtt_first_byte[p[0]];
	if (e != BP_MQTT_OK)
		return e;
	e = bp_mqtt_varint(p + 1, len - 1, &out->remaining, &used);
	if (e != BP_MQTT_OK)
		return e;
	out->type = p[0] >> 4;
	out->flags = p[0] & 0x0f;
	out->header_len = (uint8_t)(1 + used);
	return BP_MQTT_OK;
}

static inline enum bp_mqtt_error bp_mqtt_fixed_lenient(
	const uint8_t *p, size_t len, struct bp_mqtt_fixed *out)
{
	enum bp_mqtt_error e = bp_mqtt_fixed(p, len, out);
	uint8_t used;

	if (e != BP_MQTT_E_FLAGS)
		return e;
	e = bp_mqtt_varint(p + 1, len - 1, &out->remaining, &used);
	if (e != BP_MQTT_OK)
		return e;
	out->type = p[0] >> 4;
	out->flags = p[0] & 0x0f;
	out->header_len = (uint8_t)(1 + used);
	return BP_MQTT_OK;
}

#endif
