/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SINGLE_PUBLISH_H
#define BP_SERVICES_MQTT_SINGLE_PUBLISH_H

#include "services/mqtt/burst.h"
#include "services/mqtt/mqtt_worker.h"
#include "proto/net/checksum_four.h"
#include "proto/net/frame.h"
#include "proto/net/vec16.h"

/*
 * A frame that burst.c processes without the general path: untagged IPv4 without options, to the
 * broker, a TCP segment that continues its stream and contains exactly one PUBLISH, on the topic
 * that this client published last, evaluated by at most one rule without state. Nearly all frames
 * of a sensor have this form.
 *
 * No function here writes to a flow. A frame with any difference takes the general path
 * (segment.c), which starts from the beginning: the burst path can only cost time, and its results
 * never differ.
 */

#define BP_SINGLE_L3 14u
#define BP_SINGLE_L4 34u
/* TCP flags that are compared: all but PSH, and those of ECN. */
#define BP_SINGLE_TCP_FLAGS (BP_TCP_FIN | BP_TCP_SYN | BP_TCP_RST | BP_TCP_ACK | BP_TCP_URG)

/* ---- the frame alone ---- */

/* bp_inspect_hash() for such a frame; `network`: bp_flow_k1_network(). */
static inline void bp_single_hash(const struct bp_mqtt_worker *in, const uint8_t *frame,
	uint64_t network, struct bp_lookup *l)
{
	uint64_t pair;

	memcpy(&pair, frame + BP_SINGLE_L3 + 12, 8); /* source low, destination high */
	l->k0 = pair << 32 | pair >> 32;
	l->k1 = network | bp_be32(frame + BP_SINGLE_L4);
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
}

/*
 * As good as bp_sum() of p[0..len), len 16 to 65,535: the same modulo 65,535, and below 2^63. 16
 * bytes at a time: bp_v4_words() adds signed words, so each is moved down by 32,768 first, and what
 * this takes from each of the four lanes, 65,536, is given back at the end as 1, its remainder. The
 * lanes begin with a multiple of 65,535 that keeps them from below zero.
 */
static inline uint64_t bp_single_sum(const uint8_t *p, uint32_t len)
{
	/* moves the last bytes of 16 to the front, zeros behind them: loaded from the first of them
	 * on */
	static const uint8_t front[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80};
	static const bp_v8_s16 all = {1, 1, 1, 1, 1, 1, 1, 1};
	const uint8_t *last = p + len - 16;
	bp_v4 s = (bp_v4){0} + 4097 * 0xffff;

	for (; p < last; p += 16)
		s += bp_v4_words(bp_v16_load(p), all);
	s += bp_v4_words(bp_v16_pick(bp_v16_load(last), bp_v16_load(front + (p - last))), all);
	return bp_v16_first((bp_v16)s) + bp_v16_last((bp_v16)s) + (len + 15) / 16 * 4;
}

/* Whether both checksums of such a frame are right; `total` is the IPv4 header's total length. */
static inline bool bp_single_checksum_ok(const uint8_t *frame, uint32_t total)
{
	const uint8_t *ip = frame + BP_SINGLE_L3;
	uint64_t first = bp_sum_word(ip), addresses = bp_sum_word(ip + 12), header;
	uint64_t pseudo = __builtin_bswap16((uint16_t)(total - 20)) + (6u << 8);
	uint32_t rest;

	memcpy(&rest, ip + 8, 4);
	/* added in halves there is room for all */
	addresses = (addresses & 0xffffffff) + (addresses >> 32);
	header = (first & 0xffffffff) + (first >> 32) + rest + addresses;
	return bp_sum_ok(header) &&
	       bp_sum_ok(bp_single_sum(frame + BP_SINGLE_L4, total - 20) + (pseudo + addresses));
}

/* The offset of the payload of the TCP segment. */
static inline uint32_t bp_single_payload(const uint8_t *frame)
{
	return BP_SINGLE_L4 + (uint32_t)(frame[BP_SINGLE_L4 + 12] >> 4) * 4;
}

/*
 * The one PUBLISH of which the segment consists. Headers and `total` were checked: the TCP header
 * ends within the datagram and this within the frame. The checksums are the caller's business.
 */
static inline void bp_single_parse(const struct bp_mqtt_worker *in, const uint8_t *frame,
	uint32_t total, struct bp_single_publish *p)
{
	uint32_t end = BP_SINGLE_L3 + total, at = bp_single_payload(frame), remaining, topic_len;
	const uint8_t *head = frame + at;

	p->body = 0;
	/* nor less than a topic of one character */
	if ((frame[BP_SINGLE_L4 + 13] & BP_SINGLE_TCP_FLAGS) != BP_TCP_ACK ||
		frame[BP_SINGLE_L3 + 8] < in->min_ttl || at + 5 > end ||
		(head[0] & in->single_mask) != 0x30 || end > UINT16_MAX)
		return;
	remaining = head[1];
	p->len = (uint16_t)(end - at);
	at += 2;
	if (remaining >= 0x80) {
		if (head[2] >= 0x80)
			return;
		remaining = (remaining & 0x7f) + ((uint32_t)head[2] << 7);
		at++;
	}
	if (at + remaining != end)
		return;
	topic_len = bp_be16(frame + at);
	if (topic_len + 2 > remaining)
		return;
	at += 2;
	p->topic_hash = bp_topic_hash(in, frame + at, topic_len);
	at += topic_len;
	if (head[0] & 0x02) {
		if (at + 2 > end || bp_be16(frame + at) == 0)
			return;
		at += 2;
	}
	p->body = (uint16_t)at;
	p->end = (uint16_t)end;
}

