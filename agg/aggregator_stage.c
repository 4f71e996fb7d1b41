/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_many_parts.h"

/*
 * A burst of messages of many streams, staged (agg/stage.h): each is written to a record, and what
 * streams begin or complete is seen to behind that. So no message waits for what another needs, and
 * no branch asks what nobody can foretell.
 *
 * What can't be staged is placed: behind all that was complete before it, so that what leaves does
 * so in the order in which it was completed.
 */

#define CHUNK 16u  /* messages that are staged at one go */
#define BEHIND 16u /* at least so many are looked for before the first is staged */
#define AHEAD 4u   /* streams of which what they need is fetched before */

/* What was begun and completed: streams, in the order of the messages that did so. */
struct staging {
	uint32_t begun[BP_AGGREGATOR_BURST], done[BP_AGGREGATOR_BURST];
	unsigned n_begun, n_done;
	unsigned looked; /* what done[0..looked) complete was fetched */
	unsigned rule, most;
};

/* What the messages of a burst have in common. */
enum likeness {
	UNLIKE,
	ALIKE,       /* rule, and octets of message and frame */
	ALIKE_MIDDLE, /* likewise; their payloads have 16 to 32 octets */
	WRITTEN       /* likewise, and they are in their records */
};

static inline void fetch(const void *p)
{
	__builtin_prefetch(p, 1);
}

/* ---- looking ---- */

/* Looks for the streams of messages, and fetches what is staged of them. */
static inline __attribute__((always_inline)) void look(
	struct bp_aggregator_burst *k, unsigned from, unsigned until)
{
	const struct bp_agg_streams *const t = &k->a->streams;
	const struct bp_agg_staged *const staged = t->staged - 1;
	const uint32_t *const slots = t->slot;
	const uint32_t mask = t->slot_mask;

	for (unsigned i = from; i < until; i++) {
		const uint32_t hash = k->hash[i], *slot = &slots[hash & mask];
		const bp_v4 four = (bp_v4)bp_v16_load((const uint8_t *)slot);
		const uint32_t may = bp_v16_mask((bp_v16)(((four ^ hash) >> BP_AGG_SLOT_TAG) == 0));
		uint32_t row;

		if (__builtin_expect(may != 0, 1))
			row = bp_agg_slot_row(slot[(uint32_t)__builtin_ctz(may) / sizeof(*slot)]);
		else
			row = (uint32_t)(bp_agg_streams_guess_from(t, hash, hash & mask) + 1 -
					 t->stream);
		k->row[i] = row;
		fetch(&staged[row]);
	}
}

static inline void look_end(const struct bp_aggregator_burst *k, uint32_t stream)
{
	fetch(&k->a->streams.row[stream]);
	fetch(&k->a->streams.link[stream]);
}

/* Fetches what the streams complete that were found complete since the last time. */
static inline void look_records(struct bp_aggregator_burst *k, struct staging *x)
{
	const struct bp_agg_streams *t = &k->a->streams;

	for (; x->looked < x->n_done; x->looked++) {
		const struct bp_agg_staged *g = &t->staged[x->done[x->looked]];

		look_end(k, x->done[x->looked]);
		for (unsigned i = 0; i < BP_AGG_STAGE_MOST; i++)
			__builtin_prefetch(&t->stage.record[g->record[i]]);
	}
}

static inline void look_beside(const struct bp_aggregator_burst *k, uint32_t stream)
{
	const struct bp_agg_link *l = k->a->streams.link;

	fetch(&l[l[stream].before]);
	fetch(&l[l[stream].behind]);
}

/* ---- what was begun and completed ---- */

/* Streams that were begun go to the end of their list. */
static inline void begin_all(struct bp_aggregator_burst *k, struct staging *x)
{
	const struct bp_agg_link *link = k->a->streams.link;

	for (unsigned j = 0; j < AHEAD && j < x->n_begun; j++)
		fetch(&link[x->begun[j]]);
	for (unsigned j = 0; j < x->n_begun; j++) {
		if (j + AHEAD < x->n_begun)
			fetch(&link[x->begun[j + AHEAD]]);
		if (j + AHEAD / 2 < x->n_begun)
			look_beside(k, x->begun[j + AHEAD / 2]);
		bp_aggregator_began(k->a, x->begun[j], x->rule, k->now_ns);
	}
	x->n_begun = 0;
}

