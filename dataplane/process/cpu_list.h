/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CPU_LIST_H
#define BP_DATAPLANE_PROCESS_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Reads CPUs, or NUMA nodes, in the format of the kernel: "0-3,8". An empty list, or "(null)", is
 * empty. False: invalid list; `out` is empty.
 */
bool bp_cpu_list_read(const char *text, cpu_set_t *out);
/* Writes a list in the same format. */
void bp_cpu_list_text(const cpu_set_t *set, char *out, size_t size);

#endif
