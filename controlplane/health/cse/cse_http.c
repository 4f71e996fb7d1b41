/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/cse_http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "controlplane/health/cse/cse_http_request.h"

#define NS_PER_MS 1000000ull
#define ROOM_AGAIN_S 1 /* delay after a lack of memory */
#define AUTHORITY_MAX 80

/* A request slot. */
struct call {
	struct bp_cse_http *http;
	CURL *easy;
	struct curl_slist *headers;
	struct evbuffer *body;
	size_t head_len;
	const char *why; /* reason why the response is not fully read; NULL: it is */
	bool used;
	uint8_t operation; /* enum bp_http_operation */
	bp_cse_done *done;
	void *arg;
};

struct bp_cse_http {
	struct event_base *base;
	struct bp_cse_http_settings settings;
	struct bp_cse_http_counts counts;
	char authority[AUTHORITY_MAX]; /* "http://ADDRESS:PORT" */
	CURLM *multi;
	struct event *timer; /* timer of libcurl */
	struct event *room;  /* there may be capacity again */
	struct bp_cse_watch *watch;
	struct bp_log_limit log;
	uint32_t serial; /* number of requests */
	unsigned outstanding;
	bool closing;
	bool full; /* there was no capacity */
	struct call call[];
};

/* ---- received data ---- */

static size_t on_head(char *p, size_t size, size_t n, void *arg)
{
	struct call *c = arg;

	(void)p;
	c->head_len += size * n;
	if (c->head_len <= BP_CSE_HTTP_HEAD_MAX)
		return size * n;
	c->why = "its headers are too long";
	return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct call *c = arg;

	if (c->body == NULL)
		c->body = evbuffer_new();
	if (c->body == NULL || evbuffer_get_length(c->body) + size * n > BP_CSE_HTTP_ANSWER_MAX)
		c->why = "it is too long";
	else if (evbuffer_add(c->body, p, size * n) == 0)
		return size * n;
	return 0;
}

/* ---- end of a request ---- */

static void count_connections(struct bp_cse_http *h, CURL *easy)
{
	long made = 0;

	if (curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK && made > 0)
		h->counts.connections += (uint64_t)made;
}

static void log_not_cse(struct call *c, const char *why)
{
	long status = 0;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	bp_log_limited(&c->http->log, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("cse", c->http->authority),
			BP_LOG_NUM("http_status", (uint64_t)(status < 0 ? 0 : status))),
		"health_devices.cse.http: the server does not answer as a oneM2M CSE: %s", why);
}

/* The CSE is unreachable, or the connection was lost during the request. */
static bool is_unreachable(CURLcode result)
{
	return result == CURLE_COULDNT_CONNECT || result == CURLE_SEND_ERROR ||
	       result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING ||
	       result == CURLE_PARTIAL_FILE;
}

/* Determines the end of the request, and the status of an answer. */
static void evaluate_result(struct call *c, CURLcode result, struct bp_cse_reply *out)
{
	struct bp_cse_http_counts *n = &c->http->counts;

	if (result == CURLE_OPERATION_TIMEDOUT) {
		n->timed_out++;
		out->end = BP_CSE_TIMED_OUT;
	} else if (is_unreachable(result)) {
		n->refused++;
		out->end = BP_CSE_REFUSED;
	} else if (result != CURLE_OK) {
		n->not_cse++;
		out->end = BP_CSE_RESET;
		log_not_cse(c, c->why != NULL ? c->why : curl_easy_strerror(result));
	} else if (!bp_http_reply_read(c->easy, c->operation, &out->m2m)) {
		n->not_cse++;
		out->end = BP_CSE_RESET;
		log_not_cse(c, "X-M2M-RSC is missing or invalid");
	} else {
		n->answered++;
		out->end = BP_CSE_ANSWERED;
	}
}

