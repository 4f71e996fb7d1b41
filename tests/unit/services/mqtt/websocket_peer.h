/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_WEBSOCKET_PEER_H
#define BP_TESTS_UNIT_SERVICES_MQTT_WEBSOCKET_PEER_H

#include "mqtt_peer.h"

/* WebSocket as both ends write it, from RFC 6455 alone, appended to `b`. */

#define WS_PORT 9001
#define WS_TEXT 0x1
#define WS_BINARY 0x2
#define WS_CLOSE 0x8
#define WS_PING 0x9
#define WS_PONG 0xa
#define WS_FIN 0x80

/* The example of RFC 6455, 1.3; `more`: further fields, each with its CRLF. */
void ws_request(struct bytes *b, const char *more);
void ws_response(struct bytes *b, const char *more);
/* A frame of `from`; `first`: its first byte. The mask of a client depends on its length. */
void ws_frame(struct bytes *b, unsigned from, uint8_t first, const void *payload, size_t n);
/* A message in one frame, of `mqtt`, which is freed. */
void ws_message(struct bytes *b, unsigned from, struct bytes *mqtt);

#endif
