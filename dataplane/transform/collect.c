/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines which frames of a burst are readings, their values, and their receivers. */
#include "biplane/counters/transform.h"
#include "dataplane/aggregation/worker.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/sample.h"
#include "dataplane/transform/worker.h"

static const uint16_t counter_of[BP_TRANSFORM_SAMPLE_VERDICTS] = {
	[BP_TRANSFORM_SAMPLE_LENGTH] = BP_C_DROP_TRANSFORM_LENGTH,
	[BP_TRANSFORM_SAMPLE_CHECKSUM] = BP_C_DROP_TRANSFORM_CHECKSUM,
	[BP_TRANSFORM_SAMPLE_SHAPE] = BP_C_DROP_TRANSFORM_UNSUPPORTED,
	[BP_TRANSFORM_SAMPLE_SOURCE] = BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE,
};

/* ---- datagrams ---- */

/* RFC 8200 4 */
#define IP6_HOP_BY_HOP 0
#define IP6_ROUTING 43
#define IP6_FRAGMENT 44
#define IP6_DESTINATION 60
#define IP6_FRAGMENT_OFFSET 0xfff8u
/*
 * No legitimate traffic has a longer chain of extension headers, and no host that accepts longer
 * ones needs protection.
 */
#define IP6_CHAIN_MAX 8u

/* Finds UDP after the extension headers of an IPv6 header with a known offset. */
static bool skip_ip6_extensions(struct bp_datagram *d)
{
	const uint8_t *ip = d->frame + d->l3;
	uint32_t at = d->l3 + BP_IP6_HDR;
	uint8_t next;

	if (at > d->len || ip[0] >> 4 != 6)
		return false;
	next = ip[BP_IP6_NEXT];
	for (unsigned i = 0; next != BP_PROTO_UDP; i++) {
		const uint8_t *h = d->frame + at;

		if (i == IP6_CHAIN_MAX || at + 8 > d->len ||
			(next != IP6_HOP_BY_HOP && next != IP6_ROUTING && next != IP6_FRAGMENT &&
				next != IP6_DESTINATION))
			return false;
		if (next == IP6_FRAGMENT && (bp_be16(h + 2) & IP6_FRAGMENT_OFFSET) != 0)
			return false;
		at += next == IP6_FRAGMENT ? 8u : 8u + h[1] * 8u;
		next = h[0];
	}
	if (at + BP_UDP_HDR > d->len)
		return false;
	d->l4 = (uint16_t)at;
	d->family = 6;
	d->sport = bp_be16(d->frame + at);
	d->dport = bp_be16(d->frame + at + 2);
	return true;
}

/*
 * Finds a datagram that the parser rejects but a host would accept as a reading: a first fragment
 * of IPv4 or IPv6, or one with extension headers. False: there is none, or its UDP header is not in
 * this frame. The length in *d is not set.
 */
static bool parse_hidden(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	uint32_t at = 12;

	if (bp_datagram_parse_fragment(frame, len, frame_len, d))
		return true;
	if (len < BP_ETHER_HDR)
		return false;
	for (unsigned tags = 0; bp_be16(frame + at) != BP_ETHER_IP6; tags++) {
		const uint16_t type = bp_be16(frame + at);

		if (tags == 2 || at + 6 > len ||
			(type != BP_ETHER_VLAN && type != BP_ETHER_QINQ &&
				type != BP_ETHER_QINQ_OLD))
			return false;
		at += 4;
	}
	d->l3 = (uint16_t)(at + 2);
	return skip_ip6_extensions(d);
}

/*
 * Whether the source address is valid, so that neither receivers nor a host that answers them are
 * misled. The source port may be 0, which means that no answer is expected (RFC 768).
 */
static bool sender_possible(const struct bp_datagram *d)
{
	return (d->frame[6] & 1) == 0 &&
	       bp_datagram_sender_possible(d->family, bp_datagram_src(d), 1, 1);
}

/*
 * Validates a datagram, which is contiguous or rejected. BP_TRANSFORM_SAMPLE_TAKEN: *r is set
 * except for the rule.
 */
