/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/text.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/payload/value.h"

void bp_text_time(uint64_t unix_ns, char out[BP_TEXT_TIME])
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm tm;
	char day[24];

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, BP_TEXT_TIME, "%s.%09uZ", day, (unsigned)(unix_ns % 1000000000u));
}

json_t *bp_text_interval(int64_t ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	double v = (double)ns;
	unsigned u = 0;

	for (; u < 3 && fabs(v) >= 1000.0; u++)
		v /= 1000.0;
	return json_sprintf("%.4g %s", v, unit[u]);
}

void bp_text_scaled(double value, char out[BP_TEXT_SCALED])
{
	static const char prefix[] = {0, 'k', 'M', 'G', 'T', 'P', 'E'};
	double v = fabs(value);
	unsigned p = 0;

	if (!isfinite(value)) {
		snprintf(out, BP_TEXT_SCALED, "-");
		return;
	}
	for (; p < sizeof(prefix) - 1 && v >= 999.5; p++)
		v /= 1000;
	snprintf(out, BP_TEXT_SCALED, "%s%.*f", value < 0 ? "-" : "",
		v >= 99.95 || v == floor(v) ? 0
		: v >= 9.995                ? 1
					    : 2,
		v);
	if (prefix[p] != 0)
		snprintf(out + strlen(out), BP_TEXT_SCALED - strlen(out), "%c", prefix[p]);
}

