/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt/mqtt_fields.h"

/* The packets that carry no topic of a PUBLISH and set up no connection (3.4 to 3.15). */

struct packet {
	struct bp_mqtt_reader r;
	struct bp_mqtt_view *view;
	uint8_t version, type, flags;
};

static enum bp_mqtt_error at_end(const struct packet *k)
{
	return k->r.p == k->r.end ? BP_MQTT_OK : BP_MQTT_E_TRUNCATED;
}

/* Of some packets mosquitto never reads the end. */
static enum bp_mqtt_error at_end_or_violation(const struct packet *k)
{
	return k->r.p == k->r.end ? BP_MQTT_OK : bp_mqtt_violation(k->view, BP_MQTT_E_TRUNCATED);
}

static enum bp_mqtt_error skip_properties(struct packet *k, enum bp_mqtt_place place)
{
	struct bp_mqtt_properties properties;

	if (k->version != BP_MQTT_V5)
		return BP_MQTT_OK;
	return bp_mqtt_take_all_properties(&k->r, k->view, place, &properties);
}

/* Flags that mosquitto checks, by version. */
static enum bp_mqtt_error flags_fault(const struct packet *k)
{
	if (k->flags == bp_mqtt_flags(k->type))
		return BP_MQTT_OK;
	switch (k->type) {
	case BP_MQTT_PUBREL:
	case BP_MQTT_SUBSCRIBE:
	case BP_MQTT_UNSUBSCRIBE:
	case BP_MQTT_DISCONNECT:
		return k->version == BP_MQTT_V31 ? bp_mqtt_violation(k->view, BP_MQTT_E_FLAGS)
						 : BP_MQTT_E_FLAGS;
	default:
		return bp_mqtt_violation(k->view, BP_MQTT_E_FLAGS);
	}
}

/*
 * In version 5, with shorter forms for reason code 0 and for no properties: reason code,
 * properties.
 */
static enum bp_mqtt_error ack(struct packet *k, uint16_t *id)
{
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(&k->r, id);
	uint8_t reason;

	if (e == BP_MQTT_OK && k->version == BP_MQTT_V5 && bp_mqtt_take_u8(&k->r, &reason) &&
		k->r.p != k->r.end)
		e = skip_properties(k, BP_MQTT_IN_ACK);
	return e == BP_MQTT_OK ? at_end_or_violation(k) : e;
}

static enum bp_mqtt_error disconnect(struct packet *k, struct bp_mqtt_disconnect *out)
{
	struct bp_mqtt_properties properties = {.session_expiry = 0};
	enum bp_mqtt_error e = BP_MQTT_OK;

	out->reason = 0;
	if (k->version == BP_MQTT_V5 && bp_mqtt_take_u8(&k->r, &out->reason) && k->r.p != k->r.end)
		e = bp_mqtt_take_all_properties(&k->r, k->view, BP_MQTT_IN_DISCONNECT, &properties);
	out->session_expiry = properties.session_expiry;
	return e == BP_MQTT_OK ? at_end(k) : e;
}

static enum bp_mqtt_error options_fault(
	struct packet *k, uint8_t options, const uint8_t *filter, uint16_t len)
{
	bool shared = len >= 7 && memcmp(filter, "$share/", 7) == 0;

	if ((options & 3) == 3)
		return BP_MQTT_E_QOS;
	if (k->version != BP_MQTT_V5)
		return (options & 0xfc) == 0 ? BP_MQTT_OK : BP_MQTT_E_FLAGS;
	if ((options & 0xc0) != 0 || (options & 0x30) == 0x30) /* reserved, retain handling 3 */
		return BP_MQTT_E_FLAGS;
	/* No Local is invalid for a shared subscription (3.8.3.1). */
	return shared && (options & 4) != 0 ? bp_mqtt_violation(k->view, BP_MQTT_E_FLAGS)
					    : BP_MQTT_OK;
}

static enum bp_mqtt_error one_filter(struct packet *k, bool subscribe, unsigned *n)
{
	const uint8_t *filter;
	enum bp_mqtt_error e;
	uint8_t options;
	uint16_t len;

	if (!bp_mqtt_take_binary(&k->r, &filter, &len))
		return BP_MQTT_E_TRUNCATED;
	if (len == 0 && subscribe) /* mosquitto does not read the options of an empty filter */
		return bp_mqtt_violation(k->view, BP_MQTT_E_TOPIC_EMPTY);
	e = bp_mqtt_filter_fault(k->view, filter, len);
	if (e != BP_MQTT_OK)
		return e;
	++*n;
	if (!subscribe)
		return BP_MQTT_OK;
	if (!bp_mqtt_take_u8(&k->r, &options))
		return BP_MQTT_E_TRUNCATED;
	return options_fault(k, options, filter, len);
}

/* At least one filter, each followed by its options in a SUBSCRIBE. */
static enum bp_mqtt_error filters(struct packet *k, bool subscribe)
{
	unsigned n = 0;

