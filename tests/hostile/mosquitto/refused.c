/* SPDX-License-Identifier: BSD-3-Clause */
#include "refused.h"

#include <string.h>

#include "proto/mqtt/mqtt.h"

struct packet {
	struct bp_mqtt_fixed fixed;
	const uint8_t *body;
	uint8_t version;
};

/* Reason codes of PUBACK and PUBREC, and of PUBREL and PUBCOMP. */
static bool reason_allowed(uint8_t type, uint8_t reason)
{
	static const uint8_t received[] = {0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99};

	if (type == BP_MQTT_PUBREL || type == BP_MQTT_PUBCOMP)
		return reason == 0 || reason == 0x92;
	return memchr(received, reason, sizeof(received)) != NULL;
}

/* Whether a topic filter is $share/NAME alone. */
static bool shares_nothing(const struct packet *p)
{
	static const char prefix[] = "$share/";
	const bool subscribe = p->fixed.type == BP_MQTT_SUBSCRIBE;
	const uint8_t *body = p->body, *end = body + p->fixed.remaining;
	uint32_t properties = 0;
	uint8_t used = 0;

	if (p->fixed.remaining < 2)
		return false;
	body += 2;
	if (p->version == BP_MQTT_V5 &&
		(bp_mqtt_varint(body, (size_t)(end - body), &properties, &used) != BP_MQTT_OK ||
			properties + used > (size_t)(end - body)))
		return false;
	for (body += properties + used; end - body > 2;) {
		const size_t len = (size_t)body[0] << 8 | body[1];

		body += 2;
		if (len > (size_t)(end - body))
			return false;
		if (len >= sizeof(prefix) - 1 && memcmp(body, prefix, sizeof(prefix) - 1) == 0 &&
			memchr(body + sizeof(prefix) - 1, '/', len - (sizeof(prefix) - 1)) == NULL)
			return true;
		body += len + (subscribe ? 1 : 0);
	}
	return false;
}

static bool other_refused(const struct packet *p)
{
	const bool acknowledgement =
		p->fixed.type >= BP_MQTT_PUBACK && p->fixed.type <= BP_MQTT_PUBCOMP;
	uint16_t id;

	if (p->fixed.type == BP_MQTT_CONNACK || p->fixed.type == BP_MQTT_SUBACK ||
		p->fixed.type == BP_MQTT_UNSUBACK || p->fixed.type == BP_MQTT_PINGRESP)
		return true;
	if (p->fixed.flags != bp_mqtt_flags(p->fixed.type))
		return true;
	if (acknowledgement && p->version == BP_MQTT_V5 && p->fixed.remaining > 2 &&
		!reason_allowed(p->fixed.type, p->body[2]))
		return true;
	if ((p->fixed.type == BP_MQTT_SUBSCRIBE || p->fixed.type == BP_MQTT_UNSUBSCRIBE) &&
		shares_nothing(p))
		return true;
	return bp_mqtt_other(NULL, p->version, p->fixed.type, p->fixed.flags, p->body,
		       p->fixed.remaining, &id) != BP_MQTT_OK;
}

/* `sent`: publications of each QoS 2 identifier that no PUBREL has released. */
static bool publish_refused(const struct packet *p, uint8_t sent[UINT16_MAX + 1])
{
	struct bp_mqtt_publish publish;

	if (bp_mqtt_publish(NULL, p->version, p->fixed.flags, p->body, p->fixed.remaining,
		    &publish) != BP_MQTT_OK)
		return true;
	if (publish.qos == 2 && ++sent[publish.packet_id] > 2)
		return true;
	/* an empty response topic */
	if (publish.properties_len != 0 &&
		memmem(publish.properties, publish.properties_len, "\x08\0\0", 3) != NULL)
		return true;
	return publish.dup && publish.qos == 0;
}

static bool refused(const struct packet *p, uint8_t sent[UINT16_MAX + 1])
{
	if (p->fixed.type == BP_MQTT_CONNECT)
		return false;
	if (p->fixed.type == BP_MQTT_PUBLISH)
		return publish_refused(p, sent);
	if (p->fixed.type == BP_MQTT_PUBREL && p->fixed.remaining >= 2)
		sent[p->body[0] << 8 | p->body[1]] = 0;
	return other_refused(p);
}

unsigned refused_later(const struct session *s, size_t *offset, unsigned max)
{
	uint8_t sent[UINT16_MAX + 1] = {0};
	struct packet p = {.version = s->version};
	struct bp_mqtt_connect connect;
	unsigned n = 0;

	for (size_t at = 0; at < s->out.n && n < max;) {
		const uint8_t *begin = s->out.p + at;

		if (bp_mqtt_fixed_lenient(begin, s->out.n - at, &p.fixed) != BP_MQTT_OK ||
			p.fixed.remaining > s->out.n - at - p.fixed.header_len)
			break;
		p.body = begin + p.fixed.header_len;
		if (at == 0 &&
			bp_mqtt_connect(&(struct bp_mqtt_view){.mosquitto = true}, p.fixed.flags,
				p.body, p.fixed.remaining, &connect) == BP_MQTT_OK)
			p.version = connect.version;
		if (refused(&p, sent))
			offset[n++] = at;
		at += p.fixed.header_len + p.fixed.remaining;
	}
	return n;
}
