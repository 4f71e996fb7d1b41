/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/agg_traffic.h"

#include "bench/agg_frames.h"
#include "bench/checksum.h"
#include "proto/agg_full.h"
#include "proto/crc32c.h"
#include "proto/frame.h"

/* A UDP checksum after a change: 0 would say that there is none (RFC 768). */
static inline void udp_sum_move(uint8_t *frame, uint64_t change)
{
	uint8_t *p = frame + BENCH_AGG_AT_UDP_SUM;

	bench_sum_move(p, change);
	if (unlikely(bp_be16(p) == 0))
		bp_put_be16(p, 0xffff);
}

uint16_t bench_agg_sequence_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_agg_sequence *s = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(pkts[i], uint8_t *);
		uint8_t *p = frame + BENCH_AGG_AT_PAYLOAD;
		const size_t directory = bp_be16(p + BP_AGG_FULL_AT_DIRECTORY);
		uint64_t change;
		uint32_t crc;

		change = bench_replace32(p + BP_AGG_FULL_AT_SEQUENCE, __builtin_bswap32(s->next++));
		crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);
		crc = ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
		change += bench_replace32(p + BP_AGG_FULL_AT_CHECKSUM, __builtin_bswap32(crc));
		udp_sum_move(frame, change);
	}
	return n;
}

/* RFC 1624, eqn. 3, for a change of 16 bits. As in udp_sum_move(), none may become 0. */
static inline void sum_move16(uint8_t *p, uint32_t change)
{
	uint32_t s;
	uint16_t sum;

	memcpy(&sum, p, 2);
	s = change + (uint16_t)~sum;
	sum = (uint16_t) ~((s & 0xffff) + (s >> 16));
	sum = sum != 0 ? sum : 0xffff;
	memcpy(p, &sum, 2);
}

uint16_t bench_agg_servers_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_agg_servers *s = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(pkts[i], uint8_t *);
		uint32_t to, change;

		/* Knuth's; its upper half is the better one */
		s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
		to = (uint32_t)((s->seed >> 32) * s->n >> 32);
		bp_put_be32(frame + BENCH_AGG_AT_DST, BENCH_AGG_STREAMS + to);
		/* the server's last two octets are the only ones that change */
		change = __builtin_bswap16((uint16_t)to) +
			 __builtin_bswap16((uint16_t)~BENCH_AGG_SERVER);
		change = (change & 0xffff) + (change >> 16);
		sum_move16(frame + BENCH_AGG_AT_IP_SUM, change);
		sum_move16(frame + BENCH_AGG_AT_UDP_SUM, change);
	}
	return n;
}