static enum bp_transform_sample_verdict validate(const struct bp_datagram *d,
	const struct bp_transform_layout *l, struct bp_transform_sample *r)
{
	uint64_t sum, rest;

	if (!bp_datagram_ip_ok(d))
		return BP_TRANSFORM_SAMPLE_CHECKSUM;
	if (!bp_datagram_lengths_ok(d) || bp_datagram_payload_len(d) < l->length)
		return BP_TRANSFORM_SAMPLE_LENGTH;
	sum = bp_datagram_pseudo_sum(d->family, bp_datagram_src(d), d->l4_len);
	sum = bp_sum_add(sum, bp_sum_word(d->frame + d->l4));
	sum = bp_sum_add(sum, bp_datagram_payload_sum(d));
	rest = bp_sum_add(sum, ~bp_transform_sample_outputs(l, bp_datagram_payload(d)));
	if (__builtin_expect(bp_datagram_has_checksum(d), 1)) {
		uint16_t check;

		if (!bp_sum_ok(sum))
			return BP_TRANSFORM_SAMPLE_CHECKSUM;
		memcpy(&check, d->frame + d->l4 + BP_UDP_CHECKSUM, sizeof(check));
		rest = bp_sum_add(rest, ~(uint64_t)check);
	} else if (d->family == 6) {
		return BP_TRANSFORM_SAMPLE_CHECKSUM;
	}
	if (!sender_possible(d))
		return BP_TRANSFORM_SAMPLE_SOURCE;
	r->frame = (uint8_t *)(uintptr_t)d->frame;
	r->kind = (struct bp_transform_sample_kind){.l3 = d->l3, .l4 = d->l4, .family = d->family};
	bp_transform_words(d->family, d->family == 4 ? 32 : 128, bp_datagram_src(d), r->from);
	r->rest = rest;
	return BP_TRANSFORM_SAMPLE_TAKEN;
}

bool bp_transform_sample_answerable(const struct bp_transform_sample *r)
{
	const bool four = r->kind.family == 4;
	const uint8_t *ip = r->frame + r->kind.l3;

	return ip[four ? BP_IP4_TTL : BP_IP6_HOPS] >= 2 &&
	       bp_datagram_sender_possible(
		       r->kind.family, ip + (four ? BP_IP4_DST : BP_IP6_DST), 1, 1);
}

/* ---- frames ---- */

/* Common properties of the frames of a port; usually all frames of a burst are from one port. */
struct port {
	uint16_t number;
	bool routed, down;
	uint8_t behind; /* the edge of frames that are not readings */
	uint64_t mac;
};

static void describe(const struct bp_worker *w, uint16_t number, struct port *p)
{
	p->number = number;
	p->routed = bp_agg_port_routes(w, number);
	p->down = bp_agg_port_is_down(w, number);
	p->behind = w->inner[number];
	p->mac = w->router.rx_mac[number];
}

/*
 * Whether the frame is addressed to the MAC address of a routed port; on another port, to any
 * single station.
 */
static inline bool for_us(const struct port *p, const uint8_t *frame)
{
	const uint64_t to = bp_load_le64(frame);

	return p->routed ? ((to ^ p->mac) << 16) == 0 : (to & 1) == 0;
}

/* The same for the MAC address of the subinterface of a tagged frame. */
static bool for_subinterface(
	const struct bp_worker *w, const struct port *p, const uint8_t *frame, uint32_t len)
{
	uint8_t interface;

	if (!p->routed || len < BP_ETHER_HDR + BP_VLAN_TAG || bp_be16(frame + 12) != BP_ETHER_VLAN)
		return false;
	interface = bp_router_vlan(&w->router, (uint8_t)p->number, bp_be16(frame + BP_ETHER_HDR));
	return interface != BP_NO_INTERFACE && bp_mac_word(frame) == w->router.rx_mac[interface];
}

static inline unsigned rule_of(
	const struct bp_transform_worker *t, const struct port *p, const struct bp_datagram *d)
{
	uint64_t to[2];

	bp_agg_match_words(d->family, bp_datagram_dst(d), to);
	return bp_agg_match_find(&t->match, p->number, d->family, to, d->dport);
}

static uint8_t refuse(
	struct bp_transform_worker *t, struct rte_mbuf *m, unsigned rule, bp_counter_t why)
{
	if (t->view.bank != NULL)
		bp_transform_stat_add(why == BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE
					      ? &t->rule[rule].stats->unknown
					      : &t->rule[rule].stats->refused,
			1);
	return (uint8_t)bp_drop(m, why);
}

/* Returns the edge of the frame, or BP_EDGE_TAKEN and sets *r. */
static __rte_noinline uint8_t classify(struct bp_transform_worker *t, const struct port *p,
	struct rte_mbuf *m, struct bp_transform_sample *r)
{
	enum bp_transform_sample_verdict verdict = BP_TRANSFORM_SAMPLE_SHAPE;
	const uint8_t *frame;
	struct bp_datagram d;
	unsigned rule;

