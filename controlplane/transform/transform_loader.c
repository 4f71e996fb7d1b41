/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/transform/transform_loader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "controlplane/transform/transform.h"
#include "controlplane/transform/transform_messages.h"
#include "proto/transform/transform_matrix.h"

#define INPUT_MAX (64u * BP_TRANSFORM_LOADER_MESSAGE) /* bytes per read */
#define ACCEPT_PAUSE_US 100000
#define OUTPUT_MAX 16384u /* unread answers; above this limit no further message is processed */

struct connection {
	struct bp_loader *loader;
	struct bufferevent *bev; /* NULL: free */
	bool closing;            /* close after the answers are written */
};

struct bp_loader {
	struct event_base *base;
	struct bp_shm *shm;
	struct evconnlistener *listener;
	struct event *resume; /* accepting, after a failure */
	uint16_t port;
	uint32_t n, open; /* number of connections: allocated, and open */
	struct bp_log_limit refusals, failures;
	struct connection connection[];
};

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void close_connection(struct connection *c)
{
	struct bp_loader *l = c->loader;

	bufferevent_free(c->bev);
	c->bev = NULL;
	c->closing = false;
	if (l->open-- == l->n)
		evconnlistener_enable(l->listener);
}

static void refuse(struct connection *c, const struct bp_prefix *source, const char *why)
{
	struct bp_loader *l = c->loader;
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, source->bytes, text, sizeof(text));
	count(&l->shm->transform.head->refused);
	bp_log_limited(&l->refusals, BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("source", text)),
		"matrix loader: matrix rejected: %s", why);
	evbuffer_add_printf(bufferevent_get_output(c->bev), "error: %s\n", why);
}

static void set(struct connection *c, const struct bp_prefix *source, const double m[12])
{
	const struct bp_transform_source_id whose = {*source, BP_TRANSFORM_LOADER};
	char err[256];

	if (bp_transform_set_matrix(c->loader->shm, &whose, 0, m, true, err, sizeof(err)) < 0) {
		refuse(c, source, err);
		return;
	}
	count(&c->loader->shm->transform.head->set);
	evbuffer_add(bufferevent_get_output(c->bev), "ok", 2);
}

/* Processes one message; false: no complete message is available. */
static bool take(struct connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	uint8_t bytes[BP_TRANSFORM_LOADER_MESSAGE];
	const ev_ssize_t n = evbuffer_copyout(in, bytes, sizeof(bytes));
	struct bp_prefix source;
	double m[12];

	switch (bp_loader_next(bytes, n < 0 ? 0 : (size_t)n, &source, m)) {
	case BP_LOADER_MATRIX:
		set(c, &source, m);
		break;
	case BP_LOADER_NO_CLIENT:
		refuse(c, &source, "its address is not the address of a host");
		break;
	case BP_LOADER_EXIT:
		c->closing = true;
		return false;
	case BP_LOADER_MORE:
	default:
		return false;
	}
	evbuffer_drain(in, sizeof(bytes));
	return true;
}

/* A client that does not read its answers is not served. */
static void serve(struct connection *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	while (!c->closing && evbuffer_get_length(out) < OUTPUT_MAX && take(c))
		;
	if (c->closing && evbuffer_get_length(out) == 0)
		close_connection(c);
	else if (c->closing || evbuffer_get_length(out) >= OUTPUT_MAX)
		bufferevent_disable(c->bev, EV_READ);
	else
		bufferevent_enable(c->bev, EV_READ);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	serve(arg);
}

