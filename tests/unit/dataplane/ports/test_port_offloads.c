/* SPDX-License-Identifier: BSD-3-Clause */
/* Software replacements of offloads that devices lack or that are disabled, between in-memory
 * ports. */
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <string.h>

#include <rte_ethdev.h>

#include "dataplane/nodes/nodes.h"

#define PORTS3(role_of_c_)                                                                         \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2" role_of_c_ "}\n"
#define WIRE PORTS3(", routed: {}") "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define SWITCH PORTS3("") "bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define MQTT_WIRE                                                                                  \
	WIRE "mqtt:\n"                                                                             \
	     "  publisher: {broker: \"mqtt://127.0.0.1\"}\n"
#define ROOM (RIG_ROOM - RTE_PKTMBUF_HEADROOM)
#define EMPTY_HEAD 1500u /* bytes before the first piece of a frame that cannot grow there */

/* A frame in pieces of these lengths; the first begins `skip` bytes later in its buffer. */
static struct rte_mbuf *pieces(
	struct rig *r, const uint8_t *f, const uint16_t *len, unsigned n, uint16_t skip)
{
	struct rte_mbuf *first = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

		assert_non_null(m);
		if (i == 0)
			m->data_off = (uint16_t)(m->data_off + skip);
		memcpy(rte_pktmbuf_append(m, len[i]), f, len[i]);
		f += len[i];
		if (i == 0)
			first = m;
		else
			assert_int_equal(rte_pktmbuf_chain(first, m), 0);
	}
	return first;
}

static void put(struct rig *r, unsigned port, struct rte_mbuf *m)
{
	assert_int_equal(rte_ring_enqueue(r->ports.in[port], m), 0);
}

/* Sets the next frame of a port, in the given number of segments. */
static void expect(
	struct rig *r, unsigned port, const uint8_t *data, uint32_t len, uint16_t segments)
{
	struct rte_mbuf *m = bp_ring_ports_take(&r->ports, port);
	uint8_t copy[4096];

	assert_non_null(m);
	rte_mbuf_sanity_check(m, 1);
	assert_int_equal(m->nb_segs, segments);
	assert_int_equal(m->pkt_len, len);
	assert_memory_equal(rte_pktmbuf_read(m, 0, len, copy), data, len);
	rte_pktmbuf_free(m);
}

static void pieces_are_put_together(void **state)
{
	static const uint16_t small[] = {100, 200, 300}, late[] = {200, 700};
	uint8_t f[900];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	/* a port that sends pieces */
	put(&r, 0, pieces(&r, f, small, 3, 0));
	rig_walk(&r);
	expect(&r, 1, f, 600, 3);
	/* not any more: behind the first piece, and by a copy */
	bp_worker_offloads(r.worker, 1, false, false, 1);
	put(&r, 0, pieces(&r, f, small, 3, 0));
	put(&r, 0, pieces(&r, f, late, 2, EMPTY_HEAD));
	rig_put(&r, 0, f, 64);
	rig_walk(&r);
	expect(&r, 1, f, 600, 1);
	expect(&r, 1, f, 900, 1);
	expect(&r, 1, f, 64, 1);
	assert_int_equal(rig_counter(&r, BP_C_TX_LINEARIZED), 2);
	/* the other port is as it was */
	put(&r, 1, pieces(&r, f, small, 3, 0));
	rig_walk(&r);
	expect(&r, 0, f, 600, 3);
	rig_stop(&r);
}

/* A device with a limit: frames within it are unchanged. */
static void pieces_up_to_a_limit(void **state)
{
	static const uint16_t len[] = {100, 100, 100};
	uint8_t f[300];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	bp_worker_offloads(r.worker, 1, false, false, 2);
	put(&r, 0, pieces(&r, f, len, 2, 0));
	put(&r, 0, pieces(&r, f, len, 3, 0));
	rig_walk(&r);
	expect(&r, 1, f, 200, 2);
	expect(&r, 1, f, 300, 1);
	rig_stop(&r);
}

