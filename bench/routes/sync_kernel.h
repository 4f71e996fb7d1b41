/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_SYNC_KERNEL_H
#define BP_BENCH_ROUTES_SYNC_KERNEL_H

#include <linux/rtnetlink.h>
#include <stddef.h>

#include "biplane/fib.h"

/*
 * Kernel side of bench/routes/sync_rate.c: netlink requests, many per datagram, as a routing daemon
 * sends them. Every function terminates the process with a message if the kernel refuses a request.
 */
struct bench_kernel {
	int fd;
	size_t used;
	uint8_t batch[16 << 10] __attribute__((aligned(NLMSG_ALIGNTO)));
};

void bench_kernel_open(struct bench_kernel *k);

/* Sets a link up, and adds an address. */
void bench_kernel_link_up(struct bench_kernel *k, int ifindex);
void bench_kernel_address(
	struct bench_kernel *k, int ifindex, const struct bp_address *a, uint8_t length);
/* Adds a permanent neighbor. */
void bench_kernel_neighbor(struct bench_kernel *k, int ifindex, const struct bp_address *a);

/* Adds a request to the batch, which is sent when it is full; with `type` RTM_NEWROUTE an existing
 * route is replaced. */
void bench_kernel_route(struct bench_kernel *k, uint16_t type, const struct bp_prefix *p,
	int ifindex, const struct bp_address *gateway);
void bench_kernel_flush(struct bench_kernel *k);

#endif
