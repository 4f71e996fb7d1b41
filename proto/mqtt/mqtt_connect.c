/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt/mqtt_fields.h"

/* CONNECT and CONNACK (3.1, 3.2). */

#define BRIDGE 0x80 /* mosquitto marks a bridge so in the version byte */

#define F_RESERVED 0x01
#define F_CLEAN 0x02
#define F_WILL 0x04
#define F_WILL_QOS 0x18
#define F_WILL_RETAIN 0x20
#define F_PASSWORD 0x40
#define F_USER 0x80

static bool is_protocol(const uint8_t *name, uint16_t len, uint8_t version)
{
	if (version == BP_MQTT_V31)
		return len == 6 && memcmp(name, "MQIsdp", 6) == 0;
	return (version == BP_MQTT_V311 || version == BP_MQTT_V5) && len == 4 &&
	       memcmp(name, "MQTT", 4) == 0;
}

/* mosquitto does not check requirements that version 3.1 leaves open. */
static enum bp_mqtt_error flags_fault(struct bp_mqtt_view *view, uint8_t version, uint8_t flags)
{
	bool stray = (flags & F_RESERVED) != 0 ||
		     ((flags & F_WILL) == 0 && (flags & (F_WILL_QOS | F_WILL_RETAIN)) != 0);

	if ((flags & F_WILL_QOS) == F_WILL_QOS)
		return BP_MQTT_E_CONNECT;
	/* Version 5 alone allows a password without a user name (3.1.2.9). */
	if (version != BP_MQTT_V5 && (flags & F_USER) == 0 && (flags & F_PASSWORD) != 0)
		return BP_MQTT_E_CONNECT;
	if (!stray)
		return BP_MQTT_OK;
	return version == BP_MQTT_V31 ? bp_mqtt_violation(view, BP_MQTT_E_CONNECT)
				      : BP_MQTT_E_CONNECT;
}

static enum bp_mqtt_error take_will(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	uint8_t version, uint8_t flags, struct bp_mqtt_will *out)
{
	struct bp_mqtt_properties properties = {.will_delay = 0};
	struct bp_mqtt_will w = {.topic = NULL};
	enum bp_mqtt_error e;

	if (version == BP_MQTT_V5) {
		e = bp_mqtt_take_all_properties(r, view, BP_MQTT_IN_WILL, &properties);
		if (e != BP_MQTT_OK)
			return e;
	}
	if (!bp_mqtt_take_binary(r, &w.topic, &w.topic_len))
		return BP_MQTT_E_TRUNCATED;
	if (w.topic_len == 0)
		return BP_MQTT_E_TOPIC_EMPTY;
	e = bp_mqtt_topic_fault(view, w.topic, w.topic_len, true);
	if (e == BP_MQTT_OK)
		e = bp_mqtt_levels_fault(view, w.topic, w.topic_len);
	if (e != BP_MQTT_OK)
		return e;
	if (!bp_mqtt_take_binary(r, &w.payload, &w.payload_len))
		return BP_MQTT_E_TRUNCATED;
	w.qos = (flags & F_WILL_QOS) >> 3;
	w.retain = (flags & F_WILL_RETAIN) != 0;
	w.delay = properties.will_delay;
	*out = w;
	return BP_MQTT_OK;
}

/*
 * MQTT 3.1, CONNECT, user name flag: the length decides, the strings may be missing. mosquitto
 * treats an invalid string, or one that exceeds the end, as missing, and continues after the bytes
 * that it has read.
 */
static enum bp_mqtt_error take_user(
	struct bp_mqtt_reader *r, struct bp_mqtt_view *view, struct bp_mqtt_connect *c)
{
	enum bp_mqtt_error e;
	const uint8_t *s;
	uint16_t len;

	if (c->version == BP_MQTT_V31 && r->p == r->end)
		return BP_MQTT_OK;
	e = bp_mqtt_take_string(r, view, &s, &len);
	if (e != BP_MQTT_OK)
		return c->version == BP_MQTT_V31 ? bp_mqtt_violation(view, e) : e;
	c->user = s;
	c->user_len = len;
	return BP_MQTT_OK;
}

static enum bp_mqtt_error take_password(
	struct bp_mqtt_reader *r, struct bp_mqtt_view *view, uint8_t version)
{
	const uint8_t *s;
	uint16_t len;

