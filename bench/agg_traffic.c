/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/agg_traffic.h"

#include <stdlib.h>

#include "bench/agg_frames.h"
#include "bench/checksum.h"
#include "proto/agg_full.h"
#include "proto/crc32c.h"

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

void bench_agg_servers_init(struct bench_agg_servers *s, uint32_t n)
{
	uint64_t seed = 20180625;

	*s = (struct bench_agg_servers){.n = n, .address = calloc(n, sizeof(*s->address))};
	if (s->address == NULL)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)((seed >> 33) % (i + 1)); /* shuffles as it goes (Knuth) */
		s->address[i] = s->address[k];
		s->address[k] = __builtin_bswap32(BENCH_AGG_STREAMS + i);
	}
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
		const uint64_t change =
			bench_replace32(frame + BENCH_AGG_AT_DST, s->address[s->next]);

		s->next = s->next + 1 == s->n ? 0 : s->next + 1;
		bench_sum_move(frame + BENCH_AGG_AT_IP_SUM, change);
		udp_sum_move(frame, change);
	}
	return n;
}
