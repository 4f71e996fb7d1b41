/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/wire.h"

#include <time.h>

#include <rte_memcpy.h>

#define CLOCK_CALLS 16u /* polls between two reads of the clock, which is a system call */

static uint64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed);
}

void bench_wire_look(struct bench_wire *w)
{
	const uint64_t now = cpu_now_ns();
	const double due =
		w->parts + (w->last_ns != 0 ? (double)(now - w->last_ns) : 0) * w->rate / 1e9;
	const uint64_t came = (uint64_t)due;
	const uint32_t room = BENCH_WIRE_RING - w->waiting;

	w->last_ns = now;
	w->parts = due - (double)came;
	add(&w->offered, came);
	if (came > room)
		add(&w->lost, came - room);
	w->waiting += came > room ? room : (uint32_t)came;
}

uint16_t bench_wire_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_wire *w = arg;
	uint16_t taken;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	if (w->calls++ % CLOCK_CALLS == 0)
		bench_wire_look(w);
	taken = RTE_MIN(w->waiting, (uint32_t)(max - n));
	if (taken == 0)
		return n;
	if (rte_pktmbuf_alloc_bulk(w->pool, pkts + n, taken) != 0) {
		add(&w->no_mbuf, taken);
		return n;
	}
	for (uint16_t i = n; i < n + taken; i++) {
		rte_memcpy(rte_pktmbuf_mtod(pkts[i], void *),
			w->frames + (size_t)w->next * w->stride, w->len);
		pkts[i]->data_len = (uint16_t)w->len;
		pkts[i]->pkt_len = w->len;
		pkts[i]->port = port;
		w->next = w->next + 1 == w->n ? 0 : w->next + 1;
	}
	w->waiting -= taken;
	return (uint16_t)(n + taken);
}
