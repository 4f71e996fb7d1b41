/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion and transmission of aggregates: those under construction, and those of staged
 * messages. */
#include "services/aggregation/aggregator_state.h"
#include "proto/aggregation/agg_full_head.h"
#include "proto/aggregation/agg_lin2018.h"

/* ---- aggregates that are built ---- */

void bp_aggregator_settle(struct bp_aggregator *a)
{
	struct bp_agg_stats *s = &a->stats[a->taken_rule];

	if (a->taken == 0)
		return;
	bp_agg_stat_add(&s->messages, a->taken);
	bp_agg_stat_add(&s->message_bytes, a->taken_bytes);
	bp_agg_stat_add(&s->waiting, a->taken);
	a->taken = 0;
	a->taken_bytes = 0;
}

/* Completes the UDP payload: its begin, its length and its sum. */
BP_DATAGRAM_INLINE uint8_t *end_payload(bool paper, const struct bp_agg_stream *s,
	struct bp_agg_staged *g, size_t *len, uint64_t *sum)
{
	const struct bp_agg_full_writer *w = &s->writer;
	uint8_t *p;

	if (paper) {
		p = w->buf + w->front - BP_AGG_LIN2018_HEADER;
		bp_agg_lin2018_put_header(p, BP_AGG_LIN2018_PACKET);
		*len = BP_AGG_LIN2018_LEN((size_t)w->count);
		/* all of its bytes except the first are 0 */
		*sum = bp_sum_add(s->sum, bp_head_word((uint64_t)BP_AGG_LIN2018_PACKET << 56));
		return p;
	}
	p = bp_agg_full_end_summed(w, g->number, g->sequence++, len, sum);
	*sum = bp_sum_add(*sum, bp_sum_moved(s->sum, w->directory));
	return p;
}

/* Writes Ethernet header, IP and UDP before the payload; returns the begin of the frame. */
BP_DATAGRAM_INLINE uint8_t *put_heads(struct bp_aggregator *a, const struct bp_aggregator_rule *r,
	bool paper, unsigned family, unsigned tags, const struct bp_agg_stream *s,
	const uint8_t *src, uint16_t sport, uint8_t *payload, size_t len, uint64_t sum)
{
	const bool fixed = bp_agg_key_dont_fragment(&s->key);
	struct bp_datagram_head h = {
		.src = paper ? s->writer.last_addr : src,
		.dst = (const uint8_t *)s->key.word,
		.sport = paper ? s->writer.last_port : sport,
		.dport = (uint16_t)bp_agg_key_udp(&s->key),
		.id = fixed || family == 6 ? 0 : a->id++,
		.family = (uint8_t)family,
		.tos = (uint8_t)bp_agg_key_tos(&s->key),
		.hops = BP_AGG_HOPS,
		.dont_fragment = fixed,
	};
	uint8_t *head = payload - bp_datagram_head_len(family), *frame, macs[12];

	/* they may overlap the written head */
	memcpy(macs, s->writer.buf - BP_AGG_MACS, sizeof(macs));
	if (r->has_from) {
		h.src = r->from;
		h.sport = r->from_udp;
	}
	bp_datagram_put_head(head, &h, (unsigned)len, sum);
	bp_put_be16(head - 2, family == 4 ? BP_ETHER_IP4 : BP_ETHER_IP6);
	frame = head - tags - BP_ETHER_HDR;
	memcpy(frame + sizeof(macs), &s->key.word[2], tags);
	memcpy(frame, macs, sizeof(macs));
	return frame;
}

/* Completes an aggregate and returns the begin of its frame. Inlined for IPv4 without tags, with
 * constants. `tags`: their size in bytes. */
