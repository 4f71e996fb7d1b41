/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/plan.h"

#include "shm/words.h"

void bp_plan_write(_Atomic uint64_t *generation, void *plan, const void *rules, size_t n)
{
	const uint64_t *from = rules;
	uint64_t *to = plan;
	/* one that was killed while it wrote has left an odd number */
	const uint64_t g = atomic_load_explicit(generation, memory_order_relaxed) | 1;

	atomic_store_explicit(generation, g, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < n / 8; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(generation, g + 1, memory_order_release);
}

bool bp_plan_says(const _Atomic uint64_t *generation, const void *plan, const void *rules, size_t n)
{
	const uint64_t g = atomic_load_explicit(generation, memory_order_relaxed);

	return g != 0 && (g & 1) == 0 && bp_words_same(plan, rules, n);
}

bool bp_plan_take(
	const _Atomic uint64_t *generation, const void *plan, uint64_t *seen, void *out, size_t n)
{
	const uint64_t *from = plan;
	uint64_t *to = out;
	const uint64_t g = atomic_load_explicit(generation, memory_order_acquire);

	if (g == 0 || g == *seen || (g & 1) != 0)
		return false;
	for (size_t i = 0; i < n / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(generation, memory_order_relaxed) != g)
		return false;
	*seen = g;
	return true;
}
