/* SPDX-License-Identifier: BSD-3-Clause */
#include "sessions.h"

#include <stdio.h>
#include <string.h>

bool session_plain;

struct maker {
	struct session *s;
	uint64_t state;
	unsigned faults; /* still to be put in */
	uint16_t next_id;
};

static uint32_t below(struct maker *m, uint32_t n)
{
	m->state ^= m->state >> 12;
	m->state ^= m->state << 25;
	m->state ^= m->state >> 27;
	return (uint32_t)((m->state * 0x2545f4914f6cdd1dull >> 32) % n);
}

static bool one_in(struct maker *m, uint32_t n)
{
	return below(m, n) == 0;
}

/* Whether to insert a fault of this name here. */
static bool fault(struct maker *m, uint32_t in, const char *name)
{
	size_t n = strlen(m->s->faults);

	if (m->faults == 0 || !one_in(m, in))
		return false;
	m->faults--;
	snprintf(m->s->faults + n, sizeof(m->s->faults) - n, "%s%s", n != 0 ? "," : "", name);
	return true;
}

/* ---- strings ---- */

static const struct {
	const char *name, *text;
	size_t len;
} odd_text[] = {
	{"control-char", "\x01", 1},
	{"control-char", "\x1f", 1},
	{"del-char", "\x7f", 1},
	{"c1-char", "\xc2\x85", 2},
	{"nonchar", "\xef\xbf\xbf", 3},
	{"nonchar", "\xef\xbf\xbe", 3},
	{"nonchar", "\xef\xb7\x90", 3},
	{"nonchar", "\xf0\x9f\xbf\xbf", 4},
	{"surrogate", "\xed\xa0\x80", 3},
	{"overlong", "\xc0\xaf", 2},
	{"overlong", "\xe0\x80\xaf", 3},
	{"cut-utf8", "\xe2\x82", 2},
	{"nul", "\0", 1},
	{"plus", "+", 1},
	{"hash", "#", 1},
	{"continuation", "\x80", 1},
	{"above-unicode", "\xf4\x90\x80\x80", 4},
	{"latin1", "\xe9", 1},
	{"bom", "\xef\xbb\xbf", 3},
	{"two-byte", "\xc3\xa9", 2},
	{"four-byte", "\xf0\x9f\x98\x80", 4},
};

static void put_string(struct bytes *b, const char *s, size_t n)
{
	bytes_be16(b, (uint16_t)n);
	bytes_add(b, s, n);
}

/* A string, sometimes with an unusual character, or with a wrong length. */
static void string(struct maker *m, struct bytes *b, const char *s, uint32_t in)
{
	char text[2048];
	size_t n = strlen(s), at;
	unsigned odd = below(m, sizeof(odd_text) / sizeof(odd_text[0]));

	memcpy(text, s, n);
	if (fault(m, in, odd_text[odd].name)) {
		at = below(m, (uint32_t)n + 1);
		memmove(text + at + odd_text[odd].len, text + at, n - at);
		memcpy(text + at, odd_text[odd].text, odd_text[odd].len);
		n += odd_text[odd].len;
	}
	if (fault(m, in * 4, "string-length")) {
		bytes_be16(b, (uint16_t)(n + below(m, 7) - 3));
		bytes_add(b, text, n);
		return;
	}
	put_string(b, text, n);
}

static size_t payload(struct maker *m, char *out)
{
	return (size_t)sprintf(out, "%llu",
		(unsigned long long)m->s->number * SESSION_PER + ++m->s->n_publications);
}

uint64_t session_payload(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	if (n == 0 || n > 12 || p[0] == '0')
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return 0;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	return v;
}

/* ---- properties ---- */

enum place { IN_CONNECT, IN_WILL, IN_PUBLISH, IN_SUBSCRIBE, IN_ACK, IN_DISCONNECT, IN_AUTH };

