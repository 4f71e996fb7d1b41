/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation where frames go other ways than over a wire: bridged, routed, inspected, tagged. */
#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/fib_static.h"

#define PORTS3(role_of_c_)                                                                         \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2" role_of_c_ "}\n"
#define WIRE PORTS3(", routed: {}") "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define SWITCH PORTS3("") "bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define MAKE                                                                                       \
	"aggregation:\n  encapsulate:\n  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, "    \
	"max_messages: 8}\n"
#define TAKE(senders_)                                                                             \
	"  decapsulate:\n  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: " \
	"[" senders_ "]}\n"
/* and one of the way back, on the port where aggregates come in */
#define MAKE_BACK                                                                                  \
	"aggregation:\n  encapsulate:\n"                                                           \
	"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 8}\n"                \
	"  - {port: b, to: {address: 10.0.0.0/24, udp_port: 5555}, max_messages: 8}\n"
#define MQTT "mqtt:\n  publisher: {broker: \"mqtt://127.0.0.1\"}\n"

enum { A, B, C };

/* A switch knows where a sender is whose messages it sees in aggregates of others alone. */
static void all_senders_are_learned(void **state)
{
	uint8_t back[64];
	struct rig r;

	rig_start(&r, SWITCH MAKE, false, false);
	for (unsigned i = 0; i < 3; i++) {
		struct udp u = agg_message(i);

		u.src_mac = (uint8_t)(0x40 + i);
		agg_put_udp(&r, A, &u);
	}
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 3);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_AGGREGATE), 0);
	frame_make(back, sizeof(back), 2, 0x42, 0x88b5);
	rig_put(&r, C, back, sizeof(back));
	rig_walk(&r);
	rig_expect(&r, A, back, sizeof(back));
	rig_expect_none(&r, B);
	rig_stop(&r);
}

/* A sender that went to another port between two messages is known there, also where both came in
 * one burst, and with something else in between. */
static void a_sender_that_moves(void **state)
{
	uint8_t stray[64];

	frame_make(stray, sizeof(stray), 0x51, 2, 0x88b5);
	for (unsigned unknown_sessions = 0; unknown_sessions < 2; unknown_sessions++) {
		struct udp u = agg_message(0);
		struct rig r;

		rig_start(&r, SWITCH MAKE_BACK, false, false);
		u.src_mac = 0x40;
		agg_put_udp(&r, A, &u);
		if (unknown_sessions != 0)
			rig_put(&r, B, stray, sizeof(stray));
		u.dst = "10.0.0.77";
		agg_put_udp(&r, B, &u);
		rig_walk(&r);
		assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 2);
		assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 1 + unknown_sessions);
		assert_int_equal(rig_counter(&r, BP_C_MAC_MOVED), 1);
		if (unknown_sessions != 0) {
			rig_expect(&r, A, stray, sizeof(stray)); /* no one knows where 2 is */
			rig_expect(&r, C, stray, sizeof(stray));
		}
		rig_stop(&r);
	}
}

/* An aggregate is from the sender of its first message. */
static void over_a_bridge(void **state)
{
	uint8_t back[64];
	struct rig r;

	rig_start(&r, SWITCH MAKE, false, false);
	agg_put(&r, A, 0, 8);
	rig_walk(&r);
	rig_expect_none(&r, A);
	agg_take_of(&r, B, NULL, 0, 8); /* no one knows where 2 is */
	agg_take_of(&r, C, NULL, 0, 8);
	frame_make(back, sizeof(back), 2, 1, 0x88b5);
	rig_put(&r, C, back, sizeof(back));
	rig_walk(&r);
	rig_expect(&r, A, back, sizeof(back)); /* 1 was learned */
	rig_expect_none(&r, B);
	agg_put(&r, A, 8, 8);
	rig_walk(&r);
	agg_take_of(&r, C, NULL, 8, 8);
	rig_expect_none(&r, B);
	rig_stop(&r);
}

/* Restored messages, too, and at the port that they are known at. */
static void restored_over_a_bridge(void **state)
{
	struct agg_seen s;
	uint8_t back[64];
	struct rig r;

	rig_start(&r, SWITCH MAKE TAKE("10.0.0.0/24"), false, false);
	agg_put(&r, A, 0, 8);
	rig_walk(&r);
	agg_take_of(&r, C, &s, 0, 8);
	agg_take_of(&r, B, NULL, 0, 8);
	frame_make(back, sizeof(back), 2, 7, 0x88b5);
	rig_put(&r, C, back, sizeof(back)); /* 2 is at c */
	rig_walk(&r);
	rig_expect(&r, A, back, sizeof(back));
	rig_expect(&r, B, back, sizeof(back));
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, C, 0, 8);
	rig_expect_none(&r, A);
	rig_stop(&r);
}

