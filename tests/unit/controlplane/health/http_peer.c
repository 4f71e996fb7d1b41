/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/http_peer.h"

#include "tests/unit/controlplane/test.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t bytes_of_request(const char *text, size_t len)
{
	const char *end = memmem(text, len, "\r\n\r\n", 4);
	const char *length = memmem(text, len, "\r\nContent-Length: ", 18);
	size_t body = 0;

	if (end == NULL)
		return 0;
	if (length != NULL && length < end)
		body = strtoul(length + 18, NULL, 10);
	return len >= (size_t)(end - text) + 4 + body ? (size_t)(end - text) + 4 + body : 0;
}

static void answer(struct http_peer *p, struct bufferevent *c)
{
	const unsigned i = p->requests - 1;
	const char *text =
		p->n_answers == 0 ? NULL : p->answers[i < p->n_answers ? i : p->n_answers - 1];

	if (text != NULL)
		bufferevent_write(c, text, strlen(text));
}

static void on_read(struct bufferevent *c, void *arg)
{
	struct http_peer *p = arg;
	struct evbuffer *in = bufferevent_get_input(c);
	size_t len = evbuffer_get_length(in);
	const char *text = (const char *)evbuffer_pullup(in, -1);

	len = bytes_of_request(text, len);
	if (len == 0)
		return;
	assert_in_range(p->requests, 0, HTTP_PEER_REQUESTS - 1);
	assert_in_range(len, 1, sizeof(p->request[0]) - 1);
	memcpy(p->request[p->requests], text, len);
	p->request[p->requests++][len] = '\0';
	evbuffer_drain(in, len);
	answer(p, c);
}

static struct bufferevent **place_of(struct http_peer *p, const struct bufferevent *c)
{
	for (unsigned i = 0; i < HTTP_PEER_CONNECTIONS; i++)
		if (p->connection[i] == c)
			return &p->connection[i];
	fail_msg("a connection that is none");
	return NULL;
}

static void hang_up(struct http_peer *p, struct bufferevent *c)
{
	*place_of(p, c) = NULL;
	bufferevent_free(c);
}

static void on_written(struct bufferevent *c, void *arg)
{
	struct http_peer *p = arg;

	if (p->endless != NULL)
		bufferevent_write(c, p->endless, strlen(p->endless));
	else if (p->closes && p->requests > 0)
		hang_up(p, c);
}

static void on_event(struct bufferevent *c, short what, void *arg)
{
	(void)what;
	hang_up(arg, c);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from,
	int from_len, void *arg)
{
	struct http_peer *p = arg;
	struct bufferevent *c = bufferevent_socket_new(p->base, fd, BEV_OPT_CLOSE_ON_FREE);

	(void)l;
	(void)from;
	(void)from_len;
	assert_non_null(c);
	*place_of(p, NULL) = c;
	p->connections++;
	bufferevent_setcb(c, on_read, on_written, on_event, p);
	bufferevent_enable(c, EV_READ | EV_WRITE);
}

void http_peer_open(struct http_peer *p, struct event_base *base)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(p->port)};
	socklen_t len = sizeof(at);
	const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), off = 0,
		  on = 1;

	p->base = base;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	p->port = ntohs(at.sin6_port);
	p->listener = evconnlistener_new(base, on_accept, p, LEV_OPT_CLOSE_ON_FREE, 16, fd);
	assert_non_null(p->listener);
}

void http_peer_hang_up(struct http_peer *p)
{
	for (unsigned i = 0; i < HTTP_PEER_CONNECTIONS; i++)
		if (p->connection[i] != NULL)
			hang_up(p, p->connection[i]);
}

void http_peer_close(struct http_peer *p)
{
	http_peer_hang_up(p);
	if (p->listener != NULL)
		evconnlistener_free(p->listener);
	p->listener = NULL;
}

bool http_peer_has_line(const struct http_peer *p, unsigned i, const char *line)
{
	const size_t len = strlen(line);

	for (const char *at = p->request[i]; at != NULL; at = strstr(at, "\r\n")) {
		at += at != p->request[i] ? 2 : 0;
		if (strncmp(at, line, len) == 0 && strncmp(at + len, "\r\n", 2) == 0)
			return true;
	}
	return false;
}

const char *http_peer_body(const struct http_peer *p, unsigned i)
{
	const char *end = strstr(p->request[i], "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}
