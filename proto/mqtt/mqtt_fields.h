/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_MQTT_MQTT_FIELDS_H
#define BP_PROTO_MQTT_MQTT_FIELDS_H

#include "proto/mqtt/mqtt.h"
#include "proto/payload/utf8.h"

/* Fields of MQTT packets, read one after the other; shared by the files of the codec. */

struct bp_mqtt_reader {
	const uint8_t *p, *end;
};

static inline uint16_t bp_load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t bp_mqtt_left(const struct bp_mqtt_reader *r)
{
	return (uint32_t)(r->end - r->p);
}

static inline bool bp_mqtt_take_u8(struct bp_mqtt_reader *r, uint8_t *v)
{
	if (r->p == r->end)
		return false;
	*v = *r->p++;
	return true;
}

static inline bool bp_mqtt_take_u16(struct bp_mqtt_reader *r, uint16_t *v)
{
	if (r->end - r->p < 2)
		return false;
	*v = bp_load_be16(r->p);
	r->p += 2;
	return true;
}

/* Two bytes of length and that many bytes (1.5.6). */
static inline bool bp_mqtt_take_binary(
	struct bp_mqtt_reader *r, const uint8_t **data, uint16_t *len)
{
	if (!bp_mqtt_take_u16(r, len) || bp_mqtt_left(r) < *len)
		return false;
	*data = r->p;
	r->p += *len;
	return true;
}

static inline bool bp_mqtt_as_mosquitto(const struct bp_mqtt_view *view)
{
	return view != NULL && view->mosquitto;
}

/* A fault by the standard that mosquitto reads on after. */
static inline enum bp_mqtt_error bp_mqtt_violation(struct bp_mqtt_view *view, enum bp_mqtt_error e)
{
	if (!bp_mqtt_as_mosquitto(view))
		return e;
	view->violations |= 1u << e;
	return BP_MQTT_OK;
}

/* A fault for mosquitto that the standard leaves to the broker (1.5.4). */
static inline enum bp_mqtt_error bp_mqtt_refusable(struct bp_mqtt_view *view, enum bp_mqtt_error e)
{
	if (bp_mqtt_as_mosquitto(view))
		return e;
	if (view != NULL)
		view->violations |= 1u << e;
	return BP_MQTT_OK;
}

static inline enum bp_mqtt_error bp_mqtt_string_fault(
	struct bp_mqtt_view *view, const uint8_t *s, size_t len)
{
	if (!bp_utf8_valid_mqtt(s, len))
		return BP_MQTT_E_UTF8;
	return bp_utf8_has_control(s, len) ? bp_mqtt_refusable(view, BP_MQTT_E_UTF8) : BP_MQTT_OK;
}

static inline enum bp_mqtt_error bp_mqtt_take_string(
	struct bp_mqtt_reader *r, struct bp_mqtt_view *view, const uint8_t **s, uint16_t *len)
{
	if (!bp_mqtt_take_binary(r, s, len))
		return BP_MQTT_E_TRUNCATED;
	return bp_mqtt_string_fault(view, *s, *len);
}

static inline enum bp_mqtt_error bp_mqtt_take_packet_id(struct bp_mqtt_reader *r, uint16_t *id)
{
	if (!bp_mqtt_take_u16(r, id))
		return BP_MQTT_E_TRUNCATED;
	return *id != 0 ? BP_MQTT_OK : BP_MQTT_E_PACKET_ID;
}

/* Packets in which a property is valid; one bit each. */
enum bp_mqtt_place {
	BP_MQTT_IN_CONNECT = 1 << 0,
	BP_MQTT_IN_CONNACK = 1 << 1,
	BP_MQTT_IN_PUBLISH = 1 << 2,
	BP_MQTT_IN_WILL = 1 << 3,
	BP_MQTT_IN_SUBSCRIBE = 1 << 4,
	BP_MQTT_IN_UNSUBSCRIBE = 1 << 5,
	BP_MQTT_IN_DISCONNECT = 1 << 6,
	BP_MQTT_IN_AUTH = 1 << 7,
	BP_MQTT_IN_ACK = 1 << 8, /* PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK */
};

#define BP_MQTT_P_FORMAT 0x01
#define BP_MQTT_P_SUBSCRIPTION_ID 0x0b
#define BP_MQTT_P_SESSION_EXPIRY 0x11
#define BP_MQTT_P_ASSIGNED_ID 0x12
#define BP_MQTT_P_AUTH_METHOD 0x15
#define BP_MQTT_P_AUTH_DATA 0x16
#define BP_MQTT_P_WILL_DELAY 0x18
#define BP_MQTT_P_ALIAS_MAX 0x22
#define BP_MQTT_P_ALIAS 0x23
#define BP_MQTT_P_USER 0x26

struct bp_mqtt_properties {
	const uint8_t *section; /* after the property length */
	uint32_t section_len;
	const uint8_t *assigned_id; /* NULL when absent */
	uint16_t assigned_id_len;
	uint16_t alias, alias_max; /* 0 when absent */
	uint32_t session_expiry, will_delay;
	uint64_t seen;    /* bit n: property n is there */
	uint32_t checked; /* bytes of the section, up to the end of a property */
};

/*
 * Reads a property length and the properties (2.2.2) at r->p and moves it past them. `have` is the
 * end of the available bytes, r->end the end of the packet: MORE if have < r->end and the available
 * bytes are valid. A missing length is E_TRUNCATED.
 */
enum bp_mqtt_error bp_mqtt_take_properties(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	const uint8_t *have, enum bp_mqtt_place place, struct bp_mqtt_properties *out);

/* Continues a former call from out->seen, checked and alias. */
enum bp_mqtt_error bp_mqtt_resume_properties(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	const uint8_t *have, enum bp_mqtt_place place, struct bp_mqtt_properties *out);

/* bp_mqtt_take_properties() for a complete packet. */
static inline enum bp_mqtt_error bp_mqtt_take_all_properties(struct bp_mqtt_reader *r,
	struct bp_mqtt_view *view, enum bp_mqtt_place place, struct bp_mqtt_properties *out)
{
	return bp_mqtt_take_properties(r, view, r->end, place, out);
}

/* The length of the property at p[0..len), which has been checked, identifier included; 0 if bad.
 */
uint32_t bp_mqtt_property_length(const uint8_t *p, uint32_t len);

/*
 * The first error of a topic name of which [s, s + len) is available, in the order of its bytes:
 * OK, E_UTF8, E_WILDCARD, or MORE if only the last character is cut and !whole.
 */
enum bp_mqtt_error bp_mqtt_topic_fault(
	struct bp_mqtt_view *view, const uint8_t *s, size_t len, bool whole);

/* Whether a complete topic has more levels than mosquitto accepts. */
enum bp_mqtt_error bp_mqtt_levels_fault(struct bp_mqtt_view *view, const uint8_t *s, size_t len);

/* The same as an error, for filters: E_TOPIC_EMPTY, E_UTF8, E_WILDCARD. */
enum bp_mqtt_error bp_mqtt_filter_fault(struct bp_mqtt_view *view, const uint8_t *s, size_t len);

#endif
