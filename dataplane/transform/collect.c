/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames of a burst are readings, what they say, and who gets them. */
#include "dataplane/aggregation/worker.h"
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
	p->routed = bp_agg_port_routes(w, number);
	p->down = bp_agg_port_is_down(w, number);
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
	const struct bp_transform_worker *t, const struct port *p, const struct bp_datagram *d)
{
	uint64_t to[2];

	bp_agg_match_words(d->family, bp_datagram_dst(d), to);
	return bp_agg_match_find(&t->match, p->number, d->family, to, d->dport);
}

uint8_t bp_transform_refuse(
	struct bp_transform_worker *t, struct rte_mbuf *m, unsigned rule, enum bp_counter why)
{
	if (t->view.bank != NULL)
		bp_transform_stat_add(why == BP_C_DROP_TRANSFORM_SOURCE
					      ? &t->rule[rule].stats->unknown
					      : &t->rule[rule].stats->refused,
			1);
	return (uint8_t)bp_drop(m, why);
}

/* The frame's edge, or BP_EDGE_TAKEN and *r. */
static __rte_noinline uint8_t judge(struct bp_transform_worker *t, const struct port *p,
	struct rte_mbuf *m, struct bp_reading *r)
{
	enum bp_reading_verdict verdict = BP_READING_SHAPE;
	const uint8_t *frame;
	struct bp_datagram d;
	unsigned rule;

	if (unlikely(m->nb_segs != 1))
		(void)rte_pktmbuf_linearize(m); /* if one of its buffers has room */
	frame = rte_pktmbuf_mtod(m, const uint8_t *);
	if (m->data_len < BP_ETHER_HDR || p->down || !for_us(p, frame))
		return p->behind;
	if (likely(bp_datagram_parse(frame, m->data_len, m->pkt_len, &d)))
		verdict = m->nb_segs == 1 ? BP_READING_TAKEN : BP_READING_SHAPE;
	else if (!bp_reading_parse_hidden(frame, m->data_len, m->pkt_len, &d))
		return p->behind;
	rule = rule_of(t, p, &d);
	if (rule == BP_AGG_NO_RULE)
		return p->behind;
	if (unlikely(t->view.bank == NULL))
		return bp_transform_refuse(t, m, rule, BP_C_DROP_TRANSFORM_RULES);
	if (likely(verdict == BP_READING_TAKEN))
		verdict = bp_reading_judge(&d, &t->rule[rule].layout, r);
	if (unlikely(verdict != BP_READING_TAKEN))
		return bp_transform_refuse(t, m, rule, counter_of[verdict]);
	r->kind.rule = (uint8_t)rule;
	bp_usual_note(&t->usual, r, &t->rule[rule].layout, p->number, p->mac);
	return BP_EDGE_TAKEN;
}

static inline bool begins_usual(const struct bp_transform_worker *t, const struct rte_mbuf *m)
{
	return bp_usual_begins(&t->usual, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
}

/* Frames [i, n) up to the first that is no usual reading, which is returned. Its own function, so
 * that what is in common stays in registers. */
static __rte_noinline unsigned judge_usual(struct bp_transform_worker *t, unsigned i, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_usual u = t->usual;
	const struct bp_transform_layout *l = &t->rule[u.kind.rule].layout;
	const unsigned from = i;
	struct bp_reading *r = &b->reading[b->n];
	uint64_t others = 0;

	/* eight at once only where they probably are */
	if (t->wide && n - i >= 8 && bp_usual_is_paper(&u) && begins_usual(t, b->m[i + 7])) {
		const unsigned done = bp_usual8_judge(
			&u, b->m + i, n - i, r, b->payload + b->n, &b->reading[0], &others);

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
			     !bp_usual_judge(&u, l, frame, m->data_len, r)))
			break;
		b->payload[b->n + i - from] = frame + BP_USUAL_PAYLOAD;
		others |= r->from[0] ^ b->reading[0].from[0];
	}
	memset(&b->edge[from], BP_EDGE_TAKEN, i - from);
	memcpy(&b->at[b->n], &t->numbers[from], i - from);
	b->one_source &= others == 0;
	b->n_usual += i - from;
	b->n += i - from;
	return i;
}

static void judge_all(struct bp_transform_worker *t, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	struct port p = {.number = BP_NO_PORT};

	b->n = b->n_usual = 0;
	b->one_source = true;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m;

		if (t->usual.valid && begins_usual(t, b->m[i])) {
			i = judge_usual(t, i, n);
			if (i == n)
				break;
		}
		m = b->m[i];
		if (unlikely(m->port != p.number))
			describe(t->worker, m->port, &p);
		b->edge[i] = judge(t, &p, m, &b->reading[b->n]);
		if (b->edge[i] == BP_EDGE_TAKEN) {
			b->at[b->n] = (uint8_t)i;
			b->payload[b->n] = bp_reading_payload(&b->reading[b->n]);
			/* those before it had another head */
			b->n_usual += t->usual.valid && b->n == 0;
			b->n++;
		}
	}
}

/* ---- points ---- */

static void refuse_numbers(struct bp_transform_worker *t, unsigned j)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned at = b->at[j];

	b->edge[at] = bp_transform_refuse(
		t, b->m[at], b->reading[j].kind.rule, BP_C_DROP_TRANSFORM_INPUT);
	b->n_rows[j] = 0;
	b->alone = false;
	if (b->source[j] != UINT32_MAX)
		bp_transform_stat_add(&bp_transform_source_stats_of(t, b->source[j])->refused, 1);
}

/* Reading by reading, of whatever rule. */
static void read_each(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];

		if (bp_transform_layout_read(&t->rule[r->kind.rule].layout, b->payload[j],
			    &b->points, j) != BP_TRANSFORM_GOOD)
			refuse_numbers(t, j);
	}
}

/* All of one rule. */
static void read_alike(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[b->reading[0].kind.rule].layout;
	uint8_t why[BP_RX_BURST];
	uint64_t bad = bp_transform_layout_read_all(
		l, (const uint8_t *const *)b->payload, b->n, &b->points, why);

	for (; unlikely(bad != 0); bad &= bad - 1)
		refuse_numbers(t, (unsigned)__builtin_ctzll(bad));
}

static bool one_rule(const struct bp_transform_burst *b)
{
	if (likely(b->n_usual == b->n)) /* all have one head */
		return true;
	for (unsigned j = 1; j < b->n; j++)
		if (b->reading[j].kind.rule != b->reading[0].kind.rule)
			return false;
	return true;
}

void bp_transform_collect(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;

	b->m = m;
	judge_all(t, n);
	if (b->n == 0)
		return;
	bp_transform_find_sources(t);
	if (b->n == 0)
		return;
	b->alike = one_rule(b);
	if (likely(b->alike))
		read_alike(t);
	else
		read_each(t);
}
