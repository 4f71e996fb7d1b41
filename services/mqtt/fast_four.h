/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FAST_FOUR_H
#define BP_SERVICES_MQTT_FAST_FOUR_H

#include "services/mqtt/fast.h"
#include "proto/checksum_four.h"

/*
 * Frames of fast.h that are alike: as long, with headers and a topic as long. Sensors of one make
 * send such, one after the other. What they have in common was found out with one of them; with the
 * others it is compared. What is left are checksums and the topic's hash, which are worked on for
 * four frames at a time.
 *
 * Where they also have numbers as text, of as many digits and with the point at the same place, the
 * numbers are read four at a time, too, and judged so if one rule judges them all.
 *
 * As in fast.h nothing is written before everything is decided, and "no" only costs time.
 */

struct bp_four {
	bp_v16 tcp, tcp_asked;   /* header length and flags: octets from 46 on, and which count */
	bp_v16 head, head_asked; /* of the PUBLISH, up to the topic's length, from `at` on */
	/* eight characters that end with the payload, twice: what they are, which count, and what
	 * they may be above it */
	bp_v16 text, text_asked, text_above;
	bp_v16 joins;          /* moves the digits together */
	bp_v16 last;           /* those of the last 16 octets that were not summed before */
	bp_v4 ip_sum, tcp_sum; /* to be added to the sums: of IP header, and of TCP */
	bp_v4 low, span; /* numbers that raise: low .. low + span, as bp_short_ranges has it */
	/* Rule and generation, where a flow has them behind the topic's hash, and what of them
	 * counts. */
	bp_v16 memo, memo_asked;
	bp_v16 state;  /* of a flow, as bp_fast_is() compares it */
	uint32_t gen;  /* of the rules */
	uint32_t slot; /* of the rule, in the statistics */
	uint32_t topic, topic_len, at;
	uint16_t total;          /* of the IPv4 header, as it lies in memory */
	uint16_t body, end, len; /* as in struct bp_fast_publish */
	uint16_t batches;        /* for so many more this counts */
	bool identifier;         /* there is one before `body`, which must not be 0 */
	bool numbers;            /* they are read too; only then also the following: */
	bool each;               /* each flow has a rule of its own, by which it is judged */
	bool properties;         /* their length is at `body`, and must be 0 */
	uint8_t point;           /* characters of a number from the point on */
	bool on;
};

/* Where the sums' pieces of 16 octets lie: IP header, then TCP header, then the rest. */
#define BP_FOUR_AT_IP 14u
#define BP_FOUR_AT_PORTS 30u
#define BP_FOUR_AT_TCP 46u
#define BP_FOUR_AT_REST 62u
/* Octets of the PUBLISH that are compared, or at least read. */
#define BP_FOUR_HEAD 8u

/* How much of frames is alike. */
enum bp_four_what {
	BP_FOUR_HEADS,
	BP_FOUR_NUMBERS, /* and numbers */
	BP_FOUR_RULE,    /* and the rule that judges them */
};

/*
 * Says in x what is like a frame that was judged as usual, of flow `f`. False, and x is off, where
 * that can't be said: the frame is too short, or, where numbers are asked for, it has none.
 */
bool bp_four_set(struct bp_four *x, const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *frame, const struct bp_fast_publish *p, enum bp_four_what what);

/* fast_four.c: whether identifiers and properties of the four are as they must be. */
bool bp_four_rest(const struct bp_four *x, const uint8_t *const *frame);

static inline uint16_t bp_four_total(const uint8_t *frame)
{
	uint16_t total;

	memcpy(&total, frame + BP_FAST_L3 + 2, sizeof(total));
	return total;
}

#if defined(__SSE4_1__)

/* The four numbers, without the point, from their characters, of which '0' was taken off. */
static inline bp_v4 bp_four_numbers(const struct bp_four *x, bp_v16 first_two, bp_v16 last_two)
{
	const __m128i tens = _mm_set1_epi16(1 << 8 | 10), hundreds = _mm_set1_epi32(1 << 16 | 100);
	const __m128i joins = (__m128i)x->joins;
	__m128i a = _mm_maddubs_epi16(_mm_shuffle_epi8((__m128i)first_two, joins), tens);
	__m128i b = _mm_maddubs_epi16(_mm_shuffle_epi8((__m128i)last_two, joins), tens);
	__m128i n = _mm_packus_epi32(_mm_madd_epi16(a, hundreds), _mm_madd_epi16(b, hundreds));

	return (bp_v4)_mm_madd_epi16(n, _mm_set1_epi32(1 << 16 | 10000));
}

/* Which of the four numbers raise by the rule that judges them all: bit i of the answer is that of
 * frame i. */
static inline uint32_t bp_four_raises(const struct bp_four *x, bp_v4 numbers)
{
	__m128i n = _mm_sub_epi32((__m128i)numbers, (__m128i)x->low);

	n = _mm_cmpeq_epi32(_mm_min_epu32(n, (__m128i)x->span), n);
	return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(n));
}

/* The topics' hashes, and what else there is to say of the four. Of the usual length, known as
 * such, a hash is a few instructions. */
static inline void bp_four_read(const struct bp_four *x, const struct bp_mqtt_worker *in,
	const uint8_t *const *frame, struct bp_fast_publish *p)
{
	const uint32_t at = x->topic, n = x->topic_len;
	uint64_t hash[4];

	if (__builtin_expect(n >= 8 && n <= 16, 1)) {
#pragma GCC unroll 4
		for (unsigned i = 0; i < 4; i++)
			hash[i] = bp_topic_hash(in, frame[i] + at, n);
	} else {
		for (unsigned i = 0; i < 4; i++)
			hash[i] = bp_topic_hash(in, frame[i] + at, n);
	}
	for (unsigned i = 0; i < 4; i++)
		p[i] = (struct bp_fast_publish){
			.topic_hash = hash[i], .body = x->body, .end = x->end, .len = x->len};
}

