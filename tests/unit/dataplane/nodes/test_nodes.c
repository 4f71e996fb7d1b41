/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of the graph between in-memory ports: input, output and counters. */
#include "config/config.h"
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/ports/link.h"

#define PORTS3(role_of_c_)                                                                         \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2" role_of_c_ "}\n"
#define WIRE PORTS3(", routed: {}") "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define SWITCH PORTS3("") "bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define MQTT_SWITCH                                                                                \
	SWITCH "mqtt:\n"                                                                           \
	       "  publisher: {broker: \"mqtt://127.0.0.1\"}\n"

static void wire_carries_exact_bytes(void **state)
{
	static const uint32_t lengths[] = {14, 15, 59, 60, 64, 79, 1514, 1518};
	uint8_t f[1518];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		frame_make(f, lengths[i], 1, 2, 0x88b5);
		rig_put(&r, 0, f, lengths[i]);
		rig_walk(&r);
		rig_expect(&r, 1, f, lengths[i]);
		rig_put(&r, 1, f, lengths[i]);
		rig_walk(&r);
		rig_expect(&r, 0, f, lengths[i]);
	}
	rig_expect_none(&r, 0);
	rig_expect_none(&r, 1);
	rig_expect_none(&r, 2);
	rig_stop(&r);
}

/* A two-port bridge does not validate frames, not even their Ethernet header. */
static void wire_carries_runts_and_jumbos(void **state)
{
	uint8_t *f = malloc(20000);
	struct rig r;

	assert_non_null(f);
	frame_make(f, 20000, 1, 2, 0x0800);
	rig_start(&r, WIRE, false, false);
	rig_put(&r, 0, f, 1);
	rig_put(&r, 0, f, 20000);
	rig_walk(&r);
	rig_expect(&r, 1, f, 1);
	rig_expect(&r, 1, f, 20000);
	rig_stop(&r);
	free(f);
}

static void tags_are_untouched(void **state)
{
	static const uint8_t stacks[][8] = {
		{0x81, 0x00, 0x60, 0x07, 0x08, 0x00, 0x45, 0x00}, /* 802.1Q */
		{0x88, 0xa8, 0x00, 0x05, 0x81, 0x00, 0x00, 0x06}, /* QinQ */
		{0x81, 0x00, 0x00, 0x05, 0x81, 0x00, 0x00, 0x06}, /* the older way of it */
		{0x88, 0xa8, 0x00, 0x05, 0x08, 0x00, 0x45, 0x00}, /* a service tag alone */
		{0x88, 0xcc, 0x02, 0x07, 0x04, 0x01, 0x02, 0x03}, /* LLDP */
	};
	const char *const yaml[] = {WIRE, SWITCH, MQTT_SWITCH};
	uint8_t f[100];

	for (unsigned y = 0; y < 3; y++) {
		struct rig r;

		rig_start(&r, yaml[y], false, false);
		for (unsigned i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
			frame_make(f, sizeof(f), 1, 2, 0);
			memcpy(f + 12, stacks[i], 8);
			rig_put(&r, 0, f, sizeof(f));
			rig_walk(&r);
			rig_expect(&r, 1, f, sizeof(f));
			if (y > 0)
				rig_expect(&r, 2, f, sizeof(f));
		}
		rig_stop(&r);
	}
}

static void service_tag_is_restored(void **state)
{
	uint8_t f[100], want[100];
	struct rig r;

	frame_make(f, sizeof(f), 1, 2, 0x8100);
	memcpy(f + 16, "\x81\x00", 2);
	memcpy(want, f, sizeof(f));
	memcpy(want + 12, "\x88\xa8", 2);
	rig_start(&r, WIRE, false, true);
	/* the driver put a tag back: it was the outer one of two */
	rig_put_flags(&r, 0, f, sizeof(f), RTE_MBUF_F_RX_VLAN);
	rig_walk(&r);
	rig_expect(&r, 1, want, sizeof(want));
	/* it did not touch this one */
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 1, f, sizeof(f));
	/* one tag is just that */
	memcpy(f + 16, "\x08\x00", 2);
	rig_put_flags(&r, 0, f, sizeof(f), RTE_MBUF_F_RX_VLAN);
	rig_walk(&r);
	rig_expect(&r, 1, f, sizeof(f));
	/* and a frame that ends in its tag has no second */
	rig_put_flags(&r, 0, f, 17, RTE_MBUF_F_RX_VLAN);
	rig_walk(&r);
	rig_expect(&r, 1, f, 17);
	rig_stop(&r);
}

