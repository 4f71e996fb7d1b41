/* SPDX-License-Identifier: BSD-3-Clause */
#include "websocket_peer.h"

#include <string.h>

static void text(struct bytes *b, const char *s)
{
	bytes_add(b, s, strlen(s));
}

void ws_request(struct bytes *b, const char *more)
{
	text(b, "GET /mqtt HTTP/1.1\r\nHost: broker\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n");
	text(b, more);
	text(b, "\r\n");
}

void ws_response(struct bytes *b, const char *more)
{
	text(b, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
	text(b, more);
	text(b, "\r\n");
}

void ws_frame(struct bytes *b, unsigned from, uint8_t first, const void *payload, size_t n)
{
	const uint8_t mask[4] = {0x37, (uint8_t)(n * 7), 0x21, (uint8_t)(0x3d + n)}, *p = payload;
	const uint8_t masked = from == CLIENT ? 0x80 : 0;

	bytes_u8(b, first);
	if (n < 126) {
		bytes_u8(b, (uint8_t)(masked | n));
	} else if (n <= 65535) {
		bytes_u8(b, masked | 126);
		bytes_be16(b, (uint16_t)n);
	} else {
		bytes_u8(b, masked | 127);
		bytes_be16(b, 0);
		bytes_be16(b, 0);
		bytes_be16(b, (uint16_t)(n >> 16));
		bytes_be16(b, (uint16_t)n);
	}
	if (masked)
		bytes_add(b, mask, 4);
	for (size_t i = 0; i < n; i++)
		bytes_u8(b, masked ? p[i] ^ mask[i % 4] : p[i]);
}

void ws_message(struct bytes *b, unsigned from, struct bytes *mqtt)
{
	ws_frame(b, from, WS_FIN | WS_BINARY, mqtt->p, mqtt->n);
	bytes_free(mqtt);
}
