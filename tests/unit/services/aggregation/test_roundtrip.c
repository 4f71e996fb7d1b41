/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/roundtrip_rig.h"

#include <stdlib.h>

/*
 * Random datagrams through an aggregator and a disaggregator. Each case is made of one number; a
 * case that fails says which, and ROUNDTRIP_SEED=<number> runs it alone.
 */
#define CASES 3000u

static uint64_t case_seed, state;
static bool one_failed;

static unsigned below(unsigned n)
{
	return (unsigned)((next_random(&state) >> 11) % n);
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

/* ---------------------------------------------------------------- what is sent */

static const char *const destination[] = {"10.1.0.0", "fd00:1:0:0:0:0:0:0", "10.2.0.0"};
#define SENDERS_OF_4 "10.0.0.0"
#define SENDERS_OF_6 "fd00:0:0:0:0:0:0:0"

static unsigned longest;    /* payload that is sent */
static uint64_t n_kept_out; /* for their senders */
static unsigned one_rule;   /* all goes in one stream of this rule; 3: in many of all rules */

static void random_rules(void)
{
	static const uint64_t delays[] = {0, 0, 1, 50000, 1000000};
	const bool all_senders = !one_in(4);

	rules = (struct bp_agg_rules){.n_aggregate = 3, .n_disaggregate = 3};
	one_rule = below(2) ? below(3) : 3;
	longest = one_in(3) ? 1400 : 1 + below(200);
	for (unsigned i = 0; i < 3; i++) {
		struct bp_agg_rule *r = &rules.aggregate[i];
		struct bp_disagg_rule *back = &rules.disaggregate[i];
		struct bp_address to = {.family = i == 1 ? 6 : 4}, from = {.family = to.family};
		struct bp_address senders = {.family = to.family};

		address_of(destination[i], to.bytes);
		address_of(i == 1 ? "fd00:99:0:0:0:0:0:1" : "192.168.9.1", from.bytes);
		address_of(i == 1 ? SENDERS_OF_6 : SENDERS_OF_4, senders.bytes);
		*r = (struct bp_agg_rule){.port = LAN,
			.format = i == 2 ? BP_AGG_FORMAT_LIN2018 : BP_AGG_FORMAT_FULL,
			.messages = (uint8_t)(1 + below(one_in(3)     ? 255
							  : one_in(2) ? 12
								      : 2)),
			.max_delay_ns = delays[below(5)],
			.max_message = (uint16_t)(one_in(3) ? below(longest + 1) : longest),
			.mtu = (uint16_t)(one_in(2) ? 0 : 200 + below(1300)),
			.to = {bp_prefix_of(to, i == 1 ? 120 : 24), 5555, 5557}};
		if (one_in(2) && (i != 2 || all_senders)) {
			r->from = from;
			r->from_udp = 7777;
		}
		*back = (struct bp_disagg_rule){
			.port = WAN, .format = r->format, .to = r->to, .n_senders = 1};
		back->senders[0] = bp_prefix_of(senders, all_senders ? 0 : i == 1 ? 64 : 24);
		if (one_in(2)) {
			r->n_senders = 1;
			r->senders[0] = back->senders[0];
		}
	}
}

/* A sender that is often one of few, and, where the far end asks, seldom one that is not allowed.
 */
static void random_sender(struct udp *u)
{
	address_of(u->family == 4 ? SENDERS_OF_4 : SENDERS_OF_6, u->src);
	u->src[u->family == 4 ? 3 : 15] = (uint8_t)(1 + below(one_in(4) ? 250 : 3));
	if (one_in(8) && u->family == 6)
		put(u->src + 8, 4, next_random(&state));
	if (one_in(60))
		u->src[u->family == 4 ? 2 : 7] ^= 1;
	u->sport = (uint16_t)(one_in(3) ? 1 + below(65535) : 40000u + u->src[3]);
	u->hops = (uint8_t)(one_in(4) ? 1 + below(255) : 64);
}

static void random_datagram(struct udp *u)
{
	const bool many = one_rule == 3;
	const unsigned rule = !many ? one_rule : one_in(4) ? 2 : below(2);

	memset(u, 0, offsetof(struct udp, payload));
	memcpy(u->macs, "\2\0\0\0\0\1\2\0\0\0\0\2", 12);
	u->macs[11] = (uint8_t)below(3);
	u->macs[5] = one_in(50);
	u->family = rule == 1 ? 6 : 4;
	address_of(destination[rule], u->dst);
	u->dst[u->family == 4 ? 3 : 15] = (uint8_t)(many ? below(3) : 1);
	u->dport = (uint16_t)(5555 + (many && one_in(4) ? below(3) : 0));
	u->tos = many && one_in(6) ? 0xb8 : 0;
	u->dont_fragment = u->family == 4 && many && one_in(5);
	u->no_checksum = u->family == 4 && one_in(10);
	u->id = (uint16_t)next_random(&state);
	if (many && one_in(8)) {
		u->n_tags = (uint8_t)(4 * (1 + below(2)));
		memcpy(u->tags, "\x81\x00\x00\x07\x81\x00\x00\x08", 8);
	}
	random_sender(u);
	u->len = (uint16_t)below(one_in(4) ? longest + 30 : 33);
	for (unsigned i = 0; i < u->len; i += 8)
		put(u->payload + i, 8, next_random(&state));
	if (rule == 2 && !one_in(20)) {
		u->len = 22;
		memcpy(u->payload, "\xfa\0\0\0\0\0", 6);
	}
	if (one_in(30))
		put(u->payload, 2, 0xfda6); /* begins as an aggregate does */
	if (rule == 2 && u->payload[0] == 0xfc)
		u->payload[0]++; /* which would be an N-packet, from any sender */
}

/* Whether the far end may restore it. */
static bool allowed(const struct udp *u, unsigned rule)
{
	const struct bp_prefix *p = &rules.disaggregate[rule].senders[0];

	for (unsigned bit = 0; bit < p->length; bit++)
		if (((u->src[bit / 8] ^ p->bytes[bit / 8]) >> (7 - bit % 8) & 1) != 0)
			return false;
	return true;
}

/* Whether the near end has the allowed senders of the far end, and it is from none of them. */
static bool kept_out(const struct udp *u, unsigned rule)
{
	return rules.aggregate[rule].n_senders != 0 && !allowed(u, rule);
}

/* Exactly the expected messages are aggregated. */
static void expect_verdicts(unsigned first)
{
	for (unsigned i = first; i < n_sent; i++) {
		const struct udp *u = &sent[i].u;
		const unsigned rule = u->family == 6 ? 1 : u->dst[1] == 2 ? 2 : 0;
		const struct bp_agg_rule *r = &rules.aggregate[rule];
		const unsigned mtu = r->mtu != 0 ? r->mtu : 1500;
		const unsigned heads = u->family == 4 ? 28 : 48;
		bool fits = heads + bp_agg_full_alone(u->family, u->len) <= mtu;

		if (kept_out(u, rule)) {
			assert_int_equal(sent[i].verdict,
				rule != 2 && u->len >= 2 && get(u->payload, 2) == 0xfda6
					? BP_AGG_AMBIGUOUS_PAYLOAD
					: BP_AGG_PASS);
			n_kept_out++;
		} else if (rule == 2) {
			fits = u->len == 22 && u->payload[0] == 0xfa && u->len <= r->max_message;
			assert_int_equal(sent[i].verdict == BP_AGG_TAKEN, fits);
		} else if (sent[i].verdict == BP_AGG_TAKEN) {
			assert_true(u->len <= r->max_message && fits);
		} else {
			assert_true(u->len > r->max_message || !fits);
			assert_int_equal(sent[i].verdict == BP_AGG_AMBIGUOUS_PAYLOAD,
				u->len >= 2 && get(u->payload, 2) == 0xfda6);
		}
	}
}

/* ---------------------------------------------------------------- to the wire */

/* Lets time continue to `until`, with every deadline kept. */
static void time_goes_on(uint64_t until)
{
	while (bp_aggregator_next(a) <= until) {
		const uint64_t due = bp_aggregator_next(a);
		const unsigned before = n_wire;

		now = due > now ? due : now;
		bp_aggregator_poll(a, now, 1 + now);
		lay_all_that_left();
		assert_true(n_wire > before);
	}
	now = until;
}

static void send_all(unsigned n)
{
	while (n_sent < n) {
		const unsigned first = n_sent, most = n - n_sent < 64 ? n - n_sent : 64;
		const unsigned burst = one_in(3) ? 1 + below(most) : 1 + below(most < 5 ? most : 5);

		for (unsigned i = 0; i < burst; i++)
			random_datagram(&sent[n_sent + i].u);
		send_burst(burst);
		expect_verdicts(first);
		time_goes_on(now + (one_in(3) ? below(3000000) : below(2000)));
	}
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, 1 + now);
	lay_all_that_left();
	for (unsigned i = 0; i < n_streams; i++)
		assert_int_equal(stream[i].head, stream[i].tail); /* no message is held */
}

