/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames of a burst are readings, what they say, and who gets them. */
#include "dataplane/agg/gather.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/transformer.h"

static const uint16_t counter_of[BP_READING_VERDICTS] = {
	[BP_READING_LENGTH] = BP_C_DROP_TRANSFORM_LENGTH,
	[BP_READING_CHECKSUM] = BP_C_DROP_TRANSFORM_CHECKSUM,
	[BP_READING_SHAPE] = BP_C_DROP_TRANSFORM_SHAPE,
	[BP_READING_SOURCE] = BP_C_DROP_TRANSFORM_SOURCE,
};

/* ---- frames ---- */

/* What a port's frames have in common; mostly all of a burst are of one. */
struct port {
	uint16_t number;
	bool routed, down;
	uint8_t behind; /* the edge of what is no reading */
	uint64_t mac;
};

static void describe(const struct bp_worker *w, uint16_t number, struct port *p)
{
	p->number = number;
	p->routed = bp_gather_routed(w, number);
	p->down = bp_gather_down(w, number);
	p->behind = w->inner[number];
	p->mac = w->router.rx_mac[number];
}

/* On a port that routes, for its MAC address; else for any single station. */
static inline bool for_us(const struct port *p, const uint8_t *frame)
{
	const uint64_t to = bp_load_le64(frame);

	return p->routed ? ((to ^ p->mac) << 16) == 0 : (to & 1) == 0;
}

static inline unsigned rule_of(
	const struct bp_transformer *t, const struct port *p, const struct bp_datagram *d)
{
	uint64_t to[2];

	bp_agg_match_words(d->family, bp_datagram_dst(d), to);
	return bp_agg_match_find(&t->match, p->number, d->family, to, d->dport);
}

static uint8_t refuse(
	struct bp_transformer *t, struct rte_mbuf *m, unsigned rule, enum bp_counter why)
{
	if (t->view.bank != NULL)
		bp_transform_stat_add(why == BP_C_DROP_TRANSFORM_SOURCE
					      ? &t->rule[rule].stats->unknown
					      : &t->rule[rule].stats->refused,
			1);
	return (uint8_t)bp_drop(m, why);
}

/* A frame of several buffers, in one piece if one of them has room for all. What is refused later
 * is the same frame still. */
static __rte_noinline void put_together(struct rte_mbuf *m)
{
	if (rte_pktmbuf_linearize(m) != 0)
		return; /* bp_datagram_lengths_ok() refuses it */
}

/* The frame's edge, or BP_EDGE_TAKEN and *r. */
static uint8_t judge(
	struct bp_transformer *t, const struct port *p, struct rte_mbuf *m, struct bp_reading *r)
{
	enum bp_reading_verdict verdict;
	const uint8_t *frame;
	struct bp_datagram d;
	unsigned rule;

	if (unlikely(m->nb_segs != 1))
		put_together(m);
	frame = rte_pktmbuf_mtod(m, const uint8_t *);
	if (unlikely(m->data_len < BP_ETHER_HDR || p->down) || !for_us(p, frame))
		return p->behind;
	if (unlikely(!bp_datagram_parse(frame, m->data_len, m->pkt_len, &d))) {
		if (!bp_reading_parse_hidden(frame, m->data_len, m->pkt_len, &d))
			return p->behind;
		rule = rule_of(t, p, &d);
		verdict = BP_READING_SHAPE;
	} else {
		rule = rule_of(t, p, &d);
		verdict = BP_READING_TAKEN;
	}
	if (rule == BP_AGG_NO_RULE)
		return p->behind;
	if (unlikely(t->view.bank == NULL))
		return refuse(t, m, rule, BP_C_DROP_TRANSFORM_RULES);
	if (unlikely(m->nb_segs != 1))
		verdict = BP_READING_SHAPE;
	if (likely(verdict == BP_READING_TAKEN))
		verdict = bp_reading_judge(&d, &t->rule[rule].layout, r);
	if (unlikely(verdict != BP_READING_TAKEN))
		return refuse(t, m, rule, counter_of[verdict]);
	r->rule = (uint8_t)rule;
	return BP_EDGE_TAKEN;
}

static void judge_all(struct bp_transformer *t, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	struct port p = {.number = BP_NO_PORT};

	b->n = 0;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = b->m[i];

		if (unlikely(m->port != p.number))
			describe(t->worker, m->port, &p);
		b->edge[i] = judge(t, &p, m, &b->reading[b->n]);
		b->at[b->n] = (uint8_t)i;
		b->n += b->edge[i] == BP_EDGE_TAKEN;
	}
}

/* ---- sources ---- */

static inline const uint8_t *address_of(const struct bp_reading *r)
{
	return r->frame + r->l3 + (r->family == 4 ? BP_IP4_SRC : BP_IP6_SRC);
}

static inline bool same_source(const struct bp_reading *a, const struct bp_reading *b)
{
	return a->from[0] == b->from[0] && a->from[1] == b->from[1] && a->rule == b->rule &&
	       a->family == b->family;
}

static inline uint64_t hash_of(const struct bp_transformer *t, const struct bp_reading *r,
	unsigned length, uint64_t word[2])
{
	bp_transform_words(r->family, length, address_of(r), word);
	return bp_transform_hash(t->view.bank->key, r->rule, r->family, length, word);
}