/* Those that are complete leave. */
static inline void leave_all(struct bp_aggregator_burst *k, struct staging *x)
{
	bp_aggregator_leave_staged(k->a, x->rule, x->done, x->n_done, BP_AGG_FLUSH_FULL, k->now_ns,
		k->wall_ns);
	x->n_done = 0;
	x->looked = 0;
}

/* Both, before message i. */
static void settle(struct bp_aggregator_burst *k, struct staging *x, unsigned i)
{
	bp_aggregator_many_enter(k);
	k->a->at = (uint8_t)(k->at + i);
	begin_all(k, x);
	leave_all(k, x);
}

/* What is taken from here on is of that rule. */
static void count_for(struct bp_aggregator_burst *k, unsigned rule)
{
	bp_aggregator_many_enter(k);
	if (k->a->taken_rule == rule)
		return;
	bp_aggregator_settle(k->a);
	k->a->taken_rule = rule;
}

/* ---- staging ---- */

/* Writes a message that came in frame f to a record. `shape`: octets of its payload << 8, and of the
 * frame beyond the least << 16. */
static inline __attribute__((always_inline)) void write_record(struct bp_agg_record *r,
	const uint8_t *f, uint32_t shape, uint32_t sum, uint64_t now_ns, bool middle)
{
	const uint32_t len = shape >> 8 & 0xff, first = shape | f[AT_IP + BP_IP4_TTL];
	const uint8_t *payload = f + AT_PAYLOAD;
	uint64_t sender;
	uint16_t sport;

	memcpy(&sport, f + AT_UDP, sizeof(sport));
	/* its last six octets are the source MAC address */
	sender = (bp_load_le64(f + 4) & ~0xffffull) | sport;
	r->arrived_ns = now_ns;
	memcpy(&r->hops, &first, sizeof(first));
	memcpy(r->src, f + AT_IP + BP_IP4_SRC, sizeof(r->src));
	r->sum = sum;
	memcpy(r->sport, &sender, sizeof(sender));
	if (middle) {
		const bp_v16 a = bp_v16_load(payload), b = bp_v16_load(payload + len - 16);

		memcpy(r->payload, &a, 16);
		memcpy(r->payload + len - 16, &b, 16);
	} else {
		bp_copy(r->payload, payload, len);
	}
}
_Static_assert(offsetof(struct bp_agg_record, mac) == offsetof(struct bp_agg_record, sport) + 2,
	"one number");

/* Whether messages of a stream in that state may be joined by one for that MAC address, being fewer
 * than `most`. */
static inline bool fits(uint64_t state, uint64_t to, uint64_t most)
{
	return ((state ^ to) << 16) == 0 && state >> 48 < most;
}

/* Whether a message that has not much in common with others can be staged; then *shape is written.
 */
static inline bool is_short(
	const struct bp_aggregator_burst *k, const struct staging *x, unsigned i, uint32_t *shape)
{
	const uint32_t len = k->len[i], more = k->in[i].frame_len - bp_agg_least(len);

	*shape = len << 8 | more << 16;
	return k->in[i].rule == x->rule && len <= BP_AGG_STAGE_PAYLOAD && more <= UINT16_MAX;
}

/* Stages messages from i on, as far as that goes: returns where it does not. */
static inline __attribute__((always_inline)) unsigned stage_run(struct bp_aggregator_burst *k,
	struct staging *x, unsigned i, unsigned until, enum likeness alike)
{
	struct bp_agg_streams *const t = &k->a->streams;
	struct bp_agg_staged *const staged = t->staged - 1;
	struct bp_agg_record *const records = t->stage.record;
	const uint64_t now_ns = k->now_ns, most = x->most;
	uint32_t n_begun = x->n_begun, n_done = x->n_done, shape = 0;
	struct bp_agg_input *in = &k->in[i];
	uint64_t octets = 0, to = bp_load_le64(in->frame);
	const uint32_t each = in->frame_len;
	const unsigned from = i;

