/* SPDX-License-Identifier: BSD-3-Clause */
/* Which path a burst takes; and for one of several streams, what each message is, and of which
 * stream. */
#include "services/aggregation/aggregator_burst.h"

/* ---- reading ---- */

/* Of a burst of several streams: what each message is, and of which stream. */

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
	k->shape[i] = rule == a->many.rule ? bp_aggregator_shape(in->frame_len, len)
					   : BP_AGGREGATOR_UNSTAGED;
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

/* Whether four messages, which are alike, are all for the rule of those before. */
static inline __attribute__((always_inline)) bool for_rule(
	const struct bp_aggregator *a, const struct bp_agg_input *in)
{
	if (__builtin_expect(a->many.sure, 1))
		return true;
	for (unsigned q = 0; q < 4; q++) {
		uint64_t to[2];

		bp_agg_match_words(4, in[q].frame + AT_IP + BP_IP4_DST, to);
		if (bp_agg_match_find(&a->match, in[q].port, 4, to,
			    bp_be16(in[q].frame + AT_UDP + 2)) != a->many.rule)
			return false;
	}
	return true;
}

/* Reads four that are like those before. False: they are not, or not all of one rule. */
static inline __attribute__((always_inline)) bool read_four(
	struct bp_aggregator_burst *k, unsigned i, enum bp_alike_kind kind)
{
	const struct bp_aggregator_many *many = &k->a->many;

	if (!bp_alike_four(&many->alike, &k->in[i], kind, true, &k->sum[i]) ||
		!for_rule(k->a, &k->in[i]))
		return false;
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		k->in[i + q].rule = many->rule;
		k->len[i + q] = (uint16_t)(many->alike.end - AT_PAYLOAD);
		k->shape[i + q] = many->shape;
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

static void read_burst(struct bp_aggregator_burst *k)
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

static void note_like(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint64_t usual, unsigned len)
{
	struct bp_aggregator_many *many = &a->many;
	const struct bp_aggregator_rule *r = &a->rule[in->rule];
	const struct bp_agg_match_entry *e = &a->match.entry[a->match.begin[in->port][0]];

	many->sure = a->match.n[in->port][0] == 1 && e->udp_span == 0;
	many->known = true;
	many->rule = in->rule;
	many->shape = bp_aggregator_shape(in->frame_len, len);
	many->rest = usual & ~BP_AGG_USUAL_FRAME;
	bp_alike_set_streams(&many->alike, in, len, r->format == BP_AGG_FORMAT_PAPER, &r->senders,
		many->sure ? (uint32_t)e->mask[0] : 0, many->sure);
}

/* ---- taking ---- */

/* Where the last two are of one stream, the next may be, too: who takes these is to try first. The
 * usual message is always like the last one; of an earlier one the aggregate may have left. */
static void note_usual(struct bp_aggregator_burst *k)
{
	unsigned i = k->n;

	while (i != 0 && k->in[i - 1].verdict != BP_AGG_TAKEN)
		i--;
	if (i-- == 0)
		return;
	if (k->n == 1 || (i != 0 && k->s[i] == k->s[i - 1]))
		bp_aggregator_usual_set(
			k->a, &k->in[i], (uint32_t)(k->s[i] - k->a->streams.stream));
	else
		k->a->usual.stream = BP_AGG_NO_STREAM;
}

static void take_burst(struct bp_aggregator_burst *k)
{
	read_burst(k);
	if (k->stages && k->general == 0)
		bp_aggregator_many_stage(k);
	else
		bp_aggregator_append_burst(k);
	bp_aggregator_many_enter(k);
	if (k->unlike < k->n)
		note_like(k->a, &k->in[k->unlike], k->usual[k->unlike], k->len[k->unlike]);
}

static void take_many(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n, unsigned at,
	bool last, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_burst k;

	k.a = a;
	k.in = in + at;
	k.now_ns = now_ns;
	k.wall_ns = wall_ns;
	k.odd = 0;
	k.general = 0;
	k.taken = 0;
	k.taken_octets = 0;
	k.n = n;
	k.stages = a->many.known && a->rule[a->many.rule].stages && !a->starved &&
		   a->streams.stage.n >= n;
	k.at = at;
	k.guessed = 0;
	k.unlike = n;
	if (k.stages)
		memcpy(k.record, a->streams.stage.unused + a->streams.stage.n - n,
			n * sizeof(k.record[0]));
	take_burst(&k);
	if (last)
		note_usual(&k);
}

/*
 * Which way a burst is taken: that of one stream (services/aggregation/aggregator_usual.c) as far
 * as it goes, and that of many (services/aggregation/aggregator_many.c) for the rest. Where the
 * first went some way, the burst is one of a single stream with others in between: these alone are
 * taken the other way.
 */
#define SOME_WAY 4u

void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	unsigned at = 0;

	bp_aggregator_poll(a, now_ns, wall_ns);
	while (at < n) {
		unsigned usual = 0, others;

		if (a->usual.stream != BP_AGG_NO_STREAM && !a->general)
			usual = bp_aggregator_take_usual(a, in, n - at, at, now_ns, wall_ns);
		at += usual;
		if (at == n)
			break;
		others = n - at;
		if (usual >= SOME_WAY)
			for (others = 1; others < n - at; others++)
				if (bp_aggregator_is_usual(a, &in[at + others]))
					break;
		take_many(a, in, others, at, others == n - at, now_ns, wall_ns);
		at += others;
	}
	a->at = 0;
	bp_aggregator_settle(a);
}
