/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_GENERATION_H
#define BP_SHM_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Passes images of variable size from one writer to readers that never wait: two banks, and a word
 * that holds the active one. The writer fills the other bank and then stores the word. If the
 * writer is killed in between, the previous generation stays active.
 *
 * Readers either copy the bank (bp_generation_copy()) and use the copy after validation, or use the
 * bank in place (bp_generation_enter()): then the writer waits until bp_generation_pending()
 * reports that the other bank is free. Words and banks may be in a segment, where either side may
 * be hostile: no value that is read there is trusted.
 *
 * This structure belongs to one process.
 */
struct bp_generation {
	/* Writer: generation << 1 | bank; 0: none was published. */
	_Atomic uint64_t *active;
	/* Reader r, [readers]: the value of *active that it uses, or BP_GENERATION_NONE. */
	_Atomic uint64_t *seen;
	unsigned readers;
	uint8_t *banks; /* two, bank_size bytes each */
	uint64_t bank_size;
};

/* A reader that does not run. */
#define BP_GENERATION_NONE UINT64_MAX

/* How each image begins. */
struct bp_image {
	uint64_t generation; /* 0: empty: only the fixed part is valid, whatever the size field
				holds */
	uint64_t size;       /* bytes, this included; a multiple of 4 */
};

static inline uint64_t bp_generation_active(const struct bp_generation *g)
{
	return atomic_load_explicit(g->active, memory_order_acquire);
}

/* The bank of a value of *active. */
static inline void *bp_generation_bank(const struct bp_generation *g, uint64_t active)
{
	return g->banks + (active & 1) * g->bank_size;
}

/* ---- writer ---- */

/* A running reader that uses another bank than the active one, or -1: the other bank is free. */
int bp_generation_pending(const struct bp_generation *g);

/* The word of the next generation, which is in the other bank. No reader uses that number: readers
 * may outlive the writer's part of the segment. */
uint64_t bp_generation_next(const struct bp_generation *g);

/* Copies an image, whose size is within the bank's, to the bank of `next`. Not needed for a bank
 * that was filled in place. */
void bp_generation_fill(
	const struct bp_generation *g, uint64_t next, const void *image, size_t size);

/* Activates the bank of `next`. */
static inline void bp_generation_publish(const struct bp_generation *g, uint64_t next)
{
	atomic_store_explicit(g->active, next, memory_order_release);
}

/* ---- readers ---- */

/* Before the first of them runs: none does. */
void bp_generation_reset(const struct bp_generation *g);

/* Acknowledges the active generation and returns its word: its bank does not change until this
 * reader acknowledges another one. Repeating it is cheap; not needed while *active is unchanged. */
uint64_t bp_generation_enter(const struct bp_generation *g, unsigned reader);

/* Sets what a reader uses from now on: a word that it copied, or BP_GENERATION_NONE. */
static inline void bp_generation_acknowledge(
	const struct bp_generation *g, unsigned reader, uint64_t active)
{
	atomic_store_explicit(&g->seen[reader], active, memory_order_release);
}

enum bp_generation_copied {
	BP_GENERATION_COPIED,
	BP_GENERATION_CHANGED, /* another one was published meanwhile: try again later */
	BP_GENERATION_DAMAGED, /* it is not the image of that generation, or has no possible size */
};
/* Copies the image of `active` to `to`, which has bank_size bytes. `fixed`: minimum size of an
 * image, bytes. The caller must validate the contents. */
enum bp_generation_copied bp_generation_copy(
	const struct bp_generation *g, uint64_t active, void *to, size_t fixed);

#endif