static void start_router(struct rig *r, const char *yaml)
{
	char err[256];

	rig_start(r, yaml, false, false);
	assert_int_equal(
		bp_fib_static_apply(r->writer, r->config, false, NULL, err, sizeof(err)), 0);
	rig_walk(r);
}

/* Forwarded as any packet: TTL, and the next hop's address. */
static void aggregates_are_routed(void **state)
{
	struct udp u;
	struct agg_seen s;
	struct rig r;

	start_router(&r, AGG_ROUTER MAKE);
	for (unsigned i = 0; i < 8; i++) {
		u = agg_message(i);
		u.dst_mac = 0x0a;
		agg_put_udp(&r, A, &u);
	}
	rig_walk(&r);
	agg_take_of(&r, B, &s, 0, 8);
	assert_memory_equal(s.frame, "\x02\0\0\0\0\x99\x02\0\0\0\0\x0b", 12);
	assert_int_equal(s.hops, 63);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 1);
	/* for another station on the link: none of ours, whatever it carries */
	u.dst_mac = 0x0c;
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DST_MAC_MISMATCH), 1);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 8);
	rig_stop(&r);
}

/* A port that is down sends nothing, not even broadcast frames. */
static void link_down_sends_no_frame(void **state)
{
	struct udp u = agg_message(0);
	uint8_t f[UDP_FRAME_MAX];
	uint32_t len;
	struct rig r;

	rig_start(&r, AGG_ROUTER MAKE, false, false);
	u.dst_mac = 0x0a;
	len = agg_frame(&u, f);
	rig_put(&r, A, f, len);
	memset(f, 0xff, 6);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_IF_DOWN), 2);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 0);
	rig_stop(&r);
}

/* Out by routing, back through the other port's entry, in the other family. */
static void routed_ip6_and_restored(void **state)
{
	static const char entries[] =
		"aggregation:\n  encapsulate:\n"
		"  - {port: a, to: {address: \"fd01::/64\", udp_port: 5000-5999}, max_messages: "
		"3}\n"
		"  decapsulate:\n"
		"  - {port: b, to: {address: \"fd01::/64\", udp_port: 5000-5999}, "
		"allowed_senders: [\"fd00::/64\"]}\n";
	struct udp u = {.src = "fd00::17",
		.dst = "fd01::5",
		.payload = "temp 21.5 C",
		.len = 11,
		.sport = 1234,
		.dport = 5001,
		.src_mac = 1,
		.dst_mac = 0x0a,
		.tos = 0xb8,
		.hops = 9};
	char yaml[2048];
	struct agg_seen s;
	struct rig r;

	snprintf(yaml, sizeof(yaml), "%s%s", AGG_ROUTER, entries);
	start_router(&r, yaml);
	for (unsigned i = 0; i < 3; i++)
		agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_take(&r, B, &s);
	assert_int_equal(s.family, 6);
	assert_int_equal(s.head.count, 3);
	assert_int_equal(s.tos, 0xb8);
	assert_int_equal(s.hops, 63);
	memcpy(s.frame, "\x02\0\0\0\0\x0b", 6); /* as if it had come to b */
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	u.hops--;
	u.src_mac = 0x0b;
	u.dst_mac = 0x99;
	for (unsigned i = 0; i < 3; i++)
		agg_expect_udp(&r, B, &u);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP6), 4);
	rig_stop(&r);
}

