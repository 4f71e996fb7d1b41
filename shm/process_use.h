/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_PROCESS_USE_H
#define BP_SHM_PROCESS_USE_H

#include <stdatomic.h>
#include <stdint.h>

/* What a process uses. Its main thread writes it once a second; others read it at any time. */
struct bp_process_use {
	_Atomic uint64_t cpu_ns; /* since its start, of all threads, with that in the kernel */
	_Atomic uint64_t resident_bytes; /* physical memory now, without hugepages; 0: not known */
};

/* Writes what this process uses: getrusage(2), /proc/self/statm. */
void bp_process_use_publish(struct bp_process_use *u);

#endif