BP_DATAGRAM_INLINE uint8_t *finish(struct bp_aggregator *a, const struct bp_aggregator_rule *r,
	const struct bp_agg_stream *s, struct bp_agg_staged *g, const uint8_t *src, uint16_t sport,
	bool paper, unsigned family, unsigned tags, size_t *frame_len)
{
	uint8_t *payload, *frame;
	uint64_t sum;
	size_t len;

	payload = end_payload(paper, s, g, &len, &sum);
	frame = put_heads(a, r, paper, family, tags, s, src, sport, payload, len, sum);
	*frame_len = (size_t)(payload + len - frame);
	return frame;
}

void bp_aggregator_enter(struct bp_aggregator *a, unsigned rule, enum bp_agg_flush reason,
	const struct bp_aggregator_tally *t)
{
	struct bp_agg_stats *st = &a->stats[rule];

	bp_agg_stat_add(&st->aggregates, t->aggregates);
	bp_agg_stat_add(&st->aggregate_bytes, t->bytes);
	bp_agg_stat_add(&st->flushed[reason], t->aggregates);
	bp_agg_stat_add(&st->delay_ns, t->delay_ns);
	bp_agg_stat_add(&st->waiting, -t->messages);
}

static inline void count(struct bp_aggregator *a, const struct bp_agg_stream *s, uint32_t stream,
	unsigned rule, enum bp_agg_flush reason, unsigned bytes, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_tally t = {0};

	bp_aggregator_count(&t, &a->stats[rule], &a->streams.row[stream], s->writer.count,
		bp_aggregator_bytes(a, s), bytes, s->arrived_ns, s->began_ns, now_ns, wall_ns);
	bp_aggregator_enter(a, rule, reason, &t);
}

static inline struct bp_agg_output output(const struct bp_aggregator *a,
	const struct bp_agg_stream *s, unsigned rule, const uint8_t *frame, size_t len)
{
	return (struct bp_agg_output){.buffer = s->buffer,
		.offset = (uint16_t)(frame - (s->writer.buf - BP_AGG_AHEAD)),
		.len = (uint16_t)len,
		.port = a->rule[rule].port,
		.rule = (uint8_t)rule,
		.at = a->at};
}

void bp_aggregator_finish(struct bp_aggregator *a, uint32_t stream, struct bp_agg_output *out)
{
	const struct bp_agg_stream *s = &a->streams.stream[stream];
	const struct bp_agg_stream_rest *rest = &a->streams.rest[stream];
	struct bp_agg_staged *g = &a->streams.staged[stream];
	const unsigned rule = bp_agg_key_rule(&s->key), tags = 4 * bp_agg_key_tags(&s->key);
	const struct bp_aggregator_rule *r = &a->rule[rule];
	const bool paper = r->format == BP_AGG_FORMAT_LIN2018;
	const uint8_t *frame;
	size_t len;

	if (__builtin_expect(r->family != 4 || tags != 0, 0))
		frame = finish(a, r, s, g, rest->src, rest->sport, paper, r->family, tags, &len);
	else if (paper)
		frame = finish(a, r, s, g, rest->src, rest->sport, true, 4, 0, &len);
	else
		frame = finish(a, r, s, g, rest->src, rest->sport, false, 4, 0, &len);
	*out = output(a, s, rule, frame, len);
}

/* ---- from staged messages to an aggregate under construction ---- */

/* Appends all messages. The buffer has capacity for them and for the write beyond an entry, as
 * ensured by the `stages` of the rule. */
static void append_all(struct bp_agg_stream *s, const struct bp_agg_stage *stage,
	const uint32_t *place, unsigned n)
{
	const struct bp_agg_record *r = bp_agg_record_at(stage, place[0]);

	bp_agg_full_first4(&s->writer, r->src, bp_be16(r->sport), r->hops, r->payload, r->len);
	s->sum = r->sum;
	s->arrived_ns = r->arrived_ns;
	s->more = r->more;
	for (unsigned i = 1; i < n; i++) {
		r = bp_agg_record_at(stage, place[i]);
		s->sum = bp_sum_add(s->sum, bp_sum_moved(r->sum, s->writer.payloads));
		s->arrived_ns += r->arrived_ns;
		s->more += r->more;
		bp_agg_full_append4(
			&s->writer, r->src, bp_be16(r->sport), r->hops, r->payload, r->len);
	}
}

