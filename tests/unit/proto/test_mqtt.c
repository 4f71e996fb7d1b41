/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/mqtt_packet.h"

#include <stdio.h>

struct packet {
	const char *bytes;
	size_t len;
	uint8_t version;
	bool shorter; /* some shorter form of it is valid too */
};
#define PACKET(version, bytes)                                                                     \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, version, false                                           \
	}
#define SHORTER(version, bytes)                                                                    \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, version, true                                            \
	}

#define V31 BP_MQTT_V31
#define V311 BP_MQTT_V311
#define V5 BP_MQTT_V5

static const struct packet valid[] = {
	/* CONNECT: plain, with all there is, 3.1, a bridge, version 5 with properties and will */
	PACKET(V311, "\x10\x0e\0\4MQTT\4\2\0\x3c\0\2t0"),
	PACKET(V311, "\x10\x0c\0\4MQTT\4\2\0\x3c\0\0"),
	PACKET(V311, "\x10\x1b\0\4MQTT\4\xf6\0\x0a\0\2id\0\1w\0\2\xff\0\0\1u\0\1p"),
	SHORTER(V31, "\x10\x13\0\6MQIsdp\3\xc2\0\x3c\0\1c\0\0\0\0"),
	SHORTER(V31, "\x10\x12\0\6MQIsdp\3\xc2\0\x3c\0\1c\0\1u"), /* password missing */
	PACKET(V311, "\x10\x0e\0\4MQTT\x84\2\0\x3c\0\2t0"),
	PACKET(V5, "\x10\x0f\0\4MQTT\5\2\0\x3c\0\0\2t0"),
	PACKET(V5,
		"\x10\x3c\0\4MQTT\5\xce\0\x3c\x17\x11\0\0\0\x0a\x15\0\1m\x16\0\1d\x17\1\x19\0\x21"
		"\0\1\x22\0\7\0\2id\x0a\x18\0\0\0\1\x01\1\x09\0\0\0\1w\0\0\0\1u\0\1p"),
	PACKET(V5, "\x10\x11\0\4MQTT\5\x42\0\x3c\0\0\1c\0\1p"), /* password alone */
	/* CONNACK */
	PACKET(V311, "\x20\2\0\0"),
	PACKET(V311, "\x20\2\1\0"),
	PACKET(V311, "\x20\2\0\5"),
	PACKET(V31, "\x20\2\xff\0"), /* an unused octet there */
	PACKET(V5, "\x20\x09\0\0\6\x22\0\x0a\x21\0\x14"),
	PACKET(V5, "\x20\x0c\1\0\x09\x12\0\2id\x24\1\x2a"
		   "\0"),
	PACKET(V5, "\x20\2\0\1"), /* from a broker of 3.1.1 */
	/* acknowledgements */
	PACKET(V311, "\x40\2\0\1"),
	PACKET(V311, "\x50\2\xff\xff"),
	PACKET(V311, "\x62\2\0\1"),
	PACKET(V311, "\x70\2\0\1"),
	SHORTER(V5, "\x40\3\0\1\x10"),
	SHORTER(V5, "\x50\4\0\1\x80\0"),
	SHORTER(V5, "\x62\x0c\0\1\x92\x08\x1f\0\5which"),
	SHORTER(V5, "\x70\x0d\0\1\0\x09\x26\0\1k\0\3val"),
	/* subscriptions */
	SHORTER(V311, "\x82\x09\0\1\0\4gw/#\1"),
	SHORTER(V311, "\x82\x0e\0\1\0\4gw/#\1\0\2+/\2"),
	PACKET(V5, "\x82\x0c\0\1\2\x0b\7\0\4gw/#\x2d"),
	PACKET(V5, "\x82\x12\0\1\0\0\x0c$share/g/a/b\x01"),
	PACKET(V311, "\xa2\x08\0\1\0\4gw/#"),
	PACKET(V5, "\xa2\x10\0\1\7\x26\0\1k\0\1v\0\4gw/#"),
	SHORTER(V311, "\x90\4\0\1\0\x80"),
	SHORTER(V5, "\x90\5\0\1\0\1\x87"),
	PACKET(V311, "\xb0\2\0\1"),
	SHORTER(V5, "\xb0\5\0\1\0\0\x11"),
	/* the rest */
	PACKET(V311, "\xc0\0"),
	PACKET(V5, "\xd0\0"),
	PACKET(V311, "\xe0\0"),
	SHORTER(V5, "\xe0\0"),
	SHORTER(V5, "\xe0\1\4"),
	SHORTER(V5, "\xe0\2\x8e\0"),
	SHORTER(V5, "\xe0\7\0\5\x11\0\0\0\1"),
	SHORTER(V5, "\xf0\0"),
	SHORTER(V5, "\xf0\x0a\x18\x08\x15\0\1m\x16\0\1d"),
	/* PUBLISH */
	SHORTER(V311, "\x30\x0b\0\7gw/spo298"),
	SHORTER(V311, "\x31\3\0\1a"),
	SHORTER(V311, "\x38\x07\0\4gw/x1"), /* DUP with QoS 0: as brokers do */
	SHORTER(V31, "\x3d\x0a\0\4gw/x\0\x0a"
		     "98"),
	SHORTER(V5, "\x30\x05\0\1a\0z"),
	SHORTER(V5, "\x32\x09\0\0\0\1\3\x23\0\7z"), /* alias alone */
	SHORTER(V5, "\x30\x30\0\1t\x2b\x01\1\x02\0\0\0\1\x03\0\1c\x08\0\2r/"
		    "\x09\0\1\xff\x0b\1\x0b\xff\xff"
		    "\xff\x7f\x23\xff\xff\x26\0\1k\0\1v\x26\0\1k\0\0z"),
};