/* The fields of that PUBLISH. False: it has properties. */
static inline bool bp_single_fields(const uint8_t *frame, const struct bp_single_publish *p,
	uint8_t version, struct bp_mqtt_publish *out)
{
	const uint8_t *head = frame + bp_single_payload(frame), *packet, *end = frame + p->end;

	packet = head + (head[1] < 0x80 ? 2 : 3);
	*out = (struct bp_mqtt_publish){.topic = packet + 2,
		.topic_len = bp_be16(packet),
		.payload = frame + p->body,
		.packet_len = (uint32_t)(end - packet),
		.qos = head[0] >> 1 & 3,
		.retain = head[0] & 1};
	if (out->qos != 0)
		out->packet_id = bp_be16(out->payload - 2);
	if (version == BP_MQTT_V5) {
		if (out->payload == end || *out->payload != 0)
			return false;
		out->properties = ++out->payload; /* none */
	}
	out->payload_len = (uint32_t)(end - out->payload);
	return true;
}

/* ---- the frame and its flow ---- */

/* A flow's `stream` of this direction, `version` and so on, in the form that bp_single_flow_is()
 * compares. */
#define SINGLE_PROOF (BP_FLOW_IN_TABLE | BP_FLOW_PROVEN)
#define SINGLE_PROOF_ASKED (SINGLE_PROOF | BP_FLOW_MARKED | BP_FLOW_WEBSOCKET)
#define BP_SINGLE_STATE(version) ((bp_v16){BP_STREAM_BOUNDARY, 0, (version), 0, 0, SINGLE_PROOF})

/*
 * Whether this is the flow of the lookup, in a state in which a PUBLISH of the client can be read
 * immediately, and the topic is the one that it published last, under the current rules.
 * All conditions are compared in one step: only their conjunction matters, and it is nearly always
 * true. `memo` is memo_rule and memo_gen, masked by `memo_mask`; likewise `state` and
 * `version_asked`. All but the first three arguments are constants of a loop.
 */
static inline bool bp_single_flow_is(const struct bp_flow *f, const struct bp_lookup *l,
	const struct bp_single_publish *p, bp_v16 memo, bp_v16 memo_mask, bp_v16 state,
	uint8_t version_asked)
{
	/* stream[2], version, flags, pending, proof, life: not what is written for each frame,
	 * which a wider load would have to wait for when the next one is of the same flow */
	const bp_v16 state_asked = {0xff, 0, version_asked,
		BP_FLOW_IP6 | BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1), 0xff,
		SINGLE_PROOF_ASKED, 0, 0};
	const uint8_t *line = (const uint8_t *)f;
	bp_v16 differ;

	_Static_assert(offsetof(struct bp_flow, k1) == 8 && offsetof(struct bp_lookup, k1) == 8,
		"both words of a key lie together");
	_Static_assert(offsetof(struct bp_flow, memo_hash) == 32 &&
			       offsetof(struct bp_flow, memo_gen) == 44,
		"what is known of the last topic lies together");
	_Static_assert(offsetof(struct bp_flow, stream) == 52 &&
			       offsetof(struct bp_flow, flags) == 55 &&
			       offsetof(struct bp_flow, pending) == 56 &&
			       offsetof(struct bp_flow, proof) == 57,
		"the bytes of a flow's state lie together");
	differ = bp_v16_load(line) ^ bp_v16_load((const uint8_t *)l);
	differ |= (bp_v16_load(line + 32) & memo_mask) ^
		  (bp_v16_load_half((const uint8_t *)&p->topic_hash) | memo);
	differ |= (bp_v16_load_half(f->stream) & state_asked) ^ state;
	return bp_v16_none(differ);
}

/*
 * Whether the segment is the next of its stream. An acknowledgement beyond what was seen of the
 * broker shows a gap there, or is anybody's; so is one of long ago.
 */
static inline bool bp_single_in_sequence(const struct bp_flow *f, const uint8_t *tcp)
{
	uint32_t ack = bp_be32(tcp + 8);

	if (bp_be32(tcp + 4) != f->next[BP_TO_BROKER])
		return false;
	return __builtin_expect(f->next[BP_FROM_BROKER] - ack <= BP_ACK_WINDOW, 1) ||
	       f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN ||
	       f->stream[BP_FROM_BROKER] >= BP_STREAM_RESYNC;
}

#endif
