/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CONTROL_H
#define BP_BENCH_HARNESS_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "bench/routes/sync_kernel.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/serve.h"
#include "dataplane/exception/thread.h"

struct bp_config;

/*
 * Control messages among user data (figure 6 of the dual-plane paper). A receive callback, which
 * only the benchmark installs, turns frames into UDP datagrams to the router's own address, so many
 * a second. They take the product's way: queue of their class, exception thread, tap, the kernel's
 * stack, a socket, and who reads the socket. With two planes the exception thread and a thread of
 * the control plane's do that; with one the worker itself does, by the same calls.
 */
#define BENCH_CONTROL_OWN 0x0a000001u /* 10.0.0.1, on port 0 */

/* What the messages are, and who reads them: bench/routes/control_routes.h,
 * bench/health/control_phd.h. */
struct bench_control_user {
	/* Makes message `number`, from 0 on, of a frame that came in on port 0. */
	void (*make)(void *user, struct rte_mbuf *m, uint64_t number);
	/* Reads what waits in the socket; at first for a message, but for no more than some ms. */
	void (*wait)(void *user);
	/* The same without waiting. */
	void (*look)(void *user);
	/* Messages that had their effect. */
	uint64_t (*applied)(void *user);
};

struct bench_control {
	_Atomic uint32_t rate; /* messages per second of the worker's processor time */
	bool single;           /* one plane */
	uint32_t calls;
	uint64_t last;         /* ns of the worker's processor time; 0: not read yet */
	uint32_t due;          /* messages */
	uint64_t due_parts;    /* and thousand millionth parts of one */
	_Atomic uint64_t made; /* the worker's */
	uint64_t applied;      /* after bench_control_stop() */
	bool waiting;          /* made, and not looked after yet: one plane */
	const struct bench_control_user *user;
	void *arg; /* the user's */
	struct bench_kernel kernel;
	struct bp_kernel_if *interface[BP_MAX_INTERFACES];
	struct bp_exception *x;
	struct bp_exception_thread *exception;
	struct bp_serve serve;
	_Atomic bool stop;
	pthread_t thread;
};

/* Before EAL starts: a network namespace of our own. Ends the process when it is refused, as all of
 * what follows does. */
void bench_control_isolate(void);
/* A tap of number `number`, up, with that address. Returns its ifindex. Before
 * bench_control_start(). */
int bench_control_tap(struct bench_control *c, unsigned number, const char *name,
	const uint8_t mac[6], uint32_t address, struct rte_mempool *pool);

/* `single`, the taps, user and arg are set; x has queues for the taps' interfaces. `counters` is
 * the exception path's row. */
void bench_control_start(struct bench_control *c, struct bp_exception *x,
	const struct bp_config *config, struct bp_counters *counters);
/* After the worker has ended: looks after what waits, which `lost` are not part of. */
void bench_control_stop(struct bench_control *c, uint64_t lost);

uint16_t bench_control_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
