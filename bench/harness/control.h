/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CONTROL_H
#define BP_BENCH_HARNESS_CONTROL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "bench/routes/sync_kernel.h"
#include "dataplane/dpdk_compat.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/serve.h"
#include "dataplane/exception/thread.h"

struct bp_config;

/*
 * Control messages among user data (Figure 6 of the dual-plane paper). A receive callback that only
 * the benchmark installs turns frames into UDP datagrams to the router's own address, at a rate in
 * messages/s. They take the normal punt path: queue of their class, exception thread, tap, kernel
 * stack, socket, and the reader of the socket. With two planes the exception thread and a thread of
 * the control plane do that; with one plane the worker does it with the same calls.
 */
#define BENCH_CONTROL_OWN 0x0a000001u /* 10.0.0.1, on port 0 */

/* The messages and their reader: bench/routes/control_routes.h, bench/health/control_phd.h. */
struct bench_control_user {
	/* Turns a frame received on port 0 into message `number` (from 0). */
	void (*make)(void *user, struct rte_mbuf *m, uint64_t number);
	/* Reads the queued messages of the socket; first waits a few ms for one. */
	void (*wait)(void *user);
	/* The same without waiting. */
	void (*look)(void *user);
	/* Messages that took effect. */
	uint64_t (*applied)(void *user);
};

struct bench_control {
	_Atomic uint32_t rate; /* messages per second of CPU time of the worker */
	uint32_t with;         /* the rate of the slices with messages */
	bool single;           /* single plane */
	uint32_t calls;
	uint64_t last;         /* CPU time of the worker, ns; 0: not read yet */
	uint32_t due;          /* messages */
	uint64_t due_parts;    /* fraction of a message, in 1e-9 */
	_Atomic uint64_t made; /* owned by the worker */
	uint64_t applied;      /* valid after bench_control_stop() */
	bool waiting;          /* sent and not yet read (single plane) */
	const struct bench_control_user *user;
	void *arg; /* argument of the callbacks */
	struct bench_kernel kernel;
	struct bp_kernel_if *interface[BP_MAX_INTERFACES];
	struct bp_exception *x;
	struct bp_exception_thread *exception;
	struct bp_serve serve;
	_Atomic bool stop;
	rte_thread_t thread;
};

/* Call it before EAL starts: enters a new network namespace. Like all functions below, it
 * terminates the process on failure. */
void bench_control_isolate(void);
/* Creates tap `number`, sets it up and adds the address. Returns its ifindex. Call it before
 * bench_control_start(). */
int bench_control_tap(struct bench_control *c, unsigned number, const char *name,
	const uint8_t mac[6], uint32_t address, struct rte_mempool *pool);

/* `single`, the taps, user and arg are set; x has queues for the interfaces of the taps. `counters`
 * is the row of the exception path. */
void bench_control_start(struct bench_control *c, struct bp_exception *x,
	const struct bp_config *config, struct bp_counters *counters);
/* Call it after the worker has ended: reads the queued messages, which are not part of `lost`. */
void bench_control_stop(struct bench_control *c, uint64_t lost);

/* The data rate without messages and with `rate` of them per second (bench/harness/slices.h). */
struct bench_slices;
void bench_control_measure(struct bench_control *c, struct bench_slices *s, uint32_t rate,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames);

uint16_t bench_control_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
