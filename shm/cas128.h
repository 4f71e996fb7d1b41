/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAS128_H
#define BP_SHM_CAS128_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Replaces the 16 bytes at p (aligned to 16) by (lo, hi) if they equal (old_lo, old_hi), atomically
 * and sequentially consistent.
 *
 * x86-64: the instruction itself, because compilers call libatomic for it without -mcx16; every
 * x86-64 machine that DPDK supports has it. Other architectures: libatomic.
 */
static inline bool bp_cas128(
	_Atomic uint64_t *p, uint64_t old_lo, uint64_t old_hi, uint64_t lo, uint64_t hi)
{
#if defined(__x86_64__)
	bool done;

	__asm__ __volatile__("lock cmpxchg16b %[at]"
			     : [at] "+m"(*(unsigned __int128 *)(void *)p), "=@ccz"(done),
			     "+a"(old_lo), "+d"(old_hi)
			     : "b"(lo), "c"(hi)
			     : "memory");
	return done;
#else
	union {
		uint64_t half[2];
		unsigned __int128 whole;
	} from = {.half = {old_lo, old_hi}}, to = {.half = {lo, hi}};

	return __atomic_compare_exchange_n((unsigned __int128 *)(void *)p, &from.whole, to.whole,
		false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
#endif
}

#endif
