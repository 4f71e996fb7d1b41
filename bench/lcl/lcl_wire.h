/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_WIRE_H
#define BP_BENCH_LCL_LCL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "bench/lcl/lcl_frames.h"

/*
 * A link between two gateways, in memory and in real time: what a ring port sends (see
 * dataplane/ports/ring_ports.h) is on the wire from when it was handed over and the wire is free,
 * for as long as its bytes take, and has come when the last of them has. So frames wait for each
 * other before a wire that is given more than it carries, as in a card's queue of
 * BENCH_LCL_WIRE_DEPTH descriptors; what has no room there is lost. No propagation.
 */
#define BENCH_LCL_WIRE_DEPTH 4096u /* a power of two */

struct bench_lcl_wire {
	struct rte_ring *ring; /* the port's */
	uint64_t ps_per_byte;
	/* the worker's */
	uint64_t free_ps;
	uint32_t head, tail;
	struct {
		struct rte_mbuf *m;
		uint64_t start_ns, end_ns;
	} on[BENCH_LCL_WIRE_DEPTH];
	uint64_t lost, bytes;
};

/*
 * What a time-sensitive frame of the run has in its last bytes, where neither labels nor headers
 * come. Best effort has zeros there.
 */
struct bench_lcl_trailer {
	uint64_t due_ns;  /* when its first gateway got it */
	uint64_t wire_ns; /* how long it was on wires so far */
	uint32_t flow;
	uint32_t mark; /* BENCH_LCL_MARK */
};
#define BENCH_LCL_MARK 0x4c434c21u

/* Of a frame in one piece. */
static inline struct bench_lcl_trailer *bench_lcl_trailer(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(
		m, struct bench_lcl_trailer *, m->data_len - sizeof(struct bench_lcl_trailer));
}

/* Before any wire is. Ends the process when there is no place in mbufs. */
void bench_lcl_wires(void);
/* Begins one behind `port`. Ends the process when it cannot be. */
void bench_lcl_wire_begin(
	struct bench_lcl_wire *w, uint16_t port, struct rte_ring *ring, uint64_t rate_bps);
/* The next frame that has come by `now_ns`, which is the caller's; NULL: none. */
struct rte_mbuf *bench_lcl_wire_next(
	struct bench_lcl_wire *w, uint64_t now_ns, uint64_t *start_ns, uint64_t *end_ns);
/* Frees what is on it; how many frames. */
uint64_t bench_lcl_wire_end(struct bench_lcl_wire *w);

#endif
