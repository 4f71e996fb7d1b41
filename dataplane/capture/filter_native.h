/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_CAPTURE_FILTER_NATIVE_H
#define BP_DATAPLANE_CAPTURE_FILTER_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "shm/capture/capture_filter.h"

/*
 * Native code of a filter program, for x86-64. The compiler of DPDK (rte_bpf, 22.11) generates
 * wrong code for some programs, and its verifier needs exponential time for others; a filter comes
 * from another process. A valid classic BPF program needs no verifier: it has no loop, and the only
 * memory that it reads is the frame, with a check of each access, and its scratch words.
 */

/*
 * Bit i: the result of the program for m[i] is not 0, or the frame is in more than one buffer
 * (pkt_len is not data_len), to which the program was not applied. n: at most 64.
 */
typedef uint64_t (*bp_filter_native_fn)(struct rte_mbuf *const *m, uint32_t n);

/*
 * Compiles a valid program. NULL: this machine or process cannot have native code: another
 * architecture, no memory, or no permission (memfd_create(), executable mappings). *size: of the
 * memory, for bp_filter_native_free().
 */
bp_filter_native_fn bp_filter_native_compile(
	const struct bp_capture_insn *insn, uint32_t n, size_t *size);
void bp_filter_native_free(bp_filter_native_fn fn, size_t size); /* NULL is allowed */

#endif
