/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/stream.h"

#include <stdlib.h>

/*
 * MQTT in WebSocket: between the bytes in sequence (segment.c) and the control packets (packet.c).
 *
 * The payload of a frame is passed on as it arrives, with the sequence numbers that its bytes have
 * in TCP: packets and frames may be cut anywhere, independently of each other. What is kept between
 * two segments is 12 bytes for each direction, in the flow, where a flow without WebSocket has the
 * state of a search: so it is undone together with the position if the process is killed, and found
 * by the next one.
 *
 * There is no such search here: in a masked stream nothing shows where a frame begins. A connection
 * that was picked up mid-stream, or that lost bytes outside of the payload of one frame, is not
 * inspected.
 */

/* Bytes without their mask that are passed on at a time: a segment, and most that waited. */
#define CHUNK 65536u

bool bp_websocket_create(struct bp_mqtt_worker *in)
{
	in->unmasked = malloc(CHUNK);
	return in->unmasked != NULL;
}

uint8_t bp_websocket_of_port(const struct bp_mqtt_worker *in, uint16_t broker_port)
{
	for (uint32_t i = in->n_ports - in->n_websocket_ports; i < in->n_ports; i++)
		if (in->port[i] == broker_port)
			return BP_FLOW_WEBSOCKET;
	return 0;
}

void bp_websocket_lose(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t seq)
{
	for (unsigned d = 0; d < 2; d++) {
		if (f->stream[d] != BP_STREAM_UNSEEN)
			continue;
		if (d == dir)
			f->next[d] = f->top[d] = seq;
		else if (in->frame != NULL && (in->frame->tcp_flags & BP_TCP_ACK))
			f->next[d] = f->top[d] = in->frame->ack;
	}
	bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM);
}

static void stop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, enum bp_ws e)
{
	static const uint16_t reason[] = {
		[BP_WS_E_UPGRADE] = BP_C_NOT_INSPECTED_WEBSOCKET_UPGRADE,
		[BP_WS_E_EXTENSION] = BP_C_NOT_INSPECTED_WEBSOCKET_EXTENSION,
		[BP_WS_E_TEXT] = BP_C_NOT_INSPECTED_WEBSOCKET_TEXT,
		[BP_WS_E_FRAME] = BP_C_NOT_INSPECTED_WEBSOCKET_FRAME,
	};

	bp_mqtt_stop_inspection(in, f, dir, reason[e]);
}

/* ---- upgrade ---- */

/* A complete head. The response is that of the request before it. */
static void head(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	struct bp_websocket *ws = &f->websocket;
	enum bp_ws e = BP_WS_E_UPGRADE;

	bp_work_add(&in->work, n / 4);
	if (dir == BP_TO_BROKER)
		e = bp_ws_request(p, n, ws->accept);
	else if (ws->upgraded[BP_TO_BROKER])
		e = bp_ws_response(p, n, ws->accept);
	if (e != BP_WS_OK) {
		stop(in, f, dir, e);
		return;
	}
	ws->upgraded[dir] = 1;
	if (dir == BP_FROM_BROKER) {
		bp_websocket_judged_from(f, f->next[BP_TO_BROKER]);
		bp_tally(in, BP_C_CONN_WEBSOCKET);
	}
}

/* Adds p[0..n) to the kept part of a head. False: there is no memory, which is counted. */
static bool keep_head(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	const uint32_t have = f->reassembly_len[dir], need = have + n;
	bp_reassembly_ref *ref = &f->reassembly[dir];

	if ((*ref == 0 || bp_reassembly_size(in->reassembly, *ref) < need) &&
		!bp_flow_grow(in, f, ref, have, need, 2 * (uint64_t)need))
		return false;
	memcpy(bp_reassembly_data(in->reassembly, *ref) + have, p, n);
	f->reassembly_len[dir] = need;
	return true;
}

/* Of a head of which p[0..have) was read, `end` its length, or 0. A request that the broker takes
 * for complete, and this code does not, is one behind which any frame would pass unread. */
static bool is_clear(unsigned dir, const uint8_t *p, uint32_t have, uint32_t n, uint32_t end)
{
	return dir != BP_TO_BROKER || bp_ws_head_is_clear(p, end != 0 ? end : have + n, have);
}

/* Reads more of a head. Returns the number of bytes read. */
static uint32_t read_head(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	const uint32_t have = f->reassembly_len[dir];
	const uint8_t *kept;
	uint32_t end;

	if (n > BP_WS_HEAD_MAX - have)
		n = BP_WS_HEAD_MAX - have;
	if (have == 0 && (end = bp_ws_head_end(p, n, 0)) != 0 && is_clear(dir, p, 0, n, end)) {
		head(in, f, dir, p, end);
		return end;
	}
	if (!keep_head(in, f, dir, p, n)) {
		stop(in, f, dir, BP_WS_E_UPGRADE);
		return n;
	}
	kept = bp_reassembly_data(in->reassembly, f->reassembly[dir]);
	end = bp_ws_head_end(kept, have + n, have);
	if (!is_clear(dir, kept, have, n, end)) {
		stop(in, f, dir, BP_WS_E_UPGRADE);
		return n;
	}
	if (end == 0) {
		if (have + n == BP_WS_HEAD_MAX)
			stop(in, f, dir, BP_WS_E_UPGRADE);
		return n;
	}
	head(in, f, dir, kept, end);
	bp_cut_drop(in, f, dir);
	return end - have;
}

