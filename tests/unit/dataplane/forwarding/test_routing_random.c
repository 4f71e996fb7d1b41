/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random frames through the router: valid and mutated, in one buffer or in a chain of small ones
 * with other bytes after each. The result must equal that of a simple model, written from the RFCs
 * and the routes, without code of the nodes.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"
#include "tests/unit/text_address.h"

#include <stdlib.h>
#include <string.h>

#define PORTS 3
#define INTERFACES 5 /* the ports, then the subinterfaces below */
#define ROUNDS 3000
#define BATCH_MAX (RIG_DEPTH - 1)
#define FRAME_MAX 1800
#define PIECES_MAX 8

static const uint32_t mtu_of[INTERFACES] = {1500, 1280, 600, 1500, 900};
static const struct {
	uint8_t port;
	uint16_t id;
} vlan[INTERFACES - PORTS] = {{0, 100}, {1, 200}};

static const struct plain_route {
	const char *prefix;
	uint8_t length;
	enum bp_route_type type;
	int hop[2];             /* interfaces; -1: none */
	const char *gateway[2]; /* NULL: the destination is a neighbor */
} routes[] = {
	{"10.1.0.0", 24, BP_ROUTE_UNICAST, {0, -1}, {NULL, NULL}},
	{"10.2.0.0", 24, BP_ROUTE_UNICAST, {1, -1}, {NULL, NULL}},
	{"10.3.0.0", 24, BP_ROUTE_UNICAST, {2, -1}, {NULL, NULL}},
	{"10.1.0.1", 32, BP_ROUTE_LOCAL, {-1, -1}, {NULL, NULL}},
	{"10.2.0.1", 32, BP_ROUTE_LOCAL, {-1, -1}, {NULL, NULL}},
	{"10.2.0.255", 32, BP_ROUTE_LOCAL, {-1, -1}, {NULL, NULL}},
	{"10.9.0.0", 16, BP_ROUTE_UNICAST, {1, -1}, {"10.2.0.2", NULL}},
	{"10.9.7.0", 24, BP_ROUTE_UNICAST, {2, -1}, {"10.3.0.2", NULL}},
	{"10.9.7.64", 27, BP_ROUTE_BLACKHOLE, {-1, -1}, {NULL, NULL}},
	{"10.8.0.0", 16, BP_ROUTE_UNICAST, {1, -1}, {"10.2.0.77", NULL}},
	{"10.50.0.0", 16, BP_ROUTE_UNICAST, {1, 2}, {"10.2.0.2", "10.3.0.2"}},
	{"10.4.0.0", 24, BP_ROUTE_UNICAST, {3, -1}, {NULL, NULL}},
	{"10.5.0.0", 16, BP_ROUTE_UNICAST, {4, -1}, {"10.6.0.2", NULL}},
	{"10.67.0.0", 16, BP_ROUTE_UNREACHABLE, {-1, -1}, {NULL, NULL}},
	{"10.68.0.0", 16, BP_ROUTE_PROHIBIT, {-1, -1}, {NULL, NULL}},
	{"10.69.0.0", 16, BP_ROUTE_PUNT, {-1, -1}, {NULL, NULL}},
	{"fd02::", 64, BP_ROUTE_UNICAST, {1, -1}, {NULL, NULL}},
	{"fd01::1", 128, BP_ROUTE_LOCAL, {-1, -1}, {NULL, NULL}},
	{"fd09::", 32, BP_ROUTE_UNICAST, {1, -1}, {"fd02::2", NULL}},
	{"fd09:0:7::", 48, BP_ROUTE_UNICAST, {2, -1}, {"fd03::2", NULL}},
	{"fd0a::", 32, BP_ROUTE_UNICAST, {2, -1}, {"fd03::77", NULL}},
	{"fd50::", 16, BP_ROUTE_UNICAST, {1, 2}, {"fd02::2", "fd03::2"}},
	{"fd04::", 64, BP_ROUTE_UNICAST, {3, -1}, {NULL, NULL}},
	{"fd05::", 32, BP_ROUTE_UNICAST, {4, -1}, {"fd06::2", NULL}},
	{"fd66::", 16, BP_ROUTE_BLACKHOLE, {-1, -1}, {NULL, NULL}},
	{"fd67::", 16, BP_ROUTE_UNREACHABLE, {-1, -1}, {NULL, NULL}},
	{"fd69::", 16, BP_ROUTE_PUNT, {-1, -1}, {NULL, NULL}},
};
#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

