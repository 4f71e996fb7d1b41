/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/same_template.h"

#include "proto/net/checksum_four.h"

/* How much of frames is the same. */
enum template_kind {
	TEMPLATE_HEADERS,
	TEMPLATE_NUMBERS, /* and numbers */
	TEMPLATE_RULE,    /* and the rule that evaluates them */
};

/* Offsets of the 16-byte pieces of the sums: IP header, then TCP header, then the rest. */
#define AT_IP 14u
#define AT_PORTS 30u
#define AT_TCP 46u
#define AT_REST 62u
/* Bytes of the PUBLISH that are compared, or at least read. */
#define HEAD_BYTES 8u

static inline uint16_t total_of(const uint8_t *frame)
{
	uint16_t total;

	memcpy(&total, frame + BP_SINGLE_L3 + 2, sizeof(total));
	return total;
}

/* ---- reading ---- */

/* Whether identifiers and properties of the four are as they must be. */
static __attribute__((noinline)) bool rest_matches(
	const struct bp_template *x, const uint8_t *const *frame)
{
	for (unsigned i = 0; i < 4; i++) {
		if (x->identifier && bp_be16(frame[i] + x->body - 2) == 0)
			return false;
		if (x->properties && frame[i][x->body] != 0)
			return false;
	}
	return true;
}

/* The four numbers without the decimal point, from their characters minus '0'. */
static inline bp_v4 numbers_of(const struct bp_template *x, bp_v16 first_two, bp_v16 last_two)
{
	const bp_v16 a = bp_v16_pick(first_two, x->joins), b = bp_v16_pick(last_two, x->joins);

	return bp_v16_join_digits(a, b);
}

/* The numbers among the four that satisfy `raise` of the rule: bit i of the result is that of
 * frame i. */
static inline uint32_t raises_of(const struct bp_template *x, bp_v4 numbers)
{
	return bp_v4_mask((bp_v4)(numbers - (bp_v4)x->low <= (bp_v4)x->span));
}

/* The hashes of the topics, and the offsets. For a constant length from 8 to 16, a hash takes a
 * few instructions. */
static inline void hash_topics(const struct bp_template *x, const struct bp_mqtt_worker *in,
	const uint8_t *const *frame, struct bp_single_publish *p)
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
		p[i] = (struct bp_single_publish){
			.topic_hash = hash[i], .body = x->body, .end = x->end, .len = x->len};
}

/*
 * Reads frame[0..4), plain ones. True: all four are of the template and have correct checksums;
 * then p[0..4) is valid, and, with numbers, number[0..4) and *raises as in raises_of(). `sums`, a
 * constant: whether the checksums are verified.
 */
static inline __attribute__((always_inline)) bool template_read_x4(const struct bp_template *x,
	const struct bp_mqtt_worker *in, const uint8_t *const *frame, bool sums,
	struct bp_single_publish *p, uint32_t *number, uint32_t *raises)
{
	static const bp_v8_s16 all = {1, 1, 1, 1, 1, 1, 1, 1};
	static const bp_v8_s16 to = {1, 1, 0, 0, 0, 0, 0, 0}, from = {0, 0, 0, 0, 0, 0, 1, 1};
	bp_v16 tcp_differ = {0}, head_differ = {0}, differ, text[2];
	bp_v4 ip[2], tcp[2], numbers, ok = (bp_v4){0} - 1;
	uint32_t violations = 0;

	for (unsigned i = 0; i < 4; i++) /* a shorter one must not be read as far */
		violations |= (uint32_t)(total_of(frame[i]) ^ x->total);
	if (__builtin_expect(violations != 0, 0))
		return false;
#pragma GCC unroll 2
	for (unsigned two = 0; two < 2; two++) {
		bp_v16 half[2];
		bp_v4 i4[2], t4[2];

#pragma GCC unroll 2
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t *f = frame[2 * two + i], *end = f + x->end;
			const bp_v16 c = bp_v16_load(f + AT_TCP);

			tcp_differ |= c ^ x->tcp;
			head_differ |= bp_v16_load_half(f + x->at) ^ x->head;
			half[i] = bp_v16_load_half(end - BP_NUMBER_SHORT);
			if (sums) {
				const bp_v16 a = bp_v16_load(f + AT_IP);
				const bp_v16 b = bp_v16_load(f + AT_PORTS);
				const uint8_t *at = f + AT_REST;

				i4[i] = bp_v4_words(a, all) + bp_v4_words(b, to);
				t4[i] = bp_v4_words(a, from) + bp_v4_words(b, all) +
					bp_v4_words(c, all);
				for (; at + 16 < end; at += 16)
					t4[i] += bp_v4_words(bp_v16_load(at), all);
				t4[i] += bp_v4_words(
					bp_v16_pick(bp_v16_load(end - 16), x->last), all);
			}
		}
		text[two] = bp_v16_of64(bp_v16_first(half[0]), bp_v16_first(half[1]));
		text[two] = (text[two] ^ x->text) & x->text_mask;
		if (sums) {
			ip[two] = bp_v4_sum_two(i4[0], i4[1]);
			tcp[two] = bp_v4_sum_two(t4[0], t4[1]);
		}
	}
	if (sums)
		ok = bp_v4_sums_ok(bp_v4_sum_four(ip[0], ip[1]) + x->ip_sum) &
		     bp_v4_sums_ok(bp_v4_sum_four(tcp[0], tcp[1]) + x->tcp_sum);
	differ = (tcp_differ & x->tcp_mask) | (head_differ & x->head_mask) |
		 bp_v16_above(text[0], x->text_above) | bp_v16_above(text[1], x->text_above) |
		 ~(bp_v16)ok;
	if (__builtin_expect(!bp_v16_none(differ), 0))
		return false;
	if (__builtin_expect(x->identifier | x->properties, 0) && !rest_matches(x, frame))
		return false;
	hash_topics(x, in, frame, p);
	numbers = numbers_of(x, text[0], text[1]);
	memcpy(number, &numbers, sizeof(numbers));
	*raises = raises_of(x, numbers);
	return true;
}

