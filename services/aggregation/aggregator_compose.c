/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_parts.h"
#include "proto/agg_full_head.h"

/*
 * Aggregates of what is staged (services/aggregation/stage.h), whole at one go: of several streams,
 * first the messages of each, then what is in front of them. What checksums read was written some
 * time before, since a processor waits where it is to read at once what it wrote in other pieces.
 */

#define GROUP 8u /* aggregates that are composed together */

/* Where a frame begins in its buffer: directory and messages begin with a cache line. */
#define AT_DIRECTORY 64u
#define AT_PAYLOAD (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)
#define AT_FRAME (AT_DIRECTORY - BP_AGG_FULL_HEADER - AT_PAYLOAD)
_Static_assert(AT_DIRECTORY <= BP_AGG_AHEAD, "what has room in an aggregate's buffer has it here");

typedef uint64_t v2 __attribute__((vector_size(16)));

/* An aggregate without its heads. */
struct whole {
	uint8_t *base;
	void *buffer;
	struct bp_agg_staged *g;
	uint64_t sum; /* of the payloads */
	uint64_t arrived_ns, began_ns;
	uint32_t stream, more;
	unsigned n, directory, payloads;
};

/* ---- messages ---- */

/* Of a record's first 16 octets: hops, length and more. */
static const bp_v4 only_shape = {0, 0, UINT32_MAX, 0};

/* Writes the directory. False: the messages are unlike, and what was written is nothing. `odd`:
 * whether their length is, so that each other payload begins at an odd octet. */
static inline __attribute__((always_inline)) bool put_entries(
	struct whole *x, const struct bp_agg_stage *stage, bool odd)
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
		p += bp_agg_full_alike_put(p, from, before);
		before = from;
	}
	x->sum = even_sums[1] + ((uint64_t)odd_sums[1] << 8);
	x->arrived_ns = arrived[0];
	x->directory = (unsigned)(p - directory);
	return bp_v16_none(differ & (bp_v16)only_shape);
}

static inline __attribute__((always_inline)) bool put_directory(
	struct whole *x, const struct bp_agg_stage *stage)
{
	return (bp_agg_record_at(stage, x->g->record[0])->len & 1) != 0
		       ? put_entries(x, stage, true)
		       : put_entries(x, stage, false);
}

static inline __attribute__((always_inline)) void put_payloads(
	const struct whole *x, const struct bp_agg_stage *stage)
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
static inline void put_macs(const struct whole *x, const struct bp_agg_stage *stage)
{
	uint8_t *frame = x->base + AT_FRAME;

	memcpy(frame, &x->g->state, 8);
	memcpy(frame + 6, bp_agg_record_at(stage, x->g->record[0])->mac, 6);
}

/* ---- heads ---- */

/* Writes all heads but the MAC addresses, which are there: how many octets the frame has. */
static inline __attribute__((always_inline)) unsigned put_heads(
	struct bp_aggregator *a, const struct bp_aggregator_rule *r, const struct whole *x)
{
	const uint64_t usual = x->g->usual;
	const bool fixed = bp_agg_usual_dont_fragment(usual);
	uint8_t *frame = x->base + AT_FRAME, *payload = frame + AT_PAYLOAD;
	const unsigned len = BP_AGG_FULL_HEADER + x->directory + x->payloads;
	struct bp_datagram_head h = {
		.src = x->g->src,
		.dst = (const uint8_t *)&usual, /* its first octets are the address */
		.sport = x->g->sport,
		.dport = bp_agg_usual_udp(usual),
		.id = fixed ? 0 : a->id++,
		.family = 4,
		.tos = (uint8_t)bp_agg_usual_tos(usual),
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

/* ---- leaving ---- */

static inline __attribute__((always_inline)) bool get(struct bp_aggregator *a, struct whole *x)
{
	x->base = a->hooks.get(a->hooks.arg, &x->buffer);
	return x->base != NULL;
}

/* Messages of a stream, in the buffer that there is. False: they are unlike, and wait as before. */
static inline __attribute__((always_inline)) bool compose(
	struct bp_aggregator *a, struct whole *x, uint32_t stream)
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

/* Sends what was composed. */
static void send_all(struct bp_aggregator *a, unsigned rule, const struct whole *group, unsigned n,
	enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_tally t = {0};

	for (const struct whole *x = group; x != group + n; x++) {
		const unsigned len = put_heads(a, &a->rule[rule], x);
		const struct bp_agg_output out = {.buffer = x->buffer,
			.offset = AT_FRAME,
			.len = (uint16_t)len,
			.port = a->rule[rule].port,
			.rule = (uint8_t)rule,
			.at = a->at};

		bp_aggregator_count(&t, &a->stats[rule], &a->streams.row[x->stream], x->n,
			bp_agg_least(0) * x->n + x->payloads + x->more, len, x->arrived_ns,
			x->began_ns, now_ns, wall_ns);
		a->hooks.send(a->hooks.arg, &out);
	}
	bp_aggregator_enter(a, rule, reason, &t);
}

void bp_aggregator_leave_staged(struct bp_aggregator *a, unsigned rule, const uint32_t *stream,
	unsigned n, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct whole group[GROUP];
	unsigned whole = 0;

	bp_aggregator_settle(a);
	bp_agg_streams_move_all(&a->streams, stream, n, BP_AGG_LIST_IDLE);
	for (unsigned i = 0; i < n; i++) {
		if (__builtin_expect(!get(a, &group[whole]), 0)) {
			/* one of those may be it */
			send_all(a, rule, group, whole, reason, now_ns, wall_ns);
			whole = 0;
			if (!get(a, &group[0])) {
				bp_aggregator_lose(a, &a->streams.staged[stream[i]]);
				continue;
			}
		}
		if (__builtin_expect(compose(a, &group[whole], stream[i]), 1)) {
			if (++whole < GROUP)
				continue;
			send_all(a, rule, group, whole, reason, now_ns, wall_ns);
		} else {
			send_all(a, rule, group, whole, reason, now_ns, wall_ns);
			bp_aggregator_leave_unlike(a, stream[i], group[whole].base,
				group[whole].buffer, reason, now_ns, wall_ns);
		}
		whole = 0;
	}
	send_all(a, rule, group, whole, reason, now_ns, wall_ns);
}