	if (unlikely(m->nb_segs != 1))
		(void)rte_pktmbuf_linearize(m); /* if one of its buffers has enough tailroom */
	frame = rte_pktmbuf_mtod(m, const uint8_t *);
	if (m->data_len < BP_ETHER_HDR || p->down ||
		!(for_us(p, frame) || for_subinterface(t->worker, p, frame, m->data_len)))
		return p->behind;
	if (likely(bp_datagram_parse(frame, m->data_len, m->pkt_len, &d)))
		verdict = m->nb_segs == 1 ? BP_TRANSFORM_SAMPLE_TAKEN : BP_TRANSFORM_SAMPLE_SHAPE;
	else if (!parse_hidden(frame, m->data_len, m->pkt_len, &d))
		return p->behind;
	rule = rule_of(t, p, &d);
	if (rule == BP_AGG_NO_RULE)
		return p->behind;
	if (unlikely(t->view.bank == NULL))
		return refuse(t, m, rule, BP_C_DROP_TRANSFORM_NO_RULES);
	if (likely(verdict == BP_TRANSFORM_SAMPLE_TAKEN))
		verdict = validate(&d, &t->rule[rule].layout, r);
	if (unlikely(verdict != BP_TRANSFORM_SAMPLE_TAKEN))
		return refuse(t, m, rule, counter_of[verdict]);
	r->kind.rule = (uint8_t)rule;
	bp_template_learn(&t->template, r, &t->rule[rule].layout, p->number, p->mac);
	return BP_EDGE_TAKEN;
}

static inline bool begins_like_template(
	const struct bp_transform_worker *t, const struct rte_mbuf *m)
{
	return bp_template_begins(&t->template, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
}

/*
 * Validates the frames [i, n) up to the first that does not match the template; returns its index.
 * A separate function, so that common values stay in registers.
 */
static __rte_noinline unsigned validate_same_template(
	struct bp_transform_worker *t, unsigned i, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_template u = t->template;
	const struct bp_transform_layout *l = &t->rule[u.kind.rule].layout;
	const unsigned from = i;
	struct bp_transform_sample *r = &b->sample[b->n];
	uint64_t others = 0;

	/* eight at a time only if they probably match */
	if (t->avx512_supported && n - i >= 8 && bp_template_is_kunze2021(&u) &&
		begins_like_template(t, b->m[i + 7])) {
		const unsigned done = bp_transform_avx512_validate(
			&u, b->m + i, n - i, r, b->payload + b->n, &b->sample[0], &others);

		i += done;
		r += done;
	}
	for (; i < n; i++, r++) {
		struct rte_mbuf *m = b->m[i];
		uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

		if (i + 4 < n)
			rte_prefetch0(rte_pktmbuf_mtod_offset(
				b->m[i + 4], uint8_t *, RTE_CACHE_LINE_SIZE));
		if (unlikely(m->port != u.port || m->nb_segs != 1 ||
			     !bp_template_validate(&u, l, frame, m->data_len, r)))
			break;
		b->payload[b->n + i - from] = frame + BP_TEMPLATE_PAYLOAD;
		others |= r->from[0] ^ b->sample[0].from[0];
	}
	memset(&b->edge[from], BP_EDGE_TAKEN, i - from);
	memcpy(&b->at[b->n], &t->numbers[from], i - from);
	b->single_source &= others == 0;
	b->n_same_template += i - from;
	b->n += i - from;
	return i;
}

static void classify_burst(struct bp_transform_worker *t, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	struct port p = {.number = BP_NO_PORT};

	b->n = b->n_same_template = 0;
	b->single_source = true;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m;

		if (t->template.valid && begins_like_template(t, b->m[i])) {
			i = validate_same_template(t, i, n);
			if (i == n)
				break;
		}
		m = b->m[i];
		if (unlikely(m->port != p.number))
			describe(t->worker, m->port, &p);
		b->edge[i] = classify(t, &p, m, &b->sample[b->n]);
		if (b->edge[i] == BP_EDGE_TAKEN) {
			b->at[b->n] = (uint8_t)i;
			b->payload[b->n] = bp_transform_sample_payload(&b->sample[b->n]);
			/* readings before it had another head */
			b->n_same_template += t->template.valid && b->n == 0;
			b->n++;
		}
	}
}

/* ---- sources ---- */

/*
 * Each step covers all readings of a burst, so that the memory latency of one lookup is hidden by
 * the others.
 */