/* ---- the template of a frame ---- */

static void set_sums(struct bp_template *x)
{
	const uint32_t tcp = x->end - BP_SINGLE_L4;
	const uint32_t pieces = (x->end - AT_REST + 15) / 16;
	/* bytes of the last 16 that are also in the pieces before it */
	const uint32_t seen = AT_REST + 16 * pieces - x->end;

	for (uint32_t i = 0; i < 16; i++)
		x->last[i] = (uint8_t)(seen + i < 16 ? seen + i : 0x80);
	/* words of the sum: ten of the IP header, and with TCP both addresses */
	x->ip_sum = (bp_v4){0} + 10 * BP_CHECKSUM_LESS;
	x->tcp_sum = (bp_v4){0} + (2 + 8 + 8 + 8 * pieces) * BP_CHECKSUM_LESS +
		     __builtin_bswap16((uint16_t)tcp) + (6u << 8);
}

/* The last `n` characters of the payload, `point` of them from the decimal point on. */
static void set_text(struct bp_template *x, uint32_t n, unsigned point)
{
	const unsigned at = BP_NUMBER_SHORT - point; /* of the point; or none */
	const uint8_t *moves = bp_number_moves[BP_NUMBER_SHORT][at];

	for (unsigned i = 0; i < 16; i++) {
		const unsigned k = i % BP_NUMBER_SHORT;
		const uint8_t move = moves[k];

		x->text[i] = k == at ? '.' : '0';
		x->text_mask[i] = k >= BP_NUMBER_SHORT - n ? 0xff : 0;
		x->text_above[i] = k == at ? 0 : 9;
		x->joins[i] = move >= BP_NUMBER_SHORT ? 0x80 : (uint8_t)(move + i - k);
	}
}

static void set_head(struct bp_template *x, const uint8_t *frame)
{
	const uint32_t bytes = x->topic - x->at;

	x->tcp = bp_v16_load(frame + AT_TCP);
	x->tcp_mask = (bp_v16){0xf0, BP_SINGLE_TCP_FLAGS};
	x->tcp &= x->tcp_mask;
	for (uint32_t i = 0; i < bytes; i++) {
		x->head_mask[i] = i == 0 ? 0xfe : 0xff; /* not: RETAIN */
		x->head[i] = frame[x->at + i] & x->head_mask[i];
	}
}

/* The values that bp_template_flow_matches() and raises_of() compare. False: there is no number. */
static bool set_numbers(struct bp_template *x, const struct bp_mqtt_worker *in,
	const struct bp_flow *f, const uint8_t *frame, bool own_rules)
{
	const struct bp_rule *rule;
	uint32_t digits, n;
	unsigned point;

	if (f->memo_rule >= BP_MEMO_MULTIPLE)
		return false;
	rule = bp_ruleset_rule(in->rules, f->memo_rule);
	own_rules |= rule->fast == BP_RULE_FAST_PART;
	x->windowed = !own_rules && rule->fast_window == BP_RULE_FAST_TEXT;
	if (rule->fast != BP_RULE_FAST_TEXT && rule->fast != BP_RULE_FAST_PART && !x->windowed)
		return false;
	x->properties = f->version == BP_MQTT_V5;
	n = x->end - x->body - x->properties;
	if (!bp_number_digits_before(frame + x->end, n, &digits, &point))
		return false;
	set_text(x, n, point);
	x->low = (bp_v4){0} + rule->short_raise.at[point].low;
	x->span = (bp_v4){0} + rule->short_raise.at[point].span;
	x->own_rules = own_rules;
	x->point = (uint8_t)point;
	x->memo = (bp_v16)(bp_v4){0, 0, own_rules ? 0 : f->memo_rule, in->gen};
	x->memo_mask = (bp_v16)(bp_v4){-1, -1, own_rules ? 0 : -1, -1};
	x->state = BP_SINGLE_STATE(f->version);
	x->rule = f->memo_rule;
	x->slot = rule->slot;
	return true;
}

