/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt_fields.h"

/* CONNECT and CONNACK (3.1, 3.2). */

#define BRIDGE 0x80 /* mosquitto marks a bridge so in the version octet */

#define F_RESERVED 0x01
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

static bool flags_fit(uint8_t version, uint8_t flags)
{
	if ((flags & F_RESERVED) != 0 || (flags & F_WILL_QOS) == F_WILL_QOS)
		return false;
	if ((flags & F_WILL) == 0 && (flags & (F_WILL_QOS | F_WILL_RETAIN)) != 0)
		return false;
	/* Version 5 alone allows a password without a user name (3.1.2.9). */
	return version == BP_MQTT_V5 || (flags & F_USER) != 0 || (flags & F_PASSWORD) == 0;
}

static enum bp_mqtt_error take_will(struct bp_mqtt_reader *r, uint8_t version)
{
	struct bp_mqtt_properties properties;
	enum bp_mqtt_error e;
	const uint8_t *s;
	uint16_t len;

	if (version == BP_MQTT_V5) {
		e = bp_mqtt_take_all_properties(r, BP_MQTT_IN_WILL, &properties);
		if (e != BP_MQTT_OK)
			return e;
	}
	if (!bp_mqtt_take_binary(r, &s, &len))
		return BP_MQTT_E_TRUNCATED;
	if (len == 0)
		return BP_MQTT_E_TOPIC_EMPTY;
	e = bp_mqtt_topic_fault(s, len, true);
	if (e != BP_MQTT_OK)
		return e;
	return bp_mqtt_take_binary(r, &s, &len) ? BP_MQTT_OK : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error take_credentials(struct bp_mqtt_reader *r, uint8_t version, uint8_t flags)
{
	enum bp_mqtt_error e;
	const uint8_t *s;
	uint16_t len;

	/* MQTT 3.1, CONNECT, user name flag: the length decides, the strings may be missing. */
	if ((flags & F_USER) != 0 && !(version == BP_MQTT_V31 && r->p == r->end)) {
		e = bp_mqtt_take_string(r, &s, &len);
		if (e != BP_MQTT_OK)
			return e;
	}
	if ((flags & F_PASSWORD) != 0 && !(version == BP_MQTT_V31 && r->p == r->end)) {
		if (!bp_mqtt_take_binary(r, &s, &len))
			return BP_MQTT_E_TRUNCATED;
	}
	return BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_connect(const uint8_t *body, uint32_t len, struct bp_mqtt_connect *out)
{
	struct bp_mqtt_reader r = {body, body + len};
	struct bp_mqtt_properties properties = {.alias_max = 0};
	struct bp_mqtt_connect c = {.version = 0};
	const uint8_t *name;
	enum bp_mqtt_error e;
	uint16_t name_len;
	uint8_t flags;

	if (!bp_mqtt_take_binary(&r, &name, &name_len) || !bp_mqtt_take_u8(&r, &c.version))
		return BP_MQTT_E_TRUNCATED;
	c.version &= (uint8_t)~BRIDGE;
	if (!is_protocol(name, name_len, c.version))
		return BP_MQTT_E_CONNECT;
	if (!bp_mqtt_take_u8(&r, &flags))
		return BP_MQTT_E_TRUNCATED;
	if (!flags_fit(c.version, flags))
		return BP_MQTT_E_CONNECT;
	if (!bp_mqtt_take_u16(&r, &c.keep_alive))
		return BP_MQTT_E_TRUNCATED;
	if (c.version == BP_MQTT_V5) {
		e = bp_mqtt_take_all_properties(&r, BP_MQTT_IN_CONNECT, &properties);
		if (e != BP_MQTT_OK)
			return e;
	}
	e = bp_mqtt_take_string(&r, &c.client_id, &c.client_id_len);
	if (e != BP_MQTT_OK)
		return e;
	if ((flags & F_WILL) != 0) {
		e = take_will(&r, c.version);
		if (e != BP_MQTT_OK)
			return e;
	}
	e = take_credentials(&r, c.version, flags);
	if (e != BP_MQTT_OK)
		return e;
	if (r.p != r.end)
		return BP_MQTT_E_TRUNCATED;
	c.alias_max = properties.alias_max;
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
	if (version != BP_MQTT_V31) { /* there the octet is unused */
		if ((flags & 0xfe) != 0)
			return BP_MQTT_E_FLAGS;
		if (flags != 0 && c.code != 0) /* no session with who is refused (3.2.2.1.1) */
			return BP_MQTT_E_CONNECT;
		c.session_present = flags != 0;
	}
	if (version == BP_MQTT_V5 && !(r.p == r.end && c.code != 0)) {
		e = bp_mqtt_take_all_properties(&r, BP_MQTT_IN_CONNACK, &properties);
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