/* ---- frames ---- */

/* A part of the payload of a frame. Returns the number of bytes read. */
static uint32_t read_payload(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	struct bp_ws_frames *s = &f->websocket.frames[dir];

	if (n > s->left)
		n = s->left;
	if (bp_ws_is_data(s)) {
		if (dir == BP_TO_BROKER) {
			if (n > CHUNK)
				n = CHUNK;
			bp_ws_unmask(s, in->unmasked, p, n);
			bp_work_add(&in->work, n / 16);
			p = in->unmasked;
			bp_enforce_masked(in, s->mask, seq);
		}
		n = bp_mqtt_read(in, f, dir, p, n, seq);
	}
	/* the frame ends where its last byte was read */
	if (n != 0 && bp_stream_tracked(f, dir))
		bp_ws_advance(s, n);
	return n;
}

/* Nothing of MQTT follows a Close frame, which answers or begins the end (RFC 6455, 5.5.1). */
static void close_frame(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	if (f->stream[dir] != BP_STREAM_ENDED) {
		bp_cut_drop(in, f, dir);
		bp_packet_end(in, f, dir);
	}
}

/* Times that an incomplete header arrives, until mqtt.policy.fail decides about it: a sender that
 * sends more of it with the second time is heard, and one that cannot does not wait for ever. */
#define CUT_HEADERS_MAX 4u

/*
 * Of what a policy lets pass, the broker has to read the same packets. mosquitto 2.1 reads the
 * payload of a Pong as MQTT, takes bytes of the packet for read with an empty frame, and reads the
 * rest of a header that arrives in parts as payload.
 */
static bool is_misread(const struct bp_ws_frames *s)
{
	return bp_ws_is_data(s) ? s->left == 0 : bp_ws_is_pong(s) && s->left != 0;
}

/* An incomplete header that begins in this segment. Whether it is not forwarded, but comes again.
 */
static bool comes_again(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (in->enforced == NULL || !in->enforced->reserved)
		return false;
	bp_work_add(&in->work, BP_WORK_PACKET);
	if (++f->websocket.cut_headers < CUT_HEADERS_MAX)
		return true;
	f->websocket.cut_headers = 0;
	bp_policy_unread(in, f, BP_TO_BROKER);
	return bp_enforce_refused(in);
}

/* Reads a header, or a part of it. Returns the number of bytes read. */
static uint32_t read_header(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const uint8_t *p, uint32_t n)
{
	struct bp_ws_frames *s = &f->websocket.frames[dir];
	const struct bp_ws_frames before = *s;
	uint32_t taken;
	const enum bp_ws e = bp_ws_header(s, dir == BP_TO_BROKER, p, n, &taken);

	if (e > BP_WS_MORE) {
		stop(in, f, dir, e);
		return taken;
	}
	if (e == BP_WS_MORE) {
		if (dir != BP_TO_BROKER || before.have != 0 || !comes_again(in, f))
			return taken;
		*s = before;
		return 0;
	}
	bp_work_add(&in->work, BP_WORK_PACKET);
	if (dir == BP_TO_BROKER && in->enforced != NULL) {
		f->websocket.cut_headers = 0;
		if (is_misread(s))
			bp_policy_unread(in, f, dir);
	}
	if (s->left == 0)
		bp_ws_advance(s, 0);
	return taken;
}

/* Reads a header, or a part of the payload. Returns the number of bytes read. */
static uint32_t read_frame(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	const struct bp_ws_frames *s = &f->websocket.frames[dir];
	const uint32_t taken = bp_ws_in_payload(s) ? read_payload(in, f, dir, p, n, seq)
						   : read_header(in, f, dir, p, n);

	if (s->flags & BP_WS_CLOSED)
		close_frame(in, f, dir);
	return taken;
}

/* The client's first bytes are no request of HTTP: an ordinary connection. */
static void is_plain(struct bp_flow *f)
{
	f->proof &= (uint8_t)~BP_FLOW_WEBSOCKET;
	memset(f->resync, 0, sizeof(f->resync));
}

static bool begins_plain(const struct bp_flow *f, unsigned dir, const uint8_t *p)
{
	return dir == BP_TO_BROKER && !f->websocket.upgraded[dir] && f->reassembly_len[dir] == 0 &&
	       p[0] != 'G';
}

