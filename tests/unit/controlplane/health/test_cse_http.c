/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTTP client of the CSE: its requests, and its handling of valid and hostile answers. */
#include "tests/unit/controlplane/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/cse/cse_http.h"
#include "tests/unit/controlplane/health/http_peer.h"

#define ENDS_MAX 32u
#define CREATED "HTTP/1.1 201 Created\r\nX-M2M-RSC: 2001\r\nContent-Length: 0\r\n\r\n"

struct ended {
	enum bp_cse_end end;
	struct bp_m2m_reply m2m;
	char payload[256]; /* as much of it as fits */
	uint32_t payload_len;
};

struct fixture {
	struct event_base *base;
	struct http_peer peer;
	struct bp_cse_http *http;
	struct bp_cse cse;
	struct bp_cse_http_settings settings;
	struct bp_cse_watch watch;
	struct ended ended[ENDS_MAX];
	unsigned n_ended, n_room;
	const struct bp_m2m_request *next; /* asked from within an end; once */
};

static const struct bp_m2m_request container = {.ty = BP_M2M_CNT,
	.path = "cse-in/0022092258010000",
	.fr = "Cbiplane",
	.rqi = "r7",
	.body = "{\"m2m:cnt\":{\"rn\":\"spo2\"}}",
	.body_len = 25};

static void on_done(void *arg, const struct bp_cse_reply *r)
{
	struct fixture *f = arg;
	struct ended *e = &f->ended[f->n_ended++];

	assert_in_range(f->n_ended, 1, ENDS_MAX);
	*e = (struct ended){.end = r->end, .m2m = r->m2m, .payload_len = r->payload_len};
	if (r->payload != NULL)
		memcpy(e->payload, r->payload,
			r->payload_len < sizeof(e->payload) - 1 ? r->payload_len
								: sizeof(e->payload) - 1);
	if (f->next != NULL) {
		const struct bp_m2m_request *q = f->next;

		f->next = NULL;
		assert_int_equal(bp_cse_send_request(&f->cse, q, on_done, f), BP_CSE_TAKEN);
	}
}

static enum bp_cse_sent ask(struct fixture *f, const struct bp_m2m_request *q)
{
	const unsigned before = f->n_ended;
	const enum bp_cse_sent sent = bp_cse_send_request(&f->cse, q, on_done, f);

	assert_int_equal(f->n_ended, before); /* never from within */
	return sent;
}

/* Asks, and waits for the end. */
static const struct ended *end_of(struct fixture *f, const struct bp_m2m_request *q)
{
	const unsigned before = f->n_ended;

	assert_int_equal(ask(f, q), BP_CSE_TAKEN);
	RUN_UNTIL(f, f->n_ended > before);
	return &f->ended[before];
}

/* ---- rig ---- */

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	static const char *const created[] = {CREATED};

	f->base = event_base_new();
	http_peer_open(&f->peer, f->base);
	f->peer.answers = created;
	f->peer.n_answers = 1;
	f->settings = (struct bp_cse_http_settings){.release = BP_M2M_R4, .outstanding = 4};
	*state = f;
	return 0;
}

static void start_at(struct fixture *f, const char *address)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(f->peer.port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(f->peer.port)};

	if (inet_pton(AF_INET, address, &a4.sin_addr) == 1)
		memcpy(&f->settings.address, &a4, sizeof(a4));
	else if (inet_pton(AF_INET6, address, &a6.sin6_addr) == 1)
		memcpy(&f->settings.address, &a6, sizeof(a6));
	bp_cse_http_free(f->http);
	f->http = bp_cse_http_new(f->base, &f->settings);
	assert_non_null(f->http);
	f->cse = bp_cse_by_http(f->http);
}

static void start(struct fixture *f)
{
	start_at(f, "127.0.0.1");
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_cse_http_free(f->http);
	http_peer_close(&f->peer);
	event_base_free(f->base);
	free(f);
	return 0;
}

/* ---- what is asked ---- */