static void switch_learns(void **state)
{
	uint8_t f[64], back[64];
	struct rig r;

	rig_start(&r, SWITCH, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	frame_make(back, sizeof(back), 2, 1, 0x0800);
	rig_put(&r, 0, f, sizeof(f)); /* no one knows 2 */
	rig_walk(&r);
	rig_expect_none(&r, 0);
	rig_expect(&r, 1, f, sizeof(f));
	rig_expect(&r, 2, f, sizeof(f));
	assert_int_equal(rig_counter(&r, BP_C_FLOODED), 1);
	assert_int_equal(rig_counter(&r, BP_C_FLOOD_COPY), 1);
	rig_put(&r, 2, back, sizeof(back)); /* 1 is known, and 2 is learned */
	rig_walk(&r);
	rig_expect(&r, 0, back, sizeof(back));
	rig_expect_none(&r, 1);
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 2, f, sizeof(f));
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 2);
	rig_put(&r, 1, back, sizeof(back)); /* 2 has moved */
	rig_walk(&r);
	rig_expect(&r, 0, back, sizeof(back));
	assert_int_equal(rig_counter(&r, BP_C_MAC_MOVED), 1);
	rig_stop(&r);
}

static void switch_forgets(void **state)
{
	uint8_t f[64], back[64];
	struct rig r;

	rig_start(&r, SWITCH, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	frame_make(back, sizeof(back), 2, 1, 0x0800);
	rig_put(&r, 2, back, sizeof(back));
	rig_walk(&r);
	r.worker->mono_ns += r.config->bridge[0].fdb_aging_time_ns * 2;
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 0, back, sizeof(back));
	rig_expect(&r, 1, back, sizeof(back));
	rig_expect(&r, 1, f, sizeof(f));
	rig_expect(&r, 2, f, sizeof(f));
	rig_stop(&r);
}

static void groups_are_flooded_and_never_learned(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, SWITCH, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	memset(f, 0xff, 6);
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 0, f, sizeof(f));
	rig_expect(&r, 2, f, sizeof(f));
	f[6] = 0x03; /* a group address as source: no station */
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 0, f, sizeof(f));
	rig_expect(&r, 2, f, sizeof(f));
	assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 1);
	rig_stop(&r);
}

static void switch_drops_for_a_reason(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, SWITCH, false, false);
	frame_make(f, sizeof(f), 1, 1, 0x0800); /* to where it came from */
	rig_put(&r, 0, f, sizeof(f));
	rig_put(&r, 0, f, 13);
	rig_put(&r, 0, f, 0);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_HAIRPIN), 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_RUNT), 2);
	assert_int_equal(bp_shm_port_drops(&r.shm, 0, BP_C_DROP_RUNT), 2);
	assert_int_equal(bp_shm_port_drops(&r.shm, 0, BP_C_DROP_HAIRPIN), 1);
	for (unsigned p = 0; p < 3; p++)
		rig_expect_none(&r, p);
	rig_stop(&r);
}

/* It routes; until the control plane has said that it is up, it takes nothing. */
static void port_without_bridge(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_put(&r, 2, f, sizeof(f));
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_IF_DOWN), 1);
	rig_stop(&r);
}

static void two_bridges_are_separate(void **state)
{
	static const char yaml[] =
		"ports:\n"
		"  - {name: a, device: net_null0}\n"
		"  - {name: b, device: net_null1}\n"
		"  - {name: c, device: net_null2}\n"
		"  - {name: d, device: net_null3}\n"
		"  - {name: e, device: net_null4}\n"
		"  - {name: f, device: net_null5}\n"
		"bridges: [{name: bridge0, ports: [a, b, c]}, {name: bridge1, ports: [d, e, f]}]\n";
	uint8_t f[64];
	struct rig r;

	rig_start(&r, yaml, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_put(&r, 0, f, sizeof(f));
	rig_put(&r, 4, f, sizeof(f));
	rig_walk(&r);
	rig_expect_none(&r, 0);
	rig_expect_none(&r, 4);
	for (unsigned p = 1; p < 6; p++) {
		if (p != 4)
			rig_expect(&r, p, f, sizeof(f));
		rig_expect_none(&r, p);
	}
	assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 2);
	assert_int_equal(rig_counter(&r, BP_C_MAC_MOVED), 0);
	rig_stop(&r);
}

