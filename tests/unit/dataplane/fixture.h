/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_FIXTURE_H
#define BP_TESTS_UNIT_DATAPLANE_FIXTURE_H

#include "dataplane/exception/exception.h"
#include "dataplane/workers/graph.h"
#include "dataplane/forwarding/fdb.h"
#include "dataplane/ports/ring_ports.h"
#include "dataplane/process/stats.h"
#include "dataplane/workers/workers.h"
#include "shm/fib/fib_writer.h"

/* A worker with its graph between ports in memory. */
struct rig {
	struct bp_config *config;
	struct bp_shm shm;
	struct rte_mempool *pool;
	struct bp_ring_ports ports;
	struct bp_fdb fdb;
	struct bp_worker *worker;
	unsigned in_pool; /* buffers that are free when no frame is under way */
	unsigned
		unconnected; /* frames that take an edge that is in no table, as the test expects */
	/* when something routes */
	struct bp_fib_writer *writer;
	struct bp_exception *exception; /* no interface has a kernel side until has[] says so */
	uint64_t to_kernel;             /* frames that the test took out of it */
	/*
	 * rig_put() puts frames in with buffers of these bytes: the first, and each further one.
	 * 0, 0: each as full as it can be. rig_start() sets 1, 20 if BP_RIG_SPLIT is set.
	 */
	uint32_t first_bytes, more_bytes;
};

#define RIG_DEPTH 64 /* of each ring; it holds one less */
#define RIG_MBUFS 1023
#define RIG_ROOM 2048 /* bytes of a buffer, headroom included */

/* `yaml`: a configuration. partial, qinq: as of a driver that does so, on every port. */
void rig_start(struct rig *r, const char *yaml, bool partial, bool qinq);
/* The same, of ordinary drivers; `change` may alter the configuration before it is used. */
void rig_start_changed(
	struct rig *r, const char *yaml, void (*change)(struct bp_config *c, void *arg), void *arg);
/* Also checks that no buffer was lost, that the sum rx + originated = tx + drops + punted +
 * terminated holds, and that nodes took edges of their tables only. */
void rig_stop(struct rig *r);

void rig_put(struct rig *r, unsigned port, const void *data, uint32_t len);
void rig_put_flags(struct rig *r, unsigned port, const void *data, uint32_t len, uint64_t ol_flags);
/* As of a device that does so, on every port: BP_RX_F_*. */
void rig_rx_flags(struct rig *r, uint16_t flags);
void rig_walk(struct rig *r);
/* The next frame that left by `port` must be exactly this. */
void rig_expect(struct rig *r, unsigned port, const void *data, uint32_t len);
void rig_expect_none(struct rig *r, unsigned port);
/* The next frame in the queue of that class must be exactly this, for that interface. */
void rig_expect_kernel(struct rig *r, enum bp_exception_class class, unsigned interface,
	const void *data, uint32_t len);
uint64_t rig_counter(const struct rig *r, bp_counter_t c);

/* An Ethernet frame of `len` bytes from and to stations 02:00:00:00:00:NN; the rest counts up. */
void frame_make(uint8_t *f, uint32_t len, uint8_t src, uint8_t dst, uint16_t type);

#endif