/* Each aggregate is no larger, fuller or later than its rule says; the counters say the same. */
static void expect_aggregates(void)
{
	uint64_t messages[3] = {0}, aggregates[3] = {0}, taken = 0, counted = 0;

	for (unsigned i = 0; i < n_wire; i++) {
		const struct item *w = &wire[i];
		const struct bp_agg_rule *r = &rules.aggregate[w->rule];
		const struct sent *oldest = &sent[w->message[0]];

		if (w->plain)
			continue;
		assert_in_range(w->n, 1, r->messages);
		assert_true(w->len - 14 - oldest->u.n_tags <= (r->mtu != 0 ? r->mtu : 1500));
		if (r->max_delay_ns != 0)
			assert_true(w->left_ns - oldest->at_ns <= r->max_delay_ns);
		aggregates[w->rule]++;
		messages[w->rule] += w->n;
	}
	for (unsigned i = 0; i < n_sent; i++)
		taken += sent[i].verdict == BP_AGG_TAKEN;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(agg_stats[i].messages, messages[i]);
		assert_int_equal(agg_stats[i].aggregates, aggregates[i]);
		assert_int_equal(agg_stats[i].waiting, 0);
		counted += messages[i];
	}
	assert_int_equal(counted, taken);
}

/* ---------------------------------------------------------------- from the wire */

