/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/fast_four.h"

bool bp_four_rest(const struct bp_four *x, const uint8_t *const *frame)
{
	for (unsigned i = 0; i < 4; i++) {
		if (x->identifier && bp_be16(frame[i] + x->body - 2) == 0)
			return false;
		if (x->properties && frame[i][x->body] != 0)
			return false;
	}
	return true;
}

#if defined(__SSE4_1__)

static void set_sums(struct bp_four *x)
{
	const uint32_t tcp = x->end - BP_FAST_L4;
	const uint32_t pieces = (x->end - BP_FOUR_AT_REST + 15) / 16;
	/* octets of the last 16 that pieces before it have already */
	const uint32_t seen = BP_FOUR_AT_REST + 16 * pieces - x->end;

	for (uint32_t i = 0; i < 16; i++)
		x->last[i] = (uint8_t)(seen + i < 16 ? seen + i : 0x80);
	/* words that are summed up: with the IP header its ten, with TCP both addresses too */
	x->ip_sum = (bp_v4){0} + 10 * BP_CHECKSUM_LESS;
	x->tcp_sum = (bp_v4){0} + (2 + 8 + 8 + 8 * pieces) * BP_CHECKSUM_LESS +
		     __builtin_bswap16((uint16_t)tcp) + (6u << 8);
}

/* The `n` characters that end with the payload, `point` of them from the point on. */
static void set_text(struct bp_four *x, uint32_t n, unsigned point)
{
	const unsigned at = BP_NUMBER_SHORT - point; /* of the point; or none */
	const uint8_t *moves = bp_number_moves[BP_NUMBER_SHORT][at];

	for (unsigned i = 0; i < 16; i++) {
		const unsigned k = i % BP_NUMBER_SHORT;
		const uint8_t move = moves[k];

		x->text[i] = k == at ? '.' : '0';
		x->text_asked[i] = k >= BP_NUMBER_SHORT - n ? 0xff : 0;
		x->text_above[i] = k == at ? 0 : 9;
		x->joins[i] = move >= BP_NUMBER_SHORT ? 0x80 : (uint8_t)(move + i - k);
	}
}

static void set_head(struct bp_four *x, const uint8_t *frame)
{
	const uint32_t octets = x->topic - x->at;

	x->tcp = bp_v16_load(frame + BP_FOUR_AT_TCP);
	x->tcp_asked = (bp_v16){0xf0, BP_FAST_FLAGS};
	x->tcp &= x->tcp_asked;
	for (uint32_t i = 0; i < octets; i++) {
		x->head_asked[i] = i == 0 ? 0xfe : 0xff; /* not: RETAIN */
		x->head[i] = frame[x->at + i] & x->head_asked[i];
	}
}

/* What bp_four_known() compares and bp_four_raises() judges by. False: there is no number. */
static bool set_numbers(struct bp_four *x, const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *frame, bool each)
{
	const struct bp_rule *rule;
	uint32_t digits, n;
	unsigned point;

	rule = bp_four_rule(bp_ruleset_rule(in->rules, 0), f);
	if (rule == NULL)
		return false;
	x->properties = f->version == BP_MQTT_V5;
	n = x->end - x->body - x->properties;
	if (!bp_number_digits_before(frame + x->end, n, &digits, &point))
		return false;
	set_text(x, n, point);
	x->low = (bp_v4){0} + rule->short_raise.at[point].low;
	x->span = (bp_v4){0} + rule->short_raise.at[point].span;
	x->each = each;
	x->point = (uint8_t)point;
	x->memo = (bp_v16)(bp_v4){0, 0, each ? 0 : f->memo_rule, in->gen};
	x->memo_asked = (bp_v16)(bp_v4){-1, -1, each ? 0 : -1, -1};
	x->state = BP_FAST_STATE(f->version);
	x->slot = rule->slot;
	return true;
}

/* Neither rules nor senders stay as they are: after so many batches it is looked at anew. */
#define BATCHES 1024

bool bp_four_set(struct bp_four *x, const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *frame, const struct bp_fast_publish *p, enum bp_four_what what)
{
	memset(x, 0, sizeof(*x));
	if (in->min_ttl > 1)
		return false;
	x->at = bp_fast_at(frame);
	if (p->end <= BP_FOUR_AT_REST || p->end < x->at + BP_FOUR_HEAD)
		return false;
	x->total = bp_four_total(frame);
	x->topic = x->at + (frame[x->at + 1] < 0x80 ? 4 : 5);
	x->topic_len = bp_be16(frame + x->topic - 2);
	x->identifier = (frame[x->at] & 0x06) != 0;
	x->body = p->body;
	x->end = p->end;
	x->len = p->len;
	x->gen = in->gen;
	x->batches = BATCHES;
	set_head(x, frame);
	set_sums(x);
	x->numbers = what != BP_FOUR_HEADS;
	x->on = !x->numbers || set_numbers(x, in, f, frame, what == BP_FOUR_NUMBERS);
	return x->on;
}

#else

bool bp_four_set(struct bp_four *x, const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const uint8_t *frame, const struct bp_fast_publish *p, enum bp_four_what what)
{
	(void)in, (void)f, (void)frame, (void)p, (void)what;
	return x->on; /* never set */
}

#endif
