/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt/mqtt_fields.h"

/* MQTT 5.0, section 2.2.2.2, table 2-4, and the sections on each packet's properties. */

enum property_type {
	NONE = 0,
	SWITCH, /* a byte, 0 or 1 */
	TWO,
	TWO_NOT_0,
	FOUR,
	FOUR_NOT_0,
	VARINT_NOT_0,
	STRING,
	TOPIC, /* a string without wildcards */
	BINARY,
	PAIR,
};

#define C BP_MQTT_IN_CONNECT
#define A BP_MQTT_IN_CONNACK
#define P BP_MQTT_IN_PUBLISH
#define W BP_MQTT_IN_WILL
#define S BP_MQTT_IN_SUBSCRIBE
#define U BP_MQTT_IN_UNSUBSCRIBE
#define D BP_MQTT_IN_DISCONNECT
#define H BP_MQTT_IN_AUTH
#define K BP_MQTT_IN_ACK

static const struct {
	uint8_t type;
	uint16_t places;
} table[] = {
	[0x01] = {SWITCH, P | W},         /* payload format indicator */
	[0x02] = {FOUR, P | W},           /* message expiry interval */
	[0x03] = {STRING, P | W},         /* content type */
	[0x08] = {TOPIC, P | W},          /* response topic */
	[0x09] = {BINARY, P | W},         /* correlation data */
	[0x0b] = {VARINT_NOT_0, P | S},   /* subscription identifier */
	[0x11] = {FOUR, C | A | D},       /* session expiry interval */
	[0x12] = {STRING, A},             /* assigned client identifier */
	[0x13] = {TWO, A},                /* server keep alive */
	[0x15] = {STRING, C | A | H},     /* authentication method */
	[0x16] = {BINARY, C | A | H},     /* authentication data */
	[0x17] = {SWITCH, C},             /* request problem information */
	[0x18] = {FOUR, W},               /* will delay interval */
	[0x19] = {SWITCH, C},             /* request response information */
	[0x1a] = {STRING, A},             /* response information */
	[0x1c] = {STRING, A | D},         /* server reference */
	[0x1f] = {STRING, A | D | H | K}, /* reason string */
	[0x21] = {TWO_NOT_0, C | A},      /* receive maximum */
	[0x22] = {TWO, C | A},            /* topic alias maximum */
	[0x23] = {TWO, P},                /* topic alias: 0 has a separate error */
	[0x24] = {SWITCH, A},             /* maximum QoS */
	[0x25] = {SWITCH, A},             /* retain available */
	[0x26] = {PAIR, C | A | P | W | S | U | D | H | K}, /* user property */
	[0x27] = {FOUR_NOT_0, C | A},                       /* maximum packet size */
	[0x28] = {SWITCH, A},                               /* wildcard subscription available */
	[0x29] = {SWITCH, A},                               /* subscription identifiers available */
	[0x2a] = {SWITCH, A},                               /* shared subscription available */
};

#undef C
#undef A
#undef P
#undef W
#undef S
#undef U
#undef D
#undef H
#undef K

/*
 * One property section of which [p, have) is available and that ends at `end`. A missing available
 * byte results in MORE; a property beyond `end` is invalid.
 */
struct cursor {
	const uint8_t *p, *have, *end;
	struct bp_mqtt_view *view;
	enum bp_mqtt_place place;
};

static enum bp_mqtt_error need(const struct cursor *c, size_t n)
{
	if ((size_t)(c->end - c->p) < n)
		return BP_MQTT_E_PROPERTY;
	return (size_t)(c->have - c->p) < n ? BP_MQTT_MORE : BP_MQTT_OK;
}

/* A variable byte integer in its shortest form (1.5.5). */
static enum bp_mqtt_error varint(struct cursor *c, uint32_t *v)
{
	uint8_t used = 0;
	enum bp_mqtt_error e = bp_mqtt_varint(c->p, (size_t)(c->have - c->p), v, &used);

	if (e == BP_MQTT_MORE && c->have < c->end)
		return BP_MQTT_MORE;
	if (e != BP_MQTT_OK || (used > 1 && c->p[used - 1] == 0))
		return BP_MQTT_E_PROPERTY;
	c->p += used;
	return BP_MQTT_OK;
}

static enum bp_mqtt_error binary(struct cursor *c, const uint8_t **data, uint16_t *len)
{
	enum bp_mqtt_error e = need(c, 2);

