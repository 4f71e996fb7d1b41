/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_REUSE_H
#define BP_SHM_FIB_REUSE_H

#include "shm/fib/epoch.h"

/*
 * The elements of a table in the segment that its writer can allocate, and those that wait for the
 * workers to pass. In private memory. An element is in it at most once.
 */
struct bp_reuse {
	uint32_t *free; /* a stack */
	uint32_t n_free;
	struct bp_retired {
		uint64_t epoch; /* valid for the first n_stamped */
		uint32_t element;
	} * waiting; /* a ring, oldest first */
	uint32_t capacity, first, n_waiting, n_stamped;
};

/* The state of an element: the low 8 bits of its state word; the upper bits increase with every
 * change. The next writer reads it. */
enum bp_slot {
	BP_SLOT_FREE,
	BP_SLOT_WRITING, /* no worker has seen it */
	BP_SLOT_LIVE,
	BP_SLOT_CHANGING, /* the words that workers read are valid; those that only the writer reads
			     are being changed */
	BP_SLOT_RETIRED,  /* a worker may still use it */
};

static inline enum bp_slot bp_slot(uint32_t state)
{
	return (enum bp_slot)(state & 0xff);
}
static inline void bp_slot_set(_Atomic uint32_t *state, enum bp_slot slot)
{
	uint32_t old = atomic_load_explicit(state, memory_order_relaxed);

	/* release: a reader that sees LIVE sees the content; and CHANGING is stored before the
	 * change */
	atomic_store_explicit(
		state, ((old & ~0xffu) + 0x100) | (uint32_t)slot, memory_order_release);
	atomic_thread_fence(memory_order_release);
}

/* An element on neither list is owned by its current user. Returns false without memory. */
bool bp_reuse_init(struct bp_reuse *r, uint32_t capacity);
void bp_reuse_free(struct bp_reuse *r);

/* Frees an element that no reader uses: it can be allocated immediately. */
void bp_reuse_give(struct bp_reuse *r, uint32_t element);
/* Retires an element that was just unlinked. */
void bp_reuse_retire(struct bp_reuse *r, uint32_t element);
/* The next element that was retired and that all workers have left; false: none. */
bool bp_reuse_passed(struct bp_reuse *r, struct bp_epoch *e, uint32_t *element);
/* Takes one that may be taken. */
bool bp_reuse_take(struct bp_reuse *r, uint32_t *element);

#endif
