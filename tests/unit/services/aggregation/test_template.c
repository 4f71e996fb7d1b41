/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of one template, compared by fours, against a comparison of one that is written down
 * field by field: of a burst as many are taken as that one would have taken, and their sums are
 * right.
 */
#include "tests/unit/services/aggregation/udp_frame.h"

#include "services/aggregation/template.h"
#include "tests/unit/times.h"

static uint64_t seed = 1;

static unsigned of(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

/* The rule's senders, and which of its prefixes the first message is of. */
static struct bp_prefix prefix[3];
static unsigned n_prefixes;
static bool paper;

static bool in_prefix(const struct bp_prefix *p, const uint8_t *address)
{
	return p->length == 0 || (get(address, 4) ^ get(p->bytes, 4)) >> (32 - p->length) == 0;
}

static const struct bp_prefix *first_of(const uint8_t *address)
{
	for (unsigned i = 0; i < n_prefixes; i++)
		if (in_prefix(&prefix[i], address))
			return &prefix[i];
	return NULL;
}

/* Whether y matches the template of x, which was aggregated. Both are long enough for the
 * comparison. */
static bool is_like(const struct bp_agg_input *x, const struct bp_agg_input *y)
{
	/* bytes that must be the same: target, type to TOS and total length, fragment to protocol,
	 * first of the source, destination, its port and the UDP length */
	static const uint8_t same[][2] = {{0, 6}, {12, 6}, {20, 4}, {26, 1}, {30, 4}, {36, 4}};
	const uint8_t *ip = y->frame + 14, *udp = ip + 20;

	if (x->len != y->len || x->frame_len != y->frame_len || x->port != y->port ||
		x->routed != y->routed || x->mac != y->mac)
		return false;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (memcmp(x->frame + same[i][0], y->frame + same[i][0], same[i][1]) != 0)
			return false;
	return in_prefix(first_of(x->frame + 26), ip + 12) && get(udp, 2) != 0 &&
	       (!paper || udp[8] == 0xfa) && plain_sum(ip, 20, 0) == 0xffff &&
	       get(udp + 6, 2) != 0 && plain_udp_sum(ip, get(udp + 4, 2)) == 0xffff;
}

static void random_senders(void)
{
	n_prefixes = 1 + of(3);
	for (unsigned i = 0; i < n_prefixes; i++) {
		prefix[i] = (struct bp_prefix){.family = 4, .length = (uint8_t)(6 + of(27))};
		put(prefix[i].bytes, 4, 0x0a000000 + (of(4) << 8) + of(4));
	}
}

/* A datagram of a sender of the rule; the fields in `like` have equal values. */
static struct udp datagram(const struct udp *like)
{
	struct udp u = *like;

	put(u.macs + 6, 6, next_random(&seed));
	u.id = (uint16_t)next_random(&seed);
	u.sport = (uint16_t)(1 + of(65535));
	do
		put(u.src, 4, 0x0a000000 + (of(8) << 8) + of(8));
	while (first_of(u.src) == NULL);
	for (unsigned i = 0; i < u.len; i++)
		u.payload[i] = (uint8_t)(of(4) == 0 ? 0xff : next_random(&seed));
	if (paper)
		u.payload[0] = 0xfa;
	return u;
}

/* Makes a datagram unlike the others, or writes no checksum. */
static void differ(struct udp *u)
{
	const unsigned what = of(12);

	switch (what) {
	case 9:
		u->hops--;
		break;
	case 10:
		u->len ^= 1;
		break;
	case 11:
		u->payload[0] ^= 1;
		break;
	default:
		udp_differ(u, what, (unsigned)next_random(&seed));
		break;
	}
}

static void differ_in_input(struct bp_agg_input *in)
{
	switch (of(5)) {
	case 0:
		in->port ^= 1;
		break;
	case 1:
		in->routed = !in->routed;
		break;
	case 2:
		in->mac ^= 1;
		break;
	case 3:
		in->frame_len++;
		break;
	default:
		in->len -= in->len > 48;
		break;
	}
}

/* A frame as it is filled to such a length, in a block of that length. */
static struct bp_agg_input input(const struct udp *u, unsigned shortest, bool damaged)
{
	uint8_t frame[FRAME_MOST];
	unsigned len = udp_write(u, frame);
	struct bp_agg_input in = {.port = 3};

	for (; len < shortest; len++)
		frame[len] = (uint8_t)next_random(&seed);
	if (damaged)
		frame[of(len)] ^= (uint8_t)(1 << of(8));
	in.frame = exact_copy(frame, len);
	in.len = in.frame_len = len;
	return in;
}

static unsigned taken[65], odd[6];

static void burst(const struct udp *like, unsigned shortest, const struct bp_agg_template *x,
	const struct bp_agg_input *first)
{
	const unsigned n = 1 + of(of(2) ? 64 : 12), at = of(2) ? of(n) : n, how = of(3);
	struct bp_agg_input in[64];
	uint32_t sum[64];
	unsigned expected = 0, got;

	for (unsigned i = 0; i < n; i++) {
		struct udp u = datagram(like);

		if (i == at && how == 0)
			differ(&u);
		in[i] = input(&u, shortest, i == at && how == 1);
		if (i == at && how == 2)
			differ_in_input(&in[i]);
	}
	while (expected < n && is_like(first, &in[expected]))
		expected++;
	got = bp_agg_template_match_run(x, in, n, sum);
	assert_int_equal(got, expected);
	for (unsigned i = 0; i < got; i++) {
		const unsigned from = paper ? 48 : 42;

		/* in the machine's order, as bp_sum() has it */
		assert_int_equal(__builtin_bswap16(bp_sum_fold(sum[i])) % 65535,
			plain_sum(in[i].frame + from, 42 + like->len - from, 0) % 65535);
	}
	for (unsigned i = 0; i < n; i++)
		free((void *)in[i].frame);
	taken[got]++;
	if (got == at && at != n)
		odd[how]++;
}

static void run(unsigned len, unsigned bursts)
{
	struct udp like = {.macs = {2, 0, 0, 0, 0, 1},
		.family = 4,
		.tos = (uint8_t)of(256),
		.hops = (uint8_t)(1 + of(255)),
		.dst = {10, 1, 0, 9},
		.dport = (uint16_t)next_random(&seed),
		.dont_fragment = of(2),
		.len = (uint16_t)len};
	const unsigned shortest = of(2) ? 60 : 48;
	struct bp_agg_senders senders;
	struct bp_agg_input first;
	struct bp_agg_template x;
	struct udp u;

	random_senders();
	bp_agg_senders_set(&senders, 4, prefix, n_prefixes);
	u = datagram(&like);
	first = input(&u, shortest, false);
	assert_true(bp_agg_template_set(&x, &first, len, paper, &senders));
	for (unsigned i = 0; i < bursts; i++)
		burst(&like, shortest, &x, &first);
	free((void *)first.frame);
}

static void run_ends_at_the_first_difference(void **state)
{
	for (unsigned i = 0; i < TEST_TIMES(200); i++) {
		paper = false;
		for (unsigned len = 7; len < 60; len++)
			run(len, 4);
		run(60 + of(1413), 4);
		paper = true;
		run(22, 8);
	}
	/* the odd one was met in every way, and bursts ended everywhere */
	for (unsigned i = 0; i < 3; i++)
		assert_true(odd[i] > TEST_TIMES(1000));
	for (unsigned i = 0; i < 65; i++)
		assert_true(taken[i] > TEST_TIMES(50));
}

/* The longest there is: no sum runs over. */
static void the_longest(void **state)
{
	paper = false;
	for (unsigned i = 0; i < 10; i++)
		run(9000, 1);
}

/* Too few contiguous bytes, or a payload that is too short: no message matches it. */
static void short_frames(void **state)
{
	static const struct udp like = {.macs = {2, 0, 0, 0, 0, 1},
		.family = 4,
		.hops = 9,
		.src = {10, 0, 0, 1},
		.dst = {10, 1, 0, 9},
		.sport = 7,
		.dport = 7};
	struct bp_agg_senders senders;
	uint32_t sum[1];

	bp_agg_senders_set_all(&senders);
	for (unsigned len = 0; len < 8; len++) {
		struct udp u = like;
		struct bp_agg_input in;
		struct bp_agg_template x;

		u.len = (uint16_t)len;
		in = input(&u, 0, false);
		assert_int_equal(bp_agg_template_set(&x, &in, len, false, &senders), len > 6);
		assert_int_equal(bp_agg_template_match_run(&x, &in, 1, sum), len > 6);
		free((void *)in.frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_ends_at_the_first_difference),
		cmocka_unit_test(the_longest),
		cmocka_unit_test(short_frames),
	};

	return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
