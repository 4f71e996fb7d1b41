/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_SOCKET_GATEWAY_H
#define BP_BENCH_AGGREGATION_AGG_SOCKET_GATEWAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Aggregation and disaggregation, format lin2018, as an ordinary program does them: UDP sockets,
 * one thread, and what makes such a program fast: 64 datagrams a system call either way, no copy
 * but of the messages themselves, no allocation, and connected sockets. Both ends are in it, as
 * both are in the worker that it is compared with (bench/aggregation/agg.h), one after the other in
 * a loop. It sleeps only while the sender has lost its processor, which is not to be an idle
 * program's time; or, with `waits`, whenever there is nothing to do, as where processor time is
 * what is measured. Like any program with ordinary sockets it sends from its own address.
 */
#define BENCH_AGG_SOCKET_AGGREGATE 5555u    /* UDP ports of 10.0.0.1: messages, */
#define BENCH_AGG_SOCKET_DISAGGREGATE 5556u /* and aggregates */

struct bench_agg_socket_gateway {
	unsigned messages; /* N */
	bool segments;     /* restored messages of one aggregate leave in one piece (UDP_SEGMENT) */
	bool waits;        /* for datagrams and for the time when an aggregate has to leave */
	uint32_t server;   /* where aggregates go, an IPv4 address in host byte order; 0: to its own
			    * other end */
	/* what it did; others read */
	_Atomic uint64_t taken;      /* messages that came */
	_Atomic uint64_t aggregates; /* that the kernel took */
	_Atomic uint64_t came;       /* aggregates */
	_Atomic uint64_t restored;   /* messages that the kernel took */
	_Atomic uint64_t bad;        /* datagrams that are neither, and sends that were refused */
	_Atomic uint64_t timeouts;   /* aggregates that left with less than N messages */
	_Atomic uint64_t cpu_ns;     /* its processor time, at its last turn */
	_Atomic uint64_t seen_ns;    /* of cpu_ns: others have sent what was due until then */
	_Atomic uint32_t ready;      /* its sockets are open */
};

/* Runs until the process is ended; ends it when something is refused. */
void bench_agg_socket_run(struct bench_agg_socket_gateway *n) __attribute__((noreturn));

#endif
