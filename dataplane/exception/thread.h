/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_THREAD_H
#define BP_DATAPLANE_EXCEPTION_THREAD_H

#include <stddef.h>

#include "biplane/counters.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/kernel_if.h"

struct bp_config_punt;

/*
 * The exception thread: the one that talks to the kernel, so that no worker does. It is no lcore:
 * DPDK runs it on the CPUs that no lcore has, or, where there is none, on the main thread's, which
 * sleeps nearly always. It sleeps until the kernel sends something, and looks at the workers'
 * queues every 50 us after activity, every 500 us when idle.
 */
struct bp_exception_thread;

/*
 * `interface` [BP_MAX_INTERFACES] by number, NULL: none; they stay the caller's and open until the
 * thread was stopped. `counters`: a row that this thread alone writes. Returns NULL with a
 * sentence.
 */
struct bp_exception_thread *bp_exception_thread_start(struct bp_exception *x,
	struct bp_kernel_if *const *interface, const struct bp_config_punt *config,
	struct bp_counters *counters, char *err, size_t err_size);
/* Grows while it goes round: its life sign for the main thread. */
uint64_t bp_exception_thread_rounds(const struct bp_exception_thread *t);
/* After the workers have ended: delivers what waits for the kernel, counts what waits for workers,
 * and frees. NULL is allowed. */
void bp_exception_thread_stop(struct bp_exception_thread *t);

#endif
