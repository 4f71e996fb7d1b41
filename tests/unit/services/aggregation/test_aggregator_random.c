/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_state.h"
/* the rig's `a` would hide arguments of the others */
#include "tests/unit/services/aggregation/aggregator_rig.h"
#include "tests/unit/times.h"

/*
 * Random bursts, against a second aggregator that is as simple as can be: an array of streams that
 * is searched from its beginning, lists of datagrams, and sizes that are added up by
 * docs/reference/aggregation-format.md.
 */
#define STREAMS 6u
#define RULES 4u
#define MTU 700u

struct slow_stream {
	bool held;
	struct udp like; /* its first message: the fields of the stream, and its source */
	unsigned rule;
	struct udp waiting[BP_AGG_FULL_MOST];
	unsigned n, bytes;              /* of the aggregate's UDP payload */
	uint64_t began_ns, arrivals_ns; /* of the first message; sum over all */
	uint64_t began, fell_idle;      /* as numbers of events */
};

static struct slow_stream slow[STREAMS];
static uint64_t events; /* orders what happens at one time */
static uint64_t seed;
static uint64_t slow_evicted, slow_passed[RULES], slow_flushed[RULES][BP_AGG_FLUSH_COUNT];
static unsigned compared; /* left[0..compared) were expected */
static uint64_t slow_in[RULES], slow_delay[RULES];
static uint64_t slow_elsewhere, slow_inside; /* messages of rules with senders */

static unsigned of(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

static bool paper_rule(unsigned r)
{
	return rules.aggregate[r].format == BP_AGG_FORMAT_LIN2018;
}

static unsigned space(unsigned family)
{
	return MTU - (family == 4 ? 28 : 48);
}

/* Bytes of a message's entry and payload behind `n` others. */
static unsigned cost(const struct udp *u, const struct udp *before, bool paper)
{
	const unsigned bytes = u->family == 4 ? 4 : 16;
	static const unsigned six[] = {0, 1, 2, 3, 8, 8, 8, 8, 8, 10, 10, 12, 12, 16, 16, 16, 16};
	unsigned same = 0, c = 1 + u->len;

	if (paper)
		return 16;
	if (before == NULL)
		return c + 3 + bytes + (u->len < 256 ? 1 : 2);
	if (u->len != before->len)
		c += u->len < 256 ? 1 : 2;
	if (u->hops != before->hops)
		c++;
	if (u->sport != before->sport)
		c += u->sport >> 8 == before->sport >> 8 ? 1 : 2;
	while (same < bytes && u->src[same] == before->src[same])
		same++;
	return c + (u->family == 4 ? bytes - same : six[bytes - same]);
}

/* The aggregate of a stream leaves: the next of left[] is to be it. */
static void slow_leave(struct slow_stream *s, enum bp_agg_flush reason)
{
	const struct left *l = &left[compared];

	assert_true(compared < n_left);
	assert_int_equal(l->rule, s->rule);
	assert_int_equal(l->n, s->n);
	assert_int_equal(l->u.len, s->bytes);
	assert_memory_equal(l->u.macs, s->waiting[0].macs, 12);
	for (unsigned i = 0; i < s->n; i++)
		expect_message(l, i, &s->waiting[i]);
	assert_memory_equal(l->u.src, paper_rule(s->rule) ? s->waiting[0].src : s->like.src, 16);
	assert_int_equal(l->u.sport, paper_rule(s->rule) ? s->waiting[0].sport : s->like.sport);
	slow_flushed[s->rule][reason]++;
	slow_delay[s->rule] += s->n * now - s->arrivals_ns;
	compared++;
	s->n = 0;
	s->fell_idle = ++events;
}

static uint64_t slow_due(const struct slow_stream *s)
{
	const uint64_t delay = rules.aggregate[s->rule].max_delay_ns;

	return s->n == 0 || delay == 0 ? UINT64_MAX : s->began_ns + delay;
}

/* The stream whose aggregate is due first, or NULL. */
static struct slow_stream *slow_next(void)
{
	struct slow_stream *first = NULL;

	for (unsigned i = 0; i < STREAMS; i++) {
		struct slow_stream *s = &slow[i];

		if (slow_due(s) == UINT64_MAX)
			continue;
		if (first == NULL || slow_due(s) < slow_due(first) ||
			(slow_due(s) == slow_due(first) &&
				(s->rule != first->rule ? s->rule < first->rule
							: s->began < first->began)))
			first = s;
	}
	return first;
}

static void slow_poll(void)
{
	struct slow_stream *s;

	while ((s = slow_next()) != NULL && slow_due(s) <= now)
		slow_leave(s, BP_AGG_FLUSH_TIME);
}

static bool one_stream(const struct udp *x, const struct udp *y)
{
	return memcmp(x->dst, y->dst, 16) == 0 && x->dport == y->dport && x->tos == y->tos &&
	       x->dont_fragment == y->dont_fragment && x->n_tags == y->n_tags &&
	       memcmp(x->tags, y->tags, 8) == 0;
}

static struct slow_stream *slow_find(unsigned rule, const struct udp *u)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (slow[i].held && slow[i].rule == rule && one_stream(&slow[i].like, u))
			return &slow[i];
	return NULL;
}

