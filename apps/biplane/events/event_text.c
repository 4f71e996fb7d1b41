/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/event_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longer values are cut. */
#define VALUE_MAX 160u

struct line {
	char *out;
	size_t len;
};

static void put(struct line *l, const char *text, size_t n)
{
	if (n > BP_EVENT_TEXT_LINE - 1 - l->len)
		n = BP_EVENT_TEXT_LINE - 1 - l->len;
	memcpy(l->out + l->len, text, n);
	l->len += n;
	l->out[l->len] = '\0';
}

static void put_text(struct line *l, const char *text)
{
	put(l, text, strlen(text));
}

/* Control characters, which a client can choose, must not reach a terminal: C0, DEL, C1. Returns
 * the length of the character at p, and whether it may be written. */
static size_t character(const unsigned char *p, bool *printable)
{
	size_t n = 1;

	*printable = p[0] >= 0x20 && p[0] != 0x7f && !(p[0] == 0xc2 && p[1] < 0xa0);
	while ((p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* With quotes where it has spaces or quotes: as the values of log lines. */
static void put_string(struct line *l, const char *text)
{
	const bool quoted = text[0] == '\0' || strpbrk(text, " \"=\\") != NULL;
	size_t n;

	if (quoted)
		put(l, "\"", 1);
	for (size_t at = 0; text[at] != '\0' && at < VALUE_MAX; at += n) {
		bool printable;

		n = character((const unsigned char *)text + at, &printable);
		if (text[at] == '"' || text[at] == '\\')
			put(l, "\\", 1);
		if (printable)
			put(l, text + at, n);
		else
			put(l, "?", 1);
	}
	if (quoted)
		put(l, "\"", 1);
}

static void put_pair(struct line *l, const char *prefix, const char *key, const json_t *value)
{
	char number[32];
	const char *k;
	json_t *v;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, k, v) put_pair(l, prefix, k, v);
		return;
	}
	put_text(l, " ");
	put_text(l, prefix);
	put_text(l, key);
	put_text(l, "=");
	if (json_is_string(value)) {
		put_string(l, json_string_value(value));
		return;
	}
	if (json_is_integer(value))
		snprintf(
			number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof(number), "%.10g", json_real_value(value));
	else
		snprintf(number, sizeof(number), "%s",
			json_is_true(value)    ? "yes"
			: json_is_false(value) ? "no"
					       : "unknown");
	put_text(l, number);
}

/* "client=10.0.0.5:4321" */
static void put_end(struct line *l, const char *name, const json_t *event, const char *ip_key,
	const char *port_key)
{
	const char *ip = json_string_value(json_object_get(event, ip_key));
	char text[96];

	if (ip == NULL)
		return;
	snprintf(text, sizeof(text), strchr(ip, ':') ? " %s=[%s]:%d" : " %s=%s:%d", name, ip,
		(int)json_integer_value(json_object_get(event, port_key)));
	put_text(l, text);
}

void bp_event_text_line(const json_t *event, char out[BP_EVENT_TEXT_LINE])
{
	const char *time = json_string_value(json_object_get(event, "timestamp"));
	const char *type = json_string_value(json_object_get(event, "event_type"));
	const json_t *o = json_object_get(event, type != NULL ? type : "");
	const char *state = json_string_value(json_object_get(o, "state"));
	struct line l = {out, 0};
	const char *key;
	json_t *v;

	out[0] = '\0';
	put_text(&l, time != NULL ? time : "-");
	put_text(&l, " ");
	put_text(&l, type != NULL ? type : "-");
	if (state != NULL) {
		put_text(&l, " ");
		put_text(&l, state);
	}
	json_object_foreach((json_t *)o, key, v)
	{
		if (strcmp(key, "state") == 0)
			continue;
		put_pair(&l, "", key, v);
	}
	put_end(&l, "src", event, "src_ip", "src_port");
	put_end(&l, "dest", event, "dest_ip", "dest_port");
	v = json_object_get(event, "in_iface");
	if (v != NULL)
		put_pair(&l, "", "in_iface", v);
}

char *bp_event_line(const json_t *event)
{
	return json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
}
