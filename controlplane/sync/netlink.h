/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_NETLINK_H
#define BP_CONTROLPLANE_SYNC_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * rtnetlink sockets for three uses, each with its own socket so that none waits for another:
 * events, dumps, requests. libnl creates the sockets and messages; received data is parsed here,
 * because libnl's receiver allocates memory for every message.
 */
struct nl_sock;

struct bp_netlink {
	struct nl_sock *sock;
	int fd;
	uint32_t seq; /* sequence number of the last request */
	uint8_t *buffer;
};

/* Maximum size of one receive, bytes; the kernel's largest dump message has 32 KiB. */
#define BP_NETLINK_BUFFER (64u << 10)

/* The cached objects, in the order of the dumps: later ones refer to earlier ones. */
enum bp_netlink_dump {
	BP_DUMP_LINKS,
	BP_DUMP_ADDRESSES,
	BP_DUMP_OBJECTS,
	BP_DUMP_NEIGHBORS,
	BP_DUMP_ROUTES4,
	BP_DUMP_ROUTES6,
	BP_DUMPS,
};
extern const char *const bp_netlink_dump_name[BP_DUMPS];

/* Returns 0, or -1 with a sentence in `err`. */
int bp_netlink_open(struct bp_netlink *n, char *err, size_t err_size);
void bp_netlink_close(struct bp_netlink *n);

/* For events: joins the multicast groups of all cached objects. */
int bp_netlink_subscribe(struct bp_netlink *n, char *err, size_t err_size);
/* Requests a receive buffer of `bytes` bytes, above net.core.rmem_max if this process is permitted.
 * Returns the size obtained; the kernel counts its own overhead in the same bytes. */
uint32_t bp_netlink_receive_buffer(struct bp_netlink *n, uint32_t bytes);

/* Sends a dump request. Returns 0 or -errno. */
int bp_netlink_dump(struct bp_netlink *n, enum bp_netlink_dump what);

/* Receives into n->buffer: returns the number of bytes, 0 when no data is available, or -errno
 * (-ENOBUFS: messages were lost). */
ssize_t bp_netlink_receive(struct bp_netlink *n);

/* Sends the message, frees it, and waits for the kernel's answer: 0 or -errno. */
int bp_netlink_request(struct bp_netlink *n, struct nl_msg *message);
/* Sends the message, frees it, and requests no answer: 0 or -errno. */
int bp_netlink_send(struct bp_netlink *n, struct nl_msg *message);

#endif