static const struct {
	uint8_t id;
	char type; /* b one byte, w two, l four, v variable, s string, p pair */
	uint8_t places;
	uint32_t low, high;
} property[] = {
	{0x01, 'b', 1 << IN_PUBLISH | 1 << IN_WILL, 0, 1},
	{0x02, 'l', 1 << IN_PUBLISH | 1 << IN_WILL, 1000, 100000},
	{0x03, 's', 1 << IN_PUBLISH | 1 << IN_WILL, 0, 20},
	{0x08, 's', 1 << IN_PUBLISH | 1 << IN_WILL, 1, 20},
	{0x09, 's', 1 << IN_PUBLISH | 1 << IN_WILL, 0, 20},
	{0x0b, 'v', 1 << IN_SUBSCRIBE, 1, 268435455},
	{0x11, 'l', 1 << IN_CONNECT | 1 << IN_DISCONNECT, 0, 2},
	{0x12, 's', 0, 1, 10},
	{0x13, 'w', 0, 1, 100},
	{0x15, 's', 1 << IN_AUTH, 1, 10},
	{0x16, 's', 1 << IN_AUTH, 0, 10},
	{0x17, 'b', 1 << IN_CONNECT, 0, 1},
	{0x18, 'l', 0, 0, 0},
	{0x19, 'b', 1 << IN_CONNECT, 0, 1},
	{0x1a, 's', 0, 1, 10},
	{0x1c, 's', 0, 1, 10},
	{0x1f, 's', 1 << IN_ACK | 1 << IN_DISCONNECT | 1 << IN_AUTH, 0, 10},
	{0x21, 'w', 1 << IN_CONNECT, 1, 65535},
	{0x22, 'w', 1 << IN_CONNECT, 0, 65535},
	{0x24, 'b', 0, 0, 1},
	{0x25, 'b', 0, 0, 1},
	{0x26, 'p', 0x7f, 0, 10},
	{0x27, 'l', 1 << IN_CONNECT, 100, 100000},
	{0x28, 'b', 0, 0, 1},
	{0x29, 'b', 0, 0, 1},
	{0x2a, 'b', 0, 0, 1},
	{0x23, 'w', 0, 1, 10},
	{0x00, 'b', 0, 0, 1},
	{0x04, 'b', 0, 0, 1},
	{0x2b, 'b', 0, 0, 1},
	{0x7f, 's', 0, 0, 9},
};
#define PROPERTIES (sizeof(property) / sizeof(property[0]))

static void varint(struct maker *m, struct bytes *b, uint32_t v)
{
	unsigned pad = fault(m, 60, "long-varint") ? 1 + below(m, 4) : 0;

	for (; v >= 128; v >>= 7)
		bytes_u8(b, (uint8_t)(v | 0x80));
	bytes_u8(b, (uint8_t)(v | (pad != 0 ? 0x80 : 0)));
	for (; pad != 0; pad--)
		bytes_u8(b, pad > 1 ? 0x80 : 0);
}

static void value_string(struct maker *m, struct bytes *b, uint32_t n)
{
	char text[64] = "";

	for (uint32_t i = 0; i < n; i++)
		text[i] = (char)('a' + below(m, 26));
	string(m, b, text, 20);
}

static void one_property(struct maker *m, struct bytes *b, unsigned i)
{
	uint32_t low = property[i].low, high = property[i].high;
	uint32_t v = low + below(m, high - low + 1);

	if (fault(m, 12, "property-value"))
		v = one_in(m, 2) ? 0 : 2 + below(m, 300);
	bytes_u8(b, property[i].id);
	switch (property[i].type) {
	case 'b':
		bytes_u8(b, (uint8_t)v);
		break;
	case 'l':
		bytes_be16(b, (uint16_t)(v >> 16));
		bytes_be16(b, (uint16_t)v);
		break;
	case 'w':
		bytes_be16(b, (uint16_t)v);
		break;
	case 'v':
		varint(m, b, v);
		break;
	case 'p':
		value_string(m, b, v % 11);
		value_string(m, b, below(m, 10));
		break;
	default:
		value_string(m, b, v % 21);
	}
}

