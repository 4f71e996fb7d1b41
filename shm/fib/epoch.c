/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/epoch.h"

void bp_epoch_init(
	struct bp_epoch *e, const struct bp_fib *fib, bool (*readers_gone)(void *arg), void *arg)
{
	*e = (struct bp_epoch){.control = fib->control,
		.readers = fib->readers,
		.readers_gone = readers_gone,
		.arg = arg};
}

uint64_t bp_epoch_retire(struct bp_epoch *e)
{
	/* A reader of the new epoch cannot reach elements that were unlinked before it. */
	return atomic_fetch_add_explicit(&e->control->epoch, 1, memory_order_seq_cst) + 1;
}

bool bp_epoch_passed(struct bp_epoch *e, uint64_t epoch)
{
	uint64_t lowest = UINT64_MAX;

	if (epoch <= e->passed)
		return true;
	/* Pairs with the fence of a worker that begins: either the writer sees the worker's epoch,
	 * or the worker sees the unlinked elements. */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++) {
		uint64_t seen = atomic_load_explicit(&e->readers->seen[w], memory_order_acquire);

		if (seen < lowest)
			lowest = seen;
	}
	if (lowest < epoch && e->readers_gone && e->readers_gone(e->arg))
		lowest = UINT64_MAX;
	if (lowest == UINT64_MAX)
		lowest = atomic_load_explicit(&e->control->epoch, memory_order_relaxed);
	if (lowest > e->passed)
		e->passed = lowest;
	return epoch <= e->passed;
}
