/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/disaggregator.h"

#include <stdlib.h>
#include <string.h>

#include "services/aggregation/copy_sum.h"
#include "services/aggregation/disaggregator_state.h"
#include "proto/aggregation/agg_lin2018.h"

struct bp_disaggregator *bp_disaggregator_new(const struct bp_disaggregator_options *o)
{
	struct bp_disaggregator *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->stats = o->stats;
	d->ip4.to = BP_DISAGGREGATOR_NOWHERE;
	d->sequences = bp_sequences_new(o->streams, o->stats, o->seed);
	if (d->sequences == NULL) {
		free(d);
		return NULL;
	}
	return d;
}

void bp_disaggregator_free(struct bp_disaggregator *d)
{
	if (d == NULL)
		return;
	bp_sequences_free(d->sequences);
	free(d);
}

/* Whether the first byte of the prefix shows that all its addresses are valid senders: an IPv6
 * address is if its first byte is neither 0 nor 0xff. False is always correct. */
static bool all_possible(unsigned family, const struct bp_agg_senders_prefix *p)
{
	uint8_t first, bits;

	memcpy(&first, p->value, 1);
	memcpy(&bits, p->mask, 1);
	if (bits != 0xff)
		return false;
	return family == 4 ? bp_ip4_kind(first) == BP_IP4_UNICAST : first != 0 && first != 0xff;
}

static void clear(struct bp_disagg_stats *stats)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)stats;

	for (size_t i = 0; i < sizeof(*stats) / sizeof(*word); i++)
		atomic_store_explicit(&word[i], 0, memory_order_relaxed);
}

void bp_disaggregator_set_rules(struct bp_disaggregator *d, const struct bp_agg_rules *rules)
{
	bp_agg_match_clear(&d->match);
	memset(d->rule, 0, sizeof(d->rule));
	d->ip4.to = BP_DISAGGREGATOR_NOWHERE;
	for (uint32_t i = 0; i < rules->n_disaggregate; i++) {
		const struct bp_disagg_rule *from = &rules->disaggregate[i];
		struct bp_disaggregator_rule *r = &d->rule[i];

		r->format = from->format;
		bp_agg_senders_set(
			&r->senders, from->to.address.family, from->senders, from->n_senders);
		r->possible = all_possible(from->to.address.family, &r->senders.prefix[0]);
		bp_agg_match_enter(&d->match, i, from->port, &from->to);
	}
	bp_sequences_clear(d->sequences);
	for (unsigned i = 0; i < BP_AGG_RULES_MAX; i++)
		clear(&d->stats[i]);
}

bool bp_disaggregator_uses_port(const struct bp_disaggregator *d, unsigned port)
{
	return bp_agg_match_uses_port(&d->match, port);
}

bool bp_disaggregator_is_for(const struct bp_disaggregator *d, const uint8_t *frame, uint32_t len,
	uint32_t frame_len, unsigned port)
{
	struct bp_datagram g;

	return bp_datagram_parse(frame, len, frame_len, &g) &&
	       bp_disaggregator_rule_of(d, &g, port) != BP_AGG_NO_RULE;
}

/* Whether the payload begins like an aggregate. If the lengths are wrong, the size of the frame is
 * used. */
static bool begins_as_one(
	const struct bp_disaggregator_rule *r, const struct bp_datagram *g, bool lengths_ok)
{
	const uint8_t *p = bp_datagram_payload(g);
	const uint32_t len =
		lengths_ok ? bp_datagram_payload_len(g) : g->len - (uint32_t)g->l4 - BP_UDP_HDR;

	if (r->format == BP_AGG_FORMAT_LIN2018)
		return len >= 1 && p[0] == BP_AGG_LIN2018_PACKET;
	return bp_agg_full_is(p, len);
}

/* Whether all senders are in the first prefix, if it implies that they are valid: then no branch
 * depends on a single sender. */
