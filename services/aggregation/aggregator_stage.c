/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_burst.h"

/*
 * Staging of a burst of messages of several streams (services/aggregation/streams.h): each message
 * is written to a record, and the begun and completed aggregates are processed later. So no message
 * waits for the cache misses of another, and there is no unpredictable branch.
 *
 * A message that cannot be staged is placed after all aggregates that were complete before it, so
 * that aggregates leave in the order of completion.
 */

#define CHUNK 16u  /* messages that are staged at one go */
#define BEHIND 16u /* minimum number of lookups ahead of the first staged message */

/* Begun and completed streams, in the order of their messages. */
struct staging {
	uint32_t done[BP_AGGREGATOR_BURST];
	unsigned n_done;
	/* a bit for each message that did so: since streams were settled, and in the last run */
	uint64_t begun, run_done;
	unsigned rule, most;
};

static inline void fetch(const void *p)
{
	__builtin_prefetch(p, 1);
}

/* ---- looking ---- */

/* Looks up the streams of messages, and prefetches their staging state. */
static inline __attribute__((always_inline)) void find_streams(
	struct bp_aggregator_burst *k, unsigned from, unsigned until)
{
	const struct bp_agg_streams *const t = &k->a->streams;

	for (unsigned i = from; i < until; i++) {
		const uint32_t hash = k->hash[i], at = hash & t->slot_mask;
		const bp_v4 four = (bp_v4)bp_v16_load((const uint8_t *)&t->slot[at]);
		const uint32_t may = bp_v16_mask((bp_v16)(((four ^ hash) >> BP_AGG_SLOT_TAG) == 0));

		k->g[i] = bp_agg_streams_predict_staged(t, hash, at, may, 4);
		fetch(k->g[i]);
	}
}

/* Lists the streams that the last run completed, and prefetches the data for their completion. */
static inline void list_completed(struct bp_aggregator_burst *k, struct staging *x)
{
	const struct bp_agg_streams *t = &k->a->streams;

	for (uint64_t left = x->run_done; left != 0; left &= left - 1) {
		const struct bp_agg_staged *g = k->g[__builtin_ctzll(left)];
		const uint32_t stream = (uint32_t)(g - t->staged);

		x->done[x->n_done++] = stream;
		fetch(&t->link[stream]);
		for (unsigned i = 0; i < BP_AGG_STAGE_MOST; i++)
			__builtin_prefetch(bp_agg_record_at(&t->stage, g->record[i]));
	}
}

/* ---- begun and completed streams ---- */

/* Streams that were begun go to the end of their list. */
static inline void begin_all(struct bp_aggregator_burst *k, struct staging *x)
{
	const struct bp_agg_streams *t = &k->a->streams;
	uint32_t begun[BP_AGGREGATOR_BURST];
	unsigned n = 0;

	for (uint64_t left = x->begun; left != 0; left &= left - 1) {
		begun[n] = (uint32_t)(k->g[__builtin_ctzll(left)] - t->staged);
		fetch(&t->link[begun[n++]]);
	}
	if (n == 0)
		return;
	bp_agg_streams_move_all(&k->a->streams, begun, n, x->rule);
	bp_aggregator_waits(k->a, x->rule, k->now_ns);
	x->begun = 0;
}

/* Sends the complete ones. */
static inline void flush_all(struct bp_aggregator_burst *k, struct staging *x)
{
	bp_aggregator_flush_staged(
		k->a, x->rule, x->done, x->n_done, BP_AGG_FLUSH_FULL, k->now_ns, k->wall_ns);
	x->n_done = 0;
}

/* Both, before message i. */
static void settle(struct bp_aggregator_burst *k, struct staging *x, unsigned i)
{
	bp_aggregator_burst_settle(k);
	k->a->at = (uint8_t)(k->at + i);
	begin_all(k, x);
	flush_all(k, x);
}

/* The following messages are of this rule. */
static void count_for(struct bp_aggregator_burst *k, unsigned rule)
{
	bp_aggregator_burst_settle(k);
	if (k->a->taken_rule == rule)
		return;
	bp_aggregator_settle(k->a);
	k->a->taken_rule = rule;
}

/* ---- staging ---- */

/* Writes a message from frame f to a record. `shape`: payload length in bytes << 8, and frame
 * length in bytes beyond the minimum << 16. */
static inline __attribute__((always_inline)) void write_record(
	struct bp_agg_record *r, const uint8_t *f, uint32_t shape, uint32_t sum, uint64_t now_ns)
{
	const uint32_t len = shape >> 8 & 0xff, first = shape | f[AT_IP + BP_IP4_TTL];
	const uint8_t *payload = f + AT_PAYLOAD;
	uint64_t sender;
	uint16_t sport;

