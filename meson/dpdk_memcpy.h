/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included before every source that uses DPDK on x86-64 (meson.build): rte_memcpy() is memcpy()
 * there, as DPDK defines it on other processors. Inline, it was half of the code of each node and
 * most of its compilation; the C library has a version for the processor at run time, not for the
 * oldest one, and sanitizers check its arguments.
 */
#ifndef BP_DPDK_MEMCPY_H
#define BP_DPDK_MEMCPY_H

#include <string.h>

#define _RTE_MEMCPY_X86_64_H_ /* of rte_memcpy.h: there is nothing left to define */
#define rte_memcpy(to, from, n) memcpy((to), (from), (n))

#endif