	if (e != BP_MQTT_OK)
		return e;
	*len = bp_load_be16(c->p);
	e = need(c, 2 + (size_t)*len);
	if (e != BP_MQTT_OK)
		return e;
	*data = c->p + 2;
	c->p += 2 + (size_t)*len;
	return BP_MQTT_OK;
}

static enum bp_mqtt_error string(struct cursor *c, const uint8_t **s, uint16_t *len)
{
	enum bp_mqtt_error e = binary(c, s, len);

	return e == BP_MQTT_OK ? bp_mqtt_string_fault(c->view, *s, *len) : e;
}

/* An integer of `width` bytes, most significant first. */
static enum bp_mqtt_error fixed(struct cursor *c, unsigned width, uint32_t *v)
{
	enum bp_mqtt_error e = need(c, width);

	if (e != BP_MQTT_OK)
		return e;
	*v = 0;
	for (unsigned i = 0; i < width; i++)
		*v = *v << 8 | *c->p++;
	return BP_MQTT_OK;
}

struct property {
	uint8_t id;
	uint32_t number;     /* of the integer types */
	const uint8_t *data; /* of other types; of a pair, the value */
	uint16_t len;
};

static enum bp_mqtt_error at_most_one(enum bp_mqtt_error e, const struct property *p)
{
	return e == BP_MQTT_OK && p->number > 1 ? BP_MQTT_E_PROPERTY : e;
}

static enum bp_mqtt_error not_zero(enum bp_mqtt_error e, const struct property *p)
{
	return e == BP_MQTT_OK && p->number == 0 ? BP_MQTT_E_PROPERTY : e;
}

/* Both strings are checked when both are available, so that none is read twice. */
static enum bp_mqtt_error pair(struct cursor *c, struct property *p)
{
	const uint8_t *name;
	uint16_t name_len;
	enum bp_mqtt_error e = binary(c, &name, &name_len);

	if (e != BP_MQTT_OK)
		return e;
	e = binary(c, &p->data, &p->len);
	if (e == BP_MQTT_MORE)
		return e;
	if (bp_mqtt_string_fault(c->view, name, name_len) != BP_MQTT_OK)
		return BP_MQTT_E_UTF8;
	return e == BP_MQTT_OK ? bp_mqtt_string_fault(c->view, p->data, p->len) : e;
}

static enum bp_mqtt_error property_value(struct cursor *c, struct property *p)
{
	enum bp_mqtt_error e;

	switch ((enum property_type)table[p->id].type) {
	case SWITCH:
		e = at_most_one(fixed(c, 1, &p->number), p);
		return e == BP_MQTT_E_PROPERTY && p->id == BP_MQTT_P_FORMAT && p->number > 1
			       ? bp_mqtt_violation(c->view, e)
			       : e;
	case TWO:
		return fixed(c, 2, &p->number);
	case TWO_NOT_0:
		return not_zero(fixed(c, 2, &p->number), p);
	case FOUR:
		return fixed(c, 4, &p->number);
	case FOUR_NOT_0:
		return not_zero(fixed(c, 4, &p->number), p);
	case VARINT_NOT_0:
		e = varint(c, &p->number);
		if (e != BP_MQTT_OK || p->number != 0)
			return e;
		return c->place == BP_MQTT_IN_PUBLISH
			       ? bp_mqtt_violation(c->view, BP_MQTT_E_PROPERTY)
			       : BP_MQTT_E_PROPERTY;
	case STRING:
		return string(c, &p->data, &p->len);
	case TOPIC:
		e = string(c, &p->data, &p->len);
		if (e != BP_MQTT_OK || (memchr(p->data, '+', p->len) == NULL &&
					       memchr(p->data, '#', p->len) == NULL))
			return e;
		return bp_mqtt_violation(c->view, BP_MQTT_E_WILDCARD);
	case BINARY:
		return binary(c, &p->data, &p->len);
	case PAIR:
		return pair(c, p);
	case NONE:
		break;
	}
	return BP_MQTT_E_PROPERTY;
}

static bool may_repeat(const struct cursor *c, uint8_t id)
{
	/* A PUBLISH to a subscriber names each subscription that matched (3.3.2.3.8). */
	return id == BP_MQTT_P_USER ||
	       (id == BP_MQTT_P_SUBSCRIPTION_ID && c->place == BP_MQTT_IN_PUBLISH &&
		       !bp_mqtt_as_mosquitto(c->view));
}