static void valid_packets_are_accepted(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const struct packet *p = &valid[i];
		enum bp_mqtt_error e = judge_exact(p->version, p->bytes, p->len);

		if (e != BP_MQTT_OK)
			fail_msg("packet %zu: %s", i, bp_mqtt_error_text(e));
	}
}

static void cut_anywhere_they_are_not(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		assert_cut_is_never_ok(valid[i].version, (const uint8_t *)valid[i].bytes,
			valid[i].len, valid[i].shorter);
}

/* One byte too many is left over, in every type that has a fixed end. */
static void bytes_left_over_are_an_error(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const struct packet *p = &valid[i];
		uint8_t type = (uint8_t)p->bytes[0] >> 4, *longer = malloc(p->len + 1);
		enum bp_mqtt_error e;

		memcpy(longer, p->bytes, p->len);
		longer[1]++;
		longer[p->len] = 0;
		e = judge(p->version, longer, p->len + 1);
		free(longer);
		/* payload, further codes, and the forms that the next byte makes longer */
		if (type == BP_MQTT_PUBLISH || type == BP_MQTT_SUBACK ||
			(p->version == V5 && (type == BP_MQTT_UNSUBACK || p->shorter)) ||
			(p->version == V5 && type == BP_MQTT_CONNACK && p->len == 4))
			continue;
		if (e == BP_MQTT_OK)
			fail_msg("packet %zu takes one byte more", i);
	}
}

struct fault {
	const char *bytes;
	size_t len;
	enum bp_mqtt_error error;
	uint8_t version;
};
#define FAULT(error, version, bytes)                                                               \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, error, version                                           \
	}

