/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peers/packet_publish.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/checksum.h"
#include "proto/net/frame.h"

#define CONNECT_LEN 20u
#define CONNACK_LEN 4u
#define LARGE_FRAME 124u

#define AT_SEQ 38u
#define AT_CHECKSUM 50u

static void checksums(uint8_t *frame, uint32_t len)
{
	struct bp_frame f = {.data = frame,
		.l3 = 14,
		.l4 = 34,
		.payload = PACKET_HEADERS,
		.payload_len = len - PACKET_HEADERS};
	uint16_t sum;

	memset(frame + 24, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(frame + 14, 20, 0));
	memcpy(frame + 24, &sum, 2);
	memset(frame + AT_CHECKSUM, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(frame + 34, len - 34, bp_tcp_pseudo_sum(&f)));
	memcpy(frame + AT_CHECKSUM, &sum, 2);
}

/* Ethernet, IPv4 and TCP headers of a frame whose payload is written already. */
static void headers(const struct packet_mqtt_ends *e, bool to_broker, uint32_t c, uint32_t seq,
	uint32_t ack, uint8_t flags, uint32_t len, uint8_t *p)
{
	const uint16_t port = (uint16_t)(PACKET_CLIENT_PORT + c);

	memset(p, 0, PACKET_HEADERS);
	memcpy(p, to_broker ? e->broker_mac : e->client_mac, 6);
	memcpy(p + 6, to_broker ? e->client_mac : e->broker_mac, 6);
	bp_put_be16(p + 12, 0x0800);
	p[14] = 0x45;
	bp_put_be16(p + 16, (uint16_t)(len - 14));
	p[20] = 0x40; /* do not fragment */
	p[22] = 64;
	p[23] = 6;
	bp_put_be32(p + 26, to_broker ? e->client + c : e->broker);
	bp_put_be32(p + 30, to_broker ? e->broker : e->client + c);
	bp_put_be16(p + 34, to_broker ? port : 1883);
	bp_put_be16(p + 36, to_broker ? 1883 : port);
	bp_put_be32(p + AT_SEQ, seq);
	bp_put_be32(p + 42, ack);
	p[46] = 5 << 4;
	p[47] = flags;
	bp_put_be16(p + 48, 64240);
	checksums(p, len);
}

uint32_t packet_first_seq(uint32_t isn)
{
	return isn + 1 + CONNECT_LEN;
}

static uint32_t connect_packet(uint32_t c, uint8_t *p)
{
	static const uint8_t head[] = {
		0x10, CONNECT_LEN - 2, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 6};
	char id[8];

	memcpy(p, head, sizeof(head));
	snprintf(id, sizeof(id), "b%05u", c % 100000);
	memcpy(p + sizeof(head), id, CONNECT_LEN - sizeof(head));
	return CONNECT_LEN;
}

uint32_t packet_control(const struct packet_mqtt_ends *e, enum packet_control kind, uint32_t c,
	uint32_t isn, uint8_t *out)
{
	static const uint8_t connack[CONNACK_LEN] = {0x20, 2, 0, 0};
	const uint32_t broker_seq = PACKET_BROKER_ISN + 1;
	uint32_t len = PACKET_HEADERS;

	switch (kind) {
	case PACKET_SYN:
		headers(e, true, c, isn, 0, BP_TCP_SYN, len, out);
		break;
	case PACKET_SYN_ACK:
		headers(e, false, c, PACKET_BROKER_ISN, isn + 1, BP_TCP_SYN | BP_TCP_ACK, len, out);
		break;
	case PACKET_CONNECT:
		len += connect_packet(c, out + PACKET_HEADERS);
		headers(e, true, c, isn + 1, broker_seq, BP_TCP_ACK | BP_TCP_PSH, len, out);
		break;
	default:
		memcpy(out + PACKET_HEADERS, connack, sizeof(connack));
		len += CONNACK_LEN;
		headers(e, false, c, broker_seq, packet_first_seq(isn), BP_TCP_ACK | BP_TCP_PSH,
			len, out);
		break;
	}
	return len;
}

uint32_t packet_ack(const struct packet_mqtt_ends *e, uint32_t c, uint32_t ack, uint8_t *out)
{
	headers(e, false, c, PACKET_BROKER_ISN + 1 + CONNACK_LEN, ack, BP_TCP_ACK, PACKET_HEADERS,
		out);
	return PACKET_HEADERS;
}

static uint8_t *fixed_header(uint8_t *p, uint32_t packet_len)
{
	*p++ = 0x30; /* PUBLISH, QoS 0 */
	if (packet_len - 2 < 128) {
		*p++ = (uint8_t)(packet_len - 2);
	} else {
		*p++ = (uint8_t)((packet_len - 3) | 0x80);
		*p++ = (uint8_t)((packet_len - 3) >> 7);
	}
	return p;
}

void packet_publish(
	const struct packet_mqtt_ends *e, uint32_t c, bool high, uint32_t len, uint8_t *out)
{
	uint8_t *p = fixed_header(out + PACKET_HEADERS, len - PACKET_HEADERS);
	char topic[32] = "t", value[40] = "2";
	size_t topic_len, value_len;

	if (len >= LARGE_FRAME) {
		snprintf(topic, sizeof(topic), "plant/%05u/temperature", c % 100000);
		snprintf(value, sizeof(value), "{\"celsius\":%s,\"x\":\"", high ? "91.5" : "23.5");
	} else if (high) {
		value[0] = '9';
	}
	topic_len = strlen(topic);
	value_len = strlen(value);
	bp_put_be16(p, (uint16_t)topic_len);
	memcpy(p + 2, topic, topic_len);
	p += 2 + topic_len;
	/* text: leading zeros; JSON: a string that fills the frame */
	memset(p, len >= LARGE_FRAME ? 'x' : '0', (size_t)(out + len - p));
	if (len >= LARGE_FRAME) {
		memcpy(p, value, value_len);
		memcpy(out + len - 2, "\"}", 2);
	} else {
		out[len - 1] = (uint8_t)value[0];
	}
	headers(e, true, c, 0, PACKET_BROKER_ISN + 1 + CONNACK_LEN, BP_TCP_ACK | BP_TCP_PSH, len,
		out);
}

void packet_set_seq(uint8_t *frame, uint32_t seq)
{
	bench_sum_move(frame + AT_CHECKSUM, bench_replace32(frame + AT_SEQ, htonl(seq)));
}
