/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subinterfaces that appear, change and disappear, and frames with tags that are none of theirs;
 * test_routing_random.c has the others.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

#define UP (BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL)
#define SUB BP_MAX_INTERFACES
#define ID 100

static const uint8_t host_v[6] = {0x02, 0, 0, 0, 0, 0xd2};

/* Subinterface a.100, with a network behind it. */
static void start_vlan(struct rig *r)
{
	start(r);
	set_sub(r, SUB, A, ID, UP);
	set_neighbor(r, SUB, "10.4.0.2", host_v);
	set_route(r, "10.4.0.0", 24, BP_ROUTE_UNICAST, SUB, NULL);
}

/* A frame with `tag` arrives on port a and is forwarded by b, without it. */
static void arrives(struct rig *r, uint16_t tag)
{
	const struct packet p = ip4("10.9.1.1", 64, 46), want = forwarded(p, B, host_b),
			    in = tagged(p, tag);

	put(r, A, &in);
	rig_expect(r, B, want.bytes, want.len);
}

static void does_not_arrive(struct rig *r, uint16_t tag)
{
	is_punted(r, tagged(ip4("10.9.1.1", 64, 46), tag), BP_C_PUNT_VLAN, BP_EX_OTHER);
}

static void a_tag_is_removed_and_added(void **state)
{
	struct packet in = ip4("10.4.0.2", 64, 1500), out;
	struct rig r;

	start_vlan(&r);
	arrives(&r, ID);
	arrives(&r, 0xe000 | ID); /* any priority */
	arrives(&r, 0x6000);      /* a priority tag: the frame belongs to the port */
	out = tagged(forwarded(in, A, host_v), ID);
	memcpy(in.bytes, mac_of[B], 6);
	put(&r, B, &in);
	rig_expect(&r, A, out.bytes, out.len);
	is_punted(&r, tagged(ip4("10.4.0.1", 64, 46), ID), BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	rig_stop(&r);
}

/* All frames of a burst are routed together, with or without a tag. */
static void a_mixed_burst(void **state)
{
	const struct packet plain = ip4("10.9.1.1", 64, 46), in = tagged(plain, ID),
			    back = ip4("10.4.0.2", 64, 46), want = forwarded(plain, B, host_b),
			    want_back = tagged(forwarded(back, A, host_v), ID);
	struct rig r;

	start_vlan(&r);
	for (unsigned i = 0; i < 20; i++)
		rig_put(&r, A, i % 3 == 0 ? in.bytes : plain.bytes,
			i % 3 == 0 ? in.len : plain.len);
	for (unsigned i = 0; i < 20; i++)
		rig_put(&r, A, back.bytes, back.len);
	rig_walk(&r);
	for (unsigned i = 0; i < 20; i++) {
		rig_expect(&r, B, want.bytes, want.len);
		rig_expect(&r, A, want_back.bytes, want_back.len);
	}
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 40);
	rig_stop(&r);
}

