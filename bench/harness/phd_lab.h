/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_PHD_LAB_H
#define BP_BENCH_HARNESS_PHD_LAB_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/routes/sync_kernel.h"
#include "shm/layout.h"

struct bp_config;

/*
 * Where programs that take devices' datagrams from sockets are measured: a network namespace that
 * ends with the process, whose loopback has all addresses of bench/health/association_load.h. Every
 * function ends the process, with a sentence, when something is refused.
 */
void bench_must(bool ok, const char *what, const char *why);

uint64_t bench_now_ns(void); /* monotonic */
/* The process runs on that processor alone. */
void bench_pin(int cpu);

struct bp_address bench_address4(uint32_t a);
/* Enters it. `kernel` stays open, to make more of it. */
void bench_phd_lab(struct bench_kernel *kernel);
/* A network card that takes and drops what is sent to 10.3.0.20, by way of 10.2.0.2; we are
 * 10.2.0.1. */
void bench_phd_lab_card(struct bench_kernel *kernel);

struct bp_config *bench_phd_lab_config(const char *text);
/* A segment that no one else finds. */
void bench_phd_lab_segment(struct bp_shm *shm, const struct bp_config *c);

/* Datagrams that the lab's IPv4 socket of that UDP port had no room for. */
uint64_t bench_socket_drops(uint16_t port);

/* Processor time of a process so far, ns: of its first thread, or of all. */
double bench_process_ns(pid_t pid, bool all);

#endif
