/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/health/health_wire.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

void put8(struct bytes *x, unsigned v)
{
	assert_true(x->len < sizeof(x->b));
	x->b[x->len++] = (uint8_t)v;
}

void put16(struct bytes *x, unsigned v)
{
	put8(x, v >> 8);
	put8(x, v & 0xff);
}

void put32(struct bytes *x, uint32_t v)
{
	put16(x, v >> 16);
	put16(x, v & 0xffff);
}

void put_bytes(struct bytes *x, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put8(x, ((const uint8_t *)p)[i]);
}

unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* ---- frames ---- */

/* RFC 1071, of any number of bytes. */
static uint32_t sum16(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t udp_sum(const uint8_t *ip)
{
	const bool ip6 = ip[0] >> 4 == 6;
	const uint8_t *udp = ip + (ip6 ? 40 : 20);
	const uint32_t len = get16(udp + 4);
	uint32_t sum = 17 + len;

	sum = ip6 ? sum16(sum, ip + 8, 32) : sum16(sum, ip + 12, 8);
	return sum16(sum, udp, len);
}

void wire_seal(struct bytes *frame)
{
	uint8_t *ip = frame->b + 14, *udp = ip + 20;
	uint32_t sum;

	if (ip[0] >> 4 == 6) {
		udp = ip + 40;
	} else {
		ip[10] = ip[11] = 0;
		sum = ~sum16(0, ip, 20) & 0xffff;
		ip[10] = (uint8_t)(sum >> 8);
		ip[11] = (uint8_t)sum;
	}
	udp[6] = udp[7] = 0;
	sum = ~udp_sum(ip) & 0xffff;
	if (sum == 0)
		sum = 0xffff;
	udp[6] = (uint8_t)(sum >> 8);
	udp[7] = (uint8_t)sum;
}

struct bytes wire_frame(
	bool ip6, const struct end *from, const struct end *to, const struct bytes *payload)
{
	struct bytes f = {.len = 0};

	put_bytes(&f, to->mac, 6);
	put_bytes(&f, from->mac, 6);
	put16(&f, ip6 ? 0x86dd : 0x0800);
	if (ip6) {
		put32(&f, 0x60000000);
		put16(&f, payload->len + 8);
		put8(&f, 17);
		put8(&f, 63);
		put_bytes(&f, from->ip, 16);
		put_bytes(&f, to->ip, 16);
	} else {
		put16(&f, 0x4500);
		put16(&f, payload->len + 28);
		put32(&f, 0x12340000);
		put8(&f, 63);
		put8(&f, 17);
		put16(&f, 0);
		put_bytes(&f, from->ip, 4);
		put_bytes(&f, to->ip, 4);
	}
	put16(&f, from->port);
	put16(&f, to->port);
	put16(&f, payload->len + 8);
	put16(&f, 0);
	put_bytes(&f, payload->b, payload->len);
	wire_seal(&f);
	while (f.len < 60)
		put8(&f, 0xee);
	return f;
}

struct bytes wire_open(const struct bytes *frame, bool ip6, struct end *from, const struct end *to)
{
	const uint8_t *ip = frame->b + 14, *udp = ip + (ip6 ? 40 : 20);
	const uint32_t head = ip6 ? 62 : 42;
	struct bytes payload = {.len = 0};

	assert_true(frame->len >= head);
	assert_memory_equal(frame->b, to->mac, 6);
	assert_memory_equal(frame->b + 6, from->mac, 6);
	assert_int_equal(get16(frame->b + 12), ip6 ? 0x86dd : 0x0800);
	if (ip6) {
		assert_memory_equal(ip, "\x60\0\0\0", 4);
		assert_int_equal(get16(ip + 4), frame->len - 54);
		assert_int_equal(ip[6], 17);
		assert_int_equal(ip[7], 64);
		assert_memory_equal(ip + 8, from->ip, 16);
		assert_memory_equal(ip + 24, to->ip, 16);
	} else {
		assert_memory_equal(ip, "\x45\0", 2);
		assert_int_equal(get16(ip + 2), frame->len - 14);
		assert_memory_equal(ip + 4, "\0\0\x40\0\x40\x11", 6); /* DF, TTL 64, UDP */
		assert_int_equal(sum16(0, ip, 20), 0xffff);
		assert_memory_equal(ip + 12, from->ip, 4);
		assert_memory_equal(ip + 16, to->ip, 4);
	}
	if (from->port == 0)
		from->port = (uint16_t)get16(udp);
	assert_int_equal(get16(udp), from->port);
	assert_int_equal(get16(udp + 2), to->port);
	assert_int_equal(get16(udp + 4), frame->len - head + 8);
	assert_int_not_equal(get16(udp + 6), 0);
	assert_int_equal(udp_sum(ip), 0xffff);
	put_bytes(&payload, frame->b + head, frame->len - head);
	return payload;
}

/* ---- reports ---- */

/* A length is known once what it counts was written. */
static uint32_t open_length(struct bytes *x)
{
	put16(x, 0);
	return x->len;
}

static void close_length(struct bytes *x, uint32_t at)
{
	x->b[at - 2] = (uint8_t)((x->len - at) >> 8);
	x->b[at - 1] = (uint8_t)(x->len - at);
}

static void put_entry(struct bytes *x, bool variable, const struct value *v, unsigned more)
{
	uint32_t list;

	put16(x, v->handle);
	if (variable)
		put16(x, more != 0 ? 2 : 1);
	list = open_length(x);
	if (variable) {
		put16(x, 2636); /* Basic-Nu-Observed-Value */
		put16(x, 2);
	}
	put16(x, v->sfloat);
	if (variable && more != 0) {
		put16(x, 0xf123);
		put16(x, more);
		for (unsigned i = 0; i < more; i++)
			put8(x, i);
	}
	close_length(x, list);
}

struct bytes report_make(unsigned type, bool confirmed, unsigned invoke_id, unsigned number,
	const struct value *v, unsigned n, unsigned more)
{
	const bool mp = type >= MP_FIXED, variable = type == VARIABLE || type == MP_VARIABLE;
	uint32_t apdu, data, body, info, list, person;
	struct bytes x = {.len = 0};

	put16(&x, 0xe700);
	apdu = open_length(&x);
	data = open_length(&x);
	put16(&x, invoke_id);
	put16(&x, confirmed ? 0x0101 : 0x0100);
	body = open_length(&x);
	put16(&x, 0);
	put32(&x, 0xffffffff);
	put16(&x, type);
	info = open_length(&x);
	put16(&x, 0xf000);
	put16(&x, number);
	put16(&x, n);
	list = open_length(&x);
	for (unsigned i = 0; i < n; i++) {
		if (mp) { /* each a person of its own */
			put16(&x, v[i].person);
			put16(&x, 1);
			person = open_length(&x);
			put_entry(&x, variable, &v[i], more);
			close_length(&x, person);
		} else {
			put_entry(&x, variable, &v[i], more);
		}
	}
	close_length(&x, list);
	close_length(&x, info);
	close_length(&x, body);
	close_length(&x, data);
	close_length(&x, apdu);
	return x;
}

struct bytes report_vector(const char *id)
{
	json_t *root = json_load_file(FIXTURES "/phd-apdus.json", 0, NULL), *item;
	struct bytes x = {.len = 0};
	size_t i;

	assert_non_null(root);
	json_array_foreach(root, i, item)
	{
		const char *hex = json_string_value(json_object_get(item, "hex"));
		unsigned byte;

		if (strcmp(json_string_value(json_object_get(item, "id")), id) != 0)
			continue;
		for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
			put8(&x, byte);
	}
	json_decref(root);
	assert_true(x.len != 0);
	return x;
}

struct bytes response_stored(unsigned invoke_id, unsigned type)
{
	struct bytes x = {.len = 0};

	put16(&x, 0xe700);
	put16(&x, 18);
	put16(&x, 16);
	put16(&x, invoke_id);
	put16(&x, 0x0201);
	put16(&x, 10);
	put16(&x, 0);
	put32(&x, 0xffffffff);
	put16(&x, type);
	put16(&x, 0);
	return x;
}

struct bytes response_other(unsigned choice, unsigned invoke_id, unsigned code)
{
	const unsigned more = choice == 0x0300 ? 2 : 0; /* an error has a parameter */
	struct bytes x = {.len = 0};

	put16(&x, 0xe700);
	put16(&x, 10 + more);
	put16(&x, 8 + more);
	put16(&x, invoke_id);
	put16(&x, choice);
	put16(&x, 2 + more);
	put16(&x, code);
	if (more != 0)
		put16(&x, 0);
	return x;
}

/* ---- CoAP ---- */

/* An option as figure 8 of RFC 7252 has it. */
struct option {
	unsigned number, len;
	const uint8_t *value;
};

static unsigned extended(const struct bytes *m, uint32_t *at, unsigned nibble)
{
	unsigned v;

	assert_int_not_equal(nibble, 15);
	if (nibble < 13)
		return nibble;
	if (nibble == 13) {
		assert_true(*at < m->len);
		return m->b[(*at)++] + 13u;
	}
	assert_true(*at + 1 < m->len);
	v = get16(m->b + *at) + 269;
	*at += 2;
	return v;
}

static bool next_option(const struct bytes *m, uint32_t *at, struct option *o)
{
	unsigned first;

	if (*at >= m->len || m->b[*at] == 0xff)
		return false;
	first = m->b[(*at)++];
	o->number += extended(m, at, first >> 4);
	o->len = extended(m, at, first & 15);
	assert_true(*at + o->len <= m->len);
	o->value = m->b + *at;
	*at += o->len;
	return true;
}

static void is_text(const struct option *o, const char *text)
{
	assert_int_equal(o->len, strlen(text));
	assert_memory_equal(o->value, text, o->len);
}

static void read_token(struct request *q)
{
	uint64_t t = 0;

	for (unsigned i = 0; i < 8; i++)
		t = t << 8 | q->token[i];
	q->slot = (unsigned)(t >> 41);
	q->invoke_id = (unsigned)(t >> 25 & 0xffff);
	q->event = FIXED + (unsigned)(t >> 23 & 3);
	q->part = (unsigned)(t >> 18 & 31);
	q->only = (t >> 17 & 1) != 0;
	q->confirmed = (t >> 16 & 1) != 0;
}

static void read_body(const uint8_t *p, size_t len, struct request *q)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)p, len, JSON_REJECT_DUPLICATES, &error), *cin;
	const char *con, *rn;

	if (!root)
		fail_msg("%s: %.*s", error.text, (int)len, (const char *)p);
	assert_int_equal(json_object_size(root), 1);
	cin = json_object_get(root, "m2m:cin");
	assert_string_equal(json_string_value(json_object_get(cin, "cnf")), "application/json:0");
	con = json_string_value(json_object_get(cin, "con"));
	rn = json_string_value(json_object_get(cin, "rn"));
	assert_non_null(con);
	assert_int_equal(json_object_size(cin), rn ? 3 : 2);
	snprintf(q->con, sizeof(q->con), "%s", con);
	snprintf(q->rn, sizeof(q->rn), "%s", rn ? rn : "");
	json_decref(root);
	root = json_loads(q->con, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(root);
	json_decref(root);
}