	while (k->r.p != k->r.end) {
		enum bp_mqtt_error e = one_filter(k, subscribe, &n);

		if (e != BP_MQTT_OK)
			return e;
	}
	if (n != 0)
		return BP_MQTT_OK;
	return k->version == BP_MQTT_V31 ? bp_mqtt_violation(k->view, BP_MQTT_E_TRUNCATED)
					 : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error subscription(struct packet *k, bool subscribe, uint16_t *id)
{
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(&k->r, id);

	if (e != BP_MQTT_OK)
		return e;
	e = skip_properties(k, subscribe ? BP_MQTT_IN_SUBSCRIBE : BP_MQTT_IN_UNSUBSCRIBE);
	return e == BP_MQTT_OK ? filters(k, subscribe) : e;
}

/* One code for each filter: at least one, except in version 3.1, in which mosquitto answers a
 * SUBSCRIBE without a filter by a SUBACK without a code, and does not accept one from a client. */
static enum bp_mqtt_error codes(struct packet *k, uint16_t *id)
{
	const bool of_client = k->view != NULL && k->view->mosquitto;
	enum bp_mqtt_error e = bp_mqtt_take_packet_id(&k->r, id);

	if (e != BP_MQTT_OK)
		return e;
	e = skip_properties(k, BP_MQTT_IN_ACK);
	if (e != BP_MQTT_OK)
		return e;
	if (k->r.p != k->r.end || (k->version == BP_MQTT_V31 && !of_client))
		return BP_MQTT_OK;
	return k->type == BP_MQTT_UNSUBACK ? bp_mqtt_violation(k->view, BP_MQTT_E_TRUNCATED)
					   : BP_MQTT_E_TRUNCATED;
}

static enum bp_mqtt_error unsuback(struct packet *k, uint16_t *id)
{
	enum bp_mqtt_error e;

	if (k->version == BP_MQTT_V5)
		return codes(k, id);
	e = bp_mqtt_take_packet_id(&k->r, id);
	return e == BP_MQTT_OK ? at_end_or_violation(k) : e;
}

/* Empty, or reason code and properties with a method (3.15.2.2.2). */
static enum bp_mqtt_error auth(struct packet *k)
{
	struct bp_mqtt_properties properties;
	enum bp_mqtt_error e;
	uint8_t reason;

	if (k->version != BP_MQTT_V5)
		return BP_MQTT_E_TYPE;
	if (!bp_mqtt_take_u8(&k->r, &reason))
		return BP_MQTT_OK;
	e = bp_mqtt_take_all_properties(&k->r, k->view, BP_MQTT_IN_AUTH, &properties);
	if (e != BP_MQTT_OK)
		return e;
	if ((properties.seen >> BP_MQTT_P_AUTH_METHOD & 1) == 0)
		return BP_MQTT_E_PROPERTY;
	return at_end_or_violation(k);
}

enum bp_mqtt_error bp_mqtt_disconnect(struct bp_mqtt_view *view, uint8_t version, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_disconnect *out)
{
	struct packet k = {{body, body + len}, view, version, BP_MQTT_DISCONNECT, flags};
	enum bp_mqtt_error e = flags_fault(&k);

	return e == BP_MQTT_OK ? disconnect(&k, out) : e;
}

enum bp_mqtt_error bp_mqtt_other(struct bp_mqtt_view *view, uint8_t version, uint8_t type,
	uint8_t flags, const uint8_t *body, uint32_t len, uint16_t *packet_id)
{
	struct packet k = {{body, body + len}, view, version, type, flags};
	enum bp_mqtt_error e = flags_fault(&k);

	*packet_id = 0;
	if (e != BP_MQTT_OK)
		return e;
	switch (type) {
	case BP_MQTT_PUBACK:
	case BP_MQTT_PUBREC:
	case BP_MQTT_PUBREL:
	case BP_MQTT_PUBCOMP:
		return ack(&k, packet_id);
	case BP_MQTT_SUBSCRIBE:
		return subscription(&k, true, packet_id);
	case BP_MQTT_UNSUBSCRIBE:
		return subscription(&k, false, packet_id);
	case BP_MQTT_SUBACK:
		return codes(&k, packet_id);
	case BP_MQTT_UNSUBACK:
		return unsuback(&k, packet_id);
	case BP_MQTT_PINGREQ:
	case BP_MQTT_PINGRESP:
		return at_end_or_violation(&k);
	case BP_MQTT_DISCONNECT:
		return disconnect(&k, &(struct bp_mqtt_disconnect){0});
	case BP_MQTT_AUTH:
		return auth(&k);
	default:
		return BP_MQTT_E_TYPE;
	}
}

void bp_mqtt_filters(struct bp_mqtt_filters *f, struct bp_mqtt_view *view, uint8_t version,
	const uint8_t *body, uint32_t len)
{
	struct packet k = {.r = {body, body + len}, .view = view, .version = version};
	uint16_t id;

	if (bp_mqtt_take_packet_id(&k.r, &id) != BP_MQTT_OK ||
		skip_properties(&k, BP_MQTT_IN_SUBSCRIBE) != BP_MQTT_OK)
		k.r.p = k.r.end;
	*f = (struct bp_mqtt_filters){k.r.p, k.r.end};
}

bool bp_mqtt_next_filter(
	struct bp_mqtt_filters *f, const uint8_t **filter, uint32_t *len, uint8_t *qos)
{
	struct bp_mqtt_reader r = {f->p, f->end};
	uint8_t options;
	uint16_t n = 0;

	/* an empty one, a violation that may be accepted, has no options */
	while (n == 0)
		if (!bp_mqtt_take_binary(&r, filter, &n))
			return false;
	if (!bp_mqtt_take_u8(&r, &options))
		return false;
	*len = n;
	*qos = options & 3;
	f->p = r.p;
	return true;
}