static void a_create(void **state)
{
	struct fixture *f = *state;
	const struct ended *e;
	char host[64];

	start(f);
	e = end_of(f, &container);
	assert_int_equal(e->end, BP_CSE_ANSWERED);
	assert_int_equal(e->m2m.code, BP_COAP_CODE(2, 1));
	assert_int_equal(e->m2m.rsc, 2001);
	snprintf(host, sizeof(host), "Host: 127.0.0.1:%u", f->peer.port);
	assert_true(http_peer_has_line(&f->peer, 0, "POST /cse-in/0022092258010000 HTTP/1.1"));
	assert_true(http_peer_has_line(&f->peer, 0, host));
	assert_true(http_peer_has_line(&f->peer, 0, "X-M2M-Origin: Cbiplane"));
	assert_true(http_peer_has_line(&f->peer, 0, "X-M2M-RI: r7"));
	assert_true(http_peer_has_line(&f->peer, 0, "X-M2M-RVI: 4"));
	assert_true(http_peer_has_line(&f->peer, 0, "Content-Type: application/json;ty=3"));
	assert_true(http_peer_has_line(&f->peer, 0, "Accept: application/json"));
	assert_true(http_peer_has_line(&f->peer, 0, "Content-Length: 25"));
	assert_string_equal(http_peer_body(&f->peer, 0), container.body);
}

static void a_retrieve_and_an_update(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nx-m2m-rsc: 2000\r\nContent-Length: 3\r\n\r\n{ }",
		"HTTP/1.1 200 OK\r\nX-M2M-RSC: 2004\r\nContent-Length: 0\r\n\r\n"};
	struct fixture *f = *state;
	struct bp_m2m_request q = {.path = "cse-in/ae", .query = "rcn=1", .fr = "Cx"};
	const struct ended *e;

	f->peer.answers = answers;
	f->peer.n_answers = 2;
	start(f);
	e = end_of(f, &q);
	assert_int_equal(e->m2m.code, BP_COAP_CODE(2, 5));
	assert_string_equal(e->payload, "{ }");
	assert_true(http_peer_has_line(&f->peer, 0, "GET /cse-in/ae?rcn=1 HTTP/1.1"));
	assert_null(strstr(f->peer.request[0], "Content-"));
	assert_non_null(strstr(f->peer.request[0], "\r\nX-M2M-RI: p"));
	q = (struct bp_m2m_request){.path = "cse-in/ae", .fr = "Cx", .body = "{}", .body_len = 2};
	e = end_of(f, &q);
	assert_int_equal(e->m2m.code, BP_COAP_CODE(2, 4));
	assert_true(http_peer_has_line(&f->peer, 1, "PUT /cse-in/ae HTTP/1.1"));
	assert_true(http_peer_has_line(&f->peer, 1, "Content-Type: application/json"));
	assert_string_equal(http_peer_body(&f->peer, 1), "{}");
}

static void release_header_follows_the_release(void **state)
{
	static const struct {
		enum bp_m2m_release release;
		const char *line;
	} rvi[] = {{BP_M2M_R1, NULL}, {BP_M2M_R2, NULL}, {BP_M2M_R2A, "X-M2M-RVI: 2a"},
		{BP_M2M_R3, "X-M2M-RVI: 3"}, {BP_M2M_R5, "X-M2M-RVI: 5"}};
	struct fixture *f = *state;

	for (unsigned i = 0; i < sizeof(rvi) / sizeof(rvi[0]); i++) {
		f->settings.release = rvi[i].release;
		start(f);
		assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
		if (rvi[i].line == NULL)
			assert_null(strstr(f->peer.request[i], "RVI"));
		else
			assert_true(http_peer_has_line(&f->peer, i, rvi[i].line));
	}
}

static void ipv6_host_header_has_brackets(void **state)
{
	struct fixture *f = *state;
	char host[64];

	start_at(f, "::1");
	assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	snprintf(host, sizeof(host), "Host: [::1]:%u", f->peer.port);
	assert_true(http_peer_has_line(&f->peer, 0, host));
}

static void names_that_are_no_urls(void **state)
{
	struct fixture *f = *state;
	struct bp_m2m_request q = container;

	start(f);
	q.path = "~/id-in/a b?c#d/../%2f";
	assert_int_equal(end_of(f, &q)->end, BP_CSE_ANSWERED);
	assert_true(
		http_peer_has_line(&f->peer, 0, "POST /~/id-in/a%20b%3Fc%23d/../%252f HTTP/1.1"));
}

