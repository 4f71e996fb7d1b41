/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_WIRE_H
#define BP_BENCH_LCL_LCL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "bench/lcl/lcl_frames.h"

/*
 * A link between two gateways, in memory and in real time: a frame sent by a ring port (see
 * dataplane/ports/ring_ports.h) occupies the link from its transmission, or from the end of the
 * previous frame, for the duration of its bytes at the link rate, and arrives after its last byte.
 * So frames queue before an overloaded link, as in the TX queue of a NIC with BENCH_LCL_WIRE_DEPTH
 * descriptors; frames that do not fit are lost. There is no propagation delay.
 */
#define BENCH_LCL_WIRE_DEPTH 4096u /* a power of two */

struct bench_lcl_wire {
	struct rte_ring *ring; /* link rate of the port */
	uint64_t ps_per_byte;
	/* used by the worker */
	uint64_t free_ps;
	uint32_t head, tail;
	struct {
		struct rte_mbuf *m;
		uint64_t start_ns, end_ns;
	} on[BENCH_LCL_WIRE_DEPTH];
	uint64_t lost, bytes;
};

/*
 * Trailer in the last bytes of a time-sensitive frame, which neither labels nor headers use. Best
 * effort has zeros there.
 */
struct bench_lcl_trailer {
	uint64_t due_ns;  /* arrival at its first gateway */
	uint64_t wire_ns; /* time on links so far */
	uint32_t flow;
	uint32_t mark; /* BENCH_LCL_MARK */
};
#define BENCH_LCL_MARK 0x4c434c21u

/* Only for a frame in one segment. */
static inline struct bench_lcl_trailer *bench_lcl_trailer(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(
		m, struct bench_lcl_trailer *, m->data_len - sizeof(struct bench_lcl_trailer));
}

/* Call it before any other function. Terminates the process if there is no space in mbufs. */
void bench_lcl_wires(void);
/* Starts the link of `port`. Terminates the process on failure. */
void bench_lcl_wire_begin(
	struct bench_lcl_wire *w, uint16_t port, struct rte_ring *ring, uint64_t rate_bps);
/* The next frame that arrived by `now_ns`; the caller owns it; NULL: none. */
struct rte_mbuf *bench_lcl_wire_next(
	struct bench_lcl_wire *w, uint64_t now_ns, uint64_t *start_ns, uint64_t *end_ns);
/* Frees the frames on the link; returns their number. */
uint64_t bench_lcl_wire_end(struct bench_lcl_wire *w);

#endif
