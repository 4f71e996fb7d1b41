/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/mqtt/mqtt.h"
#include "proto/payload/utf8.h"

/*
 * The first byte selects the version and the strictness, the rest is one packet. The codec stays in
 * bounds for any input; accepted packets have the properties that its callers rely on.
 */

static struct bp_mqtt_view *view; /* NULL: the standard's, and nothing is noted */

static void check_head(uint8_t version, uint8_t flags, const uint8_t *body, uint32_t len,
	enum bp_mqtt_error expected, const struct bp_mqtt_publish *whole)
{
	struct bp_mqtt_publish head, resumed;
	struct bp_mqtt_head state = {0};
	int decided = 0, failed = 0;

	for (uint32_t have = 0; have <= len && have < 400; have++) {
		uint8_t *part = exact_copy(body, have);
		enum bp_mqtt_error e =
			bp_mqtt_publish_head(view, version, flags, part, have, len, &head);

		if (!failed) { /* a caller does not continue after an error */
			HOLDS(bp_mqtt_resume(view, version, flags, part, have, len, &state,
				      &resumed) == e);
			if (e == BP_MQTT_OK)
				HOLDS(resumed.payload == head.payload &&
					resumed.alias == head.alias);
			failed = e != BP_MQTT_OK && e != BP_MQTT_MORE;
		}
		if (e == BP_MQTT_MORE) {
			HOLDS(!decided && have < len);
		} else {
			HOLDS(e == expected);
			decided = 1;
		}
		if (e == BP_MQTT_OK) {
			HOLDS(head.topic - part == whole->topic - body);
			HOLDS(head.topic_len == whole->topic_len);
			HOLDS(head.packet_id == whole->packet_id);
			HOLDS(head.alias == whole->alias);
			HOLDS(head.properties_len == whole->properties_len);
			HOLDS(head.payload - part == whole->payload - body);
			HOLDS(head.payload_len == whole->payload_len);
			HOLDS(head.payload <= part + have);
		}
		free(part);
	}
}

/* Every part is in the body, in order, and the parts fill it. */
static void check_layout(
	uint8_t version, const struct bp_mqtt_publish *p, const uint8_t *body, uint32_t len)
{
	const uint8_t *at = body + 2;

	HOLDS(p->topic == at);
	at += p->topic_len;
	if (p->topic_len != 0)
		HOLDS(bp_mqtt_topic_valid((const char *)p->topic, p->topic_len));
	else
		HOLDS(p->alias != 0);
	HOLDS((p->qos != 0) == (p->packet_id != 0));
	HOLDS(p->qos <= 2);
	if (p->qos != 0)
		at += 2;
	if (version == BP_MQTT_V5) {
		uint32_t v;
		uint8_t used;

		HOLDS(bp_mqtt_varint(at, (size_t)(body + len - at), &v, &used) == BP_MQTT_OK);
		HOLDS(v == p->properties_len && p->properties == at + used);
		at += used + v;
	} else {
		HOLDS(p->properties == NULL && p->properties_len == 0 && p->alias == 0);
	}
	HOLDS(p->payload == at);
	HOLDS(p->payload + p->payload_len == body + len);
}

/* The same publication on another topic; on its own topic it is written as it came. */
static void check_rewrite(uint8_t version, uint8_t flags, const struct bp_mqtt_publish *p,
	const uint8_t *body, uint32_t len)
{
	static const char topic[] = "alarm/plant/7";
	struct bp_mqtt_publish q;
	struct bp_mqtt_fixed f;
	size_t n = bp_mqtt_publish_rewrite(version, p, topic, sizeof(topic) - 1, NULL, 0);
	uint8_t *out;

	HOLDS(n != 0);
	out = malloc(n);
	HOLDS(bp_mqtt_publish_rewrite(version, p, topic, sizeof(topic) - 1, out, n - 1) == 0);
	HOLDS(bp_mqtt_publish_rewrite(version, p, topic, sizeof(topic) - 1, out, n) == n);
	HOLDS(bp_mqtt_fixed(out, n, &f) == BP_MQTT_OK);
	HOLDS(f.type == BP_MQTT_PUBLISH && f.flags == flags && f.header_len + f.remaining == n);
	HOLDS(bp_mqtt_publish(view, version, f.flags, out + f.header_len, f.remaining, &q) ==
		BP_MQTT_OK);
	HOLDS(q.topic_len == sizeof(topic) - 1 && memcmp(q.topic, topic, q.topic_len) == 0);
	HOLDS(q.alias == 0 && q.packet_id == p->packet_id);
	HOLDS(q.properties_len == p->properties_len - (p->alias != 0 ? 3 : 0));
	HOLDS(q.payload_len == p->payload_len);
	HOLDS(p->payload_len == 0 || memcmp(q.payload, p->payload, p->payload_len) == 0);
	free(out);

	if (p->topic_len == 0 || p->alias != 0)
		return;
	n = bp_mqtt_publish_rewrite(version, p, (const char *)p->topic, p->topic_len, NULL, 0);
	HOLDS(n > len);
	out = malloc(n);
	HOLDS(bp_mqtt_publish_rewrite(version, p, (const char *)p->topic, p->topic_len, out, n) ==
		n);
	HOLDS(memcmp(out + (n - len), body, len) == 0);
	free(out);
}

