/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_VETH_LAB_H
#define BP_BENCH_HARNESS_VETH_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A tracker, a gateway and a robot in network namespaces that end with their processes, connected
 * by veth pairs:
 *
 *     tracker (10.0.0.0) ──── devices  gateway  cloud ──── robot (10.1.0.9)
 *
 * Tracker and robot are in one namespace. Every function terminates the process with a message on
 * failure.
 */

/* Enters the namespace of tracker and robot. */
void bench_veth_enter(void);
/*
 * Forks; the child is in the namespace of the gateway, in which `devices` and `cloud` are up.
 * Returns 0 in the child. host: the gateway is an ordinary host with the destination of readings as
 * its own address and a neighbor entry of the robot, and the links use the offloads of the kernel,
 * which make it faster. Otherwise the links carry frames unchanged, as a cable does. The child ends
 * with its parent.
 */
pid_t bench_veth_gateway(bool host);

/* Opens a packet socket that sends frames on `tracker`. */
int bench_veth_frames(void);
/* Opens the UDP socket of the tracker. The kernel segments longer datagrams into datagrams of
 * BENCH_TRANSFORM_PAYLOAD bytes (UDP_SEGMENT), with offloads only at the socket of the gateway: so
 * the sender is faster than the receiver. */
int bench_veth_tracker(void);
/* Opens a socket that receives results at the robot; with `drop` a filter drops them before they
 * are queued. */
int bench_veth_robot(bool drop);
/* Packets dropped by the kernel of this machine because its backlog queue was full; each may
 * contain many datagrams. */
uint64_t bench_veth_backlog_drops(void);
/* Frames received on the link of the robot. */
uint64_t bench_veth_arrived(void);

#endif