static const struct {
	uint8_t interface;
	const char *address;
} neighbors[] = {{0, "10.1.0.2"}, {1, "10.2.0.2"}, {2, "10.3.0.2"}, {1, "fd02::2"}, {2, "fd03::2"},
	{1, "fd02::9"}, {3, "10.4.0.2"}, {4, "10.6.0.2"}, {3, "fd04::2"}, {4, "fd06::2"}};
#define N_NEIGHBORS (sizeof(neighbors) / sizeof(neighbors[0]))

static const char *const address4[] = {"10.1.0.2", "10.2.0.2", "10.3.0.2", "10.1.0.1", "10.2.0.1",
	"10.2.0.255", "10.9.1.1", "10.9.7.5", "10.9.7.70", "10.8.1.1", "10.50.1.1", "10.67.1.1",
	"10.68.1.1", "10.4.0.2", "10.5.1.1", "10.69.1.1", "192.0.2.1", "10.2.0.9", "0.0.0.0",
	"0.1.1.1", "127.0.0.1", "224.0.0.5", "239.1.2.3", "240.0.0.1", "255.255.255.255",
	"223.255.255.255", "1.0.0.0", "169.254.1.1"};
#define N_ADDRESS4 (sizeof(address4) / sizeof(address4[0]))
static const char *const address6[] = {"fd02::2", "fd02::9", "fd02::5", "fd01::1", "fd09::1",
	"fd09:0:7::1", "fd04::2", "fd05::1", "fd0a::1", "fd50::5", "fd66::1", "fd67::1", "fd69::1",
	"2001:db8::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff05::2", "::", "::1",
	"::ffff:10.9.1.1", "::10.9.1.1", "64:ff9b::1"};
#define N_ADDRESS6 (sizeof(address6) / sizeof(address6[0]))

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state >> 32) * n) >> 32);
}

static void port_mac(unsigned port, uint8_t mac[6])
{
	memcpy(mac, (uint8_t[]){0x02, 0, 0, 0, (uint8_t)port, 0xa1}, 6);
}

static void neighbor_mac(unsigned n, uint8_t mac[6])
{
	memcpy(mac, (uint8_t[]){0x02, 1, 2, 3, (uint8_t)n, 0xb2}, 6);
}

/* In the tables. */
static uint8_t number(unsigned interface)
{
	return (uint8_t)(interface < PORTS ? interface : BP_MAX_INTERFACES + interface - PORTS);
}

static void start(struct rig *r)
{
	rig_start(r,
		"ports:\n"
		"  - {name: a, device: net_null0, routed: {}}\n"
		"  - {name: b, device: net_null1, routed: {}}\n"
		"  - {name: c, device: net_null2, routed: {}}\n",
		false, false);
	for (unsigned p = 0; p < PORTS; p++) {
		struct bp_interface_info info = {.mtu = mtu_of[p],
			.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL};

		info.name[0] = (char)('a' + p);
		port_mac(p, info.mac);
		assert_int_equal(bp_fib_interface_set(r->writer, p, &info), BP_FIB_DONE);
		r->exception->has[p] = true;
	}
	for (unsigned i = PORTS; i < INTERFACES; i++) {
		struct bp_interface_info info = {.mtu = mtu_of[i],
			.parent = vlan[i - PORTS].port,
			.vlan_id = vlan[i - PORTS].id,
			.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL};

		port_mac(i, info.mac);
		assert_int_equal(bp_fib_interface_set(r->writer, number(i), &info), BP_FIB_DONE);
	}
	for (unsigned i = 0; i < N_NEIGHBORS; i++) {
		struct bp_address a = address(neighbors[i].address);
		uint8_t mac[6];

		neighbor_mac(i, mac);
		assert_int_equal(bp_fib_neighbor_set(r->writer, number(neighbors[i].interface), &a,
					 mac, BP_NEIGHBOR_REACHABLE),
			BP_FIB_DONE);
	}
	for (unsigned i = 0; i < N_ROUTES; i++) {
		const struct plain_route *from = &routes[i];
		struct bp_route to = {.type = (uint8_t)from->type,
			.prefix = bp_prefix_of(address(from->prefix), from->length)};

		for (unsigned k = 0; k < 2 && from->hop[k] >= 0; k++) {
			to.hop[k] = (struct bp_hop){
				.interface = number((unsigned)from->hop[k]), .weight = 1};
			if (from->gateway[k])
				to.hop[k].gateway = address(from->gateway[k]);
			to.n_hops++;
		}
		assert_int_equal(bp_fib_route_set(r->writer, &to), BP_FIB_DONE);
	}
}

