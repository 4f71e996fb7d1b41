/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/redis_link.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/fleet/redis_socket.h"
#include "controlplane/process/clock.h"
#include "proto/redis/resp.h"

#define BACKOFF_MIN_NS 100000000ull
#define BACKOFF_MAX_NS 5000000000ull
/* A connection that lasted for this time was good: the next attempt follows soon. */
#define GOOD_NS 5000000000ull
/* Received bytes without a complete reply. */
#define INPUT_MAX (2 * BP_RESP_TEXT_MAX)
#define WORDS_MAX 8u

enum phase { WAITING, ASKING, LOGGING_IN, UP };

struct bp_redis_link {
	struct event_base *base;
	const struct bp_config_fleet_state *c;
	struct bp_redis_link_owner owner;
	struct bp_redis_socket socket;
	struct event *timer; /* WAITING: the next attempt. ASKING, LOGGING_IN: the timeout */
	struct bufferevent *bev;
	enum phase phase;
	unsigned connection;      /* number of this connection, so that a loop detects its end */
	unsigned sentinel, asked; /* the current one; how many of this attempt were asked */
	unsigned step;            /* of the login: replies so far */
	uint64_t backoff_ns, up_ns;
	char peer[64];
	char sha[BP_REDIS_SCRIPTS_MAX][BP_REDIS_SHA_LEN + 1];
	struct bp_resp values[BP_RESP_VALUES_MAX];
};

static const struct {
	const char *word;
	enum bp_fleet_error error;
} errors[] = {
	{"OOM", BP_FLEET_ERROR_FULL},
	{"READONLY", BP_FLEET_ERROR_NOT_MASTER},
	{"NOAUTH", BP_FLEET_ERROR_AUTH},
	{"WRONGPASS", BP_FLEET_ERROR_AUTH},
	{"NOPERM", BP_FLEET_ERROR_AUTH},
	{"ERR The user executing the script", BP_FLEET_ERROR_AUTH}, /* the same */
	{"ERR AUTH", BP_FLEET_ERROR_AUTH},
	{"ERR invalid password", BP_FLEET_ERROR_AUTH},
	{"LOADING", BP_FLEET_ERROR_UNAVAILABLE},
	{"BUSY", BP_FLEET_ERROR_UNAVAILABLE},
	{"MASTERDOWN", BP_FLEET_ERROR_UNAVAILABLE},
	{"NOREPLICAS", BP_FLEET_ERROR_UNAVAILABLE},
	{"MISCONF", BP_FLEET_ERROR_UNAVAILABLE},
	{"NOSCRIPT", BP_FLEET_ERROR_UNAVAILABLE}, /* a new connection loads the scripts */
	{"ERR max number of clients", BP_FLEET_ERROR_UNAVAILABLE},
};

enum bp_fleet_error bp_redis_error(const struct bp_resp *reply)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const size_t len = strlen(errors[i].word);

		if (reply->len >= len && memcmp(reply->text, errors[i].word, len) == 0)
			return errors[i].error;
	}
	return BP_FLEET_ERROR_REFUSED;
}

static void send_words(struct bp_redis_link *l, unsigned n, const struct iovec *words)
{
	struct evbuffer *out = bufferevent_get_output(l->bev);

	evbuffer_add_printf(out, "*%u\r\n", n);
	for (unsigned i = 0; i < n; i++) {
		evbuffer_add_printf(out, "$%zu\r\n", words[i].iov_len);
		evbuffer_add(out, words[i].iov_base, words[i].iov_len);
		evbuffer_add(out, "\r\n", 2);
	}
}

/* A command of texts; NULL ends them. */
static void send_texts(struct bp_redis_link *l, const char *const *texts)
{
	struct iovec words[WORDS_MAX];
	unsigned n = 0;

	for (; texts[n] != NULL && n < WORDS_MAX; n++)
		words[n] = (struct iovec){(void *)(uintptr_t)texts[n], strlen(texts[n])};
	send_words(l, n, words);
}
#define SEND(l_, ...) send_texts(l_, (const char *const[]){__VA_ARGS__, NULL})

