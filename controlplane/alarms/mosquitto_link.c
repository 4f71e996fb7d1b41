/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/mosquitto_link.h"

#include <errno.h>
#include <event2/event.h>
#include <mosquitto.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "controlplane/alarms/client.h"
#include "controlplane/process/clock.h"
#include "controlplane/alarms/connector.h"
#include "daemon/log.h"

#define BACKOFF_MIN_NS 100000000ull
#define BACKOFF_MAX_NS 5000000000ull
/* Timeout of one attempt: name resolution, TCP, TLS and CONNACK. */
#define ATTEMPT_NS 15000000000ull
/* Threads that still wait for an abandoned attempt; all slots together outlast the TCP timeout. */
#define ABANDONED_MAX 8u
#define ABANDONED_FORGET_NS 130000000000ull
/* After a connection that lasted at least this long the next attempt follows immediately. */
#define GOOD_CONNECTION_NS 5000000000ull
#define KEEP_ALIVE_MIN_S 5u /* libmosquitto rejects a smaller value */
#define SYSTEM_CERTIFICATES "/etc/ssl/certs"
#define WHY_SIZE 640u /* log text of the library, and a prefix */

enum link_state {
	LINK_IDLE,       /* never configured */
	LINK_WAITING,    /* for the retry timer */
	LINK_CONNECTING, /* a connector thread owns the handle */
	LINK_CONNACK,    /* TCP is connected; waiting for CONNACK */
	LINK_UP,
};

struct bp_edge_link {
	struct event_base *base;
	struct bp_edge_link_events events;
	void *arg;
	struct bp_edge_link_settings settings;
	enum link_state state;
	struct bp_client *client;
	struct bp_connector *connector;
	struct event *attempt_event; /* the connector has finished */
	struct event *read_event, *write_event;
	struct event *retry_timer, *misc_timer;
	bool write_pending;
	uint64_t backoff_ns;
	uint64_t since_ns;                    /* begin of this state, monotonic */
	uint64_t abandoned_ns[ABANDONED_MAX]; /* start of each abandoned attempt; 0: free */
	unsigned queued;                      /* messages since the last flush */
	bool accepted, acked_any;             /* set inside library callbacks */
	int refused;                          /* CONNACK code */
	struct bp_log_limit log_connect, log_lost;
};

static void try_connect(struct bp_edge_link *l);

static void set_state(struct bp_edge_link *l, enum link_state state)
{
	l->state = state;
	l->since_ns = bp_mono_ns();
}

static void arm(struct event *timer, uint64_t ns)
{
	struct timeval tv = {(time_t)(ns / 1000000000u), (suseconds_t)(ns % 1000000000u / 1000u)};

	evtimer_add(timer, &tv);
}

/* Waits for the next attempt, with a growing delay. */
static void retry_later(struct bp_edge_link *l)
{
	set_state(l, LINK_WAITING);
	arm(l->retry_timer, l->backoff_ns);
	l->backoff_ns = l->backoff_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : l->backoff_ns * 2;
}

static void free_event(struct event **e)
{
	if (*e != NULL)
		event_free(*e);
	*e = NULL;
}

/* Ends the connection or the attempt without a callback to the publisher. */
static void tear_down(struct bp_edge_link *l)
{
	free_event(&l->attempt_event);
	free_event(&l->read_event);
	free_event(&l->write_event);
	evtimer_del(l->retry_timer);
	if (l->connector != NULL)
		bp_connector_abandon(l->connector);
	l->connector = NULL;
	bp_client_free(l->client);
	l->client = NULL;
	l->write_pending = false;
	l->queued = 0;
	l->accepted = false;
	l->refused = 0;
}

static void lost(struct bp_edge_link *l, const char *why)
{
	bool was_up = l->state == LINK_UP;

	if (was_up && (l->acked_any || bp_mono_ns() - l->since_ns > GOOD_CONNECTION_NS))
		l->backoff_ns = BACKOFF_MIN_NS;
	bp_log_limited(was_up ? &l->log_lost : &l->log_connect, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("broker", l->settings.host),
			BP_LOG_NUM("tcp_port", l->settings.port)),
		"edge broker: %s; retrying", why);
	tear_down(l);
	retry_later(l);
	if (was_up)
		l->events.down(l->arg);
}

