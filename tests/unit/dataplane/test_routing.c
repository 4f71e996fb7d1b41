/* SPDX-License-Identifier: BSD-3-Clause */
/* What a router does with a packet: nodes ip4, ip6, forward, exception, answer and kernel_rx. */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <arpa/inet.h>
#include <string.h>

#include "proto/ip.h"

#define ROUTER                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2}\n"

enum { A, B, C };
#define MTU_C 600

static const uint8_t mac_of[3][6] = {
	{0x02, 0, 0, 0, 0, 0xa1}, {0x02, 0, 0, 0, 0, 0xb1}, {0x02, 0, 0, 0, 0, 0xc1}};
static const uint8_t host_a[6] = {0x02, 0, 0, 0, 0, 0xa2}, host_b[6] = {0x02, 0, 0, 0, 0, 0xb2},
		     host_c[6] = {0x02, 0, 0, 0, 0, 0xc2};

/* ---- the tables ---- */

static struct bp_address address(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') ? 6 : 4};

	assert_int_equal(inet_pton(a.family == 6 ? AF_INET6 : AF_INET, text, a.bytes), 1);
	return a;
}

static void set_route(struct rig *r, const char *prefix, unsigned length, enum bp_route_type type,
	int interface, const char *gateway)
{
	struct bp_route route = {
		.prefix = bp_prefix_of(address(prefix), length), .type = (uint8_t)type};

	if (interface >= 0) {
		route.n_hops = 1;
		route.hop[0] = (struct bp_hop){.interface = (uint8_t)interface, .weight = 1};
		if (gateway)
			route.hop[0].gateway = address(gateway);
	}
	assert_int_equal(bp_fib_route_set(r->writer, &route), BP_FIB_DONE);
}

static void set_neighbour(struct rig *r, unsigned interface, const char *text, const uint8_t mac[6])
{
	struct bp_address a = address(text);

	assert_int_equal(
		bp_fib_neighbour_set(r->writer, interface, &a, mac, BP_NEIGHBOUR_REACHABLE),
		BP_FIB_DONE);
}

static void set_interface(struct rig *r, unsigned i, uint32_t flags, uint32_t mtu)
{
	struct bp_interface_info info = {.flags = flags, .mtu = mtu};

	info.name[0] = "abc"[i];
	memcpy(info.mac, mac_of[i], 6);
	assert_int_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_DONE);
}