static enum bp_mqtt_error one_property(struct cursor *c, struct bp_mqtt_properties *out)
{
	struct property p = {.id = *c->p};
	enum bp_mqtt_error e;

	if (p.id >= sizeof(table) / sizeof(table[0]) || (table[p.id].places & c->place) == 0)
		return BP_MQTT_E_PROPERTY;
	if ((out->seen >> p.id & 1) != 0 && !may_repeat(c, p.id))
		return BP_MQTT_E_PROPERTY;
	out->seen |= (uint64_t)1 << p.id;
	c->p++;
	e = property_value(c, &p);
	if (e != BP_MQTT_OK)
		return e;
	switch (p.id) {
	case BP_MQTT_P_ALIAS:
		if (p.number == 0)
			return BP_MQTT_E_ALIAS;
		out->alias = (uint16_t)p.number;
		break;
	case BP_MQTT_P_ALIAS_MAX:
		out->alias_max = (uint16_t)p.number;
		break;
	case BP_MQTT_P_SESSION_EXPIRY:
		out->session_expiry = p.number;
		break;
	case BP_MQTT_P_WILL_DELAY:
		out->will_delay = p.number;
		break;
	case BP_MQTT_P_ASSIGNED_ID:
		out->assigned_id = p.data;
		out->assigned_id_len = p.len;
		break;
	default:
		break;
	}
	return BP_MQTT_OK;
}

/* The properties at c->p, in order; records the checked part. */
static enum bp_mqtt_error properties(struct cursor *c, struct bp_mqtt_properties *out)
{
	while (c->p < c->end) {
		uint64_t seen = out->seen;
		const uint8_t *begin = c->p;
		enum bp_mqtt_error e = BP_MQTT_MORE;

		if (c->p != c->have)
			e = one_property(c, out);
		if (e == BP_MQTT_MORE) {
			out->seen = seen;
			out->checked = (uint32_t)(begin - out->section);
		}
		if (e != BP_MQTT_OK)
			return e;
	}
	out->checked = out->section_len;
	return BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_take_properties(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	const uint8_t *have, enum bp_mqtt_place place, struct bp_mqtt_properties *out)
{
	memset(out, 0, sizeof(*out));
	return bp_mqtt_resume_properties(r, view, have, place, out);
}

enum bp_mqtt_error bp_mqtt_resume_properties(struct bp_mqtt_reader *r, struct bp_mqtt_view *view,
	const uint8_t *have, enum bp_mqtt_place place, struct bp_mqtt_properties *out)
{
	struct cursor c = {r->p, have, r->end, view, place};
	enum bp_mqtt_error e;
	uint32_t len = 0;

	if (c.p == c.end)
		return BP_MQTT_E_TRUNCATED;
	e = varint(&c, &len);
	if (e != BP_MQTT_OK)
		return e;
	if ((size_t)(c.end - c.p) < len || out->checked > len)
		return BP_MQTT_E_PROPERTY;
	c.end = c.p + len;
	if (c.have > c.end)
		c.have = c.end;
	out->section = c.p;
	out->section_len = len;
	c.p += out->checked;
	e = properties(&c, out);
	if (e != BP_MQTT_OK)
		return e;
	/* 3.1.2.11.10, 3.2.2.3.18, 3.15.2.2.3: no data without a method */
	if ((out->seen >> BP_MQTT_P_AUTH_DATA & 1) != 0 &&
		(out->seen >> BP_MQTT_P_AUTH_METHOD & 1) == 0) {
		e = bp_mqtt_violation(view, BP_MQTT_E_PROPERTY);
		if (e != BP_MQTT_OK)
			return e;
	}
	r->p = c.end;
	return BP_MQTT_OK;
}

uint32_t bp_mqtt_property_length(const uint8_t *p, uint32_t len)
{
	struct bp_mqtt_view view = {.mosquitto = true};
	struct property property;

	if (len == 0 || *p >= sizeof(table) / sizeof(table[0]))
		return 0;
	/* by whichever view it was let pass */
	for (unsigned i = 0; i < 2; i++) {
		struct cursor c = {
			p + 1, p + len, p + len, i == 0 ? NULL : &view, BP_MQTT_IN_PUBLISH};

		property.id = *p;
		if (property_value(&c, &property) == BP_MQTT_OK)
			return (uint32_t)(c.p - p);
	}
	return 0;
}
