/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_EXCEPTION_H
#define BP_DATAPLANE_EXCEPTION_EXCEPTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "biplane/exception.h"
#include "biplane/fib.h"
#include "biplane/counters.h"
#include "dataplane/wakeup.h"
#include "dataplane/ports/queue_plan.h"

struct bp_config;

/*
 * The exception path as seen by workers: bounded queues between the workers and the exception
 * thread, which alone communicates with the kernel (dataplane/exception/thread.h). A worker
 * enqueues frames that are not user data by their class, and dequeues the frames of the kernel from
 * its own queue. No call here waits, allocates or enters the kernel.
 *
 * The mbuf of a frame holds its interface (include/biplane/fib.h), which may differ from its port:
 * a frame for the host interface of a bridge arrived on a port. The field is shared with the drop
 * reason, so a frame that does not fit a queue gets the reason afterwards.
 */
struct bp_exception {
	/* Constant while workers run, except has[]: a kernel interface can be removed. */
	_Atomic bool has[BP_MAX_INTERFACES]; /* has a kernel interface */
	/*
	 * From all workers to the thread. Each class and interface has its own queue, so that a
	 * flood on one interface leaves the queues of others free. NULL if the configuration has no
	 * kernel interface.
	 */
	struct rte_ring *to_kernel[BP_EX_CLASSES][BP_MAX_INTERFACES];
	/* from the thread to a worker; by worker index */
	struct rte_ring *from_kernel[BP_MAX_WORKERS];
	unsigned n_workers;
	/* The worker that sends the frames from the kernel side of an interface. */
	uint8_t worker_of[BP_MAX_INTERFACES];
	/*
	 * Replay only, see bp_exception_stand_in(); otherwise NULL, and originated_counter is
	 * FROM_KERNEL.
	 */
	struct rte_ring *stand_in;
	bp_counter_t originated_counter; /* counter of the frames of from_kernel */
	/* by worker; NULL: it never sleeps */
	struct bp_wakeup *worker_wakeup[BP_MAX_WORKERS];
	/* of the exception thread; in a line of its own, since the thread writes it */
	struct bp_wakeup thread_wakeup __rte_cache_aligned;
};

#define BP_EXCEPTION_FROM_QUEUE 1024u /* frames from the kernel that are queued for one worker */

/*
 * Creates the queues without a kernel interface: every has[] is false until bp_kernel_ifs_open().
 * `plan` NULL (replay, tests): worker 0 serves all interfaces. Returns NULL on error, with a
 * message in `err`. EAL owns the memory of the rings.
 */
struct bp_exception *bp_exception_create(
	const struct bp_config *c, const struct bp_queue_plan *plan, char *err, size_t err_size);
/* Frees the queues and their frames. NULL is allowed. */
void bp_exception_free(struct bp_exception *x);

/*
 * Replay: a substitute for the kernel runs in the thread of the worker. Frames of classes phd and
 * local of an interface without a kernel side are enqueued in x->stand_in, with their interface,
 * instead of being dropped; the consumer of the ring counts them. Frames that it puts into
 * from_kernel[0] are counted as `originated_counter`. False: no memory.
 */
bool bp_exception_stand_in(struct bp_exception *x, bp_counter_t originated_counter);

/* Maximum number of mbufs in the queues and in reads from the kernel; 0 if no port is routed. */
uint32_t bp_exception_mbufs(const struct bp_config *c);

static inline void bp_exception_interface_set(struct rte_mbuf *m, unsigned interface)
{
	m->hash.fdir.hi = interface;
}
static inline unsigned bp_exception_interface(const struct rte_mbuf *m)
{
	return m->hash.fdir.hi;
}

/* Whether the interface has a kernel side. */
static inline bool bp_exception_has(const struct bp_exception *x, unsigned interface)
{
	return atomic_load_explicit(&x->has[interface], memory_order_relaxed);
}

/* Workers: called after bp_exception_put(), once for all frames of a burst. */
static inline void bp_exception_ring(struct bp_exception *x)
{
	bp_wakeup_ring(&x->thread_wakeup);
}

/*
 * Workers: enqueues as many of the first frames of `m` as fit; all are for one interface, which is
 * set in each and must have a queue. Returns their number. The caller still owns the other frames,
 * counts them as DROP_QUEUE_<class> and frees them. The exception thread counts the enqueued
 * frames: KERNEL_<class> or DROP_KERNEL_TX.
 */
static inline unsigned bp_exception_put(struct bp_exception *x, enum bp_exception_class class,
	unsigned interface, struct rte_mbuf **m, unsigned n)
{
	return rte_ring_enqueue_burst(x->to_kernel[class][interface], (void *const *)m, n, NULL);
}

/*
 * Workers: dequeues at most `n` frames from the kernel, complete Ethernet frames in their original
 * order. m->port is the output port; if the interface (bp_exception_interface()) is the host
 * interface of a bridge, m->port is BP_NO_PORT and the bridge selects the port. The worker counts
 * the frames as FROM_KERNEL.
 */
static inline unsigned bp_exception_take(
	struct bp_exception *x, unsigned worker, struct rte_mbuf **m, unsigned n)
{
	return rte_ring_dequeue_burst(x->from_kernel[worker], (void **)m, n, NULL);
}

#endif