static const struct fault faults[] = {
	FAULT(BP_MQTT_MORE, V311, ""),
	FAULT(BP_MQTT_MORE, V311, "\x30"),
	FAULT(BP_MQTT_MORE, V311, "\x30\x80"),
	FAULT(BP_MQTT_MORE, V311, "\x30\xff\xff\xff"),
	FAULT(BP_MQTT_E_LENGTH, V311, "\x30\xff\xff\xff\xff"),
	FAULT(BP_MQTT_E_LENGTH, V311, "\x30\x80\x80\x80\x80\x01"),
	FAULT(BP_MQTT_E_TYPE, V311, "\x00"),
	FAULT(BP_MQTT_E_TYPE, V5, "\x0f\0"),
	FAULT(BP_MQTT_E_TYPE, V311, "\xf0\0"), /* AUTH is of version 5 */
	FAULT(BP_MQTT_E_FLAGS, V311, "\x11"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x21"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x48"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x60"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x63"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x80"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\xa0"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\xc1"),
	FAULT(BP_MQTT_E_FLAGS, V5, "\xf8"),
	FAULT(BP_MQTT_E_QOS, V311, "\x36"),
	FAULT(BP_MQTT_E_QOS, V311, "\x3f"),
	/* PUBLISH */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x30\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x30\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x30\3\0\2a"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x32\4\0\1a\1"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\x30\3\0\1a"),
	FAULT(BP_MQTT_E_TOPIC_EMPTY, V311, "\x30\2\0\0"),
	FAULT(BP_MQTT_E_TOPIC_EMPTY, V5, "\x30\3\0\0\0"),
	FAULT(BP_MQTT_E_TOPIC_EMPTY, V5, "\x30\5\0\0\2\x01\1"),
	FAULT(BP_MQTT_E_PACKET_ID, V311, "\x32\5\0\1a\0\0"),
	FAULT(BP_MQTT_E_PACKET_ID, V5, "\x34\6\0\1a\0\0\0"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x30\3\0\1+"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x30\5\0\3a/#"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x30\x13\0\x11plant/+/long/name"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x30\4\0\2a\0"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x30\4\0\2a\xff"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x30\4\0\2a\xc3"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x30\5\0\3\xed\xa0\x80"),
	FAULT(BP_MQTT_E_ALIAS, V5, "\x30\6\0\0\3\x23\0\0"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\4\0\1a\1"),               /* longer than the packet */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\5\0\1a\x80\x00"),         /* over-long 0 */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\7\0\1a\x80\x80\x80\x80"), /* five octets */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\5\0\1a\1\x04"),           /* unknown */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\5\0\1a\1\x00"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\5\0\1a\1\x2b"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\5\0\1a\1\xff"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\6\0\1a\2\x01\2"),         /* neither 0 nor 1 */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\7\0\1a\2\x23\0\1"),       /* runs past the section */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\x09\0\1a\5\x11\0\0\0\1"), /* of CONNECT */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\x0a\0\1a\6\x23\0\1\x23\0\1"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\6\0\1a\2\x0b\0"),      /* identifier 0 */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\7\0\1a\3\x0b\x81\0"),  /* over-long */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\x08\0\1a\4\x03\0\5c"), /* string past the section */
	FAULT(BP_MQTT_E_UTF8, V5, "\x30\x08\0\1a\4\x03\0\1\xff"),
	FAULT(BP_MQTT_E_WILDCARD, V5, "\x30\x08\0\1a\4\x08\0\1#"), /* response topic */
	/* CONNECT */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x10\0"),
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4MQTT\x09\2\0\x3c\0\1z"), /* version 9 */
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4MQTT\4\3\0\x3c\0\1z"),   /* reserved flag */
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4MQTT\3\2\0\x3c\0\1z"),
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0f\0\6MQIsdp\4\2\0\x3c\0\1z"),
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4mqtt\4\2\0\x3c\0\1z"),
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4MQTT\4\x0a\0\x3c\0\1z"), /* will QoS, no will */
	FAULT(BP_MQTT_E_CONNECT, V311, "\x10\x0d\0\4MQTT\4\x22\0\x3c\0\1z"), /* will retain */
	FAULT(BP_MQTT_E_CONNECT, V311,
		"\x10\x12\0\4MQTT\4\x1e\0\x3c\0\1z\0\1w\0\0"), /* will QoS 3 */
	FAULT(BP_MQTT_E_CONNECT, V311,
		"\x10\x10\0\4MQTT\4\x42\0\x3c\0\1z\0\1p"), /* password alone */
	FAULT(BP_MQTT_E_TRUNCATED, V311,
		"\x10\x0d\0\4MQTT\4\x82\0\x3c\0\1z"), /* user name missing */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x10\x0e\0\4MQTT\4\2\0\x3c\0\1zz"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x10\x0d\0\4MQTT\4\2\0\x3c\0\1\xff"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x10\x10\0\4MQTT\4\x82\0\x3c\0\1z\0\1\xff"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x10\x12\0\4MQTT\4\6\0\x3c\0\1z\0\1+\0\0"),
	FAULT(BP_MQTT_E_TOPIC_EMPTY, V311, "\x10\x11\0\4MQTT\4\6\0\x3c\0\1z\0\0\0\0"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x10\x11\0\4MQTT\5\2\0\x3c\3\x21\0\0\0\1z"), /* receive 0 */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x10\x13\0\4MQTT\5\2\0\x3c\5\x27\0\0\0\0\0\1z"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x10\x12\0\4MQTT\5\2\0\x3c\4\x16\0\1d\0\1z"), /* no method */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x10\x11\0\4MQTT\5\2\0\x3c\3\x23\0\1\0\1z"),
	/* CONNACK */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x20\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x20\3\0\0\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\x20\2\0\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\x20\4\0\0\0\0"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x20\2\2\0"),
	FAULT(BP_MQTT_E_CONNECT, V311, "\x20\2\1\5"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x20\6\0\0\3\x23\0\1"),
	/* acknowledgements */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x40\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x40\3\0\1\0"),
	FAULT(BP_MQTT_E_PACKET_ID, V311, "\x40\2\0\0"),
	FAULT(BP_MQTT_E_PACKET_ID, V311, "\x62\2\0\0"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x40\4\0\1\0\1"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x40\7\0\1\0\3\x23\0\1"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\x40\5\0\1\0\0\0"),
	/* subscriptions */
	FAULT(BP_MQTT_E_PACKET_ID, V311, "\x82\x09\0\0\0\4gw/#\1"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x82\2\0\1"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\x82\3\0\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x82\x08\0\1\0\4gw/#"),
	FAULT(BP_MQTT_E_TOPIC_EMPTY, V311, "\x82\5\0\1\0\0\1"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x82\x09\0\1\0\4gw#/\1"),
	FAULT(BP_MQTT_E_WILDCARD, V311, "\x82\x09\0\1\0\4a+/b\1"),
	FAULT(BP_MQTT_E_UTF8, V311, "\x82\x06\0\1\0\1\xff\1"),
	FAULT(BP_MQTT_E_QOS, V311, "\x82\x06\0\1\0\1a\3"),
	FAULT(BP_MQTT_E_FLAGS, V311, "\x82\x06\0\1\0\1a\4"),
	FAULT(BP_MQTT_E_FLAGS, V5, "\x82\x07\0\1\0\0\1a\x40"),
	FAULT(BP_MQTT_E_FLAGS, V5, "\x82\x07\0\1\0\0\1a\x30"),
	FAULT(BP_MQTT_E_FLAGS, V5, "\x82\x10\0\1\0\0\x0a$share/g/a\4"),     /* no local, shared */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x82\x0b\0\1\4\x0b\1\x0b\1\0\1a\0"), /* once in SUBSCRIBE */
	FAULT(BP_MQTT_E_PROPERTY, V5, "\xa2\x08\0\1\2\x0b\1\0\1a"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\xa2\2\0\1"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\x90\2\0\1"),
	FAULT(BP_MQTT_E_PACKET_ID, V311, "\x90\3\0\0\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\xb0\3\0\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\xb0\3\0\1\0"),
	/* the rest */
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\xc0\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\xd0\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V311, "\xe0\1\0"),
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\xe0\3\0\0\0"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\xe0\5\0\3\x23\0\1"),
	FAULT(BP_MQTT_E_PROPERTY, V5, "\xf0\2\x18\0"), /* no method */
	FAULT(BP_MQTT_E_TRUNCATED, V5, "\xf0\1\x18"),
};