/* A property section; `first` comes before the others (an alias, say). */
static void properties(
	struct maker *m, struct bytes *b, enum place place, const struct bytes *first)
{
	struct bytes p = {0};
	unsigned before = 0;
	uint32_t n;

	if (first != NULL)
		bytes_add(&p, first->p, first->n);
	for (unsigned k = one_in(m, 2) ? below(m, 4) : 0; k != 0; k--) {
		unsigned i = below(m, PROPERTIES);
		bool seen = (before >> i & 1) != 0;

		if (seen && property[i].id != 0x26 && !fault(m, 3, "property-twice"))
			continue;
		if (!(property[i].places >> place & 1) && !fault(m, 6, "property-misplaced"))
			continue;
		before |= 1u << i;
		one_property(m, &p, i);
		if (property[i].id != 0x26 && fault(m, 20, "property-twice"))
			one_property(m, &p, i);
	}
	n = (uint32_t)p.n;
	if (fault(m, 40, "property-length"))
		n = n + 1 + below(m, 4) - 2;
	varint(m, b, n & 0xfffffff);
	bytes_add(b, p.p, p.n);
	bytes_free(&p);
}

/* ---- packets ---- */

/* Puts a packet out; the faults that any may have. */
static void packet(struct maker *m, uint8_t first, struct bytes *body)
{
	struct session *s = m->s;
	uint32_t n;

	if (fault(m, 40, "flags"))
		first = (uint8_t)((first & 0xf0) | below(m, 16));
	if (fault(m, 60, "type"))
		first = (uint8_t)((first & 0x0f) | below(m, 16) << 4);
	if (fault(m, 40, "tail"))
		for (unsigned k = 1 + below(m, 6); k != 0; k--)
			bytes_u8(body, (uint8_t)below(m, 256));
	if (body->n != 0 && fault(m, 40, "cut"))
		body->n -= 1 + below(m, body->n < 8 ? (uint32_t)body->n : 8);
	if (body->n != 0 && fault(m, 25, "byte"))
		body->p[below(m, (uint32_t)body->n)] = (uint8_t)below(m, 256);
	if (body->n != 0 && fault(m, 25, "bit"))
		body->p[below(m, (uint32_t)body->n)] ^= (uint8_t)(1u << below(m, 8));
	n = (uint32_t)body->n;
	if (fault(m, 100, "remaining-length"))
		n = n + 1 + below(m, 6) - 3;
	bytes_u8(&s->out, first);
	varint(m, &s->out, n & 0xfffffff);
	bytes_add(&s->out, body->p, body->n);
	bytes_free(body);
	s->end[s->n_packets++] = s->out.n;
}

static void will(struct maker *m, struct bytes *b)
{
	char text[64];
	size_t n;

	if (m->s->version == 5)
		properties(m, b, IN_WILL, NULL);
	snprintf(text, sizeof(text), "w/%u", m->s->number);
	string(m, b, fault(m, 20, "empty-topic") ? "" : text, 10);
	n = payload(m, text);
	put_string(b, text, n);
}

static void connect_flags(struct maker *m, struct bytes *b, uint8_t *flags)
{
	*flags = one_in(m, 8) ? 0 : 0x02;
	if (one_in(m, 3))
		*flags |= (uint8_t)(0x04 | below(m, 3) << 3 | below(m, 2) << 5);
	if (one_in(m, 4))
		*flags |= one_in(m, 3) ? 0x80 : 0xc0;
	if (m->s->version == 5 && one_in(m, 12))
		*flags |= 0x40;
	if (fault(m, 12, "connect-flags"))
		*flags ^= (uint8_t)(1u << below(m, 8));
	bytes_u8(b, *flags);
}

