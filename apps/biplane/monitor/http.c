/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/biplane/monitor/event_stream.h"
#include "apps/biplane/monitor/monitor.h"
#include "apps/biplane/monitor/request.h"
#include "daemon/log.h"

/* Connections above monitoring.max_connections while those that they replace are being closed. */
#define HEADROOM 8u
#define S 1000000000ull
#define RUNS_MAX 16u /* so that signals are handled in between */
#define READ_NS S    /* for a client to read its answer */
/* TLS 1.2 and later. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

enum connection_state { FREE, WAITING, ANSWERING, STREAMING, CLOSING };

struct connection {
	enum connection_state state;
	bool used; /* a request was answered on it */
	int fd;
	uint64_t since_ns; /* of the state */
	size_t answer_bytes;
	/* of a stream of events */
	struct MHD_Connection *handle;
	struct bp_event_stream *stream;
	bool suspended, gone;
};

struct bp_http {
	struct bp_monitor *monitor;
	struct MHD_Daemon *daemon;
	unsigned max;    /* connections */
	uint64_t closed; /* connections since the start */
	struct bp_log_limit log_rate;
	char last_error[256];
	struct connection connection[]; /* max + HEADROOM */
};

/* ---- connections ---- */

/* The library notices that the socket is shut down, and closes it. */
static void close_connection(struct connection *c)
{
	c->state = CLOSING;
	shutdown(c->fd, SHUT_RDWR);
}

/* The connection that has been in a state for the longest time, since before `before_ns`; NULL:
 * none. */
static struct connection *longest(
	struct bp_http *h, enum connection_state state, uint64_t before_ns)
{
	struct connection *found = NULL;

	for (unsigned i = 0; i < h->max + HEADROOM; i++) {
		struct connection *c = &h->connection[i];

		if (c->state == state && c->since_ns < before_ns &&
			(found == NULL || c->since_ns < found->since_ns))
			found = c;
	}
	return found;
}

/* Connections that are not being closed. */
static unsigned in_use(const struct bp_http *h)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->max + HEADROOM; i++)
		n += h->connection[i].state != FREE && h->connection[i].state != CLOSING;
	return n;
}

/*
 * A client that sends no request, or does not read its answer, must not keep others out: its
 * connection is closed if there are more than the maximum. Those in the headroom wait until one can
 * be closed; beyond it, connections are not accepted.
 */
static void make_room(struct bp_http *h, uint64_t waiting_before_ns, uint64_t now_ns)
{
	while (in_use(h) > h->max) {
		struct connection *victim = longest(h, WAITING, waiting_before_ns);

		if (victim != NULL) {
			bp_monitor_counters.evicted++;
		} else {
			victim = longest(h, ANSWERING, now_ns - READ_NS);
			if (victim == NULL)
				return;
			bp_monitor_counters.refused++;
		}
		close_connection(victim);
	}
}

static struct connection *connection_of(struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

static void accepted(struct bp_http *h, struct MHD_Connection *handle, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *c = NULL;

	for (unsigned i = 0; c == NULL && i < h->max + HEADROOM; i++)
		if (h->connection[i].state == FREE)
			c = &h->connection[i];
	*context = c;
	if (c == NULL) /* not with the limit that the library has */
		return;
	*c = (struct connection){
		.state = WAITING, .fd = info->connect_fd, .since_ns = bp_monitor_mono_ns()};
	bp_monitor_counters.accepted++;
	bp_monitor_counters.connections++;
	make_room(h, c->since_ns, c->since_ns);
}

static void on_connection(void *arg, struct MHD_Connection *handle, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	struct bp_http *h = arg;
	struct connection *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		accepted(h, handle, context);
	} else if (c != NULL) {
		bp_monitor_counters.incomplete += !c->used;
		bp_monitor_counters.connections--;
		h->closed++;
		c->state = FREE;
	}
}

