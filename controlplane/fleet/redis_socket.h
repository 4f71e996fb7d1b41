/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_REDIS_SOCKET_H
#define BP_CONTROLPLANE_FLEET_REDIS_SOCKET_H

#include <stddef.h>
#include <stdint.h>

struct bp_address;
struct bp_config_fleet_state;
struct bufferevent;
struct event_base;
struct ssl_ctx_st;

/* A TCP connection to an address, with or without TLS, on the event loop; and the password. */
struct bp_redis_socket {
	struct ssl_ctx_st *tls; /* NULL: without */
	char password[512];     /* "": none */
};

/* Reads the files of the settings. 0, or -1 with a sentence. */
int bp_redis_socket_init(struct bp_redis_socket *s, const struct bp_config_fleet_state *c,
	char *err, size_t err_size);
void bp_redis_socket_end(struct bp_redis_socket *s);

/* Connects; NULL without memory or socket. */
struct bufferevent *bp_redis_socket_open(struct bp_redis_socket *s, struct event_base *base,
	const struct bp_address *address, uint16_t tcp_port);
void bp_redis_socket_close(struct bufferevent *bev);
/* The reason of an error event. */
void bp_redis_socket_error(struct bufferevent *bev, char *text, size_t size);

#endif
