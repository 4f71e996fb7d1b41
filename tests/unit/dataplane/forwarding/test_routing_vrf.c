/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets are looked up in the VRF of the interface that received them, sources too. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

#define UP (BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL)
#define SUB BP_MAX_INTERFACES
#define ID 100
enum { BLUE = 1, RED = 3 };

static void set_vrf_of(struct rig *r, unsigned i, unsigned vrf, uint32_t more)
{
	struct bp_interface_info info = {.flags = UP | more, .mtu = 1500, .vrf = (uint8_t)vrf};

	info.name[0] = "abc"[i];
	memcpy(info.mac, mac_of[i], 6);
	assert_int_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_DONE);
}

static void route_in(struct rig *r, unsigned vrf, const char *prefix, unsigned length,
	enum bp_route_type type, unsigned interface, const char *gateway)
{
	struct bp_route route = {
		.prefix = bp_prefix_of(address(prefix), length), .type = (uint8_t)type};

	route.prefix.vrf = (uint8_t)vrf;
	if (type == BP_ROUTE_UNICAST) {
		route.n_hops = 1;
		route.hop[0].interface = (uint8_t)interface;
		route.hop[0].weight = 1;
		if (gateway != NULL)
			route.hop[0].gateway = address(gateway);
	}
	assert_int_equal(bp_fib_route_set(r->writer, &route), BP_FIB_DONE);
}

/*
 * Port a is in VRF blue, with the prefixes of the main VRF and other next hops: 10.9/16 by port c,
 * 10.2.0.0/24 is behind port a itself, whose address is 10.2.0.9.
 */
static void start_vrf(struct rig *r)
{
	const struct bp_vrf_info blue = {.table = 10, .name = "blue"},
				 red = {.table = 20, .name = "red"};

	start(r);
	assert_int_equal(bp_fib_vrf_set(r->writer, BLUE, &blue), BP_FIB_DONE);
	assert_int_equal(bp_fib_vrf_set(r->writer, RED, &red), BP_FIB_DONE);
	set_vrf_of(r, A, BLUE, 0);
	set_neighbor(r, A, "10.2.0.2", host_a);
	route_in(r, BLUE, "10.9.0.0", 16, BP_ROUTE_UNICAST, C, "10.3.0.2");
	route_in(r, BLUE, "10.9.7.0", 25, BP_ROUTE_UNICAST, B, "10.2.0.2");
	route_in(r, BLUE, "10.2.0.0", 24, BP_ROUTE_UNICAST, A, NULL);
	route_in(r, BLUE, "10.2.0.9", 32, BP_ROUTE_LOCAL, 0, NULL);
	route_in(r, BLUE, "10.67.0.0", 16, BP_ROUTE_UNREACHABLE, 0, NULL);
	route_in(r, BLUE, "fd09::", 32, BP_ROUTE_UNICAST, A, "fd01::2");
	route_in(r, BLUE, "fd01::9", 128, BP_ROUTE_LOCAL, 0, NULL);
	set_neighbor(r, A, "fd01::2", host_a);
	route_in(r, RED, "10.9.0.0", 16, BP_ROUTE_BLACKHOLE, 0, NULL);
}

static struct packet from(struct packet p, unsigned port, const char *source)
{
	memcpy(p.bytes, mac_of[port], 6);
	if (source != NULL && p.bytes[12] == 0x08) {
		memcpy(p.bytes + 14 + 12, address(source).bytes, 4);
		checksum4(p.bytes + 14);
	} else if (source != NULL) {
		memcpy(p.bytes + 14 + 8, address(source).bytes, 16);
	}
	return p;
}

static void goes_from(
	struct rig *r, struct packet p, unsigned in, unsigned out, const uint8_t to[6])
{
	const struct packet want = forwarded(p, out, to);

	put(r, in, &p);
	rig_expect(r, out, want.bytes, want.len);
}