/* ---- frames ---- */

struct frame {
	uint8_t bytes[FRAME_MAX + 4];
	uint32_t len;
	uint32_t first; /* bytes in its first buffer */
	unsigned port;
};

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t sum16(const uint8_t *h, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += get16(h + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void checksum4(uint8_t *h)
{
	uint32_t header = (h[0] & 0xfu) * 4;

	put16(h + 10, 0);
	put16(h + 10, ~sum16(h, header) & 0xffff);
}

static void make4(struct frame *f)
{
	uint8_t *h = f->bytes + 14;
	uint32_t header = rnd(8) ? 5 : 5 + rnd(11);

	h[0] = (uint8_t)(0x40 | header);
	put16(h + 2, rnd(6) ? f->len - 14 : rnd(4) ? f->len - 14 - rnd(40) : rnd(FRAME_MAX));
	put16(h + 6, rnd(4) ? 0 : rnd(65536));
	h[8] = (uint8_t)(rnd(5) ? 2 + rnd(254) : rnd(3));
	h[9] = (uint8_t[]){17, 6, 1, 58, 89, 2}[rnd(6)];
	memcpy(h + 12, address(address4[rnd(6) ? rnd(3) : rnd(N_ADDRESS4)]).bytes, 4);
	memcpy(h + 16, address(address4[rnd(N_ADDRESS4)]).bytes, 4);
	if (14 + header * 4 <= f->len)
		checksum4(h);
}

static void make6(struct frame *f)
{
	uint8_t *h = f->bytes + 14;

	h[0] = (uint8_t)(0x60 | rnd(16));
	put16(h + 4, rnd(6) ? f->len - 54 : rnd(4) ? f->len - 54 - rnd(40) : rnd(FRAME_MAX));
	h[6] = (uint8_t[]){17, 6, 58, 0, 44, 59}[rnd(6)];
	h[7] = (uint8_t)(rnd(5) ? 2 + rnd(254) : rnd(3));
	memcpy(h + 8, address(address6[rnd(6) ? rnd(3) : rnd(N_ADDRESS6)]).bytes, 16);
	memcpy(h + 24, address(address6[rnd(N_ADDRESS6)]).bytes, 16);
	if (h[6] == 58)
		h[40] = (uint8_t)(130 + rnd(10));
}

static void insert_tag(struct frame *f, uint32_t type, uint32_t tci)
{
	memmove(f->bytes + 16, f->bytes + 12, f->len - 12);
	put16(f->bytes + 12, type);
	put16(f->bytes + 14, tci);
	f->len += 4;
}

static void add_tag(struct frame *f, uint32_t tci)
{
	if (f->len >= 14)
		insert_tag(f, rnd(10) ? 0x8100 : 0x88a8, tci);
}

static void make(struct frame *f)
{
	uint32_t kind = rnd(20);

	f->port = rnd(PORTS);
	f->len = rnd(3) ? 60 + rnd(100) : rnd(8) ? 60 + rnd(FRAME_MAX - 60) : 1 + rnd(80);
	for (uint32_t i = 0; i < sizeof(f->bytes); i++)
		f->bytes[i] = (uint8_t)rnd(256);
	port_mac(f->port, f->bytes);
	if (rnd(10) == 0)
		memset(f->bytes, 0xff, 6);
	if (rnd(30) == 0)
		f->bytes[rnd(6)] ^= (uint8_t)(1u << rnd(8));
	put16(f->bytes + 12, kind < 10 ? 0x0800 : kind < 18 ? 0x86dd : kind < 19 ? 0x0806 : 0x8100);
	if (kind < 10 && f->len >= 34)
		make4(f);
	else if (kind < 18 && f->len >= 54)
		make6(f);
	while (rnd(3) == 0 && f->len + 4 <= FRAME_MAX)
		add_tag(f,
			rnd(2) ? vlan[rnd(2)].id : (uint32_t[]){0, 101, 4095, 0x2064, 200}[rnd(5)]);
	if (rnd(8) == 0)
		f->bytes[rnd(f->len)] ^= (uint8_t)(1u << rnd(8));
}

/* Bytes behind the data that belong to no one. */
static void litter(struct rte_mbuf *m)
{
	uint8_t *p = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len);

	for (uint32_t i = 0; i < 100 && i < rte_pktmbuf_tailroom(m); i++)
		p[i] = (uint8_t)rnd(256);
}

static void put(struct rig *r, struct frame *f)
{
	unsigned pieces = rnd(3) ? 1 : 2 + rnd(PIECES_MAX - 1);
	struct rte_mbuf *head = NULL;

	for (uint32_t at = 0, n; at < f->len || !head; at += n) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

		assert_non_null(m);
		n = f->len - at;
		if (--pieces > 0)
			n = 1 + rnd(RTE_MIN(n, head || rnd(2) ? 60u : 200u));
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), f->bytes + at, n);
		litter(m);
		if (!head) {
			head = m;
			f->first = n;
		} else {
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
		}
	}
	assert_int_equal(rte_ring_enqueue(r->ports.in[f->port], head), 0);
}