/* Rules and senders change: after this number of bursts the template is learned again. */
#define BURSTS 1024

/*
 * Learns the template from a frame of flow `f` that was parsed individually. False, and x is off,
 * if the frame is too short, or has no number although one is required.
 */
static bool template_set(struct bp_template *x, const struct bp_mqtt_worker *in,
	const struct bp_flow *f, const uint8_t *frame, const struct bp_single_publish *p,
	enum template_kind what)
{
	memset(x, 0, sizeof(*x));
	if (in->min_ttl > 1)
		return false;
	x->at = bp_single_payload(frame);
	if (p->end <= AT_REST || p->end < x->at + HEAD_BYTES)
		return false;
	x->total = total_of(frame);
	x->topic = x->at + (frame[x->at + 1] < 0x80 ? 4 : 5);
	x->topic_len = bp_be16(frame + x->topic - 2);
	x->identifier = (frame[x->at] & 0x06) != 0;
	x->body = p->body;
	x->end = p->end;
	x->len = p->len;
	x->gen = in->gen;
	x->bursts = BURSTS;
	set_head(x, frame);
	set_sums(x);
	x->numbers = what != TEMPLATE_HEADERS;
	x->on = !x->numbers || set_numbers(x, in, f, frame, what == TEMPLATE_NUMBERS);
	return x->on;
}

/* ---- bursts ---- */

static inline bool read_x4(const struct bp_template *x, const struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, uint32_t i, uint32_t *raises)
{
	uint32_t kinds;

	memcpy(&kinds, &b->kind[i], sizeof(kinds));
	if (__builtin_expect(kinds == BP_BURST_UNVERIFIED * 0x01010101u, 1))
		return template_read_x4(x, in, &b->frame[i], true, &b->p[i], &b->number[i], raises);
	return kinds == BP_BURST_VERIFIED * 0x01010101u &&
	       template_read_x4(x, in, &b->frame[i], false, &b->p[i], &b->number[i], raises);
}

void bp_template_read(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	const struct bp_template *x = in->same_template;
	uint64_t read = 0, raising = 0;
	uint32_t raises;

	for (uint32_t i = 0; i + 4 <= b->n; i += 4) {
		if (__builtin_expect(read_x4(x, in, b, i, &raises), 1)) {
			read |= (uint64_t)0xf << i;
			raising |= (uint64_t)raises << i;
		}
	}
	b->same_template = read;
	if (x->numbers) {
		b->numbers = read;
		b->raises = x->own_rules || x->windowed ? 0 : raising;
	}
}

/* After this number of frames of one template, more are expected. */
#define IN_A_ROW 8

/* Learns the common template of the last frames of a burst, which were parsed individually. */
static void learn(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	const uint32_t last = b->n - 1, begin = b->n - IN_A_ROW;
	struct bp_template *x = in->same_template;
	bool one_rule = true;
	uint32_t raises;

	for (uint32_t i = begin; i < last; i++) {
		if (b->p[i].end != b->p[last].end || b->p[i].body != b->p[last].body)
			return;
		one_rule &= b->l[i].flow->memo_rule == b->l[last].flow->memo_rule;
	}
	/* with numbers, if all of them have one */
	if (template_set(x, in, b->l[last].flow, b->frame[last], &b->p[last],
		    one_rule ? TEMPLATE_RULE : TEMPLATE_NUMBERS) &&
		read_x4(x, in, b, begin, &raises) && read_x4(x, in, b, begin + 4, &raises))
		return;
	(void)template_set(x, in, b->l[last].flow, b->frame[last], &b->p[last], TEMPLATE_HEADERS);
}

void bp_template_learn(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t behind_general)
{
	struct bp_template *x = in->same_template;

	if (b->n < IN_A_ROW)
		return;
	/* with few frames of the template, the comparison costs more than it saves */
	if (x->on &&
		((unsigned)__builtin_popcountll(b->same_template) * 2 < b->n || x->bursts-- == 0))
		x->on = false;
	/* nor from one whose topic was overwritten, as the memo of its flow may be of other rules
	 */
	if (!x->on && behind_general + IN_A_ROW <= b->n && b->changed >> (b->n - IN_A_ROW) == 0)
		learn(in, b);
}