static struct model_counts counts[BP_AGG_RULES_MAX];
static struct sequence_model model;
static uint64_t aggregates[3], messages[3], plain[3], refused[3];

/* Outcomes of all cases together: each must occur, otherwise the cases are too simple. */
enum { MIMIC, PLAIN, REFUSED, MISSING, LATE, DUPLICATE, STALE, FORGOTTEN, USUAL, HAPPENED };
static uint64_t happened[HAPPENED], flushed[BP_AGG_FLUSH_COUNT];

/* Whether the far end may restore all senders. */
static bool all_allowed(const struct item *w, const struct udp *carrier)
{
	if (rules.aggregate[w->rule].format == BP_AGG_FORMAT_LIN2018)
		return allowed(carrier, w->rule);
	for (unsigned i = 0; i < w->n; i++)
		if (!allowed(&sent[w->message[i]].u, w->rule))
			return false;
	return true;
}

/* This frame is message i of what lay on the wire, but for what cannot be. */
static void expect_restored(const struct item *w, unsigned i, const struct udp *carrier,
	uint16_t id, const uint8_t *frame, uint32_t len)
{
	static uint8_t want[FRAME_MOST];
	static struct udp u;
	const struct udp *was = &sent[w->message[i]].u;

	memcpy(&u, was, offsetof(struct udp, payload) + was->len);
	memcpy(u.macs, carrier->macs, 12);
	u.no_checksum = false;
	u.id = u.dont_fragment ? 0 : id;
	if (rules.aggregate[w->rule].format == BP_AGG_FORMAT_LIN2018) {
		memcpy(u.src, carrier->src, 16);
		u.sport = carrier->sport;
		u.hops = carrier->hops;
		memset(u.payload + 1, 0, 5);
	}
	assert_int_equal(len, udp_write(&u, want));
	assert_memory_equal(frame, want, len);
	sent[w->message[i]].got++;
}

static void restore_all(
	const struct bp_disagg_packet *p, const struct item *w, const struct udp *carrier)
{
	assert_int_equal(p->count, w->n);
	for (unsigned i = 0; i < w->n; i++) {
		const uint16_t id = (uint16_t)next_random(&state);
		const uint32_t len = bp_disagg_frame_len(p, i);
		uint8_t *frame = malloc(len);

		assert_non_null(frame);
		bp_disagg_write(p, i, 1, id, &frame);
		expect_restored(w, i, carrier, id, frame, len);
		free(frame);
	}
}

/* By the single pass of a plain aggregate, as every second one tries to go. */
static bool restore_ip4(const struct item *w, const uint8_t *frame, const struct udp *carrier)
{
	const uint16_t id = (uint16_t)next_random(&state);
	static struct ip4_buffers b;
	uint8_t rule = 0xff;
	unsigned n = 0;

	if (one_in(2))
		n = ip4_split(d, frame, w->len, WAN, false, 0, id, &b, &rule);
	if (n != 0) {
		assert_int_equal(rule, w->rule);
		assert_int_equal(n, w->n);
		happened[USUAL]++;
	}
	for (unsigned i = 0; i < n; i++)
		expect_restored(w, i, carrier, (uint16_t)(id + i), ip4_frame(&b, i), b.len[i]);
	ip4_free(&b);
	return n != 0;
}

