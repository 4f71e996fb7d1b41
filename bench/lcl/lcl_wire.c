/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl_wire.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_mbuf_dyn.h>

#include "bench/lcl/lcl_time.h"

#define BURST 64u

static int stamp_at; /* mbuf field: time of transmission, ns */

static uint64_t *stamp(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, stamp_at, uint64_t *);
}

void bench_lcl_wires(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "bench_lcl_handed_over", .size = sizeof(uint64_t), .align = 8};

	stamp_at = rte_mbuf_dynfield_register(&field);
	if (stamp_at < 0) {
		fprintf(stderr, "lcl_hops: no place for a time in mbufs\n");
		exit(1);
	}
}

static uint16_t on_send(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, void *arg)
{
	const uint64_t now = bench_lcl_now_ns();

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(arg);
	for (uint16_t i = 0; i < n; i++)
		*stamp(pkts[i]) = now;
	return n;
}

void bench_lcl_wire_begin(
	struct bench_lcl_wire *w, uint16_t port, struct rte_ring *ring, uint64_t rate_bps)
{
	w->ring = ring;
	w->ps_per_byte = 8 * 1000000000000ull / rate_bps;
	if (rte_eth_add_tx_callback(port, 0, on_send, NULL) == NULL) {
		fprintf(stderr, "lcl_hops: port %u takes no callback\n", port);
		exit(1);
	}
}

static void put_on(struct bench_lcl_wire *w, struct rte_mbuf *m)
{
	const uint64_t handed_ps = *stamp(m) * 1000;
	const uint32_t bytes = m->pkt_len + BP_LCL_LINK_OVERHEAD;

	if (w->tail - w->head == BENCH_LCL_WIRE_DEPTH) {
		w->lost++;
		rte_pktmbuf_free(m);
		return;
	}
	if (w->free_ps < handed_ps)
		w->free_ps = handed_ps;
	w->on[w->tail % BENCH_LCL_WIRE_DEPTH].m = m;
	w->on[w->tail % BENCH_LCL_WIRE_DEPTH].start_ns = w->free_ps / 1000;
	w->free_ps += bytes * w->ps_per_byte;
	w->on[w->tail++ % BENCH_LCL_WIRE_DEPTH].end_ns = w->free_ps / 1000;
	w->bytes += bytes;
}

struct rte_mbuf *bench_lcl_wire_next(
	struct bench_lcl_wire *w, uint64_t now_ns, uint64_t *start_ns, uint64_t *end_ns)
{
	struct rte_mbuf *m[BURST];
	const uint32_t at = w->head % BENCH_LCL_WIRE_DEPTH;

	if (w->head == w->tail || w->on[at].end_ns > now_ns) {
		const unsigned n = rte_ring_dequeue_burst(w->ring, (void **)m, BURST, NULL);

		for (unsigned i = 0; i < n; i++)
			put_on(w, m[i]);
		if (w->head == w->tail || w->on[at].end_ns > now_ns)
			return NULL;
	}
	*start_ns = w->on[at].start_ns;
	*end_ns = w->on[at].end_ns;
	w->head++;
	return w->on[at].m;
}

uint64_t bench_lcl_wire_end(struct bench_lcl_wire *w)
{
	uint64_t start, end, n = 0;
	struct rte_mbuf *m;

	for (; (m = bench_lcl_wire_next(w, UINT64_MAX, &start, &end)) != NULL; n++)
		rte_pktmbuf_free(m);
	return n;
}
