/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoded fields of packets, encoding of a PUBLISH, and bodies of random bytes. */
#include "tests/unit/proto/mqtt/mqtt_vectors.h"

static void publish_fields_are_found(void **state)
{
	static const uint8_t v311[] = "\0\4gw/x\0\x0a"
				      "98";
	static const uint8_t v5[] = "\0\4gw/x\0\x0b\5\x01\1\x23\1\2pay";
	static const uint8_t alias[] = "\0\0\3\x23\0\7z";
	struct bp_mqtt_publish p;

	assert_int_equal(bp_mqtt_publish(NULL, V311, 0xd, v311, 10, &p), BP_MQTT_OK);
	assert_ptr_equal(p.topic, v311 + 2);
	assert_int_equal(p.topic_len, 4);
	assert_null(p.properties);
	assert_int_equal(p.properties_len, 0);
	assert_int_equal(p.packet_id, 10);
	assert_int_equal(p.alias, 0);
	assert_int_equal(p.qos, 2);
	assert_true(p.dup);
	assert_true(p.retain);
	assert_ptr_equal(p.payload, v311 + 8);
	assert_int_equal(p.payload_len, 2);

	assert_int_equal(bp_mqtt_publish(NULL, V5, 2, v5, sizeof(v5) - 1, &p), BP_MQTT_OK);
	assert_int_equal(p.packet_id, 11);
	assert_int_equal(p.alias, 0x102);
	assert_int_equal(p.qos, 1);
	assert_false(p.dup);
	assert_false(p.retain);
	assert_ptr_equal(p.properties, v5 + 9);
	assert_int_equal(p.properties_len, 5);
	assert_int_equal(p.payload_len, 3);
	assert_memory_equal(p.payload, "pay", 3);

	assert_int_equal(bp_mqtt_publish(NULL, V5, 0, alias, sizeof(alias) - 1, &p), BP_MQTT_OK);
	assert_int_equal(p.topic_len, 0);
	assert_int_equal(p.alias, 7);
	assert_int_equal(p.packet_id, 0);
}

/* Every suspicious byte at every place of topics of every length around the vector's. */
static void every_byte_of_a_topic_is_checked(void **state)
{
	for (unsigned len = 1; len < 70; len++) {
		uint8_t *body = malloc(2 + len);
		struct bp_mqtt_publish p;

		body[0] = 0;
		body[1] = (uint8_t)len;
		memset(body + 2, 'x', len);
		assert_int_equal(bp_mqtt_publish(NULL, V311, 0, body, 2 + len, &p), BP_MQTT_OK);
		assert_int_equal(p.payload_len, 0);
		for (unsigned at = 0; at < len; at++) {
			for (unsigned c = 0; c < 256; c++) {
				enum bp_mqtt_error expected = c == 0 || c >= 0x80 ? BP_MQTT_E_UTF8
							      : c == '+' || c == '#'
								      ? BP_MQTT_E_WILDCARD
								      : BP_MQTT_OK;

				body[2 + at] = (uint8_t)c;
				assert_int_equal(bp_mqtt_publish(NULL, V311, 0, body, 2 + len, &p),
					expected);
			}
			body[2 + at] = 'x';
		}
		if (len >= 3) {
			memcpy(body + 2 + len - 3, "\xe2\x82\xac", 3);
			assert_int_equal(
				bp_mqtt_publish(NULL, V311, 0, body, 2 + len, &p), BP_MQTT_OK);
		}
		free(body);
	}
}

/* The same when each step continues where the last one stopped. */
static void assert_resume_agrees(
	uint8_t version, uint8_t flags, const uint8_t *body, uint32_t len, uint32_t step)
{
	struct bp_mqtt_publish from_start, resumed;
	struct bp_mqtt_head state = {0};

	for (uint32_t have = 0;; have = have + step < len ? have + step : len) {
		uint8_t *part = exact_copy(body, have);
		enum bp_mqtt_error e =
			bp_mqtt_publish_head(NULL, version, flags, part, have, len, &from_start);

		assert_int_equal(
			bp_mqtt_resume(NULL, version, flags, part, have, len, &state, &resumed), e);
		if (e == BP_MQTT_OK) {
			assert_ptr_equal(resumed.topic, from_start.topic);
			assert_ptr_equal(resumed.payload, from_start.payload);
			assert_ptr_equal(resumed.properties, from_start.properties);
			assert_int_equal(resumed.topic_len, from_start.topic_len);
			assert_int_equal(resumed.packet_id, from_start.packet_id);
			assert_int_equal(resumed.alias, from_start.alias);
			assert_int_equal(resumed.properties_len, from_start.properties_len);
			assert_int_equal(resumed.payload_len, from_start.payload_len);
		}
		free(part);
		if (have == len || (e != BP_MQTT_OK && e != BP_MQTT_MORE))
			return;
	}
}

