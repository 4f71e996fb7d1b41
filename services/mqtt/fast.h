/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FAST_H
#define BP_SERVICES_MQTT_FAST_H

#include "services/mqtt/batch.h"
#include "services/mqtt/mqtt_worker.h"
#include "proto/frame.h"
#include "proto/number.h"
#include "proto/vec16.h"
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

/*
 * The frame that nearly every frame is: untagged IPv4 without options, to the broker, a TCP segment
 * that continues its stream, in it exactly one PUBLISH on the topic that this client published
 * last, judged by one rule that keeps no state. All of it inline and straight ahead, for the node
 * that reads bursts.
 *
 * A batch goes through five steps, each a loop over its frames: hash, probe, look, verify, decide.
 * All but the last change nothing, so that the processor works on several frames at once; the last
 * is done frame by frame, in order, and takes what was probed for no more than a guess. Of frames
 * that are alike look and verify are one step, four frames at a time (fast_four.h).
 *
 * Nothing is written before everything is decided: whenever something is not as usual the answer is
 * "no" and the caller takes the general way (inspect.h), which starts from the beginning. So the
 * fast path can only be slower to say no, never differ in what is seen.
 */

#define BP_FAST_L3 14u
#define BP_FAST_L4 34u
/* TCP flags that are looked at: all but PSH, and those of ECN. */
#define BP_FAST_FLAGS (BP_TCP_FIN | BP_TCP_SYN | BP_TCP_RST | BP_TCP_ACK | BP_TCP_URG)

/* What is to be done with a frame. */
enum bp_fast_verdict {
	BP_FAST_GENERAL, /* it goes the general way */
	BP_FAST_QUIET,
	BP_FAST_RAISES, /* an alarm */
};

/* What stands for the rule's slot where no rule matches. */
#define BP_FAST_NO_SLOT UINT32_MAX

/* What a batch adds to the counters, once; of rules, when another one follows: mostly many frames
 * in a row have the same. */
struct bp_fast_tally {
	uint32_t slot;      /* of the rule that the last frame matched, or BP_FAST_NO_SLOT */
	uint32_t in_a_row;  /* frames with that slot */
	uint32_t publishes; /* before these; each is a segment, a packet, a memo hit */
	uint32_t matched;   /* of those, with a rule */
};

/* What is the same for all frames of a batch. */
struct bp_fast_now {
	const struct bp_rule *rules;
	uintptr_t flows;
	uint64_t *note;  /* of the journal, by frame */
	bp_v16 memo_gen; /* the generation of the rules, where a flow has it behind its memo */
	uint32_t ticks;
};

/* Whether what clients publish is judged at all. */
static inline bool bp_fast_judges(const struct bp_mqtt_worker *in)
{
	return in->judged[BP_TO_BROKER];
}

static inline void bp_fast_flush_rule(struct bp_mqtt_worker *in, struct bp_fast_tally *t)
{
	t->publishes += t->in_a_row;
	if (t->slot != BP_FAST_NO_SLOT) {
		struct bp_rule_stats *stats = &in->rule_stats[t->slot];

		/* this worker is the row's only writer: a plain add, seen by readers as one store
		 */
		atomic_store_explicit(&stats->matched,
			atomic_load_explicit(&stats->matched, memory_order_relaxed) + t->in_a_row,
			memory_order_relaxed);
		t->matched += t->in_a_row;
	}
	t->in_a_row = 0;
}

static inline void bp_fast_flush(struct bp_mqtt_worker *in, struct bp_fast_tally *t)
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
	const struct bp_mqtt_worker *in, const uint8_t *frame, struct bp_lookup *l)
{
	uint64_t pair;

	memcpy(&pair, frame + BP_FAST_L3 + 12, 8); /* source low, destination high */
	l->k0 = pair << 32 | pair >> 32;
	l->k1 = bp_be32(frame + BP_FAST_L4);
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
}

#if defined(__SSE4_1__)

/*
 * As good as bp_sum() of p[0..len), len 16 to 65,535: the same modulo 65,535, and below 2^63. 16
 * bytes at a time: pmaddwd adds signed words, so each is moved down by 32,768 first, and what this
 * takes from each of the four lanes, 65,536, is given back at the end as 1, its remainder. The
 * lanes begin with a multiple of 65,535 that keeps them from below zero.
 */
