/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing of packets: nodes ip4, ip6, forward, exception, answer and kernel_rx. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

static void packets_are_forwarded(void **state)
{
	struct rig r;

	start(&r);
	goes(&r, ip4("10.2.0.2", 64, 46), B, host_b); /* a neighbor */
	goes(&r, ip4("10.9.1.1", 64, 46), B, host_b); /* through a gateway */
	goes(&r, ip4("10.9.7.1", 2, 500), C, host_c); /* the longer prefix; the last hop but one */
	goes(&r, ip4("10.9.1.1", 255, 1500), B, host_b); /* just fits */
	goes(&r, ip4("10.1.0.2", 9, 46), A, host_a);     /* back where it came from */
	goes(&r, ip6("fd02::2", 64, 8), B, host_b);
	goes(&r, ip6("fd09::1", 2, 1460), B, host_b);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 5);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP6), 2);
	rig_stop(&r);
}

/* Many at once, of all sorts, in the order in which they came. */
static void a_burst_keeps_its_order(void **state)
{
	struct packet p[30], want;
	struct rig r;

	start(&r);
	for (unsigned i = 0; i < 30; i++) {
		switch (i % 5) {
		case 0:
			p[i] = ip4("10.9.7.1", (uint8_t)(30 + i), 100);
			break;
		case 1:
			p[i] = ip6("fd09::5", (uint8_t)(30 + i), 60);
			break;
		case 2:
			p[i] = ip4("10.66.0.1", 64, 46);
			break;
		case 3:
			p[i] = ip4("10.1.0.1", 64, 46);
			break;
		default:
			p[i] = ip4("10.9.1.1", (uint8_t)(30 + i), 90);
		}
		rig_put(&r, A, p[i].bytes, p[i].len);
	}
	rig_walk(&r);
	for (unsigned i = 0; i < 30; i += 5) {
		want = forwarded(p[i], C, host_c);
		rig_expect(&r, C, want.bytes, want.len);
		rig_expect_kernel(&r, BP_EX_LOCAL, A, p[i + 3].bytes, p[i + 3].len);
	}
	for (unsigned i = 4; i < 30; i += 5) {
		want = forwarded(p[i], B, host_b);
		rig_expect(&r, B, want.bytes, want.len);
	}
	for (unsigned i = 1; i < 30; i += 5) {
		want = forwarded(p[i], B, host_b);
		rig_expect(&r, B, want.bytes, want.len);
	}
	assert_int_equal(rig_counter(&r, BP_C_DROP_BLACKHOLE), 6);
	rig_stop(&r);
}

/* The padding of a short frame is kept; bytes after a longer packet are removed. */
static void bytes_after_the_packet(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 28), want;
	struct rig r;

	start(&r);
	p.len = 60;
	goes(&r, p, B, host_b);
	p = ip4("10.9.1.1", 64, 100);
	p.len += 30;
	want = forwarded(p, B, host_b);
	put(&r, A, &p);
	rig_expect(&r, B, want.bytes, 114);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 2);
	p = ip6("fd09::1", 64, 50);
	p.len += 3;
	want = forwarded(p, B, host_b);
	put(&r, A, &p);
	rig_expect(&r, B, want.bytes, 104);
	rig_stop(&r);
}