static void each_fault_has_its_error(void **state)
{
	bool reached[BP_MQTT_E_CONNECT + 1] = {[BP_MQTT_OK] = true};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];
		enum bp_mqtt_error e = judge_exact(f->version, f->bytes, f->len);

		if (e != f->error)
			fail_msg("fault %zu (%02x %02x...): \"%s\", expected \"%s\"", i,
				(uint8_t)f->bytes[0], (uint8_t)f->bytes[f->len > 1],
				bp_mqtt_error_text(e), bp_mqtt_error_text(f->error));
		reached[e] = true;
	}
	for (size_t i = 0; i < sizeof(reached); i++)
		assert_true(reached[i]);
}

static void only_types_with_a_checker_are_taken(void **state)
{
	uint16_t id = 7;

	assert_int_equal(bp_mqtt_other(V5, 0, (const uint8_t *)"", 0, &id), BP_MQTT_E_TYPE);
	assert_int_equal(id, 0);
	assert_int_equal(bp_mqtt_other(V5, 16, (const uint8_t *)"", 0, &id), BP_MQTT_E_TYPE);
	assert_int_equal(
		bp_mqtt_other(V5, BP_MQTT_PUBLISH, (const uint8_t *)"", 0, &id), BP_MQTT_E_TYPE);
	assert_int_equal(bp_mqtt_other(V311, BP_MQTT_PUBACK, (const uint8_t *)"\x12\x34", 2, &id),
		BP_MQTT_OK);
	assert_int_equal(id, 0x1234);
}

