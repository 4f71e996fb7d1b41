/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_SOCKET_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_SOCKET_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * The UDP socket of the CSE's client: connected, so that only the CSE is heard and the kernel tells
 * of datagrams that nobody took.
 */
struct bp_cse_socket {
	struct event_base *base;
	const struct sockaddr_storage *to;
	event_callback_fn on_readable; /* for errors, too */
	void *arg;
	int fd; /* -1: not open */
	struct event *readable;
};

/* False: there was no way. Opens and connects where that was not possible before. */
bool bp_cse_socket_send(struct bp_cse_socket *s, const uint8_t *p, size_t len);
/* Takes our own address as the routes are now; the port stays, for what is on its way. */
void bp_cse_socket_reconnect(struct bp_cse_socket *s);
/* Length of the next datagram, below `size`; -1: there is none. */
ssize_t bp_cse_socket_receive(struct bp_cse_socket *s, uint8_t *p, size_t size);
/*
 * Takes the next error that the kernel keeps; false: there is none. *refused: nobody listens at the
 * port of the CSE, and p[0..*len), at most `size`, is the beginning of the datagram that was
 * refused, as far as the other end quoted it.
 */
bool bp_cse_socket_error(
	struct bp_cse_socket *s, uint8_t *p, size_t size, size_t *len, bool *refused);
void bp_cse_socket_close(struct bp_cse_socket *s);

#endif
