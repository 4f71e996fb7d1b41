/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/control.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/harness/slices.h"
#include "proto/net/frame.h"

#define CLOCK_CALLS 32u /* bursts between two checks of the clock */
#define NS_PER_SECOND 1000000000u
#define PATIENCE_NS 5000000000u

static void must(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

void bench_control_isolate(void)
{
	must(unshare(CLONE_NEWNET) == 0, "network namespace of its own", strerror(errno));
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

/* ---- the control plane ---- */

static bp_control_result_t control_plane(void *arg)
{
	struct bench_control *c = arg;

	while (!atomic_load(&c->stop))
		c->user->wait(c->arg);
	return 0;
}

/* Single plane: the worker does the work of these threads. */
static void look_after(struct bench_control *c)
{
	while (bp_serve_to_kernel(&c->serve, clock_ns(CLOCK_MONOTONIC)) != 0)
		;
	c->user->look(c->arg);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		while (c->interface[i] != NULL && bp_serve_from_kernel(&c->serve, i) != 0)
			;
	c->waiting = false;
}

/* ---- the messages ---- */

/*
 * Number of messages that are due. The clock is the CPU time of the worker: while it is
 * descheduled, no data passes either. Reading it is a system call, so it is read once in several
 * bursts, also without messages: all runs must have the same cost.
 */
static uint32_t count_due(struct bench_control *c)
{
	uint32_t n;

	if (++c->calls % CLOCK_CALLS == 0) {
		uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t passed = c->last != 0 ? now - c->last : 0;

		c->last = now;
		c->due_parts += passed * atomic_load_explicit(&c->rate, memory_order_relaxed);
		c->due += (uint32_t)(c->due_parts / NS_PER_SECOND);
		c->due_parts %= NS_PER_SECOND;
	}
	/* one per burst, as on a real link; more only if that would be too few */
	n = (c->due + CLOCK_CALLS - 1) / CLOCK_CALLS;
	c->due -= n;
	return n;
}

uint16_t bench_control_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_control *c = arg;
	uint64_t made = atomic_load_explicit(&c->made, memory_order_relaxed);
	uint32_t due;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	if (c->waiting && c->single)
		look_after(c);
	if (n == 0)
		return n;
	due = RTE_MIN(count_due(c), (uint32_t)n);
	for (uint32_t i = 0; i < due; i++)
		c->user->make(c->arg, pkts[i * n / due], made++);
	c->waiting = due != 0;
	atomic_store_explicit(&c->made, made, memory_order_relaxed);
	return n;
}

static void set_rate(void *arg, bool on)
{
	struct bench_control *c = arg;

	atomic_store_explicit(&c->rate, on ? c->with : 0, memory_order_relaxed);
}

static uint64_t made(void *arg)
{
	struct bench_control *c = arg;

	return atomic_load_explicit(&c->made, memory_order_relaxed);
}

void bench_control_measure(struct bench_control *c, struct bench_slices *s, uint32_t rate,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames)
{
	const struct bench_slices_load load = {set_rate, made, c};

	c->with = rate;
	bench_slices_measure(s, &load, seconds, worker, frames);
}

/* ---- set-up ---- */

int bench_control_tap(struct bench_control *c, unsigned number, const char *name,
	const uint8_t mac[6], uint32_t address, struct rte_mempool *pool)
{
	struct bp_kernel_if_spec s = {.name = name,
		.kernel = name,
		.number = number,
		.mtu = 1500,
		.pool = pool,
		.pieces = true};
	struct bp_address a = {.family = 4};
	struct bp_kernel_if *tap;
	char err[512];

	memcpy(s.mac, mac, sizeof(s.mac));
	tap = bp_tap_open(&s, err, sizeof(err));
	must(tap != NULL, name, err);
	if (c->kernel.fd == 0)
		bench_kernel_open(&c->kernel);
	bp_put_be32(a.bytes, address);
	bench_kernel_link_up(&c->kernel, (int)tap->ifindex);
	bench_kernel_address(&c->kernel, (int)tap->ifindex, &a, 24);
	c->interface[number] = tap;
	return (int)tap->ifindex;
}

void bench_control_start(struct bench_control *c, struct bp_exception *x,
	const struct bp_config *config, struct bp_counters *counters)
{
	char err[256];

	c->x = x;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (c->interface[i] != NULL)
			atomic_store(&x->has[i], true);
	if (c->single) {
		bp_serve_init(&c->serve, x, c->interface, counters, &config->punt,
			clock_ns(CLOCK_MONOTONIC));
		return;
	}
	c->exception = bp_exception_thread_start(
		x, c->interface, &config->punt, counters, err, sizeof(err));
	must(c->exception != NULL, "exception thread", err);
	must(bp_control_thread_start(&c->thread, "control", control_plane, c) == 0,
		"thread of the control plane", strerror(errno));
}

void bench_control_stop(struct bench_control *c, uint64_t lost)
{
	const uint64_t end = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;

	if (c->single) {
		bp_serve_finish(&c->serve);
	} else {
		bp_exception_thread_stop(c->exception);
		atomic_store(&c->stop, true);
		bp_control_thread_join(c->thread);
	}
	do {
		c->user->wait(c->arg);
		c->applied = c->user->applied(c->arg);
	} while (c->applied + lost < c->made && clock_ns(CLOCK_MONOTONIC) < end);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (c->interface[i] != NULL)
			c->interface[i]->ops->close(c->interface[i]);
}