static void set_timer(struct bp_redis_link *l, uint64_t ns)
{
	const struct timeval t = {
		(time_t)(ns / 1000000000u), (suseconds_t)(ns % 1000000000u / 1000)};

	event_add(l->timer, &t);
}

static void hang_up(struct bp_redis_link *l)
{
	if (l->bev != NULL)
		bp_redis_socket_close(l->bev);
	l->bev = NULL;
	l->connection++;
}

void bp_redis_link_fail(struct bp_redis_link *l, enum bp_fleet_error why, const char *text)
{
	const uint64_t now = bp_mono_ns();
	const uint64_t max =
		l->owner.backoff_max_ns != 0 ? l->owner.backoff_max_ns : BACKOFF_MAX_NS;

	hang_up(l);
	if (l->phase == UP && now - l->up_ns > GOOD_NS)
		l->backoff_ns = BACKOFF_MIN_NS;
	l->phase = WAITING;
	l->asked = 0;
	/* Three quarters to all of it, so that gateways do not connect at the same time. */
	set_timer(l, l->backoff_ns - (now ^ (uintptr_t)l >> 4) % (l->backoff_ns / 4));
	l->backoff_ns = l->backoff_ns * 2 < max ? l->backoff_ns * 2 : max;
	l->owner.down(l->owner.arg, why, text);
}

/* The server answered with what it must not. */
static void fail_reply(struct bp_redis_link *l, const struct bp_resp *r, const char *command)
{
	char text[BP_RESP_LINE_MAX + 64];

	snprintf(text, sizeof(text), "%s: %.*s", command,
		r->type == BP_RESP_ERROR ? (int)r->len : 17,
		r->type == BP_RESP_ERROR ? r->text : "unexpected answer");
	bp_redis_link_fail(
		l, r->type == BP_RESP_ERROR ? bp_redis_error(r) : BP_FLEET_ERROR_PROTOCOL, text);
}

static void connect_to(
	struct bp_redis_link *l, const struct bp_address *address, uint16_t tcp_port);

/* Asks the next Sentinel, or gives up this attempt after all of them. */
static void ask_next(struct bp_redis_link *l, const char *text)
{
	const struct bp_config_fleet_server *s;

	hang_up(l);
	if (l->asked == l->c->redis.n_servers) {
		bp_redis_link_fail(l, BP_FLEET_ERROR_SENTINEL, text);
		return;
	}
	s = &l->c->redis.server[l->sentinel];
	l->sentinel = (l->sentinel + 1) % l->c->redis.n_servers;
	l->asked++;
	l->phase = ASKING;
	connect_to(l, &s->address, s->tcp_port);
}

static void fail_attempt(struct bp_redis_link *l, enum bp_fleet_error why, const char *text)
{
	if (l->phase == ASKING)
		ask_next(l, text);
	else
		bp_redis_link_fail(l, why, text);
}

/* ---- the steps of a connection ---- */

