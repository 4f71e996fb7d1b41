/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_CONTROL_H
#define BP_BENCH_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/serve.h"
#include "dataplane/exception/thread.h"
#include "shm/fib_writer.h"

/*
 * Control messages among user data (figure 6 of the dual-plane paper). A receive callback, which
 * only the benchmark installs, turns frames into UDP datagrams to the router's own address, so many
 * a second; each names a route that is to change. They take the product's way: queue of their
 * class, exception thread, tap, the kernel's stack, a socket; who reads the socket changes the
 * forwarding tables. With two planes the exception thread and a thread of the control plane's do
 * that; with one the worker itself does, by the same calls.
 */
struct bench_control {
	_Atomic uint32_t rate; /* messages per second of the worker's processor time */
	bool single;           /* one plane */
	uint32_t calls;
	uint64_t last;         /* ns of the worker's processor time; 0: not read yet */
	uint32_t due;          /* messages */
	uint64_t due_parts;    /* and thousand millionth parts of one */
	_Atomic uint64_t made; /* the worker's */
	uint64_t applied;      /* route changes: of who reads the socket */
	bool waiting;          /* made, and not looked after yet: one plane */
	uint8_t message[64];
	int fd; /* the socket */
	struct bp_fib_writer *writer;
	struct bp_kernel_if *tap;
	struct bp_kernel_if *interface[BP_MAX_INTERFACES];
	struct bp_exception_thread *exception;
	struct bp_serve serve;
	_Atomic bool stop;
	pthread_t thread;
};

/* Before EAL starts: a network namespace of our own. Ends the process when it is refused. */
void bench_control_isolate(void);

/* All of what follows ends the process when something is refused. `single` is set; the
 * writer is ours from now on, `counters` is the exception path's row. */
void bench_control_start(struct bench_control *c, struct bp_fib_writer *writer,
	struct bp_exception *x, const struct bp_config *config, struct rte_mempool *pool,
	struct bp_counters *counters);
/* After the worker has ended: looks after what waits. */
void bench_control_stop(struct bench_control *c);

uint16_t bench_control_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