static void errors_have_sentences_of_their_own(void **state)
{
	for (int i = 0; i <= BP_MQTT_E_CONNECT; i++) {
		assert_non_null(bp_mqtt_error_text((enum bp_mqtt_error)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(bp_mqtt_error_text((enum bp_mqtt_error)i),
				bp_mqtt_error_text((enum bp_mqtt_error)k));
	}
	assert_non_null(bp_mqtt_error_text((enum bp_mqtt_error)99));
}

/* The first octet, as section 2.1 says it in words. */
static void first_octets_follow_the_table(void **state)
{
	for (unsigned i = 0; i < 256; i++) {
		unsigned type = i >> 4, flags = i & 15, expected = BP_MQTT_OK;

		if (type == 0)
			expected = BP_MQTT_E_TYPE;
		else if (type == BP_MQTT_PUBLISH)
			expected = (flags & 6) == 6 ? BP_MQTT_E_QOS : BP_MQTT_OK;
		else if (flags != (type == BP_MQTT_PUBREL || type == BP_MQTT_SUBSCRIBE ||
							  type == BP_MQTT_UNSUBSCRIBE
						  ? 2
						  : 0))
			expected = BP_MQTT_E_FLAGS;
		assert_int_equal(bp_mqtt_first_octet[i], expected);
	}
}

static void publish_fields_are_found(void **state)
{
	static const uint8_t v311[] = "\0\4gw/x\0\x0a"
				      "98";
	static const uint8_t v5[] = "\0\4gw/x\0\x0b\5\x01\1\x23\1\2pay";
	static const uint8_t alias[] = "\0\0\3\x23\0\7z";
	struct bp_mqtt_publish p;

	assert_int_equal(bp_mqtt_publish(V311, 0xd, v311, 10, &p), BP_MQTT_OK);
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

	assert_int_equal(bp_mqtt_publish(V5, 2, v5, sizeof(v5) - 1, &p), BP_MQTT_OK);
	assert_int_equal(p.packet_id, 11);
	assert_int_equal(p.alias, 0x102);
	assert_int_equal(p.qos, 1);
	assert_false(p.dup);
	assert_false(p.retain);
	assert_ptr_equal(p.properties, v5 + 9);
	assert_int_equal(p.properties_len, 5);
	assert_int_equal(p.payload_len, 3);
	assert_memory_equal(p.payload, "pay", 3);

	assert_int_equal(bp_mqtt_publish(V5, 0, alias, sizeof(alias) - 1, &p), BP_MQTT_OK);
	assert_int_equal(p.topic_len, 0);
	assert_int_equal(p.alias, 7);
	assert_int_equal(p.packet_id, 0);
}

/* Every suspicious byte at every place of topics of every length around the vector's. */
static void every_byte_of_a_topic_is_looked_at(void **state)
{
	for (unsigned len = 1; len < 70; len++) {
		uint8_t *body = malloc(2 + len);
		struct bp_mqtt_publish p;

		body[0] = 0;
		body[1] = (uint8_t)len;
		memset(body + 2, 'x', len);
		assert_int_equal(bp_mqtt_publish(V311, 0, body, 2 + len, &p), BP_MQTT_OK);
		assert_int_equal(p.payload_len, 0);
		for (unsigned at = 0; at < len; at++) {
			for (unsigned c = 0; c < 256; c++) {
				enum bp_mqtt_error expected = c == 0 || c >= 0x80 ? BP_MQTT_E_UTF8
							      : c == '+' || c == '#'
								      ? BP_MQTT_E_WILDCARD
								      : BP_MQTT_OK;

				body[2 + at] = (uint8_t)c;
				assert_int_equal(
					bp_mqtt_publish(V311, 0, body, 2 + len, &p), expected);
			}
			body[2 + at] = 'x';
		}
		if (len >= 3) {
			memcpy(body + 2 + len - 3, "\xe2\x82\xac", 3);
			assert_int_equal(bp_mqtt_publish(V311, 0, body, 2 + len, &p), BP_MQTT_OK);
		}
		free(body);
	}
}

/* For each prefix: MORE until the head is there, then OK with the same fields; or the same error.
 */
static void assert_head_agrees(uint8_t version, uint8_t flags, const uint8_t *body, uint32_t len)
{
	struct bp_mqtt_publish whole, head;
	enum bp_mqtt_error expected = bp_mqtt_publish(version, flags, body, len, &whole);
	bool decided = false;

	for (uint32_t have = 0; have <= len; have++) {
		uint8_t *part = exact_copy(body, have);
		enum bp_mqtt_error e = bp_mqtt_publish_head(version, flags, part, have, len, &head);

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

static void the_head_of_a_publish_agrees_with_the_whole(void **state)
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

static void more_bytes_than_the_packet_are_not_looked_at(void **state)
{
	static const uint8_t body[] = "\0\1a+#";
	struct bp_mqtt_publish p;

	assert_int_equal(bp_mqtt_publish_head(V311, 0, body, 5, 3, &p), BP_MQTT_OK);
	assert_int_equal(p.payload_len, 0);
}

static void connect_fields_are_found(void **state)
{
	static const char body[] = "\0\4MQTT\x85\2\1\2\3\x22\0\7\0\2id";
	struct bp_mqtt_connect c;

	assert_int_equal(bp_mqtt_connect((const uint8_t *)body, sizeof(body) - 1, &c), BP_MQTT_OK);
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
	assert_int_equal(
		bp_mqtt_publish(version, f.flags, packet + f.header_len, f.remaining, &before),
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
	assert_int_equal(bp_mqtt_publish(version, f.flags, out + f.header_len, f.remaining, &after),
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

	assert_int_equal(bp_mqtt_publish(V5, 0xb, body, sizeof(body) - 1, &p), BP_MQTT_OK);
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
	assert_int_equal(bp_mqtt_publish(V311, 0, body, 5, &p), BP_MQTT_OK);
	assert_int_equal(
		bp_mqtt_publish_rewrite(V311, &p, topic, 65535, NULL, 0), 1 + 3 + 2 + 65535 + 2);
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 65536, NULL, 0), 0);
	/* sizes alone: nothing of the payload is looked at */
	p.payload_len = BP_MQTT_REMAINING_MAX - 3;
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 1, NULL, 0),
		1 + 4 + (size_t)BP_MQTT_REMAINING_MAX);
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 2, NULL, 0), 0);
	p.payload_len = UINT32_MAX;
	assert_int_equal(bp_mqtt_publish_rewrite(V311, &p, topic, 1, NULL, 0), 0);
	free(topic);
}

