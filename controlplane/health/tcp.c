/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "daemon/log.h"
#include "shm/hash.h"
#include "shm/index.h"

#define APDU_MAX (4u + 65535u)
#define OUTPUT_MAX (256u << 10) /* unread by a device */
#define BACKLOG 1024
/* APDUs of one connection per iteration; the rest waits for the other connections. */
#define TURN 64
/* Delay after a connection could not be accepted for lack of descriptors or memory: it waits in the
 * kernel. */
#define PAUSE_MS 100

struct connection {
	struct bp_phd_tcp *tcp;
	struct bufferevent *bev; /* NULL: free */
	struct event *again;     /* more complete APDUs wait than one iteration reads */
	struct event *look;      /* checks for an association; or NULL */
	struct bp_phd_peer peer;
	uint32_t next_free;
	bool closing;      /* after all output is written; input is no longer read */
	bool unassociated; /* it had no association at the last check */
};

struct bp_phd_tcp {
	struct event_base *base;
	struct evconnlistener *listener;
	struct bp_phd_tcp_limits limits;
	struct bp_phd_tcp_ops ops;
	void *arg;
	struct bp_phd_tcp_counts counts;
	struct connection *connection; /* [limits.connections], by number */
	uint32_t free;                 /* the first free one; limits.connections: none */
	struct bp_index by_address;    /* open connections */
	struct event *resume;          /* resumes accepting after a pause */
	struct bp_log_limit log;
	bool ending;
};

