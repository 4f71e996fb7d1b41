/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_HTTP_PEER_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_HTTP_PEER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An HTTP server in the test's own event loop that says what the test wants, byte by byte, and
 * keeps what it was asked as it came. It listens on ::, where IPv4 arrives, too.
 */
#define HTTP_PEER_REQUESTS 32u
#define HTTP_PEER_CONNECTIONS 64u

struct http_peer {
	struct event_base *base;
	uint16_t port;
	struct evconnlistener *listener;
	struct bufferevent *connection[HTTP_PEER_CONNECTIONS];
	unsigned connections, requests;
	char request[HTTP_PEER_REQUESTS][8192]; /* head and body */
	/* The answers to the requests in order; the last one is repeated. NULL: no answer. */
	const char *const *answers;
	unsigned n_answers;
	bool closes;         /* after an answer */
	const char *endless; /* sent repeatedly after the answer; NULL: none */
};

void http_peer_open(struct http_peer *p, struct event_base *base);
void http_peer_close(struct http_peer *p);
/* Closes idle connections. */
void http_peer_hang_up(struct http_peer *p);
/* Whether request `i` has this line (without CRLF). */
bool http_peer_has_line(const struct http_peer *p, unsigned i, const char *line);
/* Body of request `i`. */
const char *http_peer_body(const struct http_peer *p, unsigned i);

#endif