/* For each prefix: MORE until the head is there, then OK with the same fields; or the same error.
 */
static void assert_head_agrees(uint8_t version, uint8_t flags, const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_publish whole, head;
	enum bp_mqtt_error expected = bp_mqtt_publish(NULL, version, flags, body, len, &whole);
	bool decided = false;

	for (uint32_t step = 1; step < 8; step++)
		assert_resume_agrees(version, flags, body, len, step);
	for (uint32_t have = 0; have <= len; have++) {
		uint8_t *part = exact_copy(body, have);
		enum bp_mqtt_error e =
			bp_mqtt_publish_head(NULL, version, flags, part, have, len, &head);

		if (e == BP_MQTT_MORE) {
			assert_false(decided);
			assert_true(have < len);
		} else {
			assert_int_equal(e, expected);
			decided = true;
		}
		if (e == BP_MQTT_OK) {
			assert_int_equal(head.topic - part, whole.topic - body);
			assert_int_equal(head.topic_len, whole.topic_len);
			assert_int_equal(head.packet_id, whole.packet_id);
			assert_int_equal(head.alias, whole.alias);
			assert_int_equal(head.properties_len, whole.properties_len);
			assert_int_equal(head.payload - part, whole.payload - body);
			assert_int_equal(head.payload_len, whole.payload_len);
		}
		free(part);
	}
	assert_true(decided);
}

static void publish_header_agrees_with_the_packet(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const uint8_t *p = (const uint8_t *)valid[i].bytes;

		if (p[0] >> 4 == BP_MQTT_PUBLISH)
			assert_head_agrees(
				valid[i].version, p[0] & 15, p + 2, (uint32_t)valid[i].len - 2);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const uint8_t *p = (const uint8_t *)faults[i].bytes;

		if (faults[i].len >= 2 && p[0] >> 4 == BP_MQTT_PUBLISH &&
			p[1] + 2u == faults[i].len)
			assert_head_agrees(
				faults[i].version, p[0] & 15, p + 2, (uint32_t)faults[i].len - 2);
	}
}

/* 48,000 user properties and a topic of characters of several bytes, a byte at a time. */
static void header_in_pieces_is_checked_once(void **state)
{
	enum { PROPERTIES = 48000, EACH = 7, TOPIC = 65535 / 3 * 3 };
	const uint32_t topic = TOPIC, section = PROPERTIES * EACH;
	uint32_t len = 2 + topic + 3 + section + 2, at = 0;
	uint8_t *body = malloc(len);
	struct bp_mqtt_head resume = {0};
	struct bp_mqtt_publish p;

	(void)state;
	assert_non_null(body);
	body[at++] = TOPIC >> 8;
	body[at++] = TOPIC & 0xff;
	for (unsigned i = 0; i < TOPIC / 3; i++, at += 3)
		memcpy(body + at, "\xe2\x82\xac", 3);
	body[at++] = (uint8_t)(section | 0x80);
	body[at++] = (uint8_t)(section >> 7 | 0x80);
	body[at++] = (uint8_t)(section >> 14);
	for (unsigned i = 0; i < PROPERTIES; i++, at += EACH)
		memcpy(body + at, "\x26\0\1a\0\1b", EACH);
	memcpy(body + at, "81", 2);
	for (uint32_t have = 0; have < len - 2; have++) {
		assert_int_equal(bp_mqtt_resume(NULL, BP_MQTT_V5, 0, body, have, len, &resume, &p),
			BP_MQTT_MORE);
		/* the remaining bytes are less than a character, or a property */
		assert_true(5u + resume.topic >= have || resume.topic == topic);
		if (have > 2 + topic + 3)
			assert_true(2 + topic + 3 + resume.properties + EACH > have);
	}
	assert_int_equal(
		bp_mqtt_resume(NULL, BP_MQTT_V5, 0, body, len - 2, len, &resume, &p), BP_MQTT_OK);
	assert_int_equal(p.payload_len, 2);
	assert_int_equal(p.properties_len, section);
	free(body);
}