void bp_http_expire(struct bp_http *h, uint64_t now_ns)
{
	for (unsigned i = 0; i < h->max + HEADROOM; i++) {
		struct connection *c = &h->connection[i];
		uint64_t limit_ns;

		if (c->state == WAITING)
			limit_ns = (c->used ? BP_HTTP_IDLE_S : BP_HTTP_REQUEST_S) * S;
		else if (c->state == ANSWERING)
			limit_ns = BP_HTTP_ANSWER_S * S;
		else if (c->state == STREAMING)
			limit_ns = BP_HTTP_STREAM_S * S;
		else
			continue;
		if (now_ns < c->since_ns + limit_ns)
			continue;
		bp_monitor_counters.timed_out++;
		close_connection(c);
	}
	make_room(h, now_ns - READ_NS, now_ns);
}

/* ---- requests ---- */

static enum MHD_Result take_arg(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct bp_http_request *q = arg;

	(void)kind;
	if (q->n_args < BP_REQUEST_ARGS_MAX) {
		q->arg[q->n_args].name = name;
		q->arg[q->n_args].value = value != NULL ? value : "";
	}
	q->n_args++;
	return MHD_YES;
}

static void read_request(struct MHD_Connection *handle, const char *method, const char *path,
	struct bp_http_request *q)
{
	static const enum MHD_ValueKind kind = MHD_HEADER_KIND;

	*q = (struct bp_http_request){
		.method = method,
		.path = path,
		.host = MHD_lookup_connection_value(handle, kind, "Host"),
		.authorization = MHD_lookup_connection_value(handle, kind, "Authorization"),
		.accept = MHD_lookup_connection_value(handle, kind, "Accept"),
		.fetch_site = MHD_lookup_connection_value(handle, kind, "Sec-Fetch-Site"),
		.if_none_match = MHD_lookup_connection_value(handle, kind, "If-None-Match"),
	};
	MHD_get_connection_values(handle, MHD_GET_ARGUMENT_KIND, take_arg, q);
}

/*
 * The page may only use what the gateway itself serves. No other page may show it in a frame, or
 * read an answer. There is no Access-Control-Allow-Origin.
 */
static void add_headers(struct MHD_Response *response, const struct bp_http_answer *a)
{
	static const char *const fixed[][2] = {
		{"Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
			"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
			"frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};
	char seconds[16];

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		MHD_add_response_header(response, fixed[i][0], fixed[i][1]);
	MHD_add_response_header(
		response, MHD_HTTP_HEADER_CACHE_CONTROL, a->etag != NULL ? "no-cache" : "no-store");
	if (a->etag != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, a->etag);
	if (a->content_type != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->content_type);
	if (a->status == 401)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (a->status == 405)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (a->retry_after_s != 0) {
		snprintf(seconds, sizeof(seconds), "%u", a->retry_after_s);
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
	}
}

/* ---- streams of events ---- */

#define STREAM_BLOCK 4096u

static ssize_t read_stream(void *arg, uint64_t position, char *out, size_t max)
{
	struct connection *c = arg;

	(void)position;
	if (c->gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!bp_event_stream_fill(c->stream, bp_monitor_unix_ns(), bp_monitor_mono_ns())) {
		MHD_suspend_connection(c->handle); /* bp_http_streams() resumes it */
		c->suspended = true;
		return 0;
	}
	c->since_ns = bp_monitor_mono_ns();
	return (ssize_t)bp_event_stream_read(c->stream, out, max);
}

static void resume(struct connection *c)
{
	c->suspended = false;
	MHD_resume_connection(c->handle);
}

/* The library does not poll a suspended connection. There may be bytes before its end, which are
 * not read. */
static bool peer_is_gone(const struct connection *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool bp_http_streams(struct bp_http *h, uint64_t unix_ns, uint64_t mono_ns)
{
	bool any = false;

	for (unsigned i = 0; i < h->max + HEADROOM; i++) {
		struct connection *c = &h->connection[i];

		if (c->stream == NULL)
			continue;
		any = true;
		c->gone = c->gone || peer_is_gone(c);
		if (c->suspended && (c->gone || c->state == CLOSING ||
					    bp_event_stream_fill(c->stream, unix_ns, mono_ns)))
			resume(c);
	}
	return any;
}

void bp_http_end_streams(struct bp_http *h)
{
	for (unsigned i = 0; i < h->max + HEADROOM; i++) {
		struct connection *c = &h->connection[i];

		if (c->stream == NULL)
			continue;
		c->gone = true;
		if (c->suspended)
			resume(c);
	}
}

/* A client that vanishes, such as a computer that sleeps, acknowledges nothing, but the buffer of
 * the socket takes comments for hours, and the kernel gives up after about 15 minutes. */
static void limit_unacknowledged(int fd)
{
	const unsigned ms = BP_HTTP_STREAM_S * 1000;

	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)); /* fails on a Unix socket */
}

static struct MHD_Response *stream_response(
	struct MHD_Connection *handle, struct connection *c, struct bp_event_reader *events)
{
	c->stream = bp_event_stream_new(events, bp_monitor_mono_ns());
	if (c->stream == NULL)
		return NULL;
	c->handle = handle;
	c->suspended = c->gone = false;
	limit_unacknowledged(c->fd);
	return MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, NULL);
}