/* The kernel gets them with their tag, in the class of the packet. */
static void packets_for_the_kernel(void **state)
{
	struct packet p = {.len = 60};
	struct rig r;

	start_vlan(&r);
	is_punted(&r, tagged(ip4("10.1.0.1", 64, 46), ID), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, tagged(ip4("10.9.1.1", 1, 46), ID), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	is_punted(&r, tagged(ip6("fd01::1", 64, 8), ID), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	ethernet(&p, (const uint8_t *)"\xff\xff\xff\xff\xff\xff", host_a, 0x0806);
	is_punted(&r, tagged(p, ID), BP_C_PUNT_ARP, BP_EX_ROUTING);
	ethernet(&p, mac_of[A], host_a, 0x88cc);
	is_punted(&r, tagged(p, ID), BP_C_PUNT_ETHERTYPE, BP_EX_OTHER);
	rig_stop(&r);
}

static void tags_of_no_subinterface(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct rig r;

	start_vlan(&r);
	does_not_arrive(&r, ID + 1);
	does_not_arrive(&r, 4095);
	does_not_arrive(&r, 1);
	/* two tags: that of the subinterface is not a reason to look for another one */
	is_punted(&r, tagged(tagged(p, ID), ID), BP_C_PUNT_VLAN, BP_EX_OTHER);
	is_punted(&r, tagged(tagged(p, 0), ID), BP_C_PUNT_VLAN, BP_EX_OTHER);
	p = tagged(p, ID);
	bp_put_be16(p.bytes + 12, 0x88a8);
	is_punted(&r, p, BP_C_PUNT_VLAN, BP_EX_OTHER);
	p = tagged(ip4("10.9.1.1", 64, 46), ID); /* truncated in the tag, and behind it */
	for (p.len = 14; p.len < 18; p.len++)
		is_punted(&r, p, BP_C_PUNT_VLAN, BP_EX_OTHER);
	is_dropped(&r, p, BP_C_DROP_IP_HEADER);
	p = tagged(ip4("10.9.1.1", 64, 46), ID);
	p.bytes[5] ^= 1;
	is_dropped(&r, p, BP_C_DROP_DST_MAC_MISMATCH);
	rig_stop(&r);
}

/* The same identifier on another port is another VLAN. */
static void a_vlan_belongs_to_its_port(void **state)
{
	struct packet p = tagged(ip4("10.9.1.1", 64, 46), ID);
	struct rig r;

	start_vlan(&r);
	memcpy(p.bytes, mac_of[B], 6);
	put(&r, B, &p);
	rig_expect_kernel(&r, BP_EX_OTHER, B, p.bytes, p.len);
	rig_stop(&r);
}

static void a_subinterface_changes(void **state)
{
	const struct bp_interface_info none = {0};
	struct packet in = tagged(ip4("10.9.1.1", 64, 46), ID);
	struct rig r;

	start_vlan(&r);
	arrives(&r, ID);
	set_sub(&r, SUB, A, ID, UP & ~BP_IF_UP);
	is_dropped(&r, in, BP_C_DROP_IF_DOWN);
	is_dropped(&r, ip4("10.4.0.2", 64, 46), BP_C_DROP_IF_DOWN);
	set_sub(&r, SUB, A, ID, UP);
	arrives(&r, ID);
	set_interface(&r, A, BP_IF_PRESENT | BP_IF_KERNEL, 1500); /* its port is down */
	is_dropped(&r, in, BP_C_DROP_IF_DOWN);
	set_interface(&r, A, UP, 1500);
	arrives(&r, ID);
	set_sub(&r, SUB, A, ID, UP | BP_IF_NO_FORWARD4);
	is_dropped(&r, in, BP_C_DROP_FORWARDING_OFF);
	assert_int_equal(bp_shm_port_drops(&r.shm, A, BP_C_DROP_FORWARDING_OFF), 1);

	set_sub(&r, SUB, A, ID + 1, UP); /* its number is of another VLAN, without neighbors */
	is_punted(&r, ip4("10.4.0.2", 64, 46), BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	does_not_arrive(&r, ID);
	arrives(&r, ID + 1);
	set_sub(&r, SUB, B, ID + 1, UP);
	does_not_arrive(&r, ID + 1);
	set_sub(&r, SUB, A, ID, UP);
	set_sub(&r, SUB + 1, A, ID + 1, UP); /* two of them */
	arrives(&r, ID);
	arrives(&r, ID + 1);
	set_neighbor(&r, SUB, "10.4.0.2", host_v);
	assert_int_equal(bp_fib_interface_set(r.writer, SUB, &none), BP_FIB_DONE);
	does_not_arrive(&r, ID);
	is_dropped(&r, ip4("10.4.0.2", 64, 46), BP_C_DROP_IF_DOWN); /* a route that is left */
	arrives(&r, ID + 1);
	rig_stop(&r);
}

/* The last number, and none beyond. */
static void as_many_as_there_may_be(void **state)
{
	struct bp_interface_info info = {.flags = UP, .mtu = 1500, .vlan_id = 7};
	struct rig r;

	start_vlan(&r);
	for (unsigned i = 0; i < BP_MAX_SUBINTERFACES; i++)
		set_sub(&r, SUB + i, A, (uint16_t)(4094 - i), UP);
	for (unsigned i = 0; i < BP_MAX_SUBINTERFACES; i++)
		arrives(&r, (uint16_t)(4094 - i));
	does_not_arrive(&r, 4094 - BP_MAX_SUBINTERFACES);
	assert_int_equal(bp_fib_interface_set(r.writer, BP_ALL_INTERFACES, &info), BP_FIB_INVALID);
	info.vlan_id = BP_VLAN_ID_MAX + 1;
	assert_int_equal(bp_fib_interface_set(r.writer, SUB, &info), BP_FIB_INVALID);
	info.vlan_id = 7;
	assert_int_equal(bp_fib_interface_set(r.writer, A, &info), BP_FIB_INVALID);
	info.parent = BP_MAX_PORTS;
	assert_int_equal(bp_fib_interface_set(r.writer, SUB, &info), BP_FIB_INVALID);
	rig_stop(&r);
}

/* What the segment says of ports and identifiers is checked. */
static void a_damaged_table(void **state)
{
	static const uint32_t damaged[] = {0, ID, BP_MAX_PORTS << 16 | ID, 0xffff0000 | ID, A << 16,
		A << 16 | 4095, A << 16 | 0xffff, UINT32_MAX};
	struct rig r;

	start_vlan(&r);
	arrives(&r, ID);
	for (unsigned i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		r.shm.fib.interfaces[SUB].vlan = damaged[i];
		if (damaged[i] != (A << 16 | ID))
			does_not_arrive(&r, ID);
		else
			arrives(&r, ID);
	}
	r.shm.fib.interfaces[SUB].vlan = A << 16 | ID;
	r.shm.fib.control->subinterfaces = UINT32_MAX;
	arrives(&r, ID);
	r.shm.fib.control->subinterfaces = 0; /* as in a part that was created again */
	arrives(&r, ID);
	rig_stop(&r);
}

/* A driver that leaves no space before a frame. */
static void no_headroom_for_a_tag(void **state)
{
	const struct packet p = ip4("10.4.0.2", 64, 46);
	struct rte_mbuf *m;
	struct rig r;

	start_vlan(&r);
	m = rte_pktmbuf_alloc(r.pool);
	assert_non_null(m);
	m->data_off = 3;
	memcpy(rte_pktmbuf_append(m, (uint16_t)p.len), p.bytes, p.len);
	assert_int_equal(rte_ring_enqueue(r.ports.in[A], m), 0);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_VLAN_NO_HEADROOM), 1);
	assert_int_equal(bp_shm_port_drops(&r.shm, A, BP_C_DROP_VLAN_NO_HEADROOM), 1);
	rig_expect_none(&r, A);
	rig_stop(&r);
}

/* ---- inspection ---- */

#define INSPECTS                                                                                   \
	ROUTER "mqtt:\n"                                                                           \
	       "  publisher: {broker: \"mqtt://127.0.0.1\"}\n"
#define ACK 0x10

/* A segment of a client in VLAN `ID` of port a, or of the broker, which is behind port b. */
struct talk {
	struct rig *r;
	uint32_t sent[2]; /* bytes, by the client and by the broker */
};

static void say(struct talk *t, bool broker, uint8_t flags, const char *payload, uint8_t len)
{
	struct packet p = ip4(broker ? "10.4.0.2" : "10.9.1.1", 64, 40u + len), want;
	uint8_t *ip = p.bytes + 14, *tcp = ip + 20;

	memcpy(ip + 12, broker ? (uint8_t[]){10, 9, 1, 1} : (uint8_t[]){10, 4, 0, 2}, 4);
	ip[9] = 6;
	checksum4(ip);
	memset(tcp, 0, 20);
	bp_put_be16(tcp, broker ? 1883 : 40000);
	bp_put_be16(tcp + 2, broker ? 40000 : 1883);
	bp_put_be32(tcp + 4, t->sent[broker]);
	bp_put_be32(tcp + 8, flags & ACK ? t->sent[!broker] : 0);
	tcp[12] = 0x50;
	tcp[13] = flags;
	bp_put_be16(tcp + 14, 65535);
	memcpy(tcp + 20, payload, len);
	t->sent[broker] += len + (flags >> 1 & 1);
	if (broker) {
		memcpy(p.bytes, mac_of[B], 6);
		want = tagged(forwarded(p, A, host_v), ID);
	} else {
		want = forwarded(p, B, host_b);
		p = tagged(p, ID);
	}
	rig_put_flags(t->r, broker ? B : A, p.bytes, p.len,
		RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rig_walk(t->r);
	rig_expect(t->r, broker ? A : B, want.bytes, want.len);
}

/* The directions of a connection have different tags, and are one connection. */
static void a_connection_through_a_subinterface_is_inspected(void **state)
{
	struct rig r;
	struct talk t = {.r = &r, .sent = {1000, 9000}};

	start_with(&r, INSPECTS);
	set_sub(&r, SUB, A, ID, UP);
	set_neighbor(&r, SUB, "10.4.0.2", host_v);
	set_route(&r, "10.4.0.0", 24, BP_ROUTE_UNICAST, SUB, NULL);
	say(&t, false, 0x02, "", 0);
	say(&t, true, 0x02 | ACK, "", 0);
	say(&t, false, ACK, "", 0);
	say(&t, false, ACK, "\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01k", 15);
	say(&t, true, ACK, "\x20\x02\x00\x00", 4);
	say(&t, false, ACK, "\x30\x05\x00\x01t90", 7);
	say(&t, true, ACK, "", 0);
	assert_int_equal(rig_counter(&r, BP_C_CONN_OPENED), 1);
	assert_int_equal(rig_counter(&r, BP_C_MQTT_PUBLISH), 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_is_removed_and_added),
		cmocka_unit_test(a_mixed_burst),
		cmocka_unit_test(packets_for_the_kernel),
		cmocka_unit_test(tags_of_no_subinterface),
		cmocka_unit_test(a_vlan_belongs_to_its_port),
		cmocka_unit_test(a_subinterface_changes),
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test(a_damaged_table),
		cmocka_unit_test(no_headroom_for_a_tag),
		cmocka_unit_test(a_connection_through_a_subinterface_is_inspected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
