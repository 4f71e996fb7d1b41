/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WAKEUP_H
#define BP_DATAPLANE_WAKEUP_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * Wakes a thread of this process that sleeps until it has work. The sleeper calls
 * bp_wakeup_prepare(), then checks all its sources of work once more, and then waits until `fd` is
 * readable, unless it found work. A producer enqueues its work, and then calls bp_wakeup_ring().
 * Both sides have a full fence between their store and their load: either the sleeper finds the
 * work, or the producer finds the sleeper. A producer makes a system call only if the thread
 * sleeps, and only the first one does.
 */
struct bp_wakeup {
	_Atomic uint32_t asleep;
	int fd; /* an eventfd; -1: the thread never sleeps */
};

/* Returns 0, or -1 with errno: then the thread must not sleep. */
static inline int bp_wakeup_open(struct bp_wakeup *w)
{
	atomic_init(&w->asleep, 0);
	w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return w->fd < 0 ? -1 : 0;
}

/* For a thread that does not sleep. */
static inline void bp_wakeup_none(struct bp_wakeup *w)
{
	atomic_init(&w->asleep, 0);
	w->fd = -1;
}

/* Called when no other thread rings any more. */
static inline void bp_wakeup_close(struct bp_wakeup *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* Sleeper: from now on producers ring. Sources of work are checked after this. */
static inline void bp_wakeup_prepare(struct bp_wakeup *w)
{
	atomic_store_explicit(&w->asleep, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Sleeper: it is awake, or did not sleep. `readable`: poll() reported `fd`. If a producer rings
 * between poll() and this call, the next sleep ends immediately.
 */
static inline void bp_wakeup_finish(struct bp_wakeup *w, bool readable)
{
	uint64_t rings;

	atomic_store_explicit(&w->asleep, 0, memory_order_relaxed);
	while (readable && read(w->fd, &rings, sizeof(rings)) < 0 && errno == EINTR)
		;
}

/* Producer: called once after a burst of work was enqueued. */
static inline void bp_wakeup_ring(struct bp_wakeup *w)
{
	const uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&w->asleep, memory_order_relaxed) == 0 ||
		atomic_exchange_explicit(&w->asleep, 0, memory_order_relaxed) == 0)
		return;
	while (write(w->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

#endif