/* A plain message, if it is one. */
static void plain_arrives(const struct item *w, const uint8_t *frame)
{
	static struct bp_disagg_packet packet;
	enum bp_disagg_rejection why;
	uint8_t rule = 0xff;

	assert_int_equal(bp_disaggregator_read(
				 d, frame, w->len, w->len, WAN, false, 0, &packet, &rule, &why),
		BP_DISAGG_BYPASS);
	sent[w->message[0]].got++;
	plain[rule]++;
}

/* Its messages come out, or it is refused for one's sender: then false. */
static bool aggregate_arrives(const struct item *w, const uint8_t *frame, const struct udp *carrier)
{
	static struct bp_disagg_packet packet;
	enum bp_disagg_rejection why = BP_DISAGG_REFUSALS;
	const bool ok = all_allowed(w, carrier);
	uint8_t rule = 0xff;

	if (ok && restore_ip4(w, frame, carrier))
		return true;
	assert_int_equal(bp_disaggregator_read(
				 d, frame, w->len, w->len, WAN, false, 0, &packet, &rule, &why),
		ok ? BP_DISAGG_SPLIT : BP_DISAGG_REJECTED);
	assert_int_equal(rule, w->rule);
	if (ok) {
		restore_all(&packet, w, carrier);
		return true;
	}
	/* effect of the same allowed senders at both ends */
	assert_int_equal(rules.aggregate[rule].n_senders, 0);
	assert_int_equal(why, BP_DISAGG_SOURCE_NOT_ALLOWED);
	refused[rule]++;
	return false;
}

static void arrive(const struct item *w)
{
	static struct udp carrier;
	uint8_t *frame = exact_copy(w->frame, w->len), key[48] = {0};

	if (w->plain) {
		plain_arrives(w, frame);
		free(frame);
		return;
	}
	udp_read(frame, w->len, &carrier);
	if (aggregate_arrives(w, frame, &carrier)) {
		aggregates[w->rule]++;
		messages[w->rule] += w->n;
		if (rules.aggregate[w->rule].format == BP_AGG_FORMAT_FULL) {
			memcpy(key, carrier.src, 16);
			memcpy(key + 16, carrier.dst, 16);
			put(key + 32, 2, carrier.sport);
			put(key + 34, 2, carrier.dport);
			memcpy(key + 36, carrier.payload + 6, 2);
			key[38] = w->rule;
			model_comes(&model, key, w->rule, get(carrier.payload + 8, 4));
		}
	}
	free(frame);
}

static void note_what_happened(void)
{
	for (unsigned i = 0; i < 3; i++) {
		happened[PLAIN] += plain[i];
		happened[REFUSED] += refused[i];
		happened[MISSING] += counts[i].missing;
		happened[LATE] += counts[i].late;
		happened[DUPLICATE] += counts[i].duplicate;
		happened[STALE] += counts[i].stale;
		happened[FORGOTTEN] += counts[i].forgotten;
		for (unsigned k = 0; k < BP_AGG_FLUSH_COUNT; k++)
			flushed[k] += agg_stats[i].flushed[k];
	}
	for (unsigned i = 0; i < n_sent; i++)
		happened[MIMIC] += sent[i].verdict == BP_AGG_AMBIGUOUS_PAYLOAD;
}

static void expect_counts(void)
{
	model_end(&model);
	note_what_happened();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(stats[i].aggregates, aggregates[i]);
		assert_int_equal(stats[i].messages, messages[i]);
		assert_int_equal(stats[i].plain, plain[i]);
		assert_int_equal(stats[i].refused, refused[i]);
		assert_int_equal(stats[i].missing, counts[i].missing);
		assert_int_equal(stats[i].late, counts[i].late);
		assert_int_equal(stats[i].duplicate, counts[i].duplicate);
		assert_int_equal(stats[i].stale, counts[i].stale);
		assert_int_equal(stats[i].lives, counts[i].lives);
		assert_int_equal(stats[i].forgotten, counts[i].forgotten);
	}
}

/* ---------------------------------------------------------------- cases */

static void begin_case(uint64_t seed, unsigned disagg_streams)
{
	case_seed = seed;
	state = seed * 0x9e3779b97f4a7c15 + 1;
	for (unsigned i = 0; i < 8; i++)
		next_random(&state);
	random_rules();
	room = 1700 + below(8000);
	memset(counts, 0, sizeof(counts));
	memset(aggregates, 0, sizeof(aggregates));
	memset(messages, 0, sizeof(messages));
	memset(plain, 0, sizeof(plain));
	memset(refused, 0, sizeof(refused));
	model_begin(&model, disagg_streams, counts);
	begin_both(one_in(2) ? 64 : 1 + below(6), disagg_streams, next_random(&state));
	send_all(1 + below(one_in(10) ? SENT_MOST : 60));
	expect_aggregates();
}

