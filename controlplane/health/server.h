/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SERVER_H
#define BP_CONTROLPLANE_HEALTH_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/health/socket_drops.h"
#include "services/health/manager.h"

/*
 * The manager's UDP side: one APDU per datagram, one socket for IPv4 and IPv6, for every address of
 * this machine. Datagrams are sent from the address that the device uses as its destination.
 */
struct bp_phd_server;

struct bp_phd_server_ops {
	/* A whole datagram: valid until the call returns. May call bp_phd_server_send(). */
	void (*receive)(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);
	/* Returns whether datagrams from this kernel interface are for the gateway: from its own
	 * interfaces. NULL: from all. */
	bool (*ours)(void *arg, unsigned ifindex);
};

/* Totals. */
struct bp_phd_server_counts {
	uint64_t received; /* delivered */
	uint64_t sent;
	uint64_t unsent;       /* rejected by the kernel */
	uint64_t oversized;    /* longer than the maximum APDU */
	uint64_t not_cse;      /* received on an interface that is not ours */
	uint64_t unanswerable; /* from port 0 or a link-local address, to broadcast or multicast */
	struct bp_socket_drops socket; /* by the kernel: full, or a wrong checksum */
};

/* Returns a bound socket for bp_phd_server_new(), which can be passed to another process: datagrams
 * wait in it while no process reads. -1 with a sentence in `err`. */
int bp_phd_server_socket(uint16_t port, char *err, size_t err_size);
/* Sets the options for bp_phd_server_new() on a bound socket that another process has opened. -1
 * with errno. */
int bp_phd_server_prepare(int fd);

/* The server takes ownership of `fd`, even when NULL is returned (with a sentence in `err`). */
struct bp_phd_server *bp_phd_server_new(struct event_base *base, int fd,
	const struct bp_phd_server_ops *ops, void *arg, char *err, size_t err_size);
void bp_phd_server_free(struct bp_phd_server *s);

/* Queues a datagram (copied); it is sent with others at the end of this iteration of the event
 * loop. */
void bp_phd_server_send(
	struct bp_phd_server *s, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len);

void bp_phd_server_count(const struct bp_phd_server *s, struct bp_phd_server_counts *out);

#endif