/* The slot is free before the callback runs, which may start another request. */
static void end(struct call *c, struct bp_cse_reply *reply)
{
	struct bp_cse_http *h = c->http;
	struct evbuffer *body = c->body;

	curl_multi_remove_handle(h->multi, c->easy);
	curl_slist_free_all(c->headers);
	c->headers = NULL;
	c->body = NULL;
	c->used = false;
	h->outstanding--;
	if (h->full && !h->closing)
		event_active(h->room, EV_TIMEOUT, 1);
	if (reply->end == BP_CSE_ANSWERED && body != NULL) {
		reply->payload_len = (uint32_t)evbuffer_get_length(body);
		reply->payload = evbuffer_pullup(body, -1);
	}
	c->done(c->arg, reply);
	if (body != NULL)
		evbuffer_free(body);
}

static void take_ends(struct bp_cse_http *h)
{
	const CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left)) != NULL) {
		struct bp_cse_reply reply = {0};
		struct call *c = NULL;
		char *own = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &own);
		c = (struct call *)(void *)own;
		evaluate_result(c, m->data.result, &reply);
		count_connections(h, c->easy);
		end(c, &reply);
	}
}

/* ---- libcurl in the event loop ---- */

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_http *h = arg;
	const int on = ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
		       ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0);
	int running;

	curl_multi_socket_action(h->multi, fd, on, &running);
	take_ends(h);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_http *h = arg;
	int running;

	(void)fd;
	(void)what;
	curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	take_ends(h);
}

static int on_curl_timer(CURLM *multi, long ms, void *arg)
{
	struct bp_cse_http *h = arg;
	const struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000 * 1000)};

	(void)multi;
	if (ms < 0)
		evtimer_del(h->timer);
	else
		evtimer_add(h->timer, &t);
	return 0;
}

/* Without memory for the event the request times out: -1 would end all requests permanently. */
static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *had)
{
	struct bp_cse_http *h = arg;
	const short on = (short)(EV_PERSIST | ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
				 ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
	struct event *e = NULL;

	(void)easy;
	if (had != NULL)
		event_free(had);
	if (what != CURL_POLL_REMOVE)
		e = event_new(h->base, fd, on, on_ready, h);
	if (e != NULL)
		event_add(e, NULL);
	curl_multi_assign(h->multi, fd, e);
	return 0;
}

/* ---- requests ---- */

static struct call *free_call(struct bp_cse_http *h)
{
	for (unsigned i = 0; !h->closing && i < h->settings.outstanding; i++)
		if (!h->call[i].used)
			return &h->call[i];
	return NULL;
}

static enum bp_cse_sent queue_full(struct bp_cse_http *h, bool memory)
{
	const struct timeval t = {.tv_sec = ROOM_AGAIN_S};

	h->full = true;
	if (memory && !h->closing)
		evtimer_add(h->room, &t);
	return BP_CSE_QUEUE_FULL;
}

/* Settings that are the same for all requests. */
static bool set_limits(struct call *c)
{
	const long ms = (long)(c->http->settings.timeout_ns / NS_PER_MS);
	CURL *e = c->easy;

	return curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK && /* not the environment's */
	       curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, ms > 0 ? ms : 1) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_HEADERDATA, c) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_WRITEDATA, c) == CURLE_OK &&
	       curl_easy_setopt(e, CURLOPT_PRIVATE, (void *)c) == CURLE_OK;
}

static enum bp_cse_sent start(struct call *c, const struct bp_m2m_request *q)
{
	struct bp_cse_http *h = c->http;
	enum bp_http_written written;

	if (c->easy == NULL)
		c->easy = curl_easy_init();
	if (c->easy == NULL)
		return queue_full(h, true);
	curl_easy_reset(c->easy);
	written = bp_http_request_write(
		c->easy, &c->headers, h->authority, h->settings.release, h->serial, q);
	if (written == BP_HTTP_WRITTEN && set_limits(c) &&
		curl_multi_add_handle(h->multi, c->easy) == CURLM_OK)
		return BP_CSE_TAKEN;
	curl_slist_free_all(c->headers);
	c->headers = NULL;
	return written == BP_HTTP_UNREPRESENTABLE ? BP_CSE_TOO_LONG : queue_full(h, true);
}

