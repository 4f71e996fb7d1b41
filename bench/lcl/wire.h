/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_WIRE_H
#define BP_BENCH_LCL_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

#include <rte_ethdev.h>

/*
 * A wire that brings frames at a steady rate into a receive ring of BENCH_WIRE_RING descriptors:
 * what comes while the ring is full is lost, as at a network card. (So many biplane asks a driver
 * for.) It is a receive callback of a device that receives nothing itself. Its clock is the
 * worker's processor time: while others have the core nothing comes.
 */
#define BENCH_WIRE_RING 1024u

struct bench_wire {
	_Atomic double rate;   /* frames a second */
	const uint8_t *frames; /* n templates, `stride` apart, each `len` bytes */
	uint32_t n, stride, len;
	struct rte_mempool *pool;
	/* the worker's */
	uint32_t next;
	uint32_t calls;
	uint64_t last_ns; /* processor time at the last check of the clock; 0: none yet */
	double parts;     /* of a frame */
	uint32_t waiting; /* frames in the ring */
	_Atomic uint64_t offered, lost;
	_Atomic uint64_t no_mbuf; /* frames that stayed in the ring without mbufs */
};

/* Puts into the ring what came since the last check of the clock, which enters the kernel. */
void bench_wire_look(struct bench_wire *w);
uint16_t bench_wire_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