/* Enables the write event only while the library has data to write. */
static void update_write_event(struct bp_edge_link *l)
{
	bool want = mosquitto_want_write(l->client->m);

	if (want == l->write_pending)
		return;
	l->write_pending = want;
	if (want)
		event_add(l->write_event, NULL);
	else
		event_del(l->write_event);
}

/* After any call into the library: handles the results of its callbacks, and checks whether the
 * connection is alive. */
static bool settle(struct bp_edge_link *l, int rc)
{
	char why[WHY_SIZE];

	if (l->refused != 0) {
		snprintf(why, sizeof(why), "connection refused: %s",
			mosquitto_connack_string(l->refused));
		lost(l, why);
		return false;
	}
	if (rc != MOSQ_ERR_SUCCESS || mosquitto_socket(l->client->m) < 0) {
		bp_client_reason(l->client, "connection lost", rc, errno, why, sizeof(why));
		lost(l, why);
		return false;
	}
	update_write_event(l);
	if (l->accepted && l->state == LINK_CONNACK) {
		set_state(l, LINK_UP);
		l->acked_any = false;
		/* Later messages are not formatted, because there would be one per packet. */
		bp_client_listen(l->client, false);
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_STR("broker", l->settings.host),
				BP_LOG_NUM("tcp_port", l->settings.port)),
			"edge broker connected");
		l->events.up(l->arg);
	}
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct bp_edge_link *l = arg;

	(void)fd;
	(void)what;
	errno = 0; /* the library treats a stale EAGAIN as the end of its input */
	if (settle(l, mosquitto_loop_read(l->client->m, 1)) && l->state == LINK_UP)
		l->events.ready(l->arg);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct bp_edge_link *l = arg;

	(void)fd;
	(void)what;
	/* After a failed write, data that the broker sent before it closed cannot be read. */
	errno = 0;
	if (l->state == LINK_CONNACK && !settle(l, mosquitto_loop_read(l->client->m, 1)))
		return;
	errno = 0;
	if (settle(l, mosquitto_loop_write(l->client->m, 1)) && l->state == LINK_UP)
		l->events.ready(l->arg);
}

static void on_connack(struct mosquitto *m, void *arg, int rc)
{
	struct bp_edge_link *l = ((struct bp_client *)arg)->arg;

	(void)m;
	l->accepted = rc == 0;
	l->refused = rc;
}

static void on_puback(struct mosquitto *m, void *arg, int mid)
{
	struct bp_edge_link *l = ((struct bp_client *)arg)->arg;

	(void)m;
	l->acked_any = true;
	if (l->state == LINK_UP && mid > 0 && mid <= UINT16_MAX)
		l->events.acked(l->arg, (uint16_t)mid);
}

/* The connector has returned the handle: the event loop continues with it. */
static void on_attempt_over(evutil_socket_t fd, short what, void *arg)
{
	struct bp_edge_link *l = arg;
	char why[WHY_SIZE];
	int rc, err;

	(void)fd;
	(void)what;
	free_event(&l->attempt_event);
	l->client = bp_connector_finish(l->connector, &rc, &err);
	l->connector = NULL;
	if (rc != MOSQ_ERR_SUCCESS) {
		bp_client_reason(l->client, "cannot connect", rc, err, why, sizeof(why));
		lost(l, why);
		return;
	}
	l->read_event = event_new(
		l->base, mosquitto_socket(l->client->m), EV_READ | EV_PERSIST, on_readable, l);
	l->write_event = event_new(
		l->base, mosquitto_socket(l->client->m), EV_WRITE | EV_PERSIST, on_writable, l);
	if (l->read_event == NULL || l->write_event == NULL) {
		lost(l, "no memory for its events");
		return;
	}
	event_add(l->read_event, NULL);
	set_state(l, LINK_CONNACK);
	update_write_event(l);
}