static bool all_from_first(const struct bp_disaggregator_rule *r, unsigned family,
	const struct bp_agg_message *message, unsigned count)
{
	const struct bp_agg_senders_prefix *p = &r->senders.prefix[0];
	uint64_t outside = 0;
	unsigned none = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct bp_agg_sender *s = &message[i].from;
		uint64_t address[2];

		bp_agg_match_words(family, s->addr, address);
		outside |= ((address[0] & p->mask[0]) ^ p->value[0]) |
			   ((address[1] & p->mask[1]) ^ p->value[1]);
		none |= (unsigned)(s->port == 0) | (unsigned)(s->hops == 0);
	}
	return r->possible && outside == 0 && none == 0;
}

/* Whether a rule allows the restoration of all these senders. Most senders are like the preceding
 * one, or at least in the first prefix. */
static bool senders_allowed(const struct bp_disaggregator_rule *r, unsigned family,
	const struct bp_agg_message *message, unsigned count)
{
	uint64_t before[2] = {0, 0}; /* unspecified: no sender */

	for (unsigned i = 0; i < count; i++) {
		const struct bp_agg_sender *s = &message[i].from;
		uint64_t address[2];

		if (!bp_datagram_sender_possible(family, s->addr, s->port, s->hops))
			return false;
		bp_agg_match_words(family, s->addr, address);
		if (((address[0] ^ before[0]) | (address[1] ^ before[1])) == 0)
			continue;
		if (!bp_agg_senders_has(&r->senders, address))
			return false;
		before[0] = address[0];
		before[1] = address[1];
	}
	return true;
}

/* The reason to refuse an aggregate, or BP_DISAGG_REFUSALS if it is valid. */
static enum bp_disagg_rejection check_full(struct bp_disaggregator *d, unsigned rule,
	const struct bp_datagram *g, struct bp_disagg_packet *out)
{
	static const uint8_t refusal[] = {
		[BP_AGG_FULL_E_MAGIC] = BP_DISAGG_ENTRY, /* asked before */
		[BP_AGG_FULL_E_VERSION] = BP_DISAGG_VERSION,
		[BP_AGG_FULL_E_SHORT] = BP_DISAGG_COUNT,
		[BP_AGG_FULL_E_CHECKSUM] = BP_DISAGG_STRUCTURE_CHECKSUM,
		[BP_AGG_FULL_E_FAMILY] = BP_DISAGG_FAMILY,
		[BP_AGG_FULL_E_MANY] = BP_DISAGG_COUNT,
		[BP_AGG_FULL_E_COUNT] = BP_DISAGG_COUNT,
		[BP_AGG_FULL_E_ENTRY] = BP_DISAGG_ENTRY,
		[BP_AGG_FULL_E_LENGTH] = BP_DISAGG_COUNT,
	};
	struct bp_agg_full head;
	enum bp_agg_full_error e;

	e = bp_agg_full_read(bp_datagram_payload(g), bp_datagram_payload_len(g), g->family, &head,
		out->message, BP_AGG_FULL_MOST);
	if (e != BP_AGG_FULL_OK)
		return refusal[e];
	if (!all_from_first(&d->rule[rule], g->family, out->message, head.count) &&
		!senders_allowed(&d->rule[rule], g->family, out->message, head.count))
		return BP_DISAGG_SOURCE_NOT_ALLOWED;
	out->count = head.count;
	bp_disagg_prepare(out, g, NULL);

	bp_disaggregator_record(d, g, rule, head.stream, head.sequence);
	return BP_DISAGG_REFUSALS;
}

