/* SPDX-License-Identifier: BSD-3-Clause */
/* Of a burst of several streams: what each message is, and of which stream. */
#include "services/aggregation/aggregator_many_parts.h"

/* Whether a frame has IPv4 without tags and options, with UDP, and is no fragment. */
static inline bool is_usual(const struct bp_agg_input *in)
{
	const uint8_t *f = in->frame;
	uint32_t type, fragment;

	if (in->len < AT_PAYLOAD)
		return false;
	type = bp_load32(f + BP_ETHER_HDR - 2) ^ 0x00450008u;
	fragment = bp_load32(f + AT_IP + BP_IP4_FRAGMENT) ^ (uint32_t)BP_PROTO_UDP << 24;
	return ((type & 0x00ffffffu) | (fragment & 0xff00ffbfu)) == 0;
}

/* Whether a frame that is not like that surely is for no rule of its port, which most of what goes
 * elsewhere can be told by: another protocol than UDP, or of IP, or IPv6 where no rule is. */
static inline bool is_nothing(const struct bp_aggregator *a, const struct bp_agg_input *in)
{
	if (in->len < AT_PAYLOAD)
		return false;
	switch (bp_be16(in->frame + BP_ETHER_HDR - 2)) {
	case BP_ETHER_IP4:
		return in->frame[AT_IP + BP_IP4_PROTOCOL] != BP_PROTO_UDP;
	case BP_ETHER_IP6:
		return a->match.n[in->port][1] == 0;
	case BP_ETHER_VLAN:
	case BP_ETHER_QINQ:
	case BP_ETHER_QINQ_OLD:
		return false;
	default:
		return true;
	}
}

enum reading { USUAL, NOTHING, GENERAL };

/* The stream's word, of a message whose rule, TOS and Don't Fragment are known. */
static inline __attribute__((always_inline)) void note_stream(
	struct bp_aggregator_burst *k, unsigned i, uint64_t rest)
{
	const struct bp_agg_streams *t = &k->a->streams;

	k->usual[i] =
		(bp_sum_word(k->in[i].frame + AT_IP + BP_IP4_DST) & BP_AGG_USUAL_FRAME) | rest;
	k->hash[i] = bp_agg_streams_hash_usual(t, k->usual[i]);
	bp_agg_streams_prefetch_slot(t, k->hash[i]);
}

static enum reading read_usual(struct bp_aggregator_burst *k, unsigned i)
{
	const struct bp_aggregator *a = k->a;
	struct bp_agg_input *in = &k->in[i];
	const uint8_t *f = in->frame, *ip = f + AT_IP;
	const struct bp_aggregator_rule *r;
	uint64_t to[2], sum;
	unsigned rule, len;

	in->verdict = BP_AGG_OTHER;
	if (__builtin_expect(a->general, 0))
		return GENERAL;
	if (!is_usual(in))
		return is_nothing(a, in) ? NOTHING : GENERAL;
	if (!bp_aggregator_for_us(in))
		return NOTHING;
	bp_agg_match_words(4, ip + BP_IP4_DST, to);
	rule = bp_agg_match_find(&a->match, in->port, 4, to, bp_be16(f + AT_UDP + 2));
	if (rule == BP_AGG_NO_RULE)
		return NOTHING;
	r = &a->rule[rule];
	if (!bp_aggregator_judge_usual(r, in, r->format == BP_AGG_FORMAT_PAPER, &len, &sum))
		return GENERAL;
	in->rule = (uint8_t)rule;
	k->len[i] = (uint16_t)len;
	k->sum[i] = bp_sum_fold(sum);
	k->unlike = i;
	note_stream(k, i,
		bp_agg_key_usual_rest(rule, ip[1], (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0));
	return USUAL;
}

static void read_odd(struct bp_aggregator_burst *k, unsigned i, enum reading what)
{
	k->odd |= 1ull << i;
	k->s[i] = &k->a->streams.stream[-1];
	k->usual[i] = 0;
	k->hash[i] = 0;
	if (what == NOTHING)
		return;
	bp_aggregator_read(k->a, &k->in[i], &k->message[i]);
	if (k->message[i].todo == BP_AGG_TODO_NOTHING)
		return;
	k->general |= 1ull << i;
	k->hash[i] = k->message[i].hash;
}

static __attribute__((noinline)) void read_one(struct bp_aggregator_burst *k, unsigned i)
{
	const enum reading what = read_usual(k, i);

	if (__builtin_expect(what != USUAL, 0))
		read_odd(k, i, what);
}

/* Reads four that are like those before. False: they are not, or not all of one rule. */
static inline __attribute__((always_inline)) bool read_four(
	struct bp_aggregator_burst *k, unsigned i, enum bp_alike_kind kind)
{
	const struct bp_aggregator_many *many = &k->a->many;

	if (!bp_alike_four(&many->alike, &k->in[i], kind, true, &k->sum[i]) ||
		!bp_aggregator_many_for_rule(k->a, &k->in[i]))
		return false;
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		k->in[i + q].rule = many->rule;
		k->len[i + q] = (uint16_t)(many->alike.end - AT_PAYLOAD);
		note_stream(k, i + q, many->rest);
	}
	return true;
}

/* So many messages are read before the first stream is looked for, whose slot is there then. The
 * rest is looked for while messages are placed: what is fetched at one time must be little. */
#define BEHIND 32u

static inline __attribute__((always_inline)) void read_all(
	struct bp_aggregator_burst *k, enum bp_alike_kind kind)
{
	unsigned i = 0;

	while (i + 4 <= k->n) {
		const unsigned end = i + 4;

		if (kind != BP_ALIKE_NOTHING && read_four(k, i, kind)) {
			i = end;
			k->a->alike_streams += 4;
		} else {
			for (; i < end; i++)
				read_one(k, i);
		}
		if (i > BEHIND && !k->stages)
			bp_aggregator_many_guess(k, i - BEHIND);
	}
	for (; i < k->n; i++)
		read_one(k, i);
}

void bp_aggregator_many_read(struct bp_aggregator_burst *k)
{
	switch (k->a->general ? BP_ALIKE_NOTHING : k->a->many.alike.kind) {
	case BP_ALIKE_PAPER:
		read_all(k, BP_ALIKE_PAPER);
		break;
	case BP_ALIKE_FULL:
		read_all(k, BP_ALIKE_FULL);
		break;
	default:
		read_all(k, BP_ALIKE_NOTHING);
	}
}

void bp_aggregator_many_note(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint64_t usual, unsigned len)
{
	struct bp_aggregator_many *many = &a->many;
	const struct bp_aggregator_rule *r = &a->rule[in->rule];
	const struct bp_agg_match_entry *e = &a->match.entry[a->match.begin[in->port][0]];

	many->sure = a->match.n[in->port][0] == 1 && e->udp_span == 0;
	many->known = true;
	many->rule = in->rule;
	many->rest = usual & ~BP_AGG_USUAL_FRAME;
	bp_alike_set_streams(&many->alike, in, len, r->format == BP_AGG_FORMAT_PAPER, &r->senders,
		many->sure ? (uint32_t)e->mask[0] : 0, many->sure);
}