static void packets_for_the_kernel_are_punted(void **state)
{
	struct packet p;
	struct rig r;

	start(&r);
	is_punted(&r, ip4("10.9.1.1", 1, 46), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	is_punted(&r, ip4("10.9.1.1", 0, 46), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	is_punted(&r, ip6("fd09::1", 1, 8), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	is_punted(&r, ip4("10.9.7.1", 64, MTU_C + 1), BP_C_PUNT_MTU_EXCEEDED, BP_EX_OTHER);
	is_punted(&r, ip4("10.8.1.1", 64, 46), BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	is_punted(&r, ip4("10.2.0.9", 64, 46), BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	is_punted(&r, ip6("fd0a::1", 64, 8), BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	is_punted(&r, ip4("192.0.2.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip6("2001:db8::1", 64, 8), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip4("10.67.0.1", 64, 46), BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	is_punted(&r, ip4("10.68.0.1", 64, 46), BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	is_punted(&r, ip4("10.69.0.1", 64, 46), BP_C_PUNT_FOREIGN_INTERFACE, BP_EX_OTHER);
	p = ip4("10.9.1.1", 64, 64); /* a source route */
	p.bytes[14] = 0x46;
	memcpy(p.bytes + 34, "\x83\x03\x04\x00", 4);
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_IP_OPTIONS, BP_EX_OTHER);
	p = ip6("fd09::1", 64, 16);
	p.bytes[14 + 6] = 0;
	is_punted(&r, p, BP_C_PUNT_IP_OPTIONS, BP_EX_OTHER);
	rig_stop(&r);
}

static void local_packets(void **state)
{
	struct packet p;
	struct rig r;

	start(&r);
	is_punted(&r, ip4("10.1.0.1", 64, 46), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip4("10.2.0.1", 1, 46), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip6("fd01::1", 1, 8), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip6("fe80::1", 64, 8), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip4("10.1.0.255", 64, 46), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	p = ip4("10.1.0.1", 64, 60); /* with an option */
	p.bytes[14] = 0x46;
	memset(p.bytes + 34, 1, 4);
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	p = ip4("10.1.0.1", 64, 60); /* BGP */
	p.bytes[14 + 9] = 6;
	bp_put_be16(p.bytes + 36, 179);
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_ROUTING);
	p = ip4("10.1.0.1", 64, 60); /* signalling of health devices */
	bp_put_be16(p.bytes + 36, 6024);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_PHD);
	p = ip4("224.0.0.5", 1, 60); /* OSPF to all routers */
	memcpy(p.bytes, "\x01\x00\x5e\x00\x00\x05", 6);
	p.bytes[14 + 9] = 89;
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_MULTICAST, BP_EX_ROUTING);
	p = ip4("255.255.255.255", 64, 300); /* asks for an address */
	memset(p.bytes, 0xff, 6);
	memset(p.bytes + 26, 0, 4);
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_MULTICAST, BP_EX_LOCAL);
	p = ip4("10.1.0.255", 64, 46); /* subnet broadcast */
	memset(p.bytes, 0xff, 6);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	p = ip6("ff02::1:ff00:1", 255, 32); /* solicits a neighbor */
	memcpy(p.bytes, "\x33\x33\xff\x00\x00\x01", 6);
	p.bytes[14 + 6] = 58;
	p.bytes[54] = 135;
	is_punted(&r, p, BP_C_PUNT_ND, BP_EX_ROUTING);
	p = (struct packet){.len = 60};
	ethernet(&p, (const uint8_t *)"\xff\xff\xff\xff\xff\xff", host_a, 0x0806);
	is_punted(&r, p, BP_C_PUNT_ARP, BP_EX_ROUTING);
	ethernet(&p, mac_of[A], host_a, 0x88cc);
	is_punted(&r, p, BP_C_PUNT_ETHERTYPE, BP_EX_OTHER);
	ethernet(&p, mac_of[A], host_a, 0x8100);
	is_punted(&r, p, BP_C_PUNT_VLAN, BP_EX_OTHER);
	rig_stop(&r);
}

static void packets_that_are_not_forwarded(void **state)
{
	static const char *const sources[] = {
		"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "0.1.2.3"};
	static const char *const targets[] = {"0.0.0.0", "127.0.0.1", "240.0.0.1"};
	struct packet p;
	struct rig r;

	start(&r);
	for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		p = ip4("10.9.1.1", 64, 46);
		memcpy(p.bytes + 26, address(sources[i]).bytes, 4);
		checksum4(p.bytes + 14);
		is_dropped(&r, p, BP_C_DROP_MARTIAN);
	}
	for (unsigned i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		is_dropped(&r, ip4(targets[i], 64, 46), BP_C_DROP_MARTIAN);
	p = ip6("fd09::1", 64, 8);
	memcpy(p.bytes + 22, address("ff02::1").bytes, 16);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	memcpy(p.bytes + 22, address("::1").bytes, 16);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	memcpy(p.bytes + 22, address("fe80::2").bytes, 16); /* of its link only */
	is_punted(&r, p, BP_C_PUNT_SCOPE, BP_EX_OTHER);
	is_dropped(&r, ip6("::1", 64, 8), BP_C_DROP_MARTIAN);
	is_dropped(&r, ip6("::ffff:10.9.1.1", 64, 8), BP_C_DROP_MARTIAN);
	p = ip4("10.9.1.1", 64, 46); /* unicast IP address, but broadcast MAC address */
	memset(p.bytes, 0xff, 6);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	p = ip6("fd09::1", 64, 8);
	memcpy(p.bytes, "\x33\x33\x00\x00\x00\x01", 6);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	p = ip4("10.9.1.1", 64, 46); /* for another station */
	p.bytes[5] ^= 1;
	is_dropped(&r, p, BP_C_DROP_DST_MAC_MISMATCH);
	is_dropped(&r, ip4("10.66.3.4", 64, 46), BP_C_DROP_BLACKHOLE);
	rig_stop(&r);
}

static void inconsistent_headers_are_rejected(void **state)
{
	struct packet good = ip4("10.9.1.1", 64, 46), p;
	struct rig r;

	start(&r);
	for (uint32_t len = 1; len < 14; len++) {
		p = good;
		p.len = len;
		is_dropped(&r, p, BP_C_DROP_RUNT);
	}
	for (uint32_t len = 14; len < 60; len++) {
		p = good;
		p.len = len;
		is_dropped(&r, p, BP_C_DROP_IP_HEADER);
		p = ip6("fd09::1", 64, 6);
		p.len = len;
		is_dropped(&r, p, BP_C_DROP_IP_HEADER);
	}
	for (unsigned first = 0; first < 256; first++) {
		p = good;
		p.bytes[14] = (uint8_t)first;
		if (first >> 4 == 4 && (first & 0xf) >= 5)
			continue;
		checksum4(p.bytes + 14);
		is_dropped(&r, p, BP_C_DROP_IP_HEADER);
	}
	p = good; /* a header longer than the packet */
	p.bytes[14] = 0x4f;
	checksum4(p.bytes + 14);
	is_dropped(&r, p, BP_C_DROP_IP_HEADER);
	p = good;
	bp_put_be16(p.bytes + 16, 19);
	checksum4(p.bytes + 14);
	is_dropped(&r, p, BP_C_DROP_IP_HEADER);
	for (unsigned bit = 0; bit < 160; bit++) { /* of a valid header: except the version */
		if (bit / 8 == 0 || bit / 8 == 2 || bit / 8 == 3)
			continue;
		p = good;
		p.bytes[14 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		is_dropped(&r, p, BP_C_DROP_IP_CHECKSUM);
	}
	rig_stop(&r);
}

/* ---- with and without the kernel ---- */

static void an_interface_without_kernel_answers(void **state)
{
	struct packet p;
	uint8_t other[42];
	struct rig r;

	start(&r);
	rig_put(&r, C, arp_request, 42);
	rig_walk(&r);
	rig_expect(&r, C, arp_reply, 42);
	assert_int_equal(rig_counter(&r, BP_C_ARP_REPLIES), 1);
	memcpy(other, arp_request, 42);
	other[41] = 9; /* another host's address */
	rig_put(&r, C, other, 42);
	p = ip4("10.3.0.1", 64, 46);
	memcpy(p.bytes, mac_of[C], 6);
	rig_put(&r, C, p.bytes, p.len);
	rig_walk(&r);
	rig_expect_none(&r, C);
	assert_int_equal(rig_counter(&r, BP_C_DROP_NO_HOST_INTERFACE), 2);
	rig_stop(&r);
}

static void a_full_queue_is_counted(void **state)
{
	struct packet p = ip4("10.1.0.1", 64, 46);
	unsigned room, n = 0;
	void *m;
	struct rig r;

	start(&r);
	room = rte_ring_get_capacity(r.exception->to_kernel[BP_EX_LOCAL][A]);
	assert_true(room < 900); /* of RIG_MBUFS */
	for (unsigned i = 0; i < room + 5; i++)
		put(&r, A, &p);
	assert_int_equal(rig_counter(&r, BP_C_DROP_PUNT_QUEUE_LOCAL), 5);
	assert_int_equal(rig_counter(&r, BP_C_PUNT_LOCAL), room + 5);
	while (rte_ring_dequeue(r.exception->to_kernel[BP_EX_LOCAL][A], &m) == 0) {
		rte_pktmbuf_free(m);
		n++;
	}
	r.to_kernel += n;
	assert_int_equal(n, room);
	/* the other classes have room of their own */
	is_punted(&r, ip4("10.9.1.1", 1, 46), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	rig_stop(&r);
}

static void originated_packets_are_sent_unchanged(void **state)
{
	struct packet p = ip4("10.2.0.2", 1, 46);
	struct rte_mbuf *m;
	struct rig r;

	start(&r);
	m = rte_pktmbuf_alloc(r.pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)p.len), p.bytes, p.len);
	bp_exception_interface_set(m, B);
	assert_int_equal(rte_ring_enqueue(r.exception->from_kernel[0], m), 0);
	rig_walk(&r);
	rig_expect(&r, B, p.bytes, p.len);
	assert_int_equal(rig_counter(&r, BP_C_FROM_KERNEL), 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_forwarded),
		cmocka_unit_test(a_burst_keeps_its_order),
		cmocka_unit_test(bytes_after_the_packet),
		cmocka_unit_test(packets_for_the_kernel_are_punted),
		cmocka_unit_test(local_packets),
		cmocka_unit_test(packets_that_are_not_forwarded),
		cmocka_unit_test(inconsistent_headers_are_rejected),
		cmocka_unit_test(an_interface_without_kernel_answers),
		cmocka_unit_test(a_full_queue_is_counted),
		cmocka_unit_test(originated_packets_are_sent_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
