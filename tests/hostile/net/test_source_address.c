/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host on a routed port sends with source addresses that are not its own: the gateway's, a
 * broadcast address, one of another port's network, one that no router forwards. And an operator
 * says on an interface what is to become of them (rp_filter), and whether it forwards at all.
 */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"

static const char with_ipv6_rp_filter[] = ROUTER "routing: {ipv6_rp_filter: strict}\n";

/* Interface i with an address of each family, and settings. */
static void give(struct rig *r, unsigned i, uint32_t settings)
{
	const uint32_t kernel = i == C ? 0 : BP_IF_KERNEL;
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | kernel | settings,
		.mtu = i == C ? MTU_C : 1500,
		.n_addresses = 2};
	char text[16];

	info.name[0] = "abc"[i];
	memcpy(info.mac, mac_of[i], 6);
	snprintf(text, sizeof(text), "10.%u.0.1", i + 1);
	info.address[0] = (struct bp_interface_address){address(text), 24};
	snprintf(text, sizeof(text), "fd0%u::1", i + 1);
	info.address[1] = (struct bp_interface_address){address(text), 64};
	assert_int_not_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_INVALID);
}

static void begin(struct rig *r, const char *yaml, uint32_t settings_of_a)
{
	start_with(r, yaml);
	for (unsigned i = A; i <= C; i++)
		give(r, i, i == A ? settings_of_a : 0);
	set_route(r, "10.2.0.255", 32, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "fd02::1", 128, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "fd01::", 64, BP_ROUTE_UNICAST, A, NULL);
}

static struct packet from4(const char *source, const char *target)
{
	struct packet p = ip4(target, 64, 46);

	memcpy(p.bytes + 26, address(source).bytes, 4);
	checksum4(p.bytes + 14);
	return p;
}

static struct packet from6(const char *source, const char *target)
{
	struct packet p = ip6(target, 64, 8);

	memcpy(p.bytes + 22, address(source).bytes, 16);
	return p;
}

/* A packet with IPv4 options goes another way through the node. */
static struct packet with_options(struct packet p)
{
	memmove(p.bytes + 38, p.bytes + 34, p.len - 34);
	p.len += 4;
	p.bytes[14] = 0x46;
	memset(p.bytes + 34, 1, 4);
	bp_put_be16(p.bytes + 16, (uint16_t)(p.len - 14));
	checksum4(p.bytes + 14);
	return p;
}

static void local_addresses_are_invalid_sources(void **state)
{
	static const char *const own[] = {
		"10.1.0.1", "10.2.0.1", "10.3.0.1", "10.1.0.255", "10.2.0.255"};
	struct rig r;

	begin(&r, ROUTER, 0);
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		is_dropped(&r, from4(own[i], "10.9.1.1"), BP_C_DROP_SOURCE_LOCAL);
		is_dropped(&r, with_options(from4(own[i], "10.9.1.1")), BP_C_DROP_SOURCE_LOCAL);
	}
	is_dropped(&r, from6("fd01::1", "fd09::1"), BP_C_DROP_SOURCE_LOCAL);
	is_dropped(&r, from6("fd02::1", "fd09::1"), BP_C_DROP_SOURCE_LOCAL);
	/* others go, wherever they come from: there is no reverse path filter */
	goes(&r, from4("10.1.0.9", "10.9.1.1"), B, host_b);
	goes(&r, from4("10.3.0.9", "10.9.1.1"), B, host_b);
	goes(&r, from4("192.0.2.1", "10.9.1.1"), B, host_b);
	goes(&r, from6("fd03::9", "fd09::1"), B, host_b);
	goes(&r, from6("2001:db8::1", "fd09::1"), B, host_b);
	/* an address that is given up is an ordinary one */
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	goes(&r, from4("10.2.0.1", "10.9.1.1"), B, host_b);
	rig_stop(&r);
}

