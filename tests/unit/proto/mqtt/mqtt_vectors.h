/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_MQTT_MQTT_VECTORS_H
#define BP_TESTS_UNIT_PROTO_MQTT_MQTT_VECTORS_H

#include "tests/unit/proto/mqtt/mqtt_packet.h"

/* Packets that are valid, and such as are not. */

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
	PACKET(V31, "\x20\2\xff\0"), /* an unused byte there */
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
	FAULT(BP_MQTT_E_PROPERTY, V5, "\x30\7\0\1a\x80\x80\x80\x80"), /* five bytes */
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

#endif