	if ((version == BP_MQTT_V31 && r->p == r->end) || bp_mqtt_take_binary(r, &s, &len))
		return BP_MQTT_OK;
	return version == BP_MQTT_V31 ? bp_mqtt_violation(view, BP_MQTT_E_TRUNCATED)
				      : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error take_credentials(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	uint8_t flags, struct bp_mqtt_connect *c)
{
	enum bp_mqtt_error e = BP_MQTT_OK;

	if ((flags & F_USER) != 0)
		e = take_user(r, view, c);
	if ((flags & F_PASSWORD) != 0 && e == BP_MQTT_OK)
		e = take_password(r, view, c->version);
	return e;
}

static enum bp_mqtt_error take_protocol(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	uint8_t fixed_flags, uint8_t *version, bool *bridge)
{
	const uint8_t *name;
	uint16_t name_len;

	if (!bp_mqtt_take_binary(r, &name, &name_len) || !bp_mqtt_take_u8(r, version))
		return BP_MQTT_E_TRUNCATED;
	*bridge = (*version & BRIDGE) != 0;
	*version &= (uint8_t)~BRIDGE;
	if (!is_protocol(name, name_len, *version))
		return BP_MQTT_E_CONNECT;
	if (fixed_flags == 0)
		return BP_MQTT_OK;
	return *version == BP_MQTT_V31 ? bp_mqtt_violation(view, BP_MQTT_E_FLAGS) : BP_MQTT_E_FLAGS;
}

enum bp_mqtt_error bp_mqtt_connect(struct bp_mqtt_view *view, uint8_t fixed_flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_connect *out)
{
	struct bp_mqtt_reader r = {body, body + len};
	struct bp_mqtt_properties properties = {.alias_max = 0};
	struct bp_mqtt_connect c = {.version = 0};
	enum bp_mqtt_error e;
	bool bridge = false;
	uint8_t flags;

	e = take_protocol(&r, view, fixed_flags, &c.version, &bridge);
	if (e != BP_MQTT_OK)
		return e;
	if (!bp_mqtt_take_u8(&r, &flags))
		return BP_MQTT_E_TRUNCATED;
	e = flags_fault(view, c.version, flags);
	if (e != BP_MQTT_OK)
		return e;
	if (!bp_mqtt_take_u16(&r, &c.keep_alive))
		return BP_MQTT_E_TRUNCATED;
	/* of a bridge of version 5 mosquitto reads no properties here */
	if (c.version == BP_MQTT_V5 && !(bridge && bp_mqtt_as_mosquitto(view))) {
		e = bp_mqtt_take_all_properties(&r, view, BP_MQTT_IN_CONNECT, &properties);
		if (e != BP_MQTT_OK)
			return e;
	}
	e = bp_mqtt_take_string(&r, view, &c.client_id, &c.client_id_len);
	if (e != BP_MQTT_OK)
		return e;
	if ((flags & F_WILL) != 0) {
		e = take_will(&r, view, c.version, flags, &c.will);
		if (e != BP_MQTT_OK)
			return e;
	}
	e = take_credentials(&r, view, flags, &c);
	if (e != BP_MQTT_OK)
		return e;
	if (r.p != r.end)
		return BP_MQTT_E_TRUNCATED;
	c.alias_max = properties.alias_max;
	c.clean = (flags & F_CLEAN) != 0;
	c.auth_method = (properties.seen >> BP_MQTT_P_AUTH_METHOD & 1) != 0;
	c.session_expiry = properties.session_expiry;
	c.packet_len = len;
	*out = c;
	return BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_connack(
	uint8_t version, const uint8_t *body, uint32_t len, struct bp_mqtt_connack *out)
{
	struct bp_mqtt_reader r = {body, body + len};
	struct bp_mqtt_properties properties = {.alias_max = 0};
	struct bp_mqtt_connack c = {.code = 0};
	enum bp_mqtt_error e;
	uint8_t flags;

	if (!bp_mqtt_take_u8(&r, &flags) || !bp_mqtt_take_u8(&r, &c.code))
		return BP_MQTT_E_TRUNCATED;
	if (version != BP_MQTT_V31) { /* there the byte is unused */
		if ((flags & 0xfe) != 0)
			return BP_MQTT_E_FLAGS;
		if (flags != 0 && c.code != 0) /* a refused connection has no session (3.2.2.1.1) */
			return BP_MQTT_E_CONNECT;
		c.session_present = flags != 0;
	}
	if (version == BP_MQTT_V5 && !(r.p == r.end && c.code != 0)) {
		e = bp_mqtt_take_all_properties(&r, NULL, BP_MQTT_IN_CONNACK, &properties);
		if (e != BP_MQTT_OK)
			return e;
	}
	if (r.p != r.end)
		return BP_MQTT_E_TRUNCATED;
	c.alias_max = properties.alias_max;
	c.assigned_id = properties.assigned_id;
	c.assigned_id_len = properties.assigned_id_len;
	*out = c;
	return BP_MQTT_OK;
}