static enum bp_cse_sent send_by_http(
	void *client, const struct bp_m2m_request *q, bp_cse_done *done, void *arg)
{
	struct bp_cse_http *h = client;
	struct call *c = free_call(h);
	enum bp_cse_sent sent;

	if (c == NULL)
		return queue_full(h, false);
	c->head_len = 0;
	c->why = NULL;
	c->operation = (uint8_t)bp_http_operation_of(q);
	c->done = done;
	c->arg = arg;
	sent = start(c, q);
	if (sent != BP_CSE_TAKEN)
		return sent;
	c->used = true;
	h->serial++;
	h->outstanding++;
	h->counts.requests++;
	return BP_CSE_TAKEN;
}

static void on_capacity(evutil_socket_t fd, short what, void *arg)
{
	struct bp_cse_http *h = arg;

	(void)fd;
	(void)what;
	if (!h->full || h->outstanding == h->settings.outstanding)
		return;
	h->full = false;
	bp_cse_watch_notify(&h->watch);
}

static void watch_http(void *client, struct bp_cse_watch *w)
{
	struct bp_cse_http *h = client;

	bp_cse_watch_add(&h->watch, w);
}

struct bp_cse bp_cse_by_http(struct bp_cse_http *h)
{
	static const struct bp_cse_binding http = {
		.send = send_by_http, .watch_capacity = watch_http};

	return (struct bp_cse){&http, h};
}

/* ---- start and end ---- */

static void write_authority(struct bp_cse_http *h)
{
	const struct sockaddr_storage *a = &h->settings.address;
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in a4;
	struct sockaddr_in6 a6;

	memcpy(&a4, a, sizeof(a4));
	memcpy(&a6, a, sizeof(a6));
	if (a->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &a6.sin6_addr, text, sizeof(text));
		snprintf(h->authority, sizeof(h->authority), "http://[%s]:%u", text,
			ntohs(a6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a4.sin_addr, text, sizeof(text));
		snprintf(h->authority, sizeof(h->authority), "http://%s:%u", text,
			ntohs(a4.sin_port));
	}
}

static bool start_multi(struct bp_cse_http *h)
{
	const long n = h->settings.outstanding;

	h->multi = curl_multi_init();
	return h->multi != NULL &&
	       curl_multi_setopt(h->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, n) == CURLM_OK &&
	       curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, n) == CURLM_OK &&
	       curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket) == CURLM_OK &&
	       curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h) == CURLM_OK &&
	       curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer) == CURLM_OK &&
	       curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h) == CURLM_OK;
}

struct bp_cse_http *bp_cse_http_new(
	struct event_base *base, const struct bp_cse_http_settings *settings)
{
	struct bp_cse_http *h = calloc(1, sizeof(*h) + settings->outstanding * sizeof(struct call));

	if (h == NULL)
		return NULL;
	/* TLS is not used. Each of these calls has its curl_global_cleanup(). */
	if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK) {
		free(h);
		return NULL;
	}
	h->base = base;
	h->settings = *settings;
	if (h->settings.timeout_ns == 0)
		h->settings.timeout_ns = BP_CSE_HTTP_TIMEOUT_NS;
	for (unsigned i = 0; i < settings->outstanding; i++)
		h->call[i].http = h;
	write_authority(h);
	h->timer = evtimer_new(base, on_timer, h);
	h->room = evtimer_new(base, on_capacity, h);
	if (h->timer == NULL || h->room == NULL || !start_multi(h)) {
		bp_cse_http_free(h);
		return NULL;
	}
	return h;
}

void bp_cse_http_free(struct bp_cse_http *h)
{
	if (h == NULL)
		return;
	h->closing = true;
	for (unsigned i = 0; i < h->settings.outstanding; i++) {
		struct bp_cse_reply cancelled = {.end = BP_CSE_CANCELLED};

		if (h->call[i].used)
			end(&h->call[i], &cancelled);
		curl_easy_cleanup(h->call[i].easy);
	}
	curl_multi_cleanup(h->multi); /* libcurl may still request the timer */
	if (h->timer != NULL)
		event_free(h->timer);
	if (h->room != NULL)
		event_free(h->room);
	curl_global_cleanup();
	free(h);
}

const struct bp_cse_http_counts *bp_cse_http_counts(const struct bp_cse_http *h)
{
	return &h->counts;
}