static inline bool same_source(
	const struct bp_transform_sample *a, const struct bp_transform_sample *b)
{
	return a->from[0] == b->from[0] && a->from[1] == b->from[1] &&
	       a->kind.rule == b->kind.rule && a->kind.family == b->kind.family;
}

static inline uint64_t source_hash(const struct bp_transform_worker *t,
	const struct bp_transform_sample *r, unsigned length, uint64_t word[2])
{
	word[0] = r->from[0] & t->prefix[length][0];
	word[1] = r->from[1] & t->prefix[length][1];
	return bp_transform_hash(t->view.key, r->kind.rule, r->kind.family, length, word);
}

static inline unsigned longest(
	const struct bp_transform_worker *t, const struct bp_transform_sample *r)
{
	return atomic_load_explicit(
		&t->view.bank->rule[r->kind.rule].length[r->kind.family == 6][0],
		memory_order_acquire);
}

/* Hashes with the longest prefix, which is usually the matching one, and prefetches the bucket. */
static void fetch_buckets(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_sample *r = &b->sample[j];
		uint64_t word[2];

		b->hash[j] = source_hash(t, r, longest(t, r), word);
		rte_prefetch0(bp_transform_bucket(&t->view, b->hash[j]));
	}
}

static void fetch_sources(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_view v = t->view; /* the stores below cannot change it */
	const unsigned n = b->n;

	for (unsigned j = 0; j < n; j++) {
		b->source[j] = bp_transform_candidate(&v, b->hash[j]);
		if (likely(b->source[j] != UINT32_MAX))
			rte_prefetch0(&v.source[b->source[j]]);
	}
}

/*
 * Returns the source with the longest prefix that contains the source of the reading, or
 * UINT32_MAX.
 */
static __rte_noinline uint32_t find(
	const struct bp_transform_worker *t, const struct bp_transform_sample *r)
{
	const struct bp_transform_rule_row *rule = &t->view.bank->rule[r->kind.rule];
	const unsigned f = r->kind.family == 6;

	for (unsigned i = 0; i < BP_TRANSFORM_LENGTHS_MAX &&
			     i < atomic_load_explicit(&rule->n_lengths[f], memory_order_acquire);
		i++) {
		const unsigned length =
			atomic_load_explicit(&rule->length[f][i], memory_order_acquire);
		uint64_t word[2], hash = source_hash(t, r, length, word);
		const uint32_t source = bp_transform_lookup_one(
			&t->view, hash, r->kind.rule, r->kind.family, length, word);

		if (source != UINT32_MAX)
			return source;
	}
	return UINT32_MAX;
}

/*
 * Whether the source matches the reading with the longest prefix of the rule, so that no longer one
 * exists.
 */
static inline bool is_longest(
	const struct bp_transform_worker *t, const struct bp_transform_sample *r, uint32_t source)
{
	const struct bp_transform_source_row *s;
	const unsigned length = longest(t, r);
	uint64_t word[2];

	if (unlikely(source == UINT32_MAX))
		return false;
	s = &t->view.source[source];
	memcpy(word, s->address, sizeof(word));
	return ((word[0] ^ (r->from[0] & t->prefix[length][0])) |
		       (word[1] ^ (r->from[1] & t->prefix[length][1]))) == 0 &&
	       s->length == length && s->family == r->kind.family && s->rule == r->kind.rule;
}

static inline void fetch_rows(const struct bp_transform_worker *t, uint32_t source, uint32_t first)
{
	const struct bp_transform_row *row = &t->view.row[first];

	for (unsigned i = 0; i < sizeof(*row) / RTE_CACHE_LINE_SIZE; i++)
		rte_prefetch0((const uint8_t *)row + (size_t)i * RTE_CACHE_LINE_SIZE);
	rte_prefetch0(&t->source_stats[source]);
}

/* Stores the source of reading j and its receivers. */
static inline void enter(struct bp_transform_worker *t, unsigned j, uint32_t source)
{
	struct bp_transform_burst *b = &t->burst;

	b->source[j] = source;
	if (likely(source != UINT32_MAX)) {
		const struct bp_transform_source_row *s = &t->view.source[source];

		/* each is read once; a damaged one has no receivers */
		const uint32_t first = __atomic_load_n(&s->first, __ATOMIC_RELAXED);
		const uint32_t n = __atomic_load_n(&s->n, __ATOMIC_RELAXED);
		const bool there = n <= BP_TRANSFORM_RECEIVERS_MAX && first <= t->view.rows - n;

		b->row[j] = there ? first : 0;
		b->n_rows[j] = (uint8_t)(there ? n : 0);
		fetch_rows(t, source, b->row[j]);
	} else {
		const struct bp_transform_worker_rule *rule = &t->rule[b->sample[j].kind.rule];

		b->row[j] = rule->otherwise;
		b->n_rows[j] = !rule->drop_unknown;
	}
}

