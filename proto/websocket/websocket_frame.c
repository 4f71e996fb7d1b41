/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/websocket/websocket.h"

#include <string.h>

/* RFC 6455, 5.2 */
#define FIN 0x80
#define RSV 0x70
#define OPCODE 0x0f
#define CONTROL 0x08
#define MASK 0x80
#define LENGTH 0x7f
#define LENGTH_16 126
#define LENGTH_64 127
enum { OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE = 8, OP_PING, OP_PONG };

static uint32_t length_bytes(const struct bp_ws_frames *s)
{
	const uint8_t length = s->head[1] & LENGTH;

	return length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0;
}

static uint32_t header_len(const struct bp_ws_frames *s)
{
	return 2 + length_bytes(s) + (s->head[1] & MASK ? 4 : 0);
}

static bool is_complete(const struct bp_ws_frames *s)
{
	return s->have >= 2 && s->have >= header_len(s);
}

/* A control frame is complete in itself and may come between the fragments of a message (5.4). */
static enum bp_ws check_first(const struct bp_ws_frames *s, uint8_t byte)
{
	const bool in_message = s->flags & BP_WS_IN_MESSAGE;

	if (byte & RSV)
		return BP_WS_E_EXTENSION;
	switch (byte & OPCODE) {
	case OP_CONTINUATION:
		return in_message ? BP_WS_OK : BP_WS_E_FRAME;
	case OP_BINARY:
		return in_message ? BP_WS_E_FRAME : BP_WS_OK;
	case OP_TEXT:
		return BP_WS_E_TEXT;
	case OP_CLOSE:
	case OP_PING:
	case OP_PONG:
		return byte & FIN ? BP_WS_OK : BP_WS_E_FRAME;
	}
	return BP_WS_E_FRAME;
}

/* Clients mask their frames, servers do not (5.1). */
static enum bp_ws check_second(const struct bp_ws_frames *s, bool masked, uint8_t byte)
{
	if (((byte & MASK) != 0) != masked)
		return BP_WS_E_FRAME;
	return (s->head[0] & CONTROL) && (byte & LENGTH) >= LENGTH_16 ? BP_WS_E_FRAME : BP_WS_OK;
}

/* A byte of a length of 16 or 64 bits, which must not be longer than necessary. 4 GiB are more than
 * any packet of MQTT has. */
static enum bp_ws add_length(struct bp_ws_frames *s, uint8_t byte)
{
	const uint32_t bytes = length_bytes(s);

	if (s->left >> 24 != 0)
		return BP_WS_E_FRAME;
	s->left = s->left << 8 | byte;
	if (s->have != 2 + bytes)
		return BP_WS_OK;
	return s->left >= (bytes == 2 ? LENGTH_16 : UINT16_MAX + 1u) ? BP_WS_OK : BP_WS_E_FRAME;
}

static enum bp_ws add(struct bp_ws_frames *s, bool masked, uint8_t byte)
{
	const uint32_t at = s->have++;
	enum bp_ws e;

	if (at == 0) {
		s->head[0] = byte;
		return check_first(s, byte);
	}
	if (at == 1) {
		s->head[1] = byte;
		e = check_second(s, masked, byte);
		s->left = length_bytes(s) == 0 ? byte & LENGTH : 0;
		return e;
	}
	if (at < 2 + length_bytes(s))
		return add_length(s, byte);
	s->mask[at - 2 - length_bytes(s)] = byte;
	return BP_WS_OK;
}

enum bp_ws bp_ws_header(
	struct bp_ws_frames *s, bool masked, const uint8_t *p, uint32_t n, uint32_t *taken)
{
	*taken = 0;
	while (!is_complete(s)) {
		enum bp_ws e;

		if (*taken == n)
			return BP_WS_MORE;
		e = add(s, masked, p[(*taken)++]);
		if (e != BP_WS_OK)
			return e;
	}
	return BP_WS_OK;
}

static void end_frame(struct bp_ws_frames *s)
{
	if ((s->head[0] & OPCODE) == OP_CLOSE)
		s->flags |= BP_WS_CLOSED;
	if (bp_ws_is_data(s))
		s->flags = (uint8_t)((s->flags & ~BP_WS_IN_MESSAGE) |
				     (s->head[0] & FIN ? 0 : BP_WS_IN_MESSAGE));
	s->have = 0;
}

void bp_ws_advance(struct bp_ws_frames *s, uint32_t n)
{
	uint8_t mask[4];

	for (unsigned i = 0; i < 4; i++)
		mask[i] = s->mask[(i + n) & 3];
	memcpy(s->mask, mask, sizeof(mask));
	s->left -= n;
	if (s->left == 0)
		end_frame(s);
}

void bp_ws_unmask(const struct bp_ws_frames *s, uint8_t *out, const uint8_t *p, uint32_t n)
{
	uint32_t i = 0, half;
	uint64_t mask, v;

	memcpy(&half, s->mask, 4);
	mask = (uint64_t)half << 32 | half;
	for (; n - i >= 8; i += 8) {
		memcpy(&v, p + i, 8);
		v ^= mask;
		memcpy(out + i, &v, 8);
	}
	for (; i < n; i++)
		out[i] = p[i] ^ s->mask[i & 3];
}

bool bp_ws_in_payload(const struct bp_ws_frames *s)
{
	return is_complete(s) && s->left != 0;
}

bool bp_ws_is_pong(const struct bp_ws_frames *s)
{
	return (s->head[0] & OPCODE) == OP_PONG;
}

bool bp_ws_is_sound(const struct bp_ws_frames *s)
{
	if (s->flags & ~BP_WS_FLAGS)
		return false;
	return s->have < 2 || s->have < header_len(s) || (s->have == header_len(s) && s->left != 0);
}
