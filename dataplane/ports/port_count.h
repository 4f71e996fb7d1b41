/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_COUNT_H
#define BP_DATAPLANE_PORTS_PORT_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Adds to a statistic that only this thread writes and others read. An atomic store is enough, and
 * costs less than a locked read-modify-write instruction.
 */
static inline void bp_stat_add(_Atomic uint64_t *s, uint64_t n)
{
	atomic_store_explicit(
		s, atomic_load_explicit(s, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline uint64_t bp_stat_get(const _Atomic uint64_t *s)
{
	return atomic_load_explicit(s, memory_order_relaxed);
}

#endif