/* ---- the model ---- */

struct outcome {
	bp_counter_t counter; /* of group DROP or PUNT; BP_C_COUNT: forwarded */
	unsigned n_ways;
	struct {
		unsigned port;
		uint8_t mac[6];
	} way[2];
};

static struct outcome counted(bp_counter_t c)
{
	return (struct outcome){.counter = c};
}

static bool in_prefix(const uint8_t *a, const uint8_t *prefix, unsigned length)
{
	for (unsigned bit = 0; bit < length; bit++)
		if (((a[bit / 8] ^ prefix[bit / 8]) >> (7 - bit % 8)) & 1)
			return false;
	return true;
}

static const struct plain_route *longest(const uint8_t *a, unsigned family)
{
	const struct plain_route *best = NULL;

	for (unsigned i = 0; i < N_ROUTES; i++) {
		struct bp_address p = address(routes[i].prefix);

		if (p.family == family && in_prefix(a, p.bytes, routes[i].length) &&
			(!best || routes[i].length > best->length))
			best = &routes[i];
	}
	return best;
}

static int find_neighbor(int interface, struct bp_address a)
{
	for (unsigned i = 0; i < N_NEIGHBORS; i++) {
		struct bp_address n = address(neighbors[i].address);

		if (neighbors[i].interface == interface && memcmp(&n, &a, sizeof(a)) == 0)
			return (int)i;
	}
	return -1;
}

static bool is_local(const struct plain_route *t)
{
	return t && t->type == BP_ROUTE_LOCAL;
}