	if (alike != UNLIKE && alike != WRITTEN)
		is_short(k, x, i, &shape);
	for (; i < until; i++, in++) {
		const uint32_t row = k->row[i];
		struct bp_agg_staged *g = &staged[row];
		const uint64_t state = g->state;
		const uint32_t count = (uint32_t)(state >> 48);

		if (alike == UNLIKE) {
			if (!is_short(k, x, i, &shape))
				break;
			to = bp_load_le64(in->frame);
			octets += in->frame_len;
		}
		if (__builtin_expect(g->usual != k->usual[i] || !fits(state, to, most), 0))
			break;
		if (alike != WRITTEN)
			write_record(&records[k->record[i]], in->frame, shape, k->sum[i], now_ns,
				alike == ALIKE_MIDDLE);
		g->record[count] = k->record[i];
		g->state = state + BP_AGG_STAGE_ONE;
		x->begun[n_begun] = row - 1;
		n_begun += count == 0;
		x->done[n_done] = row - 1;
		n_done += count + 1 == most;
		in->verdict = BP_AGG_TAKEN;
	}
	x->n_begun = n_begun;
	x->n_done = n_done;
	k->taken += i - from;
	k->taken_octets += alike == UNLIKE ? octets : (uint64_t)each * (i - from);
	return i;
}

/* A message that could not be staged as things were: its stream is complete, or was for another
 * MAC address when something was staged of it the last time; or else it is placed. */
static __attribute__((noinline)) void stage_odd(
	struct bp_aggregator_burst *k, struct staging *x, unsigned i)
{
	struct bp_agg_streams *t = &k->a->streams;
	struct bp_agg_staged *g = &t->staged[k->row[i]] - 1;

	settle(k, x, i);
	if (g->usual == k->usual[i] && g->state >> 48 == 0)
		g->state = bp_load_le64(k->in[i].frame) & (BP_AGG_STAGE_ONE - 1);
	if (stage_run(k, x, i, i + 1, UNLIKE) != i)
		return;
	settle(k, x, i);
	t->stage.unused[t->stage.n++] = k->record[i];
	k->s[i] = &t->stream[k->row[i]] - 1;
	bp_aggregator_many_place(k, i);
	k->row[i] = (uint32_t)(k->s[i] + 1 - t->stream);
	count_for(k, x->rule);
}

/* For who asks of which streams the last that was taken is, and the one before it. */
static void note_streams(struct bp_aggregator_burst *k)
{
	const struct bp_agg_streams *t = &k->a->streams;
	unsigned left = 2;

	for (unsigned i = k->n; i-- != 0 && left != 0;) {
		const bool taken = k->in[i].verdict == BP_AGG_TAKEN;

		k->s[i] = &t->stream[taken ? k->row[i] : 0] - 1;
		left -= taken;
	}
}

/* How far messages from i on can be staged at one go; i: it is none of a stream. */
static inline unsigned chunk(const struct bp_aggregator_burst *k, unsigned i)
{
	if (__builtin_expect(k->odd == 0, 1))
		return i + CHUNK < k->n ? i + CHUNK : k->n;
	return (k->odd >> i & 1) != 0 ? i : i + 1;
}

static inline __attribute__((always_inline)) void stage_all(
	struct bp_aggregator_burst *k, enum likeness alike)
{
	struct bp_agg_stage *stage = &k->a->streams.stage;
	struct staging x; /* its arrays are written before they are read */
	unsigned looked = 0;

	x.n_begun = x.n_done = x.looked = 0;
	x.rule = k->a->many.rule;
	x.most = k->a->rule[x.rule].most;
	stage->n -= k->n;
	count_for(k, x.rule);
	for (unsigned i = 0; i < k->n;) {
		const unsigned until = chunk(k, i);
		const unsigned ahead = until + BEHIND < k->n ? until + BEHIND : k->n;

		if (looked < ahead) {
			look(k, looked, ahead);
			looked = ahead;
		}
		if (until == i) {
			stage->unused[stage->n++] = k->record[i++];
			continue;
		}
		i = stage_run(k, &x, i, until, alike);
		look_records(k, &x);
		if (__builtin_expect(i != until, 0))
			stage_odd(k, &x, i++);
	}
	settle(k, &x, k->n);
	note_streams(k);
}

void bp_aggregator_many_stage(struct bp_aggregator_burst *k)
{
	const unsigned len = k->len[0];

	if (k->written)
		stage_all(k, WRITTEN);
	else if (k->odd != 0 || k->unlike != k->n || len > BP_AGG_STAGE_PAYLOAD ||
		k->in[0].frame_len - bp_agg_least(len) > UINT16_MAX)
		stage_all(k, UNLIKE);
	else if (len >= 16 && len <= 32)
		stage_all(k, ALIKE_MIDDLE);
	else
		stage_all(k, ALIKE);
}
