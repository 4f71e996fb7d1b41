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
 * The manager's TCP side: consecutive APDUs, each with its own length. A connection that sends an
 * invalid APDU, does not read its answers, or is idle for too long, is closed.
 */
struct bp_phd_tcp;

struct bp_phd_tcp_ops {
	/* A whole APDU: valid until the call returns. May call bp_phd_tcp_send() and _close(). */
	void (*receive)(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);
	/* A connection was closed by either side; its number can be reused. Not called for
	 * connections that bp_phd_tcp_free() closes. */
	void (*on_disconnect)(void *arg, uint32_t connection);
	/* The kernel has accepted all data of a connection, even if there was none. May be NULL. */
	void (*written)(void *arg, uint32_t connection);
	/* Returns whether a connection has an association. NULL: not checked. */
	bool (*associated)(void *arg, uint32_t connection);
};

struct bp_phd_tcp_limits {
	uint32_t connections; /* further ones are closed immediately, and counted */
	uint32_t per_address; /* per IP address; 0: no separate limit */
	uint32_t idle_s;      /* time without a byte from the device; 0: unlimited */
	/* A connection is closed when it had no association for this time, at most for twice this
	 * time; 0: never. */
	uint32_t unassociated_ms;
};

/* Totals, except `open`. */
struct bp_phd_tcp_counts {
	uint64_t accepted, refused;   /* rejected: connections over a limit */
	uint64_t postponed;           /* times that accepting paused: no descriptor or memory */
	uint64_t received, sent;      /* APDUs */
	uint64_t malformed;           /* connections closed for an invalid APDU */
	uint64_t unread;              /* closed because the device does not read */
	uint64_t idle;                /* closed as idle */
	uint64_t unassociated_closed; /* closed without an association */
	uint64_t unsent;              /* APDUs for a closed connection */
	uint32_t open;
	struct bp_socket_drops socket; /* connections that the kernel dropped */
};

/* Returns a listening socket for bp_phd_tcp_new(), which can be passed to another process. -1 with
 * a sentence in `err`. */
int bp_phd_tcp_socket(uint16_t port, char *err, size_t err_size);
/* Sets the options for bp_phd_tcp_new() on a listening socket that another process has opened. -1
 * with errno. */
int bp_phd_tcp_prepare(int fd);

/* The server takes ownership of `fd`, even when NULL is returned (with a sentence in `err`). */
struct bp_phd_tcp *bp_phd_tcp_new(struct event_base *base, int fd,
	const struct bp_phd_tcp_limits *limits, const struct bp_phd_tcp_ops *ops, void *arg,
	char *err, size_t err_size);
void bp_phd_tcp_free(struct bp_phd_tcp *t);
/* Sets another limits.per_address, for new connections. */
void bp_phd_tcp_limit(struct bp_phd_tcp *t, uint32_t per_address);

/* Sends an APDU on a connection (bp_phd_peer.connection). */
void bp_phd_tcp_send(struct bp_phd_tcp *t, uint32_t connection, const uint8_t *apdu, size_t len);
/* Closes the connection after its output is written. */
void bp_phd_tcp_close(struct bp_phd_tcp *t, uint32_t connection);

void bp_phd_tcp_count(const struct bp_phd_tcp *t, struct bp_phd_tcp_counts *out);

/* Descriptors reserved for other uses than device connections: the store, the CSE, commands, the
 * routes. */
#define BP_PHD_TCP_RESERVE 512u

/*
 * Returns how many of `wanted` connections this process may open: raises its limit of descriptors
 * (RLIMIT_NOFILE) as far as necessary and permitted. At least 1. A lower number than `wanted` is
 * logged.
 */
uint32_t bp_phd_tcp_capacity(uint32_t wanted);

#endif
