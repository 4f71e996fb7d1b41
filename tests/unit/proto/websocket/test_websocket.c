/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames and heads of WebSocket, with the examples of RFC 6455, cut at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proto/websocket/sha1.h"
#include "proto/websocket/websocket.h"

#define KEY "dGhlIHNhbXBsZSBub25jZQ==" /* RFC 6455, 1.3 */
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define GET "GET /mqtt HTTP/1.1\r\nHost: broker\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define ASKS "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\n"
#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\n"
#define ACCEPTS "Sec-WebSocket-Accept: " ACCEPT "\r\n"
#define END "\r\n"

/* ---- SHA-1 ---- */

static void sha1_is(const char *text, size_t n, const char *hex)
{
	uint8_t digest[BP_SHA1_SIZE];
	char got[2 * BP_SHA1_SIZE + 1];

	bp_sha1((const uint8_t *)text, n, digest);
	for (unsigned i = 0; i < BP_SHA1_SIZE; i++)
		snprintf(got + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(got, hex);
}

/* FIPS 180's examples, and each length about the end of a block. */
static void sha1(void **state)
{
	static const char a[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

	(void)state;
	sha1_is("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	sha1_is("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
	sha1_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	sha1_is(a, 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
	sha1_is(a, 63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
	sha1_is(a, 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
	sha1_is(a, 65, "11655326c708d70319be2610e8a57d9a5b959d3b");
	sha1_is(a, 128, "ad5b3fdbcb526778c2839d2f151ea753995e26a0");
}

/* ---- frames ---- */

struct frame {
	const char *what;
	bool masked;
	uint8_t bytes[16];
	uint32_t n;    /* of the header */
	uint32_t left; /* payload */
	enum bp_ws e;
	uint8_t flags; /* before */
};

static const struct frame frames[] = {
	{"server, unmasked", false, {0x82, 0x05}, 2, 5, BP_WS_OK, 0},
	{"client, masked", true, {0x82, 0x85, 1, 2, 3, 4}, 6, 5, BP_WS_OK, 0},
	{"256 bytes", false, {0x82, 126, 1, 0}, 4, 256, BP_WS_OK, 0},
	{"126 bytes", true, {0x82, 0xfe, 0, 126, 1, 2, 3, 4}, 8, 126, BP_WS_OK, 0},
	{"64 KiB", false, {0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0}, 10, 65536, BP_WS_OK, 0},
	{"4 GiB - 1", true, {0x82, 0xff, 0, 0, 0, 0, 255, 255, 255, 255, 1, 2, 3, 4}, 14,
		UINT32_MAX, BP_WS_OK, 0},
	{"first fragment", false, {0x02, 1}, 2, 1, BP_WS_OK, 0},
	{"a further one", false, {0x00, 1}, 2, 1, BP_WS_OK, BP_WS_IN_MESSAGE},
	{"the last one", false, {0x80, 1}, 2, 1, BP_WS_OK, BP_WS_IN_MESSAGE},
	{"Ping between fragments", false, {0x89, 125}, 2, 125, BP_WS_OK, BP_WS_IN_MESSAGE},
	{"Pong", true, {0x8a, 0x80, 1, 2, 3, 4}, 6, 0, BP_WS_OK, 0},
	{"Close", true, {0x88, 0x82, 1, 2, 3, 4}, 6, 2, BP_WS_OK, 0},
	{"client, unmasked", true, {0x82, 0x05}, 2, 0, BP_WS_E_FRAME, 0},
	{"server, masked", false, {0x82, 0x85}, 2, 0, BP_WS_E_FRAME, 0},
	{"RSV1", false, {0xc2}, 1, 0, BP_WS_E_EXTENSION, 0},
	{"RSV2", false, {0xa2}, 1, 0, BP_WS_E_EXTENSION, 0},
	{"RSV3", false, {0x92}, 1, 0, BP_WS_E_EXTENSION, 0},
	{"text", false, {0x81}, 1, 0, BP_WS_E_TEXT, 0},
	{"reserved data", false, {0x83}, 1, 0, BP_WS_E_FRAME, 0},
	{"reserved control", false, {0x8b}, 1, 0, BP_WS_E_FRAME, 0},
	{"continuation of nothing", false, {0x80}, 1, 0, BP_WS_E_FRAME, 0},
	{"message in a message", false, {0x82}, 1, 0, BP_WS_E_FRAME, BP_WS_IN_MESSAGE},
	{"fragmented Ping", false, {0x09}, 1, 0, BP_WS_E_FRAME, 0},
	{"long Ping", false, {0x89, 126}, 2, 0, BP_WS_E_FRAME, 0},
	{"125 in 16 bits", false, {0x82, 126, 0, 125}, 4, 0, BP_WS_E_FRAME, 0},
	{"65535 in 64 bits", false, {0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255}, 10, 0, BP_WS_E_FRAME,
		0},
	{"4 GiB", false, {0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0}, 10, 0, BP_WS_E_FRAME, 0},
	{"highest bit", false, {0x82, 127, 128, 0, 0, 0, 0, 0, 0, 0}, 7, 0, BP_WS_E_FRAME, 0},
};

static enum bp_ws read_cut(const struct frame *f, uint32_t cut, struct bp_ws_frames *s)
{
	enum bp_ws e = BP_WS_MORE;
	uint32_t taken, at = 0;

	*s = (struct bp_ws_frames){.flags = f->flags};
	if (cut != 0) {
		e = bp_ws_header(s, f->masked, f->bytes, cut, &taken);
		at = taken;
	}
	if (e == BP_WS_MORE) {
		assert_int_equal(at, cut);
		assert_true(bp_ws_is_sound(s));
		assert_false(bp_ws_in_payload(s));
		e = bp_ws_header(s, f->masked, f->bytes + at, f->n - at, &taken);
		at += taken;
	}
	if (e == BP_WS_OK)
		assert_int_equal(at, f->n);
	return e;
}

static void headers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t cut = 0; cut < frames[i].n; cut++) {
			struct bp_ws_frames s;
			enum bp_ws e = read_cut(&frames[i], cut, &s);

			if (e != frames[i].e)
				fail_msg("%s, cut at %u: %d", frames[i].what, cut, e);
			if (e != BP_WS_OK)
				continue;
			if (s.left != frames[i].left || bp_ws_in_payload(&s) != (s.left != 0))
				fail_msg("%s, cut at %u: %u bytes", frames[i].what, cut, s.left);
		}
	}
}

/* RFC 6455, 5.7: "Hello", in one frame and in two fragments, masked, read in two parts. */
static void hello(void **state)
{
	static const uint8_t masked[] = {
		0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};
	struct bp_ws_frames s;
	uint32_t taken;

	(void)state;
	for (uint32_t cut = 1; cut < 5; cut++) {
		char out[6] = "";

		memset(&s, 0, sizeof(s));
		assert_int_equal(bp_ws_header(&s, true, masked, sizeof(masked), &taken), BP_WS_OK);
		bp_ws_unmask(&s, (uint8_t *)out, masked + taken, cut);
		bp_ws_advance(&s, cut);
		assert_true(bp_ws_in_payload(&s));
		bp_ws_unmask(&s, (uint8_t *)out + cut, masked + taken + cut, 5 - cut);
		bp_ws_advance(&s, 5 - cut);
		assert_string_equal(out, "Hello");
		assert_false(bp_ws_in_payload(&s));
		assert_int_equal(s.flags, 0);
	}
}

static void messages(void **state)
{
	static const uint8_t bytes[] = {0x02, 0, 0x89, 0, 0x00, 0, 0x80, 0, 0x88, 0};
	static const uint8_t flags[] = {
		BP_WS_IN_MESSAGE, BP_WS_IN_MESSAGE, BP_WS_IN_MESSAGE, 0, BP_WS_CLOSED};
	struct bp_ws_frames s = {0};
	uint32_t taken;

	(void)state;
	for (unsigned i = 0; i < sizeof(flags); i++) {
		assert_int_equal(bp_ws_header(&s, false, bytes + 2 * i, 2, &taken), BP_WS_OK);
		bp_ws_advance(&s, 0);
		assert_int_equal(s.flags, flags[i]);
	}
}

/* The mask of any length and position, against one byte at a time. */
static void masks(void **state)
{
	static const uint8_t mask[4] = {1, 20, 133, 255};
	uint8_t in[41], out[41];

	(void)state;
	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 37);
	for (uint32_t first = 0; first < 9; first++) {
		for (uint32_t n = 0; n + first <= sizeof(in); n++) {
			struct bp_ws_frames s = {.left = 100, .mask = {1, 20, 133, 255}};

			bp_ws_advance(&s, first);
			bp_ws_unmask(&s, out, in + first, n);
			for (uint32_t i = 0; i < n; i++)
				assert_int_equal(out[i], in[first + i] ^ mask[(first + i) & 3]);
		}
	}
}

static void unsound(void **state)
{
	static const struct bp_ws_frames bad[] = {
		{.flags = 4},
		{.head = {0x82, 5}, .have = 3, .left = 5},
		{.head = {0x82, 0}, .have = 2, .left = 0},
		{.head = {0x82, 0xff}, .have = 15, .left = 70000},
		{.head = {0x82, 0}, .have = 255, .left = 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bp_ws_is_sound(&bad[i]));
}

/* ---- heads ---- */

static enum bp_ws request(const char *text, uint8_t accept[BP_WS_ACCEPT])
{
	return bp_ws_request((const uint8_t *)text, (uint32_t)strlen(text), accept);
}

static enum bp_ws response(const char *text, const uint8_t accept[BP_WS_ACCEPT])
{
	return bp_ws_response((const uint8_t *)text, (uint32_t)strlen(text), accept);
}

static void requests(void **state)
{
	static const char *const good[] = {
		GET UPGRADE ASKS END,
		GET UPGRADE ASKS "Sec-WebSocket-Protocol: mqtt\r\n" END,
		/* what browsers send */
		GET "connection: keep-alive, Upgrade\r\nUPGRADE: WebSocket\r\n" ASKS
		    "Sec-WebSocket-Extensions: permessage-deflate\r\n" END,
		GET "Upgrade: h2c,\twebsocket \r\nConnection:upgrade\r\n" ASKS END,
		GET UPGRADE ASKS "Content-Length: 0\r\n" END,
	};
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
		"POST / HTTP/1.1\r\n" UPGRADE ASKS END,
		"GET / HTTP/1.0\r\n" UPGRADE ASKS END,
		"GET HTTP/1.1\r\n" ASKS END,
		GET "Connection: Upgrade\r\n" ASKS END,
		GET "Upgrade: websocket\r\n" ASKS END,
		GET "Upgrade: websockets\r\nConnection: Upgrade\r\n" ASKS END,
		GET UPGRADE "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 8\r\n" END,
		GET UPGRADE "Sec-WebSocket-Version: 13\r\n" END,
		GET UPGRADE ASKS "Sec-WebSocket-Key: " KEY "\r\n" END,
		GET UPGRADE "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhl\r\n" END,
		GET UPGRADE ASKS "no field\r\n" END,
		/* a body, behind which the frames begin for some servers */
		GET UPGRADE ASKS "Content-Length: 64\r\n" END,
		GET UPGRADE ASKS "content-length: 00\r\n" END,
		GET UPGRADE ASKS "Content-Length: 0\r\nContent-Length: 5\r\n" END,
		GET UPGRADE ASKS "Transfer-Encoding: chunked\r\n" END,
		GET "Upgrade: web\r\n socket\r\nConnection: Upgrade\r\n" ASKS END,
		GET "Host: x\n" UPGRADE ASKS END,
	};
	uint8_t accept[BP_WS_ACCEPT];

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (request(good[i], accept) != BP_WS_OK)
			fail_msg("refused: %s", good[i]);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (request(bad[i], accept) != BP_WS_E_UPGRADE)
			fail_msg("accepted: %s", bad[i]);
}

static void responses(void **state)
{
	static const struct {
		const char *text;
		enum bp_ws e;
	} of[] = {
		{SWITCHING UPGRADE ACCEPTS END, BP_WS_OK},
		{SWITCHING UPGRADE ACCEPTS "Sec-WebSocket-Protocol: mqtt\r\n" END, BP_WS_OK},
		{SWITCHING UPGRADE ACCEPTS "Sec-WebSocket-Protocol: mqttv3.1\r\n" END, BP_WS_OK},
		{"HTTP/1.1 101\r\n" UPGRADE ACCEPTS END, BP_WS_OK},
		{SWITCHING UPGRADE ACCEPTS "Sec-WebSocket-Extensions:\r\n" END, BP_WS_OK},
		{SWITCHING UPGRADE ACCEPTS "Sec-WebSocket-Extensions: permessage-deflate\r\n" END,
			BP_WS_E_EXTENSION},
		{SWITCHING UPGRADE ACCEPTS "Sec-WebSocket-Protocol: chat\r\n" END, BP_WS_E_UPGRADE},
		{"HTTP/1.1 200 OK\r\n" UPGRADE ACCEPTS END, BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE ACCEPTS "Content-Length: 1\r\n" END, BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE ACCEPTS "Transfer-Encoding: chunked\r\n" END, BP_WS_E_UPGRADE},
		{"HTTP/1.1 1010\r\n" UPGRADE ACCEPTS END, BP_WS_E_UPGRADE},
		{SWITCHING "Upgrade: websocket\r\n" ACCEPTS END, BP_WS_E_UPGRADE},
		{SWITCHING "Connection: upgrade\r\n" ACCEPTS END, BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE END, BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE ACCEPTS ACCEPTS END, BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xO!=\r\n" END,
			BP_WS_OK}, /* the digits that are not compared */
		{SWITCHING UPGRADE "Sec-WebSocket-Accept: s3pPLMBiTxa!9kYGzzhZRbK+xOo=\r\n" END,
			BP_WS_E_UPGRADE},
		{SWITCHING UPGRADE "Sec-WebSocket-Accept: t3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" END,
			BP_WS_E_UPGRADE},
	};
	uint8_t accept[BP_WS_ACCEPT];

	(void)state;
	assert_int_equal(request(GET UPGRADE ASKS END, accept), BP_WS_OK);
	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (response(of[i].text, accept) != of[i].e)
			fail_msg("not %d: %s", of[i].e, of[i].text);
}

static void end_of_head(void **state)
{
	static const char text[] = GET UPGRADE ASKS END;
	const uint32_t n = sizeof(text) - 1;

	(void)state;
	for (uint32_t have = 0; have <= n; have++)
		for (uint32_t searched = 0; searched <= have; searched++)
			assert_int_equal(bp_ws_head_end((const uint8_t *)text, have,
						 searched < n ? searched : 0),
				have == n ? n : 0);
	assert_int_equal(bp_ws_head_end((const uint8_t *)"a\r\n\r\nbc", 7, 0), 5);
	assert_int_equal(bp_ws_head_end((const uint8_t *)"a\n\n", 3, 0), 0);
}

static void clear_heads(void **state)
{
	static const char text[] = GET UPGRADE ASKS END;
	const uint32_t n = sizeof(text) - 1;
	uint8_t other[sizeof(text)];

	(void)state;
	for (uint32_t have = 0; have <= n; have++)
		for (uint32_t checked = 0; checked <= have; checked++)
			assert_true(bp_ws_head_is_clear((const uint8_t *)text, have, checked));
	for (uint32_t at = 0; at < n; at++) {
		const bool ends_line = text[at] == '\r' || text[at] == '\n';

		for (unsigned byte = 0; byte < 256; byte++) {
			const bool is_control =
				(byte < ' ' && byte != '\t') || byte == 0x7f || ends_line;

			memcpy(other, text, n);
			other[at] = (uint8_t)byte;
			assert_int_equal(bp_ws_head_is_clear(other, n, 0),
				byte == (uint8_t)text[at] || !is_control);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha1),
		cmocka_unit_test(headers),
		cmocka_unit_test(hello),
		cmocka_unit_test(messages),
		cmocka_unit_test(masks),
		cmocka_unit_test(unsound),
		cmocka_unit_test(requests),
		cmocka_unit_test(responses),
		cmocka_unit_test(end_of_head),
		cmocka_unit_test(clear_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