static int use_tls(struct bp_client *c, const struct bp_edge_link_settings *s)
{
	const bool own = s->ca_file[0] != '\0';
	int rc = MOSQ_ERR_SUCCESS;

	/* mosquitto_tls_set() requires a file or a directory, even when OpenSSL's default store is
	 * used. */
	if (!own)
		rc = mosquitto_int_option(c->m, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
	if (rc != MOSQ_ERR_SUCCESS)
		return rc;
	return mosquitto_tls_set(c->m, own ? s->ca_file : NULL, own ? NULL : SYSTEM_CERTIFICATES,
		s->cert_file[0] != '\0' ? s->cert_file : NULL,
		s->key_file[0] != '\0' ? s->key_file : NULL, NULL);
}

/* Returns a client with all settings, or NULL with a sentence in `why`. */
static struct bp_client *new_client(struct bp_edge_link *l, char *why, size_t why_size)
{
	const struct bp_edge_link_settings *s = &l->settings;
	struct bp_client *c = bp_client_new(s->client_id, l);
	int rc = MOSQ_ERR_SUCCESS;

	if (c == NULL) {
		snprintf(why, why_size, "cannot create a client: %s", strerror(errno));
		return NULL;
	}
	/* Prevents a write by the library for each publish: bp_edge_link_flush() writes once per
	 * batch. */
	mosquitto_threaded_set(c->m, true);
	mosquitto_max_inflight_messages_set(c->m, 0); /* the publisher limits them */
	mosquitto_int_option(c->m, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_connect_callback_set(c->m, on_connack);
	mosquitto_publish_callback_set(c->m, on_puback);
	if (s->username[0] != '\0')
		rc = mosquitto_username_pw_set(
			c->m, s->username, s->password[0] != '\0' ? s->password : NULL);
	if (rc == MOSQ_ERR_SUCCESS && s->tls)
		rc = use_tls(c, s);
	if (rc == MOSQ_ERR_SUCCESS)
		return c;
	bp_client_reason(c, "cannot use its credentials or TLS files", rc, errno, why, why_size);
	bp_client_free(c);
	return NULL;
}

static void try_connect(struct bp_edge_link *l)
{
	char why[WHY_SIZE];
	struct bp_client *client = new_client(l, why, sizeof(why));
	uint32_t keep_alive = l->settings.keep_alive_s < KEEP_ALIVE_MIN_S
				      ? KEEP_ALIVE_MIN_S
				      : l->settings.keep_alive_s;

	if (client == NULL) {
		lost(l, why);
		return;
	}
	l->connector = bp_connector_start(client, l->settings.host, l->settings.port, keep_alive);
	if (l->connector == NULL) {
		lost(l, "cannot start a connector thread");
		return;
	}
	l->attempt_event =
		event_new(l->base, bp_connector_fd(l->connector), EV_READ, on_attempt_over, l);
	if (l->attempt_event == NULL) {
		lost(l, "no memory for its events");
		return;
	}
	event_add(l->attempt_event, NULL);
	set_state(l, LINK_CONNECTING);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	try_connect(arg);
}

/* Returns whether an attempt may be abandoned while its thread continues, and records it. */
static bool may_abandon(struct bp_edge_link *l, uint64_t now)
{
	for (unsigned i = 0; i < ABANDONED_MAX; i++) {
		if (l->abandoned_ns[i] == 0 || now - l->abandoned_ns[i] > ABANDONED_FORGET_NS) {
			l->abandoned_ns[i] = now;
			return true;
		}
	}
	return false;
}

static void on_misc(evutil_socket_t fd, short what, void *arg)
{
	struct bp_edge_link *l = arg;
	uint64_t now = bp_mono_ns();
	bool late = now - l->since_ns > ATTEMPT_NS;

	(void)fd;
	(void)what;
	if (l->state == LINK_CONNECTING && late && may_abandon(l, now))
		lost(l, "cannot connect: no answer");
	else if (l->state == LINK_CONNACK && late)
		lost(l, "no CONNACK");
	else if (l->state == LINK_CONNACK || l->state == LINK_UP)
		settle(l, mosquitto_loop_misc(l->client->m));
}

struct bp_edge_link *bp_edge_link_new(
	struct event_base *base, const struct bp_edge_link_events *events, void *arg)
{
	struct bp_edge_link *l = calloc(1, sizeof(*l));
	struct timeval second = {1, 0};

	if (l == NULL)
		return NULL;
	mosquitto_lib_init();
	l->base = base;
	l->events = *events;
	l->arg = arg;
	l->backoff_ns = BACKOFF_MIN_NS;
	l->retry_timer = evtimer_new(base, on_retry, l);
	l->misc_timer = event_new(base, -1, EV_PERSIST, on_misc, l);
	if (l->retry_timer == NULL || l->misc_timer == NULL) {
		free_event(&l->retry_timer);
		free_event(&l->misc_timer);
		free(l);
		return NULL;
	}
	event_add(l->misc_timer, &second);
	return l;
}

void bp_edge_link_free(struct bp_edge_link *l)
{
	if (l == NULL)
		return;
	if (l->state == LINK_UP && mosquitto_disconnect(l->client->m) == MOSQ_ERR_SUCCESS) {
		l->state = LINK_IDLE;
		mosquitto_loop_write(l->client->m, 1);
	}
	tear_down(l);
	free_event(&l->retry_timer);
	free_event(&l->misc_timer);
	explicit_bzero(l->settings.password, sizeof(l->settings.password));
	free(l);
}

static bool same_settings(
	const struct bp_edge_link_settings *a, const struct bp_edge_link_settings *b)
{
	return strcmp(a->host, b->host) == 0 && a->port == b->port && a->tls == b->tls &&
	       strcmp(a->client_id, b->client_id) == 0 && strcmp(a->username, b->username) == 0 &&
	       strcmp(a->password, b->password) == 0 && strcmp(a->ca_file, b->ca_file) == 0 &&
	       strcmp(a->cert_file, b->cert_file) == 0 && strcmp(a->key_file, b->key_file) == 0 &&
	       a->keep_alive_s == b->keep_alive_s;
}

void bp_edge_link_configure(struct bp_edge_link *l, const struct bp_edge_link_settings *settings)
{
	bool was_up = l->state == LINK_UP;

	if (l->state != LINK_IDLE && same_settings(&l->settings, settings))
		return;
	tear_down(l);
	l->settings = *settings;
	l->backoff_ns = BACKOFF_MIN_NS;
	set_state(l, LINK_WAITING);
	arm(l->retry_timer, 0);
	if (was_up)
		l->events.down(l->arg);
}

bool bp_edge_link_up(const struct bp_edge_link *l)
{
	return l->state == LINK_UP;
}

int bp_edge_link_publish(
	struct bp_edge_link *l, const char *topic, const void *payload, uint32_t len, uint16_t *mid)
{
	int m = 0, rc;

	if (l->state != LINK_UP)
		return -1;
	rc = mosquitto_publish(l->client->m, &m, topic, (int)len, payload, 1, false);
	if (rc == MOSQ_ERR_INVAL || rc == MOSQ_ERR_PAYLOAD_SIZE || rc == MOSQ_ERR_MALFORMED_UTF8)
		return 1;
	if (rc != MOSQ_ERR_SUCCESS)
		return -1;
	*mid = (uint16_t)m;
	l->queued++;
	return 0;
}

static void cork(int fd, int on)
{
	setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

void bp_edge_link_flush(struct bp_edge_link *l)
{
	bool several = l->queued > 1;
	int rc, fd;

	if (l->state != LINK_UP || l->queued == 0)
		return;
	l->queued = 0;
	fd = mosquitto_socket(l->client->m);
	if (several)
		cork(fd, 1);
	errno = 0;
	rc = mosquitto_loop_write(l->client->m, 1);
	if (several && mosquitto_socket(l->client->m) == fd)
		cork(fd, 0);
	settle(l, rc);
}

void bp_edge_link_reset(struct bp_edge_link *l, const char *why)
{
	if (l->state == LINK_UP)
		lost(l, why);
}