/* Among others in one burst, of which none suffers. */
static void burst_drops_only_disallowed_sources(void **state)
{
	struct packet p, want;
	struct rig r;

	begin(&r, ROUTER, 0);
	for (unsigned i = 0; i < 30; i++) {
		p = i % 3 == 1 ? from4("10.2.0.1", "10.9.1.1") : from4("10.1.0.2", "10.9.1.1");
		p.bytes[50] = (uint8_t)i;
		rig_put(&r, A, p.bytes, p.len);
	}
	rig_walk(&r);
	for (unsigned i = 0; i < 30; i++) {
		if (i % 3 == 1)
			continue;
		want = forwarded(from4("10.1.0.2", "10.9.1.1"), B, host_b);
		want.bytes[50] = (uint8_t)i;
		rig_expect(&r, B, want.bytes, want.len);
	}
	rig_expect_none(&r, B);
	assert_int_equal(rig_counter(&r, BP_C_DROP_SOURCE_LOCAL), 10);
	rig_stop(&r);
}

static void link_local_addresses_stay_on_their_link(void **state)
{
	struct rig r;

	begin(&r, ROUTER, 0);
	is_dropped(&r, from4("169.254.1.1", "10.9.1.1"), BP_C_DROP_LINK_LOCAL);
	is_dropped(&r, from4("10.1.0.2", "169.254.1.1"), BP_C_DROP_LINK_LOCAL);
	goes(&r, from4("169.253.1.1", "10.9.1.1"), B, host_b);
	goes(&r, from4("168.254.1.1", "10.9.1.1"), B, host_b);
	/* but this machine is on the link too */
	is_punted(&r, from4("169.254.1.1", "10.1.0.1"), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	is_punted(&r, from6("fe80::2", "fd01::1"), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	/* the kernel answers with ICMPv6 "beyond scope of source address" */
	is_punted(&r, from6("fe80::2", "fd09::1"), BP_C_PUNT_SCOPE, BP_EX_OTHER);
	rig_stop(&r);
}

static void strict_reverse_path(void **state)
{
	struct rig r;

	begin(&r, with_ipv6_rp_filter, BP_IF_RPF_STRICT);
	goes(&r, from4("10.1.0.9", "10.9.1.1"), B, host_b);
	is_dropped(&r, from4("10.3.0.9", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, with_options(from4("10.3.0.9", "10.9.1.1")), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("192.0.2.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.66.0.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.69.0.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.1.0.1", "10.9.1.1"), BP_C_DROP_SOURCE_LOCAL);
	set_route(&r, "192.0.2.0", 24, BP_ROUTE_UNICAST, A, "10.1.0.2");
	goes(&r, from4("192.0.2.1", "10.9.1.1"), B, host_b);
	goes(&r, from6("fd01::9", "fd09::1"), B, host_b);
	is_dropped(&r, from6("fd02::9", "fd09::1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from6("2001:db8::1", "fd09::1"), BP_C_DROP_REVERSE_PATH);
	is_punted(&r, from6("fe80::2", "fd01::1"), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	/* the setting of one interface does not apply to another */
	give(&r, A, 0);
	goes(&r, from4("10.3.0.9", "10.9.1.1"), B, host_b);
	rig_stop(&r);
}

static void loose_reverse_path(void **state)
{
	struct rig r;

	begin(&r, ROUTER, BP_IF_RPF_LOOSE);
	goes(&r, from4("10.1.0.9", "10.9.1.1"), B, host_b);
	goes(&r, from4("10.3.0.9", "10.9.1.1"), B, host_b);
	goes(&r, from4("10.69.0.1", "10.9.1.1"), B, host_b); /* the kernel knows a way there */
	is_dropped(&r, from4("192.0.2.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.66.0.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.67.0.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	is_dropped(&r, from4("10.2.0.255", "10.9.1.1"), BP_C_DROP_SOURCE_LOCAL);
	rig_stop(&r);
}

/* One of several ways is enough. */
static void a_group_of_next_hops(void **state)
{
	struct bp_route many = {.type = BP_ROUTE_UNICAST, .n_hops = 2};
	struct rig r;

	begin(&r, ROUTER, BP_IF_RPF_STRICT);
	many.prefix = bp_prefix_of(address("198.51.100.0"), 24);
	many.hop[0] = (struct bp_hop){address("10.3.0.2"), C, 1};
	many.hop[1] = (struct bp_hop){address("10.2.0.2"), B, 1};
	assert_int_equal(bp_fib_route_set(r.writer, &many), BP_FIB_DONE);
	is_dropped(&r, from4("198.51.100.1", "10.9.1.1"), BP_C_DROP_REVERSE_PATH);
	many.prefix = bp_prefix_of(address("203.0.113.0"), 24);
	many.hop[1] = (struct bp_hop){address("10.1.0.2"), A, 1};
	assert_int_equal(bp_fib_route_set(r.writer, &many), BP_FIB_DONE);
	goes(&r, from4("203.0.113.1", "10.9.1.1"), B, host_b);
	rig_stop(&r);
}

static void an_interface_that_does_not_forward(void **state)
{
	struct rig r;

	begin(&r, ROUTER, BP_IF_NO_FORWARD4);
	is_dropped(&r, from4("10.1.0.2", "10.9.1.1"), BP_C_DROP_FORWARDING_OFF);
	is_dropped(&r, from4("10.1.0.2", "10.8.1.1"), BP_C_DROP_FORWARDING_OFF);
	is_punted(&r, from4("10.1.0.2", "10.1.0.1"), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	goes(&r, from6("fd01::2", "fd09::1"), B, host_b);
	give(&r, A, BP_IF_NO_FORWARD6);
	is_dropped(&r, from6("fd01::2", "fd09::1"), BP_C_DROP_FORWARDING_OFF);
	is_punted(&r, from6("fd01::2", "fd01::1"), BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	goes(&r, from4("10.1.0.2", "10.9.1.1"), B, host_b);
	give(&r, A, 0);
	goes(&r, from6("fd01::2", "fd09::1"), B, host_b);
	rig_stop(&r);
}

/* At a limited rate the kernel receives packets that leave by their input port, and sends ICMP
 * redirects. */
static void redirects_are_punted_at_a_limited_rate(void **state)
{
	struct rig r;

	begin(&r, ROUTER, BP_IF_REDIRECTS4 | BP_IF_REDIRECTS6);
	set_neighbor(&r, A, "fd01::2", host_a);
	is_punted(&r, from4("10.1.0.9", "10.1.0.2"), BP_C_PUNT_REDIRECT, BP_EX_OTHER);
	for (unsigned i = 0; i < 20; i++)
		goes(&r, from4("10.1.0.9", "10.1.0.2"), A, host_a);
	r.worker->mono_ns += 1000000000;
	is_punted(&r, from6("fd01::9", "fd01::2"), BP_C_PUNT_REDIRECT, BP_EX_OTHER);
	goes(&r, from6("fd01::9", "fd01::2"), A, host_a);
	/* a packet without a route is none: its link word has interface 0 */
	r.worker->mono_ns += 1000000000;
	is_punted(&r, from4("10.1.0.9", "192.0.2.1"), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_dropped(&r, from4("10.1.0.9", "10.66.0.1"), BP_C_DROP_BLACKHOLE);
	is_punted(&r, from6("fd01::9", "2001:db8::1"), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	give(&r, A, 0);
	goes(&r, from4("10.1.0.9", "10.1.0.2"), A, host_a);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_addresses_are_invalid_sources),
		cmocka_unit_test(burst_drops_only_disallowed_sources),
		cmocka_unit_test(link_local_addresses_stay_on_their_link),
		cmocka_unit_test(strict_reverse_path),
		cmocka_unit_test(loose_reverse_path),
		cmocka_unit_test(a_group_of_next_hops),
		cmocka_unit_test(an_interface_that_does_not_forward),
		cmocka_unit_test(redirects_are_punted_at_a_limited_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
