/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_FAST_H
#define BP_DATAPLANE_MQTT_FAST_H

#include "dataplane/mqtt/batch.h"
#include "dataplane/mqtt/inspector.h"
#include "proto/frame.h"
#include "proto/number.h"
#include "proto/vec16.h"
#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

/*
 * The frame that nearly every frame is: untagged IPv4 without options, to the broker, a TCP segment
 * that continues its stream, in it exactly one PUBLISH on the topic that this client published
 * last, judged by one rule that keeps no state. All of it inline and straight ahead, for the node
 * that reads bursts.
 *
 * A batch goes through five steps, each a loop over its frames: hash, probe, look, verify, decide.
 * All but the last change nothing, so that the processor works on several frames at once; the last
 * is done frame by frame, in order, and takes what was probed for no more than a guess.
 *
 * Nothing is written before everything is decided: whenever something is not as usual the answer is
 * "no" and the caller takes the general way (inspect.h), which starts from the beginning. So the
 * fast path can only be slower to say no, never differ in what is seen.
 */

#define BP_FAST_L3 14u
#define BP_FAST_L4 34u

/* What a batch adds to the counters, once. */
struct bp_fast_tally {
	uint32_t publishes; /* each is a segment, a packet, a memo hit */
	uint32_t matched;   /* of these, with a rule */
	/* Rule statistics not yet written: mostly many frames in a row have one rule. */
	uint32_t slot, slot_matched;
};

/* Whether what clients publish is judged at all. */
static inline bool bp_fast_judges(const struct bp_inspector *in)
{
	return in->judged[BP_TO_BROKER];
}

static inline void bp_fast_flush_rule(struct bp_inspector *in, struct bp_fast_tally *t)
{
	struct bp_rule_stats *stats = &in->rule_stats[t->slot];

	/* this worker is the row's only writer: a plain add, seen by readers as one store */
	atomic_store_explicit(&stats->matched,
		atomic_load_explicit(&stats->matched, memory_order_relaxed) + t->slot_matched,
		memory_order_relaxed);
	t->matched += t->slot_matched;
	t->slot_matched = 0;
}

static inline void bp_fast_flush(struct bp_inspector *in, struct bp_fast_tally *t)
{
	uint64_t *v = in->counters->v;

	bp_fast_flush_rule(in, t);
	v[BP_C_SEG_INSPECTED] += t->publishes;
	v[BP_C_MQTT_PACKETS] += t->publishes;
	v[BP_C_MQTT_PUBLISH] += t->publishes;
	v[BP_C_TOPIC_MEMO] += t->publishes;
	v[BP_C_MATCH] += t->matched;
	v[BP_C_MATCH_NONE] += t->publishes - t->matched;
}

/* bp_inspect_hash() for such a frame. */
static inline void bp_fast_hash(
	const struct bp_inspector *in, const uint8_t *frame, struct bp_lookup *l)
{
	uint64_t pair;

	memcpy(&pair, frame + BP_FAST_L3 + 12, 8); /* source low, destination high */
	l->k0 = pair << 32 | pair >> 32;
	l->k1 = bp_be32(frame + BP_FAST_L4);
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
}

#if defined(__SSSE3__)

/*
 * bp_sum() of p[0..len), which lies behind at least 16 readable bytes, 16 bytes at a time. pmaddwd
 * adds signed words, so each is moved down by 32,768 first and the sum is moved up again at the
 * end, which stays far from 2^31 in a lane for the 65,535 bytes that a datagram may have.
 */
static inline uint64_t bp_fast_sum(const uint8_t *p, uint32_t len)
{
	/* moves the last r of 16 bytes to the front, zeros behind them: loaded from 16 - r on */
	static const uint8_t front[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80};
	const __m128i down = _mm_set1_epi16((short)0x8000), one = _mm_set1_epi16(1);
	uint32_t rest = len & 15;
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + len - 16));
	__m128i move = _mm_loadu_si128((const __m128i *)(const void *)(front + 16 - rest));
	__m128i s = _mm_madd_epi16(_mm_xor_si128(_mm_shuffle_epi8(v, move), down), one);
	__m128i t = _mm_setzero_si128();
	uint32_t left = len;

	for (; left >= 32; left -= 32, p += 32) {
		v = _mm_loadu_si128((const __m128i *)(const void *)p);
		s = _mm_add_epi32(s, _mm_madd_epi16(_mm_xor_si128(v, down), one));
		v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));
		t = _mm_add_epi32(t, _mm_madd_epi16(_mm_xor_si128(v, down), one));
	}
	if (left >= 16) {
		v = _mm_loadu_si128((const __m128i *)(const void *)p);
		s = _mm_add_epi32(s, _mm_madd_epi16(_mm_xor_si128(v, down), one));
	}
	s = _mm_add_epi32(s, t);
	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
	return (uint64_t)((int64_t)_mm_cvtsi128_si32(s) + (int64_t)(len / 16 + 1) * 8 * 0x8000);
}

