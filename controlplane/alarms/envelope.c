/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/envelope.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void put_u64(struct bp_text *t, uint64_t v)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, v);
	put(t, number);
}

static void put_value(struct bp_text *t, double v)
{
	char number[40];

	if (!isfinite(v)) { /* JSON has no such number */
		put(t, "null");
		return;
	}
	number[bp_number_format(v, number)] = '\0';
	put(t, number);
}

static void put_client(struct bp_text *t, const struct bp_alarm *a)
{
	char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];
	bool v6 = (a->flags & BP_ALARM_F_IP6) != 0;

	inet_ntop(v6 ? AF_INET6 : AF_INET, a->client_ip, ip, sizeof(ip));
	snprintf(text, sizeof(text), v6 ? "\"[%s]:%u\"" : "\"%s:%u\"", ip, a->client_port);
	put(t, text);
}

static void put_time(struct bp_text *t, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	char text[48], tail[16];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%S", &tm);
	put(t, text);
	snprintf(tail, sizeof(tail), ".%09uZ\"", (unsigned)(ns % 1000000000u));
	put(t, tail);
}

bool bp_envelope(const struct bp_alarm *a, struct bp_text *t)
{
	size_t strings = (size_t)a->rule_len + a->topic_len + a->client_id_len;

	if (!reserve(t, strings * ESCAPE_MAX + FRAME_MAX))
		return false;
	t->len = 0;
	put(t, "{\"id\":");
	put_u64(t, a->id);
	put(t, ",\"rule\":");
	put_string(t, bp_alarm_rule(a), a->rule_len);
	put(t, a->state == BP_ALARM_CLEARED ? ",\"state\":\"cleared\"" : ",\"state\":\"raised\"");
	put(t, ",\"value\":");
	put_value(t, a->value);
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
	put(t, "}");
	return true;
}
