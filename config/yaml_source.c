/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/yaml.h"
#include "proto/payload/utf8.h"

/*
 * Inputs that must not reach libfyaml 0.7: it treats a NUL as the end, skips bytes that it cannot
 * read and directives that it does not know, and some texts of a few megabytes take excessive time
 * or memory.
 */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Computes line and column of byte `at` of valid UTF-8. */
static void locate(const char *text, size_t at, uint32_t *line, uint32_t *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < at; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else {
			*column += ((unsigned char)text[i] & 0xc0) != 0x80;
		}
	}
}

/* Returns the first byte of an invalid UTF-8 sequence; the text has one. */
static size_t find_bad_utf8(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)text[i];
		size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

		if (n > len - i || !bp_utf8_valid_mqtt((const uint8_t *)text + i, n))
			break;
		i += n;
	}
	return i;
}

/* Returns the start of a line that begins with %, or `len`. */
static size_t find_directive(const char *text, size_t len)
{
	const char *p = text;

	while ((p = memchr(p, '%', (size_t)(text + len - p))) != NULL) {
		if (p == text || p[-1] == '\n' || p[-1] == '\r')
			return (size_t)(p - text);
		p++;
	}
	return len;
}

/* Returns a word that begins with ! and has an escape (%41), which is disproportionately expensive
 * in a tag. */
static size_t find_tag_escape(const char *text, size_t len)
{
	const char *p = text;

	while ((p = memchr(p, '!', (size_t)(text + len - p))) != NULL) {
		const char *tag = p;

		while (p < text + len && !is_blank(*p) && *p != '%')
			p++;
		if (p < text + len && *p == '%' &&
			(tag == text || is_blank(tag[-1]) || strchr("[{,:!", tag[-1]) != NULL))
			return (size_t)(tag - text);
	}
	return len;
}

/*
 * libfyaml often must read a [...] or {...} to its end to decide whether it is the key of a
 * mapping, and needs about 350 bytes of memory per byte. So the outermost ones are measured first.
 * Ambiguous text (quotes and brackets inside plain text) is measured as longer than it is, which
 * matters only in files over the limit.
 */

/* Returns the position after the quoted text that begins at `at`. */
static size_t skip_quoted(const char *text, size_t len, size_t at)
{
	char quote = text[at++];

	while (at < len) {
		char c = text[at], next = at + 1 < len ? text[at + 1] : '\0';

		if (c == quote && (quote == '"' || next != quote))
			return at + 1;
		/* A backslash and a doubled apostrophe each escape one more byte. */
		at += c == quote || (c == '\\' && quote == '"') ? 2 : 1;
	}
	return len;
}

static size_t skip_line(const char *text, size_t len, size_t at)
{
	const char *end = memchr(text + at, '\n', len - at);

	return end != NULL ? (size_t)(end - text) : len;
}

/* Returns the position after the bracket that closes the one at `at`, or `len`. */
static size_t skip_flow(const char *text, size_t len, size_t at)
{
	uint32_t depth = 0;

	while (at < len) {
		char c = text[at], before = at > 0 ? text[at - 1] : '\n';

		if ((c == '"' || c == '\'') &&
			(is_blank(before) || strchr("[{,:", before) != NULL)) {
			at = skip_quoted(text, len, at);
			continue;
		}
		if (c == '#' && is_blank(before)) {
			at = skip_line(text, len, at);
			continue;
		}
		at++;
		if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && --depth == 0)
			return at;
	}
	return len;
}

