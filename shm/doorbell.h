/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_DOORBELL_H
#define BP_SHM_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ring.h"

/*
 * How a worker wakes the control plane after it has written records to a ring: a named pipe in the
 * data plane's directory, which stays when either plane restarts. As with a doorbell register of a
 * device and the notification suppression of virtio, the worker writes to the pipe only while the
 * control plane says in the segment that it sleeps, and once for each sleep.
 *
 * The word is the control plane's: odd while it sleeps, incremented at the beginning and the end of
 * each sleep. An invalid value costs one system call for each burst that wrote records, or delays
 * the control plane until its next timer.
 */
#define BP_DOORBELL_RINGS 2

struct bp_doorbell {
	int fd; /* -1: none; the control plane examines its rings by timer */
	unsigned n;
	const _Atomic uint64_t *sleeps;
	uint64_t rung; /* the sleep for which it was rung last */
	struct {
		const struct bp_ring *ring;
		uint64_t head; /* the records before it were announced */
	} of[BP_DOORBELL_RINGS];
};

/* Data plane: creates the pipe, or opens the existing one. The descriptor, or -1 with a
 * sentence. */
int bp_doorbell_create(const char *runtime_dir, const char *name, char *err, size_t err_size);
/* Control plane: opens the pipe of the data plane, for reading. The descriptor, or -1 with errno
 * (ENOENT: no data plane has created it; EINVAL: not a pipe). */
int bp_doorbell_open(const char *runtime_dir, const char *name);
/* Whether `fd` is still the pipe of this name. */
bool bp_doorbell_same(int fd, const char *runtime_dir, const char *name);
/* The path of the pipe. 0, or -1: too long. */
int bp_doorbell_path(const char *runtime_dir, const char *name, char *path, size_t size);

/* Worker: rings for the records of this ring from now on. */
void bp_doorbell_watch(struct bp_doorbell *d, const struct bp_ring *ring);
void bp_doorbell_ring(struct bp_doorbell *d);

/* Worker, after a burst: rings if records were written since the last call, and the control plane
 * sleeps. */
static inline void bp_doorbell_check(struct bp_doorbell *d)
{
	uint64_t news = 0;

	for (unsigned i = 0; i < d->n; i++) {
		news |= d->of[i].ring->head ^ d->of[i].head;
		d->of[i].head = d->of[i].ring->head;
	}
	if (__builtin_expect(news != 0, 0))
		bp_doorbell_ring(d);
}

/*
 * Control plane: begins a sleep, or ends it. After bp_doorbell_sleep() it examines the rings once
 * more: a record that it does not see then will ring.
 */
static inline void bp_doorbell_sleep(_Atomic uint64_t *sleeps)
{
	const uint64_t n = atomic_load_explicit(sleeps, memory_order_relaxed);

	atomic_store_explicit(sleeps, n + 1 + (n & 1), memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

static inline void bp_doorbell_wake(_Atomic uint64_t *sleeps)
{
	const uint64_t n = atomic_load_explicit(sleeps, memory_order_relaxed);

	if (n & 1)
		atomic_store_explicit(sleeps, n + 1, memory_order_relaxed);
}

#endif