/* ---- answers ---- */

/* Takes the body. */
static enum MHD_Result send_answer(
	struct MHD_Connection *handle, struct connection *c, struct bp_http_answer *a)
{
	struct MHD_Response *response;
	enum MHD_Result sent;

	if (a->events != NULL)
		response = stream_response(handle, c, a->events);
	else
		response = MHD_create_response_from_buffer(a->len,
			a->body != NULL ? (void *)a->body : (void *)(uintptr_t)a->fixed,
			a->body != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (response == NULL) {
		free(a->body);
		return MHD_NO;
	}
	add_headers(response, a);
	sent = MHD_queue_response(handle, a->status, response);
	MHD_destroy_response(response);
	if (sent != MHD_YES)
		return MHD_NO;
	if (c->state != CLOSING)
		c->state = a->events != NULL ? STREAMING : ANSWERING;
	c->since_ns = bp_monitor_mono_ns();
	c->answer_bytes = a->body != NULL ? a->len : 0;
	bp_monitor_counters.answer_bytes += c->answer_bytes;
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *handle, const char *path,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	static char begun;
	const bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	struct connection *c = connection_of(handle);
	struct bp_http *h = arg;
	struct bp_http_request q;
	struct bp_http_answer a;

	(void)version;
	(void)body;
	if (c == NULL)
		return MHD_NO;
	if (*request == NULL && reads) {
		*request = &begun; /* the headers are complete; a body, if any, follows */
		return MHD_YES;
	}
	*request = &begun;
	if (*body_len != 0 && reads) {
		*body_len = 0; /* has no meaning in these methods */
		return MHD_YES;
	}
	read_request(handle, method, path, &q);
	if (bp_monitor_counters.answer_bytes < BP_HTTP_ANSWERS_MAX) {
		bp_request_answer(h->monitor, &q, &a);
	} else {
		bp_monitor_counters.throttled++;
		a = (struct bp_http_answer){.status = 503};
		bp_answer_error(&a, 503, "clients do not read their answers");
	}
	c->used = true;
	return send_answer(handle, c, &a);
}

static void on_completed(void *arg, struct MHD_Connection *handle, void **request,
	enum MHD_RequestTerminationCode code)
{
	struct connection *c = connection_of(handle);

