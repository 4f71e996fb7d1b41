/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_FAST_H
#define BP_DATAPLANE_MQTT_FAST_H

#include "dataplane/mqtt/inspector.h"
#include "proto/number.h"
#include "proto/vec16.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/*
 * The frame that nearly every frame is: untagged IPv4 without options, a TCP segment that continues
 * its stream, in it exactly one PUBLISH on the topic that this client published last, with a value
 * that raises no alarm. All of it inline and straight ahead, for the node that reads bursts.
 *
 * Nothing is written before everything is decided: whenever something is not as usual these
 * functions answer "no" and the caller takes the general way (inspect.h), which starts from the
 * beginning. So the fast path can only be slower to say no, never differ in what is seen.
 */

#define BP_FAST_L3 14u
#define BP_FAST_L4 34u

/* What a batch adds to the counters, once. */
struct bp_fast_tally {
	uint32_t publishes; /* each is a segment, a packet, a memo hit */
	uint32_t matched;   /* of these, with a rule */
};

static inline void bp_fast_flush(struct bp_inspector *in, const struct bp_fast_tally *t)
{
	uint64_t *v = in->counters->v;

	v[BP_C_SEG_INSPECTED] += t->publishes;
	v[BP_C_MQTT_PACKETS] += t->publishes;
	v[BP_C_MQTT_PUBLISH] += t->publishes;
	v[BP_C_TOPIC_MEMO] += t->publishes;
	v[BP_C_MATCH] += t->matched;
	v[BP_C_MATCH_NONE] += t->publishes - t->matched;
}

/* bp_inspect_hash() and bp_inspect_probe() for such a frame. */
static inline void bp_fast_hash(
	const struct bp_inspector *in, const uint8_t *frame, bool to_broker, struct bp_lookup *l)
{
	uint64_t pair;
	uint32_t ports = bp_be32(frame + BP_FAST_L4);

	memcpy(&pair, frame + BP_FAST_L3 + 12, 8); /* source low, destination high */
	l->k0 = to_broker ? pair << 32 | pair >> 32 : pair;
	l->k1 = to_broker ? ports : ports << 16 | ports >> 16;
	l->hash = bp_flow_hash(&in->table, l->k0, l->k1);
	__builtin_prefetch(&in->table.group[bp_flow_group1(&in->table, l->hash)]);
}

static inline void bp_fast_probe(const struct bp_inspector *in, struct bp_lookup *l)
{
	l->flow = bp_flow_candidate(&in->table, l->hash);
	__builtin_prefetch(l->flow, 1);
}

/* Sums 32-bit words in 64-bit lanes: no carry can get lost, and RFC 1071 does not mind the width.
 */
