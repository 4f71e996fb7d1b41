/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/aggregation/agg_traffic.h"

#include "bench/aggregation/agg_frames.h"
#include "bench/harness/checksum.h"
#include "bench/harness/random_address.h"
#include "proto/aggregation/agg_full.h"
#include "proto/net/crc32c.h"
#include "proto/net/frame.h"

/* Updates a UDP checksum; 0 would mean no checksum (RFC 768). */
static inline void udp_sum_move(uint8_t *frame, uint64_t change)
{
	uint8_t *p = frame + BENCH_AT_UDP_SUM;

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

uint16_t bench_agg_servers_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_agg_servers *s = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++)
		bench_random_address(rte_pktmbuf_mtod(pkts[i], uint8_t *), BENCH_AT_DST,
			BENCH_AGG_STREAMS, s->n, &s->seed);
	return n;
}
