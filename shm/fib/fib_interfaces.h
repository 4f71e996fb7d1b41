/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_INTERFACES_H
#define BP_SHM_FIB_FIB_INTERFACES_H

#include "shm/fib/fib_writer.h"

/* The writer of table interfaces. Called by shm/fib/fib_writer.c alone. */
enum bp_fib_result bp_interface_set(
	struct bp_fib *f, unsigned i, const struct bp_interface_info *info);
/* The writer of table vrfs; `vrf` is valid. */
enum bp_fib_result bp_vrf_set(struct bp_fib *f, unsigned vrf, const struct bp_vrf_info *info);
/* Repairs the entries that an earlier writer left incomplete; returns their number. */
uint64_t bp_interfaces_load(struct bp_fib *f);

#endif