/* All of it arrives, in the order in which it left: every datagram once, and nothing is missing. */
static void whole(uint64_t seed)
{
	uint64_t came = 0, gone = 0;

	begin_case(seed, MODEL_STREAMS);
	for (unsigned i = 0; i < n_wire; i++)
		arrive(&wire[i]);
	for (unsigned i = 0; i < n_sent; i++) {
		assert_in_range(sent[i].got, 0, 1);
		came += sent[i].got;
		gone += sent[i].verdict == BP_AGG_AMBIGUOUS_PAYLOAD;
	}
	/* missing messages were ambiguous, or refused together with one of a forged sender */
	if (refused[0] + refused[1] + refused[2] == 0) {
		assert_int_equal(came, n_sent - gone);
		assert_int_equal(stats[0].missing + stats[1].missing, 0);
	}
	assert_int_equal(stats[0].late + stats[1].late + stats[0].duplicate + stats[1].duplicate +
				 stats[0].stale + stats[1].stale,
		0);
	expect_counts();
	end_both();
}

/* Where an item of the wire is in the order of arrival. */
struct place {
	uint32_t at, which;
};

static int by_place(const void *x, const void *y)
{
	const struct place *p = x, *q = y;

	return p->at != q->at ? (p->at > q->at) - (p->at < q->at)
			      : (p->which > q->which) - (p->which < q->which);
}

/* Some aggregates are lost, duplicated or reordered: exactly the messages of arrived ones are
 * restored. */
static void impaired(uint64_t seed)
{
	static struct place order[3 * WIRE_MOST];
	static unsigned expected[SENT_MOST];
	unsigned n = 0, loss, again, far;

	begin_case(seed, (seed & 8) != 0 ? MODEL_STREAMS : 1 + (unsigned)(seed >> 4) % 8);
	loss = 1 + below(20);
	again = 1 + below(20);
	far = one_in(3) ? 300 : one_in(2) ? 30 : 4;
	memset(expected, 0, sizeof(expected));
	for (unsigned i = 0; i < n_wire; i++) {
		unsigned copies = one_in(loss) ? 0 : 1;

		copies += one_in(again);
		for (unsigned k = 0; k < copies; k++)
			order[n++] = (struct place){i + (one_in(4) ? below(far) : 0), i};
	}
	qsort(order, n, sizeof(order[0]), by_place);
	for (unsigned i = 0; i < n; i++) {
		const struct item *w = &wire[order[i].which];
		static struct udp carrier;

		arrive(w);
		if (!w->plain) {
			udp_read(w->frame, w->len, &carrier);
			if (!all_allowed(w, &carrier))
				continue;
		}
		for (unsigned k = 0; k < w->n; k++)
			expected[w->message[k]]++;
	}
	for (unsigned i = 0; i < n_sent; i++)
		assert_int_equal(sent[i].got, expected[i]);
	expect_counts();
	end_both();
}

static void cases(void (*run)(uint64_t seed))
{
	const char *only = getenv("ROUNDTRIP_SEED");

	one_failed = true;
	if (only != NULL) {
		run(strtoull(only, NULL, 0));
	} else {
		for (uint64_t seed = 1; seed <= CASES; seed++)
			run(seed);
	}
	one_failed = false;
}

static void all_messages_are_restored(void **none)
{
	cases(whole);
}

static void link_impairments_are_measured(void **none)
{
	cases(impaired);
	if (getenv("ROUNDTRIP_SEED") != NULL)
		return;
	one_failed = true;
	for (unsigned i = 0; i < HAPPENED; i++)
		assert_true(happened[i] > 50);
	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		if (i != BP_AGG_FLUSH_RELOAD && i != BP_AGG_FLUSH_LINK)
			assert_true(flushed[i] > 50);
	assert_true(n_kept_out > 50);
	one_failed = false;
}

static int say_which(void **none)
{
	if (one_failed)
		print_error("the case that failed: ROUNDTRIP_SEED=%llu\n",
			(unsigned long long)case_seed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_messages_are_restored, say_which),
		cmocka_unit_test_teardown(link_impairments_are_measured, say_which),
	};

	return cmocka_run_group_tests_name("roundtrip", tests, NULL, NULL);
}