/* The format has no senders: all messages have that of the packet. */
static enum bp_disagg_rejection check_lin2018(const struct bp_disaggregator_rule *r,
	const struct bp_datagram *g, struct bp_disagg_packet *out)
{
	uint8_t flag[BP_AGG_LIN2018_HEADER];
	struct bp_agg_lin2018 paper;
	uint64_t source[2];

	if (bp_agg_lin2018_read(bp_datagram_payload(g), bp_datagram_payload_len(g),
		    BP_AGG_FULL_MOST, &paper) != BP_AGG_LIN2018_OK)
		return BP_DISAGG_COUNT;
	bp_agg_match_words(g->family, bp_datagram_src(g), source);
	for (unsigned i = 0; i < paper.count; i++) {
		struct bp_agg_message *m = &out->message[i];

		memcpy(m->from.addr, &source[0], 8);
		memcpy(m->from.addr + 8, &source[1], 8);
		m->from.port = g->sport;
		m->from.hops = g->hops;
		m->offset = (uint16_t)BP_AGG_LIN2018_LEN(i);
		m->len = BP_AGG_LIN2018_MESSAGE_LEN;
	}
	if (!senders_allowed(r, g->family, out->message, 1))
		return BP_DISAGG_SOURCE_NOT_ALLOWED;
	out->count = (uint8_t)paper.count;
	bp_agg_lin2018_put_header(flag, BP_AGG_LIN2018_MESSAGE);
	bp_disagg_prepare(out, g, flag);
	return BP_DISAGG_REFUSALS;
}

static enum bp_disagg_rejection check(struct bp_disaggregator *d, unsigned rule,
	const struct bp_datagram *g, bool lengths_ok, struct bp_disagg_packet *out)
{
	const struct bp_disaggregator_rule *r = &d->rule[rule];

	if (!lengths_ok)
		return BP_DISAGG_LENGTHS;
	if (!bp_datagram_ip_ok(g))
		return BP_DISAGG_UDP_CHECKSUM;
	/* The restored messages get right checksums: damage must not be sealed by them. */
	if (bp_datagram_has_checksum(g)) {
		if (!bp_datagram_udp_ok(g, bp_datagram_payload_sum(g)))
			return BP_DISAGG_UDP_CHECKSUM;
	} else if (g->family == 6 || r->format == BP_AGG_FORMAT_FULL) {
		return BP_DISAGG_UDP_CHECKSUM;
	}
	return r->format == BP_AGG_FORMAT_LIN2018 ? check_lin2018(r, g, out)
						  : check_full(d, rule, g, out);
}

/* Bytes of all restored frames. */
static uint64_t bytes_of(const struct bp_disagg_packet *p)
{
	const struct bp_agg_message *last = &p->message[p->count - 1];

	return (uint64_t)p->count * p->head_len + last->offset + last->len - p->message[0].offset;
}

enum bp_disagg_verdict bp_disaggregator_read(struct bp_disaggregator *d, const uint8_t *frame,
	uint32_t len, uint32_t frame_len, unsigned port, bool routed, uint64_t mac,
	struct bp_disagg_packet *out, uint8_t *rule, enum bp_disagg_rejection *why)
{
	struct bp_disagg_stats *stats;
	struct bp_datagram g;
	enum bp_disagg_rejection refusal;
	unsigned number;
	bool lengths_ok, whole = bp_datagram_parse(frame, len, frame_len, &g);

	if (!whole && !bp_datagram_parse_fragment(frame, len, frame_len, &g))
		return BP_DISAGG_OTHER;
	if (!bp_disaggregator_for_this_machine(frame, routed, mac))
		return BP_DISAGG_OTHER;
	number = bp_disaggregator_rule_of(d, &g, port);
	if (number == BP_AGG_NO_RULE)
		return BP_DISAGG_OTHER;
	*rule = (uint8_t)number;
	stats = &d->stats[number];
	lengths_ok = bp_datagram_lengths_ok(&g);
	/* A fragment is not an aggregate. The first fragment may have to wait for others; messages
	 * from it would not complete a datagram. */
	if (!whole || !begins_as_one(&d->rule[number], &g, lengths_ok)) {
		bp_agg_stat_add(&stats->plain, 1);
		return BP_DISAGG_BYPASS;
	}
	refusal = check(d, number, &g, lengths_ok, out);
	if (refusal != BP_DISAGG_REFUSALS) {
		bp_agg_stat_add(&stats->refused, 1);
		*why = refusal;
		return BP_DISAGG_REJECTED;
	}
	out->rule = (uint8_t)number;
	bp_disaggregator_count(d, number, frame_len, out->count, bytes_of(out));
	return BP_DISAGG_SPLIT;
}