/* A caller that changed the alias but not the properties gets nothing, and nothing overflows. */
static void rewriting_refuses_what_does_not_add_up(void **state)
{
	static const uint8_t body[] = "\0\1t\7\x26\0\1k\0\1v98";
	struct bp_mqtt_publish p;
	size_t n;
	uint8_t *out;

	assert_int_equal(bp_mqtt_publish(V5, 0, body, sizeof(body) - 1, &p), BP_MQTT_OK);
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

/* ---- lengths ---- */

static void variable_byte_integers_of_all_sizes(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t len;
		uint32_t value;
	} cases[] = {{"\0", 1, 0}, {"\x7f", 1, 127}, {"\x80\1", 2, 128}, {"\xff\x7f", 2, 16383},
		{"\x80\x80\1", 3, 16384}, {"\xff\xff\x7f", 3, 2097151},
		{"\x80\x80\x80\1", 4, 2097152}, {"\xff\xff\xff\x7f", 4, BP_MQTT_REMAINING_MAX},
		{"\x80\0", 2, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t len = 0; len <= cases[i].len; len++) {
			uint8_t *p = exact_copy(cases[i].bytes, len), used = 0;
			uint32_t v = 1;
			enum bp_mqtt_error e = bp_mqtt_varint(p, len, &v, &used);

			free(p);
			assert_int_equal(e, len < cases[i].len ? BP_MQTT_MORE : BP_MQTT_OK);
			if (e == BP_MQTT_OK) {
				assert_int_equal(v, cases[i].value);
				assert_int_equal(used, cases[i].len);
			}
		}
	}
}

