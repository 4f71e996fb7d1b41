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
 * Where devices reach the manager over UDP: one APDU a datagram, one socket for IPv4 and IPv6, for
 * every address of this machine. What is sent leaves from the address that the device talks to.
 */
struct bp_phd_server;

struct bp_phd_server_ops {
	/* A datagram, whole: valid until the call returns. May call bp_phd_server_send(). */
	void (*receive)(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);
	/* Whether what comes in on this interface of the kernel's is for the gateway: by its own
	 * interfaces. NULL: on all. */
	bool (*ours)(void *arg, unsigned ifindex);
};

/* Ever. */
struct bp_phd_server_counts {
	uint64_t received; /* handed over */
	uint64_t sent;
	uint64_t unsent; /* the kernel did not take them: the device repeats what needs an answer */
	uint64_t oversized;    /* longer than an APDU can be */
	uint64_t not_cse;      /* came in on an interface that is not ours */
	uint64_t unanswerable; /* from port 0 or a link-local address, to broadcast or multicast */
	struct bp_socket_drops socket; /* by the kernel: it was full, or a checksum was wrong */
};

/* A bound socket for bp_phd_server_new(), which can be handed to another process: what comes while
 * nobody reads waits in it. -1 with a sentence. */
int bp_phd_server_socket(uint16_t port, char *err, size_t err_size);
/* Sets what bp_phd_server_new() needs of a bound socket that somebody else opened. -1 with errno.
 */
int bp_phd_server_prepare(int fd);

/* `fd` belongs to the server from now on, also when NULL is returned (with a sentence). */
struct bp_phd_server *bp_phd_server_new(struct event_base *base, int fd,
	const struct bp_phd_server_ops *ops, void *arg, char *err, size_t err_size);
void bp_phd_server_free(struct bp_phd_server *s);

/* Queues a datagram (copied); it leaves with others at the end of this turn of the event loop. */
void bp_phd_server_send(
	struct bp_phd_server *s, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len);

void bp_phd_server_count(const struct bp_phd_server *s, struct bp_phd_server_counts *out);

#endif
