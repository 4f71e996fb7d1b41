/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd_cse.h"

#include "proto/net/ip.h"

#define CSE_PORT 5683u
#define UDP_HEADER 8u
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_COAP (AT_UDP + UDP_HEADER)
#define AT_TOKEN (AT_COAP + 4)
#define AT_OPTIONS (AT_TOKEN + 8)
#define CON_TOKEN8 0x48
#define ACK_TOKEN8 0x68
#define POST 0x02
#define CREATED 0x41
#define ANSWER (sizeof(options) + 12)

/*
 * The options of a response with rcn=0: Content-Format 50, originating time stamp (259), release
 * (271), request identifier (283), response status code 2001 (307). The identifier is the token in
 * hexadecimal.
 */
static const uint8_t options[] = {0xc1, 0x32, 0xdd, 0xea, 0x09, '2', '0', '2', '6', '1', '1', '2',
	'1', 'T', '0', '1', '3', '2', '4', '8', ',', '2', '9', '0', '4', '6', '8', 0xc1, '4', 0xcd,
	0x03, '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', 0xd2,
	0x0b, 0x07, 0xd1};
#define AT_IDENTIFIER (AT_OPTIONS + 31)

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
	uint8_t keep[6];

	memcpy(keep, a, n);
	memcpy(a, b, n);
	memcpy(b, keep, n);
}

static void write_identifier(uint8_t *p)
{
	static const char digit[] = "0123456789abcdef";

	for (unsigned i = 0; i < 8; i++) {
		p[AT_IDENTIFIER + 2 * i] = (uint8_t)digit[p[AT_TOKEN + i] >> 4];
		p[AT_IDENTIFIER + 2 * i + 1] = (uint8_t)digit[p[AT_TOKEN + i] & 15];
	}
}

/* Sets the lengths and checksums of a datagram with `len` bytes of payload. */
static void seal(uint8_t *p, uint32_t len)
{
	uint8_t *ip = p + BP_ETHER_HDR, *udp = p + AT_UDP;
	uint64_t sum = (uint64_t)BP_PROTO_UDP << 8;
	uint16_t folded;

	bp_put_be16(ip + BP_IP4_TOTAL, (uint16_t)(BP_IP4_HDR + UDP_HEADER + len));
	memset(ip + 10, 0, 2);
	folded = (uint16_t)~bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0));
	memcpy(ip + 10, &folded, 2);
	bp_put_be16(udp + 4, (uint16_t)(UDP_HEADER + len));
	memset(udp + 6, 0, 2);
	sum += (uint64_t)__builtin_bswap16((uint16_t)(UDP_HEADER + len));
	folded = (uint16_t)~bp_sum_fold(bp_sum(ip + BP_IP4_SRC, 8 + UDP_HEADER + len, sum));
	if (folded == 0)
		folded = 0xffff;
	memcpy(udp + 6, &folded, 2);
}

static bool answer(struct rte_mbuf *m)
{
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	if (m->data_len < AT_OPTIONS || p[BP_ETHER_HDR + BP_IP4_PROTOCOL] != BP_PROTO_UDP ||
		bp_be16(p + AT_UDP + 2) != CSE_PORT || p[AT_COAP] != CON_TOKEN8 ||
		p[AT_COAP + 1] != POST)
		return false;
	/* to the sender: the next hop's addresses are those of our own port */
	swap(p, p + 6, 6);
	swap(p + BP_ETHER_HDR + BP_IP4_SRC, p + BP_ETHER_HDR + BP_IP4_DST, 4);
	swap(p + AT_UDP, p + AT_UDP + 2, 2);
	p[AT_COAP] = ACK_TOKEN8;
	p[AT_COAP + 1] = CREATED;
	memcpy(p + AT_OPTIONS, options, sizeof(options));
	write_identifier(p);
	m->data_len = AT_COAP + ANSWER;
	m->pkt_len = AT_COAP + ANSWER;
	seal(p, ANSWER);
	return true;
}

uint16_t bench_phd_cse_tx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, void *arg)
{
	struct bench_phd_cse *c = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	for (uint16_t i = 0; i < n; i++) {
		if (answer(pkts[i]))
			c->stored++;
		else
			c->others++;
	}
	return n;
}