static void full_output_is_counted(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < RIG_DEPTH + 36; i++) {
		rig_put(&r, 0, f, sizeof(f));
		if (i % 10 == 0)
			rig_walk(&r);
	}
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_FULL), 37);
	assert_int_equal(bp_shm_port_drops(&r.shm, 1, BP_C_DROP_TX_FULL), 37);
	assert_int_equal(bp_shm_port_drops(&r.shm, 0, BP_C_DROP_TX_FULL), 0);
	assert_int_equal(r.shm.port_stats[1].tx_packets, RIG_DEPTH - 1);
	assert_int_equal(r.shm.port_stats[1].tx_bytes, (RIG_DEPTH - 1) * sizeof(f));
	assert_int_equal(r.shm.port_stats[1].tx_dropped, 37);
	assert_int_equal(r.shm.port_stats[0].rx_packets, RIG_DEPTH + 36);
	assert_int_equal(r.shm.port_stats[0].rx_bytes, (RIG_DEPTH + 36) * sizeof(f));
	rig_stop(&r);
}

static void link_down_is_counted(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	assert_true(bp_link_poll(1, true));
	atomic_store(&bp_link[1], BP_LINK_DOWN);
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect_none(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_DOWN), 1);
	assert_true(bp_link_poll(1, true)); /* the driver says it is up */
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 1, f, sizeof(f));
	rig_stop(&r);
}

/* A driver whose word is not taken is offered the frames all the same. */
static void uncertain_link_is_tried(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	atomic_store(&bp_link[1], BP_LINK_UNCERTAIN);
	for (unsigned i = 0; i < RIG_DEPTH + 1; i++) {
		rig_put(&r, 0, f, sizeof(f));
		if (i % 10 == 0)
			rig_walk(&r);
	}
	rig_walk(&r);
	assert_int_equal(r.shm.port_stats[1].tx_packets, RIG_DEPTH - 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_DOWN), 2);
	assert_int_equal(rig_counter(&r, BP_C_DROP_TX_FULL), 0);
	rig_stop(&r);
}

/* Up as long as its driver was never seen to report a link; then as it says. */
static void link_follows_the_driver(void **state)
{
	struct rig r;

	rig_start(&r, WIRE, false, false);
	assert_int_equal(rte_eth_dev_set_link_down(0), 0);
	assert_false(bp_link_poll(0, true));
	assert_int_equal(bp_link_get(0), BP_LINK_UP);
	assert_int_equal(rte_eth_dev_set_link_up(0), 0);
	assert_true(bp_link_poll(0, true));
	assert_int_equal(rte_eth_dev_set_link_down(0), 0);
	assert_false(bp_link_poll(0, true));
	assert_int_equal(bp_link_get(0), BP_LINK_DOWN);
	assert_false(bp_link_poll(0, false));
	assert_int_equal(bp_link_get(0), BP_LINK_UNCERTAIN);
	rig_stop(&r);
}