static void bytes_after_the_packet_are_ignored(void **state)
{
	static const uint8_t body[] = "\0\1a+#";
	struct bp_mqtt_publish p;

	assert_int_equal(bp_mqtt_publish_head(NULL, V311, 0, body, 5, 3, &p), BP_MQTT_OK);
	assert_int_equal(p.payload_len, 0);
}

static void connect_fields_are_found(void **state)
{
	static const char body[] = "\0\4MQTT\x85\2\1\2\3\x22\0\7\0\2id";
	struct bp_mqtt_connect c;

	assert_int_equal(
		bp_mqtt_connect(NULL, 0, (const uint8_t *)body, sizeof(body) - 1, &c), BP_MQTT_OK);
	assert_int_equal(c.version, V5);
	assert_int_equal(c.keep_alive, 0x102);
	assert_int_equal(c.alias_max, 7);
	assert_int_equal(c.client_id_len, 2);
	assert_memory_equal(c.client_id, "id", 2);
}

static void connack_fields_are_found(void **state)
{
	static const char body[] = "\1\0\x08\x12\0\2id\x22\0\x0a";
	struct bp_mqtt_connack c;

	assert_int_equal(
		bp_mqtt_connack(V5, (const uint8_t *)body, sizeof(body) - 1, &c), BP_MQTT_OK);
	assert_true(c.session_present);
	assert_int_equal(c.code, 0);
	assert_int_equal(c.alias_max, 10);
	assert_int_equal(c.assigned_id_len, 2);
	assert_memory_equal(c.assigned_id, "id", 2);
	assert_int_equal(bp_mqtt_connack(V311, (const uint8_t *)"\0\5", 2, &c), BP_MQTT_OK);
	assert_int_equal(c.code, 5);
	assert_false(c.session_present);
	assert_int_equal(c.alias_max, 0);
	assert_null(c.assigned_id);
}

/* ---- rewriting ---- */

static void assert_rewrite(uint8_t version, const uint8_t *packet, size_t len, const char *topic)
{
	struct bp_mqtt_publish before, after;
	struct bp_mqtt_fixed f = {0};
	size_t n;
	uint8_t *out;

	assert_int_equal(bp_mqtt_fixed(packet, len, &f), BP_MQTT_OK);
	assert_int_equal(bp_mqtt_publish(NULL, version, f.flags, packet + f.header_len, f.remaining,
				 &before),
		BP_MQTT_OK);
	n = bp_mqtt_publish_rewrite(version, &before, topic, strlen(topic), NULL, 0);
	assert_true(n > 0);
	out = malloc(n);
	assert_int_equal(
		bp_mqtt_publish_rewrite(version, &before, topic, strlen(topic), out, n - 1), 0);
	assert_int_equal(
		bp_mqtt_publish_rewrite(version, &before, topic, strlen(topic), out, n), n);
	assert_int_equal(bp_mqtt_fixed(out, n, &f), BP_MQTT_OK);
	assert_int_equal(f.type, BP_MQTT_PUBLISH);
	assert_int_equal(f.header_len + f.remaining, n);
	assert_int_equal(
		bp_mqtt_publish(NULL, version, f.flags, out + f.header_len, f.remaining, &after),
		BP_MQTT_OK);
	assert_int_equal(after.topic_len, strlen(topic));
	assert_memory_equal(after.topic, topic, strlen(topic));
	assert_int_equal(after.alias, 0);
	assert_int_equal(after.qos, before.qos);
	assert_int_equal(after.dup, before.dup);
	assert_int_equal(after.retain, before.retain);
	assert_int_equal(after.packet_id, before.packet_id);
	assert_int_equal(after.payload_len, before.payload_len);
	assert_memory_equal(after.payload, before.payload, before.payload_len);
	assert_int_equal(after.properties_len, before.properties_len - (before.alias != 0 ? 3 : 0));
	free(out);
}

static void a_rewritten_publish_differs_in_its_topic_alone(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const uint8_t *p = (const uint8_t *)valid[i].bytes;

		if (p[0] >> 4 != BP_MQTT_PUBLISH)
			continue;
		assert_rewrite(valid[i].version, p, valid[i].len, "t");
		assert_rewrite(
			valid[i].version, p, valid[i].len, "alarm/plant/7/temperature/overheat");
	}
}

