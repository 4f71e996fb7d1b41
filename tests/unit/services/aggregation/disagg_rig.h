/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_RIG_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_RIG_H

#include "tests/unit/services/aggregation/disagg_ip4.h"
#include "tests/unit/services/aggregation/udp_frame.h"

/*
 * A disaggregator on port 1, which bridges unless a test says otherwise, and one frame at a time. A
 * second disaggregator first tries the single pass for plain aggregates: result and counters of
 * each frame must be the same.
 */
#define PORT 1u

static struct bp_disagg_stats stats[BP_AGG_RULES_MAX], twin_stats[BP_AGG_RULES_MAX];
static struct bp_agg_rules rules;
static struct bp_disaggregator *d, *twin;

/* Result of the last frame. */
static struct bp_disagg_packet packet;
static uint8_t rule;
static enum bp_disagg_rejection why;

/* A prefix from an address and a length. */
static inline struct bp_prefix prefix_from(const char *address, unsigned length)
{
	struct bp_address a = {.family = strchr(address, ':') != NULL ? 6 : 4};

	address_of(address, a.bytes);
	return bp_prefix_of(a, length);
}

/* A rule for one destination address and port 5555, with one prefix of senders. */
static inline struct bp_disagg_rule *add_rule(enum bp_agg_format format, const char *to,
	unsigned to_length, const char *senders, unsigned senders_length)
{
	struct bp_disagg_rule *r = &rules.disaggregate[rules.n_disaggregate++];

	*r = (struct bp_disagg_rule){.port = PORT, .format = (uint8_t)format, .n_senders = 1};
	r->to = (struct bp_agg_to){prefix_from(to, to_length), 5555, 5555};
	r->senders[0] = prefix_from(senders, senders_length);
	return r;
}

static inline void add_default_rules(void)
{
	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "10.0.0.0", 24);
	add_rule(BP_AGG_FORMAT_FULL, "fd00:1:0:0:0:0:0:9", 128, "fd00:0:0:0:0:0:0:0", 64);
	add_rule(BP_AGG_FORMAT_LIN2018, "10.2.0.9", 32, "10.0.0.0", 24);
	add_rule(BP_AGG_FORMAT_LIN2018, "fd00:2:0:0:0:0:0:9", 128, "fd00:0:0:0:0:0:0:0", 64);
}

static inline void rules_are_set(void)
{
	bp_disaggregator_set_rules(d, &rules);
	bp_disaggregator_set_rules(twin, &rules);
}

static inline int set_up(void **state)
{
	struct bp_disaggregator_options o = {.streams = 8, .stats = stats, .seed = 1};

	memset(stats, 0, sizeof(stats));
	memset(twin_stats, 0, sizeof(twin_stats));
	d = bp_disaggregator_new(&o);
	assert_non_null(d);
	o.stats = twin_stats;
	twin = bp_disaggregator_new(&o);
	assert_non_null(twin);
	add_default_rules();
	rules_are_set();
	return 0;
}

static inline int tear_down(void **state)
{
	bp_disaggregator_free(d);
	bp_disaggregator_free(twin);
	return 0;
}

/* Whether the single pass must accept this decapsulated aggregate. */
static inline bool is_plain(const uint8_t *frame)
{
	const uint8_t *p = frame + 42;

	return rules.disaggregate[rule].format == BP_AGG_FORMAT_FULL &&
	       get(frame + 12, 3) == 0x080045 && 16 + get(p + 4, 2) != get(frame + 38, 2) - 8;
}

/* The result of the second disaggregator for the frame with result `v`. */
static inline void twin_judges(
	const uint8_t *frame, unsigned len, bool routed, uint64_t mac, enum bp_disagg_verdict v)
{
	static struct bp_disagg_packet other;
	enum bp_disagg_rejection other_why = why;
	static struct ip4_buffers b;
	uint8_t of_rule = rule;
	unsigned n;

	n = ip4_split(twin, frame, len, PORT, routed, mac, 0xfffe, &b, &of_rule);
	if (n == 0) {
		assert_false(v == BP_DISAGG_SPLIT && is_plain(frame));
		assert_int_equal(bp_disaggregator_read(twin, frame, len, len, PORT, routed, mac,
					 &other, &of_rule, &other_why),
			v);
	} else {
		assert_int_equal(v, BP_DISAGG_SPLIT);
		assert_int_equal(n, packet.count);
	}
	for (unsigned i = 0; i < n; i++) {
		uint8_t *want = malloc(len);

		assert_non_null(want);
		bp_disagg_write(&packet, i, 1, (uint16_t)(0xfffe + i), &want);
		assert_int_equal(b.len[i], bp_disagg_frame_len(&packet, i));
		assert_memory_equal(ip4_frame(&b, i), want, b.len[i]);
		free(want);
	}
	assert_int_equal(of_rule, rule);
	assert_int_equal(other_why, why);
	assert_memory_equal(twin_stats, stats, sizeof(stats));
	ip4_free(&b);
}

