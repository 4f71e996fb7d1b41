/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CPU_LIST_H
#define BP_DATAPLANE_PROCESS_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* CPUs, or NUMA nodes, as the kernel lists them: "0-3,8". An empty list, or none ("(null)"), is
 * empty. False: it is no list; out is empty. */
bool bp_cpu_list_read(const char *text, cpu_set_t *out);
/* The same way back. */
void bp_cpu_list_text(const cpu_set_t *set, char *out, size_t size);

#endif
