/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_MQTT_MQTT_PACKET_H
#define BP_TESTS_UNIT_PROTO_MQTT_MQTT_PACKET_H

#include "proto/mqtt/mqtt.h"
#include "tests/unit/proto/exact.h"

/* Any packet through the part of the codec that is for its type, strictly: all of p[0..len). */
static inline enum bp_mqtt_error evaluate(uint8_t version, const uint8_t *p, size_t len)
{
	struct bp_mqtt_publish publish;
	struct bp_mqtt_connect connect;
	struct bp_mqtt_connack connack;
	struct bp_mqtt_fixed f;
	enum bp_mqtt_error e = bp_mqtt_fixed(p, len, &f);
	const uint8_t *body;
	uint16_t id;

	if (e != BP_MQTT_OK)
		return e;
	body = p + f.header_len;
	if (len - f.header_len < f.remaining)
		return BP_MQTT_MORE;
	if (len - f.header_len > f.remaining)
		return BP_MQTT_E_TRUNCATED; /* more than one packet */
	switch (f.type) {
	case BP_MQTT_CONNECT:
		return bp_mqtt_connect(NULL, 0, body, f.remaining, &connect);
	case BP_MQTT_CONNACK:
		return bp_mqtt_connack(version, body, f.remaining, &connack);
	case BP_MQTT_PUBLISH:
		return bp_mqtt_publish(NULL, version, f.flags, body, f.remaining, &publish);
	default:
		return bp_mqtt_other(NULL, version, f.type, f.flags, body, f.remaining, &id);
	}
}

/* The same for a copy of exactly that size. */
static inline enum bp_mqtt_error judge_exact(uint8_t version, const void *p, size_t len)
{
	uint8_t *copy = exact_copy(p, len);
	enum bp_mqtt_error e = evaluate(version, copy, len);

	free(copy);
	return e;
}

/*
 * Cut at every byte, a packet is never OK: neither as it arrives (the fixed header has a larger
 * length) nor with the shorter length in the fixed header. If a shorter form is a valid packet, as
 * a PUBLISH with less payload, `shorter` is true and only the first is checked.
 */
static inline void assert_cut_is_never_ok(
	uint8_t version, const uint8_t *p, size_t len, bool shorter)
{
	struct bp_mqtt_fixed f = {0};

	assert_int_equal(bp_mqtt_fixed(p, len, &f), BP_MQTT_OK);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(judge_exact(version, p, n), BP_MQTT_MORE);
	assert_true(f.header_len == 2); /* one byte of length, which is rewritten */
	for (size_t n = 0; n < f.remaining; n++) {
		uint8_t *cut = exact_copy(p, 2 + n);
		enum bp_mqtt_error e;

		cut[1] = (uint8_t)n;
		e = evaluate(version, cut, 2 + n);
		free(cut);
		if (!shorter && (e == BP_MQTT_OK || e == BP_MQTT_MORE))
			fail_msg("type %d with %zu of %u bytes: %s", f.type, n, f.remaining,
				bp_mqtt_error_text(e));
		assert_int_not_equal(e, BP_MQTT_MORE);
	}
}

#endif