/* Three networks, a few routes, a kernel interface on a and b. */
static void start(struct rig *r)
{
	rig_start(r, ROUTER, false, false);
	set_interface(r, A, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	set_interface(r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	set_interface(r, C, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER, MTU_C);
	set_neighbour(r, A, "10.1.0.2", host_a);
	set_neighbour(r, B, "10.2.0.2", host_b);
	set_neighbour(r, C, "10.3.0.2", host_c);
	set_neighbour(r, B, "fd02::2", host_b);
	set_route(r, "10.1.0.0", 24, BP_ROUTE_UNICAST, A, NULL);
	set_route(r, "10.2.0.0", 24, BP_ROUTE_UNICAST, B, NULL);
	set_route(r, "10.3.0.0", 24, BP_ROUTE_UNICAST, C, NULL);
	set_route(r, "10.1.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "10.2.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "10.3.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "10.1.0.255", 32, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "10.9.0.0", 16, BP_ROUTE_UNICAST, B, "10.2.0.2");
	set_route(r, "10.9.7.0", 24, BP_ROUTE_UNICAST, C, "10.3.0.2");
	set_route(r, "10.8.0.0", 16, BP_ROUTE_UNICAST, B, "10.2.0.77");
	set_route(r, "10.66.0.0", 16, BP_ROUTE_BLACKHOLE, -1, NULL);
	set_route(r, "10.67.0.0", 16, BP_ROUTE_UNREACHABLE, -1, NULL);
	set_route(r, "10.68.0.0", 16, BP_ROUTE_PROHIBIT, -1, NULL);
	set_route(r, "10.69.0.0", 16, BP_ROUTE_PUNT, -1, NULL);
	set_route(r, "fd02::", 64, BP_ROUTE_UNICAST, B, NULL);
	set_route(r, "fd01::1", 128, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "fe80::c1", 128, BP_ROUTE_LOCAL, -1, NULL);
	set_route(r, "fd09::", 32, BP_ROUTE_UNICAST, B, "fd02::2");
	set_route(r, "fd0a::", 32, BP_ROUTE_UNICAST, C, "fd03::2");
	r->exception->has[A] = r->exception->has[B] = true;
}

/* ---- packets ---- */

struct packet {
	uint8_t bytes[2048];
	uint32_t len;
};

static void checksum4(uint8_t *h)
{
	uint32_t sum = 0, header = (h[0] & 0xfu) * 4;

	h[10] = h[11] = 0;
	for (uint32_t i = 0; i < header; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	h[10] = (uint8_t)(~sum >> 8);
	h[11] = (uint8_t)~sum;
}

static void ethernet(struct packet *p, const uint8_t dst[6], const uint8_t src[6], uint16_t type)
{
	for (uint32_t i = 0; i < p->len; i++)
		p->bytes[i] = (uint8_t)(i * 7);
	memcpy(p->bytes, dst, 6);
	memcpy(p->bytes + 6, src, 6);
	bp_put_be16(p->bytes + 12, type);
}

/* UDP from 10.1.0.2, which came in on port a, in a packet of `total` bytes. */
static struct packet ip4(const char *dst, uint8_t ttl, uint32_t total)
{
	struct packet p = {.len = 14 + total};
	uint8_t *h = p.bytes + 14;

	ethernet(&p, mac_of[A], host_a, 0x0800);
	memset(h, 0, 28);
	h[0] = 0x45;
	bp_put_be16(h + 2, (uint16_t)total);
	h[8] = ttl;
	h[9] = 17;
	memcpy(h + 12, address("10.1.0.2").bytes, 4);
	memcpy(h + 16, address(dst).bytes, 4);
	bp_put_be16(h + 20, 4000);
	bp_put_be16(h + 22, 5000);
	checksum4(h);
	return p;
}

static struct packet ip6(const char *dst, uint8_t hops, uint32_t payload)
{
	struct packet p = {.len = 54 + payload};
	uint8_t *h = p.bytes + 14;

	ethernet(&p, mac_of[A], host_a, 0x86dd);
	memset(h, 0, 40);
	h[0] = 0x60;
	bp_put_be16(h + 4, (uint16_t)payload);
	h[6] = 17;
	h[7] = hops;
	memcpy(h + 8, address("fd01::2").bytes, 16);
	memcpy(h + 24, address(dst).bytes, 16);
	return p;
}

/* As it must leave. */
static struct packet forwarded(struct packet p, unsigned out, const uint8_t to[6])
{
	memcpy(p.bytes, to, 6);
	memcpy(p.bytes + 6, mac_of[out], 6);
	if (p.bytes[12] == 0x08) {
		p.bytes[14 + 8]--;
		checksum4(p.bytes + 14);
	} else {
		p.bytes[14 + 7]--;
	}
	return p;
}

static void put(struct rig *r, unsigned port, const struct packet *p)
{
	rig_put(r, port, p->bytes, p->len);
	rig_walk(r);
}

static void goes(struct rig *r, struct packet p, unsigned out, const uint8_t to[6])
{
	struct packet want = forwarded(p, out, to);

	put(r, A, &p);
	rig_expect(r, out, want.bytes, want.len);
}

static void is_punted(
	struct rig *r, struct packet p, enum bp_counter why, enum bp_exception_class c)
{
	uint64_t before = rig_counter(r, why);

	put(r, A, &p);
	rig_expect_kernel(r, c, A, p.bytes, p.len); /* as it came */
	assert_int_equal(rig_counter(r, why), before + 1);
}

static void is_dropped(struct rig *r, struct packet p, enum bp_counter why)
{
	uint64_t before = rig_counter(r, why);

	put(r, A, &p);
	assert_int_equal(rig_counter(r, why), before + 1);
	for (unsigned i = 0; i < 3; i++)
		rig_expect_none(r, i);
}

/* ---- forwarding ---- */

static void packets_are_forwarded(void **state)
{
	struct rig r;

	start(&r);
	goes(&r, ip4("10.2.0.2", 64, 46), B, host_b); /* a neighbour */
	goes(&r, ip4("10.9.1.1", 64, 46), B, host_b); /* through a gateway */
	goes(&r, ip4("10.9.7.1", 2, 500), C, host_c); /* the longer prefix; the last hop but one */
	goes(&r, ip4("10.9.1.1", 255, 1500), B, host_b); /* just fits */
	goes(&r, ip4("10.1.0.2", 9, 46), A, host_a);     /* back where it came from */
	goes(&r, ip6("fd02::2", 64, 8), B, host_b);
	goes(&r, ip6("fd09::1", 2, 1460), B, host_b);
	assert_int_equal(rig_counter(&r, BP_C_FORWARD4), 5);
	assert_int_equal(rig_counter(&r, BP_C_FORWARD6), 2);
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

/* What fills a short frame goes along; what hangs behind a longer packet does not. */
static void what_follows_the_packet(void **state)
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
	assert_int_equal(rig_counter(&r, BP_C_FORWARD4), 2);
	p = ip6("fd09::1", 64, 50);
	p.len += 3;
	want = forwarded(p, B, host_b);
	put(&r, A, &p);
	rig_expect(&r, B, want.bytes, 104);
	rig_stop(&r);
}

static void the_kernel_gets_what_it_must_answer(void **state)
{
	struct packet p;
	struct rig r;

	start(&r);
	is_punted(&r, ip4("10.9.1.1", 1, 46), BP_C_PUNT_TTL, BP_EX_OTHER);
	is_punted(&r, ip4("10.9.1.1", 0, 46), BP_C_PUNT_TTL, BP_EX_OTHER);
	is_punted(&r, ip6("fd09::1", 1, 8), BP_C_PUNT_TTL, BP_EX_OTHER);
	is_punted(&r, ip4("10.9.7.1", 64, MTU_C + 1), BP_C_PUNT_MTU, BP_EX_OTHER);
	is_punted(&r, ip4("10.8.1.1", 64, 46), BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	is_punted(&r, ip4("10.2.0.9", 64, 46), BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	is_punted(&r, ip6("fd0a::1", 64, 8), BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	is_punted(&r, ip4("192.0.2.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip6("2001:db8::1", 64, 8), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	is_punted(&r, ip4("10.67.0.1", 64, 46), BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	is_punted(&r, ip4("10.68.0.1", 64, 46), BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	is_punted(&r, ip4("10.69.0.1", 64, 46), BP_C_PUNT_FOREIGN, BP_EX_OTHER);
	p = ip4("10.9.1.1", 64, 64); /* a source route */
	p.bytes[14] = 0x46;
	memcpy(p.bytes + 34, "\x83\x03\x04\x00", 4);
	checksum4(p.bytes + 14);
	is_punted(&r, p, BP_C_PUNT_OPTIONS, BP_EX_OTHER);
	p = ip6("fd09::1", 64, 16);
	p.bytes[14 + 6] = 0;
	is_punted(&r, p, BP_C_PUNT_OPTIONS, BP_EX_OTHER);
	rig_stop(&r);
}

static void what_is_for_us(void **state)
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
	p = ip4("10.1.0.255", 64, 46); /* to everybody on the link */
	memset(p.bytes, 0xff, 6);
	is_punted(&r, p, BP_C_PUNT_LOCAL, BP_EX_LOCAL);
	p = ip6("ff02::1:ff00:1", 255, 32); /* solicits a neighbour */
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
	is_punted(&r, p, BP_C_PUNT_ETHERTYPE, BP_EX_OTHER);
	rig_stop(&r);
}

static void what_no_router_forwards(void **state)
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
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	is_dropped(&r, ip6("::1", 64, 8), BP_C_DROP_MARTIAN);
	is_dropped(&r, ip6("::ffff:10.9.1.1", 64, 8), BP_C_DROP_MARTIAN);
	p = ip4("10.9.1.1", 64, 46); /* unicast, but to everybody on the link */
	memset(p.bytes, 0xff, 6);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	p = ip6("fd09::1", 64, 8);
	memcpy(p.bytes, "\x33\x33\x00\x00\x00\x01", 6);
	is_dropped(&r, p, BP_C_DROP_MARTIAN);
	p = ip4("10.9.1.1", 64, 46); /* for another station */
	p.bytes[5] ^= 1;
	is_dropped(&r, p, BP_C_DROP_NOT_FOR_US);
	is_dropped(&r, ip4("10.66.3.4", 64, 46), BP_C_DROP_BLACKHOLE);
	rig_stop(&r);
}

static void headers_that_lie(void **state)
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
	for (unsigned bit = 0; bit < 160; bit++) { /* of a right header: the version apart */
		if (bit / 8 == 0 || bit / 8 == 2 || bit / 8 == 3)
			continue;
		p = good;
		p.bytes[14 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		is_dropped(&r, p, BP_C_DROP_IP_CHECKSUM);
	}
	rig_stop(&r);
}

/* ---- tables that were damaged ---- */

/* A link word of an interface or a group that can't be leads nowhere. */
static void link_words_that_lie(void **state)
{
	struct bp_address to4 = address("10.9.1.1"), to6 = address("fd09::1");
	_Atomic uint64_t *link;
	struct rig r;

	start(&r);
	link = &r.shm.fib.nexthops[bp_fib_lookup(&r.shm.fib, &to4)].link;
	assert_ptr_not_equal(link, &r.shm.fib.nexthops[BP_NH_NONE].link);
	for (unsigned i = BP_MAX_INTERFACES; i <= UINT8_MAX; i++) {
		*link = bp_link_make(BP_LINK_RESOLVED, (uint8_t)i, 2);
		is_dropped(&r, ip4("10.9.1.1", 64, 46), BP_C_DROP_IF_DOWN);
	}
	*link = bp_link_make(BP_LINK_GROUP, 0, r.shm.fib.max_groups);
	is_punted(&r, ip4("10.9.1.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	*link = bp_link_make(BP_LINK_GROUP, 0, 0);
	for (unsigned i = 0; i < BP_GROUP_SHARES; i++)
		r.shm.fib.groups[0].nexthop[i] = r.shm.fib.max_nexthops;
	is_punted(&r, ip4("10.9.1.1", 64, 46), BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	link = &r.shm.fib.nexthops[bp_fib_lookup(&r.shm.fib, &to6)].link;
	for (unsigned i = BP_MAX_INTERFACES; i <= UINT8_MAX; i++) {
		*link = bp_link_make(BP_LINK_RESOLVED, (uint8_t)i, 2);
		is_dropped(&r, ip6("fd09::1", 64, 8), BP_C_DROP_IF_DOWN);
	}
	rig_stop(&r);
}

/* ---- interfaces and neighbours that change ---- */

static void an_interface_that_is_down(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct rig r;

	start(&r);
	goes(&r, p, B, host_b);
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_KERNEL, 1500);
	goes(&r, p, B, host_b);
	set_interface(&r, A, BP_IF_PRESENT | BP_IF_KERNEL, 1500);
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	memset(p.bytes, 0xff, 6); /* nor what is for everybody */
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	rig_stop(&r);
}

/* Tables of a configuration whose ports stood in another order, until the control plane has come.
 */
static void a_number_that_was_another_ports(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46);
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL,
		.mtu = 1500,
		.name = "was-b"};
	struct rig r;

	start(&r);
	memcpy(info.mac, mac_of[B], 6);
	assert_int_equal(bp_fib_interface_set(r.writer, B, &info), BP_FIB_DONE);
	set_neighbour(&r, B, "10.2.0.2", host_b);
	/* the worker has not seen "b" yet */
	r.worker->router.confirmed = 0;
	is_dropped(&r, p, BP_C_DROP_IF_DOWN);
	/* what was a neighbour there is none on the port that has the number now */
	set_interface(&r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	is_punted(&r, p, BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	set_neighbour(&r, B, "10.2.0.2", host_b);
	goes(&r, p, B, host_b);
	rig_stop(&r);
}

static void a_neighbour_that_changes(void **state)
{
	static const uint8_t other[6] = {0x02, 0, 0, 0, 0, 0x99};
	struct packet p = ip4("10.9.1.1", 64, 46), q = ip4("10.2.0.2", 64, 46);
	struct bp_address a = address("10.2.0.2");
	struct rig r;

	start(&r);
	goes(&r, p, B, host_b);
	set_neighbour(&r, B, "10.2.0.2", other);
	goes(&r, p, B, other);
	goes(&r, q, B, other);
	assert_int_equal(bp_fib_neighbour_delete(r.writer, B, &a), BP_FIB_DONE);
	is_punted(&r, p, BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	is_punted(&r, q, BP_C_PUNT_NEIGHBOUR, BP_EX_OTHER);
	rig_stop(&r);
}

/* Both ways to a gateway mark it as used, and so does a destination that is a neighbour. */
static void use_is_marked(void **state)
{
	struct packet p = ip4("10.9.1.1", 64, 46), q = ip4("10.3.0.2", 64, 46);
	struct bp_address b = address("10.2.0.2"), c = address("10.3.0.2");
	struct rig r;

	start(&r);
	r.worker->mono_ns = 77500000000;
	assert_int_equal(bp_fib_neighbour_used(&r.shm.fib, B, &b), 0);
	goes(&r, p, B, host_b);
	goes(&r, q, C, host_c);
	assert_int_equal(bp_fib_neighbour_used(&r.shm.fib, B, &b), 77);
	assert_int_equal(bp_fib_neighbour_used(&r.shm.fib, C, &c), 77);
	r.worker->mono_ns = 99000000000;
	goes(&r, p, B, host_b);
	assert_int_equal(bp_fib_neighbour_used(&r.shm.fib, B, &b), 99);
	assert_int_equal(bp_fib_neighbour_used(&r.shm.fib, C, &c), 77);
	rig_stop(&r);
}

/* ---- several ways ---- */

static void flows_keep_their_way(void **state)
{
	struct bp_route route = {.prefix = bp_prefix_of(address("10.50.0.0"), 16), .n_hops = 2};
	unsigned seen[3] = {0};
	struct rig r;

	start(&r);
	route.hop[0] = (struct bp_hop){.interface = B, .weight = 3, .gateway = address("10.2.0.2")};
	route.hop[1] = (struct bp_hop){.interface = C, .weight = 1, .gateway = address("10.3.0.2")};
	assert_int_equal(bp_fib_route_set(r.writer, &route), BP_FIB_DONE);
	for (unsigned flow = 0; flow < 2000; flow++) {
		int way = -1;

		for (unsigned i = 0; i < 3; i++) {
			struct packet p = ip4("10.50.1.1", (uint8_t)(64 - i), 46 + i);
			struct rte_mbuf *m;

			bp_put_be16(p.bytes + 34, (uint16_t)(1000 + flow));
			put(&r, A, &p);
			for (int out = B; out <= C; out++) {
				m = bp_ring_ports_take(&r.ports, (unsigned)out);
				if (!m)
					continue;
				assert_true(way == -1 || way == out);
				way = out;
				rte_pktmbuf_free(m);
			}
		}
		assert_true(way == B || way == C);
		seen[way]++;
	}
	/* three to one, of 2000: far more than five standard deviations of 19 either way */
	assert_in_range(seen[B], 1380, 1620);
	rig_stop(&r);
}

/* Only some packets of a fragmented flow have ports: none of them counts. */
static void fragments_keep_together(void **state)
{
	struct bp_route route = {.prefix = bp_prefix_of(address("10.50.0.0"), 16), .n_hops = 2};
	struct rig r;

	start(&r);
	route.hop[0] = (struct bp_hop){.interface = B, .weight = 1, .gateway = address("10.2.0.2")};
	route.hop[1] = (struct bp_hop){.interface = C, .weight = 1, .gateway = address("10.3.0.2")};
	assert_int_equal(bp_fib_route_set(r.writer, &route), BP_FIB_DONE);
	for (unsigned flow = 0; flow < 200; flow++) {
		static const uint16_t fragment[] = {0x2000, 0x2002, 0x0004};
		unsigned out_b = 0;

		for (unsigned i = 0; i < 3; i++) {
			struct packet p = ip4("10.50.1.1", 64, 46);
			struct rte_mbuf *m;

			p.bytes[33] = (uint8_t)flow;
			bp_put_be16(p.bytes + 34, (uint16_t)(flow * 31 + i * 1000));
			bp_put_be16(p.bytes + 20, fragment[i]);
			checksum4(p.bytes + 14);
			put(&r, A, &p);
			m = bp_ring_ports_take(&r.ports, B);
			out_b += m != NULL;
			rte_pktmbuf_free(m);
			m = bp_ring_ports_take(&r.ports, C);
			rte_pktmbuf_free(m);
		}
		assert_true(out_b == 0 || out_b == 3);
	}
	rig_stop(&r);
}

/* ---- with and without the kernel ---- */

static void an_interface_without_kernel_answers(void **state)
{
	static const uint8_t request[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0,
		0xc2, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1, 0x02, 0, 0, 0, 0, 0xc2, 10, 3, 0, 2, 0, 0,
		0, 0, 0, 0, 10, 3, 0, 1};
	static const uint8_t reply[42] = {0x02, 0, 0, 0, 0, 0xc2, 0x02, 0, 0, 0, 0, 0xc1, 0x08,
		0x06, 0, 1, 8, 0, 6, 4, 0, 2, 0x02, 0, 0, 0, 0, 0xc1, 10, 3, 0, 1, 0x02, 0, 0, 0, 0,
		0xc2, 10, 3, 0, 2};
	struct packet p;
	uint8_t other[42];
	struct rig r;

	start(&r);
	rig_put(&r, C, request, 42);
	rig_walk(&r);
	rig_expect(&r, C, reply, 42);
	assert_int_equal(rig_counter(&r, BP_C_ANSWERED_ARP), 1);
	memcpy(other, request, 42);
	other[41] = 9; /* somebody else's address */
	rig_put(&r, C, other, 42);
	p = ip4("10.3.0.1", 64, 46);
	memcpy(p.bytes, mac_of[C], 6);
	rig_put(&r, C, p.bytes, p.len);
	rig_walk(&r);
	rig_expect_none(&r, C);
	assert_int_equal(rig_counter(&r, BP_C_DROP_NO_KERNEL), 2);
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
	assert_int_equal(rig_counter(&r, BP_C_DROP_QUEUE_LOCAL), 5);
	assert_int_equal(rig_counter(&r, BP_C_PUNT_LOCAL), room + 5);
	while (rte_ring_dequeue(r.exception->to_kernel[BP_EX_LOCAL][A], &m) == 0) {
		rte_pktmbuf_free(m);
		n++;
	}
	r.to_kernel += n;
	assert_int_equal(n, room);
	/* the other classes have room of their own */
	is_punted(&r, ip4("10.9.1.1", 1, 46), BP_C_PUNT_TTL, BP_EX_OTHER);
	rig_stop(&r);
}

static void what_the_kernel_sends_leaves_unchanged(void **state)
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
		cmocka_unit_test(what_follows_the_packet),
		cmocka_unit_test(the_kernel_gets_what_it_must_answer),
		cmocka_unit_test(what_is_for_us),
		cmocka_unit_test(what_no_router_forwards),
		cmocka_unit_test(headers_that_lie),
		cmocka_unit_test(link_words_that_lie),
		cmocka_unit_test(an_interface_that_is_down),
		cmocka_unit_test(a_number_that_was_another_ports),
		cmocka_unit_test(a_neighbour_that_changes),
		cmocka_unit_test(use_is_marked),
		cmocka_unit_test(flows_keep_their_way),
		cmocka_unit_test(fragments_keep_together),
		cmocka_unit_test(an_interface_without_kernel_answers),
		cmocka_unit_test(a_full_queue_is_counted),
		cmocka_unit_test(what_the_kernel_sends_leaves_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
