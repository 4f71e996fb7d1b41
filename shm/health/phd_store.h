/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_STORE_H
#define BP_SHM_HEALTH_PHD_STORE_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/*
 * Every store of the session tables' writer to memory that others may see goes through here, so
 * that a test can stop the writer before each of them.
 */
#ifdef BP_PHD_STORE_HOOK
void bp_phd_before_store(void);
#else
static inline void bp_phd_before_store(void)
{
}
#endif

static inline void bp_phd_store64(_Atomic uint64_t *at, uint64_t v)
{
	bp_phd_before_store();
	atomic_store_explicit(at, v, memory_order_release);
}

static inline void bp_phd_store32(_Atomic uint32_t *at, uint32_t v)
{
	bp_phd_before_store();
	atomic_store_explicit(at, v, memory_order_release);
}

/* n: a multiple of 4. No reader uses the bytes as a whole until a later store publishes them. */
static inline void bp_phd_store_bytes(void *at, const void *from, size_t n)
{
	uint32_t *to = at, word;

	for (size_t i = 0; i < n / 4; i++) {
		memcpy(&word, (const char *)from + 4 * i, 4);
		bp_phd_before_store();
		__atomic_store_n(to + i, word, __ATOMIC_RELAXED);
	}
}

#endif