/* The frame, in a block of exactly its size that stays until the next one comes: what *packet
 * points to. */
static inline enum bp_disagg_verdict judge_as(
	const uint8_t *frame, unsigned len, unsigned frame_len, bool routed, uint64_t mac)
{
	static uint8_t *last;
	enum bp_disagg_verdict v;

	free(last);
	last = exact_copy(frame, len);
	rule = 0xee;
	v = bp_disaggregator_read(d, last, len, frame_len, PORT, routed, mac, &packet, &rule, &why);
	if (len == frame_len)
		twin_judges(last, len, routed, mac, v);
	else
		bp_disaggregator_read(twin, last, len, frame_len, PORT, routed, mac,
			&(struct bp_disagg_packet){0}, &(uint8_t){0},
			&(enum bp_disagg_rejection){0});
	return v;
}

static inline enum bp_disagg_verdict evaluate(const uint8_t *frame, unsigned len)
{
	return judge_as(frame, len, len, false, 0);
}

/* The frame of message i, in a block of exactly its size. Freed by the caller. */
static inline uint8_t *restored(unsigned i, uint16_t id, unsigned *len)
{
	uint8_t *p;

	assert_true(i < packet.count);
	*len = bp_disagg_frame_len(&packet, i);
	p = malloc(*len);
	assert_non_null(p);
	memset(p, 0xee, *len);
	bp_disagg_write(&packet, i, 1, id, &p);
	return p;
}

/* The datagram that carries an aggregate to the rule of that format and family. */
static inline struct udp carrier(enum bp_agg_format format, unsigned family)
{
	struct udp u = {.macs = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1},
		.family = (uint8_t)family,
		.tos = 0xb8,
		.hops = 61,
		.sport = 40000,
		.dport = 5555,
		.id = 77};

	if (format == BP_AGG_FORMAT_FULL) {
		address_of(family == 4 ? "192.168.7.1" : "fd00:77:0:0:0:0:0:1", u.src);
		address_of(family == 4 ? "10.1.0.9" : "fd00:1:0:0:0:0:0:9", u.dst);
	} else {
		address_of(family == 4 ? "10.0.0.7" : "fd00:0:0:0:0:0:0:7", u.src);
		address_of(family == 4 ? "10.2.0.9" : "fd00:2:0:0:0:0:0:9", u.dst);
	}
	return u;
}

/* Makes the messages an aggregate of format full in u->payload. */
static inline void pack(struct udp *u, const struct udp *const *message, unsigned n,
	uint16_t stream, uint32_t sequence)
{
	static uint8_t block[BP_AGG_FULL_FRONT6(BP_AGG_FULL_MOST) + FRAME_MOST];
	struct bp_agg_full_writer w;
	const uint8_t *p;
	size_t len;

	bp_agg_full_begin(&w, block, BP_AGG_FULL_FRONT6(BP_AGG_FULL_MOST), FRAME_MOST - 100,
		u->family, BP_AGG_FULL_MOST);
	for (unsigned i = 0; i < n; i++) {
		struct bp_agg_sender s = {.port = message[i]->sport, .hops = message[i]->hops};

		memcpy(s.addr, message[i]->src, 16);
		assert_true(bp_agg_full_append(&w, &s, message[i]->payload, message[i]->len));
	}
	p = bp_agg_full_end(&w, stream, sequence, &len);
	assert_non_null(p);
	memcpy(u->payload, p, len);
	u->len = (uint16_t)len;
}

/* A message as it was before it became part of what `u` carries. */
static inline struct udp message_in(const struct udp *u, const char *src, uint16_t sport,
	uint8_t hops, const void *payload, uint16_t len)
{
	struct udp m = *u;

	address_of(src, m.src);
	m.sport = sport;
	m.hops = hops;
	m.len = len;
	memcpy(m.payload, payload, len);
	return m;
}

#endif