/* Fetches the bucket of the longest prefix, which is mostly the one that holds it. */
static void fetch_buckets(struct bp_transformer *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];
		uint64_t word[2];

		if (j != 0 && same_source(r, r - 1))
			continue;
		rte_prefetch0(bp_transform_bucket(&t->view,
			hash_of(t, r,
				atomic_load_explicit(
					&t->view.bank->rule[r->rule].length[r->family == 6][0],
					memory_order_acquire),
				word)));
	}
}

/* The source with the longest prefix that holds the reading's, or UINT32_MAX. */
static uint32_t find(const struct bp_transformer *t, const struct bp_reading *r)
{
	const struct bp_transform_rule_row *rule = &t->view.bank->rule[r->rule];
	const unsigned f = r->family == 6;

	for (unsigned i = 0; i < atomic_load_explicit(&rule->n_lengths[f], memory_order_acquire);
		i++) {
		const unsigned length =
			atomic_load_explicit(&rule->length[f][i], memory_order_acquire);
		uint64_t word[2], h = hash_of(t, r, length, word);
		uint32_t s = bp_transform_lookup_one(&t->view, h, r->rule, r->family, length, word);

		if (s != UINT32_MAX)
			return s;
	}
	return UINT32_MAX;
}

static inline void fetch_rows(const struct bp_transformer *t, uint32_t source)
{
	const struct bp_transform_source_row *s = &t->view.source[source];
	const struct bp_transform_row *row = &t->view.row[s->first];

	for (unsigned i = 0; i < sizeof(*row) / RTE_CACHE_LINE_SIZE; i++)
		rte_prefetch0((const uint8_t *)row + (size_t)i * RTE_CACHE_LINE_SIZE);
	rte_prefetch0(&t->source_stats[source]);
}

/* Who gets it; false: nobody. */
static bool receivers(struct bp_transformer *t, unsigned j, uint32_t source)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transformer_rule *rule = &t->rule[b->reading[j].rule];

	b->source[j] = source;
	if (likely(source != UINT32_MAX)) {
		const struct bp_transform_source_row *s = &t->view.source[source];

		b->row[j] = s->first;
		b->n_rows[j] = (uint8_t)s->n;
		return true;
	}
	b->row[j] = rule->otherwise;
	b->n_rows[j] = 1;
	return !rule->drop_unknown;
}

static void find_sources(struct bp_transformer *t)
{
	struct bp_transform_burst *b = &t->burst;
	uint32_t source = UINT32_MAX;
	unsigned kept = 0;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];

		if (j == 0 || !same_source(r, r - 1)) {
			source = find(t, r);
			if (source != UINT32_MAX)
				fetch_rows(t, source);
		}
		b->source[j] = source;
	}
	for (unsigned j = 0; j < b->n; j++) {
		if (unlikely(!receivers(t, j, b->source[j]))) {
			const unsigned at = b->at[j];

			b->edge[at] =
				refuse(t, b->m[at], b->reading[j].rule, BP_C_DROP_TRANSFORM_SOURCE);
			continue;
		}
		if (unlikely(kept != j)) {
			b->reading[kept] = b->reading[j];
			b->at[kept] = b->at[j];
			b->source[kept] = b->source[j];
			b->row[kept] = b->row[j];
			b->n_rows[kept] = b->n_rows[j];
		}
		kept++;
	}
	b->n = kept;
}

/* ---- points ---- */

static void refuse_numbers(struct bp_transformer *t, unsigned j)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned at = b->at[j];

	b->edge[at] = refuse(t, b->m[at], b->reading[j].rule, BP_C_DROP_TRANSFORM_INPUT);
	b->n_rows[j] = 0;
	if (b->source[j] != UINT32_MAX)
		bp_transform_stat_add(&bp_transformer_stats_of(t, b->source[j])->refused, 1);
}

static inline uint8_t *payload_of(const struct bp_reading *r)
{
	return r->frame + r->l4 + BP_UDP_HDR;
}

/* Reading by reading, of whatever rule. */
static void read_each(struct bp_transformer *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];

		if (bp_transform_layout_read(&t->rule[r->rule].layout, payload_of(r), &b->points,
			    j) != BP_TRANSFORM_GOOD)
			refuse_numbers(t, j);
	}
}

/* All of one rule. */
static void read_alike(struct bp_transformer *t)
{
	struct bp_transform_burst *b = &t->burst;
	const uint8_t *payload[BP_RX_BURST];
	uint8_t why[BP_RX_BURST];
	uint64_t bad;

	for (unsigned j = 0; j < b->n; j++)
		payload[j] = payload_of(&b->reading[j]);
	bad = bp_transform_layout_read_all(
		&t->rule[b->reading[0].rule].layout, payload, b->n, &b->points, why);
	for (; unlikely(bad != 0); bad &= bad - 1)
		refuse_numbers(t, (unsigned)__builtin_ctzll(bad));
}

static bool one_rule(const struct bp_transform_burst *b)
{
	for (unsigned j = 1; j < b->n; j++)
		if (b->reading[j].rule != b->reading[0].rule)
			return false;
	return true;
}

void bp_transformer_collect(struct bp_transformer *t, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;

	b->m = m;
	judge_all(t, n);
	if (b->n == 0)
		return;
	fetch_buckets(t);
	find_sources(t);
	if (b->n == 0)
		return;
	b->alike = one_rule(b);
	if (likely(b->alike))
		read_alike(t);
	else
		read_each(t);
}