/* Longer than a buffer, or no buffer left: dropped for a reason, and those next to it leave. */
static void pieces_that_do_not_fit(void **state)
{
	static const uint16_t most[] = {1000, ROOM - 1000}, more[] = {1000, ROOM - 999},
			      late[] = {200, 700};
	struct rte_mbuf *taken[RIG_MBUFS];
	unsigned n = 0;
	uint8_t f[ROOM + 1];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	bp_worker_offloads(r.worker, 1, false, false, 1);
	put(&r, 0, pieces(&r, f, more, 2, 0));
	put(&r, 0, pieces(&r, f, most, 2, 0));
	put(&r, 0, pieces(&r, f, more, 2, 0));
	rig_walk(&r);
	expect(&r, 1, f, ROOM, 1);
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_TOO_MANY_SEGMENTS), 2);
	assert_int_equal(atomic_load(&r.worker->port_stats[1].tx_dropped), 2);
	assert_int_equal(atomic_load(&r.worker->port_stats[1].tx_bytes), ROOM);

	put(&r, 0, pieces(&r, f, late, 2, EMPTY_HEAD));
	while ((taken[n] = rte_pktmbuf_alloc(r.pool)) != NULL)
		n++;
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_TOO_MANY_SEGMENTS), 3);
	rte_pktmbuf_free_bulk(taken, n);
	rig_stop(&r);
}

/* The copies of a flooded frame share its buffers: none is written to. */
static void flooded_pieces(void **state)
{
	static const uint16_t len[] = {100, 200, 300};
	uint8_t f[600];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, SWITCH, false, false);
	bp_worker_offloads(r.worker, 1, false, false, 1);
	put(&r, 0, pieces(&r, f, len, 3, 0));
	rig_walk(&r);
	expect(&r, 1, f, 600, 1);
	rig_expect(&r, 2, f, 600);
	rig_stop(&r);
}

static void put_tagged(
	struct rig *r, const uint8_t *f, uint32_t len, uint64_t flags, uint16_t tci, uint16_t outer)
{
	struct rte_mbuf *m = pieces(r, f, &(uint16_t){(uint16_t)len}, 1, 0);

	m->ol_flags |= flags;
	m->vlan_tci = tci;
	m->vlan_tci_outer = outer;
	put(r, 0, m);
}

#define ONE_TAG (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)
#define TWO_TAGS (ONE_TAG | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED)

static uint32_t tagged(uint8_t *out, const uint8_t *f, uint32_t len, const char *tags, uint32_t n)
{
	memcpy(out, f, 12);
	memcpy(out + 12, tags, n);
	memcpy(out + 12 + n, f + 12, len - 12);
	return len + n;
}

static void stripped_tags_are_put_back(void **state)
{
	uint8_t f[64], inner[68], want[72];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_TAGS);
	put_tagged(&r, f, 64, ONE_TAG, 0x6005, 0);
	put_tagged(&r, f, 64, TWO_TAGS, 0x6005, 0x0007);
	/* the outer one of two, of a device that knows one */
	tagged(inner, f, 64, "\x81\x00\x60\x05", 4);
	put_tagged(&r, inner, 68, ONE_TAG, 0x0007, 0);
	/* no tag was removed */
	put_tagged(&r, f, 64, RTE_MBUF_F_RX_VLAN, 0x6005, 0);
	rig_put(&r, 0, f, 64);
	rig_walk(&r);
	rig_expect(&r, 1, inner, 68);
	tagged(want, f, 64, "\x88\xa8\x00\x07\x81\x00\x60\x05", 8);
	rig_expect(&r, 1, want, 72);
	rig_expect(&r, 1, want, 72);
	rig_expect(&r, 1, f, 64);
	rig_expect(&r, 1, f, 64);
	assert_int_equal(rig_counter(&r, BP_C_VLAN_RESTORED), 3);
	/* as they were on the wire */
	assert_int_equal(atomic_load(&r.worker->port_stats[0].rx_bytes), 68 + 72 + 72 + 64 + 64);
	rig_stop(&r);
}