#else

static inline uint64_t bp_fast_sum(const uint8_t *p, uint32_t len)
{
	return bp_sum(p, len, 0);
}

#endif

/* Whether both checksums of such a frame are right; `total` is the IPv4 header's total length. */
static inline bool bp_fast_checksum_ok(const uint8_t *frame, uint32_t total)
{
	const uint8_t *ip = frame + BP_FAST_L3;
	uint64_t first = bp_sum_word(ip), addresses = bp_sum_word(ip + 12), header;
	uint64_t pseudo = __builtin_bswap16((uint16_t)(total - 20)) + (6u << 8);
	uint32_t rest;

	memcpy(&rest, ip + 8, 4);
	/* added in halves there is room for all */
	addresses = (addresses & 0xffffffff) + (addresses >> 32);
	header = (first & 0xffffffff) + (first >> 32) + rest + addresses;
	return bp_sum_ok(header) &&
	       bp_sum_ok(bp_fast_sum(frame + BP_FAST_L4, total - 20) + pseudo + addresses);
}

/* Where the payload of the TCP segment begins. */
static inline uint32_t bp_fast_at(const uint8_t *frame)
{
	return BP_FAST_L4 + (uint32_t)(frame[BP_FAST_L4 + 12] >> 4) * 4;
}

/*
 * The one PUBLISH of which the segment consists. Headers and `total` were checked: the TCP header
 * ends within the datagram and this within the frame. The checksums are the caller's business.
 */
static inline void bp_fast_read(const struct bp_inspector *in, const uint8_t *frame, uint32_t total,
	struct bp_fast_publish *p)
{
	uint32_t end = BP_FAST_L3 + total, at = bp_fast_at(frame), remaining, topic_len;
	const uint8_t *head = frame + at;

	p->body = 0;
	/* not: QoS 2, or DUP, which is counted; nor less than a topic of one character */
	if ((frame[BP_FAST_L4 + 13] & 0x17) != BP_TCP_ACK || at + 5 > end ||
		(head[0] & 0xfc) != 0x30 || end > UINT16_MAX)
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

/* Reads p[0..n), n > 0, which lies behind at least eight readable bytes, as bp_number_digits(). */
static inline bool bp_fast_digits(const uint8_t *p, uint32_t n, uint32_t *digits, unsigned *point)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return n <= BP_NUMBER_SHORT &&
	       bp_number_digits(bp_load_le64(p + n - 8) >> (64 - 8 * n), n, digits, point);
#else
	return n <= BP_NUMBER_SHORT && bp_number_digits(bp_load_short(p, n), n, digits, point);
#endif
}

/* Where the number stands, when that is known without parsing; else NULL. */
static inline const uint8_t *bp_fast_number(
	struct bp_inspector *in, const struct bp_rule *rule, const uint8_t *payload, uint32_t *n)
{
	const struct bp_json_layout *layout;

	if (rule->fast == BP_RULE_FAST_TEXT)
		return *n != 0 ? payload : NULL;
	if (rule->fast != BP_RULE_FAST_JSON)
		return NULL;
	layout = bp_layouts_find(in->layouts, in->gen, rule->source, payload, *n);
	if (layout == NULL)
		return NULL;
	*n = layout->n;
	return payload + layout->at;
}

/* Whether the value raises, in *raises. False: there is no value, or it can't be judged here. */
static inline bool bp_fast_judge(struct bp_inspector *in, const struct bp_rule *rule,
	const uint8_t *payload, uint32_t len, bool *raises)
{
	uint32_t digits, n = len;
	const uint8_t *number;
	unsigned point;
	double value;

	if (rule->fast == BP_RULE_FAST_NO)
		return false;
	number = bp_fast_number(in, rule, payload, &n);
	if (__builtin_expect(number != NULL && bp_fast_digits(number, n, &digits, &point), 1)) {
		*raises = bp_short_ranges_hold(&rule->short_raise, digits, point);
		return true;
	}
	if (!bp_value_at(in, rule->source, payload, len, &value))
		return false;
	*raises = bp_condition_holds(&rule->raise, value);
	return true;
}