void request_read(const struct bytes *m, unsigned port, struct request *q)
{
	static const unsigned order[] = {12, 15, 267, 271, 279, 283};
	struct option o = {.number = 0};
	uint32_t at = 12;
	unsigned seen = 0;
	char rqi[17];

	memset(q, 0, sizeof(*q));
	assert_true(m->len > 12);
	assert_int_equal(m->b[0] >> 6, 1);
	assert_int_equal(m->b[0] & 15, 8);
	assert_int_equal(m->b[1], 2); /* POST */
	q->type = m->b[0] >> 4 & 3;
	q->port = port;
	q->mid = get16(m->b + 2);
	memcpy(q->token, m->b + 4, 8);
	read_token(q);
	for (unsigned i = 0; i < 8; i++)
		snprintf(rqi + 2 * i, 3, "%02x", q->token[i]);
	while (next_option(m, &at, &o)) {
		if (o.number == 11) {
			const size_t n = strlen(q->path);

			snprintf(q->path + n, sizeof(q->path) - n, "/%.*s", (int)o.len, o.value);
			continue;
		}
		assert_true(seen < sizeof(order) / sizeof(order[0]));
		assert_int_equal(o.number, order[seen++]);
		if (o.number == 12)
			is_text(&o, "\x32"); /* application/json */
		else if (o.number == 15)
			is_text(&o, "rcn=0");
		else if (o.number == 267 || o.number == 271)
			is_text(&o, o.number == 267 ? "\4" : "4"); /* TY; RVI */
		else
			is_text(&o, o.number == 279 ? "Cbiplane" : rqi); /* FR; RQI */
	}
	assert_int_equal(seen, sizeof(order) / sizeof(order[0]));
	assert_true(at + 1 < m->len);
	read_body(m->b + at + 1, m->len - at - 1, q);
}

struct bytes coap_response(
	unsigned type, unsigned code, unsigned mid, const uint8_t token[8], unsigned rsc)
{
	struct bytes m = {.len = 0};

	put8(&m, 0x48 | type << 4);
	put8(&m, code);
	put16(&m, mid);
	put_bytes(&m, token, 8);
	if (rsc != 0) { /* number 307 as 269 + 38, of two bytes */
		put8(&m, 0xe2);
		put16(&m, 38);
		put16(&m, rsc);
	}
	return m;
}

struct bytes coap_empty(unsigned type, unsigned mid)
{
	struct bytes m = {.len = 0};

	put8(&m, 0x40 | type << 4);
	put8(&m, 0);
	put16(&m, mid);
	return m;
}