/* ---- topics and filters ---- */

static void filters_are_judged(void **state)
{
	static const char *const good[] = {"a", "/", "//", "#", "+", "a/#", "a/+", "+/+", "+/a/#",
		"/#", "/+", "a/+/b", "$SYS/#", "$share/g/a/#", "a b", "\xc3\xa9/+"};
	static const char *const bad[] = {"", "a#", "#a", "a/#/b", "#/", "a/b#", "a+", "+a",
		"a/+b/c", "a/b+/c", "++", "##", "a/##", "\xff", "a/\xc3"};
	char *longest = malloc(65536);

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(bp_mqtt_filter_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bp_mqtt_filter_valid(bad[i], strlen(bad[i])));
	assert_false(bp_mqtt_filter_valid("a\0b", 3));
	memset(longest, 'a', 65536);
	assert_true(bp_mqtt_filter_valid(longest, 65535));
	assert_false(bp_mqtt_filter_valid(longest, 65536));
	assert_true(bp_mqtt_topic_valid(longest, 65535));
	assert_false(bp_mqtt_topic_valid(longest, 65536));
	free(longest);
}

static void topics_are_judged(void **state)
{
	assert_true(bp_mqtt_topic_valid("a", 1));
	assert_true(bp_mqtt_topic_valid("/", 1));
	assert_true(bp_mqtt_topic_valid("$SYS/x", 6));
	assert_true(bp_mqtt_topic_valid("a b/\xe2\x82\xac", 7));
	assert_false(bp_mqtt_topic_valid("", 0));
	assert_false(bp_mqtt_topic_valid("a/+", 3));
	assert_false(bp_mqtt_topic_valid("a/#", 3));
	assert_false(bp_mqtt_topic_valid("a\0", 2));
	assert_false(bp_mqtt_topic_valid("\xff", 1));
	assert_false(bp_mqtt_topic_valid("\xe2\x82", 2));
}

