/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_THREAD_H
#define BP_DATAPLANE_EXCEPTION_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "biplane/counters.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/kernel_if.h"

struct bp_config_punt;

/*
 * The exception thread communicates with the kernel, so that no worker has to. It is not an lcore:
 * DPDK runs it on the CPUs without an lcore or, if there is none, on the CPU of the main thread,
 * which is almost always idle. It sleeps until the kernel sends a frame or a worker rings, at most
 * 100 ms. While frames wait for their rate limit, or the kernel side has no descriptor (virtio), it
 * polls every 50 us after activity, every 500 us when idle.
 */
struct bp_exception_thread;

/*
 * `interface` [BP_MAX_INTERFACES] by number, NULL: none; the caller keeps ownership, and they must
 * stay open until the thread is stopped or releases them. `counters`: a row that only this thread
 * writes. Returns NULL on error, with a message in `err`.
 */
struct bp_exception_thread *bp_exception_thread_start(struct bp_exception *x,
	struct bp_kernel_if *const *interface, const struct bp_config_punt *config,
	struct bp_counters *counters, char *err, size_t err_size);
/*
 * Whether the thread no longer uses the interface, because it was removed: the caller may close it,
 * and give another one with bp_exception_thread_replace(). `gone`: the caller found it removed; the
 * thread releases it soon. Both functions are for one thread, the one that started this one.
 */
bool bp_exception_thread_released(struct bp_exception_thread *t, unsigned interface, bool gone);
/* Gives the thread an interface in place of the one that it released. */
void bp_exception_thread_replace(
	struct bp_exception_thread *t, unsigned interface, struct bp_kernel_if *k);

/* Number of rounds: the heartbeat for the main thread. */
uint64_t bp_exception_thread_rounds(const struct bp_exception_thread *t);
/*
 * Called after the workers have ended: writes the frames queued for the kernel, counts the frames
 * queued for workers, and frees the thread. NULL is allowed.
 */
void bp_exception_thread_stop(struct bp_exception_thread *t);

#endif