static void ask(struct bp_redis_link *l)
{
	SEND(l, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", l->c->redis.master);
}

/* The commands of the login; their replies are checked in this order. */
enum step { STEP_AUTH, STEP_SELECT, STEP_ROLE, STEP_SCRIPT };

static void log_in(struct bp_redis_link *l)
{
	char db[16];

	l->step = STEP_SELECT;
	if (l->socket.password[0] != '\0') {
		l->step = STEP_AUTH;
		if (l->c->username[0] != '\0')
			SEND(l, "AUTH", l->c->username, l->socket.password);
		else
			SEND(l, "AUTH", l->socket.password);
	}
	snprintf(db, sizeof(db), "%u", l->c->redis.db);
	SEND(l, "SELECT", db);
	SEND(l, "ROLE");
	for (unsigned i = 0; l->owner.scripts[i] != NULL; i++)
		SEND(l, "SCRIPT", "LOAD", l->owner.scripts[i]);
}

static void on_connected(struct bp_redis_link *l)
{
	if (l->phase == ASKING)
		ask(l);
	else
		log_in(l);
}

static void on_sentinel_reply(struct bp_redis_link *l, const struct bp_resp *r)
{
	struct bp_address address = {0};
	char text[2][INET6_ADDRSTRLEN + 1];
	unsigned long tcp_port;
	char *end;

	if (r->type != BP_RESP_ARRAY || r->n != 2 || r[1].type != BP_RESP_TEXT ||
		r[2].type != BP_RESP_TEXT || r[1].len >= sizeof(text[0]) ||
		r[2].len >= sizeof(text[1])) {
		ask_next(l, "the Sentinel does not know the master");
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		snprintf(text[i], sizeof(text[i]), "%.*s", (int)r[i + 1].len, r[i + 1].text);
	address.family = inet_pton(AF_INET, text[0], address.bytes) == 1    ? 4
			 : inet_pton(AF_INET6, text[0], address.bytes) == 1 ? 6
									    : 0;
	tcp_port = strtoul(text[1], &end, 10);
	if (address.family == 0 || *end != '\0' || tcp_port == 0 || tcp_port > 65535) {
		ask_next(l, "the Sentinel has no address of the master with a port");
		return;
	}
	hang_up(l);
	l->phase = LOGGING_IN;
	connect_to(l, &address, (uint16_t)tcp_port);
}

static bool is_status(const struct bp_resp *r, const char *text)
{
	return r->type == BP_RESP_STATUS && r->len == strlen(text) &&
	       memcmp(r->text, text, r->len) == 0;
}

static bool is_master(const struct bp_resp *r)
{
	return r->type == BP_RESP_ARRAY && r->n > 0 && r[1].type == BP_RESP_TEXT && r[1].len == 6 &&
	       memcmp(r[1].text, "master", 6) == 0;
}

static bool take_sha(char *sha, const struct bp_resp *r)
{
	if (r->type != BP_RESP_TEXT || r->len != BP_REDIS_SHA_LEN)
		return false;
	for (size_t i = 0; i < r->len; i++)
		if (strchr("0123456789abcdef", r->text[i]) == NULL || r->text[i] == '\0')
			return false;
	memcpy(sha, r->text, r->len);
	return true;
}

static void on_login_reply(struct bp_redis_link *l, const struct bp_resp *r)
{
	const unsigned script = l->step - STEP_SCRIPT;

	switch (l->step) {
	case STEP_AUTH:
	case STEP_SELECT:
		if (!is_status(r, "OK")) {
			fail_reply(l, r, l->step == STEP_AUTH ? "AUTH" : "SELECT");
			return;
		}
		break;
	case STEP_ROLE:
		if (r->type == BP_RESP_ARRAY && !is_master(r)) {
			bp_redis_link_fail(
				l, BP_FLEET_ERROR_NOT_MASTER, "ROLE: the server is a replica");
			return;
		}
		if (!is_master(r)) {
			fail_reply(l, r, "ROLE");
			return;
		}
		break;
	default:
		if (!take_sha(l->sha[script], r)) {
			fail_reply(l, r, "SCRIPT LOAD");
			return;
		}
		if (l->owner.scripts[script + 1] != NULL)
			break;
		event_del(l->timer);
		l->phase = UP;
		l->up_ns = bp_mono_ns();
		l->owner.up(l->owner.arg);
	}
	l->step++;
}

/* ---- events ---- */

static void on_reply(struct bp_redis_link *l, const struct bp_resp *r)
{
	if (l->phase == ASKING)
		on_sentinel_reply(l, r);
	else if (l->phase == LOGGING_IN)
		on_login_reply(l, r);
	else
		l->owner.reply(l->owner.arg, r);
}

static void on_readable(struct bufferevent *bev, void *arg)
{
	struct bp_redis_link *l = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	const size_t len = evbuffer_get_length(in);
	const char *bytes = (const char *)evbuffer_pullup(in, -1);
	const unsigned connection = l->connection;
	size_t done = 0;
	ssize_t n = 0;

	while (bytes != NULL && done < len) {
		n = bp_resp_read(bytes + done, len - done, l->values);
		if (n <= 0)
			break;
		done += (size_t)n;
		on_reply(l, l->values);
		if (l->connection != connection)
			return; /* `bev` is closed */
	}
	evbuffer_drain(in, done);
	if (bytes == NULL || n < 0 || len - done > INPUT_MAX)
		fail_attempt(l, BP_FLEET_ERROR_PROTOCOL, "the answer is not valid");
}

static void on_socket_event(struct bufferevent *bev, short what, void *arg)
{
	struct bp_redis_link *l = arg;
	char text[256];

	if ((what & BEV_EVENT_CONNECTED) != 0) {
		on_connected(l);
		return;
	}
	bp_redis_socket_error(bev, text, sizeof(text));
	if ((what & BEV_EVENT_EOF) != 0 && l->phase == UP)
		fail_attempt(l, BP_FLEET_ERROR_CLOSED, "the server closed the connection");
	else
		fail_attempt(l, BP_FLEET_ERROR_CONNECT, text);
}

static void connect_to(struct bp_redis_link *l, const struct bp_address *address, uint16_t tcp_port)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, text, sizeof(text));
	snprintf(l->peer, sizeof(l->peer), address->family == 4 ? "%s:%u" : "[%s]:%u", text,
		tcp_port);
	l->bev = bp_redis_socket_open(&l->socket, l->base, address, tcp_port);
	if (l->bev == NULL) {
		fail_attempt(l, BP_FLEET_ERROR_CONNECT, "no memory or no socket");
		return;
	}
	set_timer(l, l->c->timeout_ns);
	bufferevent_setcb(l->bev, on_readable, NULL, on_socket_event, l);
	bufferevent_enable(l->bev, EV_READ | EV_WRITE);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_redis_link *l = arg;

	(void)fd;
	(void)what;
	if (l->phase != WAITING) {
		fail_attempt(l, BP_FLEET_ERROR_TIMEOUT, "no answer in time");
	} else if (l->c->redis.master[0] != '\0') {
		ask_next(l, "no Sentinel answers");
	} else {
		l->phase = LOGGING_IN;
		connect_to(l, &l->c->redis.server[0].address, l->c->redis.server[0].tcp_port);
	}
}

