/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the path of a burst; for a burst of several streams, also classifies each message and
 * its stream. */
#include "services/aggregation/aggregator_burst.h"

/* ---- reading ---- */

/* Whether a frame has IPv4 without tags and options, with UDP, and is no fragment. */
static inline bool is_simple_udp4(const struct bp_agg_input *in)
{
	const uint8_t *f = in->frame;
	uint32_t type, fragment;

	if (in->len < AT_PAYLOAD)
		return false;
	type = bp_load32(f + BP_ETHER_HDR - 2) ^ 0x00450008u;
	fragment = bp_load32(f + AT_IP + BP_IP4_FRAGMENT) ^ (uint32_t)BP_PROTO_UDP << 24;
	return ((type & 0x00ffffffu) | (fragment & 0xff00ffbfu)) == 0;
}

/* Whether a frame of another kind cannot match a rule of its port. This check covers most of the
 * bypassed traffic: protocols other than UDP or IP, or IPv6 without an IPv6 rule. */
static inline bool is_for_no_rule(const struct bp_aggregator *a, const struct bp_agg_input *in)
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

enum parse_result { SIMPLE_IP4, NO_RULE, GENERAL };

/* The key word of the stream, for a message with known rule, TOS and DF. */
static inline __attribute__((always_inline)) void record_stream(
	struct bp_aggregator_burst *k, unsigned i, uint64_t rest)
{
	const struct bp_agg_streams *t = &k->a->streams;

	k->key4[i] = (bp_sum_word(k->in[i].frame + AT_IP + BP_IP4_DST) & BP_AGG_KEY4_FRAME) | rest;
	k->hash[i] = bp_agg_streams_hash4(t, k->key4[i]);
	bp_agg_streams_prefetch_slot(t, k->hash[i]);
}

static enum parse_result parse_simple_ip4(struct bp_aggregator_burst *k, unsigned i)
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
	if (!is_simple_udp4(in))
		return is_for_no_rule(a, in) ? NO_RULE : GENERAL;
	if (!bp_aggregator_for_us(in))
		return NO_RULE;
	bp_agg_match_words(4, ip + BP_IP4_DST, to);
	rule = bp_agg_match_find(&a->match, in->port, 4, to, bp_be16(f + AT_UDP + 2));
	if (rule == BP_AGG_NO_RULE)
		return NO_RULE;
	r = &a->rule[rule];
	if (!bp_aggregator_check_simple_ip4(r, in, r->format == BP_AGG_FORMAT_LIN2018, &len, &sum))
		return GENERAL;
	in->rule = (uint8_t)rule;
	k->len[i] = (uint16_t)len;
	k->sum[i] = bp_sum_fold(sum);
	k->shape[i] = rule == a->multi.rule ? bp_aggregator_shape(in->frame_len, len)
					    : BP_AGGREGATOR_UNSTAGED;
	k->sample = i;
	record_stream(
		k, i, bp_agg_key4_rest(rule, ip[1], (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0));
	return SIMPLE_IP4;
}

static void read_other(struct bp_aggregator_burst *k, unsigned i, enum parse_result what)
{
	k->others |= 1ull << i;
	k->s[i] = &k->a->streams.stream[-1];
	k->key4[i] = 0;
	k->hash[i] = 0;
	if (what == NO_RULE)
		return;
	bp_aggregator_read(k->a, &k->in[i], &k->message[i]);
	if (k->message[i].todo == BP_AGG_TODO_NONE)
		return;
	k->general |= 1ull << i;
	k->hash[i] = k->message[i].hash;
}

static __attribute__((noinline)) void read_one(struct bp_aggregator_burst *k, unsigned i)
{
	const enum parse_result what = parse_simple_ip4(k, i);

	if (__builtin_expect(what != SIMPLE_IP4, 0))
		read_other(k, i, what);
}

/* Whether four messages that match the template are all for its rule. */
static inline __attribute__((always_inline)) bool for_rule(
	const struct bp_aggregator *a, const struct bp_agg_input *in)
{
	if (__builtin_expect(a->multi.one_rule, 1))
		return true;
	for (unsigned q = 0; q < 4; q++) {
		uint64_t to[2];

		bp_agg_match_words(4, in[q].frame + AT_IP + BP_IP4_DST, to);
		if (bp_agg_match_find(&a->match, in[q].port, 4, to,
			    bp_be16(in[q].frame + AT_UDP + 2)) != a->multi.rule)
			return false;
	}
	return true;
}

/* Reads four that are like those before. False: they are not, or not all of one rule. */
static inline __attribute__((always_inline)) bool read_four(
	struct bp_aggregator_burst *k, unsigned i, enum bp_agg_template_kind kind)
{
	const struct bp_aggregator_multi_stream *multi = &k->a->multi;

	if (!bp_agg_template_match4(&multi->template, &k->in[i], kind, true, &k->sum[i]) ||
		!for_rule(k->a, &k->in[i]))
		return false;
#pragma GCC unroll 4
	for (unsigned q = 0; q < 4; q++) {
		k->in[i + q].rule = multi->rule;
		k->len[i + q] = (uint16_t)(multi->template.end - AT_PAYLOAD);
		k->shape[i + q] = multi->shape;
		record_stream(k, i + q, multi->rest);
	}
	return true;
}