	memcpy(&sport, f + AT_UDP, sizeof(sport));
	/* its last six bytes are the source MAC address */
	sender = (bp_load_le64(f + 4) & ~0xffffull) | sport;
	r->arrived_ns = now_ns;
	memcpy(&r->hops, &first, sizeof(first));
	memcpy(r->src, f + AT_IP + BP_IP4_SRC, sizeof(r->src));
	r->sum = sum;
	memcpy(r->sport, &sender, sizeof(sender));
	if (__builtin_expect(len - 16 <= 16, 1)) { /* most are */
		const bp_v16 first16 = bp_v16_load(payload);
		const bp_v16 last16 = bp_v16_load(payload + len - 16);

		memcpy(r->payload, &first16, 16);
		memcpy(r->payload + len - 16, &last16, 16);
	} else {
		bp_copy(r->payload, payload, len);
	}
}
_Static_assert(offsetof(struct bp_agg_record, mac) == offsetof(struct bp_agg_record, sport) + 2,
	"one number");

/* How many messages a stream in that state holds, that one for that MAC address may join; a great
 * number: it may join none. */
static inline uint64_t count_for_mac(uint64_t state, uint64_t mac)
{
	const uint64_t differ = state - mac;

	return differ << 16 | differ >> 48;
}

/* The destination MAC address, as a state has it. */
static inline uint64_t mac_of(const struct bp_agg_input *in)
{
	return bp_load_le64(in->frame) & (BP_AGG_STAGE_ONE - 1);
}

/* Stages messages from i on; returns the index of the first message that it cannot stage. */
static inline __attribute__((always_inline)) unsigned stage_run(
	struct bp_aggregator_burst *k, struct staging *x, unsigned i, unsigned until)
{
	const struct bp_agg_stage *const stage = &k->a->streams.stage;
	const uint64_t now_ns = k->now_ns, most = x->most, last = most - 1;
	uint64_t begun = 0, done = 0, bytes = 0;
	const unsigned from = i;

	for (; i < until; i++) {
		struct bp_agg_input *in = &k->in[i];
		struct bp_agg_staged *g = k->g[i];
		const uint64_t count = count_for_mac(g->state, mac_of(in));

		if (__builtin_expect(g->key4 != k->key4[i] || count >= most ||
					     k->shape[i] == BP_AGGREGATOR_UNSTAGED,
			    0))
			break;
		g->record[count] = k->record[i];
		g->state += BP_AGG_STAGE_ONE;
		begun |= (uint64_t)(count == 0) << i;
		done |= (uint64_t)(count == last) << i;
		bytes += in->frame_len;
		write_record(bp_agg_record_at(stage, k->record[i]), in->frame, k->shape[i],
			k->sum[i], now_ns);
		in->verdict = BP_AGG_TAKEN;
	}
	x->begun |= begun;
	x->run_done = done;
	k->taken += i - from;
	k->taken_bytes += bytes;
	return i;
}

/* A message that stage_run() could not stage: its stream is complete, or had another MAC address
 * at the last staging; otherwise the message is placed. */
static __attribute__((noinline)) void stage_or_append(
	struct bp_aggregator_burst *k, struct staging *x, unsigned i)
{
	struct bp_agg_streams *t = &k->a->streams;
	struct bp_agg_staged *g = k->g[i];

	settle(k, x, i);
	if (g->key4 == k->key4[i] && g->state >> 48 == 0)
		g->state = mac_of(&k->in[i]);
	if (stage_run(k, x, i, i + 1) != i) {
		list_completed(k, x);
		return;
	}
	t->stage.unused[t->stage.n++] = k->record[i];
	k->s[i] = &t->stream[g - t->staged];
	bp_aggregator_append_one(k, i);
	k->g[i] = &t->staged[k->s[i] - t->stream];
	count_for(k, x->rule);
}

/* Records the streams of the last taken message and of the one before it. */
static void record_streams(struct bp_aggregator_burst *k)
{
	const struct bp_agg_streams *t = &k->a->streams;
	unsigned left = 2;

	for (unsigned i = k->n; i-- != 0 && left != 0;) {
		const bool taken = k->in[i].verdict == BP_AGG_TAKEN;

		k->s[i] = &t->stream[taken ? k->g[i] - t->staged : -1];
		left -= taken;
	}
}

/* End of the messages from i on that can be staged in one run; i: message i is not of a stream. */
static inline unsigned chunk(const struct bp_aggregator_burst *k, unsigned i)
{
	if (__builtin_expect(k->others == 0, 1))
		return i + CHUNK < k->n ? i + CHUNK : k->n;
	return (k->others >> i & 1) != 0 ? i : i + 1;
}

void bp_aggregator_stage_burst(struct bp_aggregator_burst *k)
{
	struct bp_agg_stage *stage = &k->a->streams.stage;
	struct staging x; /* its arrays are written before they are read */
	unsigned looked = 0;

	x.n_done = 0;
	x.begun = 0;
	x.rule = k->a->multi.rule;
	x.most = k->a->rule[x.rule].most;
	stage->n -= k->n;
	count_for(k, x.rule);
	for (unsigned i = 0; i < k->n;) {
		const unsigned until = chunk(k, i);
		const unsigned ahead = until + BEHIND < k->n ? until + BEHIND : k->n;

		if (looked < ahead) {
			find_streams(k, looked, ahead);
			looked = ahead;
		}
		if (until == i) {
			stage->unused[stage->n++] = k->record[i++];
			continue;
		}
		i = stage_run(k, &x, i, until);
		list_completed(k, &x);
		if (__builtin_expect(i != until, 0))
			stage_or_append(k, &x, i++);
	}
	settle(k, &x, k->n);
	record_streams(k);
}