static inline uint64_t bp_fast_sum(const uint8_t *p, uint32_t len)
{
	/* moves the last bytes of 16 to the front, zeros behind them: loaded from the first of them
	 * on */
	static const uint8_t front[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80};
	const __m128i down = _mm_set1_epi16((short)0x8000), one = _mm_set1_epi16(1);
	const uint8_t *last = p + len - 16;
	__m128i s = _mm_set1_epi32(4097 * 0xffff), v;

	for (; p < last; p += 16) {
		v = _mm_loadu_si128((const __m128i *)(const void *)p);
		s = _mm_add_epi32(s, _mm_madd_epi16(_mm_xor_si128(v, down), one));
	}
	v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)last),
		_mm_loadu_si128((const __m128i *)(const void *)(front + (p - last))));
	s = _mm_add_epi32(s, _mm_madd_epi16(_mm_xor_si128(v, down), one));
	return (uint64_t)_mm_cvtsi128_si64(s) + (uint64_t)_mm_extract_epi64(s, 1) +
	       (len + 15) / 16 * 4;
}

#else

static inline uint64_t bp_fast_sum(const uint8_t *p, uint32_t len)
{
	return bp_sum_fold(bp_sum(p, len, 0));
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
	       bp_sum_ok(bp_fast_sum(frame + BP_FAST_L4, total - 20) + (pseudo + addresses));
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
static inline void bp_fast_read(const struct bp_mqtt_worker *in, const uint8_t *frame,
	uint32_t total, struct bp_fast_publish *p)
{
	uint32_t end = BP_FAST_L3 + total, at = bp_fast_at(frame), remaining, topic_len;
	const uint8_t *head = frame + at;

	p->body = 0;
	/* nor less than a topic of one character */
	if ((frame[BP_FAST_L4 + 13] & BP_FAST_FLAGS) != BP_TCP_ACK ||
		frame[BP_FAST_L3 + 8] < in->min_ttl || at + 5 > end ||
		(head[0] & in->fast_first) != 0x30 || end > UINT16_MAX)
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

/* fast.c: bp_fast_value() of what is no short number as text. */
enum bp_fast_verdict bp_fast_value_other(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const uint8_t *payload, uint32_t len);

/* BP_FAST_GENERAL: there is no value, or it can't be judged here. */
static inline enum bp_fast_verdict bp_fast_value(
	struct bp_mqtt_worker *in, const struct bp_rule *rule, const uint8_t *payload, uint32_t len)
{
	uint32_t digits;
	unsigned point;

	if (__builtin_expect(rule->fast != BP_RULE_FAST_TEXT, 0) ||
		__builtin_expect(!bp_number_digits_before(payload + len, len, &digits, &point), 0))
		return bp_fast_value_other(in, rule, payload, len);
	return BP_FAST_QUIET + bp_short_ranges_hold(&rule->short_raise, digits, point);
}

/* A flow's `stream` of this direction, `version` and so on, as bp_fast_is() wants them. */
#define BP_FAST_PROOF (BP_FLOW_IN_TABLE | BP_FLOW_PROVEN)
#define BP_FAST_PROOF_ASKED (BP_FAST_PROOF | BP_FLOW_MARKED)
#define BP_FAST_STATE(version) ((bp_v16){BP_STREAM_BOUNDARY, 0, (version), 0, 0, BP_FAST_PROOF})

/*
 * Whether this is the flow that was looked for, in the state in which a PUBLISH of the client can
 * be read at once, and the topic is the one that it published last, under the rules in force. All
 * of it is compared at once: only all of it together is of interest, and nearly always it is true.
 * `memo` stands for memo_rule and memo_gen, of which `memo_asked` leaves what counts; likewise
 * `state` and `version_asked`. All but the first three are constants of a loop.
 */
static inline bool bp_fast_is(const struct bp_flow *f, const struct bp_lookup *l,
	const struct bp_fast_publish *p, bp_v16 memo, bp_v16 memo_asked, bp_v16 state,
	uint8_t version_asked)
{
	/* stream[2], version, flags, pending, proof, life: not what is written for each frame,
	 * which a wider load would have to wait for when the next one is of the same flow */
	const bp_v16 state_asked = {0xff, 0, version_asked,
		BP_FLOW_IP6 | BP_FLOW_CLOSED | BP_FLOW_FIN(0) | BP_FLOW_FIN(1), 0xff,
		BP_FAST_PROOF_ASKED, 0, 0};
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
	differ |= (bp_v16_load(line + 32) & memo_asked) ^
		  (bp_v16_load_half((const uint8_t *)&p->topic_hash) | memo);
	differ |= (bp_v16_load_half(f->stream) & state_asked) ^ state;
	return bp_v16_none(differ);
}

/* Whatever the rule and the version. */
static inline bool bp_fast_known(const struct bp_flow *f, const struct bp_lookup *l,
	const struct bp_fast_publish *p, bp_v16 memo_gen)
{
	/* memo_hash, memo_gen */
	static const bp_v16 memo_asked = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};

	return bp_fast_is(f, l, p, memo_gen, memo_asked, BP_FAST_STATE(0), 0);
}

/*
 * Whether the segment is the next of its stream. An acknowledgement beyond what was seen of the
 * broker shows a gap there, or is anybody's; so is one of long ago.
 */
static inline bool bp_fast_in_sequence(const struct bp_flow *f, const uint8_t *tcp)
{
	uint32_t ack = bp_be32(tcp + 8);

	if (bp_be32(tcp + 4) != f->next[BP_TO_BROKER])
		return false;
	return __builtin_expect(f->next[BP_FROM_BROKER] - ack <= BP_ACK_WINDOW, 1) ||
	       f->stream[BP_FROM_BROKER] == BP_STREAM_UNSEEN ||
	       f->stream[BP_FROM_BROKER] >= BP_STREAM_SEEK;
}

/*
 * Judges a frame that was read, without changing anything, and says the statistics' slot of the
 * rule in *slot. `l` as the lookup left it; the candidate may be another flow by now, or none. A
 * topic is known by its hash, which covers its length.
 */
static inline enum bp_fast_verdict bp_fast_judge(struct bp_mqtt_worker *in,
	const struct bp_fast_now *now, const uint8_t *frame, const struct bp_lookup *l,
	const struct bp_fast_publish *p, uint32_t *slot)
{
	const struct bp_flow *f = l->flow;
	uint32_t body = p->body;
	const struct bp_rule *rule;

	if (!bp_fast_known(f, l, p, now->memo_gen) || !bp_fast_in_sequence(f, frame + BP_FAST_L4))
		return BP_FAST_GENERAL;
	if (f->version == BP_MQTT_V5) {
		if (body == p->end || frame[body] != 0)
			return BP_FAST_GENERAL; /* properties */
		body++;
	}
	*slot = BP_FAST_NO_SLOT;
	if (__builtin_expect(f->memo_rule >= BP_MEMO_MANY, 0))
		return f->memo_rule == BP_MEMO_MANY ? BP_FAST_GENERAL : BP_FAST_QUIET;
	rule = &now->rules[f->memo_rule];
	*slot = rule->slot;
	return bp_fast_value(in, rule, frame + body, p->end - body);
}

/* Notes frame i, which was judged, of `len` octets of MQTT. The journal first, and neither store
 * may move: what was noted is taken back if the process is killed before its alarms are told. */
static inline void bp_fast_note(
	const struct bp_fast_now *now, uint32_t i, struct bp_flow *f, uint32_t len)
{
	volatile uint64_t *note = &now->note[i];
	volatile uint32_t *next = &f->next[BP_TO_BROKER];
	const uint32_t at = f->next[BP_TO_BROKER];

	f->seen = now->ticks;
	*note = (uint64_t)at << 32 | ((((uintptr_t)f - now->flows) >> 6) + 1);
	*next = at + len;
	f->publishes++;
}

/* Counts n frames. */
static inline void bp_fast_count(
	struct bp_mqtt_worker *in, struct bp_fast_tally *t, uint32_t slot, uint32_t n)
{
	if (__builtin_expect(slot != t->slot, 0)) {
		bp_fast_flush_rule(in, t);
		t->slot = slot;
	}
	t->in_a_row += n;
}

/* fast.c: tells the alarm of such a frame. */
void bp_fast_raise(struct bp_mqtt_worker *in, const uint8_t *frame, struct bp_flow *f,
	const struct bp_fast_publish *p);

#endif