static void rewriting_writes_these_bytes(void **state)
{
	static const uint8_t body[] = "\0\0\0\1\x0a\x23\0\1\x26\0\1k\0\1v98";
	static const uint8_t expected[] = "\x3b\x11\0\3a/b\0\1\7\x26\0\1k\0\1v98";
	struct bp_mqtt_publish p;
	uint8_t out[64];

	assert_int_equal(bp_mqtt_publish(NULL, V5, 0xb, body, sizeof(body) - 1, &p), BP_MQTT_OK);
	assert_int_equal(
		bp_mqtt_publish_rewrite(V5, &p, "a/b", 3, out, sizeof(out)), sizeof(expected) - 1);
	assert_memory_equal(out, expected, sizeof(expected) - 1);
}

static void rewriting_knows_its_limits(void **state)
{
	static const uint8_t body[] = "\0\1a98";
	struct bp_mqtt_publish p;
	char *topic = malloc(65536);

	memset(topic, 't', 65536);
	assert_int_equal(bp_mqtt_publish(NULL, V311, 0, body, 5, &p), BP_MQTT_OK);
	assert_int_equal(
		bp_mqtt_publish_rewrite(V311, &p, topic, 65535, NULL, 0), 1 + 3 + 2 + 65535 + 2);
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 65536, NULL, 0), 0);
	/* only lengths: the payload is not checked */
	p.payload_len = BP_MQTT_REMAINING_MAX - 3;
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 1, NULL, 0),
		1 + 4 + (size_t)BP_MQTT_REMAINING_MAX);
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 2, NULL, 0), 0);
	p.payload_len = UINT32_MAX;
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 1, NULL, 0), 0);
	free(topic);
}

/* A caller that changed the alias but not the properties gets nothing, and nothing overflows. */
static void rewriting_rejects_inconsistent_lengths(void **state)
{
	static const uint8_t body[] = "\0\1t\7\x26\0\1k\0\1v98";
	struct bp_mqtt_publish p;
	size_t n;
	uint8_t *out;

	assert_int_equal(bp_mqtt_publish(NULL, V5, 0, body, sizeof(body) - 1, &p), BP_MQTT_OK);
	p.alias = 1;
	n = bp_mqtt_publish_rewrite(V5, &p, "t", 1, NULL, 0);
	out = malloc(n);
	assert_int_equal(bp_mqtt_publish_rewrite(V5, &p, "t", 1, out, n), 0);
	free(out);
	p.alias = 0;
	p.properties_len = 5; /* ends inside a property */
	n = bp_mqtt_publish_rewrite(V5, &p, "t", 1, NULL, 0);
	out = malloc(n);
	assert_int_equal(bp_mqtt_publish_rewrite(V5, &p, "t", 1, out, n), 0);
	free(out);
}

/* Random bytes after a right first byte: never out of bounds, never MORE when all is there. */
static void random_bodies_are_evaluated(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;

	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[130], version = (uint8_t)(3 + next_random(&seed) % 3);
		size_t len = next_random(&seed) % 126;
		enum bp_mqtt_error e;

		do
			bytes[0] = (uint8_t)next_random(&seed);
		while (bp_mqtt_first_byte[bytes[0]] != BP_MQTT_OK);
		bytes[1] = (uint8_t)len;
		for (size_t k = 0; k < len; k++) {
			uint64_t r = next_random(&seed);

			bytes[2 + k] = (uint8_t)(r % 3 == 0 ? r >> 8 & 3 : r >> 8);
		}
		e = judge_exact(version, bytes, len + 2);
		assert_int_not_equal(e, BP_MQTT_MORE);
		if (bytes[0] >> 4 == BP_MQTT_PUBLISH)
			assert_head_agrees(version, bytes[0] & 15, bytes + 2, (uint32_t)len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(publish_fields_are_found),
		cmocka_unit_test(every_byte_of_a_topic_is_checked),
		cmocka_unit_test(publish_header_agrees_with_the_packet),
		cmocka_unit_test(header_in_pieces_is_checked_once),
		cmocka_unit_test(bytes_after_the_packet_are_ignored),
		cmocka_unit_test(connect_fields_are_found),
		cmocka_unit_test(connack_fields_are_found),
		cmocka_unit_test(a_rewritten_publish_differs_in_its_topic_alone),
		cmocka_unit_test(rewriting_writes_these_bytes),
		cmocka_unit_test(rewriting_knows_its_limits),
		cmocka_unit_test(rewriting_rejects_inconsistent_lengths),
		cmocka_unit_test(random_bodies_are_evaluated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