void bp_disaggregator_give_up(struct bp_disaggregator *d, const struct bp_disagg_packet *p)
{
	struct bp_disagg_stats *stats = &d->stats[p->rule];

	bp_agg_stat_add(&stats->aggregates, (uint64_t)-1);
	bp_agg_stat_add(&stats->aggregate_bytes, -(uint64_t)p->datagram.frame_len);
	bp_agg_stat_add(&stats->messages, -(uint64_t)p->count);
	bp_agg_stat_add(&stats->message_bytes, -bytes_of(p));
	bp_agg_stat_add(&stats->refused, 1);
}

/* ---- frames ---- */

void bp_disagg_prepare(struct bp_disagg_packet *p, const struct bp_datagram *d, const uint8_t *flag)
{
	p->datagram = *d;
	p->payload = bp_datagram_payload(d);
	p->ip_at = (uint8_t)d->l3;
	p->head_len = (uint8_t)(d->l3 + bp_datagram_head_len(d->family));
	p->flagged = flag != NULL;
	if (flag != NULL) {
		memcpy(p->flag, flag, sizeof(p->flag));
		p->head_len += sizeof(p->flag);
	}
}

/* Inlined for each family. */
static inline __attribute__((always_inline)) void write_frames(const struct bp_disagg_packet *p,
	const struct bp_agg_message *m, unsigned n, unsigned family, uint16_t id,
	uint8_t *const to[])
{
	const struct bp_datagram *d = &p->datagram;
	const unsigned ip_at = p->ip_at;
	const uint16_t id_mask = d->dont_fragment ? 0 : 0xffff;
	const unsigned in_front = p->flagged ? sizeof(p->flag) : 0;
	const uint64_t flag_sum = bp_sum_tail(p->flag, in_front);
	const bp_v16 ether = bp_v16_load(d->frame);
	const uint64_t tags = bp_sum_word(d->frame + ip_at - 8);
	struct bp_datagram_head h = {.dst = bp_datagram_dst(d),
		.dport = d->dport,
		.family = (uint8_t)family,
		.tos = d->tos,
		.dont_fragment = d->dont_fragment};
	uint8_t dst[16];

	memcpy(dst, h.dst, family == 4 ? 4 : 16);
	h.dst = dst;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *frame = to[i], *payload = frame + p->head_len;
		const unsigned len = m[i].len;
		uint64_t sum;

		/* the IP header overwrites the excess bytes of these stores */
		memcpy(frame, &ether, sizeof(ether));
		memcpy(frame + ip_at - 8, &tags, sizeof(tags));
		sum = bp_copy_and_sum(payload, p->payload + m[i].offset, len);
		if (in_front != 0) {
			memcpy(payload - sizeof(p->flag), p->flag, sizeof(p->flag));
			sum = bp_sum_add(sum, flag_sum);
		}
		h.src = m[i].from.addr;
		h.sport = m[i].from.port;
		h.hops = m[i].from.hops;
		h.id = (uint16_t)(id + i) & id_mask;
		bp_datagram_put_head(frame + ip_at, &h, in_front + len, sum);
	}
}

void bp_disagg_write(const struct bp_disagg_packet *p, unsigned first, unsigned n, uint16_t id,
	uint8_t *const to[])
{
	if (p->datagram.family == 4)
		write_frames(p, &p->message[first], n, 4, id, to);
	else
		write_frames(p, &p->message[first], n, 6, id, to);
}