static void one_publish(uint8_t version, uint8_t flags, const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_publish p;
	enum bp_mqtt_error e = bp_mqtt_publish(view, version, flags, body, len, &p);

	HOLDS(e != BP_MQTT_MORE);
	check_head(version, flags, body, len, e, &p);
	if (e != BP_MQTT_OK)
		return;
	check_layout(version, &p, body, len);
	check_rewrite(version, flags, &p, body, len);
	if (p.topic_len != 0) {
		const char *topic = (const char *)p.topic;

		HOLDS(bp_mqtt_filter_valid(topic, p.topic_len));
		HOLDS(bp_mqtt_filter_matches(topic, p.topic_len, topic, p.topic_len));
		HOLDS(bp_mqtt_filter_matches("#", 1, topic, p.topic_len) == (topic[0] != '$'));
	}
}

static void one_body(
	uint8_t version, const struct bp_mqtt_fixed *f, const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_connect connect;
	struct bp_mqtt_connack connack;
	enum bp_mqtt_error e;
	uint16_t id;

	switch (f->type) {
	case BP_MQTT_CONNECT:
		e = bp_mqtt_connect(view, f->flags, body, len, &connect);
		if (e == BP_MQTT_OK) {
			HOLDS(connect.version >= BP_MQTT_V31 && connect.version <= BP_MQTT_V5);
			HOLDS(connect.client_id >= body);
			HOLDS(connect.client_id + connect.client_id_len <= body + len);
			HOLDS(bp_utf8_valid_mqtt(connect.client_id, connect.client_id_len));
			HOLDS(connect.version == BP_MQTT_V5 || connect.alias_max == 0);
		}
		break;
	case BP_MQTT_CONNACK:
		e = bp_mqtt_connack(version, body, len, &connack);
		if (e == BP_MQTT_OK && connack.assigned_id != NULL) {
			HOLDS(version == BP_MQTT_V5 && connack.assigned_id > body);
			HOLDS(connack.assigned_id + connack.assigned_id_len <= body + len);
		}
		break;
	case BP_MQTT_PUBLISH:
		one_publish(version, f->flags, body, len);
		return;
	default:
		e = bp_mqtt_other(view, version, f->type, f->flags, body, len, &id);
		HOLDS(e != BP_MQTT_OK ||
			(id != 0) == (f->type >= BP_MQTT_PUBACK && f->type <= BP_MQTT_UNSUBACK));
		break;
	}
	HOLDS(e != BP_MQTT_MORE);
	HOLDS(bp_mqtt_error_text(e) != NULL);
	/* without a view nothing passes that the standard's own would refuse */
	HOLDS(view == NULL || (view->violations & (1u << BP_MQTT_MORE)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_mqtt_view as = {.mosquitto = false};
	struct bp_mqtt_fixed f;
	uint8_t version, *packet, *body;
	enum bp_mqtt_error e;

	if (size < 2)
		return 0;
	as.mosquitto = data[0] / 3 % 3 == 2;
	view = data[0] / 3 % 3 == 0 ? NULL : &as;
	version = (uint8_t)(3 + data[0] % 3);
	packet = exact_copy(data + 1, size - 1);
	e = as.mosquitto ? bp_mqtt_fixed_lenient(packet, size - 1, &f)
			 : bp_mqtt_fixed(packet, size - 1, &f);
	if (e == BP_MQTT_OK) {
		size_t len = size - 1 - f.header_len;

		HOLDS(f.remaining <= BP_MQTT_REMAINING_MAX && f.header_len <= BP_MQTT_FIXED_MAX);
		/* as the bytes say, where they are there, and as what is there */
		body = exact_copy(packet + f.header_len, len);
		one_body(version, &f, body, (uint32_t)len);
		if (f.remaining < len)
			one_body(version, &f, body, f.remaining);
		free(body);
	}
	free(packet);
	return 0;
}