/*
 * Judges frame[0..4), plain ones. True: all four are alike, with right checksums; then p[0..4) is
 * filled in, and, where numbers are read, number[0..4) and *raises, which is as bp_four_raises()
 * says. `sums`, a constant: whether the checksums are to be looked at.
 */
static inline __attribute__((always_inline)) bool bp_four_judge(const struct bp_four *x,
	const struct bp_mqtt_worker *in, const uint8_t *const *frame, bool sums,
	struct bp_fast_publish *p, uint32_t *number, uint32_t *raises)
{
	static const bp_v8_asked all = {1, 1, 1, 1, 1, 1, 1, 1};
	static const bp_v8_asked to = {1, 1, 0, 0, 0, 0, 0, 0}, from = {0, 0, 0, 0, 0, 0, 1, 1};
	bp_v16 tcp_differ = {0}, head_differ = {0}, differ, text[2];
	bp_v4 ip[2], tcp[2], numbers, ok = (bp_v4){0} - 1;
	uint32_t odd = 0;

	for (unsigned i = 0; i < 4; i++) /* a shorter one must not be read as far */
		odd |= (uint32_t)(bp_four_total(frame[i]) ^ x->total);
	if (__builtin_expect(odd != 0, 0))
		return false;
#pragma GCC unroll 2
	for (unsigned two = 0; two < 2; two++) {
		bp_v16 half[2];
		bp_v4 i4[2], t4[2];

#pragma GCC unroll 2
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t *f = frame[2 * two + i], *end = f + x->end;
			const bp_v16 c = bp_v16_load(f + BP_FOUR_AT_TCP);

			tcp_differ |= c ^ x->tcp;
			head_differ |= bp_v16_load_half(f + x->at) ^ x->head;
			half[i] = bp_v16_load_half(end - BP_NUMBER_SHORT);
			if (sums) {
				const bp_v16 a = bp_v16_load(f + BP_FOUR_AT_IP);
				const bp_v16 b = bp_v16_load(f + BP_FOUR_AT_PORTS);
				const uint8_t *at = f + BP_FOUR_AT_REST;

				i4[i] = bp_v4_words(a, all) + bp_v4_words(b, to);
				t4[i] = bp_v4_words(a, from) + bp_v4_words(b, all) +
					bp_v4_words(c, all);
				for (; at + 16 < end; at += 16)
					t4[i] += bp_v4_words(bp_v16_load(at), all);
				t4[i] += bp_v4_words(
					bp_v16_pick(bp_v16_load(end - 16), x->last), all);
			}
		}
		text[two] = (bp_v16)_mm_unpacklo_epi64((__m128i)half[0], (__m128i)half[1]);
		text[two] = (text[two] ^ x->text) & x->text_asked;
		if (sums) {
			ip[two] = bp_v4_sum_two(i4[0], i4[1]);
			tcp[two] = bp_v4_sum_two(t4[0], t4[1]);
		}
	}
	if (sums)
		ok = bp_v4_sums_ok(bp_v4_sum_four(ip[0], ip[1]) + x->ip_sum) &
		     bp_v4_sums_ok(bp_v4_sum_four(tcp[0], tcp[1]) + x->tcp_sum);
	differ = (tcp_differ & x->tcp_asked) | (head_differ & x->head_asked) |
		 bp_v16_above(text[0], x->text_above) | bp_v16_above(text[1], x->text_above) |
		 ~(bp_v16)ok;
	if (__builtin_expect(!bp_v16_none(differ), 0))
		return false;
	if (__builtin_expect(x->identifier | x->properties, 0) && !bp_four_rest(x, frame))
		return false;
	bp_four_read(x, in, frame, p);
	numbers = bp_four_numbers(x, text[0], text[1]);
	memcpy(number, &numbers, sizeof(numbers));
	*raises = bp_four_raises(x, numbers);
	return true;
}

#else

static inline bool bp_four_judge(const struct bp_four *x, const struct bp_mqtt_worker *in,
	const uint8_t *const *frame, bool sums, struct bp_fast_publish *p, uint32_t *number,
	uint32_t *raises)
{
	(void)x, (void)in, (void)frame, (void)sums, (void)p, (void)number, (void)raises;
	return false; /* and bp_four_set() sets none */
}

#endif

/*
 * Whether a frame that is alike and whose number was read is of a flow as bp_fast_known() and
 * bp_fast_in_sequence() want it, of the same MQTT version, and of the same rule, if it is one.
 */
static inline bool bp_four_known(const struct bp_four *x, const uint8_t *frame,
	const struct bp_lookup *l, const struct bp_fast_publish *p)
{
	return bp_fast_is(l->flow, l, p, x->memo, x->memo_asked, x->state, 0xff) &&
	       bp_fast_in_sequence(l->flow, frame + BP_FAST_L4);
}

/* The rule that judges as text what a flow publishes, whose memo is of the rules in force; NULL:
 * none does. */
static inline const struct bp_rule *bp_four_rule(
	const struct bp_rule *rules, const struct bp_flow *f)
{
	const struct bp_rule *rule;

	if (f->memo_rule >= BP_MEMO_MANY)
		return NULL;
	rule = &rules[f->memo_rule];
	return rule->fast == BP_RULE_FAST_TEXT ? rule : NULL;
}

#endif