int bp_phd_tcp_prepare(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int bp_phd_tcp_socket(uint16_t port, char *err, size_t err_size)
{
	const struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int on = 1, off = 0;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	snprintf(err, err_size, "health_devices.listen.tcp_port: port %u: %s", port,
		strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A peer that chooses its address chooses its hash chain: limits.per_address limits the length of
 * the chain for its own connections. */
static uint64_t hash_of(const struct bp_phd_peer *p)
{
	return bp_mix64(bp_load64(p->address) ^ bp_mix64(bp_load64(p->address + 8)));
}

/* Counts the connections of an address, up to `most`. */
static uint32_t count_of(const struct bp_phd_tcp *t, const struct bp_phd_peer *p, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = bp_index_first(&t->by_address, hash_of(p)); i != BP_INDEX_END && n < most;
		i = bp_index_next(&t->by_address, i))
		n += memcmp(t->connection[i].peer.address, p->address, sizeof(p->address)) == 0;
	return n;
}

static void end(struct connection *c)
{
	struct bp_phd_tcp *t = c->tcp;
	uint32_t number = c->peer.connection;

	event_free(c->again);
	if (c->look)
		event_free(c->look);
	bufferevent_free(c->bev);
	bp_index_remove(&t->by_address, hash_of(&c->peer), number);
	memset(c, 0, sizeof(*c));
	c->next_free = t->free;
	t->free = number;
	t->counts.open--;
	if (!t->ending)
		t->ops.on_disconnect(t->arg, number);
}

static void malformed(struct connection *c)
{
	c->tcp->counts.malformed++;
	end(c);
}

/* Reads the complete APDUs, up to the limit of one iteration. The connection may be closed
 * afterwards. */
static void read_apdus(struct connection *c)
{
	struct bp_phd_tcp *t = c->tcp;
	struct evbuffer *in = bufferevent_get_input(c->bev);

	for (unsigned n = 0; n < TURN; n++) {
		const size_t there = evbuffer_get_length(in);
		uint8_t head[4];
		uint32_t size;
		const uint8_t *apdu;

		if (c->closing) {
			evbuffer_drain(in, there);
			return;
		}
		if (evbuffer_copyout(in, head, sizeof(head)) < (ssize_t)sizeof(head))
			return;
		/* all choices of APDUs are e200..e700: otherwise this is not the start of an
		 * APDU */
		if (head[0] < 0xe2 || head[0] > 0xe7 || head[1] != 0)
			return malformed(c);
		size = bp_phd_apdu_size(head, sizeof(head));
		if (there < size)
			return;
		apdu = evbuffer_pullup(in, size);
		if (!apdu)
			return malformed(c); /* no memory: the APDU is lost */
		t->counts.received++;
		t->ops.receive(t->arg, &c->peer, apdu, size);
		if (!c->bev)
			return;
		evbuffer_drain(in, size);
	}
	event_active(c->again, EV_TIMEOUT, 0);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	read_apdus(arg);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_apdus(arg);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	if (evbuffer_get_length(bufferevent_get_output(bev)) != 0)
		return;
	if (c->closing)
		end(c);
	else if (c->tcp->ops.written)
		c->tcp->ops.written(c->tcp->arg, c->peer.connection);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;

	(void)bev;
	if (what & BEV_EVENT_TIMEOUT)
		c->tcp->counts.idle++;
	if (what & (BEV_EVENT_TIMEOUT | BEV_EVENT_EOF | BEV_EVENT_ERROR))
		end(c);
}

/* One check is not sufficient: a device may be between two associations. */
static void on_check_timer(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;
	struct bp_phd_tcp *t = c->tcp;
	const bool associated = t->ops.associated(t->arg, c->peer.connection);

	(void)fd;
	(void)what;
	if (!associated && c->unassociated) {
		t->counts.unassociated_closed++;
		end(c);
		return;
	}
	c->unassociated = !associated;
}

/* False: no memory. */
static bool look_at(struct connection *c)
{
	const struct bp_phd_tcp *t = c->tcp;
	const struct timeval each = {.tv_sec = t->limits.unassociated_ms / 1000,
		.tv_usec = (suseconds_t)(t->limits.unassociated_ms % 1000 * 1000)};

	if (t->limits.unassociated_ms == 0 || !t->ops.associated)
		return true;
	c->look = event_new(t->base, -1, EV_PERSIST, on_check_timer, c);
	return c->look && event_add(c->look, &each) == 0;
}

/* A dual-stack socket reports IPv4 as ::ffff:a.b.c.d. */
static bool read_addresses(int fd, struct bp_phd_peer *p)
{
	struct sockaddr_in6 own, device;
	socklen_t own_len = sizeof(own), device_len = sizeof(device);

	if (getsockname(fd, (struct sockaddr *)&own, &own_len) != 0 ||
		getpeername(fd, (struct sockaddr *)&device, &device_len) != 0 ||
		own.sin6_family != AF_INET6 || device.sin6_family != AF_INET6)
		return false;
	memcpy(p->own, &own.sin6_addr, 16);
	memcpy(p->address, &device.sin6_addr, 16);
	p->port = ntohs(device.sin6_port);
	p->transport = BP_PHD_TRANSPORT_TCP;
	return true;
}

/* Returns NULL without memory; `fd` is then closed. */
static struct bufferevent *make_bufferevent(struct connection *c, int fd)
{
	const struct timeval idle = {.tv_sec = c->tcp->limits.idle_s};
	struct bufferevent *bev = bufferevent_socket_new(c->tcp->base, fd, BEV_OPT_CLOSE_ON_FREE);

	if (!bev) {
		close(fd);
		return NULL;
	}
	bufferevent_setcb(bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(bev, EV_READ, 0, 2 * APDU_MAX);
	if (idle.tv_sec != 0)
		bufferevent_set_timeouts(bev, &idle, NULL);
	if (bufferevent_enable(bev, EV_READ | EV_WRITE) == 0)
		return bev;
	bufferevent_free(bev);
	return NULL;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int len, void *arg)
{
	struct bp_phd_tcp *t = arg;
	const uint32_t number = t->free;
	const int on = 1;
	struct connection *c;

	(void)listener;
	(void)address;
	(void)len;
	if (number == t->limits.connections) {
		t->counts.refused++;
		close(fd);
		return;
	}
	c = &t->connection[number];
	t->free = c->next_free;
	*c = (struct connection){.tcp = t};
	/* TCP_NODELAY: an answer is one small segment and must not wait for the device's
	 * acknowledgement */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!read_addresses(fd, &c->peer)) {
		close(fd); /* the peer has already disconnected */
	} else if (t->limits.per_address != 0 &&
		   count_of(t, &c->peer, t->limits.per_address) == t->limits.per_address) {
		close(fd);
	} else {
		c->peer.connection = number;
		c->bev = make_bufferevent(c, fd);
		c->again = c->bev ? event_new(t->base, -1, 0, on_again, c) : NULL;
	}
	if (c->again && look_at(c)) {
		bp_index_add(&t->by_address, hash_of(&c->peer), number);
		t->counts.accepted++;
		t->counts.open++;
		return;
	}
	if (c->look)
		event_free(c->look);
	if (c->again)
		event_free(c->again);
	if (c->bev)
		bufferevent_free(c->bev);
	*c = (struct connection){.next_free = t->free};
	t->free = number;
	t->counts.refused++;
}

/* The pending connection would be reported repeatedly, and no other event would be handled. */
static void on_accept_failed(struct evconnlistener *listener, void *arg)
{
	const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};
	struct bp_phd_tcp *t = arg;
	const int error = EVUTIL_SOCKET_ERROR();

	t->counts.postponed++;
	bp_log_limited(&t->log, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_NUM("connections", t->counts.open)),
		"health_devices.listen.tcp_port: accepting connections is paused: %s",
		strerror(error));
	evconnlistener_disable(listener);
	evtimer_add(t->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct bp_phd_tcp *t = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(t->listener);
}

static struct connection *find(struct bp_phd_tcp *t, uint32_t connection)
{
	if (connection >= t->limits.connections || !t->connection[connection].bev)
		return NULL;
	return &t->connection[connection];
}

void bp_phd_tcp_send(struct bp_phd_tcp *t, uint32_t connection, const uint8_t *apdu, size_t len)
{
	struct connection *c = find(t, connection);
	struct evbuffer *out;

	if (!c || c->closing) {
		t->counts.unsent++;
		return;
	}
	out = bufferevent_get_output(c->bev);
	if (evbuffer_get_length(out) + len > OUTPUT_MAX || evbuffer_add(out, apdu, len) != 0) {
		t->counts.unsent++;
		t->counts.unread++;
		bp_phd_tcp_close(t, connection);
		return;
	}
	t->counts.sent++;
}

/* Not immediately: the caller may be processing data of the connection. */
void bp_phd_tcp_close(struct bp_phd_tcp *t, uint32_t connection)
{
	const struct timeval soon = {.tv_sec = 1};
	struct connection *c = find(t, connection);

	if (!c || c->closing)
		return;
	c->closing = true;
	/* a peer that does not read is not waited for */
	bufferevent_set_timeouts(c->bev, &soon, &soon);
	bufferevent_trigger(
		c->bev, EV_WRITE, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

struct bp_phd_tcp *bp_phd_tcp_new(struct event_base *base, int fd,
	const struct bp_phd_tcp_limits *limits, const struct bp_phd_tcp_ops *ops, void *arg,
	char *err, size_t err_size)
{
	struct bp_phd_tcp *t = calloc(1, sizeof(*t));

	if (t) {
		t->base = base;
		t->limits = *limits;
		t->ops = *ops;
		t->arg = arg;
		t->connection = calloc(limits->connections, sizeof(*t->connection));
		for (uint32_t i = 0; t->connection && i < limits->connections; i++)
			t->connection[i].next_free = i + 1;
		t->resume = evtimer_new(base, on_resume, t);
		if (t->connection && t->resume &&
			bp_index_init(&t->by_address, limits->connections))
			t->listener = evconnlistener_new(
				base, on_accept, t, LEV_OPT_CLOSE_ON_FREE, 0, fd);
		if (t->listener) {
			evconnlistener_set_error_cb(t->listener, on_accept_failed);
			return t;
		}
		if (t->resume)
			event_free(t->resume);
		bp_index_free(&t->by_address);
		free(t->connection);
		free(t);
	}
	close(fd);
	snprintf(err, err_size, "no memory");
	return NULL;
}

void bp_phd_tcp_free(struct bp_phd_tcp *t)
{
	if (!t)
		return;
	t->ending = true;
	for (uint32_t i = 0; i < t->limits.connections; i++)
		if (t->connection[i].bev)
			end(&t->connection[i]);
	evconnlistener_free(t->listener);
	event_free(t->resume);
	bp_index_free(&t->by_address);
	free(t->connection);
	free(t);
}

void bp_phd_tcp_limit(struct bp_phd_tcp *t, uint32_t per_address)
{
	t->limits.per_address = per_address;
}

void bp_phd_tcp_count(const struct bp_phd_tcp *t, struct bp_phd_tcp_counts *out)
{
	*out = t->counts;
	out->socket = bp_socket_drops(evconnlistener_get_fd(t->listener));
}

/* ---- descriptors ---- */

uint32_t bp_phd_tcp_capacity(uint32_t wanted)
{
	const rlim_t needed = (rlim_t)wanted + BP_PHD_TCP_RESERVE;
	struct rlimit had, now;
	rlim_t room;

	if (getrlimit(RLIMIT_NOFILE, &had) != 0)
		return wanted;
	now = had;
	if (now.rlim_cur < needed)
		now.rlim_cur = needed < now.rlim_max ? needed : now.rlim_max;
	if (now.rlim_cur != had.rlim_cur && setrlimit(RLIMIT_NOFILE, &now) != 0)
		now = had;
	if (now.rlim_cur >= needed)
		return wanted;
	room = now.rlim_cur > BP_PHD_TCP_RESERVE ? now.rlim_cur - BP_PHD_TCP_RESERVE : 1;
	bp_log_event(BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_NUM("connections_max", room), BP_LOG_NUM("configured", wanted),
			BP_LOG_NUM("open_files_max", now.rlim_cur),
			BP_LOG_NUM("open_files_needed", needed)),
		"health_devices.listen.tcp_port: the limit of open files allows fewer device "
		"connections than configured (ulimit -n, or LimitNOFILE of the service)");
	return (uint32_t)room;
}