static void connect(struct maker *m)
{
	uint8_t version = m->s->version, flags;
	const char *name = version == 3 ? "MQIsdp" : "MQTT";
	struct bytes b = {0};
	char id[64];

	if (fault(m, 60, "protocol-name"))
		name = one_in(m, 2) ? "MQTt" : version == 3 ? "MQTT" : "MQIsdp";
	put_string(&b, name, strlen(name));
	if (fault(m, 60, "protocol-version"))
		version = (uint8_t)(one_in(m, 2) ? version | 0x80 : below(m, 7));
	bytes_u8(&b, version);
	connect_flags(m, &b, &flags);
	bytes_be16(&b, (uint16_t)(one_in(m, 4) ? 0 : 30 + below(m, 100)));
	if (m->s->version == 5)
		properties(m, &b, IN_CONNECT, NULL);
	snprintf(id, sizeof(id), "c%llu-%u", (unsigned long long)m->s->seed, m->s->number);
	string(m, &b, one_in(m, 10) ? "" : id, 15);
	if (flags & 0x04)
		will(m, &b);
	if (flags & 0x80)
		string(m, &b, "user", 15);
	if ((flags & 0x40) && !fault(m, 10, "password-missing"))
		string(m, &b, "secret", 30);
	packet(m, 0x10, &b);
}

static void topic_text(struct maker *m, char *out, size_t size)
{
	static const char *const tail[] = {"temperature", "", "a/b/c", "/", "x"};
	int n = snprintf(out, size, "%s%u/%s",
		one_in(m, 30)   ? "$t/"
		: one_in(m, 20) ? "/"
				: "s/",
		m->s->number, tail[below(m, 5)]);

	if (fault(m, 60, "deep-topic")) {
		unsigned levels = 190 + below(m, 20);

		for (unsigned i = 0; i < levels && (size_t)n + 2 < size; i++)
			out[n++] = '/';
		out[n] = 0;
	}
}

static uint16_t packet_id(struct maker *m)
{
	return fault(m, 30, "packet-id-0") ? 0 : ++m->next_id;
}

static void id_only(struct maker *m, uint8_t first, uint16_t id);

static void publish(struct maker *m, bool plain)
{
	uint8_t qos = plain ? 0 : (uint8_t)below(m, 3);
	uint8_t first = (uint8_t)(0x30 | qos << 1 | (one_in(m, 8) && qos ? 8 : 0) | one_in(m, 10));
	char topic[512], text[32];
	struct bytes b = {0}, alias = {0};
	uint16_t id = 0, number;
	size_t n;

	topic_text(m, topic, sizeof(topic));
	if (!plain && m->s->version == 5 && one_in(m, 4)) {
		number = (uint16_t)(1 + below(m, 3));
		if (fault(m, 8, "alias"))
			number = (uint16_t)(one_in(m, 2) ? 0 : 9 + below(m, 4));
		bytes_u8(&alias, 0x23);
		bytes_be16(&alias, number);
		if (one_in(m, 2))
			topic[0] = 0;
	} else if (fault(m, 40, "empty-topic")) {
		topic[0] = 0;
	}
	string(m, &b, topic, 8);
	if (qos != 0) {
		id = packet_id(m);
		bytes_be16(&b, id);
	}
	if (m->s->version == 5)
		properties(m, &b, IN_PUBLISH, &alias);
	n = payload(m, text);
	bytes_add(&b, text, n);
	packet(m, plain ? 0x30 : first, &b);
	bytes_free(&alias);
	if (qos == 2 && !one_in(m, 10)) {
		if (one_in(m, 6) && !session_plain) { /* sent again */
			struct session *s = m->s;
			size_t from = s->n_packets > 1 ? s->end[s->n_packets - 2] : 0;
			struct bytes again = {0};

			bytes_add(&again, s->out.p + from, s->out.n - from);
			again.p[0] |= one_in(m, 2) ? 8 : 0;
			bytes_add(&s->out, again.p, again.n);
			s->end[s->n_packets++] = s->out.n;
			bytes_free(&again);
		}
		id_only(m, 0x62, id);
	}
}

/* PUBACK and the like; version 5 has more to say. */
static void id_only(struct maker *m, uint8_t first, uint16_t id)
{
	struct bytes b = {0};

	bytes_be16(&b, id);
	if (m->s->version == 5 && one_in(m, 3)) {
		/* mosquitto closes at the refusal of what it did not send, which is its affair */
		bytes_u8(&b, one_in(m, 6) ? 0x10 : 0);
		if (one_in(m, 2))
			properties(m, &b, IN_ACK, NULL);
	}
	packet(m, first, &b);
}