static void lose(struct bp_aggregator *a, struct bp_agg_staged *g)
{
	const unsigned n = bp_agg_staged_count(g);

	bp_aggregator_release(a, g);
	a->starved = true;
	bp_aggregator_settle(a);
	bp_agg_stat_add(&a->stats[bp_agg_key4_rule(g->key4)].waiting, -(uint64_t)n);
	if (a->hooks.lost != NULL)
		a->hooks.lost(a->hooks.arg, n);
}

static void unstage_to(struct bp_aggregator *a, struct bp_agg_staged *g, struct bp_agg_stream *s,
	uint8_t *base, void *buffer)
{
	const struct bp_agg_stage *stage = &a->streams.stage;
	const struct bp_agg_record *first = bp_agg_record_at(stage, g->record[0]);
	const struct bp_aggregator_rule *r = &a->rule[bp_agg_key4_rule(g->key4)];
	uint8_t macs[16];

	memcpy(macs, &g->state, 8);
	memcpy(macs + 6, first->mac, 6);
	bp_aggregator_begin_in(s, r, base, buffer, macs, first->arrived_ns);
	append_all(s, stage, g->record, bp_agg_staged_count(g));
	bp_aggregator_release(a, g);
}

bool bp_aggregator_unstage(struct bp_aggregator *a, uint32_t stream)
{
	struct bp_agg_staged *g = &a->streams.staged[stream];
	void *buffer;
	uint8_t *base = a->hooks.get(a->hooks.arg, &buffer);

	if (base == NULL) {
		lose(a, g);
		return false;
	}
	a->starved = false;
	unstage_to(a, g, &a->streams.stream[stream], base, buffer);
	g->state |= BP_AGG_STAGE_NONE;
	return true;
}
static void flush_mixed(struct bp_aggregator *a, uint32_t stream, uint8_t *base, void *buffer,
	enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_staged *g = &a->streams.staged[stream];
	const unsigned rule = bp_agg_key4_rule(g->key4);
	struct bp_agg_stream s = {.key = bp_agg_key4_expand(g->key4)};
	struct bp_agg_output out;
	const uint8_t *frame;
	size_t len;

	unstage_to(a, g, &s, base, buffer);
	frame = finish(a, &a->rule[rule], &s, g, g->src, g->sport, false, 4, 0, &len);
	out = output(a, &s, rule, frame, len);
	count(a, &s, stream, rule, reason, out.len, now_ns, wall_ns);
	a->hooks.send(a->hooks.arg, &out);
}

/* ---- aggregates of staged messages, composed in groups ---- */

/*
 * Aggregates of staged messages (aggregator_burst.h), written in one pass: for several streams,
 * first the messages of each, then the headers before them. The checksum code reads data that was
 * written some time before, since a processor stalls if it reads data that it has just written in
 * smaller pieces.
 */

#define GROUP 8u /* aggregates that are composed together */

/* Begin of a frame in its buffer: directory and messages begin on a cache line. */
#define AT_DIRECTORY 64u
#define AT_PAYLOAD (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)
#define AT_FRAME (AT_DIRECTORY - BP_AGG_FULL_HEADER - AT_PAYLOAD)
_Static_assert(AT_DIRECTORY <= BP_AGG_AHEAD,
	"a message that fits in the buffer of an aggregate fits here");

typedef uint64_t v2 __attribute__((vector_size(16)));

/* An aggregate without its heads. */
struct complete {
	uint8_t *base;
	void *buffer;
	struct bp_agg_staged *g;
	uint64_t sum; /* of the payloads */
	uint64_t arrived_ns, began_ns;
	uint32_t stream, more;
	unsigned n, directory, payloads;
};

/* For the first 16 bytes of a record: hops, length and more. */
static const bp_v4 only_shape = {0, 0, UINT32_MAX, 0};

