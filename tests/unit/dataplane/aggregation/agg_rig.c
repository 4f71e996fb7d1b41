/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* The sum of 16-bit words, the last one filled up with 0 (RFC 1071). */
static uint32_t sum16(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

struct udp agg_message(unsigned i)
{
	static char src[64][32], payload[64][AGG_PAYLOAD + 1];
	struct udp u = {.dst = "10.1.0.9",
		.src_mac = 1,
		.dst_mac = 2,
		.sport = (uint16_t)(40000 + i),
		.dport = 5555,
		.hops = 64,
		.df = true,
		.len = AGG_PAYLOAD};

	snprintf(src[i % 64], sizeof(src[0]), "10.0.0.%u", 1 + i % 200);
	snprintf(payload[i % 64], sizeof(payload[0]), "message %08u", i);
	u.src = src[i % 64];
	u.payload = payload[i % 64];
	return u;
}

static uint32_t put_ethernet(const struct udp *u, bool six, uint8_t *f)
{
	uint32_t at = 12;

	memset(f, 0, 12);
	f[0] = f[6] = 0x02;
	f[5] = u->dst_mac;
	f[11] = u->src_mac;
	for (unsigned i = 0; i < 2; i++) {
		if (u->vlan[i] == 0)
			continue;
		put16(f + at, i == 0 && u->vlan[1] != 0 ? 0x88a8 : 0x8100);
		put16(f + at + 2, u->vlan[i]);
		at += 4;
	}
	put16(f + at, six ? 0x86dd : 0x0800);
	return at + 2;
}

static uint32_t put_ip4(const struct udp *u, uint8_t *ip)
{
	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = u->tos;
	put16(ip + 2, 28 + u->len);
	put16(ip + 6, u->df ? 0x4000 : 0);
	ip[8] = u->hops;
	ip[9] = 17;
	assert_int_equal(inet_pton(AF_INET, u->src, ip + 12), 1);
	assert_int_equal(inet_pton(AF_INET, u->dst, ip + 16), 1);
	put16(ip + 10, (uint16_t)~folded(sum16(ip, 20, 0)));
	return 20;
}

static uint32_t put_ip6(const struct udp *u, uint8_t *ip)
{
	memset(ip, 0, 40);
	ip[0] = (uint8_t)(0x60 | u->tos >> 4);
	ip[1] = (uint8_t)(u->tos << 4);
	put16(ip + 4, 8 + u->len);
	ip[6] = 17;
	ip[7] = u->hops;
	assert_int_equal(inet_pton(AF_INET6, u->src, ip + 8), 1);
	assert_int_equal(inet_pton(AF_INET6, u->dst, ip + 24), 1);
	return 40;
}

/* Over addresses, protocol and UDP. */
static uint32_t udp_sum(const uint8_t *ip, const uint8_t *udp, uint32_t n)
{
	const bool six = ip[0] >> 4 == 6;

	return sum16(udp, n, sum16(ip + (six ? 8 : 12), six ? 32 : 8, 17 + n));
}

uint32_t agg_frame(const struct udp *u, uint8_t f[UDP_FRAME_MAX])
{
	const bool six = strchr(u->src, ':') != NULL;
	const uint32_t l3 = put_ethernet(u, six, f);
	const uint32_t l4 = l3 + (six ? put_ip6(u, f + l3) : put_ip4(u, f + l3));
	uint16_t check;

	put16(f + l4, u->sport);
	put16(f + l4 + 2, u->dport);
	put16(f + l4 + 4, 8 + u->len);
	put16(f + l4 + 6, 0);
	memcpy(f + l4 + 8, u->payload, u->len);
	check = (uint16_t)~folded(udp_sum(f + l3, f + l4, 8 + u->len));
	if (!u->no_checksum)
		put16(f + l4 + 6, (check ? check : 0xffffu) + u->wrong);
	return l4 + 8 + u->len;
}

void agg_put_udp(struct rig *r, unsigned port, const struct udp *u)
{
	uint8_t f[UDP_FRAME_MAX];

	rig_put(r, port, f, agg_frame(u, f));
}

void agg_put(struct rig *r, unsigned port, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct udp u = agg_message(i);

		agg_put_udp(r, port, &u);
	}
}

void agg_expect_udp(struct rig *r, unsigned port, const struct udp *u)
{
	uint8_t f[UDP_FRAME_MAX];

	rig_expect(r, port, f, agg_frame(u, f));
}

void agg_expect(struct rig *r, unsigned port, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct udp u = agg_message(i);

		agg_expect_udp(r, port, &u);
	}
}

void agg_take(struct rig *r, unsigned port, struct agg_seen *s)
{
	struct rte_mbuf *m = bp_ring_ports_take(&r->ports, port);
	struct agg_seen unused;
	const uint8_t *ip, *udp;
	uint32_t total;

	assert_non_null(m);
	s = s ? s : &unused;
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->data_len, m->pkt_len);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(m->port, m->port & 0x1f);
	assert_true(m->pkt_len <= UDP_FRAME_MAX);
	s->len = m->pkt_len;
	memcpy(s->frame, rte_pktmbuf_mtod(m, void *), s->len);
	rte_pktmbuf_free(m);

	s->l3 = 14;
	while (s->frame[s->l3 - 2] == 0x81 || s->frame[s->l3 - 2] == 0x88)
		s->l3 += 4;
	ip = s->frame + s->l3;
	s->family = ip[0] >> 4;
	if (s->family == 4) {
		assert_int_equal(folded(sum16(ip, 20, 0)), 0xffff);
		total = (uint32_t)ip[2] << 8 | ip[3];
		s->tos = ip[1];
		s->hops = ip[8];
		udp = ip + 20;
	} else {
		total = 40 + ((uint32_t)ip[4] << 8 | ip[5]);
		s->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
		s->hops = ip[7];
		udp = ip + 40;
	}
	assert_int_equal(s->l3 + total, s->len);
	assert_int_equal(udp[4] << 8 | udp[5], s->frame + s->len - udp);
	assert_int_equal(folded(udp_sum(ip, udp, (uint32_t)(s->frame + s->len - udp))), 0xffff);
	s->payload = udp + 8;
	assert_int_equal(bp_agg_full_read(s->payload, (size_t)(s->frame + s->len - s->payload),
				 s->family, &s->head, s->message, BP_AGG_FULL_MOST),
		BP_AGG_FULL_OK);
}

void agg_take_of(struct rig *r, unsigned port, struct agg_seen *s, unsigned first, unsigned n)
{
	struct agg_seen here;

	s = s ? s : &here;
	agg_take(r, port, s);
	assert_int_equal(s->head.count, n);
	for (unsigned i = 0; i < n; i++) {
		const struct udp u = agg_message(first + i);
		const struct bp_agg_message *m = &s->message[i];
		uint8_t src[4];

		assert_int_equal(inet_pton(AF_INET, u.src, src), 1);
		assert_memory_equal(m->from.addr, src, sizeof(src));
		assert_int_equal(m->from.port, u.sport);
		assert_int_equal(m->from.hops, u.hops);
		assert_int_equal(m->len, u.len);
		assert_memory_equal(s->payload + m->offset, u.payload, u.len);
	}
}

void agg_unpace(struct rig *r)
{
	struct bp_agg_rules rules = bp_config_aggregation(r->config)->rules;

	rules.disaggregate[0].gap_ns = 0;
	bp_seqlock_write(&r->shm.agg.plan->lock, &rules, sizeof(rules));
}

void agg_pass(struct rig *r, uint64_t ns)
{
	r->worker->mono_ns += ns;
	r->worker->now_ns += ns;
}
