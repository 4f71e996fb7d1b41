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
 * rtnetlink sockets of three uses, never mixed, so that none waits for another: events, dumps,
 * requests. libnl makes the sockets and messages; what is received is read here, since libnl's
 * receiver allocates for every message.
 */
struct nl_sock;

struct bp_netlink {
	struct nl_sock *sock;
	int fd;
	uint32_t seq; /* of the last request */
	uint8_t *buffer;
};

/* Bytes that one receive can take; the kernel's largest dump message has 32 KiB. */
#define BP_NETLINK_BUFFER (64u << 10)

/* What is mirrored, in the order in which it is dumped: what comes first is what later ones name.
 */
enum bp_netlink_dump {
	BP_DUMP_LINKS,
	BP_DUMP_ADDRESSES,
	BP_DUMP_OBJECTS,
	BP_DUMP_NEIGHBOURS,
	BP_DUMP_ROUTES4,
	BP_DUMP_ROUTES6,
	BP_DUMPS,
};
extern const char *const bp_netlink_dump_name[BP_DUMPS];

/* Returns 0, or -1 with a sentence. */
int bp_netlink_open(struct bp_netlink *n, char *err, size_t err_size);
void bp_netlink_close(struct bp_netlink *n);

/* For events: joins the groups of everything that is mirrored. */
int bp_netlink_subscribe(struct bp_netlink *n, char *err, size_t err_size);
/* Asks for a receive buffer of so many bytes, beyond net.core.rmem_max where this process may.
 * Returns what it got; the kernel counts its own overhead in the same bytes. */
uint32_t bp_netlink_receive_buffer(struct bp_netlink *n, uint32_t bytes);

/* Sends a dump request. Returns 0 or -errno. */
int bp_netlink_dump(struct bp_netlink *n, enum bp_netlink_dump what);

/* What is waiting, into n->buffer: bytes, 0 when nothing is, or -errno (-ENOBUFS: some were lost).
 */
ssize_t bp_netlink_receive(struct bp_netlink *n);

/* Sends the message, frees it, and waits for the kernel's answer: 0 or -errno. */
int bp_netlink_request(struct bp_netlink *n, struct nl_msg *message);
/* Sends the message, frees it, and asks for no answer: 0 or -errno. */
int bp_netlink_send(struct bp_netlink *n, struct nl_msg *message);

#endif