/* Without headroom it is not possible; the other frames are unchanged. */
static void tag_without_headroom(void **state)
{
	static const uint16_t len[] = {64};
	struct rte_mbuf *m;
	uint8_t f[64];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_TAGS);
	for (unsigned i = 0; i < 2; i++) {
		m = pieces(&r, f, len, 1, 0);
		memmove(m->buf_addr, f, sizeof(f));
		m->data_off = 0;
		m->ol_flags |= ONE_TAG;
		put(&r, 0, m);
		if (i == 0)
			rig_put(&r, 0, f, 64);
		rig_walk(&r);
	}
	rig_expect(&r, 1, f, 64);
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_VLAN_NO_HEADROOM), 2);
	assert_int_equal(rig_counter(&r, BP_C_VLAN_RESTORED), 0);
	rig_stop(&r);
}

/* TCP to port 1883 with payload and the sum of its pseudo-header where the checksum belongs; and
 * with the right one. */
static const uint8_t partial_frame[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45,
	0x00, 0x00, 0x2c, 0x00, 0x01, 0x00, 0x00, 0x40, 0x06, 0x66, 0xc9, 0x0a, 0x00, 0x00, 0x01,
	0x0a, 0x00, 0x00, 0x02, 0x9c, 0x40, 0x07, 0x5b, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00,
	0x00, 0x50, 0x18, 0x20, 0x00, 0x14, 0x21, 0x00, 0x00, 0xc0, 0x00, 0xd0, 0x00};

static void right_frame(uint8_t f[sizeof(partial_frame)])
{
	uint32_t sum = 0x1421;

	memcpy(f, partial_frame, sizeof(partial_frame));
	for (unsigned i = 34; i < sizeof(partial_frame); i += 2)
		if (i != 50)
			sum += (uint32_t)f[i] << 8 | f[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	f[50] = (uint8_t)(~sum >> 8);
	f[51] = (uint8_t)~sum;
}

/* The device's word counts, unless it is not to. */
static void state_word_of_a_device(void **state)
{
	const uint64_t good = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	static const struct {
		bool right; /* the checksum of TCP */
		uint64_t flags;
		bool distrust, read;
	} rows[] = {
		{true, 0, false, true},
		{false, 0, false, false},
		{true, RTE_MBUF_F_RX_L4_CKSUM_BAD, false, false},
		{true, RTE_MBUF_F_RX_IP_CKSUM_BAD, false, false},
		{false, RTE_MBUF_F_RX_L4_CKSUM_NONE, false, true},
		{false, RTE_MBUF_F_RX_L4_CKSUM_GOOD, false, true}, /* the header's is right */
		{false, RTE_MBUF_F_RX_IP_CKSUM_GOOD, false, false},
		{true, RTE_MBUF_F_RX_L4_CKSUM_BAD, true, true},
		{true, RTE_MBUF_F_RX_IP_CKSUM_BAD, true, true},
		{false, RTE_MBUF_F_RX_L4_CKSUM_NONE, true, false},
		{true, 0, true, true},
		{false, 0, true, false},
	};
	uint8_t f[sizeof(partial_frame)];
	struct rig r;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_start(&r, MQTT_WIRE, false, false);
		if (rows[i].distrust)
			rig_rx_flags(&r, BP_RX_F_DISTRUST);
		right_frame(f);
		f[50] ^= rows[i].right ? 0 : 0x11;
		rig_put_flags(&r, 0, f, sizeof(f), rows[i].flags);
		rig_walk(&r);
		rig_expect(&r, 1, f, sizeof(f)); /* as it came, in any case */
		assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), !rows[i].read);
		rig_stop(&r);
	}
	/* a device without IPv4 header checksums, and a wrong checksum */
	rig_start(&r, MQTT_WIRE, false, false);
	right_frame(f);
	f[24] ^= 1;
	rig_put_flags(&r, 0, f, sizeof(f), RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), 1);
	rig_stop(&r);
	/* a card that calls a wrong one right: believed, or not */
	for (unsigned distrust = 0; distrust < 2; distrust++) {
		rig_start(&r, MQTT_WIRE, false, false);
		if (distrust)
			rig_rx_flags(&r, BP_RX_F_DISTRUST);
		right_frame(f);
		f[50] ^= 0x11;
		rig_put_flags(&r, 0, f, sizeof(f), good);
		rig_walk(&r);
		rig_expect(&r, 1, f, sizeof(f));
		assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), distrust);
		rig_stop(&r);
	}
}

