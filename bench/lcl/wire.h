/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_WIRE_H
#define BP_BENCH_LCL_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

#include <rte_ethdev.h>

/*
 * Rate generator: offers frames at a constant rate to a receive ring of BENCH_WIRE_RING descriptors
 * (as many as biplane configures); frames that arrive while the ring is full are lost, as on a NIC.
 * It is a receive callback of a device that receives nothing itself. Its clock is the CPU time of
 * the worker: while the worker is descheduled, no frames arrive.
 */
#define BENCH_WIRE_RING 1024u

struct bench_wire {
	_Atomic double rate;   /* frames/s */
	const uint8_t *frames; /* n templates with a distance of `stride`, each `len` bytes */
	uint32_t n, stride, len;
	struct rte_mempool *pool;
	/* used by the worker */
	uint32_t next;
	uint32_t calls;
	uint64_t last_ns; /* CPU time at the last read of the clock; 0: none yet */
	double parts;     /* fraction of a frame */
	uint32_t waiting; /* frames in the ring */
	_Atomic uint64_t offered, lost;
	_Atomic uint64_t no_mbuf; /* frames that stayed in the ring for lack of mbufs */
};

/* Adds the frames that arrived since the last read of the clock, which is a system call. */
void bench_wire_look(struct bench_wire *w);
uint16_t bench_wire_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
