/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAS128_H
#define BP_SHM_CAS128_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Replaces the 16 bytes at p (aligned to 16) by (lo, hi) if they equal (old_lo, old_hi), atomically
 * and sequentially consistent.
 *
 * By instruction: compilers call libatomic, which x86-64 need not have, and which may use a lock on
 * arm64. Such a lock belongs to a process, and these bytes to all that map the segment.
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
#elif defined(__aarch64__)
	uint64_t at_lo, at_hi;
	uint32_t failed;

	/* Equal only if the store succeeds, which shows that both halves are of one time. Without a
	 * store the halves may be of two times, and at one of these the bytes differed. */
	__asm__ __volatile__(
		"1:	ldaxp	%[at_lo], %[at_hi], %[at]\n"
		"	cmp	%[at_lo], %[old_lo]\n"
		"	ccmp	%[at_hi], %[old_hi], #0, eq\n"
		"	mov	%w[failed], #2\n"
		"	b.ne	2f\n"
		"	stlxp	%w[failed], %[lo], %[hi], %[at]\n"
		"	cbnz	%w[failed], 1b\n"
		"2:"
		: [at] "+Q"(*(unsigned __int128 *)(void *)p), [at_lo] "=&r"(at_lo),
		[at_hi] "=&r"(at_hi), [failed] "=&r"(failed)
		: [old_lo] "r"(old_lo), [old_hi] "r"(old_hi), [lo] "r"(lo), [hi] "r"(hi)
		: "cc", "memory");
	return failed == 0;
#else
#error "16 bytes are to be replaced with one instruction that other processes see whole"
#endif
}

/*
 * Waits for 0 to 15 pauses of the processor before attempt n. Two workers on one pair may run their
 * loops in step, such that one of them always comes too late; waits of different lengths end that.
 */
static inline void bp_cas_pause(unsigned n)
{
	for (unsigned i = n % 16; i > 0; i--)
#if defined(__x86_64__)
		__builtin_ia32_pause();
#else
		__asm__ __volatile__("yield" ::: "memory");
#endif
}

#endif
