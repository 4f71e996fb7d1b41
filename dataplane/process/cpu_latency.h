/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CPU_LATENCY_H
#define BP_DATAPLANE_PROCESS_CPU_LATENCY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Limits the time that an idle CPU may need to resume work, in microseconds, for all CPUs of the
 * machine: a PM QoS request (Linux, Documentation/power/pm_qos_interface.rst). A thread that waits
 * for an event starts earlier. In a virtual machine that is the larger part of the delay of an
 * alarm: waking a halted virtual CPU needs the hypervisor. Returns a descriptor; the kernel
 * removes the limit when it is closed, also by the end of the process. Returns -1 with a message
 * in `err` that says what to do.
 */
int bp_cpu_latency_limit(uint32_t us, char *err, size_t err_size);

#endif