/* Returns the start of an outermost [...] or {...} of over BP_YAML_FLOW_MAX bytes, or `len`. */
static size_t find_long_flow(const char *text, size_t len)
{
	bool quotes = false; /* seen on this line: a # may be part of a text */
	char first = '\0';   /* of the word: an anchor or a tag may touch the bracket */
	size_t at = 0;

	while (at < len) {
		char c = text[at], before = at > 0 ? text[at - 1] : '\n';

		if (is_blank(before))
			first = c;
		if ((c == '[' || c == '{') &&
			(first == c || first == '&' || first == '!' || before == ':')) {
			size_t end = skip_flow(text, len, at);

			if (end - at > BP_YAML_FLOW_MAX)
				return at;
			at = end;
		} else if (c == '#' && is_blank(before) && !quotes) {
			at = skip_line(text, len, at);
		} else {
			quotes = c != '\n' && (quotes || c == '"' || c == '\'');
			at++;
		}
	}
	return len;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

#define COMMENT_SEARCH 4096u /* bytes of a line: hostile lines are long */

/* Returns whether a name, a colon and a blank, and no comment, precede byte `at`. */
static bool follows_name(const char *text, size_t at)
{
	size_t i = at, name;

	while (i > 0 && is_space(text[i - 1]))
		i--;
	if (i == at || i == 0 || text[--i] != ':')
		return false;
	name = i;
	while (i > 0 && is_name(text[i - 1]))
		i--;
	if (i == name)
		return false;
	while (i > 0 && is_space(text[i - 1]))
		i--;
	if (i > 0 && strchr("\n\r-{,", text[i - 1]) == NULL)
		return false;
	for (size_t end = i > COMMENT_SEARCH ? i - COMMENT_SEARCH : 0;
		i > end && text[i - 1] != '\n'; i--)
		if (text[i - 1] == '#')
			return false;
	return true;
}

/* Returns whether a number, and not an indentation (>2), follows the > at byte `at`. */
static bool is_comparison(const char *text, size_t len, size_t at)
{
	size_t i = at + 1;

	if (i + 1 < len && is_digit(text[i]) && !is_digit(text[i + 1]) && text[i + 1] != '.')
		return false;
	i += i < len && text[i] == '=';
	while (i < len && is_space(text[i]))
		i++;
	i += i < len && (text[i] == '-' || text[i] == '+');
	i += i < len && text[i] == '.';
	return i < len && is_digit(text[i]);
}

size_t bp_yaml_find_comparison(const char *text, size_t len, size_t from)
{
	const char *p = text + from;

	while ((p = memchr(p, '>', (size_t)(text + len - p))) != NULL) {
		const size_t at = (size_t)(p++ - text);

		if (is_comparison(text, len, at) && follows_name(text, at))
			return at;
	}
	return len;
}

void bp_yaml_report_comparison(const char *text, size_t len, size_t at, struct bp_messages *m)
{
	size_t end = at;
	uint32_t line, column;
	char shown[BP_SHOWN];

	while (end < len && strchr("\r\n,}#", text[end]) == NULL)
		end++;
	while (is_space(text[end - 1]))
		end--;
	bp_shown(text + at, end - at, shown);
	locate(text, at, &line, &column);
	bp_error(m, line, column,
		"%s is not in quotes; conditions must be quoted; expected \"%s\", or a mapping "
		"such as {above: 80}",
		shown, shown);
}

__attribute__((format(printf, 5, 6))) static bool refuse(
	struct bp_messages *m, const char *text, size_t at, size_t len, const char *format, ...)
{
	uint32_t line, column;
	char what[256];
	va_list ap;

	if (at == len)
		return false;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	locate(text, at, &line, &column);
	bp_error(m, line, column, "%s", what);
	return true;
}

bool bp_yaml_check_source(const char *text, size_t len, struct bp_messages *m)
{
	size_t at;

	if (len > BP_YAML_BYTES_MAX) {
		bp_error(m, 1, 1, "the file is too large; expected at most %u MiB",
			BP_YAML_BYTES_MAX >> 20);
		return false;
	}
	at = bp_utf8_valid_mqtt((const uint8_t *)text, len) ? len : find_bad_utf8(text, len);
	return !refuse(m, text, at, len, "byte 0x%02x is not valid here; expected UTF-8 text",
		       at < len ? (unsigned char)text[at] : 0) &&
	       !refuse(m, text, find_directive(text, len), len,
		       "a YAML directive is not supported; expected no line that begins with %%") &&
	       !refuse(m, text, find_tag_escape(text, len), len,
		       "a YAML tag is not supported; expected no word that begins with ! and has a "
		       "%%") &&
	       !refuse(m, text, find_long_flow(text, len), len,
		       "the brackets that open here enclose too much; expected at most %u MiB, or "
		       "the block "
		       "style of one setting per line",
		       BP_YAML_FLOW_MAX >> 20);
}
