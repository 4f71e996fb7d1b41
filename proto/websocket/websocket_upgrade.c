/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/websocket/websocket.h"

#include <string.h>
#include <strings.h>

#include "proto/websocket/sha1.h"

/* The opening handshake (RFC 6455, 4), a request and a response of HTTP/1.1 (RFC 9112). */

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define KEY_LEN 24u    /* 16 bytes in base64 */
#define ACCEPT_LEN 28u /* 20 bytes in base64 */

struct text {
	const char *p;
	size_t len;
};

/* The fields of a head that the handshake uses. */
struct fields {
	bool upgrade, connection, version, extension, other_protocol, body;
	unsigned keys, accepts;
	struct text key, accept;
};

static bool is_text(struct text t, const char *s)
{
	return t.len == strlen(s) && strncasecmp(t.p, s, t.len) == 0;
}

static bool is_exactly(struct text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

static struct text trimmed(const char *p, size_t len)
{
	while (len != 0 && (p[0] == ' ' || p[0] == '\t')) {
		p++;
		len--;
	}
	while (len != 0 && (p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	return (struct text){p, len};
}

/* Whether the list of tokens has this one. */
static bool has_token(struct text list, const char *token)
{
	while (list.len != 0) {
		const char *comma = memchr(list.p, ',', list.len);
		const size_t len = comma != NULL ? (size_t)(comma - list.p) : list.len;
		const size_t step = comma != NULL ? len + 1 : len;

		if (is_text(trimmed(list.p, len), token))
			return true;
		list.p += step;
		list.len -= step;
	}
	return false;
}

static void add_field(struct fields *f, struct text name, struct text value)
{
	if (is_text(name, "Upgrade")) {
		f->upgrade |= has_token(value, "websocket");
	} else if (is_text(name, "Connection")) {
		f->connection |= has_token(value, "upgrade");
	} else if (is_text(name, "Sec-WebSocket-Version")) {
		f->version |= is_exactly(value, "13");
	} else if (is_text(name, "Sec-WebSocket-Extensions")) {
		f->extension |= value.len != 0;
	} else if (is_text(name, "Sec-WebSocket-Protocol")) {
		/* the second is of MQTT 3.1, and mosquitto knows it */
		f->other_protocol |= !is_exactly(value, "mqtt") && !is_exactly(value, "mqttv3.1");
	} else if (is_text(name, "Content-Length")) {
		f->body |= !is_exactly(value, "0");
	} else if (is_text(name, "Transfer-Encoding")) {
		f->body = true;
	} else if (is_text(name, "Sec-WebSocket-Key")) {
		f->keys++;
		f->key = value;
	} else if (is_text(name, "Sec-WebSocket-Accept")) {
		f->accepts++;
		f->accept = value;
	}
}

/* The next line of p[*at..n), without its end. False: there is none. */
static bool next_line(const uint8_t *p, uint32_t n, uint32_t *at, struct text *line)
{
	const uint8_t *start = p + *at, *end = memchr(start, '\n', n - *at);

	if (end == NULL || end == start || end[-1] != '\r')
		return false;
	*at = (uint32_t)(end + 1 - p);
	*line = (struct text){(const char *)start, (size_t)(end - 1 - start)};
	return true;
}

/* Reads the start line and the fields. False: they are no head of HTTP. */
static bool read_head(const uint8_t *p, uint32_t n, struct text *start, struct fields *f)
{
	uint32_t at = 0;
	struct text line;

	memset(f, 0, sizeof(*f));
	if (!next_line(p, n, &at, start))
		return false;
	while (next_line(p, n, &at, &line)) {
		const char *colon;

		if (line.len == 0)
			return at == n;
		colon = memchr(line.p, ':', line.len);
		/* a line that continues the one before is obsolete (RFC 9112, 5.2) */
		if (colon == NULL || line.p[0] == ' ' || line.p[0] == '\t')
			return false;
		add_field(f, (struct text){line.p, (size_t)(colon - line.p)},
			trimmed(colon + 1, line.len - (size_t)(colon + 1 - line.p)));
	}
	return false;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes out[0..n) from base64, n a multiple of 3. False: a digit is invalid. */
static bool from_base64(const char *p, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i += 3, p += 4) {
		uint32_t bits = 0;

		for (unsigned k = 0; k < 4; k++) {
			const int digit = base64_digit(p[k]);

			if (digit < 0)
				return false;
			bits = bits << 6 | (uint32_t)digit;
		}
		out[i] = (uint8_t)(bits >> 16);
		out[i + 1] = (uint8_t)(bits >> 8);
		out[i + 2] = (uint8_t)bits;
	}
	return true;
}

uint32_t bp_ws_head_end(const uint8_t *p, uint32_t n, uint32_t searched)
{
	uint32_t at = searched > 3 ? searched - 3 : 0;

	while (at < n) {
		const uint8_t *end = memchr(p + at, '\n', n - at);

		if (end == NULL)
			return 0;
		at = (uint32_t)(end + 1 - p);
		if (at >= 4 && memcmp(p + at - 4, "\r\n\r\n", 4) == 0)
			return at;
	}
	return 0;
}

/* Some servers accept LF without CR, and some read up to the first NUL. */
bool bp_ws_head_is_clear(const uint8_t *p, uint32_t n, uint32_t checked)
{
	for (uint32_t i = checked; i < n; i++) {
		const bool behind_cr = i != 0 && p[i - 1] == '\r';

		if ((p[i] == '\n') != behind_cr || p[i] == 0x7f ||
			(p[i] < ' ' && p[i] != '\t' && p[i] != '\r' && p[i] != '\n'))
			return false;
	}
	return true;
}

enum bp_ws bp_ws_request(const uint8_t *p, uint32_t n, uint8_t accept[BP_WS_ACCEPT])
{
	static const char version[] = " HTTP/1.1";
	const size_t tail = sizeof(version) - 1;
	uint8_t key[KEY_LEN + sizeof(GUID) - 1], digest[BP_SHA1_SIZE];
	struct text start;
	struct fields f;

	if (!read_head(p, n, &start, &f) || start.len < 4 + tail ||
		memcmp(start.p, "GET ", 4) != 0 ||
		memcmp(start.p + start.len - tail, version, tail) != 0)
		return BP_WS_E_UPGRADE;
	/* servers differ in where the frames begin behind a body */
	if (f.body || !f.upgrade || !f.connection || !f.version || f.keys != 1 ||
		f.key.len != KEY_LEN || memcmp(f.key.p + KEY_LEN - 2, "==", 2) != 0)
		return BP_WS_E_UPGRADE;
	memcpy(key, f.key.p, KEY_LEN);
	memcpy(key + KEY_LEN, GUID, sizeof(GUID) - 1);
	bp_sha1(key, sizeof(key), digest);
	memcpy(accept, digest, BP_WS_ACCEPT);
	return BP_WS_OK;
}

enum bp_ws bp_ws_response(const uint8_t *p, uint32_t n, const uint8_t accept[BP_WS_ACCEPT])
{
	static const char switching[] = "HTTP/1.1 101";
	const size_t status = sizeof(switching) - 1;
	uint8_t digest[BP_SHA1_SIZE - 2]; /* the rest is less than four digits */
	struct text start;
	struct fields f;

	if (!read_head(p, n, &start, &f) || start.len < status ||
		memcmp(start.p, switching, status) != 0 ||
		(start.len > status && start.p[status] != ' '))
		return BP_WS_E_UPGRADE;
	if (f.body || !f.upgrade || !f.connection || f.other_protocol || f.accepts != 1 ||
		f.accept.len != ACCEPT_LEN || !from_base64(f.accept.p, digest, sizeof(digest)) ||
		memcmp(digest, accept, BP_WS_ACCEPT) != 0)
		return BP_WS_E_UPGRADE;
	return f.extension ? BP_WS_E_EXTENSION : BP_WS_OK;
}
