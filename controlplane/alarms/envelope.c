/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/envelope.h"

#include <arpa/inet.h>
#include <math.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/alarm_parts.h"
#include "biplane/severity.h"
#include "proto/payload/utf8.h"
#include "proto/payload/value.h"

void bp_text_free(struct bp_text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}

/* Escaping expands a byte to at most six bytes. */
#define ESCAPE_MAX 6u
/* Maximum size of the rest of the object. */
#define FRAME_MAX 512u

static bool reserve(struct bp_text *t, size_t need)
{
	char *grown;

	if (need <= t->size)
		return true;
	grown = realloc(t->data, need);
	if (grown == NULL)
		return false;
	t->data = grown;
	t->size = need;
	return true;
}

bool bp_text_add(struct bp_text *t, const char *s, size_t len)
{
	if (!reserve(t, t->len + len))
		return false;
	memcpy(t->data + t->len, s, len);
	t->len += len;
	return true;
}

static void put(struct bp_text *t, const char *s)
{
	size_t n = strlen(s);

	memcpy(t->data + t->len, s, n);
	t->len += n;
}

static void put_escape(struct bp_text *t, unsigned c)
{
	char u[8];

	switch (c) {
	case '"':
		put(t, "\\\"");
		return;
	case '\\':
		put(t, "\\\\");
		return;
	case '\n':
		put(t, "\\n");
		return;
	case '\r':
		put(t, "\\r");
		return;
	case '\t':
		put(t, "\\t");
		return;
	default:
		snprintf(u, sizeof(u), "\\u%04x", c);
		put(t, u);
	}
}

static void put_string(struct bp_text *t, const char *s, size_t len)
{
	/* The data plane provides valid UTF-8. The object must be valid JSON even if it does
	 * not. */
	bool valid = bp_utf8_valid((const uint8_t *)s, len);

	t->data[t->len++] = '"';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == '"' || c == '\\')
			put_escape(t, c);
		else if (c >= 0x80 && !valid)
			put_escape(t, 0xfffd);
		else
			t->data[t->len++] = (char)c;
	}
	t->data[t->len++] = '"';
}

bool bp_text_add_string(struct bp_text *t, const char *s, size_t len)
{
	if (!reserve(t, t->len + len * ESCAPE_MAX + 2))
		return false;
	put_string(t, s, len);
	return true;
}

/* At least `width` digits. */
static void put_digits(struct bp_text *t, uint64_t v, unsigned width)
{
	char digits[20];
	unsigned n = 0;

	for (; v != 0 || n < width; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n != 0)
		t->data[t->len++] = digits[--n];
}

static void put_u64(struct bp_text *t, uint64_t v)
{
	put_digits(t, v, 1);
}

static void put_number(struct bp_text *t, double v)
{
	char number[40];

	if (!isfinite(v)) { /* JSON has no such number */
		put(t, "null");
		return;
	}
	number[bp_number_format(v, number)] = '\0';
	put(t, number);
}

static void put_value(struct bp_text *t, const struct bp_alarm *a)
{
	const enum bp_alarm_value type = bp_alarm_value_type(a->value_text);

	if (type == BP_ALARM_NUMBER)
		put_number(t, a->value);
	else if (type == BP_ALARM_BOOLEAN)
		put(t, a->value != 0 ? "true" : "false");
	else
		put_string(t, bp_alarm_value_string(a), bp_alarm_value_len(a->value_text));
	if (type == BP_ALARM_STRING_TRUNCATED)
		put(t, ",\"value_truncated\":true");
}

static void put_client(struct bp_text *t, const struct bp_alarm *a)
{
	char ip[INET6_ADDRSTRLEN];

	if (a->client_port == 0) { /* no client has published on the topic */
		put(t, "null");
		return;
	}
	if ((a->flags & BP_ALARM_F_IP6) != 0) {
		inet_ntop(AF_INET6, a->client_ip, ip, sizeof(ip));
		put(t, "\"[");
		put(t, ip);
		put(t, "]:");
	} else {
		put(t, "\"");
		for (unsigned i = 0; i < 4; i++) {
			put_u64(t, a->client_ip[i]);
			put(t, i < 3 ? "." : ":");
		}
	}
	put_u64(t, a->client_port);
	put(t, "\"");
}

#define DAY_S 86400u
#define ERA_DAYS 146097u     /* four centuries: the calendar repeats */
#define CENTURY_DAYS 36524u  /* the last of four has one more */
#define DAYS_TO_1970 719468u /* from 0000-03-01 */

/*
 * The proleptic Gregorian calendar with years that begin in March, so that the leap day is the last
 * day of a year. strftime() and snprintf() would touch tens of cache lines that are cold when an
 * alarm comes after a pause.
 */
static void put_date(struct bp_text *t, uint32_t days)
{
	uint32_t era, day, year, month;

	days += DAYS_TO_1970;
	era = days / ERA_DAYS;
	day = days % ERA_DAYS;
	year = (day - day / 1460 + day / CENTURY_DAYS - day / (ERA_DAYS - 1)) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153; /* from March on; 153 days: five months */
	day -= (153 * month + 2) / 5;
	put_digits(t, 400 * era + year + (month >= 10), 4);
	put(t, "-");
	put_digits(t, month < 10 ? month + 3 : month - 9, 2);
	put(t, "-");
	put_digits(t, day + 1, 2);
}

static void put_time(struct bp_text *t, uint64_t ns)
{
	const uint64_t seconds = ns / 1000000000u;
	const uint32_t second = (uint32_t)(seconds % DAY_S);

	put(t, "\"");
	put_date(t, (uint32_t)(seconds / DAY_S));
	put(t, "T");
	put_digits(t, second / 3600, 2);
	put(t, ":");
	put_digits(t, second / 60 % 60, 2);
	put(t, ":");
	put_digits(t, second % 60, 2);
	put(t, ".");
	put_digits(t, ns % 1000000000u, 9);
	put(t, "Z\"");
}