	(void)arg;
	if (c == NULL)
		return;
	bp_monitor_counters.aborted +=
		code != MHD_REQUEST_TERMINATED_COMPLETED_OK && c->state != WAITING;
	bp_monitor_counters.answer_bytes -= c->answer_bytes;
	c->answer_bytes = 0;
	bp_event_stream_free(c->stream);
	c->stream = NULL;
	if (c->state == ANSWERING || c->state == STREAMING) {
		c->state = WAITING;
		c->since_ns = bp_monitor_mono_ns();
	}
	*request = NULL;
}

/* ---- the library ---- */

/* Decodes a path or an argument. One with a NUL character is not what it seems to be: it becomes a
 * text that nothing has as its name. */
static size_t decode(void *arg, struct MHD_Connection *handle, char *text)
{
	const size_t len = MHD_http_unescape(text);

	(void)arg;
	(void)handle;
	if (strlen(text) == len)
		return len;
	memcpy(text, "?", 2);
	return 1;
}

__attribute__((format(printf, 2, 0))) static void on_log(
	void *arg, const char *format, va_list args)
{
	struct bp_http *h = arg;

	vsnprintf(h->last_error, sizeof(h->last_error), format, args);
	h->last_error[strcspn(h->last_error, "\n")] = '\0';
	bp_log_limited(&h->log_rate, BP_LOG_DEBUG, NULL, "libmicrohttpd: %s", h->last_error);
}

static struct MHD_Daemon *start(struct bp_http *h, int listen_fd)
{
	const struct bp_monitor_secrets *tls = &h->monitor->secrets;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, n = 0;
	struct MHD_OptionItem more[5];

	if (listen_fd >= 0)
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL};
	else
		flags |= MHD_USE_NO_LISTEN_SOCKET;
	if (tls->certificate != NULL) {
		flags |= MHD_USE_TLS;
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate};
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key};
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_PRIORITIES};
	}
	more[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER,
		on_log, h, MHD_OPTION_CONNECTION_LIMIT, h->max + HEADROOM,
		MHD_OPTION_CONNECTION_TIMEOUT, 2 * BP_HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BP_HTTP_MEMORY,
		MHD_OPTION_UNESCAPE_CALLBACK, decode, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_ARRAY, more,
		MHD_OPTION_END);
}

struct bp_http *bp_http_new(struct bp_monitor *m, int listen_fd, char *err, size_t err_size)
{
	const unsigned max = m->config->monitoring.max_connections;
	struct bp_http *h = calloc(1, sizeof(*h) + (max + HEADROOM) * sizeof(h->connection[0]));

	if (h != NULL) {
		h->monitor = m;
		h->max = max;
		h->daemon = start(h, listen_fd);
	}
	if (h != NULL && h->daemon != NULL)
		return h;
	snprintf(err, err_size, "the HTTP server cannot be started: %s",
		h == NULL                  ? "not enough memory"
		: h->last_error[0] != '\0' ? h->last_error
					   : strerror(errno));
	free(h);
	if (listen_fd >= 0)
		close(listen_fd);
	return NULL;
}

void bp_http_free(struct bp_http *h)
{
	if (h == NULL)
		return;
	/* the library does not stop with suspended connections */
	for (unsigned i = 0; i < h->max + HEADROOM; i++) {
		h->connection[i].gone = true;
		if (h->connection[i].suspended)
			resume(&h->connection[i]);
	}
	MHD_run(h->daemon);
	MHD_stop_daemon(h->daemon);
	free(h);
}

int bp_http_fd(const struct bp_http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return info != NULL ? info->epoll_fd : -1;
}

int bp_http_timeout_ms(const struct bp_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(h->daemon, &ms) != MHD_YES)
		return -1;
	return ms > 60000 ? 60000 : (int)ms;
}

void bp_http_run(struct bp_http *h)
{
	/* The library accepts again after a connection was closed, but only when it is called
	 * again, and its descriptor does not become readable for that. */
	for (unsigned i = 0; i < RUNS_MAX; i++) {
		const uint64_t closed = h->closed;

		MHD_run(h->daemon);
		if (h->closed == closed)
			return;
	}
}

int bp_http_add(struct bp_http *h, int fd)
{
	const struct sockaddr_in address = {.sin_family = AF_INET};

	return MHD_add_connection(
		       h->daemon, fd, (const struct sockaddr *)&address, sizeof(address)) == MHD_YES
		       ? 0
		       : -1;
}