/* Writes the directory. False: the messages differ in shape, and the written data is invalid.
 * `odd`: whether their length is odd, so that every second payload begins at an odd offset. */
static inline __attribute__((always_inline)) bool put_entries(
	struct complete *x, const struct bp_agg_stage *stage, bool odd)
{
	const uint32_t *place = x->g->record;
	const struct bp_agg_record *r = bp_agg_record_at(stage, place[0]);
	const bp_v16 first = bp_v16_load((const uint8_t *)r);
	const uint32_t len = r->len;
	uint8_t *const directory = x->base + AT_DIRECTORY, *p = directory;
	bp_v16 before = bp_v16_load(r->src), differ = bp_v16_of(0);
	v2 arrived = (v2)first;
	/* the number at 1 is a record's sum */
	bp_v4 even_sums = (bp_v4)before, odd_sums = {0};

	x->began_ns = r->arrived_ns;
	x->payloads = x->n * len;
	x->more = x->n * r->more;
	p += bp_agg_full_put_first4(p, r->src, bp_be16(r->sport), r->hops, len);
	for (unsigned i = 1; i < x->n; i++) {
		bp_v16 from, head;

		r = bp_agg_record_at(stage, place[i]);
		head = bp_v16_load((const uint8_t *)r);
		from = bp_v16_load(r->src);
		differ |= head ^ first;
		arrived += (v2)head;
		if (odd && (i & 1) != 0)
			odd_sums += (bp_v4)from;
		else
			even_sums += (bp_v4)from;
		p += bp_agg_full_same_template_put(p, from, before);
		before = from;
	}
	x->sum = even_sums[1] + ((uint64_t)odd_sums[1] << 8);
	x->arrived_ns = arrived[0];
	x->directory = (unsigned)(p - directory);
	return bp_v16_none(differ & (bp_v16)only_shape);
}

static inline __attribute__((always_inline)) bool put_directory(
	struct complete *x, const struct bp_agg_stage *stage)
{
	return (bp_agg_record_at(stage, x->g->record[0])->len & 1) != 0
		       ? put_entries(x, stage, true)
		       : put_entries(x, stage, false);
}

static inline __attribute__((always_inline)) void put_payloads(
	const struct complete *x, const struct bp_agg_stage *stage)
{
	const uint32_t *place = x->g->record;
	const unsigned len = bp_agg_record_at(stage, place[0])->len;
	uint8_t *p = x->base + AT_DIRECTORY + x->directory;

	if (len >= 16 && len <= 32) {
		for (unsigned i = 0; i < x->n; i++, p += len) {
			const uint8_t *from = bp_agg_record_at(stage, place[i])->payload;
			const bp_v16 a = bp_v16_load(from), b = bp_v16_load(from + len - 16);

			memcpy(p, &a, 16);
			memcpy(p + len - 16, &b, 16);
		}
		return;
	}
	for (unsigned i = 0; i < x->n; i++, p += len)
		bp_copy(p, bp_agg_record_at(stage, place[i])->payload, len);
}

/* MAC addresses: the stream's, and the first message's. */
static inline void put_macs(const struct complete *x, const struct bp_agg_stage *stage)
{
	uint8_t *frame = x->base + AT_FRAME;

	memcpy(frame, &x->g->state, 8);
	memcpy(frame + 6, bp_agg_record_at(stage, x->g->record[0])->mac, 6);
}

/* Writes all headers except the MAC addresses, which exist already; returns the size of the frame
 * in bytes. */