static void hash_u64(struct sha256_ctx *h, uint64_t v)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> (56 - 8 * i));
	sha256_update(h, sizeof(bytes), bytes);
}

void bp_alarm_uid(const struct bp_alarm *a, char uid[BP_ALARM_UID_LEN + 1])
{
	const bool repeat = (a->flags & BP_ALARM_F_REPEAT) != 0;
	const uint64_t transition = bp_alarm_transition(a);
	/* A row of a spool of an earlier version has no number. */
	const bool by_time = repeat || transition == 0;
	uint8_t digest[BP_ALARM_UID_LEN / 2];
	struct sha256_ctx h;

	sha256_init(&h);
	hash_u64(&h, a->rule_len);
	sha256_update(&h, a->rule_len, (const uint8_t *)bp_alarm_rule(a));
	hash_u64(&h, a->topic_len);
	sha256_update(&h, a->topic_len, (const uint8_t *)bp_alarm_topic(a));
	hash_u64(&h, transition);
	hash_u64(&h, a->state);
	hash_u64(&h, by_time ? a->time_ns : 0);
	hash_u64(&h, by_time ? bp_alarm_origin(a) : 0);
	sha256_digest(&h, sizeof(digest), digest);
	for (unsigned i = 0; i < sizeof(digest); i++) {
		uid[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		uid[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	uid[BP_ALARM_UID_LEN] = '\0';
}

static void put_severity(struct bp_text *t, uint8_t severity)
{
	const char *name = bp_severity_name(severity);

	if (name == NULL)
		return;
	put(t, ",\"severity\":\"");
	put(t, name);
	put(t, "\"");
}

/* Maximum size of a part without its topic. */
#define PART_MAX 128u

static void put_level(struct bp_text *t, const struct bp_alarm_part_view *v, bool first)
{
	put(t, first ? ",\"levels\":{" : ",");
	put_string(t, v->text[0], v->part.len[0]);
	put(t, ":");
	put_string(t, v->text[1], v->part.len[1]);
}

static void put_part(struct bp_text *t, const struct bp_alarm_part_view *v, bool first)
{
	const uint64_t age_ms = v->part.age_ns / 1000000u;

	put(t, first ? ",\"parts\":[" : ",");
	put(t, "{\"topic\":");
	put_string(t, v->text[0], v->part.len[0]);
	put(t, ",\"holds\":");
	put(t, v->part.truth == BP_TRUTH_TRUE     ? "true"
		: v->part.truth == BP_TRUTH_FALSE ? "false"
						  : "null");
	put(t, ",\"value\":");
	put_number(t, v->part.value);
	put(t, ",\"age\":");
	put_number(t, isnan(v->part.value) ? NAN : (double)age_ms / 1e3);
	put(t, "}");
}

/* The named levels and the parts of a combination; nothing for other alarms. */
static void put_parts(struct bp_text *t, const struct bp_alarm *a)
{
	for (unsigned kind = BP_ALARM_LEVEL; kind >= BP_ALARM_PART; kind--) {
		struct bp_alarm_part_view v;
		uint32_t at = 0;
		bool first = true;

		for (unsigned i = 0; i < BP_ALARM_PARTS_MAX && bp_alarm_part_next(a, &at, &v);
			i++) {
			if (v.part.kind != kind)
				continue;
			if (kind == BP_ALARM_LEVEL)
				put_level(t, &v, first);
			else
				put_part(t, &v, first);
			first = false;
		}
		if (!first)
			put(t, kind == BP_ALARM_LEVEL ? "}" : "]");
	}
}

bool bp_envelope(const struct bp_alarm *a, const char *annotations, struct bp_text *t)
{
	char uid[BP_ALARM_UID_LEN + 1];
	size_t strings = (size_t)a->rule_len + a->topic_len + a->client_id_len +
			 bp_alarm_value_len(a->value_text);
	size_t annotated = annotations != NULL ? strlen(annotations) : 0;

	strings += (a->flags & BP_ALARM_F_ENVELOPE) != 0 ? a->payload_len : 0;
	if (!reserve(t,
		    strings * ESCAPE_MAX + annotated + FRAME_MAX + BP_ALARM_PARTS_MAX * PART_MAX))
		return false;
	t->len = 0;
	put(t, "{\"id\":");
	put_u64(t, a->id);
	put(t, ",\"uid\":\"");
	bp_alarm_uid(a, uid);
	put(t, uid);
	put(t, "\",\"rule\":");
	put_string(t, bp_alarm_rule(a), a->rule_len);
	put(t, a->state == BP_ALARM_CLEARED ? ",\"state\":\"cleared\"" : ",\"state\":\"raised\"");
	put_severity(t, a->severity);
	put(t, ",\"value\":");
	put_value(t, a);
	put(t, ",\"topic\":");
	put_string(t, bp_alarm_topic(a), a->topic_len);
	put(t, ",\"client\":");
	put_client(t, a);
	put(t, ",\"client_id\":");
	if (a->client_id_len == 0)
		put(t, "null");
	else
		put_string(t, bp_alarm_client_id(a), a->client_id_len);
	put(t, ",\"time\":");
	put_time(t, a->time_ns);
	put(t, ",\"qos\":");
	put_u64(t, a->qos);
	put_parts(t, a);
	if (annotations != NULL) {
		put(t, ",\"annotations\":");
		put(t, annotations);
	}
	put(t, "}");
	return true;
}
