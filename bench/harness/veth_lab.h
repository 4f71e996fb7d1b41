/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_VETH_LAB_H
#define BP_BENCH_HARNESS_VETH_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A tracker, a gateway and a robot in network namespaces that end with their processes, joined by
 * veth pairs:
 *
 *     tracker (10.0.0.0) ──── devices  gateway  cloud ──── robot (10.1.0.9)
 *
 * Tracker and robot are in one namespace. Every function ends the process, with a sentence, when
 * something is refused.
 */

/* Enters the namespace of tracker and robot. */
void bench_veth_enter(void);
/*
 * Forks; the child is in the gateway's namespace, in which `devices` and `cloud` are up. In the
 * child it returns 0. host: the gateway is an ordinary host with readings' destination as its own,
 * and knows the robot, and the links have the kernel's offloads, which make it faster. Else they
 * carry frames as a wire does, and nothing more. The child ends with its parent.
 */
pid_t bench_veth_gateway(bool host);

/* An Ethernet socket by which frames leave at `tracker`. */
int bench_veth_frames(void);
/* The tracker's UDP socket. The kernel makes datagrams of BENCH_TRANSFORM_PAYLOAD bytes of a
 * longer one (UDP_SEGMENT), and that at the gateway's socket where the links have offloads: a
 * sender that is faster than what it sends to. */
int bench_veth_tracker(void);
/* A socket that takes results at the robot; with `drop` they are dropped by a filter before they
 * are queued. */
int bench_veth_robot(bool drop);
/* Pieces that the kernel has dropped between the two ends of links, of this machine, since it has
 * not had the time to take them in: each may have been many datagrams. */
uint64_t bench_veth_backlog_drops(void);
/* Frames that have arrived at the robot's link. */
uint64_t bench_veth_arrived(void);

#endif
