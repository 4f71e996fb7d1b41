/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_SOCKET_GATEWAY_H
#define BP_BENCH_AGGREGATION_AGG_SOCKET_GATEWAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reference program: aggregation and disaggregation in format lin2018 with UDP sockets and one
 * thread, optimised for speed: 64 datagrams per system call in both directions, no copies except of
 * the messages, no allocation, and connected sockets. Like the worker that it is compared with
 * (bench/aggregation/agg.h) it does both in one loop. It polls, and sleeps only while the sender is
 * descheduled, so that its idle time is not measured; with `waits` it blocks whenever there is no
 * work, for measurements of CPU time. As it uses ordinary sockets, it sends from its own address.
 */
#define BENCH_AGG_SOCKET_AGGREGATE 5555u    /* UDP ports of 10.0.0.1: messages, */
#define BENCH_AGG_SOCKET_DISAGGREGATE 5556u /* and aggregates */

struct bench_agg_socket_gateway {
	unsigned messages; /* messages per aggregate (N) */
	bool segments;     /* restored messages of one aggregate leave in one call (UDP_SEGMENT) */
	bool waits;        /* blocks until a datagram arrives or an aggregate is due */
	uint32_t server;   /* destination of aggregates, an IPv4 address in host byte order; 0: its
			      own decapsulation socket */
	/* counters, read by other threads */
	_Atomic uint64_t taken;      /* messages received */
	_Atomic uint64_t aggregates; /* aggregates that the kernel accepted */
	_Atomic uint64_t came;       /* aggregates received */
	_Atomic uint64_t restored;   /* restored messages that the kernel accepted */
	_Atomic uint64_t bad;        /* invalid datagrams, and refused sends */
	_Atomic uint64_t timeouts;   /* aggregates with less than N messages */
	_Atomic uint64_t cpu_ns;     /* CPU time at the last loop iteration */
	_Atomic uint64_t seen_ns;    /* of cpu_ns: everything due by then was sent */
	_Atomic uint32_t ready;      /* the sockets are open */
};

/* Runs until the process is killed; terminates the process on failure. */
void bench_agg_socket_run(struct bench_agg_socket_gateway *n) __attribute__((noreturn));

#endif
