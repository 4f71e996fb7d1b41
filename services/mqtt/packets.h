/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_PACKETS_H
#define BP_SERVICES_MQTT_PACKETS_H

#include "services/mqtt/mqtt_worker.h"

/* From bytes in sequence to control packets. */

/* packet.c: bytes in sequence, to control packets. `seq`: sequence number of p[0]. Returns how
 * many were read: less than n where what follows may not be read yet. */
uint32_t bp_mqtt_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p,
	uint32_t n, uint32_t seq);
/* identity.c: the client identifier and the user name of a CONNECT, or another identifier. */
void bp_mqtt_keep_identity(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c);
void bp_mqtt_keep_client_id(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t n);
/* What another gateway of the fleet knows. `connect`: what is kept is of a CONNECT. */
struct bp_connection_record;
void bp_mqtt_adopt_identity(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, bool connect);
/* The user name, *len bytes; NULL: none is known. */
const uint8_t *bp_mqtt_user(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, uint16_t *len);
/* Whether the CONNECT was read, and its client identifier and user name are kept. */
bool bp_mqtt_is_identified(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* Stops the inspection of the connection for this reason; its bytes are still forwarded. */
void bp_mqtt_stop_inspection(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, bp_counter_t reason);
void bp_mqtt_stop_on_error(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_mqtt_error e);

/* packet.c: notes and counts what was odd in a packet that was let pass. */
void bp_mqtt_suspicious(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t violations);

/* The fixed header of a packet, in the view of this direction. */
enum bp_mqtt_error bp_packet_fixed(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	unsigned dir, const uint8_t *p, size_t len, struct bp_mqtt_fixed *out);
/* Whether a packet of this type may come now; if not, *why is the reason. */
bool bp_packet_in_order(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	uint8_t type, bp_counter_t *why);
void bp_packet_out_of_order(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t type, bp_counter_t why);
/* A complete packet. `body` is fixed->remaining bytes; `seq` is that of the fixed header; `head`:
 * how far the head of a PUBLISH was checked before, or NULL. */
void bp_packet_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_fixed *fixed, const uint8_t *body, uint32_t seq,
	struct bp_mqtt_head *head);

/* Nothing more of this direction is read: a broker reads nothing after the client's DISCONNECT, or
 * after it has sent its own. */
void bp_packet_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* websocket.c. False: no memory. */
bool bp_websocket_create(struct bp_mqtt_worker *in);
/* BP_FLOW_WEBSOCKET for connections to this TCP port, or 0. */
uint8_t bp_websocket_of_port(const struct bp_mqtt_worker *in, uint16_t broker_port);
/* bp_mqtt_read() for a flow with BP_FLOW_WEBSOCKET. */
uint32_t bp_websocket_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* bp_cut_gap() for such a flow. */
bool bp_websocket_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap);
/* The position is unknown, and so is the way back to one: inspection stops. `seq`: as in
 * bp_resync_enter(). */
void bp_websocket_lose(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq);
/* Judged bytes (judged.c) begin with number `at`, up to which the client's frames were read. */
void bp_websocket_judged_from(struct bp_flow *f, uint32_t at);
/* The first ones of those up to number `end`, p[0..n) with the numbers from `from` on, are
 * acknowledged. */
void bp_websocket_acknowledged(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p,
	uint32_t from, uint32_t n, uint32_t end);
/* How many of the first judged bytes p[0..n) are forwarded without a part of a header. */
uint32_t bp_websocket_whole_headers(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *p, uint32_t from, uint32_t n);
bool bp_websocket_is_sound(const struct bp_flow *f);
/* Adopts a head of an earlier process that is not complete; false: nothing is claimed. */
bool bp_websocket_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* tls.c: bp_mqtt_read() for a flow of which nothing of MQTT was read yet. */
uint32_t bp_opening_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* The names that the ends said; false: none are kept. */
bool bp_tls_names(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, struct bp_tls_info *info);
/* No more of it is read: inspection stops. */
void bp_tls_stop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The connection ends: no more of it is read, if it is one with TLS. */
void bp_tls_end(struct bp_mqtt_worker *in, struct bp_flow *f);
void bp_tls_release(struct bp_mqtt_worker *in, struct bp_flow *f);
bool bp_tls_is_sound(const struct bp_flow *f);
/* Adopts the names of an earlier process, if they are consistent. */
void bp_tls_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Adopts a hello that is not complete; false: nothing is claimed. */
bool bp_tls_adopt_hello(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* Bytes in sequence, of any flow. As bp_mqtt_read(). */
static inline uint32_t bp_stream_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	if (f->proof & BP_FLOW_WEBSOCKET)
		return bp_websocket_read(in, f, dir, p, n, seq);
	return bp_flow_is_opening(f) ? bp_opening_read(in, f, dir, p, n, seq)
				     : bp_mqtt_read(in, f, dir, p, n, seq);
}

/* cut_packet.c: a packet of which [p, p + n) is all that the segment has. */
void bp_cut_begin(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n);
/* Adds more bytes of it (BP_STREAM_REASSEMBLE). Returns the number of bytes consumed. */
uint32_t bp_cut_continue(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq);
/* `gap` bytes at the stream's position are lost; true when the position is still known after it. */
bool bp_cut_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap);
/* Type of the packet of which a part is carried (BP_STREAM_REASSEMBLE). */
uint8_t bp_cut_type(const struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
void bp_cut_drop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* Adopts the state BP_STREAM_REASSEMBLE of an earlier process; false: it is invalid, and nothing is
 * claimed. */
bool bp_cut_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

#endif
