/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_MQTT_PEER_H
#define BP_TESTS_UNIT_SERVICES_MQTT_MQTT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Both ends of an MQTT connection as a bystander sees them: control packets as bytes, and the
 * Ethernet frames that carry them. Written from the standards alone, sharing no code with what it
 * tests. Linked by the unit tests and the fuzzers; no test framework in here.
 */

/* Bytes that grow. */
struct bytes {
	uint8_t *p;
	size_t n, room;
};
void bytes_add(struct bytes *b, const void *p, size_t n);
void bytes_u8(struct bytes *b, uint8_t v);
void bytes_be16(struct bytes *b, uint16_t v);
void bytes_varint(struct bytes *b, uint32_t v);
void bytes_free(struct bytes *b);

/* MQTT control packets, appended to `b`. `version`: 3 (3.1), 4 (3.1.1), 5. */
struct mq_publish {
	uint8_t version;
	uint8_t qos;
	bool dup, retain;
	uint16_t id;
	const char *topic;
	uint16_t alias;         /* version 5; 0: none */
	const void *properties; /* version 5: further properties, as bytes */
	size_t properties_len;
	const void *payload;
	size_t payload_len; /* 0 with a payload: it is a string */
};
void mq_publish(struct bytes *b, const struct mq_publish *p);
void mq_connect(struct bytes *b, uint8_t version, const char *client_id, uint16_t alias_max);
/* `assigned`: the client identifier that a version 5 broker gives, or NULL. */
void mq_connack(
	struct bytes *b, uint8_t version, uint8_t code, uint16_t alias_max, const char *assigned);
/* PUBACK, PUBREC, PUBREL, PUBCOMP, UNSUBACK: first byte and packet identifier. */
void mq_ack(struct bytes *b, uint8_t first, uint16_t id);
void mq_empty(struct bytes *b, uint8_t first); /* PINGREQ, PINGRESP, DISCONNECT */
void mq_subscribe(struct bytes *b, uint8_t version, uint16_t id, const char *filter);
void mq_suback(struct bytes *b, uint8_t version, uint16_t id, uint8_t code);
/* A packet with this body. */
void mq_raw(struct bytes *b, uint8_t first, const void *body, size_t n);

#define MQ_PUBACK 0x40
#define MQ_PUBREC 0x50
#define MQ_PUBREL 0x62
#define MQ_PUBCOMP 0x70
#define MQ_PINGREQ 0xc0
#define MQ_PINGRESP 0xd0
#define MQ_DISCONNECT 0xe0

enum { CLIENT = 0, BROKER = 1 }; /* the sender */

#define TH_FIN 0x01
#define TH_SYN 0x02
#define TH_RST 0x04
#define TH_PSH 0x08
#define TH_ACK 0x10

/* One TCP connection. */
struct peer {
	bool ip6;
	unsigned n_vlan;
	uint16_t vlan[2];
	uint8_t client_ip[16], broker_ip[16];
	uint16_t client_port, broker_port;
	uint32_t first[2]; /* initial sequence numbers */
	uint32_t seq[2];   /* next sequence number of each side */
};

/* 10.a.b.c:port to 192.0.2.1:1883, or fd00::n likewise; sequence numbers from `first`. */
void peer_init(
	struct peer *c, bool ip6, uint32_t number, uint32_t client_first, uint32_t broker_first);

#define PEER_FRAME_MAX (66000u)

/*
 * A frame from `from` with right lengths and checksums, at `out` (PEER_FRAME_MAX bytes). Returns
 * its length.
 */
size_t peer_frame(const struct peer *c, unsigned from, uint8_t flags, uint32_t seq, uint32_t ack,
	const void *payload, size_t n, uint8_t *out);
/* Sums the checksums of a frame of peer_frame() again, after something in it was changed. */
void peer_checksums(const struct peer *c, uint8_t *frame, size_t len);
/* Where the TCP header begins. */
size_t peer_l4(const struct peer *c);

#endif
