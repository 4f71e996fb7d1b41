/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_PHD_LAB_H
#define BP_BENCH_HARNESS_PHD_LAB_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/routes/sync_kernel.h"
#include "shm/layout.h"

struct bp_config;

/*
 * Network setup for programs that receive datagrams of devices from sockets: a network namespace
 * that ends with the process, whose loopback interface has all addresses of
 * bench/health/association_load.h. Every function terminates the process with a message on failure.
 */
void bench_must(bool ok, const char *what, const char *why);

uint64_t bench_now_ns(void); /* CLOCK_MONOTONIC, ns */
/* Pins the process to that core. */
void bench_pin(int cpu);

struct bp_address bench_address4(uint32_t a);
/* Enters the namespace. `kernel` stays open to add more objects. */
void bench_phd_lab(struct bench_kernel *kernel);
/* Adds a tap interface that drops all packets to 10.3.0.20 via 10.2.0.2; our address is 10.2.0.1.
 */
void bench_phd_lab_card(struct bench_kernel *kernel);

struct bp_config *bench_phd_lab_config(const char *text);
/* Opens a private segment. */
void bench_phd_lab_segment(struct bp_shm *shm, const struct bp_config *c);

/* Socket drops of the IPv4 socket with this UDP port. */
uint64_t bench_socket_drops(uint16_t port);

/* CPU time of a process so far, ns: of its first thread, or of all threads. */
double bench_process_ns(pid_t pid, bool all);

#endif