/* Whether the aggregate of x was started before that of y; at the same time, by rule. */
static bool began_before(const struct slow_stream *x, const struct slow_stream *y)
{
	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns;
	return x->rule != y->rule ? x->rule < y->rule : x->began < y->began;
}

/* A place for a new stream. */
static struct slow_stream *slow_place(void)
{
	struct slow_stream *idle = NULL, *oldest = NULL;

	for (unsigned i = 0; i < STREAMS; i++) {
		struct slow_stream *s = &slow[i];

		if (!s->held)
			return s;
		if (s->n == 0 && (idle == NULL || s->fell_idle < idle->fell_idle))
			idle = s;
		if (s->n != 0 && (oldest == NULL || began_before(s, oldest)))
			oldest = s;
	}
	slow_evicted++;
	if (idle != NULL)
		return idle;
	slow_leave(oldest, BP_AGG_FLUSH_EVICTED);
	return oldest;
}

static void slow_take(unsigned rule, const struct udp *u)
{
	const struct bp_agg_rule *r = &rules.aggregate[rule];
	struct slow_stream *s = slow_find(rule, u);
	unsigned c;

	slow_in[rule]++;
	if (s != NULL && s->n != 0 && memcmp(s->waiting[0].macs, u->macs, 6) != 0)
		slow_leave(s, BP_AGG_FLUSH_HEADER);
	if (s == NULL) {
		s = slow_place();
		s->held = true;
		s->rule = rule;
		s->like = *u;
		s->n = 0;
	}
	c = cost(u, s->n != 0 ? &s->waiting[s->n - 1] : NULL, paper_rule(rule));
	if (s->n != 0 && s->bytes + c > space(u->family)) {
		slow_leave(s, BP_AGG_FLUSH_SIZE);
		c = cost(u, NULL, paper_rule(rule));
	}
	if (s->n == 0) {
		s->bytes = paper_rule(rule) ? 6 : 16;
		s->began = ++events;
		s->began_ns = now;
		s->arrivals_ns = 0;
	}
	s->bytes += c;
	s->arrivals_ns += now;
	s->waiting[s->n++] = *u;
	if (s->n == r->messages)
		slow_leave(s, BP_AGG_FLUSH_FULL);
	else if (paper_rule(rule) && s->bytes + 16 > space(u->family))
		slow_leave(s, BP_AGG_FLUSH_SIZE);
}

/* Probability that the next message is of the same stream: almost never, or mostly. */
static unsigned follows;
/* Whether messages match one template, and differ only in their senders. */
static bool uniform;

