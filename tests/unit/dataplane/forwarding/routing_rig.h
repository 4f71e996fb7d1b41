/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_FORWARDING_ROUTING_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_FORWARDING_ROUTING_RIG_H

#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <string.h>

#include "proto/net/ip.h"
#include "tests/unit/dataplane/forwarding/fib_fill.h"

/* A router of three ports, and packets for it. */

#define ROUTER_PORTS(a_and_b_, c_)                                                                 \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0" a_and_b_ "}\n"                                           \
	"  - {name: b, device: net_null1" a_and_b_ "}\n"                                           \
	"  - {name: c, device: net_null2" c_ "}\n"
#define ROUTER ROUTER_PORTS(", routed: {}", ", routed: {}")

enum { A, B, C };
#define MTU_C 600

static const uint8_t mac_of[3][6] = {
	{0x02, 0, 0, 0, 0, 0xa1}, {0x02, 0, 0, 0, 0, 0xb1}, {0x02, 0, 0, 0, 0, 0xc1}};
static const uint8_t host_a[6] = {0x02, 0, 0, 0, 0, 0xa2}, host_b[6] = {0x02, 0, 0, 0, 0, 0xb2},
		     host_c[6] = {0x02, 0, 0, 0, 0, 0xc2};

/* Host c sends an ARP request for the router's address in its network; and the reply. */
static const uint8_t arp_request[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 0xc2,
	0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1, 0x02, 0, 0, 0, 0, 0xc2, 10, 3, 0, 2, 0, 0, 0, 0, 0, 0,
	10, 3, 0, 1};
static const uint8_t arp_reply[42] = {0x02, 0, 0, 0, 0, 0xc2, 0x02, 0, 0, 0, 0, 0xc1, 0x08, 0x06, 0,
	1, 8, 0, 6, 4, 0, 2, 0x02, 0, 0, 0, 0, 0xc1, 10, 3, 0, 1, 0x02, 0, 0, 0, 0, 0xc2, 10, 3, 0,
	2};

/* ---- the tables ---- */

static inline void set_route(struct rig *r, const char *prefix, unsigned length,
	enum bp_route_type type, int interface, const char *gateway)
{
	fill_route(r->writer, prefix, length, type, interface, gateway);
}

static inline void set_neighbor(
	struct rig *r, unsigned interface, const char *text, const uint8_t mac[6])
{
	struct bp_address a = address(text);

	assert_int_equal(bp_fib_neighbor_set(r->writer, interface, &a, mac, BP_NEIGHBOR_REACHABLE),
		BP_FIB_DONE);
}

static inline void set_interface(struct rig *r, unsigned i, uint32_t flags, uint32_t mtu)
{
	struct bp_interface_info info = {.flags = flags, .mtu = mtu};

	info.name[0] = "abc"[i];
	memcpy(info.mac, mac_of[i], 6);
	assert_int_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_DONE);
}

/* Subinterface `i` of a port, with VLAN identifier `id`. */
static inline void set_sub(struct rig *r, unsigned i, unsigned port, uint16_t id, uint32_t flags)
{
	struct bp_interface_info info = {
		.flags = flags, .mtu = 1500, .parent = (uint8_t)port, .vlan_id = id};

	snprintf(info.name, sizeof(info.name), "sub%u", i);
	memcpy(info.mac, mac_of[port], 6);
	assert_int_equal(bp_fib_interface_set(r->writer, i, &info), BP_FIB_DONE);
}

/* Three networks, a few routes, a kernel interface on a and b. `yaml`: ROUTER, and more. */
static inline void start_with(struct rig *r, const char *yaml)
{
	rig_start(r, yaml, false, false);
	set_interface(r, A, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	set_interface(r, B, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL, 1500);
	set_interface(r, C, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER, MTU_C);
	set_neighbor(r, A, "10.1.0.2", host_a);
	set_neighbor(r, B, "10.2.0.2", host_b);
	set_neighbor(r, C, "10.3.0.2", host_c);
	set_neighbor(r, B, "fd02::2", host_b);
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

static inline void start(struct rig *r)
{
	start_with(r, ROUTER);
}

/* ---- packets ---- */

struct packet {
	uint8_t bytes[2048];
	uint32_t len;
};

static inline void checksum4(uint8_t *h)
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

static inline void ethernet(
	struct packet *p, const uint8_t dst[6], const uint8_t src[6], uint16_t type)
{
	for (uint32_t i = 0; i < p->len; i++)
		p->bytes[i] = (uint8_t)(i * 7);
	memcpy(p->bytes, dst, 6);
	memcpy(p->bytes + 6, src, 6);
	bp_put_be16(p->bytes + 12, type);
}

/* UDP from 10.1.0.2, which came in on port a, in a packet of `total` bytes. */
static inline struct packet ip4(const char *dst, uint8_t ttl, uint32_t total)
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

static inline struct packet ip6(const char *dst, uint8_t hops, uint32_t payload)
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

static inline struct packet tagged(struct packet p, uint16_t tci)
{
	memmove(p.bytes + 16, p.bytes + 12, p.len - 12);
	bp_put_be16(p.bytes + 12, 0x8100);
	bp_put_be16(p.bytes + 14, tci);
	p.len += 4;
	return p;
}

/* As it must leave. */
static inline struct packet forwarded(struct packet p, unsigned out, const uint8_t to[6])
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

static inline void put(struct rig *r, unsigned port, const struct packet *p)
{
	rig_put(r, port, p->bytes, p->len);
	rig_walk(r);
}

static inline void goes(struct rig *r, struct packet p, unsigned out, const uint8_t to[6])
{
	struct packet want = forwarded(p, out, to);

	put(r, A, &p);
	rig_expect(r, out, want.bytes, want.len);
}

static inline void is_punted(
	struct rig *r, struct packet p, bp_counter_t why, enum bp_exception_class c)
{
	uint64_t before = rig_counter(r, why);

	put(r, A, &p);
	rig_expect_kernel(r, c, A, p.bytes, p.len); /* as it came */
	assert_int_equal(rig_counter(r, why), before + 1);
}

static inline void is_dropped(struct rig *r, struct packet p, bp_counter_t why)
{
	uint64_t before = rig_counter(r, why);

	put(r, A, &p);
	assert_int_equal(rig_counter(r, why), before + 1);
	for (unsigned i = 0; i < 3; i++)
		rig_expect_none(r, i);
}

#endif