static inline __attribute__((always_inline)) unsigned put_staged_heads(
	struct bp_aggregator *a, const struct bp_aggregator_rule *r, const struct complete *x)
{
	const uint64_t key4 = x->g->key4;
	const bool fixed = bp_agg_key4_dont_fragment(key4);
	uint8_t *frame = x->base + AT_FRAME, *payload = frame + AT_PAYLOAD;
	const unsigned len = BP_AGG_FULL_HEADER + x->directory + x->payloads;
	struct bp_datagram_head h = {
		.src = x->g->src,
		.dst = (const uint8_t *)&key4, /* its first bytes are the address */
		.sport = x->g->sport,
		.dport = bp_agg_key4_udp(key4),
		.id = fixed ? 0 : a->id++,
		.family = 4,
		.tos = (uint8_t)bp_agg_key4_tos(key4),
		.hops = BP_AGG_HOPS,
		.dont_fragment = fixed,
	};
	struct bp_agg_full_head head;
	uint64_t sum;

	if (r->has_from) {
		h.src = r->from;
		h.sport = r->from_udp;
	}
	head = bp_agg_full_head_of(4, x->n, x->base + AT_DIRECTORY, x->directory, x->g->number,
		x->g->sequence++, &sum);
	bp_agg_full_put_head(payload, &head);
	sum = bp_sum_add(sum, bp_sum_moved(x->sum, x->directory));
	bp_datagram_put_head(payload - BP_UDP_HDR - BP_IP4_HDR, &h, len, sum);
	bp_put_be16(frame + BP_ETHER_HDR - 2, BP_ETHER_IP4);
	return AT_PAYLOAD + len;
}

static inline __attribute__((always_inline)) bool get(struct bp_aggregator *a, struct complete *x)
{
	x->base = a->hooks.get(a->hooks.arg, &x->buffer);
	return x->base != NULL;
}

/* Composes the messages of a stream in the existing buffer. False: they differ in shape and remain
 * staged. */
static inline __attribute__((always_inline)) bool compose(
	struct bp_aggregator *a, struct complete *x, uint32_t stream)
{
	const struct bp_agg_stage *stage = &a->streams.stage;

	__builtin_prefetch(&a->streams.row[stream], 1); /* for send_all() */
	x->stream = stream;
	x->g = &a->streams.staged[stream];
	x->n = bp_agg_staged_count(x->g);
	a->starved = false;
	if (__builtin_expect(!put_directory(x, stage), 0))
		return false;
	put_payloads(x, stage);
	put_macs(x, stage);
	bp_aggregator_release(a, x->g);
	return true;
}

/* Sends the composed aggregates. */
static void send_all(struct bp_aggregator *a, unsigned rule, const struct complete *group,
	unsigned n, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_tally t = {0};

	for (const struct complete *x = group; x != group + n; x++) {
		const unsigned len = put_staged_heads(a, &a->rule[rule], x);
		const struct bp_agg_output out = {.buffer = x->buffer,
			.offset = AT_FRAME,
			.len = (uint16_t)len,
			.port = a->rule[rule].port,
			.rule = (uint8_t)rule,
			.at = a->at};

		bp_aggregator_count(&t, &a->stats[rule], &a->streams.row[x->stream], x->n,
			bp_agg_min_len(0) * x->n + x->payloads + x->more, len, x->arrived_ns,
			x->began_ns, now_ns, wall_ns);
		a->hooks.send(a->hooks.arg, &out);
	}
	bp_aggregator_enter(a, rule, reason, &t);
}

void bp_aggregator_flush_staged(struct bp_aggregator *a, unsigned rule, const uint32_t *stream,
	unsigned n, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct complete group[GROUP];
	unsigned complete = 0;

	bp_aggregator_settle(a);
	bp_agg_streams_move_all(&a->streams, stream, n, BP_AGG_LIST_IDLE);
	for (unsigned i = 0; i < n; i++) {
		if (__builtin_expect(!get(a, &group[complete]), 0)) {
			/* one of those may be it */
			send_all(a, rule, group, complete, reason, now_ns, wall_ns);
			complete = 0;
			if (!get(a, &group[0])) {
				lose(a, &a->streams.staged[stream[i]]);
				continue;
			}
		}
		if (__builtin_expect(compose(a, &group[complete], stream[i]), 1)) {
			if (++complete < GROUP)
				continue;
			send_all(a, rule, group, complete, reason, now_ns, wall_ns);
		} else {
			send_all(a, rule, group, complete, reason, now_ns, wall_ns);
			flush_mixed(a, stream[i], group[complete].base, group[complete].buffer,
				reason, now_ns, wall_ns);
		}
		complete = 0;
	}
	send_all(a, rule, group, complete, reason, now_ns, wall_ns);
}
/* ---- which leave, and when ---- */