/* Makes a datagram one of the stream of the last one. */
static void follow(struct udp *u, const struct udp *last)
{
	memcpy(u->dst, last->dst, sizeof(u->dst));
	memcpy(u->tags, last->tags, sizeof(u->tags));
	u->n_tags = last->n_tags;
	u->tos = last->tos;
	u->dont_fragment = last->dont_fragment;
}

/* One to a few destinations, from a few senders, of all lengths. */
static struct udp random_datagram(unsigned *rule, const struct udp *last)
{
	static const uint16_t lengths[] = {0, 1, 16, 17, 250, 255, 256, 257, 500};
	struct udp u = from_sender(1 + of(4));
	const bool again = last != NULL && of(16) < follows;

	*rule = again ? *rule : of(RULES);
	u.sport = (uint16_t)(40000 + (of(3) == 0 ? of(1000) : 1));
	u.hops = (uint8_t)(60 + of(2));
	if (*rule == 1) {
		u.family = 6;
		address_of("fd00:0:0:0:0:0:0:5", u.src);
		u.src[1 + of(15)] ^= (uint8_t)of(8);
		address_of("fd00:1:0:0:0:0:0:9", u.dst);
	} else {
		u.dst[1] = (uint8_t)(1 + *rule);
		u.src[of(3) + 1] ^= (uint8_t)of(4);
		u.dont_fragment = of(8) == 0;
	}
	u.dst[u.family == 4 ? 3 : 15] = (uint8_t)(9 + of(2));
	u.macs[5] = of(20) == 0;
	if (!uniform && of(12) == 0) {
		u.n_tags = 4;
		memcpy(u.tags, "\x81\x00\x00\x05", 4);
	}
	u.tos = of(12) == 0 ? 0xb8 : 0;
	if (again)
		follow(&u, last);
	if (uniform)
		u.hops = 60;
	u.len = uniform || of(2) ? 16 : lengths[of(sizeof(lengths) / sizeof(lengths[0]))];
	for (unsigned i = 0; i < u.len; i++)
		u.payload[i] = (uint8_t)next_random(&seed);
	/* not one that begins like an aggregate */
	if (u.len != 0)
		u.payload[0] &= 0x7f;
	if (paper_rule(*rule)) {
		u.len = 22;
		u.payload[0] = 0xfa;
	}
	return u;
}

/* Damages the frame of a datagram so that a checksum detects it. */
static bool damage(const struct udp *u, uint8_t *frame, unsigned len)
{
	if (of(25) != 0)
		return false;
	if (u->family == 4 && of(2) == 0) {
		frame[14 + u->n_tags + 4 + of(2)] ^= (uint8_t)(1 + of(255)); /* identification */
		return true;
	}
	if (u->len == 0 || u->no_checksum)
		return false;
	frame[len - 1 - of(u->len)] ^= (uint8_t)(1 + of(255));
	return true;
}