uint32_t bp_websocket_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	const uint32_t all = n;

	if (begins_plain(f, dir, p)) {
		is_plain(f);
		return bp_opening_read(in, f, dir, p, n, seq);
	}
	while (n != 0 && (bp_stream_may_read(f, dir) || bp_stream_may_read_auth(f, dir))) {
		uint32_t taken;

		if (!bp_stream_tracked(f, dir))
			return all;
		if (f->websocket.frames[dir].flags & BP_WS_CLOSED) {
			bp_tally(in, BP_C_AFTER_DISCONNECT);
			in->packet_seq = seq;
			if (dir == BP_TO_BROKER)
				bp_enforce_behind_end(in, f);
			return all;
		}
		taken = f->websocket.upgraded[dir] ? read_frame(in, f, dir, p, n, seq)
						   : read_head(in, f, dir, p, n);
		p += taken;
		n -= taken;
		seq += taken;
		if (taken == 0)
			break;
	}
	return all - n;
}

/* ---- judged bytes, which may be sent again ---- */

static void keep_place(struct bp_flow *f, uint32_t at, const struct bp_ws_frames *s)
{
	f->websocket.judged = (struct bp_ws_place){.at = at,
		.left = s->left,
		.head = {s->head[0], s->head[1]},
		.have = s->have,
		.flags = s->flags};
}

static struct bp_ws_frames frames_at(const struct bp_ws_place *place)
{
	return (struct bp_ws_frames){.left = place->left,
		.head = {place->head[0], place->head[1]},
		.have = place->have,
		.flags = place->flags};
}

/* p[0..n) follows. False: it is not of frames, which was found when it was read. */
static bool follow(struct bp_mqtt_worker *in, struct bp_ws_frames *s, const uint8_t *p, uint32_t n,
	bool is_limited)
{
	while (n != 0) {
		uint32_t taken = n < s->left ? n : s->left;

		if (bp_ws_in_payload(s)) {
			bp_ws_advance(s, taken);
		} else {
			const enum bp_ws e = bp_ws_header(s, true, p, n, &taken);

			bp_work_add(&in->work, BP_WORK_PACKET);
			if (e > BP_WS_MORE || (is_limited && !bp_work_may(&in->work)))
				return false;
			if (e == BP_WS_OK && s->left == 0)
				bp_ws_advance(s, 0);
		}
		p += taken;
		n -= taken;
	}
	return true;
}

void bp_websocket_judged_from(struct bp_flow *f, uint32_t at)
{
	if (f->websocket.upgraded[BP_FROM_BROKER])
		keep_place(f, at, &f->websocket.frames[BP_TO_BROKER]);
}

void bp_websocket_acknowledged(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p,
	uint32_t from, uint32_t n, uint32_t end)
{
	const struct bp_ws_place *place = &f->websocket.judged;
	struct bp_ws_frames s = frames_at(place);

	if (!f->websocket.upgraded[BP_FROM_BROKER])
		return;
	if (from + n == end && end == f->next[BP_TO_BROKER])
		keep_place(f, end, &f->websocket.frames[BP_TO_BROKER]);
	else if (place->at == from && follow(in, &s, p, n, false))
		keep_place(f, from + n, &s);
}

uint32_t bp_websocket_whole_headers(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *p, uint32_t from, uint32_t n)
{
	const struct bp_ws_place *place = &f->websocket.judged;
	struct bp_ws_frames s = frames_at(place);

	if (!f->websocket.upgraded[BP_FROM_BROKER] || place->at != from)
		return n;
	/* above the time of its connection it is sent once more */
	if (!follow(in, &s, p, n, true))
		return 0;
	if (bp_ws_in_payload(&s))
		return n;
	return s.have < n ? n - s.have : 0;
}

bool bp_websocket_gap(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint32_t gap)
{
	struct bp_ws_frames *s = &f->websocket.frames[dir];

	if (!f->websocket.upgraded[dir] || !bp_ws_in_payload(s) || gap > s->left)
		return false;
	if (bp_ws_is_data(s) && !bp_cut_gap(in, f, dir, gap))
		return false;
	bp_ws_advance(s, gap);
	return true;
}

/* ---- adopt.c ---- */

bool bp_websocket_is_sound(const struct bp_flow *f)
{
	for (unsigned dir = 0; dir < 2; dir++)
		if (f->websocket.upgraded[dir] > 1 || !bp_ws_is_sound(&f->websocket.frames[dir]))
			return false;
	if (f->websocket.upgraded[BP_FROM_BROKER]) {
		const struct bp_ws_frames s = frames_at(&f->websocket.judged);

		return bp_ws_is_sound(&s);
	}
	return true;
}

bool bp_websocket_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] == BP_STREAM_BOUNDARY && f->reassembly_need[dir] == 0 &&
	       f->reassembly_len[dir] < BP_WS_HEAD_MAX &&
	       bp_adopt_block(in, f, f->reassembly[dir], f->reassembly_len[dir]);
}
