/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/generation.h"

#include <string.h>

#include "shm/words.h"

/* A writer that publishes more often while a reader enters does not wait for readers. */
#define ENTER_TRIES 64

int bp_generation_pending(const struct bp_generation *g)
{
	uint64_t want;

	if (g->active == NULL)
		return -1;
	want = bp_generation_active(g);
	/* pairs with the fence of a reader that enters */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned r = 0; r < g->readers; r++) {
		const uint64_t seen = atomic_load_explicit(&g->seen[r], memory_order_acquire);

		if (seen != BP_GENERATION_NONE && seen != want)
			return (int)r;
	}
	return -1;
}

uint64_t bp_generation_next(const struct bp_generation *g)
{
	const uint64_t active = bp_generation_active(g);
	uint64_t last = active >> 1;

	for (unsigned r = 0; r < g->readers; r++) {
		const uint64_t seen = atomic_load_explicit(&g->seen[r], memory_order_relaxed);

		if (seen != BP_GENERATION_NONE && seen >> 1 > last)
			last = seen >> 1;
	}
	/* A hostile reader may have acknowledged the largest number. */
	last = (last + 1) & (UINT64_MAX >> 1);
	return (last == 0 ? 1 : last) << 1 | ((active & 1) ^ 1);
}

void bp_generation_fill(
	const struct bp_generation *g, uint64_t next, const void *image, size_t size)
{
	/* A reader that still copies this bank, and reads a word that is written now, sees that
	 * the other bank was published before. */
	atomic_thread_fence(memory_order_release);
	bp_words_store(bp_generation_bank(g, next), image, size);
}

void bp_generation_reset(const struct bp_generation *g)
{
	for (unsigned r = 0; r < g->readers; r++)
		bp_generation_acknowledge(g, r, BP_GENERATION_NONE);
}

uint64_t bp_generation_enter(const struct bp_generation *g, unsigned reader)
{
	uint64_t active = bp_generation_active(g);

	/* The writer stores the word, then reads `seen` before it writes to the other bank; the
	 * reader stores `seen`, then reads the word again. So one of them sees the store of the
	 * other. */
	for (unsigned tries = 0;; tries++) {
		uint64_t again;

		/* release: earlier reads of the bank complete before this store */
		atomic_store_explicit(&g->seen[reader], active, memory_order_release);
		atomic_thread_fence(memory_order_seq_cst);
		again = bp_generation_active(g);
		if (again == active || tries == ENTER_TRIES)
			return active;
		active = again;
	}
}

enum bp_generation_copied bp_generation_copy(
	const struct bp_generation *g, uint64_t active, void *to, size_t fixed)
{
	const uint8_t *from = bp_generation_bank(g, active);
	struct bp_image image;
	bool whole;

	bp_words_load(to, from, fixed);
	memcpy(&image, to, sizeof(image));
	if (image.generation == 0)
		image.size = fixed;
	memcpy(to, &image, sizeof(image));
	whole = image.generation == active >> 1 && image.size >= fixed &&
		image.size <= g->bank_size && image.size % 4 == 0;
	if (whole)
		bp_words_load((uint8_t *)to + fixed, from + fixed, image.size - fixed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(g->active, memory_order_relaxed) != active)
		return BP_GENERATION_CHANGED;
	return whole ? BP_GENERATION_COPIED : BP_GENERATION_DAMAGED;
}
