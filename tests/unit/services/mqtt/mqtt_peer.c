/* SPDX-License-Identifier: BSD-3-Clause */
#include "mqtt_peer.h"

#include <stdlib.h>
#include <string.h>

void bytes_add(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->room) {
		b->room = (b->n + n) * 2;
		b->p = realloc(b->p, b->room);
		if (b->p == NULL)
			abort();
	}
	if (n != 0)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

void bytes_u8(struct bytes *b, uint8_t v)
{
	bytes_add(b, &v, 1);
}

void bytes_be16(struct bytes *b, uint16_t v)
{
	bytes_u8(b, (uint8_t)(v >> 8));
	bytes_u8(b, (uint8_t)v);
}

void bytes_varint(struct bytes *b, uint32_t v)
{
	do {
		bytes_u8(b, (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
		v >>= 7;
	} while (v != 0);
}

void bytes_free(struct bytes *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

static void string(struct bytes *b, const char *s)
{
	bytes_be16(b, (uint16_t)strlen(s));
	bytes_add(b, s, strlen(s));
}

void mq_raw(struct bytes *b, uint8_t first, const void *body, size_t n)
{
	bytes_u8(b, first);
	bytes_varint(b, (uint32_t)n);
	bytes_add(b, body, n);
}

static void finish(struct bytes *b, uint8_t first, struct bytes *body)
{
	mq_raw(b, first, body->p, body->n);
	bytes_free(body);
}

void mq_publish(struct bytes *b, const struct mq_publish *p)
{
	struct bytes body = {0};
	size_t n = p->payload_len != 0 || p->payload == NULL ? p->payload_len : strlen(p->payload);

	string(&body, p->topic != NULL ? p->topic : "");
	if (p->qos != 0)
		bytes_be16(&body, p->id);
	if (p->version == 5) {
		bytes_varint(&body, (uint32_t)(p->properties_len + (p->alias != 0 ? 3 : 0)));
		if (p->alias != 0) {
			bytes_u8(&body, 0x23);
			bytes_be16(&body, p->alias);
		}
		bytes_add(&body, p->properties, p->properties_len);
	}
	bytes_add(&body, p->payload, n);
	finish(b, (uint8_t)(0x30 | p->dup << 3 | p->qos << 1 | p->retain), &body);
}

void mq_connect(struct bytes *b, uint8_t version, const char *client_id, uint16_t alias_max)
{
	struct bytes body = {0};

	string(&body, version == 3 ? "MQIsdp" : "MQTT");
	bytes_u8(&body, version);
	bytes_u8(&body, 0x02); /* clean session */
	bytes_be16(&body, 60);
	if (version == 5) {
		bytes_u8(&body, alias_max != 0 ? 3 : 0);
		if (alias_max != 0) {
			bytes_u8(&body, 0x22);
			bytes_be16(&body, alias_max);
		}
	}
	string(&body, client_id);
	finish(b, 0x10, &body);
}

void mq_connack(
	struct bytes *b, uint8_t version, uint8_t code, uint16_t alias_max, const char *assigned)
{
	struct bytes body = {0}, properties = {0};

	bytes_u8(&body, 0);
	bytes_u8(&body, code);
	if (version == 5) {
		if (alias_max != 0) {
			bytes_u8(&properties, 0x22);
			bytes_be16(&properties, alias_max);
		}
		if (assigned != NULL) {
			bytes_u8(&properties, 0x12);
			string(&properties, assigned);
		}
		bytes_varint(&body, (uint32_t)properties.n);
		bytes_add(&body, properties.p, properties.n);
		bytes_free(&properties);
	}
	finish(b, 0x20, &body);
}

void mq_ack(struct bytes *b, uint8_t first, uint16_t id)
{
	uint8_t body[2] = {(uint8_t)(id >> 8), (uint8_t)id};

	mq_raw(b, first, body, 2);
}

void mq_empty(struct bytes *b, uint8_t first)
{
	mq_raw(b, first, NULL, 0);
}

void mq_subscribe(struct bytes *b, uint8_t version, uint16_t id, const char *filter)
{
	struct bytes body = {0};

	bytes_be16(&body, id);
	if (version == 5)
		bytes_u8(&body, 0);
	string(&body, filter);
	bytes_u8(&body, 1);
	finish(b, 0x82, &body);
}

void mq_suback(struct bytes *b, uint8_t version, uint16_t id, uint8_t code)
{
	struct bytes body = {0};

	bytes_be16(&body, id);
	if (version == 5)
		bytes_u8(&body, 0);
	bytes_u8(&body, code);
	finish(b, 0x90, &body);
}

void peer_init(
	struct peer *c, bool ip6, uint32_t number, uint32_t client_first, uint32_t broker_first)
{
	static const uint8_t broker4[] = {192, 0, 2, 1};

	memset(c, 0, sizeof(*c));
	c->ip6 = ip6;
	if (ip6) {
		c->client_ip[0] = c->broker_ip[0] = 0xfd;
		c->client_ip[12] = (uint8_t)(number >> 24);
		c->client_ip[13] = (uint8_t)(number >> 16);
		c->client_ip[14] = (uint8_t)(number >> 8);
		c->client_ip[15] = (uint8_t)number;
		c->broker_ip[1] = 1;
	} else {
		c->client_ip[0] = 10;
		c->client_ip[1] = (uint8_t)(number >> 16);
		c->client_ip[2] = (uint8_t)(number >> 8);
		c->client_ip[3] = (uint8_t)number;
		memcpy(c->broker_ip, broker4, 4);
	}
	c->client_port = (uint16_t)(40000 + number % 20000);
	c->broker_port = 1883;
	c->first[CLIENT] = c->seq[CLIENT] = client_first;
	c->first[BROKER] = c->seq[BROKER] = broker_first;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

size_t peer_l4(const struct peer *c)
{
	return 14 + 4 * (size_t)c->n_vlan + (c->ip6 ? 40 : 20);
}

/* RFC 1071, two bytes at a time as the text has it. */
static uint32_t add_up(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	if (n & 1)
		sum += (uint32_t)p[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

void peer_checksums(const struct peer *c, uint8_t *frame, size_t len)
{
	size_t l4 = peer_l4(c);
	uint8_t *ip = frame + l4 - (c->ip6 ? 40 : 20), *tcp = frame + l4;
	size_t tcp_len = len - l4;
	uint8_t length[2];
	uint32_t sum;

	put16(tcp + 16, 0);
	put16(length, (uint32_t)tcp_len);
	sum = add_up(ip + (c->ip6 ? 8 : 12), c->ip6 ? 32 : 8, 6);
	sum = add_up(length, 2, sum);
	put16(tcp + 16, ~add_up(tcp, tcp_len, sum) & 0xffff);
	if (!c->ip6) {
		put16(ip + 10, 0);
		put16(ip + 10, ~add_up(ip, 20, 0) & 0xffff);
	}
}

static void write_ip(const struct peer *c, unsigned from, uint8_t *ip, size_t tcp_len)
{
	const uint8_t *src = from == CLIENT ? c->client_ip : c->broker_ip;
	const uint8_t *dst = from == CLIENT ? c->broker_ip : c->client_ip;

	if (c->ip6) {
		ip[0] = 0x60;
		put16(ip + 4, (uint32_t)tcp_len);
		ip[6] = 6;
		ip[7] = 64;
		memcpy(ip + 8, src, 16);
		memcpy(ip + 24, dst, 16);
		return;
	}
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)(20 + tcp_len));
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = 6;
	memcpy(ip + 12, src, 4);
	memcpy(ip + 16, dst, 4);
}

size_t peer_frame(const struct peer *c, unsigned from, uint8_t flags, uint32_t seq, uint32_t ack,
	const void *payload, size_t n, uint8_t *out)
{
	static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	size_t l4 = peer_l4(c), at = 12;
	uint8_t *tcp = out + l4;

	memset(out, 0, l4 + 20);
	memcpy(out, mac[!from], 6);
	memcpy(out + 6, mac[from], 6);
	for (unsigned i = 0; i < c->n_vlan; i++, at += 4) {
		put16(out + at, i + 1 < c->n_vlan ? 0x88a8 : 0x8100);
		put16(out + at + 2, c->vlan[i]);
	}
	put16(out + at, c->ip6 ? 0x86dd : 0x0800);
	write_ip(c, from, out + at + 2, 20 + n);
	put16(tcp, from == CLIENT ? c->client_port : c->broker_port);
	put16(tcp + 2, from == CLIENT ? c->broker_port : c->client_port);
	put32(tcp + 4, seq);
	put32(tcp + 8, flags & TH_ACK ? ack : 0);
	tcp[12] = 0x50;
	tcp[13] = flags;
	put16(tcp + 14, 65535);
	if (n != 0)
		memcpy(tcp + 20, payload, n);
	peer_checksums(c, out, l4 + 20 + n);
	return l4 + 20 + n;
}