/* A packet of `bytes` that has a route or not; its header lets it continue or is for the kernel. */
static struct outcome follow(const struct plain_route *t, struct bp_address dst, uint32_t bytes,
	bool options, uint8_t ttl)
{
	struct outcome o = {.counter = BP_C_COUNT};

	if (!t)
		return counted(BP_C_PUNT_NO_ROUTE);
	if (t->type == BP_ROUTE_BLACKHOLE)
		return counted(BP_C_DROP_BLACKHOLE);
	if (t->type == BP_ROUTE_UNREACHABLE || t->type == BP_ROUTE_PROHIBIT)
		return counted(BP_C_PUNT_UNREACHABLE);
	if (t->type == BP_ROUTE_PUNT)
		return counted(BP_C_PUNT_FOREIGN_INTERFACE);
	if (options)
		return counted(BP_C_PUNT_IP_OPTIONS);
	if (ttl <= 1)
		return counted(BP_C_PUNT_TTL_EXPIRED);
	for (unsigned k = 0; k < 2 && t->hop[k] >= 0; k++) {
		int n = find_neighbor(t->hop[k], t->gateway[k] ? address(t->gateway[k]) : dst);

		if (n < 0)
			return counted(BP_C_PUNT_NO_NEIGHBOR);
		o.way[k].port = (unsigned)t->hop[k];
		neighbor_mac((unsigned)n, o.way[k].mac);
		o.n_ways++;
	}
	/* the test's two ways differ in their MTU: a packet for both or neither */
	if (o.n_ways == 2 && bytes > mtu_of[2] && bytes <= mtu_of[1])
		o.n_ways = 1;
	else if (bytes > mtu_of[o.way[0].port])
		return counted(BP_C_PUNT_MTU_EXCEEDED);
	return o;
}

static bool unicast4(const uint8_t *a)
{
	return a[0] >= 1 && a[0] <= 223 && a[0] != 127;
}

static bool link_local4(const uint8_t *a)
{
	return a[0] == 169 && a[1] == 254;
}

static struct outcome model4(const struct frame *f)
{
	const uint8_t *h = f->bytes + 14;
	uint32_t header = (h[0] & 0xfu) * 4, total = get16(h + 2);
	const struct plain_route *t;

	if (f->first < 34 || h[0] >> 4 != 4 || header < 20 || 14 + header > f->first ||
		total < header || 14 + total > f->len)
		return counted(BP_C_DROP_IP_HEADER);
	if (sum16(h, header) != 0xffff)
		return counted(BP_C_DROP_IP_CHECKSUM);
	if (h[16] >> 4 == 14 || memcmp(h + 16, "\xff\xff\xff\xff", 4) == 0)
		return counted(unicast4(h + 12) || memcmp(h + 12, "\0\0\0\0", 4) == 0
				       ? BP_C_PUNT_MULTICAST
				       : BP_C_DROP_MARTIAN);
	if (!unicast4(h + 12) || !unicast4(h + 16))
		return counted(BP_C_DROP_MARTIAN);
	t = longest(h + 16, 4);
	if (is_local(t))
		return counted(BP_C_PUNT_LOCAL);
	if (f->bytes[0] & 1)
		return counted(BP_C_DROP_MARTIAN);
	if (link_local4(h + 12) || link_local4(h + 16))
		return counted(BP_C_DROP_LINK_LOCAL);
	return follow(t, bp_address4(h + 16), total, header > 20, h[8]);
}

static bool martian6(const uint8_t *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, zero[12];

	return memcmp(a, mapped, 12) == 0 || memcmp(a, zero, 12) == 0;
}

static bool link_local6(const uint8_t *a)
{
	return a[0] == 0xfe && a[1] >> 6 == 2;
}

/* ICMPv6 types 133 to 137, also behind hop-by-hop options; as far as the first buffer shows. */
static bp_counter_t local6(const struct frame *f, bp_counter_t other)
{
	uint32_t at = 54, next = f->bytes[14 + 6];

	if (next == 0 && at + 8 <= f->first) {
		next = f->bytes[at];
		at += 8 + f->bytes[at + 1] * 8u;
	}
	if (next == 58 && at < f->first && f->bytes[at] >= 133 && f->bytes[at] <= 137)
		return BP_C_PUNT_ND;
	return other;
}

static struct outcome model6(const struct frame *f)
{
	const uint8_t *h = f->bytes + 14, *src = h + 8, *dst = h + 24;
	uint32_t total = 40 + get16(h + 4);
	const struct plain_route *t;

	if (f->first < 54 || h[0] >> 4 != 6 || 14 + total > f->len)
		return counted(BP_C_DROP_IP_HEADER);
	if (src[0] == 0xff)
		return counted(BP_C_DROP_MARTIAN);
	if (dst[0] == 0xff)
		return counted(local6(f, BP_C_PUNT_MULTICAST));
	if (martian6(src) || martian6(dst))
		return counted(BP_C_DROP_MARTIAN);
	t = longest(dst, 6);
	if (link_local6(dst) || is_local(t))
		return counted(local6(f, BP_C_PUNT_LOCAL));
	if (f->bytes[0] & 1)
		return counted(BP_C_DROP_MARTIAN);
	if (link_local6(src))
		return counted(BP_C_PUNT_SCOPE);
	return follow(t, bp_address6(dst), total, h[6] == 0, h[7]);
}

