/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_HUGEPAGES_H
#define BP_APPS_BIPLANE_DOCTOR_HUGEPAGES_H

#include <stdint.h>

#define BP_HUGE_POOLS_MAX 64
#define BP_HUGE_KIB 2048 /* of the pages that are set aside: every machine has this size */

/* The kernel's pools of hugepages: one of each size on each NUMA node. */
struct bp_huge {
	unsigned n;
	struct bp_huge_pool {
		int64_t node; /* -1: a kernel without NUMA */
		int64_t kib;  /* of a page */
		int64_t pages, free;
	} pool[BP_HUGE_POOLS_MAX];
	int64_t default_kib; /* the size that vm.nr_hugepages is about; 0: there are none */
	char dir[256];       /* where hugetlbfs is mounted, or "" */
};

void bp_huge_read(const char *root, struct bp_huge *h);
/* KiB of memory that a NUMA node has; 0: not known. */
int64_t bp_huge_memory_kib(const char *root, int64_t node);
/* The file that says how many pages a pool has, from "/sys" on. */
void bp_huge_file(int64_t node, int64_t kib, char *out, unsigned long size);

#endif