void bp_text_sparkline(
	const double *value, unsigned n, bool utf8, char out[3 * BP_TEXT_SPARKLINE_MAX + 1])
{
	static const char *const blocks[] = {
		"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	double max = 0;
	size_t len = 0;

	for (unsigned i = 0; i < n; i++)
		max = isfinite(value[i]) && value[i] > max ? value[i] : max;
	for (unsigned i = 0; i < n && i < BP_TEXT_SPARKLINE_MAX; i++) {
		const unsigned level = max > 0 && value[i] > 0 ? (unsigned)(value[i] / max * 7) : 0;
		const char *c = (utf8 ? blocks : ascii)[level < 7 ? level : 7];

		if (!isfinite(value[i]))
			c = " ";
		memcpy(out + len, c, strlen(c));
		len += strlen(c);
	}
	out[len] = '\0';
}

bool bp_text_utf8(void)
{
	static const char *const name[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *locale = NULL;

	for (unsigned i = 0; i < 3 && (locale == NULL || locale[0] == '\0'); i++)
		locale = getenv(name[i]);
	return locale != NULL &&
	       (strcasestr(locale, "utf-8") != NULL || strcasestr(locale, "utf8") != NULL);
}

void bp_text_address(const uint8_t *ip, bool ip6, uint16_t port, char out[BP_TEXT_ADDRESS])
{
	char host[INET6_ADDRSTRLEN];

	inet_ntop(ip6 ? AF_INET6 : AF_INET, ip, host, sizeof(host));
	snprintf(out, BP_TEXT_ADDRESS, ip6 ? "[%s]:%u" : "%s:%u", host, port);
}

void bp_text_mac(const uint8_t mac[6], char out[BP_TEXT_MAC])
{
	snprintf(out, BP_TEXT_MAC, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
}

void bp_text_condition(const struct bp_condition *c, char out[BP_TEXT_CONDITION])
{
	static const char *const word[] = {
		[BP_COND_GT] = ">",
		[BP_COND_GE] = ">=",
		[BP_COND_LT] = "<",
		[BP_COND_LE] = "<=",
		[BP_COND_EQ] = "==",
		[BP_COND_NE] = "!=",
		[BP_COND_INSIDE] = "inside",
		[BP_COND_OUTSIDE] = "outside",
	};
	char a[32], b[32];

	if (c->op >= sizeof(word) / sizeof(word[0])) {
		snprintf(out, BP_TEXT_CONDITION, "unknown (%u)", c->op);
		return;
	}
	bp_number_format(c->a, a);
	bp_number_format(c->b, b);
	if (c->op == BP_COND_INSIDE || c->op == BP_COND_OUTSIDE)
		snprintf(out, BP_TEXT_CONDITION, "%s %s..%s", word[c->op], a, b);
	else
		snprintf(out, BP_TEXT_CONDITION, "%s %s", word[c->op], a);
}

/* Whether a member can be written .name. */
static bool is_plain_key(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)name[i];

		if (!(ch == '_' || ch >= 0x80 || (ch >= '0' && ch <= '9') ||
			    ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z')))
			return false;
	}
	return len > 0;
}

static void path_source(const char *format, const struct bp_json_path *p, char out[BP_TEXT_SOURCE])
{
	size_t at = (size_t)snprintf(out, BP_TEXT_SOURCE, "%s $", format);
	unsigned steps = p->steps < BP_JSON_STEPS_MAX ? p->steps : BP_JSON_STEPS_MAX;

	/* at most 16 steps and 240 bytes of names fit, but a damaged path may exceed them */
	for (unsigned i = 0; i < steps && at < BP_TEXT_SOURCE - 1; i++) {
		size_t off = p->step[i].name_off, len = p->step[i].name_len, n;

		if (off > BP_JSON_NAMES_MAX || len > BP_JSON_NAMES_MAX - off)
			len = 0;

		const char *name = p->names + (len ? off : 0);
		size_t room = BP_TEXT_SOURCE - at;

		if (p->step[i].every)
			n = (size_t)snprintf(out + at, room, "[*]");
		else if (p->step[i].is_index)
			n = (size_t)snprintf(out + at, room, "[%u]", p->step[i].index);
		else
			n = (size_t)snprintf(out + at, room,
				is_plain_key(name, len) ? ".%.*s" : "['%.*s']", (int)len, name);
		at += n;
	}
}

static void binary_source(const struct bp_binary_source *b, char out[BP_TEXT_SOURCE])
{
	static const char *const type[] = {
		[BP_BIN_INT8] = "int8",
		[BP_BIN_INT16] = "int16",
		[BP_BIN_INT32] = "int32",
		[BP_BIN_INT64] = "int64",
		[BP_BIN_UINT8] = "uint8",
		[BP_BIN_UINT16] = "uint16",
		[BP_BIN_UINT32] = "uint32",
		[BP_BIN_UINT64] = "uint64",
		[BP_BIN_FLOAT32] = "float32",
		[BP_BIN_FLOAT64] = "float64",
	};
	const char *name = b->type < sizeof(type) / sizeof(type[0]) ? type[b->type] : "unknown";
	bool one_byte = b->type == BP_BIN_INT8 || b->type == BP_BIN_UINT8;

	snprintf(out, BP_TEXT_SOURCE, "binary %s at %u%s", name, b->offset,
		one_byte           ? ""
		: b->little_endian ? ", little endian"
				   : ", big endian");
}

static void sparkplug_source(const struct bp_value_source *v, char out[BP_TEXT_SOURCE])
{
	if (v->sparkplug.what == BP_SPARKPLUG_ONLINE)
		snprintf(out, BP_TEXT_SOURCE, "sparkplug_online");
	else
		snprintf(out, BP_TEXT_SOURCE, "sparkplug %.*s", BP_SPARKPLUG_NAME_MAX,
			v->names.metric);
}

static void kind_text(const struct bp_value_source *v, char out[BP_TEXT_SOURCE])
{
	switch (v->kind) {
	case BP_VALUE_TEXT:
		snprintf(out, BP_TEXT_SOURCE, "text");
		return;
	case BP_VALUE_JSON:
		path_source("json", &v->json, out);
		return;
	case BP_VALUE_CBOR:
		path_source("cbor", &v->json, out);
		return;
	case BP_VALUE_MSGPACK:
		path_source("msgpack", &v->json, out);
		return;
	case BP_VALUE_BINARY:
		binary_source(&v->binary, out);
		return;
	case BP_VALUE_SPARKPLUG:
		sparkplug_source(v, out);
		return;
	default:
		snprintf(out, BP_TEXT_SOURCE, "unknown (%u)", v->kind);
	}
}

void bp_text_source(const struct bp_value_source *v, char out[BP_TEXT_SOURCE])
{
	char scale[32], offset[32];
	size_t at;

	kind_text(v, out);
	at = strlen(out);
	if (v->type != BP_VALUE_NUMBER)
		at += (size_t)snprintf(out + at, BP_TEXT_SOURCE - at, ", %s",
			v->type == BP_VALUE_STRING ? "string" : "boolean");
	if (bp_value_has_elements(v) && at < BP_TEXT_SOURCE)
		at += (size_t)snprintf(out + at, BP_TEXT_SOURCE - at, ", %s",
			v->match == BP_ELEMENT_ALL ? "all" : "any");
	if (!v->scaled || at >= BP_TEXT_SOURCE)
		return;
	scale[bp_number_format(v->scale, scale)] = '\0';
	offset[bp_number_format(v->offset, offset)] = '\0';
	snprintf(out + at, BP_TEXT_SOURCE - at, ", times %s plus %s", scale, offset);
}

void bp_text_duration(uint64_t seconds, char out[BP_TEXT_DURATION])
{
	uint64_t days = seconds / 86400;
	unsigned h = (unsigned)(seconds / 3600 % 24), m = (unsigned)(seconds / 60 % 60);
	unsigned s = (unsigned)(seconds % 60);

	if (days)
		snprintf(out, BP_TEXT_DURATION, "%llu d %02u:%02u:%02u", (unsigned long long)days,
			h, m, s);
	else
		snprintf(out, BP_TEXT_DURATION, "%u:%02u:%02u", h, m, s);
}

json_t *bp_text_json(const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	json_t *whole = json_stringn(text, len);

	if (whole)
		return whole;

	/* one replacement for each byte that no character can begin with */
	char *clean = malloc(3 * len + 1);
	size_t n = 0;

	for (size_t i = 0; clean && i < len;) {
		size_t take = 0;

		for (size_t k = 1; k <= 4 && i + k <= len && !take; k++) {
			json_t *one = json_stringn(text + i, k);

			if (one)
				take = k;
			json_decref(one);
		}
		memcpy(clean + n, take ? text + i : "\xef\xbf\xbd", take ? take : 3);
		n += take ? take : 3;
		i += take ? take : 1;
	}

	json_t *result = clean ? json_stringn(clean, n) : NULL;

	free(clean);
	return result;
}

const char *bp_text_node(const char *name, size_t *max)
{
	static const char prefix[] = "bp_";
	const size_t n = sizeof(prefix) - 1;

	if (*max <= n || memcmp(name, prefix, n) != 0)
		return name;
	*max -= n;
	return name + n;
}

/* The bytes of the control character at p; 0: it is another character. */
static size_t control_character(const char *p)
{
	const unsigned char *c = (const unsigned char *)p;

	if (c[0] < 0x20 || c[0] == 0x7f)
		return 1;
	return c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0;
}

void bp_text_print_safe(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		const size_t n = control_character(text);

		if (n == 0) {
			fputc(*text, out);
			continue;
		}
		text += n - 1;
		fprintf(out, "\\x%02x", (unsigned char)*text);
	}
}

void bp_text_mask(char *text)
{
	while (*text != '\0') {
		size_t n = control_character(text);

		for (text += n == 0; n != 0; n--)
			*text++ = '?';
	}
}