/* IEEE 802.1Q: removes the tag of a subinterface, whose frame it is then. Identifier 0 is only a
 * priority. */
static void untag(struct frame *f)
{
	const uint32_t id = get16(f->bytes + 14) & 0xfff;
	unsigned interface = id == 0 ? f->port : INTERFACES;

	for (unsigned i = 0; i < INTERFACES - PORTS; i++)
		if (vlan[i].port == f->port && vlan[i].id == id)
			interface = PORTS + i;
	if (f->first < 18 || get16(f->bytes + 12) != 0x8100 || interface == INTERFACES)
		return;
	memmove(f->bytes + 12, f->bytes + 16, f->len - 16);
	f->len -= 4;
	f->first -= 4;
	f->port = interface;
}

static struct outcome model(const struct frame *f)
{
	uint8_t mac[6];

	if (f->first < 14)
		return counted(BP_C_DROP_RUNT);
	port_mac(f->port, mac);
	if (!(f->bytes[0] & 1) && memcmp(f->bytes, mac, 6) != 0)
		return counted(BP_C_DROP_DST_MAC_MISMATCH);
	switch (get16(f->bytes + 12)) {
	case 0x0800:
		return model4(f);
	case 0x86dd:
		return model6(f);
	case 0x0806:
		return counted(BP_C_PUNT_ARP);
	case 0x8100:
	case 0x88a8:
		return counted(BP_C_PUNT_VLAN);
	default:
		return counted(BP_C_PUNT_ETHERTYPE);
	}
}

/* The frame as it leaves by one of its ways. */
static struct frame rewritten(const struct frame *f, unsigned port, const uint8_t mac[6])
{
	struct frame g = *f;
	uint8_t *h = g.bytes + 14;
	uint32_t end;

	memcpy(g.bytes, mac, 6);
	port_mac(port, g.bytes + 6);
	if (get16(g.bytes + 12) == 0x0800) {
		h[8]--;
		checksum4(h);
		end = 14 + get16(h + 2);
	} else {
		h[7]--;
		end = 54 + get16(h + 4);
	}
	if (end < 60)
		end = 60;
	if (g.len > end) /* only the packet continues, and what fills a short frame */
		g.len = end;
	if (port >= PORTS)
		insert_tag(&g, 0x8100, vlan[port - PORTS].id);
	return g;
}

/* ---- the comparison ---- */

static bool same(struct rte_mbuf *m, const struct frame *f)
{
	static uint8_t copy[FRAME_MAX + 4];
	uint32_t bytes = 0;
	uint16_t pieces = 0;

	for (const struct rte_mbuf *s = m; s; s = s->next, pieces++)
		bytes += s->data_len;
	assert_int_equal(bytes, m->pkt_len);
	assert_int_equal(pieces, m->nb_segs);
	return m->pkt_len == f->len &&
	       memcmp(rte_pktmbuf_read(m, 0, f->len, copy), f->bytes, f->len) == 0;
}

/* Takes from a ring the frame that must be its next but for those that came another way. */
static bool take(struct rte_ring *ring, const struct frame *want)
{
	unsigned n = rte_ring_count(ring);
	bool found = false;

	for (unsigned i = 0; i < n; i++) {
		void *m;

		assert_int_equal(rte_ring_dequeue(ring, &m), 0);
		if (!found && same(m, want)) {
			found = true;
			rte_pktmbuf_free(m);
		} else {
			assert_int_equal(rte_ring_enqueue(ring, m), 0);
		}
	}
	return found;
}

static bool left(struct rig *r, const struct frame *f, const struct outcome *o)
{
	for (unsigned k = 0; k < o->n_ways; k++) {
		const unsigned to = o->way[k].port;
		struct frame want = rewritten(f, to, o->way[k].mac);

		if (take(r->ports.out[to < PORTS ? to : vlan[to - PORTS].port], &want))
			return true;
	}
	return false;
}

