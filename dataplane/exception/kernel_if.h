/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_KERNEL_IF_H
#define BP_DATAPLANE_EXCEPTION_KERNEL_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "config/config.h"

/*
 * A network interface of the kernel whose other side is in this process: frames that the kernel
 * sends are read here, and frames written here are received by the kernel. There are two backends:
 * a tap, and virtio-user with vhost-net. The exception thread reads and writes; the other functions
 * are for the main thread, and may run at the same time.
 */
struct bp_kernel_if;

struct bp_kernel_if_ops {
	const char *name; /* "tap", "virtio" */
	/*
	 * Reads at most `n` complete Ethernet frames that the kernel sent, without waiting. m->port
	 * and the interface number are not set. Adds the frames that were read and lost because
	 * there was no mbuf to *lost.
	 */
	unsigned (*read)(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n, uint64_t *lost);
	/*
	 * Writes all `n` frames to the kernel, in order, and frees them. Returns how many the
	 * kernel accepted.
	 */
	unsigned (*write)(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n);
	/* Closes the interface, which persists if another process also holds it. Frees `k`. */
	void (*close)(struct bp_kernel_if *k);
};

struct bp_kernel_if {
	const struct bp_kernel_if_ops *ops;
	char name[BP_INTERFACE_NAME_MAX + 1];
	unsigned ifindex;         /* ifindex in the kernel */
	int fd;                   /* readable when there is a frame to read; -1: must be polled */
	struct rte_mempool *pool; /* for frames that are read */
	bool pieces;              /* a frame that was read may be a chain of mbufs */
};

/* The interface to open. */
struct bp_kernel_if_spec {
	const char *name;   /* of the port or bridge, for messages */
	const char *kernel; /* name of the interface in the kernel */
	unsigned number;    /* interface number: include/biplane/fib.h */
	uint8_t mac[6];
	uint32_t mtu; /* maximum IP packet, bytes */
	struct rte_mempool *pool;
	bool pieces;
};

/*
 * Creates the interface, or attaches to the one that the control plane holds, and sets MAC and MTU.
 * Does not change its addresses, nor whether it is up. Requires CAP_NET_ADMIN. Returns NULL on
 * error, with a message in `err`.
 */
struct bp_kernel_if *bp_tap_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size);
struct bp_kernel_if *bp_virtio_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size);
/* Whether this kernel has vhost-net, and this process may use it. */
bool bp_virtio_possible(void);

/* Sets MAC and MTU. Returns 0, or -1 with a message in `err`. */
int bp_kernel_if_address(const struct bp_kernel_if *k, const struct bp_kernel_if_spec *s, char *err,
	size_t err_size);

#endif