static void filters_match_topics(void **state)
{
	static const struct {
		const char *filter, *topic;
		bool matches;
	} cases[] = {
		/* the standard's own examples (4.7.1, 4.7.2) */
		{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/ranking", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true},
		{"#", "a/b/c", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false},
		{"sport/+", "sport/", true},
		{"+/+", "/finance", true},
		{"/+", "/finance", true},
		{"+", "/finance", false},
		{"#", "$SYS/x", false},
		{"+/monitor/Clients", "$SYS/monitor/Clients", false},
		{"$SYS/#", "$SYS/x", true},
		{"$SYS/monitor/+", "$SYS/monitor/Clients", true},
		/* and more */
		{"a", "a", true},
		{"a", "b", false},
		{"a", "A", false},
		{"a", "aa", false},
		{"aa", "a", false},
		{"a", "a/", false},
		{"a/", "a", false},
		{"a/", "a/", true},
		{"/", "/", true},
		{"//", "/", false},
		{"+", "a", true},
		{"+", "a/b", false},
		{"+/#", "a", true},
		{"+/#", "a/b/c", true},
		{"+/b", "a/b", true},
		{"+/b", "/b", true},
		{"a/+/c", "a/b/c", true},
		{"a/+/c", "a//c", true},
		{"a/+/c", "a/b/d", false},
		{"a/+/c", "a/b/b/c", false},
		{"a/+/#", "a", false},
		{"a/+/#", "a/b", true},
		{"a/b/#", "a", false},
		{"a/#", "ab", false},
		{"/#", "/", true},
		{"/#", "a", false},
		{"#", "/", true},
		{"+/+/+", "//", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t f = strlen(cases[i].filter), t = strlen(cases[i].topic);
		char *filter = (char *)exact_copy(cases[i].filter, f);
		char *topic = (char *)exact_copy(cases[i].topic, t);
		bool r = bp_mqtt_filter_matches(filter, f, topic, t);

		free(filter);
		free(topic);
		if (r != cases[i].matches)
			fail_msg("%s %s %s", cases[i].filter, r ? "matches" : "does not match",
				cases[i].topic);
	}
}

/* Random bytes after a right first octet: never out of bounds, never MORE when all is there. */
static void random_bodies_are_judged(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;

	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[130], version = (uint8_t)(3 + next_random(&seed) % 3);
		size_t len = next_random(&seed) % 126;
		enum bp_mqtt_error e;

		do
			bytes[0] = (uint8_t)next_random(&seed);
		while (bp_mqtt_first_octet[bytes[0]] != BP_MQTT_OK);
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
		cmocka_unit_test(valid_packets_are_accepted),
		cmocka_unit_test(cut_anywhere_they_are_not),
		cmocka_unit_test(bytes_left_over_are_an_error),
		cmocka_unit_test(each_fault_has_its_error),
		cmocka_unit_test(only_types_with_a_checker_are_taken),
		cmocka_unit_test(errors_have_sentences_of_their_own),
		cmocka_unit_test(first_octets_follow_the_table),
		cmocka_unit_test(publish_fields_are_found),
		cmocka_unit_test(every_byte_of_a_topic_is_looked_at),
		cmocka_unit_test(the_head_of_a_publish_agrees_with_the_whole),
		cmocka_unit_test(more_bytes_than_the_packet_are_not_looked_at),
		cmocka_unit_test(connect_fields_are_found),
		cmocka_unit_test(connack_fields_are_found),
		cmocka_unit_test(a_rewritten_publish_differs_in_its_topic_alone),
		cmocka_unit_test(rewriting_writes_these_bytes),
		cmocka_unit_test(rewriting_knows_its_limits),
		cmocka_unit_test(rewriting_refuses_what_does_not_add_up),
		cmocka_unit_test(variable_byte_integers_of_all_sizes),
		cmocka_unit_test(filters_are_judged),
		cmocka_unit_test(topics_are_judged),
		cmocka_unit_test(filters_match_topics),
		cmocka_unit_test(random_bodies_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
