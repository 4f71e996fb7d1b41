/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_WEBSOCKET_WEBSOCKET_H
#define BP_PROTO_WEBSOCKET_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* WebSocket (RFC 6455) as a bystander reads it: the heads of the upgrade, and the frames. */

enum bp_ws {
	BP_WS_OK,
	BP_WS_MORE,        /* more bytes are needed */
	BP_WS_E_UPGRADE,   /* no upgrade to WebSocket with MQTT in it */
	BP_WS_E_EXTENSION, /* an extension changes the payload */
	BP_WS_E_TEXT,      /* a text message: MQTT uses binary ones */
	BP_WS_E_FRAME,     /* a frame that RFC 6455 does not allow */
};

/* ---- frames ---- */

/*
 * Reading of the frames of one sender, which are cut anywhere. All zero: the next byte begins the
 * first frame.
 */
struct bp_ws_frames {
	uint32_t left;   /* bytes of the frame's payload that were not read yet */
	uint8_t mask[4]; /* the first of them is of the next byte */
	uint8_t head[2]; /* the first bytes of the header */
	uint8_t have;    /* bytes of the header that were read */
	uint8_t flags;   /* BP_WS_* */
};
#define BP_WS_IN_MESSAGE 0x01 /* more fragments of a message follow */
#define BP_WS_CLOSED 0x02     /* after a Close frame, nothing follows */
#define BP_WS_FLAGS 0x03

/*
 * Reads the header of a frame, or more of it, from p[0..n); *taken: bytes that were read. `masked`:
 * the sender is a client. BP_WS_OK: the header is complete, and `left` bytes of payload follow.
 */
enum bp_ws bp_ws_header(
	struct bp_ws_frames *s, bool masked, const uint8_t *p, uint32_t n, uint32_t *taken);
/* n bytes of the payload were read, at most `left`; the frame ends with the last one. */
void bp_ws_advance(struct bp_ws_frames *s, uint32_t n);
/* Removes the mask of the next n bytes of the payload. */
void bp_ws_unmask(const struct bp_ws_frames *s, uint8_t *out, const uint8_t *p, uint32_t n);
/* Whether the header is complete and bytes of the payload are missing. */
bool bp_ws_in_payload(const struct bp_ws_frames *s);
/* Whether the state of another process is one that can be continued. */
bool bp_ws_is_sound(const struct bp_ws_frames *s);

/* Of the frame whose header is complete. */
bool bp_ws_is_pong(const struct bp_ws_frames *s);
/* Likewise: a part of a message, and not a control frame. */
static inline bool bp_ws_is_data(const struct bp_ws_frames *s)
{
	return (s->head[0] & 0x08) == 0;
}

/* ---- upgrade ---- */

#define BP_WS_HEAD_MAX 8192u /* bytes of a head, at most: as HTTP servers allow */
#define BP_WS_ACCEPT 8u      /* bytes of the expected Sec-WebSocket-Accept that are compared */

/* The length of the head that p[0..n) begins with, with its empty line; 0: it is incomplete. No end
 * is in p[0..searched). */
uint32_t bp_ws_head_end(const uint8_t *p, uint32_t n, uint32_t searched);
/* Whether every reader finds the end of the head p[0..n), or of the part of one, at the same byte:
 * lines end with CR LF, and there are no other control characters. That of p[0..checked) is so. */
bool bp_ws_head_is_clear(const uint8_t *p, uint32_t n, uint32_t checked);
/* A request, up to its empty line. `accept`: what the response must have. */
enum bp_ws bp_ws_request(const uint8_t *p, uint32_t n, uint8_t accept[BP_WS_ACCEPT]);
enum bp_ws bp_ws_response(const uint8_t *p, uint32_t n, const uint8_t accept[BP_WS_ACCEPT]);

#endif