/* Messages that are read before the first stream is looked up; its slot is in the cache by then.
 * The others are looked up while messages are placed: the number of prefetches must be small. */
#define BEHIND 32u

static inline __attribute__((always_inline)) void read_all(
	struct bp_aggregator_burst *k, enum bp_agg_template_kind kind)
{
	unsigned i = 0;

	while (i + 4 <= k->n) {
		const unsigned end = i + 4;

		if (kind != BP_AGG_TEMPLATE_NONE && read_four(k, i, kind)) {
			i = end;
			k->a->matched_streams += 4;
		} else {
			for (; i < end; i++)
				read_one(k, i);
		}
		if (i > BEHIND && !k->stages)
			bp_aggregator_burst_find_streams(k, i - BEHIND);
	}
	for (; i < k->n; i++)
		read_one(k, i);
}

static void read_burst(struct bp_aggregator_burst *k)
{
	switch (k->a->general ? BP_AGG_TEMPLATE_NONE : k->a->multi.template.kind) {
	case BP_AGG_TEMPLATE_LIN2018:
		read_all(k, BP_AGG_TEMPLATE_LIN2018);
		break;
	case BP_AGG_TEMPLATE_FULL:
		read_all(k, BP_AGG_TEMPLATE_FULL);
		break;
	default:
		read_all(k, BP_AGG_TEMPLATE_NONE);
	}
}

static void record_template(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint64_t key4, unsigned len)
{
	struct bp_aggregator_multi_stream *multi = &a->multi;
	const struct bp_aggregator_rule *r = &a->rule[in->rule];
	const struct bp_agg_match_entry *e = &a->match.entry[a->match.begin[in->port][0]];

	multi->one_rule = a->match.n[in->port][0] == 1 && e->udp_span == 0;
	multi->known = true;
	multi->rule = in->rule;
	multi->shape = bp_aggregator_shape(in->frame_len, len);
	multi->rest = key4 & ~BP_AGG_KEY4_FRAME;
	bp_agg_template_set_streams(&multi->template, in, len, r->format == BP_AGG_FORMAT_LIN2018,
		&r->senders, multi->one_rule ? (uint32_t)e->mask[0] : 0, multi->one_rule);
}

/* ---- taking ---- */

/* If the last two messages are of one stream, the next may be as well: the single-stream path is
 * tried first. The single stream is always that of the last message; the aggregate of an earlier
 * one may have been sent. */
static void record_single_stream(struct bp_aggregator_burst *k)
{
	unsigned i = k->n;

	while (i != 0 && k->in[i - 1].verdict != BP_AGG_TAKEN)
		i--;
	if (i-- == 0)
		return;
	if (k->n == 1 || (i != 0 && k->s[i] == k->s[i - 1]))
		bp_aggregator_single_stream_set(
			k->a, &k->in[i], (uint32_t)(k->s[i] - k->a->streams.stream));
	else
		k->a->single.stream = BP_AGG_NO_STREAM;
}

static void take_burst(struct bp_aggregator_burst *k)
{
	read_burst(k);
	if (k->stages && k->general == 0)
		bp_aggregator_stage_burst(k);
	else
		bp_aggregator_append_burst(k);
	bp_aggregator_burst_settle(k);
	if (k->sample < k->n)
		record_template(k->a, &k->in[k->sample], k->key4[k->sample], k->len[k->sample]);
}

static void take_multi_stream(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	unsigned at, bool last, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_burst k;

	k.a = a;
	k.in = in + at;
	k.now_ns = now_ns;
	k.wall_ns = wall_ns;
	k.others = 0;
	k.general = 0;
	k.taken = 0;
	k.taken_bytes = 0;
	k.n = n;
	k.stages = a->multi.known && a->rule[a->multi.rule].stages && !a->starved &&
		   a->streams.stage.n >= n;
	k.at = at;
	k.predicted = 0;
	k.sample = n;
	if (k.stages)
		memcpy(k.record, a->streams.stage.unused + a->streams.stage.n - n,
			n * sizeof(k.record[0]));
	take_burst(&k);
	if (last)
		record_single_stream(&k);
}

/*
 * Selects the path of a burst: the single-stream path (aggregator_single_stream.c) as far as
 * possible, then the multi-stream path for the rest. If the first processed some messages, the
 * burst is a single stream with other messages in between: only these take the second path.
 */
#define SOME_WAY 4u

void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	unsigned at = 0;

	bp_aggregator_poll(a, now_ns, wall_ns);
	while (at < n) {
		unsigned taken = 0, others;

		if (a->single.stream != BP_AGG_NO_STREAM && !a->general)
			taken = bp_aggregator_take_single_stream(
				a, in, n - at, at, now_ns, wall_ns);
		at += taken;
		if (at == n)
			break;
		others = n - at;
		if (taken >= SOME_WAY)
			for (others = 1; others < n - at; others++)
				if (bp_aggregator_is_single_stream(a, &in[at + others]))
					break;
		take_multi_stream(a, in, others, at, others == n - at, now_ns, wall_ns);
		at += others;
	}
	a->at = 0;
	bp_aggregator_settle(a);
}