/* Bit by bit. */
static bool in_prefix(const struct bp_prefix *p, const uint8_t *address)
{
	for (unsigned i = 0; i < p->length; i++)
		if (((address[i / 8] ^ p->bytes[i / 8]) >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

static bool from_elsewhere(const struct bp_agg_rule *r, const struct udp *u)
{
	for (unsigned i = 0; i < r->n_senders; i++)
		if (in_prefix(&r->senders[i], u->src))
			return false;
	return r->n_senders != 0;
}

/* Half the rules allow all senders; the others up to three prefixes, of addresses that
 * random_datagram() uses. */
static void random_senders(struct bp_agg_rule *r)
{
	const unsigned family = r->to.address.family;
	struct bp_address address = {.family = (uint8_t)family};

	r->n_senders = of(2) * (1 + of(3));
	for (unsigned i = 0; i < r->n_senders; i++) {
		address_of(family == 4 ? "10.0.0.0" : "fd00:0:0:0:0:0:0:5", address.bytes);
		address.bytes[1 + of(family == 4 ? 3 : 15)] ^= (uint8_t)of(4);
		r->senders[i] = bp_prefix_of(address, family == 4 ? 14 + of(19)
						      : of(2)     ? 14 + of(115)
								  : 6 + of(10));
	}
}

/* Whether a plain datagram of a rule passes instead: it was made to, or it was too long. */
static bool spoil(unsigned rule, struct udp *u)
{
	if (of(25) == 0)
		u->sport = 0;
	if (rules.aggregate[rule].n_senders != 0)
		*(from_elsewhere(&rules.aggregate[rule], u) ? &slow_elsewhere : &slow_inside) += 1;
	return u->sport == 0 || u->len > rules.aggregate[rule].max_message ||
	       from_elsewhere(&rules.aggregate[rule], u);
}

static void burst(void)
{
	static uint8_t frame[64][FRAME_MOST];
	static struct udp u[64], last;
	static unsigned last_rule;
	unsigned rule[64], n = 1 + of(of(3) == 0 ? 64 : 4);
	bool passes[64], damaged[64];
	struct bp_agg_input in[64];

	for (unsigned i = 0; i < n; i++) {
		unsigned len;

		rule[i] = last_rule;
		u[i] = random_datagram(&rule[i], i != 0 || uniform ? &last : NULL);
		last = u[i];
		last_rule = rule[i];
		passes[i] = spoil(rule[i], &u[i]);
		u[i].no_checksum = u[i].family == 4 && of(25) == 0;
		len = udp_write(&u[i], frame[i]);
		damaged[i] = damage(&u[i], frame[i], len);
		passes[i] |= damaged[i];
		in[i] = (struct bp_agg_input){.frame = frame[i], .len = len, .frame_len = len};
	}
	bp_aggregator_take(a, in, n, now, wall);
	slow_poll();
	for (unsigned i = 0; i < n; i++) {
		const unsigned before = compared;

		assert_int_equal(in[i].verdict, passes[i] ? BP_AGG_PASS : BP_AGG_TAKEN);
		assert_int_equal(in[i].rule, rule[i]);
		if (passes[i]) {
			struct slow_stream *s = slow_find(rule[i], &u[i]);

			slow_passed[rule[i]]++;
			if (s != NULL && s->n != 0 && !damaged[i])
				slow_leave(s, BP_AGG_FLUSH_ORDER);
		} else {
			slow_take(rule[i], &u[i]);
		}
		for (unsigned k = before; k < compared; k++)
			assert_in_range(left[k].at, i, n);
	}
	assert_int_equal(compared, n_left);
}

static void run(unsigned bursts)
{
	for (unsigned i = 0; i < bursts; i++) {
		const struct slow_stream *s = slow_next();

		assert_int_equal(bp_aggregator_next(a), s != NULL ? slow_due(s) : UINT64_MAX);
		/* often right to the time when something is due, or just before it */
		if (s != NULL && of(3) == 0 && slow_due(s) > now + 1)
			now = slow_due(s) - of(2);
		else
			now += of(700);
		if (of(2) == 0) {
			bp_aggregator_poll(a, now, wall);
			slow_poll();
			assert_int_equal(compared, n_left);
		}
		burst();
	}
}

static void random_bursts_equal_the_model(void **state)
{
	uint64_t seen[BP_AGG_FLUSH_COUNT] = {0}, matched = 0, matched_streams = 0;

	for (unsigned round = 0; round < TEST_TIMES(400); round++) {
		uint64_t evicted = 0;

		seed = 0x9e3779b97f4a7c15 + round;
		follows = round % 4 * 5;
		uniform = round % 4 == 3;
		begin_with(STREAMS, 2048);
		add_rule("10.1.0.0", 24);
		add_rule("fd00:1:0:0:0:0:0:0", 64);
		add_rule("10.3.0.0", 24)->format = BP_AGG_FORMAT_LIN2018;
		add_rule("10.4.0.0", 24);
		for (unsigned r = 0; r < RULES; r++) {
			rules.aggregate[r].messages = (uint8_t)(1 + of(of(3) == 0 ? 255 : 10));
			rules.aggregate[r].max_message = (uint16_t)(300 + of(150));
			rules.aggregate[r].mtu = MTU;
			rules.aggregate[r].max_delay_ns = of(3) == 0 ? 0 : 1 + of(4000);
			random_senders(&rules.aggregate[r]);
		}
		rules_are_set();
		memset(slow, 0, sizeof(slow));
		memset(slow_flushed, 0, sizeof(slow_flushed));
		memset(slow_passed, 0, sizeof(slow_passed));
		memset(slow_in, 0, sizeof(slow_in));
		memset(slow_delay, 0, sizeof(slow_delay));
		slow_evicted = 0;
		compared = 0;
		run(30);
		for (unsigned r = 0; r < RULES; r++) {
			uint64_t waiting = 0, streams = 0;

			for (unsigned i = 0; i < STREAMS; i++) {
				if (!slow[i].held || slow[i].rule != r)
					continue;
				waiting += slow[i].n;
				streams++;
			}
			assert_int_equal(stats[r].waiting, waiting);
			assert_int_equal(stats[r].streams, streams);
			assert_int_equal(stats[r].messages, slow_in[r]);
			assert_int_equal(stats[r].passed, slow_passed[r]);
			assert_int_equal(stats[r].delay_ns, slow_delay[r]);
			for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++) {
				assert_int_equal(stats[r].flushed[i], slow_flushed[r][i]);
				seen[i] += slow_flushed[r][i];
			}
			evicted += stats[r].evicted;
		}
		assert_int_equal(evicted, slow_evicted);
		expect_figures_agree();
		matched += a->matched;
		matched_streams += a->matched_streams;
		tear_down(NULL);
	}
	/* all that random bursts can bring about did come about */
	for (unsigned i = BP_AGG_FLUSH_FULL; i <= BP_AGG_FLUSH_EVICTED; i++)
		assert_true(seen[i] > TEST_TIMES(100));
	assert_true(matched > TEST_TIMES(2000));
	assert_true(matched_streams > TEST_TIMES(500));
	assert_true(slow_elsewhere > TEST_TIMES(1000) && slow_inside > TEST_TIMES(1000));
}

/* A burst of one stream, of messages that are so long in turn. */
static void of_lengths(const uint16_t *length, unsigned n_lengths)
{
	static uint8_t frame[64][128];
	struct bp_agg_input in[64];

	for (unsigned i = 0; i < 64; i++) {
		struct udp u = from_sender(1 + of(200));
		unsigned len;

		u.len = length[i % n_lengths];
		u.dst[1] = 1;
		len = udp_write(&u, frame[i]);
		in[i] = (struct bp_agg_input){.frame = frame[i], .len = len, .frame_len = len};
	}
	bp_aggregator_take(a, in, 64, now, wall);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(in[i].verdict, BP_AGG_TAKEN);
	assert_int_equal(stats[0].waiting + 3 * (uint64_t)n_left, stats[0].messages);
}

/* Messages are not evaluated together where lengths change all the time, and are soon again when
 * that is over. */
static void lengths_that_change(void **state)
{
	static const uint16_t change[] = {20, 21, 20, 22, 22, 21}, stay[] = {22};
	uint64_t before;

	begin_with(STREAMS, 2048);
	add_rule("10.1.0.0", 24);
	rules_are_set();
	seed = 1;
	for (unsigned i = 0; i < 10; i++)
		of_lengths(change, 6);
	before = a->matched;
	for (unsigned i = 0; i < 10; i++)
		of_lengths(change, 6);
	assert_int_equal(a->matched, before);
	of_lengths(stay, 1);
	assert_true(a->matched >= before + 40);
	before = a->matched;
	of_lengths(stay, 1);
	assert_int_equal(a->matched, before + 64);
	expect_figures_agree();
	tear_down(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_bursts_equal_the_model),
		cmocka_unit_test(lengths_that_change),
	};

	return cmocka_run_group_tests_name("aggregator_random", tests, NULL, NULL);
}