/* The kernel finds a subinterface by the tag; priorities are not kept. */
static bool reached_kernel(struct rig *r, const struct frame *untagged)
{
	struct frame copy = *untagged;
	const struct frame *f = &copy;

	if (copy.port >= PORTS) {
		insert_tag(&copy, 0x8100, vlan[copy.port - PORTS].id);
		copy.port = vlan[copy.port - PORTS].port;
	}
	for (unsigned c = 0; c < BP_EX_CLASSES; c++) {
		if (take(r->exception->to_kernel[c][f->port], f)) {
			r->to_kernel++;
			return true;
		}
	}
	return false;
}

static void explain(const struct frame *f, const struct outcome *o)
{
	fprintf(stderr, "port %u, %u bytes, %u in the first buffer, expected: %s\n", f->port,
		f->len, f->first,
		o->counter == BP_C_COUNT ? "forwarded" : bp_counter_info[o->counter].name);
	for (uint32_t i = 0; i < f->len && i < 100; i++)
		fprintf(stderr, "%02x%s", f->bytes[i], i % 16 == 13 ? "\n" : " ");
	fprintf(stderr, "\n");
}

static void check(struct rig *r, struct frame *f, uint64_t counters[BP_C_COUNT])
{
	struct outcome o;
	bool ok = true;

	untag(f);
	o = model(f);
	if (o.counter == BP_C_COUNT) {
		/* of two ways one may be too narrow: then the kernel, or the other */
		ok = left(r, f, &o);
		if (!ok && o.n_ways == 1 && o.way[1].mac[0] != 0 && reached_kernel(r, f)) {
			counters[BP_C_PUNT_MTU_EXCEEDED]++;
			ok = true;
		} else {
			counters[f->bytes[12] == 0x08 ? BP_C_FORWARDED_IP4 : BP_C_FORWARDED_IP6]++;
		}
	} else {
		counters[o.counter]++;
		if (bp_counter_info[o.counter].group == BP_CG_PUNT_REASON)
			ok = reached_kernel(r, f);
	}
	if (!ok) {
		explain(f, &o);
		fail_msg("not where it should be");
	}
}

static void every_frame_is_forwarded_as_in_the_model(void **unused)
{
	static struct frame frames[BATCH_MAX];
	uint64_t counters[BP_C_COUNT] = {0};
	unsigned forwarded = 0;
	struct rig r;

	start(&r);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + rnd(BATCH_MAX);

		for (unsigned i = 0; i < n; i++) {
			make(&frames[i]);
			put(&r, &frames[i]);
		}
		rig_walk(&r);
		for (unsigned i = 0; i < n; i++)
			check(&r, &frames[i], counters);
		for (unsigned c = 0; c < BP_C_COUNT; c++)
			if (bp_counter_info[c].group != BP_CG_PUNTED &&
				rig_counter(&r, c) != counters[c])
				fail_msg("round %u: %s is %ju, not %ju", round,
					bp_counter_info[c].name, (uintmax_t)rig_counter(&r, c),
					(uintmax_t)counters[c]);
		for (unsigned p = 0; p < PORTS; p++)
			rig_expect_none(&r, p);
	}
	/* else the frames were not what was meant */
	forwarded = (unsigned)(counters[BP_C_FORWARDED_IP4] + counters[BP_C_FORWARDED_IP6]);
	assert_in_range(forwarded, ROUNDS, UINT32_MAX);
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].group == BP_CG_PUNT_REASON &&
			c != BP_C_PUNT_REDIRECT && /* not asked for */
			(c < BP_C_PUNT_PHD_SIGNALING ||
				c > BP_C_PUNT_PHD_RESPONSE)) /* no devices */
			assert_in_range(counters[c], 10, UINT32_MAX);
	rig_stop(&r);
}

/* BP_SEED=N: other frames than the ones that every run begins with. */
int main(void)
{
	const char *seed = getenv("BP_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_is_forwarded_as_in_the_model),
	};

	if (seed)
		state ^= strtoull(seed, NULL, 10) << 32;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