/* That a checksum is partial is not the device's opinion of it. */
static void distrusted_partial_is_completed(void **state)
{
	uint8_t want[sizeof(partial_frame)];
	struct rig r;

	right_frame(want);
	rig_start(&r, MQTT_WIRE, true, false);
	rig_rx_flags(&r, BP_RX_F_DISTRUST);
	rig_put_flags(&r, 0, partial_frame, sizeof(partial_frame), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	rig_expect(&r, 1, want, sizeof(want));
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	rig_stop(&r);
}

/* Left to the device of port b: the frame is as it came, is read all the same, and says what to
 * do. */
static void partial_checksum_is_left_to_the_device(void **state)
{
	uint8_t right[sizeof(partial_frame)];
	struct rte_mbuf *m;
	struct rig r;

	right_frame(right);
	rig_start(&r, MQTT_WIRE, true, false);
	bp_worker_offloads(r.worker, 0, true, false, 0);
	bp_worker_offloads(r.worker, 1, false, true, 0);
	rig_put_flags(&r, 0, partial_frame, sizeof(partial_frame), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	m = bp_ring_ports_take(&r.ports, 1);
	assert_non_null(m);
	assert_int_equal(m->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IPV4 |
					       RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM),
		RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV4);
	assert_int_equal(m->l2_len, 14);
	assert_int_equal(m->l3_len, 20);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), partial_frame, sizeof(partial_frame));
	rte_pktmbuf_free(m);
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_OFFLOADED), 1);
	assert_int_equal(rig_counter(&r, BP_C_SEG_INSPECTED), 1);
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), 0);
	/* in the other direction it is completed */
	rig_put_flags(&r, 1, partial_frame, sizeof(partial_frame), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	rig_expect(&r, 0, right, sizeof(right));
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	rig_stop(&r);
}

/* A driver that refuses frames whose first byte is odd. */
static uint16_t refuse_odd(void *queue, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		if (*rte_pktmbuf_mtod(m[i], const uint8_t *) & 1)
			return i;
	return n;
}

static void driver_refuses(void **state)
{
	eth_tx_prep_t before;
	uint8_t f[60], odd[60];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	frame_make(odd, sizeof(odd), 1, 2, 0x88b5);
	odd[0] = 3;
	rig_start(&r, WIRE, false, false);
	bp_worker_offloads(r.worker, 1, false, true, 0);
	before = rte_eth_fp_ops[1].tx_pkt_prepare;
	rte_eth_fp_ops[1].tx_pkt_prepare = refuse_odd;
	for (unsigned i = 0; i < 32; i++) { /* two in a row, the first, the last */
		f[20] = (uint8_t)i;
		rig_put(&r, 0, i == 0 || i == 7 || i == 8 || i == 31 ? odd : f, 60);
	}
	rig_walk(&r);
	for (unsigned i = 0; i < 32; i++) {
		f[20] = (uint8_t)i;
		if (!(i == 0 || i == 7 || i == 8 || i == 31))
			rig_expect(&r, 1, f, 60);
	}
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_CHECKSUM_UNSUPPORTED), 4);
	assert_int_equal(atomic_load(&r.worker->port_stats[1].tx_bytes), 28 * 60);
	rte_eth_fp_ops[1].tx_pkt_prepare = before;
	rig_stop(&r);
}

