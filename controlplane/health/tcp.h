/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_TCP_H
#define BP_CONTROLPLANE_HEALTH_TCP_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/health/socket_drops.h"
#include "services/health/manager.h"

/*
 * Where devices reach the manager over TCP: APDUs one behind the other, each as long as it says
 * itself. A connection that sends what is no APDU, does not read what it is answered, or is silent
 * for too long, is closed.
 */
struct bp_phd_tcp;

struct bp_phd_tcp_ops {
	/* A whole APDU: valid until the call returns. May call bp_phd_tcp_send() and _close(). */
	void (*receive)(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);
	/* A connection is gone, whoever closed it; its number is free for another. Not for those
	 * that bp_phd_tcp_free() ends. */
	void (*on_disconnect)(void *arg, uint32_t connection);
	/* The kernel has all that was sent on a connection; also where nothing was. May be NULL. */
	void (*written)(void *arg, uint32_t connection);
	/* Whether a connection has an association. NULL: nobody asks. */
	bool (*associated)(void *arg, uint32_t connection);
};

struct bp_phd_tcp_limits {
	uint32_t connections; /* more are closed at once, and counted */
	uint32_t per_address; /* the same, of one IP address; 0: all of them */
	uint32_t idle_s;      /* without an octet from the device; 0: for ever */
	/* A connection is closed when it had no association for so long, and for twice as long at
	 * most; 0: it may stay. */
	uint32_t unassociated_ms;
};

/* Ever, but for `open`. */
struct bp_phd_tcp_counts {
	uint64_t accepted, refused; /* refused: connections over a limit */
	uint64_t postponed;      /* times that connections had to wait: no descriptor, no memory */
	uint64_t received, sent; /* APDUs */
	uint64_t malformed;      /* connections closed for what is no APDU */
	uint64_t unread;         /* closed because the device does not read */
	uint64_t idle;           /* closed as idle */
	uint64_t unassociated_closed; /* closed for want of an association */
	uint64_t unsent;              /* APDUs for a connection that is gone */
	uint32_t open;
	struct bp_socket_drops socket; /* connections that the kernel dropped before */
};

/* A listening socket for bp_phd_tcp_new(), which can be handed to another process. -1 with a
 * sentence. */
int bp_phd_tcp_socket(uint16_t port, char *err, size_t err_size);
/* Sets what bp_phd_tcp_new() needs of a socket that listens, and that somebody else opened. -1 with
 * errno. */
int bp_phd_tcp_prepare(int fd);

/* `fd` belongs to the server from now on, also when NULL is returned (with a sentence). */
struct bp_phd_tcp *bp_phd_tcp_new(struct event_base *base, int fd,
	const struct bp_phd_tcp_limits *limits, const struct bp_phd_tcp_ops *ops, void *arg,
	char *err, size_t err_size);
void bp_phd_tcp_free(struct bp_phd_tcp *t);
/* Another limits.per_address, for connections that come. */
void bp_phd_tcp_limit(struct bp_phd_tcp *t, uint32_t per_address);

/* Sends an APDU on a connection (bp_phd_peer.connection). */
void bp_phd_tcp_send(struct bp_phd_tcp *t, uint32_t connection, const uint8_t *apdu, size_t len);
/* Closes it once what was sent is written. */
void bp_phd_tcp_close(struct bp_phd_tcp *t, uint32_t connection);

void bp_phd_tcp_count(const struct bp_phd_tcp *t, struct bp_phd_tcp_counts *out);

/* Descriptors that devices on TCP leave to all else: the store, the CSE, commands, the routes. */
#define BP_PHD_TCP_RESERVE 512u

/*
 * How many of `wanted` connections this process may have open: its limit of descriptors
 * (RLIMIT_NOFILE) is raised as far as is needed and allowed. At least 1. Fewer than wanted is said
 * in the log.
 */
uint32_t bp_phd_tcp_capacity(uint32_t wanted);

#endif