/* All output is written: messages may have waited for this. */
static void on_write(struct bufferevent *bev, void *arg)
{
	serve(arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;

	if ((what & BEV_EVENT_EOF) == 0) {
		close_connection(c); /* an error, or idle for too long */
		return;
	}
	/* A client that has closed its sending side may still read. */
	while (take(c))
		;
	c->closing = true;
	serve(c);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int address_len, void *arg)
{
	static const struct timeval idle = {BP_LOADER_IDLE_S, 0};
	static const int on = 1;
	struct bp_loader *l = arg;
	struct connection *c = l->connection;

	while (c < l->connection + l->n && c->bev != NULL)
		c++;
	if (c == l->connection + l->n) { /* accepted before the listener was disabled */
		close(fd);
		return;
	}
	c->bev = bufferevent_socket_new(l->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev == NULL) {
		close(fd);
		return;
	}
	/* TCP_NODELAY: a client that waits for each answer must not wait for a full segment. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->loader = l;
	c->closing = false;
	if (++l->open == l->n)
		evconnlistener_disable(listener);
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, INPUT_MAX);
	bufferevent_set_timeouts(c->bev, &idle, &idle);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

/* As control.c: without a descriptor, the pending connection would be reported repeatedly. */
static void on_accept_failed(struct evconnlistener *listener, void *arg)
{
	const struct timeval pause = {.tv_usec = ACCEPT_PAUSE_US};
	struct bp_loader *l = arg;

	bp_log_limited(&l->failures, BP_LOG_WARNING, NULL,
		"transform.matrix_loader: accepting connections is paused: %s",
		strerror(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	evtimer_add(l->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	const struct bp_loader *l = arg;

	(void)fd;
	(void)what;
	if (l->open < l->n)
		evconnlistener_enable(l->listener);
}

static socklen_t socket_address(
	const struct bp_address *address, uint16_t tcp, struct sockaddr_storage *out)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(tcp)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(tcp)};

	memset(out, 0, sizeof(*out));
	if (address->family == 4) {
		memcpy(&in4.sin_addr, address->bytes, 4);
		memcpy(out, &in4, sizeof(in4));
		return sizeof(in4);
	}
	memcpy(&in6.sin6_addr, address->bytes, 16);
	memcpy(out, &in6, sizeof(in6));
	return sizeof(in6);
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	memcpy(&in4, a, sizeof(in4));
	memcpy(&in6, a, sizeof(in6));
	return ntohs(a->ss_family == AF_INET ? in4.sin_port : in6.sin6_port);
}

static int start_listening(struct bp_loader *l, const struct sockaddr_storage *a, socklen_t len)
{
	struct sockaddr_storage bound;
	socklen_t bound_len = sizeof(bound);

	l->listener = evconnlistener_new_bind(l->base, on_accept, l,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 16,
		(const struct sockaddr *)a, (int)len);
	if (l->listener == NULL)
		return -1;
	evconnlistener_set_error_cb(l->listener, on_accept_failed);
	memset(&bound, 0, sizeof(bound));
	if (getsockname(
		    evconnlistener_get_fd(l->listener), (struct sockaddr *)&bound, &bound_len) == 0)
		l->port = port_of(&bound);
	return 0;
}

struct bp_loader *bp_loader_new(struct event_base *base, struct bp_shm *shm,
	const struct bp_address *address, uint16_t tcp, uint32_t connections, char *err,
	size_t err_size)
{
	struct bp_loader *l = calloc(1, sizeof(*l) + connections * sizeof(struct connection));
	struct sockaddr_storage a;
	char text[INET6_ADDRSTRLEN];
	socklen_t len;

	if (l == NULL) {
		snprintf(err, err_size, "no memory for the matrix loader");
		return NULL;
	}
	l->base = base;
	l->shm = shm;
	l->n = connections;
	len = socket_address(address, tcp, &a);
	l->resume = evtimer_new(base, on_resume, l);
	if (l->resume == NULL) {
		snprintf(err, err_size, "no memory for the matrix loader");
		free(l);
		return NULL;
	}
	if (start_listening(l, &a, len) == 0)
		return l;
	inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, text, sizeof(text));
	snprintf(err, err_size, "transform.matrix_loader: cannot listen on %s, TCP port %u: %s",
		text, tcp, strerror(errno));
	event_free(l->resume);
	free(l);
	return NULL;
}

void bp_loader_free(struct bp_loader *l)
{
	if (l == NULL)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->connection[i].bev != NULL)
			bufferevent_free(l->connection[i].bev);
	event_free(l->resume);
	evconnlistener_free(l->listener);
	free(l);
}

uint16_t bp_loader_port(const struct bp_loader *l)
{
	return l->port;
}