/* A segment is inspected wherever the driver splits it; and it leaves unchanged. */
static void split_segments_are_inspected(void **state)
{
	uint8_t f[sizeof(partial_frame)];
	struct rig r;

	rig_start(&r, MQTT_WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	right_frame(f);
	for (r.more_bytes = 1; r.more_bytes <= sizeof(f); r.more_bytes += sizeof(f) - 1) {
		for (r.first_bytes = 0; r.first_bytes < sizeof(f); r.first_bytes++) {
			rig_put(&r, 0, f, sizeof(f));
			rig_walk(&r);
			expect(&r, 1, f, sizeof(f), 1);
		}
	}
	assert_int_equal(rig_counter(&r, BP_C_SEG_INSPECTED), 2 * sizeof(f));
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_HEADER), 0);
	assert_int_equal(rig_counter(&r, BP_C_RX_LINEARIZED), 2 * sizeof(f));
	rig_stop(&r);
}

/* Longer than a buffer: left alone if the first buffer has the headers and there are few. */
static void split_jumbo_frames(void **state)
{
	static const struct {
		uint32_t first, more;
		uint16_t segments;
		bool copied;
	} rows[] = {
		{ROOM, ROOM, 2, false},
		{256, ROOM, 2, false},
		{255, ROOM, 2, true},
		{0, ROOM, 2, true},
		{256, 400, 6, false},
		{256, 254, 8, false},
		{256, 200, 2, true},
		{1000, 50, 2, true},
	};
	uint8_t f[ROOM + 100];
	uint64_t copied = 0;
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, MQTT_WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		r.first_bytes = rows[i].first;
		r.more_bytes = rows[i].more;
		rig_put(&r, 0, f, sizeof(f));
		rig_walk(&r);
		expect(&r, 1, f, sizeof(f), rows[i].segments);
		copied += rows[i].copied;
		assert_int_equal(rig_counter(&r, BP_C_RX_LINEARIZED), copied);
	}
	rig_stop(&r);
}

/* Without an mbuf for the copy: dropped for a reason, and those next to it leave. */
static void no_mbuf_for_a_split_frame(void **state)
{
	struct rte_mbuf *taken[RIG_MBUFS];
	unsigned n = 0;
	uint8_t f[100];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, MQTT_WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	rig_put(&r, 0, f, sizeof(f));
	r.first_bytes = r.more_bytes = 50;
	rig_put(&r, 0, f, sizeof(f));
	r.more_bytes = 0;
	rig_put(&r, 0, f, sizeof(f));
	while ((taken[n] = rte_pktmbuf_alloc(r.pool)) != NULL)
		n++;
	rig_walk(&r);
	expect(&r, 1, f, sizeof(f), 1);
	expect(&r, 1, f, sizeof(f), 1);
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_RX_NO_MBUF), 1);
	assert_int_equal(atomic_load(&r.worker->port_stats[0].rx_packets), 3);
	assert_int_equal(atomic_load(&r.worker->port_stats[0].rx_bytes), 3 * sizeof(f));
	rte_pktmbuf_free_bulk(taken, n);
	rig_stop(&r);
}

/* Nothing reads headers in a bridge of two ports: frames leave as they arrived. */
static void split_frames_of_a_wire(void **state)
{
	uint8_t f[100];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	r.first_bytes = 5;
	r.more_bytes = 20;
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	expect(&r, 1, f, sizeof(f), 6);
	assert_int_equal(rig_counter(&r, BP_C_RX_LINEARIZED), 0);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_put_together),
		cmocka_unit_test(pieces_up_to_a_limit),
		cmocka_unit_test(pieces_that_do_not_fit),
		cmocka_unit_test(flooded_pieces),
		cmocka_unit_test(stripped_tags_are_put_back),
		cmocka_unit_test(tag_without_headroom),
		cmocka_unit_test(state_word_of_a_device),
		cmocka_unit_test(distrusted_partial_is_completed),
		cmocka_unit_test(partial_checksum_is_left_to_the_device),
		cmocka_unit_test(driver_refuses),
		cmocka_unit_test(split_segments_are_inspected),
		cmocka_unit_test(split_jumbo_frames),
		cmocka_unit_test(no_mbuf_for_a_split_frame),
		cmocka_unit_test(split_frames_of_a_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
