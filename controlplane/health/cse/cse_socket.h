/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_SOCKET_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_SOCKET_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * The UDP socket of the CSE client: connected, so that it receives only from the CSE and the kernel
 * reports ICMP errors.
 */
struct bp_cse_socket {
	struct event_base *base;
	const struct sockaddr_storage *to;
	event_callback_fn on_readable; /* also called for errors */
	void *arg;
	int fd; /* -1: not open */
	struct event *readable;
};

/* False: there was no route. Opens and connects the socket if that failed before. */
bool bp_cse_socket_send(struct bp_cse_socket *s, const uint8_t *p, size_t len);
/* Selects the source address by the current routes; the port is unchanged, for outstanding
 * requests. */
void bp_cse_socket_reconnect(struct bp_cse_socket *s);
/* Returns the length of the next datagram, below `size`; -1: there is none. */
ssize_t bp_cse_socket_receive(struct bp_cse_socket *s, uint8_t *p, size_t size);
/*
 * Reads the next error that the kernel has stored; false: there is none. *refused: the CSE's port
 * is closed, and p[0..*len), at most `size` bytes, is the beginning of the refused datagram, as far
 * as the peer has quoted it.
 */
bool bp_cse_socket_error(
	struct bp_cse_socket *s, uint8_t *p, size_t size, size_t *len, bool *refused);
void bp_cse_socket_close(struct bp_cse_socket *s);

#endif