/* ---- for the owner ---- */

struct bp_redis_link *bp_redis_link_new(struct event_base *base,
	const struct bp_config_fleet_state *c, const struct bp_redis_link_owner *owner, char *err,
	size_t err_size)
{
	struct bp_redis_link *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		snprintf(err, err_size, "no memory for the connection to Redis");
		return NULL;
	}
	l->base = base;
	l->c = c;
	l->owner = *owner;
	l->backoff_ns = BACKOFF_MIN_NS;
	l->timer = event_new(base, -1, 0, on_timer, l);
	if (l->timer == NULL || bp_redis_socket_init(&l->socket, c, err, err_size) != 0) {
		bp_redis_link_free(l);
		return NULL;
	}
	set_timer(l, 0);
	return l;
}

void bp_redis_link_free(struct bp_redis_link *l)
{
	if (l == NULL)
		return;
	hang_up(l);
	if (l->timer != NULL)
		event_free(l->timer);
	bp_redis_socket_end(&l->socket);
	free(l);
}

bool bp_redis_link_is_up(const struct bp_redis_link *l)
{
	return l->phase == UP;
}

void bp_redis_link_send(struct bp_redis_link *l, unsigned n, const struct iovec *words)
{
	send_words(l, n, words);
}

const char *bp_redis_link_script(const struct bp_redis_link *l, unsigned script)
{
	return l->sha[script];
}

const char *bp_redis_link_peer(const struct bp_redis_link *l)
{
	return l->peer;
}