static inline uint64_t bp_fast_sum(const uint8_t *p, uint32_t len)
{
#if defined(__SSE2__)
	const __m128i zero = _mm_setzero_si128();
	__m128i sum = zero, v;

	while (len >= 16) {
		v = _mm_loadu_si128((const __m128i *)(const void *)p);
		sum = _mm_add_epi64(sum, _mm_unpacklo_epi32(v, zero));
		sum = _mm_add_epi64(sum, _mm_unpackhi_epi32(v, zero));
		p += 16;
		len -= 16;
	}
	v = (__m128i)bp_v16_load_upto(p, len);
	sum = _mm_add_epi64(sum, _mm_unpacklo_epi32(v, zero));
	sum = _mm_add_epi64(sum, _mm_unpackhi_epi32(v, zero));
	return (uint64_t)_mm_cvtsi128_si64(sum) +
	       (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
#else
	return bp_sum(p, len, 0);
#endif
}

/* Whether both checksums of such a frame are right; `total` is the IPv4 header's total length. */
static inline bool bp_fast_checksum_ok(const uint8_t *frame, uint32_t total)
{
	const uint8_t *ip = frame + BP_FAST_L3;
	uint64_t a, b, addresses, header, tcp;
	uint32_t c;

	memcpy(&a, ip, 8);
	memcpy(&c, ip + 8, 4);
	memcpy(&b, ip + 12, 8);
	addresses = (b & 0xffffffff) + (b >> 32);
	header = (a & 0xffffffff) + (a >> 32) + c + addresses;
	tcp = addresses + __builtin_bswap16((uint16_t)(total - 20)) + (6u << 8) +
	      bp_fast_sum(frame + BP_FAST_L4, total - 20);
	return bp_sum_fold(header) == 0xffff && bp_sum_fold(tcp) == 0xffff;
}

/* The value, when it is the usual kind of text; false says nothing. */
static inline bool bp_fast_value(
	const struct bp_value_source *source, const uint8_t *p, uint32_t n, double *value)
{
	if (source->kind == BP_VALUE_TEXT && n - 1 < BP_NUMBER_SHORT)
		return bp_number_short(bp_load_short(p, n), n, value);
	return bp_value_extract(p, n, source, value);
}

/* The one PUBLISH of which [p, p + n) consists, its topic the flow's last: *payload, or NULL. */
static inline const uint8_t *bp_fast_payload(const struct bp_inspector *in, const struct bp_flow *f,
	const uint8_t *p, uint32_t n, uint32_t *payload_len)
{
	uint32_t at, topic = f->memo_len;

	if (n < topic + 5u || (p[0] & 0xfc) != 0x30)
		return NULL; /* not PUBLISH, or QoS 2, or DUP, which is counted */
	if (p[1] < 0x80) {
		if (p[1] + 2u != n)
			return NULL;
		at = 2;
	} else {
		if (p[2] >= 0x80 || (p[1] & 0x7fu) + ((uint32_t)p[2] << 7) + 3 != n)
			return NULL;
		at = 3;
	}
	if (bp_be16(p + at) != topic || bp_topic_hash(in, p + at + 2, topic) != f->memo_hash)
		return NULL;
	at += 2 + topic;
	if (p[0] & 0x02) {
		if (at + 2 > n || bp_be16(p + at) == 0)
			return NULL;
		at += 2;
	}
	if (f->version == BP_MQTT_V5 && (at == n || p[at++] != 0))
		return NULL; /* properties */
	*payload_len = n - at;
	return p + at;
}

/* Whether the flow is in the state in which a PUBLISH of the client can be read at once. */
static inline bool bp_fast_ready(const struct bp_inspector *in, const struct bp_flow *f)
{
	return in->judged[BP_TO_BROKER] && f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY &&
	       f->pending == 0 && (f->flags & (BP_FLOW_IP6 | BP_FLOW_CLOSED)) == 0 &&
	       (f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)) != 0 && f->memo_gen == in->gen &&
	       f->memo_rule != BP_MEMO_MANY;
}

/*
 * Reads such a frame whole. False: nothing was done, take the general way. `l` as the lookup left
 * it; checksums are the caller's business; `total` as above, not beyond the frame.
 */
static inline bool bp_fast_segment(struct bp_inspector *in, const uint8_t *frame, uint32_t total,
	const struct bp_lookup *l, struct bp_fast_tally *tally)
{
	struct bp_flow *f = l->flow;
	const uint8_t *tcp = frame + BP_FAST_L4, *payload;
	uint32_t header = (uint32_t)(tcp[12] >> 4) * 4, n = total - 20 - header, payload_len;
	const struct bp_rule *rule;
	struct bp_rule_stats *stats;
	double value;

	if (f->k0 != l->k0 || f->k1 != l->k1 || !f->used || !bp_fast_ready(in, f) ||
		bp_be32(tcp + 4) != f->next[BP_TO_BROKER] || (tcp[13] & 0x17) != BP_TCP_ACK)
		return false;
	/* an acknowledgement beyond what was seen of the broker shows a gap there */
	if ((int32_t)(bp_be32(tcp + 8) - f->next[BP_FROM_BROKER]) > 0 &&
		f->stream[BP_FROM_BROKER] != BP_STREAM_UNSEEN &&
		f->stream[BP_FROM_BROKER] < BP_STREAM_SEEK)
		return false;
	payload = bp_fast_payload(in, f, tcp + header, n, &payload_len);
	if (payload == NULL)
		return false;
	if (f->memo_rule != BP_RULE_NONE) {
		rule = bp_ruleset_rule(in->rules, f->memo_rule);
		if (rule->stateful ||
			!bp_fast_value(bp_ruleset_source(in->rules, rule->source), payload,
				payload_len, &value) ||
			bp_condition_holds(&rule->raise, value))
			return false;
		stats = &in->rule_stats[rule->slot];
		atomic_store_explicit(&stats->matched,
			atomic_load_explicit(&stats->matched, memory_order_relaxed) + 1,
			memory_order_relaxed);
		tally->matched++;
	}
	f->seen = in->now_ticks;
	f->next[BP_TO_BROKER] += n;
	f->publishes++;
	tally->publishes++;
	return true;
}

#endif