static void find_each(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	fetch_buckets(t);
	fetch_sources(t);
	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_sample *r = &b->sample[j];
		uint32_t source = b->source[j];

		if (unlikely(!is_longest(t, r, source)))
			source = j != 0 && same_source(r, r - 1) ? b->source[j - 1] : find(t, r);
		enter(t, j, source);
	}
}

/* Removes the readings of unknown sources from the list. */
static __rte_noinline void drop_unknown(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const bool template = b->n_same_template == b->n;
	unsigned kept = 0;

	for (unsigned j = 0; j < b->n; j++) {
		const unsigned at = b->at[j];

		if (b->n_rows[j] == 0) {
			b->edge[at] = refuse(t, b->m[at], b->sample[j].kind.rule,
				BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE);
			continue;
		}
		b->sample[kept] = b->sample[j];
		b->payload[kept] = b->payload[j];
		b->at[kept] = b->at[j];
		b->source[kept] = b->source[j];
		b->row[kept] = b->row[j];
		b->n_rows[kept++] = b->n_rows[j];
	}
	b->n = kept;
	/* the sources of removed readings are unknown, and the number must not include others */
	b->n_same_template = template ? kept : 0;
}

void bp_transform_find_source(struct bp_transform_worker *t)
{
	enter(t, 0, find(t, &t->burst.sample[0]));
}

static void find_one(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	uint32_t source, row;

	bp_transform_find_source(t);
	source = b->source[0];
	row = b->row[0];
	for (unsigned j = 1; j < b->n; j++)
		b->source[j] = source;
	for (unsigned j = 1; j < b->n; j++)
		b->row[j] = row;
	memset(b->n_rows, b->n_rows[0], b->n);
	b->one_receiver = b->n_rows[0] == 1;
	if (unlikely(b->n_rows[0] == 0))
		drop_unknown(t);
}

static void find_sources(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	unsigned none = 0, several = 0;

	b->single_source &= b->n_same_template == b->n;
	if (b->single_source) {
		find_one(t);
		return;
	}
	find_each(t);
	for (unsigned j = 0; j < b->n; j++) {
		none |= b->n_rows[j] == 0;
		several |= b->n_rows[j] > 1;
	}
	b->one_receiver = !several;
	if (unlikely(none))
		drop_unknown(t);
}

/* ---- points ---- */

static void reject_numbers(struct bp_transform_worker *t, unsigned j)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned at = b->at[j];

	b->edge[at] = refuse(t, b->m[at], b->sample[j].kind.rule, BP_C_DROP_TRANSFORM_INVALID);
	b->n_rows[j] = 0;
	b->one_receiver = false;
	if (b->source[j] != UINT32_MAX)
		bp_transform_stat_add(&bp_transform_source_stats_of(t, b->source[j])->refused, 1);
}

/* Reads the points of readings of any rules, one by one. */
static void read_each(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_sample *r = &b->sample[j];

		if (bp_transform_layout_read(&t->rule[r->kind.rule].layout, b->payload[j],
			    &b->points, j) != BP_TRANSFORM_GOOD)
			reject_numbers(t, j);
	}
}

/* Reads the points if all readings are of one rule. */
static void read_same_rule(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[b->sample[0].kind.rule].layout;
	uint8_t why[BP_RX_BURST];
	uint64_t bad = bp_transform_layout_read_all(
		l, (const uint8_t *const *)b->payload, b->n, &b->points, why);

	for (; unlikely(bad != 0); bad &= bad - 1)
		reject_numbers(t, (unsigned)__builtin_ctzll(bad));
}

static bool is_same_rule(const struct bp_transform_burst *b)
{
	if (likely(b->n_same_template == b->n)) /* all have the same head */
		return true;
	for (unsigned j = 1; j < b->n; j++)
		if (b->sample[j].kind.rule != b->sample[0].kind.rule)
			return false;
	return true;
}

void bp_transform_collect(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;

	b->m = m;
	classify_burst(t, n);
	if (b->n == 0)
		return;
	find_sources(t);
	if (b->n == 0)
		return;
	b->same_rule = is_same_rule(b);
	if (likely(b->same_rule))
		read_same_rule(t);
	else
		read_each(t);
}