static void the_vrf_of_the_input_interface_decides(void **state)
{
	struct rig r;

	start_vrf(&r);
	goes(&r, ip4("10.9.1.1", 64, 46), C, host_c);
	goes(&r, ip4("10.9.7.1", 64, 46), B, host_b);
	goes(&r, ip4("10.9.7.129", 64, 46), C, host_c);
	goes(&r, ip4("10.2.0.2", 64, 46), A, host_a); /* the same neighbor on two interfaces */
	goes(&r, ip6("fd09::1", 64, 8), A, host_a);
	goes_from(&r, from(ip4("10.9.1.1", 64, 46), C, "10.3.0.2"), C, B, host_b);
	goes_from(&r, from(ip4("10.2.0.2", 64, 46), C, "10.3.0.2"), C, B, host_b);
	goes_from(&r, from(ip6("fd09::1", 64, 8), C, "fd03::7"), C, B, host_b);
	/* what the main VRF has, and blue has not */
	is_punted(&r, ip4("10.8.0.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip4("10.66.0.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip6("fd02::2", 64, 8), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip4("10.67.0.1", 64, 46), BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	/* an expired TTL: the kernel answers in the VRF of the interface */
	is_punted(&r, ip4("10.9.1.1", 1, 46), BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	rig_stop(&r);
}

static void own_addresses_are_those_of_the_vrf(void **state)
{
	struct packet p;
	struct rig r;

	start_vrf(&r);
	is_punted(&r, ip4("10.2.0.9", 64, 46), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip6("fd01::9", 64, 8), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip6("fe80::1", 64, 8), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, ip4("10.3.0.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip6("fd01::1", 64, 8), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	/* a frame to all hosts */
	p = ip4("10.2.0.9", 64, 46);
	memset(p.bytes, 0xff, 6);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	p = ip4("10.3.0.1", 64, 46);
	memset(p.bytes, 0xff, 6);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	rig_stop(&r);
}

/* The addresses that are the gateway's own, and the reverse path, by VRF. */
static void sources_are_looked_up_in_the_vrf(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46), six = ip6("fd09::1", 64, 8);
	struct bp_interface_info info;
	struct rig r;

	start_vrf(&r);
	/* 10.2.0.9 is an address of blue, 10.2.0.1 one of the main VRF: of any interface */
	assert_true(bp_fib_interface(&r.shm.fib, B, &info));
	info.n_addresses = 3;
	info.address[0] = (struct bp_interface_address){address("10.2.0.1"), 32};
	info.address[1] = (struct bp_interface_address){address("10.2.0.9"), 32};
	info.address[2] = (struct bp_interface_address){address("fd01::9"), 128};
	assert_int_equal(bp_fib_interface_set(r.writer, B, &info), BP_FIB_DONE);
	is_dropped(&r, from(p, A, "10.2.0.9"), BP_C_DROP_SOURCE_LOCAL);
	is_dropped(&r, from(six, A, "fd01::9"), BP_C_DROP_SOURCE_LOCAL);
	goes(&r, from(p, A, "10.2.0.1"), C, host_c);
	goes_from(&r, from(p, C, "10.2.0.9"), C, B, host_b);

	set_vrf_of(&r, A, BLUE, BP_IF_RPF_STRICT);
	goes(&r, from(p, A, "10.2.0.7"), C, host_c);
	is_dropped(&r, from(p, A, "10.1.0.2"), BP_C_DROP_REVERSE_PATH);
	/* by another VRF; then by another interface of the same one */
	is_dropped(&r, from(p, A, "10.9.7.1"), BP_C_DROP_REVERSE_PATH);
	set_vrf_of(&r, B, BLUE, 0);
	goes(&r, from(p, A, "10.9.7.1"), C, host_c);
	set_vrf_of(&r, B, RED, 0);
	is_dropped(&r, from(p, A, "10.9.7.1"), BP_C_DROP_REVERSE_PATH);
	rig_stop(&r);
}

/* Packets of several VRFs in one burst. */
static void a_mixed_burst(void **state)
{
	const struct packet plain = ip4("10.9.1.1", 64, 46), red = tagged(plain, ID),
			    from_c = from(plain, C, "10.3.0.2"),
			    six = from(ip6("fd09::1", 64, 8), A, "fd01::7"),
			    six_c = from(ip6("fd09::1", 64, 8), C, "fd03::7"),
			    want = forwarded(plain, C, host_c),
			    want_c = forwarded(from_c, B, host_b),
			    want_six = forwarded(six, A, host_a),
			    want_six_c = forwarded(six_c, B, host_b);
	struct bp_interface_info sub = {
		.flags = UP, .mtu = 1500, .parent = A, .vlan_id = ID, .vrf = RED};
	struct rig r;

	start_vrf(&r);
	memcpy(sub.mac, mac_of[A], 6);
	assert_int_equal(bp_fib_interface_set(r.writer, SUB, &sub), BP_FIB_DONE);
	for (unsigned i = 0; i < 20; i++) {
		rig_put(&r, A, i % 4 == 0 ? red.bytes : plain.bytes,
			i % 4 == 0 ? red.len : plain.len);
		rig_put(&r, A, six.bytes, six.len);
		rig_put(&r, C, from_c.bytes, from_c.len);
		rig_put(&r, C, six_c.bytes, six_c.len);
	}
	rig_walk(&r);
	for (unsigned i = 0; i < 20; i++) {
		if (i % 4 != 0)
			rig_expect(&r, C, want.bytes, want.len);
		rig_expect(&r, A, want_six.bytes, want_six.len);
	}
	for (unsigned i = 0; i < 20; i++)
		rig_expect(&r, B, want_c.bytes, want_c.len);
	for (unsigned i = 0; i < 20; i++)
		rig_expect(&r, B, want_six_c.bytes, want_six_c.len);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 35);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP6), 40);
	assert_int_equal(rig_counter(&r, BP_C_DROP_BLACKHOLE), 5);
	rig_stop(&r);
}

static void an_interface_changes_its_vrf(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct rig r;

	start_vrf(&r);
	goes(&r, p, C, host_c);
	set_vrf_of(&r, A, BP_VRF_MAIN, 0);
	goes(&r, p, B, host_b);
	set_vrf_of(&r, A, RED, 0);
	is_dropped(&r, p, BP_C_DROP_BLACKHOLE);
	set_vrf_of(&r, A, 2, 0); /* has no routes */
	is_punted(&r, p, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	set_vrf_of(&r, A, BLUE, 0);
	goes(&r, p, C, host_c);
	rig_stop(&r);
}

/* ---- several next hops ---- */

enum { FLOWS = 600 };

/* 10.9/16 and fd09::/32 of blue: by ports b and c. */
static void two_hops(struct rig *r, bool six, unsigned n)
{
	const struct bp_hop b = {.interface = B,
				    .weight = 1,
				    .gateway = address(six ? "fd02::2" : "10.2.0.2")},
			    c = {.interface = C,
				    .weight = 1,
				    .gateway = address(six ? "fd03::2" : "10.3.0.2")};
	struct bp_route route = {
		.prefix = bp_prefix_of(address(six ? "fd09::" : "10.9.0.0"), six ? 32 : 16),
		.n_hops = (uint8_t)n,
		.hop = {n == 1 ? c : b, c}};

	route.prefix.vrf = BLUE;
	assert_int_equal(bp_fib_route_set(r->writer, &route), BP_FIB_DONE);
}

/* The output port of each flow, A where it has none. */
static void paths_of(struct rig *r, unsigned in, bool six, uint8_t path[FLOWS])
{
	for (unsigned flow = 0; flow < FLOWS; flow++) {
		struct packet p =
			six ? from(ip6("fd09::1", 64, 8), in, in == A ? "fd01::7" : "fd03::7")
			    : from(ip4("10.9.1.1", 64, 46), in, in == A ? NULL : "10.3.0.2");

		bp_put_be16(p.bytes + (six ? 54 : 34), (uint16_t)(1000 + flow));
		put(r, in, &p);
		path[flow] = A;
		for (unsigned out = B; out <= C; out++) {
			struct rte_mbuf *m = bp_ring_ports_take(&r->ports, out);

			if (m == NULL)
				continue;
			assert_int_equal(path[flow], A);
			path[flow] = (uint8_t)out;
			rte_pktmbuf_free(m);
		}
	}
}

static unsigned count(const uint8_t path[FLOWS], unsigned port)
{
	unsigned n = 0;

	for (unsigned flow = 0; flow < FLOWS; flow++)
		n += path[flow] == port;
	return n;
}

/* Both next hops of blue have flows, and one of them goes down and returns; the same prefix of the
 * main VRF keeps its next hop. */
static void next_hops_of_a_vrf(bool six)
{
	uint8_t before[FLOWS], path[FLOWS];
	struct rig r;

	start_vrf(&r);
	set_neighbor(&r, C, "fd03::2", host_c);
	two_hops(&r, six, 2);
	paths_of(&r, A, six, before);
	/* half of 600, and more than six standard deviations of 12 */
	assert_in_range(count(before, B), 220, 380);
	assert_int_equal(count(before, B) + count(before, C), FLOWS);
	paths_of(&r, A, six, path);
	assert_memory_equal(path, before, FLOWS);
	paths_of(&r, C, six, path);
	assert_int_equal(count(path, B), FLOWS);

	two_hops(&r, six, 1); /* as the control plane writes it when b is down */
	paths_of(&r, A, six, path);
	assert_int_equal(count(path, C), FLOWS);
	paths_of(&r, C, six, path);
	assert_int_equal(count(path, B), FLOWS);

	two_hops(&r, six, 2);
	paths_of(&r, A, six, path);
	assert_memory_equal(path, before, FLOWS);
	rig_stop(&r);
}

static void next_hops_of_a_vrf_ip4(void **state)
{
	next_hops_of_a_vrf(false);
}

static void next_hops_of_a_vrf_ip6(void **state)
{
	next_hops_of_a_vrf(true);
}

/* The kernel routes, also what a damaged table has no number for. */
static void a_vrf_without_a_number(void **state)
{
	static const uint32_t damaged[] = {BP_MAX_VRFS + 1, BP_VRF_KERNEL, 0x100, UINT32_MAX};
	struct packet p = ip4("10.9.1.1", 64, 46), six = ip6("fd09::1", 64, 8);
	struct rig r;

	start_vrf(&r);
	set_vrf_of(&r, A, BP_VRF_KERNEL, BP_IF_RPF_STRICT);
	is_punted(&r, p, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, six, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	/* the kernel knows whether it forwards there, and whether the destination is its own */
	set_vrf_of(&r, A, BP_VRF_KERNEL, BP_IF_NO_FORWARD4 | BP_IF_NO_FORWARD6);
	is_punted(&r, p, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, six, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	set_vrf_of(&r, A, BLUE, BP_IF_NO_FORWARD4 | BP_IF_NO_FORWARD6);
	is_dropped(&r, p, BP_C_DROP_FORWARDING_OFF);
	is_dropped(&r, six, BP_C_DROP_FORWARDING_OFF);
	set_vrf_of(&r, A, BP_VRF_KERNEL, BP_IF_RPF_STRICT);
	for (unsigned i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		r.shm.fib.interfaces[A].vrf = damaged[i];
		is_punted(&r, p, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
		is_punted(&r, six, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	}
	r.shm.fib.interfaces[A].vrf = BLUE;
	goes(&r, from(p, A, "10.2.0.7"), C, host_c);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vrf_of_the_input_interface_decides),
		cmocka_unit_test(own_addresses_are_those_of_the_vrf),
		cmocka_unit_test(sources_are_looked_up_in_the_vrf),
		cmocka_unit_test(a_mixed_burst),
		cmocka_unit_test(an_interface_changes_its_vrf),
		cmocka_unit_test(next_hops_of_a_vrf_ip4),
		cmocka_unit_test(next_hops_of_a_vrf_ip6),
		cmocka_unit_test(a_vrf_without_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