/* Inspection receives the frames that are not aggregated, and no others. */
static void aggregated_messages_bypass_inspection(void **state)
{
	static const uint8_t tcp[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0,
		0, 0x28, 0, 1, 0, 0, 0x40, 0x06, 0x66, 0xcd, 0x0a, 0, 0, 1, 0x0a, 0, 0, 2, 0x9c,
		0x40, 0x07, 0x5b, 0, 0, 0, 0x64, 0, 0, 0, 0, 0x50, 0x02, 0x20, 0, 0xd7, 0xe0, 0, 0};
	struct agg_seen s;
	struct rig r;

	rig_start(&r, WIRE MAKE TAKE("10.0.0.0/24") MQTT, false, false);
	assert_int_equal(r.worker->enter[A], BP_EDGE_AGGREGATE);
	assert_int_equal(r.worker->enter[B], BP_EDGE_DISAGGREGATE);
	agg_put(&r, A, 0, 8);
	rig_put(&r, A, tcp, sizeof(tcp));
	rig_put(&r, B, tcp, sizeof(tcp));
	rig_walk(&r);
	agg_take_of(&r, B, &s, 0, 8);
	rig_expect(&r, B, tcp, sizeof(tcp));
	rig_expect(&r, A, tcp, sizeof(tcp));
	assert_int_equal(rig_counter(&r, BP_C_SEG_INSPECTED), 2);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 8);
	rig_stop(&r);
}

/* A message that goes alone is overtaken by none of its sender's that go together, whatever else
 * reads the port's frames; neither here nor at the far end. */
static void order_is_kept(void **state)
{
	static const char *const others[] = {"", MQTT,
		"  decapsulate:\n  - {port: a, to: {address: 10.1.0.10, udp_port: 5555}, "
		"allowed_senders: 10.0.0.0/24}\n",
		TAKE("10.0.0.0/24") MQTT, MAKE_BACK TAKE("10.0.0.0/24")};
	static const uint8_t payload[1100] = "longer than max_message";
	struct udp alone = agg_message(0);
	struct agg_seen first, second;
	uint8_t f[UDP_FRAME_MAX];
	char yaml[1024];
	uint32_t len;
	struct rig r;

	alone.payload = payload;
	alone.len = sizeof(payload);
	len = agg_frame(&alone, f);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(yaml, sizeof(yaml), i < 4 ? WIRE MAKE "%s" : WIRE "%s", others[i]);
		rig_start(&r, yaml, false, false);
		agg_put(&r, A, 0, 8);
		rig_put(&r, A, f, len);
		agg_put(&r, A, 8, 8);
		rig_walk(&r);
		agg_take_of(&r, B, &first, 0, 8);
		rig_expect(&r, B, f, len);
		agg_take_of(&r, B, &second, 8, 8);
		if (i >= 3) {
			rig_put(&r, B, first.frame, first.len);
			rig_put(&r, B, f, len);
			rig_put(&r, B, second.frame, second.len);
			rig_walk(&r);
			agg_expect(&r, A, 0, 8);
			rig_expect(&r, A, f, len);
			agg_expect(&r, A, 8, 8);
		}
		rig_stop(&r);
	}
}

/* A local sender's checksums are completed before they are evaluated. */
static void partial_checksums(void **state)
{
	struct udp u;
	uint8_t f[UDP_FRAME_MAX];
	struct rig r;

	rig_start(&r, WIRE MAKE, true, false);
	for (unsigned i = 0; i < 8; i++) {
		uint32_t len, sum = 0;

		u = agg_message(i);
		len = agg_frame(&u, f);
		for (unsigned k = 26; k < 34; k += 2)
			sum += (uint32_t)f[k] << 8 | f[k + 1];
		sum += 17 + 8 + u.len;
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		f[40] = (uint8_t)(sum >> 8);
		f[41] = (uint8_t)sum;
		rig_put_flags(&r, A, f, len, RTE_MBUF_F_RX_L4_CKSUM_NONE);
		rig_walk(&r);
	}
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 8);
	agg_take_of(&r, B, NULL, 0, 8);
	rig_stop(&r);
}

/* Random messages of both families, tagged and not, of any length: all that went in at one port
 * comes out of it again, each stream in its order, byte for byte. */
#define ROUNDS 400u

struct sent {
	uint8_t frame[UDP_FRAME_MAX];
	uint32_t len;
	bool seen;
};

static struct udp random_message(unsigned i, uint8_t *payload, char src[32])
{
	const unsigned k = (unsigned)rand();
	const bool six = k % 3 == 0;
	struct udp u = {.src = src,
		.dst = six ? "fd01::9" : "10.1.0.9",
		.payload = payload,
		.src_mac = 1,
		.dst_mac = 2,
		.sport = (uint16_t)(1 + (unsigned)rand() % 65535),
		.dport = (uint16_t)(5555 + (unsigned)rand() % 2),
		.hops = (uint8_t)(1 + (unsigned)rand() % 255),
		.tos = (uint8_t)((unsigned)rand() % 2 << 2),
		.df = true};

