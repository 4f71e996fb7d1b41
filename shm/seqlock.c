/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/seqlock.h"

#include "shm/words.h"

void bp_seqlock_write(struct bp_seqlock *lock, const void *value, size_t n)
{
	const uint64_t *from = value;
	uint64_t *to = (uint64_t *)(void *)(lock + 1);
	/* a writer that was killed during a write has left an odd number */
	const uint64_t g = atomic_load_explicit(&lock->generation, memory_order_relaxed) | 1;

	atomic_store_explicit(&lock->generation, g, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < n / 8; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&lock->generation, g + 1, memory_order_release);
}

void bp_seqlock_republish(struct bp_seqlock *lock)
{
	const uint64_t g = atomic_load_explicit(&lock->generation, memory_order_relaxed);

	if (g != 0 && (g & 1) == 0)
		atomic_store_explicit(&lock->generation, g + 2, memory_order_release);
}

bool bp_seqlock_equals(const struct bp_seqlock *lock, const void *value, size_t n)
{
	const uint64_t g = atomic_load_explicit(&lock->generation, memory_order_relaxed);

	return g != 0 && (g & 1) == 0 && bp_words_same(lock + 1, value, n);
}

bool bp_seqlock_read(const struct bp_seqlock *lock, uint64_t *seen, void *out, size_t n)
{
	const uint64_t *from = (const uint64_t *)(const void *)(lock + 1);
	uint64_t *to = out;
	const uint64_t g = atomic_load_explicit(&lock->generation, memory_order_acquire);

	if (g == 0 || g == *seen || (g & 1) != 0)
		return false;
	for (size_t i = 0; i < n / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&lock->generation, memory_order_relaxed) != g)
		return false;
	*seen = g;
	return true;
}
