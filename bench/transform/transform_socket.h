/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_SOCKET_H
#define BP_BENCH_TRANSFORM_TRANSFORM_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Coordinate transformation as an ordinary program does it, the paper's "Userspace" (Kunze et al.
 * 2021): one thread, a UDP socket that it polls, doubles, and the C library's sine and cosine.
 * Written to be fast: 64 datagrams a system call either way, where it is not to do as the paper's
 * did, results written over the readings where they lie, a connected socket to the robot, no
 * allocation, matrices found by hash. It shares no code with what it is compared with. It sleeps
 * only while the sender has lost its processor, which is not to be an idle program's time; or, with
 * `waits`, whenever there is nothing to do, as where processor time is what is measured.
 */
enum bench_transform_socket_way {
	BENCH_TRANSFORM_ONE_BY_ONE, /* a system call a datagram, as the paper's */
	BENCH_TRANSFORM_BATCHES,    /* recvmmsg, sendmmsg */
	BENCH_TRANSFORM_SEGMENTS, /* recvmmsg; the results of a batch leave in one piece, which the
				   * kernel cuts (UDP_SEGMENT): there is one robot */
};

struct bench_transform_socket {
	enum bench_transform_socket_way way;
	bool waits; /* for readings */
	/* what it did; others read */
	_Atomic uint64_t taken;   /* readings that came */
	_Atomic uint64_t sent;    /* results that the kernel took */
	_Atomic uint64_t bad;     /* datagrams that are no readings, and sends that were refused */
	_Atomic uint64_t cpu_ns;  /* its processor time, at its last turn */
	_Atomic uint64_t seen_ns; /* of cpu_ns: others have sent what was due until then */
	_Atomic uint32_t ready;   /* its sockets are open */
};

/* Enters a matrix, row by row and then the translation, for readings from an IPv4 address in host
 * byte order. Before bench_transform_socket_run(); at most 65,536. */
void bench_transform_socket_matrix(uint32_t source, const double m[12]);

/* Runs until the process is ended; ends it when something is refused. */
void bench_transform_socket_run(struct bench_transform_socket *n) __attribute__((noreturn));

/* What it does with a payload of 40 bytes, for whoever measures that alone. */
void bench_transform_socket_compute(uint32_t source, uint8_t *payload);

#endif