	u.len = (unsigned)rand() % 4 ? 2 + (unsigned)rand() % 60 : 2 + (unsigned)rand() % 1200;
	for (unsigned b = 0; b < u.len; b++)
		payload[b] = (uint8_t)rand();
	payload[0] =
		(uint8_t)(i >> 8); /* encodes its position, and does not begin as an aggregate */
	payload[1] = (uint8_t)i;
	if (k % 5 == 0)
		u.vlan[0] = 7;
	if (k % 10 == 0)
		u.vlan[1] = 9;
	snprintf(src, 32, six ? "fd00::%x" : "10.0.0.%u", 1 + (unsigned)rand() % 250);
	return u;
}

/* Of the same stream: destination, TOS byte, tags. */
static bool same_stream(const struct sent *a, const struct sent *b)
{
	const unsigned at = 12;
	unsigned l3 = 14;

	while (a->frame[l3 - 2] == 0x81 || a->frame[l3 - 2] == 0x88)
		l3 += 4;
	if (memcmp(a->frame + at, b->frame + at, l3 - at) != 0 ||
		memcmp(a->frame + l3, b->frame + l3, 2) != 0)
		return false;
	return a->frame[l3] >> 4 == 4 ? a->frame[l3 + 23] == b->frame[l3 + 23]
				      : a->frame[l3 + 43] == b->frame[l3 + 43];
}

static void take_back(struct rig *r, struct sent *sent, unsigned n)
{
	struct rte_mbuf *m;

	while ((m = bp_ring_ports_take(&r->ports, B)) != NULL) {
		assert_true(bp_ring_ports_put(
			&r->ports, B, r->pool, rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len));
		rte_pktmbuf_free(m);
		rig_walk(r);
		while ((m = bp_ring_ports_take(&r->ports, A)) != NULL) {
			const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);
			unsigned i = 0;

			while (i < n && (sent[i].seen || sent[i].len != m->pkt_len ||
						memcmp(sent[i].frame, f, m->pkt_len) != 0))
				i++;
			assert_true(i < n);
			sent[i].seen = true;
			for (unsigned k = 0; k < i; k++)
				assert_true(sent[k].seen || !same_stream(&sent[k], &sent[i]));
			rte_pktmbuf_free(m);
		}
	}
}

static void there_and_back(void **state)
{
	static const char yaml[] = WIRE
		"aggregation:\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555-5556}, max_messages: 7}\n"
		"  - {port: a, to: {address: \"fd01::9\", udp_port: 5555-5556}, max_messages: 5}\n"
		"  decapsulate:\n"
		"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555-5556}, "
		"allowed_senders: [10.0.0.0/24]}\n"
		"  - {port: b, to: {address: \"fd01::9\", udp_port: 5555-5556}, "
		"allowed_senders: [\"fd00::/64\"]}\n";
	struct sent *sent = calloc(ROUNDS, sizeof(*sent));
	struct rig r;

	assert_non_null(sent);
	srand(5);
	rig_start(&r, yaml, false, false);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t payload[1300];
		char src[32];
		struct udp u = random_message(i, payload, src);

		sent[i].len = agg_frame(&u, sent[i].frame);
		rig_put(&r, A, sent[i].frame, sent[i].len);
		if ((unsigned)rand() % 8 == 0) {
			agg_pass(&r, (unsigned)rand() % 900000);
			rig_walk(&r);
			take_back(&r, sent, i + 1);
		}
	}
	rig_walk(&r);
	take_back(&r, sent, ROUNDS);
	agg_pass(&r, 2000000);
	rig_walk(&r);
	take_back(&r, sent, ROUNDS);
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_true(sent[i].seen);
	assert_true(rig_counter(&r, BP_C_ENCAP_MESSAGE) > ROUNDS / 2);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), rig_counter(&r, BP_C_DECAP_MESSAGE));
	rig_stop(&r);
	free(sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_senders_are_learned),
		cmocka_unit_test(a_sender_that_moves),
		cmocka_unit_test(over_a_bridge),
		cmocka_unit_test(restored_over_a_bridge),
		cmocka_unit_test(aggregates_are_routed),
		cmocka_unit_test(link_down_sends_no_frame),
		cmocka_unit_test(routed_ip6_and_restored),
		cmocka_unit_test(aggregated_messages_bypass_inspection),
		cmocka_unit_test(order_is_kept),
		cmocka_unit_test(partial_checksums),
		cmocka_unit_test(there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