/* Whether the flow is in the state in which a PUBLISH of the client can be read at once. */
static inline bool bp_fast_ready(const struct bp_flow *f)
{
	/* stream[2], version, flags, pending, used, life: compared as one word */
	static const uint8_t mask_bytes[8] = {
		0xff, 0, 0, BP_FLOW_IP6 | BP_FLOW_CLOSED, 0xff, 0xff, 0, 0};
	static const uint8_t want_bytes[8] = {BP_STREAM_BOUNDARY, 0, 0, 0, 0, 1, 0, 0};
	uint64_t state, mask, want;

	_Static_assert(
		offsetof(struct bp_flow, stream) + 2 == offsetof(struct bp_flow, version) &&
			offsetof(struct bp_flow, stream) + 3 == offsetof(struct bp_flow, flags) &&
			offsetof(struct bp_flow, stream) + 4 == offsetof(struct bp_flow, pending) &&
			offsetof(struct bp_flow, stream) + 5 == offsetof(struct bp_flow, used),
		"the bytes of a flow's state lie together");
	memcpy(&state, f->stream, 8);
	memcpy(&mask, mask_bytes, 8);
	memcpy(&want, want_bytes, 8);
	return (state & mask) == want && (f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) != 0;
}

/*
 * Whether the segment is the next of its stream. An acknowledgement beyond what was seen of the
 * broker shows a gap there.
 */
static inline bool bp_fast_in_sequence(const struct bp_flow *f, const uint8_t *tcp)
{
	uint32_t ack = bp_be32(tcp + 8);

	if (bp_be32(tcp + 4) != f->next[BP_TO_BROKER])
		return false;
	return __builtin_expect(ack == f->next[BP_FROM_BROKER], 1) ||
	       (int32_t)(ack - f->next[BP_FROM_BROKER]) < 0 ||
	       f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN ||
	       f->stream[BP_FROM_BROKER] >= BP_STREAM_SEEK;
}

static inline void bp_fast_count_rule(
	struct bp_inspector *in, struct bp_fast_tally *t, uint32_t slot)
{
	if (__builtin_expect(slot != t->slot, 0)) {
		bp_fast_flush_rule(in, t);
		t->slot = slot;
	}
	t->slot_matched++;
}

/*
 * Decides on a frame that was read. False: nothing was done, take the general way. `l` as the
 * lookup left it; the candidate may be another flow by now, or none. A topic is known by its hash,
 * which covers its length.
 *
 * *raised says that the value raises an alarm, which bp_fast_raise() is to tell: not at once, but
 * before any frame goes the general way and at the end of the batch. A branch on every value that
 * one in twenty takes is one that the processor mispredicts, and each time the work on several
 * frames is thrown away.
 */
static inline bool bp_fast_segment(struct bp_inspector *in, const uint8_t *frame,
	const struct bp_lookup *l, const struct bp_fast_publish *p, struct bp_fast_tally *tally,
	bool *raised)
{
	struct bp_flow *f = l->flow;
	uint32_t body = p->body;
	const struct bp_rule *rule;

	if (f->k0 != l->k0 || f->k1 != l->k1 || !bp_fast_ready(f) ||
		f->memo_hash != p->topic_hash || f->memo_gen != in->gen ||
		!bp_fast_in_sequence(f, frame + BP_FAST_L4))
		return false;
	if (f->version == BP_MQTT_V5) {
		if (body == p->end || frame[body] != 0)
			return false; /* properties */
		body++;
	}
	*raised = false;
	if (__builtin_expect(f->memo_rule < BP_MEMO_MANY, 1)) {
		rule = bp_ruleset_rule(in->rules, f->memo_rule);
		if (!bp_fast_judge(in, rule, frame + body, p->end - body, raised))
			return false;
		bp_fast_count_rule(in, tally, rule->slot);
	} else if (f->memo_rule == BP_MEMO_MANY) {
		return false;
	}
	f->seen = in->now_ticks;
	f->next[BP_TO_BROKER] += p->len;
	f->publishes++;
	tally->publishes++;
	return true;
}

/* fast.c: tells the alarm of such a frame. */
void bp_fast_raise(struct bp_inspector *in, const uint8_t *frame, struct bp_flow *f,
	const struct bp_fast_publish *p);

#endif