/* Copies that cannot be made without buffers: the original continues. */
static void flood_without_buffers(void **state)
{
	struct rte_mbuf *held[RIG_MBUFS];
	uint8_t f[64];
	struct rig r;
	unsigned n = 0;

	rig_start(&r, SWITCH, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	rig_put(&r, 0, f, sizeof(f));
	while (n < RIG_MBUFS && (held[n] = rte_pktmbuf_alloc(r.pool)) != NULL)
		n++;
	rig_walk(&r);
	rte_pktmbuf_free_bulk(held, n);
	assert_int_equal(rig_counter(&r, BP_C_FLOOD_NO_MBUF), 1);
	assert_int_equal(rig_counter(&r, BP_C_FLOOD_COPY), 0);
	rig_expect(&r, 1, f, sizeof(f));
	rig_expect_none(&r, 2);
	rig_stop(&r);
}

static void jumbo_is_flooded_whole(void **state)
{
	uint8_t *f = malloc(9000);
	struct rig r;

	assert_non_null(f);
	frame_make(f, 9000, 1, 2, 0x0800);
	rig_start(&r, SWITCH, false, false);
	rig_put(&r, 1, f, 9000);
	rig_walk(&r);
	rig_expect(&r, 0, f, 9000);
	rig_expect(&r, 2, f, 9000);
	rig_stop(&r);
	free(f);
}

/* TCP over IPv4 with the sum of its pseudo-header where its checksum belongs, and with the right
 * one (computed by another implementation). */
static const uint8_t partial_frame[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45,
	0x00, 0x00, 0x2c, 0x00, 0x01, 0x00, 0x00, 0x40, 0x06, 0x66, 0xc9, 0x0a, 0x00, 0x00, 0x01,
	0x0a, 0x00, 0x00, 0x02, 0x9c, 0x40, 0x07, 0x5b, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00,
	0x00, 0x50, 0x18, 0x20, 0x00, 0x14, 0x21, 0x00, 0x00, 0xc0, 0x00, 0xd0, 0x00};

static uint16_t tcp_sum(const uint8_t *f, uint32_t pseudo)
{
	uint32_t sum = pseudo;

	for (unsigned i = 34; i < sizeof(partial_frame); i += 2)
		if (i != 50)
			sum += (uint32_t)f[i] << 8 | f[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void partial_checksum_is_completed(void **state)
{
	uint8_t want[sizeof(partial_frame)];
	uint16_t sum = tcp_sum(partial_frame, 0x1421);
	struct rig r;

	memcpy(want, partial_frame, sizeof(want));
	want[50] = (uint8_t)(sum >> 8);
	want[51] = (uint8_t)sum;
	rig_start(&r, WIRE, true, false);
	rig_put_flags(&r, 0, partial_frame, sizeof(partial_frame), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	rig_expect(&r, 1, want, sizeof(want));
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	/* without the driver's word, what looks partial is just wrong, and stays so */
	rig_put(&r, 0, partial_frame, sizeof(partial_frame));
	rig_walk(&r);
	rig_expect(&r, 1, partial_frame, sizeof(partial_frame));
	/* with it, what is wrong in another way stays wrong */
	want[50] ^= 0x55;
	rig_put_flags(&r, 0, want, sizeof(want), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	rig_expect(&r, 1, want, sizeof(want));
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	rig_stop(&r);
}

/* A partial checksum before inspection: completed first, then read. */
static void partial_checksum_is_inspected(void **state)
{
	struct rig r;

	rig_start(&r, MQTT_SWITCH, true, false);
	rig_put_flags(&r, 0, partial_frame, sizeof(partial_frame), RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_CHECKSUM_COMPLETED), 1);
	assert_int_equal(rig_counter(&r, BP_C_SEG_INSPECTED), 1);
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), 0);
	rig_stop(&r);
}

/* A graph of another shape in the same process. */
static void bursts_keep_their_order(void **state)
{
	const char *const yaml[] = {WIRE, MQTT_SWITCH};
	uint8_t f[64];

	for (unsigned y = 0; y < 2; y++) {
		struct rig r;

		rig_start(&r, yaml[y], false, false);
		frame_make(f, sizeof(f), 2, 1, 0x0800);
		rig_put(&r, 1, f, sizeof(f));
		rig_walk(&r);
		rig_expect(&r, 0, f, sizeof(f));
		frame_make(f, sizeof(f), 1, 2, 0x88b5);
		for (unsigned i = 0; i < RIG_DEPTH - 1; i++) {
			f[20] = (uint8_t)i;
			rig_put(&r, 0, f, sizeof(f));
		}
		rig_walk(&r);
		for (unsigned i = 0; i < RIG_DEPTH - 1; i++) {
			f[20] = (uint8_t)i;
			rig_expect(&r, 1, f, sizeof(f));
		}
		rig_stop(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_carries_exact_bytes),
		cmocka_unit_test(wire_carries_runts_and_jumbos),
		cmocka_unit_test(tags_are_untouched),
		cmocka_unit_test(service_tag_is_restored),
		cmocka_unit_test(switch_learns),
		cmocka_unit_test(switch_forgets),
		cmocka_unit_test(groups_are_flooded_and_never_learned),
		cmocka_unit_test(switch_drops_for_a_reason),
		cmocka_unit_test(port_without_bridge),
		cmocka_unit_test(two_bridges_are_separate),
		cmocka_unit_test(full_output_is_counted),
		cmocka_unit_test(link_down_is_counted),
		cmocka_unit_test(uncertain_link_is_tried),
		cmocka_unit_test(link_follows_the_driver),
		cmocka_unit_test(flood_without_buffers),
		cmocka_unit_test(jumbo_is_flooded_whole),
		cmocka_unit_test(partial_checksum_is_completed),
		cmocka_unit_test(partial_checksum_is_inspected),
		cmocka_unit_test(bursts_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