static void unwritable_values(void **state)
{
	struct fixture *f = *state;
	char long_[300];
	static char body[5000];
	struct bp_m2m_request q[8];

	memset(long_, 'x', sizeof(long_) - 1);
	long_[sizeof(long_) - 1] = '\0';
	memset(body, ' ', sizeof(body));
	for (unsigned i = 0; i < 8; i++)
		q[i] = container;
	q[0].path = "";
	q[1].path = "cse-in//x";
	q[2].path = "cse-in/";
	q[3].path = long_;
	q[4].fr = "Cx\r\nX-M2M-Origin: CAdmin";
	q[5].fr = "";
	q[6].rqi = long_;
	q[7].body = body;
	q[7].body_len = sizeof(body);
	start(f);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(ask(f, &q[i]), BP_CSE_TOO_LONG);
	assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	assert_int_equal(f->peer.requests, 1);
	assert_int_equal(bp_cse_http_counts(f->http)->requests, 1);
}

static void no_proxy(void **state)
{
	struct fixture *f = *state;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	start(f);
	assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
}

/* ---- what is answered ---- */

static void each_response_has_its_outcome(void **state)
{
	static const struct {
		const char *text;
		enum bp_cse_end end;
		unsigned code, rsc;
	} row[] = {
		{"HTTP/1.1 200 OK\r\nX-M2M-RSC: 2001\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(2, 1), 2001},
		{"HTTP/1.1 100 Continue\r\n\r\n" CREATED, BP_CSE_ANSWERED, BP_COAP_CODE(2, 1),
			2001},
		{"HTTP/1.0 201 x\r\nX-M2M-RSC:2001\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			BP_CSE_ANSWERED, BP_COAP_CODE(2, 1), 2001},
		{"HTTP/1.1 409 x\r\nX-M2M-RSC: 4105\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(4, 9), 4105},
		{"HTTP/1.1 403 x\r\nX-M2M-RSC: 4117\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(4, 3), 4117},
		{"HTTP/1.1 404 x\r\nX-M2M-RSC: 5103\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(4, 4), 5103},
		{"HTTP/1.1 429 x\r\nX-M2M-RSC: 4000\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(4, 29), 4000},
		{"HTTP/1.1 451 x\r\nX-M2M-RSC: 4000\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			BP_COAP_CODE(4, 0), 4000},
		/* it contradicts itself */
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 4103\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			0, 4103},
		{"HTTP/1.1 403 x\r\nX-M2M-RSC: 2001\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			0, 2001},
		{"HTTP/1.1 200 x\r\nX-M2M-RSC: 2000\r\nContent-Length: 0\r\n\r\n", BP_CSE_ANSWERED,
			0, 2000},
		{"HTTP/1.1 302 x\r\nX-M2M-RSC: 2001\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n",
			BP_CSE_ANSWERED, 0, 2001},
		/* no CSE */
		{"HTTP/1.1 201 x\r\nContent-Length: 0\r\n\r\n", BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>", BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 302 x\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC:\r\nContent-Length: 0\r\n\r\n", BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 20011\r\nContent-Length: 0\r\n\r\n", BP_CSE_RESET, 0,
			0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: +201\r\nContent-Length: 0\r\n\r\n", BP_CSE_RESET, 0,
			0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nX-M2M-RSC: 2001\r\nContent-Length: "
		 "0\r\n\r\n",
			BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 201 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-M2M-RSC: 2001\r\n\r\n",
			BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 100 x\r\nX-M2M-RSC: 2001\r\n\r\nHTTP/1.1 201 x\r\nContent-Length: "
		 "0\r\n\r\n",
			BP_CSE_RESET, 0, 0},
		{"SSH-2.0-OpenSSH_9.2\r\n", BP_CSE_RESET, 0, 0},
		{"HTTP/9.9 999 x\r\n\r\n", BP_CSE_RESET, 0, 0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nContent-Length: -5\r\n\r\n", BP_CSE_RESET, 0,
			0},
		/* it breaks off; a chunk that is none looks the same to libcurl */
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
			BP_CSE_REFUSED, 0, 0},
		{"", BP_CSE_REFUSED, 0, 0},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nContent-Length: 10\r\n\r\nabc",
			BP_CSE_REFUSED, 0, 0},
	};
	struct fixture *f = *state;

	start(f);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct bp_cse_http_counts before = *bp_cse_http_counts(f->http), *now;
		const struct ended *e;

		http_peer_hang_up(&f->peer);
		f->peer.requests = f->n_ended = 0;
		f->peer.answers = &row[i].text;
		f->peer.closes = row[i].end != BP_CSE_ANSWERED;
		assert_int_equal(ask(f, &container), BP_CSE_TAKEN);
		if (row[i].text[0] == '\0') {
			RUN_UNTIL(f, f->peer.requests > 0);
			http_peer_close(&f->peer);
		}
		RUN_UNTIL(f, f->n_ended > 0);
		if (row[i].text[0] == '\0')
			http_peer_open(&f->peer, f->base);
		e = &f->ended[0];
		if (e->end != row[i].end || e->m2m.code != row[i].code || e->m2m.rsc != row[i].rsc)
			fail_msg("end %u, code %u, rsc %u: %s", e->end, e->m2m.code, e->m2m.rsc,
				row[i].text);
		now = bp_cse_http_counts(f->http);
		assert_int_equal(now->answered - before.answered, e->end == BP_CSE_ANSWERED);
		assert_int_equal(now->not_cse - before.not_cse, e->end == BP_CSE_RESET);
		assert_int_equal(now->refused - before.refused, e->end == BP_CSE_REFUSED);
		assert_true(f->peer.requests == 1); /* redirects are not followed */
	}
}

static void an_answer_in_pieces(void **state)
{
	static const char *const chunks[] = {
		"HTTP/1.1 200 OK\r\nX-M2M-RSC: 2000\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};
	const struct bp_m2m_request q = {.path = "cse-in", .fr = "Cx"};
	struct fixture *f = *state;
	const struct ended *e;

	f->peer.answers = chunks;
	start(f);
	e = end_of(f, &q);
	assert_int_equal(e->payload_len, 5);
	assert_string_equal(e->payload, "abcde");
}

/* Gigabytes of a body, of chunks, of headers, of preliminary answers. */
static void answers_without_an_end(void **state)
{
	static char kilobyte[1025];
	static const struct {
		const char *begin, *retry;
	} row[] = {
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nContent-Length: 10000000000\r\n\r\n",
			kilobyte},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\n\r\n", kilobyte},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nTransfer-Encoding: chunked\r\n\r\n",
			"4\r\nabcd\r\n"},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\n", "X-More: abcdefghijklmnopqrstuvwxyz\r\n"},
		{"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nX-Long: ", kilobyte},
		{"", "HTTP/1.1 100 Continue\r\n\r\n"},
		{"HTTP/1.1 201 x", kilobyte},
	};
	struct fixture *f = *state;

	memset(kilobyte, 'a', 1024);
	start(f);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		f->peer.requests = f->n_ended = 0;
		f->peer.answers = row[i].begin[0] != '\0' ? &row[i].begin : &row[i].retry;
		f->peer.endless = row[i].retry;
		if (end_of(f, &container)->end != BP_CSE_RESET)
			fail_msg("row %u", i);
	}
	f->peer.endless = NULL;
	assert_int_equal(bp_cse_http_counts(f->http)->not_cse, sizeof(row) / sizeof(row[0]));
}

static void the_longest_answer(void **state)
{
	static char text[BP_CSE_HTTP_ANSWER_MAX + 256];
	const char *const just[] = {text};
	struct fixture *f = *state;
	int head;

	f->peer.answers = just;
	start(f);
	for (unsigned more = 0; more < 2; more++) {
		f->peer.requests = 0;
		head = snprintf(text, sizeof(text),
			"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nContent-Length: %u\r\n\r\n",
			BP_CSE_HTTP_ANSWER_MAX + more);
		memset(text + head, 'b', BP_CSE_HTTP_ANSWER_MAX + more);
		text[(unsigned)head + BP_CSE_HTTP_ANSWER_MAX + more] = '\0';
		assert_int_equal(
			end_of(f, &container)->end, more == 0 ? BP_CSE_ANSWERED : BP_CSE_RESET);
	}
	assert_int_equal(f->ended[0].payload_len, BP_CSE_HTTP_ANSWER_MAX);
}

static void silent_server_times_out(void **state)
{
	static const char *const nothing[] = {NULL, "HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\n",
		"HTTP/1.1 201 x\r\nX-M2M-RSC: 2001\r\nContent-Length: 9\r\n\r\nabc"};
	struct fixture *f = *state;

	f->peer.answers = nothing;
	f->peer.n_answers = 3;
	f->settings.timeout_ns = 50000000;
	start(f);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(end_of(f, &container)->end, BP_CSE_TIMED_OUT);
	assert_int_equal(bp_cse_http_counts(f->http)->timed_out, 3);
}

static void a_closed_port(void **state)
{
	struct fixture *f = *state;

	start(f);
	http_peer_close(&f->peer);
	assert_int_equal(end_of(f, &container)->end, BP_CSE_REFUSED);
	http_peer_open(&f->peer, f->base);
	assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	assert_int_equal(bp_cse_http_counts(f->http)->refused, 1);
}

/* ---- connections, and room ---- */

static void a_connection_is_used_again(void **state)
{
	struct fixture *f = *state;

	start(f);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	assert_int_equal(f->peer.connections, 1);
	http_peer_hang_up(&f->peer); /* as a CSE that was started again */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(end_of(f, &container)->end, BP_CSE_ANSWERED);
	assert_int_equal(f->peer.connections, 2);
	assert_int_equal(bp_cse_http_counts(f->http)->connections, 2);
}

static void on_room(void *arg)
{
	struct fixture *f = arg;

	f->n_room++;
}

static void concurrent_requests_are_bounded(void **state)
{
	static const char *const nothing[] = {NULL};
	static const char *const created[] = {CREATED};
	struct fixture *f = *state;

	f->settings.outstanding = 2;
	f->settings.timeout_ns = 100000000;
	f->peer.answers = nothing;
	start(f);
	f->watch = (struct bp_cse_watch){.room = on_room, .arg = f};
	f->cse.binding->watch_capacity(f->cse.client, &f->watch);
	assert_int_equal(ask(f, &container), BP_CSE_TAKEN);
	assert_int_equal(ask(f, &container), BP_CSE_TAKEN);
	assert_int_equal(ask(f, &container), BP_CSE_QUEUE_FULL);
	RUN_UNTIL(f, f->n_room == 1);
	RUN_UNTIL(f, f->n_ended == 2);
	assert_int_equal(f->peer.connections, 2);
	/* and a done() callback may send a new request, which uses the freed entry */
	f->peer.answers = created;
	f->next = &container;
	assert_int_equal(ask(f, &container), BP_CSE_TAKEN);
	RUN_UNTIL(f, f->n_ended == 4);
	assert_int_equal(f->ended[3].end, BP_CSE_ANSWERED);
	assert_int_equal(f->n_room, 1); /* no one was turned away */
}

static void freed_in_the_middle(void **state)
{
	static const char *const nothing[] = {NULL};
	struct fixture *f = *state;

	f->peer.answers = nothing;
	start(f);
	assert_int_equal(ask(f, &container), BP_CSE_TAKEN); /* not even begun */
	bp_cse_http_free(f->http);
	f->http = NULL;
	assert_int_equal(f->n_ended, 1);
	assert_int_equal(f->ended[0].end, BP_CSE_CANCELLED);
	start(f);
	assert_int_equal(ask(f, &container), BP_CSE_TAKEN);
	RUN_UNTIL(f, f->peer.requests == 1);
	bp_cse_http_free(f->http);
	f->http = NULL;
	assert_int_equal(f->n_ended, 2);
	assert_int_equal(f->ended[1].end, BP_CSE_CANCELLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_create, setup, teardown),
		cmocka_unit_test_setup_teardown(a_retrieve_and_an_update, setup, teardown),
		cmocka_unit_test_setup_teardown(
			release_header_follows_the_release, setup, teardown),
		cmocka_unit_test_setup_teardown(ipv6_host_header_has_brackets, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_are_no_urls, setup, teardown),
		cmocka_unit_test_setup_teardown(unwritable_values, setup, teardown),
		cmocka_unit_test_setup_teardown(no_proxy, setup, teardown),
		cmocka_unit_test_setup_teardown(each_response_has_its_outcome, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_without_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(the_longest_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_server_times_out, setup, teardown),
		cmocka_unit_test_setup_teardown(a_closed_port, setup, teardown),
		cmocka_unit_test_setup_teardown(a_connection_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(concurrent_requests_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_in_the_middle, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