void bp_aggregator_flush_stream(struct bp_aggregator *a, uint32_t stream, enum bp_agg_flush reason,
	uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];
	struct bp_agg_output out;

	if (bp_agg_staged_count(&a->streams.staged[stream]) != 0) {
		bp_aggregator_flush_staged(a, bp_agg_key4_rule(a->streams.staged[stream].key4),
			&stream, 1, reason, now_ns, wall_ns);
		return;
	}
	bp_aggregator_finish(a, stream, &out);
	bp_aggregator_settle(a);
	count(a, s, stream, out.rule, reason, out.len, now_ns, wall_ns);
	bp_aggregator_end(a, s);
	bp_agg_streams_move(&a->streams, stream, BP_AGG_LIST_IDLE);
	a->hooks.send(a->hooks.arg, &out);
}

/* When the rule's first aggregate is due; UINT64_MAX: never, or it has none. */
static uint64_t first_due(const struct bp_aggregator *a, unsigned rule)
{
	const uint32_t first = bp_agg_streams_first(&a->streams, rule);

	return first != BP_AGG_NO_STREAM
		       ? bp_aggregator_due(&a->rule[rule], bp_aggregator_began_ns(a, first))
		       : UINT64_MAX;
}

uint64_t bp_aggregator_next(const struct bp_aggregator *a)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < a->n_rules; i++) {
		const uint64_t due = first_due(a, i);

		if (due < next)
			next = due;
	}
	return next;
}

/* The rule whose first aggregate has been due longest, or BP_AGG_RULES_MAX. */
static unsigned most_overdue(const struct bp_aggregator *a, uint64_t now_ns)
{
	unsigned rule = BP_AGG_RULES_MAX;
	uint64_t since = now_ns;

	for (unsigned i = 0; i < a->n_rules; i++) {
		const uint64_t due = first_due(a, i);

		if (due == UINT64_MAX || due > since || (due == since && rule != BP_AGG_RULES_MAX))
			continue;
		since = due;
		rule = i;
	}
	return rule;
}

void bp_aggregator_poll(struct bp_aggregator *a, uint64_t now_ns, uint64_t wall_ns)
{
	if (now_ns < a->soonest_ns)
		return;
	for (unsigned n = 0; n < BP_AGG_AT_ONCE; n++) {
		const unsigned rule = most_overdue(a, now_ns);

		if (rule == BP_AGG_RULES_MAX)
			break;
		bp_aggregator_flush_stream(a, bp_agg_streams_first(&a->streams, rule),
			BP_AGG_FLUSH_TIME, now_ns, wall_ns);
	}
	a->soonest_ns = bp_aggregator_next(a);
}

bool bp_aggregator_flush_some(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_rules; i++) {
		uint32_t first;

		while ((first = bp_agg_streams_first(&a->streams, i)) != BP_AGG_NO_STREAM) {
			if (n++ == BP_AGG_AT_ONCE)
				return false;
			bp_aggregator_flush_stream(a, first, reason, now_ns, wall_ns);
		}
	}
	a->soonest_ns = UINT64_MAX;
	return true;
}

void bp_aggregator_flush(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	while (!bp_aggregator_flush_some(a, reason, now_ns, wall_ns))
		;
}

bool bp_aggregator_empty(const struct bp_aggregator *a)
{
	for (unsigned i = 0; i < a->n_rules; i++)
		if (bp_agg_streams_first(&a->streams, i) != BP_AGG_NO_STREAM)
			return false;
	return true;
}
