/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_SOCKET_H
#define BP_BENCH_TRANSFORM_TRANSFORM_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reference program: coordinate transformation as an ordinary program, the "Userspace" of the paper
 * (Kunze et al. 2021): one thread, one polled UDP socket, double precision, and sine and cosine of
 * the C library. It is optimised for speed: 64 datagrams per system call in both directions (except
 * in the mode of the paper), results written in place, a connected socket to the robot, no
 * allocation, matrices in a hash table. It shares no code with biplane. It sleeps only while the
 * sender is descheduled, so that its idle time is not measured; with `waits` it blocks whenever
 * there is no work, for measurements of CPU time.
 */
enum bench_transform_socket_way {
	BENCH_TRANSFORM_ONE_BY_ONE, /* one datagram per system call, as in the paper */
	BENCH_TRANSFORM_BATCHES,    /* recvmmsg, sendmmsg */
	BENCH_TRANSFORM_SEGMENTS,   /* recvmmsg; the results of a batch leave in one call, and the
				       kernel segments them (UDP_SEGMENT): there is only one robot */
};

struct bench_transform_socket {
	enum bench_transform_socket_way way;
	bool waits; /* blocks until a reading arrives */
	/* counters, read by other threads */
	_Atomic uint64_t taken;   /* readings received */
	_Atomic uint64_t sent;    /* results that the kernel accepted */
	_Atomic uint64_t bad;     /* invalid datagrams, and refused sends */
	_Atomic uint64_t cpu_ns;  /* CPU time at the last loop iteration */
	_Atomic uint64_t seen_ns; /* of cpu_ns: everything due by then was sent */
	_Atomic uint32_t ready;   /* the sockets are open */
};

/* Sets a matrix (row by row, then the translation) for readings from an IPv4 address in host byte
 * order. Call it before bench_transform_socket_run(); at most 65,536. */
void bench_transform_socket_matrix(uint32_t source, const double m[12]);

/* Runs until the process is killed; terminates the process on failure. */
void bench_transform_socket_run(struct bench_transform_socket *n) __attribute__((noreturn));

/* Transforms a payload of 40 bytes, to measure this alone. */
void bench_transform_socket_compute(uint32_t source, uint8_t *payload);

#endif
