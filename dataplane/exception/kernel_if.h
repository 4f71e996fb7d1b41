/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_KERNEL_IF_H
#define BP_DATAPLANE_EXCEPTION_KERNEL_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "config/config.h"

/*
 * One network interface of the kernel whose other side is ours: what the kernel sends through it we
 * read, what we write the kernel receives. Two backends: a tap, and virtio-user with vhost-net.
 * Reading and writing are the exception thread's; the rest is for the main thread, and may run
 * beside them.
 */
struct bp_kernel_if;

struct bp_kernel_if_ops {
	const char *name; /* "tap", "virtio" */
	/*
	 * Takes at most `n` whole Ethernet frames that the kernel sent, without waiting; m->port
	 * and the interface's number are not set. Frames that were taken and could not be kept, for
	 * want of an mbuf, are added to *lost.
	 */
	unsigned (*read)(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n, uint64_t *lost);
	/* Gives all `n` to the kernel, in order, and frees them. Returns how many it took. */
	unsigned (*write)(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n);
	/* The interface stays if somebody else holds it, too. Frees `k`. */
	void (*close)(struct bp_kernel_if *k);
};

struct bp_kernel_if {
	const struct bp_kernel_if_ops *ops;
	char name[BP_INTERFACE_NAME_MAX + 1];
	unsigned ifindex;         /* in the kernel */
	int fd;                   /* readable when there is something to read; -1: must be polled */
	struct rte_mempool *pool; /* for what is read */
	bool pieces;              /* a frame that was read may be a chain of mbufs */
};

/* What is to be opened. */
struct bp_kernel_if_spec {
	const char *name;   /* of the port or bridge, for messages */
	const char *kernel; /* name of the interface in the kernel */
	unsigned number;    /* ours: include/biplane/fib.h */
	uint8_t mac[6];
	uint32_t mtu; /* bytes of an IP packet */
	struct rte_mempool *pool;
	bool pieces;
};

/*
 * Makes the interface, or attaches to the one that the control plane holds, and gives it MAC and
 * MTU. Neither its addresses nor whether it is up are touched. Needs CAP_NET_ADMIN. Returns NULL
 * with a sentence.
 */
struct bp_kernel_if *bp_tap_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size);
struct bp_kernel_if *bp_virtio_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size);
/* Whether this kernel has vhost-net, and this process may use it. */
bool bp_virtio_possible(void);

/* Gives it MAC and MTU. Returns 0, or -1 with a sentence. */
int bp_kernel_if_address(const struct bp_kernel_if *k, const struct bp_kernel_if_spec *s, char *err,
	size_t err_size);

#endif
