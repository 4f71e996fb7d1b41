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
#include "dataplane/ports/queue_plan.h"

struct bp_config;

/*
 * The exception path, as workers see it: bounded queues between them and the exception thread,
 * which alone talks to the kernel (dataplane/exception/thread.h). A worker puts what is not user
 * data into the queue of its class, and takes what the kernel sent out of its own queue. No call
 * here waits, allocates or enters the kernel.
 *
 * Which interface (include/biplane/fib.h) a frame is for, or came from, travels in its mbuf; that
 * is not always its port's: a frame for a bridge's host interface came in on a port. It shares its
 * place with the reason of a drop, so a frame that finds no room gets the reason afterwards.
 */
struct bp_exception {
	/* Fixed while workers run, but for has[]: a kernel interface can be removed. */
	_Atomic bool has[BP_MAX_INTERFACES]; /* has a kernel interface */
	/* Many workers in, the thread out: a queue of its own for each class and interface, so that
	 * a flood on one leaves the others theirs. NULL where the configuration has no kernel
	 * interface. */
	struct rte_ring *to_kernel[BP_EX_CLASSES][BP_MAX_INTERFACES];
	struct rte_ring *from_kernel[BP_MAX_WORKERS]; /* the thread in, the worker out; by index */
	unsigned n_workers;
	/* Which worker sends what an interface's kernel side sent. */
	uint8_t worker_of[BP_MAX_INTERFACES];
	/* Replay, see bp_exception_stand_in(); else NULL, and FROM_KERNEL. */
	struct rte_ring *stand_in;
	bp_counter_t originated_counter; /* what the frames of from_kernel are counted as */
};

#define BP_EXCEPTION_FROM_QUEUE 1024u /* frames from the kernel that wait for one worker */

/*
 * Makes the queues, without any kernel interface: every has[] is false until
 * bp_kernel_ifs_open(). `plan` NULL (replay, tests): worker 0 serves all. Returns NULL with a
 * sentence. Ring memory is EAL's.
 */
struct bp_exception *bp_exception_create(
	const struct bp_config *c, const struct bp_queue_plan *plan, char *err, size_t err_size);
/* Frees what is still in the queues, too. NULL is allowed. */
void bp_exception_free(struct bp_exception *x);

/*
 * Replay: somebody in the worker's own thread stands in for the kernel. Frames of classes phd and
 * local of an interface that has no kernel side go to the ring x->stand_in, with their interface,
 * instead of being dropped; who takes them counts them. What he puts into from_kernel[0] is counted
 * as `originated_counter`. False: no memory.
 */
bool bp_exception_stand_in(struct bp_exception *x, bp_counter_t originated_counter);

/* mbufs that the queues, and reading from the kernel, can hold at most; 0 when nothing routes. */
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

/*
 * Workers: hands over the first frames of `m`, all for one interface, that there is room for; each
 * was given its interface, which must have a queue. Returns how many: of the others the caller
 * stays the owner, counts them as DROP_QUEUE_<class> and frees them. What was taken is counted by
 * the exception thread: KERNEL_<class> or DROP_KERNEL_TX.
 */
static inline unsigned bp_exception_put(struct bp_exception *x, enum bp_exception_class class,
	unsigned interface, struct rte_mbuf **m, unsigned n)
{
	return rte_ring_enqueue_burst(x->to_kernel[class][interface], (void *const *)m, n, NULL);
}

/*
 * Workers: takes at most `n` frames that the kernel sent, whole Ethernet frames in the order in
 * which it sent them. m->port is the port to leave by; where the interface
 * (bp_exception_interface()) is a bridge's host interface, m->port is BP_NO_PORT and the bridge
 * decides. The worker counts them as FROM_KERNEL.
 */
static inline unsigned bp_exception_take(
	struct bp_exception *x, unsigned worker, struct rte_mbuf **m, unsigned n)
{
	return rte_ring_dequeue_burst(x->from_kernel[worker], (void **)m, n, NULL);
}

#endif
