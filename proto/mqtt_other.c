/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt_fields.h"

/* The packets that carry no topic of a PUBLISH and set up no connection (3.4 to 3.15). */

static enum bp_mqtt_error at_end(const struct bp_mqtt_reader *r)
{
	return r->p == r->end ? BP_MQTT_OK : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error skip_properties(
	struct bp_mqtt_reader *r, uint8_t version, enum bp_mqtt_place place)
{
	struct bp_mqtt_properties properties;

	if (version != BP_MQTT_V5)
		return BP_MQTT_OK;
	return bp_mqtt_take_all_properties(r, place, &properties);
}

/*
 * What may follow in version 5, with shorter forms for reason code 0 and for no properties: reason
 * code, properties.
 */
static enum bp_mqtt_error reason_and_properties(
	struct bp_mqtt_reader *r, uint8_t version, enum bp_mqtt_place place)
{
	enum bp_mqtt_error e;
	uint8_t reason;

	if (version != BP_MQTT_V5 || !bp_mqtt_take_u8(r, &reason) || r->p == r->end)
		return at_end(r);
	e = skip_properties(r, version, place);
	return e == BP_MQTT_OK ? at_end(r) : e;
}

static enum bp_mqtt_error ack(struct bp_mqtt_reader *r, uint8_t version, uint16_t *id)
{
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(r, id);

	return e == BP_MQTT_OK ? reason_and_properties(r, version, BP_MQTT_IN_ACK) : e;
}

static enum bp_mqtt_error options_fault(
	uint8_t version, uint8_t options, const uint8_t *filter, uint16_t len)
{
	bool shared = len >= 7 && memcmp(filter, "$share/", 7) == 0;

	if ((options & 3) == 3)
		return BP_MQTT_E_QOS;
	if (version != BP_MQTT_V5)
		return (options & 0xfc) == 0 ? BP_MQTT_OK : BP_MQTT_E_FLAGS;
	if ((options & 0xc0) != 0 || (options & 0x30) == 0x30) /* reserved, retain handling 3 */
		return BP_MQTT_E_FLAGS;
	/* No Local makes no sense for a shared subscription (3.8.3.1). */
	return shared && (options & 4) != 0 ? BP_MQTT_E_FLAGS : BP_MQTT_OK;
}

/* At least one filter, each followed by its options in a SUBSCRIBE. */
static enum bp_mqtt_error filters(struct bp_mqtt_reader *r, uint8_t version, bool subscribe)
{
	do {
		const uint8_t *filter;
		enum bp_mqtt_error e;
		uint8_t options;
		uint16_t len;

		if (!bp_mqtt_take_binary(r, &filter, &len))
			return BP_MQTT_E_TRUNCATED;
		e = bp_mqtt_filter_fault(filter, len);
		if (e != BP_MQTT_OK)
			return e;
		if (!subscribe)
			continue;
		if (!bp_mqtt_take_u8(r, &options))
			return BP_MQTT_E_TRUNCATED;
		e = options_fault(version, options, filter, len);
		if (e != BP_MQTT_OK)
			return e;
	} while (r->p != r->end);
	return BP_MQTT_OK;
}

static enum bp_mqtt_error subscription(
	struct bp_mqtt_reader *r, uint8_t version, bool subscribe, uint16_t *id)
{
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(r, id);

	if (e != BP_MQTT_OK)
		return e;
	e = skip_properties(r, version, subscribe ? BP_MQTT_IN_SUBSCRIBE : BP_MQTT_IN_UNSUBSCRIBE);
	return e == BP_MQTT_OK ? filters(r, version, subscribe) : e;
}

/* One code for each filter: at least one. */
static enum bp_mqtt_error codes(struct bp_mqtt_reader *r, uint8_t version, uint16_t *id)
{
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(r, id);

	if (e != BP_MQTT_OK)
		return e;
	e = skip_properties(r, version, BP_MQTT_IN_ACK);
	if (e != BP_MQTT_OK)
		return e;
	return r->p != r->end ? BP_MQTT_OK : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error unsuback(struct bp_mqtt_reader *r, uint8_t version, uint16_t *id)
{
	enum bp_mqtt_error e;

	if (version == BP_MQTT_V5)
		return codes(r, version, id);
	e = bp_mqtt_take_packet_id(r, id);
	return e == BP_MQTT_OK ? at_end(r) : e;
}

/* Empty, or reason code and properties with a method (3.15.2.2.2). */
static enum bp_mqtt_error auth(struct bp_mqtt_reader *r, uint8_t version)
{
	struct bp_mqtt_properties properties;
	enum bp_mqtt_error e;
	uint8_t reason;

	if (version != BP_MQTT_V5)
		return BP_MQTT_E_TYPE;
	if (!bp_mqtt_take_u8(r, &reason))
		return BP_MQTT_OK;
	e = bp_mqtt_take_all_properties(r, BP_MQTT_IN_AUTH, &properties);
	if (e != BP_MQTT_OK)
		return e;
	if ((properties.seen >> BP_MQTT_P_AUTH_METHOD & 1) == 0)
		return BP_MQTT_E_PROPERTY;
	return at_end(r);
}

enum bp_mqtt_error bp_mqtt_other(
	uint8_t version, uint8_t type, const uint8_t *body, uint32_t len, uint16_t *packet_id)
{
	struct bp_mqtt_reader r = {body, body + len};

	*packet_id = 0;
	switch (type) {
	case BP_MQTT_PUBACK:
	case BP_MQTT_PUBREC:
	case BP_MQTT_PUBREL:
	case BP_MQTT_PUBCOMP:
		return ack(&r, version, packet_id);
	case BP_MQTT_SUBSCRIBE:
		return subscription(&r, version, true, packet_id);
	case BP_MQTT_UNSUBSCRIBE:
		return subscription(&r, version, false, packet_id);
	case BP_MQTT_SUBACK:
		return codes(&r, version, packet_id);
	case BP_MQTT_UNSUBACK:
		return unsuback(&r, version, packet_id);
	case BP_MQTT_PINGREQ:
	case BP_MQTT_PINGRESP:
		return at_end(&r);
	case BP_MQTT_DISCONNECT:
		return reason_and_properties(&r, version, BP_MQTT_IN_DISCONNECT);
	case BP_MQTT_AUTH:
		return auth(&r, version);
	default:
		return BP_MQTT_E_TYPE;
	}
}