static void subscribe(struct maker *m, bool unsubscribe)
{
	static const char *const filter[] = {
		"q/+/x", "q/#", "q", "q/x#", "+q", "#/q", "", "$share/g/q", "$share/g", "q//y"};
	struct bytes b = {0};

	bytes_be16(&b, packet_id(m));
	if (m->s->version == 5)
		properties(m, &b, unsubscribe ? IN_ACK : IN_SUBSCRIBE, NULL);
	for (unsigned k = fault(m, 10, "no-filter") ? 0 : 1 + below(m, 2); k != 0; k--) {
		unsigned i = below(m, fault(m, 6, "filter") ? 10 : 3);

		string(m, &b, filter[i], 10);
		if (!unsubscribe)
			bytes_u8(&b,
				(uint8_t)(fault(m, 8, "options") ? below(m, 256) : below(m, 3)));
	}
	packet(m, unsubscribe ? 0xa2 : 0x82, &b);
}

static void disconnect(struct maker *m)
{
	struct bytes b = {0};

	if (m->s->version == 5 && one_in(m, 2)) {
		bytes_u8(&b, one_in(m, 2) ? 0x04 : (uint8_t)below(m, 3));
		if (one_in(m, 2))
			properties(m, &b, IN_DISCONNECT, NULL);
	}
	packet(m, 0xe0, &b);
}

static void auth(struct maker *m)
{
	struct bytes b = {0};

	if (one_in(m, 2)) {
		bytes_u8(&b, (uint8_t)(0x18 + below(m, 2)));
		properties(m, &b, IN_AUTH, NULL);
	}
	packet(m, 0xf0, &b);
}

static void empty(struct maker *m, uint8_t first)
{
	struct bytes b = {0};

	packet(m, first, &b);
}

static void any(struct maker *m)
{
	switch (below(m, 24)) {
	case 0:
		subscribe(m, false);
		break;
	case 1:
		subscribe(m, true);
		break;
	case 2:
		empty(m, 0xc0);
		break;
	case 3:
		id_only(m, (uint8_t)(0x40 + 0x10 * below(m, 4)) | (one_in(m, 4) ? 2 : 0),
			packet_id(m));
		break;
	case 4:
		if (fault(m, 2, "pingresp"))
			empty(m, 0xd0);
		break;
	case 5:
		if (fault(m, 2, "server-packet"))
			id_only(m, (uint8_t[]){0x20, 0x90, 0xb0}[below(m, 3)], 1);
		break;
	case 6:
		if (fault(m, 2, "auth"))
			auth(m);
		break;
	case 7:
		if (fault(m, 2, "connect-twice"))
			connect(m);
		break;
	case 8:
		if (!session_plain && fault(m, 2, "disconnect"))
			disconnect(m);
		break;
	case 9:
		if (fault(m, 4, "reserved-type"))
			empty(m, (uint8_t)below(m, 16));
		break;
	default:
		publish(m, false);
	}
}

void session_make(struct session *s, uint64_t seed, uint32_t number)
{
	struct maker m = {.s = s, .state = (seed + 1) * 0x9e3779b97f4a7c15ull ^ number};

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->number = number;
	for (unsigned i = 0; i < 8; i++)
		below(&m, 2);
	s->version = (uint8_t[]){3, 4, 4, 5, 5, 5}[below(&m, 6)];
	m.faults = one_in(&m, 4) ? 0 : 1 + one_in(&m, 3);
	if (!fault(&m, 60, "no-connect"))
		connect(&m);
	for (unsigned k = below(&m, 9); k != 0; k--)
		any(&m);
	publish(&m, true);
	if (one_in(&m, 3))
		disconnect(&m);
	if (one_in(&m, 10) && s->out.n > 3) /* the connection dies within a packet */
		s->out.n -= 1 + below(&m, 3);
}

void session_free(struct session *s)
{
	bytes_free(&s->out);
}
