/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/kafka_link.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "biplane/severity.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/alarms/kafka_conf.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"

#define BACKOFF_MIN_NS 100000000ull
#define BACKOFF_MAX_NS 5000000000ull
/* Events of the library per iteration of the event loop. */
#define EVENTS_MAX 256u
/* While the old producer ends, its end is checked at this interval. */
#define END_CHECK_NS 20000000ull
#define END_WAIT_S 1
#define WHY_SIZE 640u
#define MIDS 65536u

struct bp_kafka_link {
	struct event_base *base;
	struct bp_link_events events;
	void *arg;
	struct bp_kafka_link_settings settings;
	bool configured, up;
	uint32_t brokers, brokers_connected;
	rd_kafka_t *producer; /* NULL: waits for the timer */
	rd_kafka_queue_t *queue;
	int pipe[2];
	struct event *queue_event, *retry_timer;
	bool ending; /* `end` is the thread that ends the previous producer */
	pthread_t end;
	uint64_t backoff_ns;
	uint16_t mid;
	bool in_flight[MIDS]; /* by message id */
	bool failed;          /* the producer cannot continue, for the reason in `error` */
	char error[WHY_SIZE];
	/* Why the last producer could not continue; "": an alarm was stored since. Each producer
	 * is connected for some time before it fails for the same reason. */
	char failure[WHY_SIZE];
	struct bp_log_limit log_error, log_lost;
};

static void arm(struct event *timer, uint64_t ns)
{
	struct timeval tv = {(time_t)(ns / 1000000000u), (suseconds_t)(ns % 1000000000u / 1000u)};

	evtimer_add(timer, &tv);
}

static void *end_producer(void *arg)
{
	rd_kafka_purge(arg,
		RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	rd_kafka_destroy(arg);
	return NULL;
}

/* Ends the producer, without a callback to the publisher. */
static void tear_down(struct bp_kafka_link *l)
{
	rd_kafka_t *producer = l->producer;

	evtimer_del(l->retry_timer);
	l->up = false;
	l->failed = false;
	l->brokers = l->brokers_connected = 0;
	memset(l->in_flight, 0, sizeof(l->in_flight));
	if (producer == NULL)
		return;
	rd_kafka_queue_io_event_enable(l->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(l->queue);
	l->queue = NULL;
	l->producer = NULL;
	l->ending = pthread_create(&l->end, NULL, end_producer, producer) == 0;
	if (!l->ending)
		end_producer(producer);
}

static void retry_later(struct bp_kafka_link *l)
{
	arm(l->retry_timer, l->backoff_ns);
	l->backoff_ns = l->backoff_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : l->backoff_ns * 2;
}

static void lost(struct bp_kafka_link *l, const char *why)
{
	const bool existed = l->producer != NULL;

	bp_log_limited(&l->log_lost, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("brokers", l->settings.brokers),
			BP_LOG_STR("topic", l->settings.topic)),
		"kafka: %s; retrying", why);
	tear_down(l);
	retry_later(l);
	if (existed)
		l->events.down(l->arg);
}

static void set_up(struct bp_kafka_link *l)
{
	if (l->up || l->failed)
		return;
	l->up = true;
	l->error[0] = '\0';
	bp_log_event(BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_STR("brokers", l->settings.brokers),
			BP_LOG_STR("topic", l->settings.topic)),
		"kafka connected");
	l->events.up(l->arg);
}

/* ---- events of the library ---- */

/* The producer cannot continue: it is replaced when the current callbacks have returned. */
static void fail(struct bp_kafka_link *l, const char *why)
{
	static const struct timeval now = {0, 0};

	if (l->failed)
		return;
	snprintf(l->failure, sizeof(l->failure), "%s", why);
	l->failed = true;
	evtimer_add(l->retry_timer, &now);
}

/* Returns whether the brokers will never store this message, and not for a reason that an operator
 * can remove for all messages, such as a missing right. */
static bool is_permanent(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE ||
	       err == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP ||
	       err == RD_KAFKA_RESP_ERR_INVALID_RECORD || err == RD_KAFKA_RESP_ERR_POLICY_VIOLATION;
}

/*
 * After a failure that is not permanent, no later result counts: another message of the key may
 * already be stored. All messages in flight are sent again in their order, so that the last one of
 * a key is the newest.
 */
static void on_delivery(struct bp_kafka_link *l, const rd_kafka_message_t *m)
{
	const uint16_t mid = (uint16_t)(uintptr_t)m->_private;
	char why[WHY_SIZE];

	if (l->failed || !l->in_flight[mid])
		return;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		l->in_flight[mid] = false;
		l->backoff_ns = BACKOFF_MIN_NS;
		l->failure[0] = '\0';
		l->events.acked(l->arg, mid);
	} else if (is_permanent(m->err)) {
		l->in_flight[mid] = false;
		l->events.rejected(l->arg, mid, rd_kafka_err2str(m->err));
	} else {
		snprintf(why, sizeof(why), "topic %s: %s", l->settings.topic,
			rd_kafka_err2str(m->err));
		fail(l, why);
	}
}

static void on_deliveries(struct bp_kafka_link *l, rd_kafka_event_t *e)
{
	const rd_kafka_message_t *m;

	while ((m = rd_kafka_event_message_next(e)) != NULL)
		on_delivery(l, m);
	if (!l->failed)
		set_up(l); /* also a rejection comes from a broker */
}

static void on_error(struct bp_kafka_link *l, rd_kafka_event_t *e)
{
	const rd_kafka_resp_err_t err = rd_kafka_event_error(e);
	char why[WHY_SIZE];

	if (err == RD_KAFKA_RESP_ERR__FATAL) {
		rd_kafka_fatal_error(l->producer, why, sizeof(why));
		fail(l, why);
		return;
	}
	if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
		/* kept for the fault: the next event only says that all brokers are down */
		snprintf(l->error, sizeof(l->error), "%s", rd_kafka_event_error_string(e));
		bp_log_limited(&l->log_error, BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("brokers", l->settings.brokers)), "kafka: %s",
			l->error);
		return;
	}
	l->brokers_connected = 0;
	if (!l->up)
		return;
	l->up = false;
	l->events.unreachable(l->arg);
}

/* The addresses of the settings are brokers without an id until the cluster has reported it. */
static void on_statistics(struct bp_kafka_link *l, rd_kafka_event_t *e)
{
	json_t *stats = json_loads(rd_kafka_event_stats(e), 0, NULL), *broker;
	const char *key;

	l->brokers = l->brokers_connected = 0;
	json_object_foreach(json_object_get(stats, "brokers"), key, broker)
	{
		const char *state = json_string_value(json_object_get(broker, "state"));

		l->brokers += json_integer_value(json_object_get(broker, "nodeid")) >= 0;
		l->brokers_connected += state != NULL && strcmp(state, "UP") == 0;
	}
	json_decref(stats);
	if (l->brokers_connected != 0)
		set_up(l);
}

static void on_log(rd_kafka_event_t *e)
{
	const char *facility, *text;
	int level;

	if (rd_kafka_event_log(e, &facility, &text, &level) == 0)
		bp_log(BP_LOG_DEBUG, "kafka: %s: %s", facility, text);
}

static void on_event(struct bp_kafka_link *l, rd_kafka_event_t *e)
{
	switch (rd_kafka_event_type(e)) {
	case RD_KAFKA_EVENT_DR:
		on_deliveries(l, e);
		break;
	case RD_KAFKA_EVENT_ERROR:
		on_error(l, e);
		break;
	case RD_KAFKA_EVENT_STATS:
		on_statistics(l, e);
		break;
	case RD_KAFKA_EVENT_LOG:
		on_log(e);
		break;
	default:
		break;
	}
}

static void on_queue(evutil_socket_t fd, short what, void *arg)
{
	struct bp_kafka_link *l = arg;
	rd_kafka_event_t *e;
	char bytes[64];
	unsigned n = 0;

	(void)what;
	/* first, so that an event after the last poll wakes again */
	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
	for (; n < EVENTS_MAX && l->queue != NULL; n++) {
		e = rd_kafka_queue_poll(l->queue, 0);
		if (e == NULL)
			break;
		on_event(l, e);
		rd_kafka_event_destroy(e);
	}
	if (n == EVENTS_MAX)
		event_active(l->queue_event, EV_READ, 0);
	if (n != 0 && l->up && !l->failed)
		l->events.ready(l->arg);
}

/* ---- start and end of a producer ---- */

static bool start_producer(struct bp_kafka_link *l, char *why, size_t size)
{
	rd_kafka_conf_t *conf = bp_kafka_conf(&l->settings, why, size);

	if (conf == NULL)
		return false;
	rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR |
					       RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG);
	l->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, size);
	if (l->producer == NULL) {
		rd_kafka_conf_destroy(conf);
		return false;
	}
	rd_kafka_set_log_queue(l->producer, NULL);
	l->queue = rd_kafka_queue_get_main(l->producer);
	rd_kafka_queue_io_event_enable(l->queue, l->pipe[1], "", 1);
	event_active(l->queue_event, EV_READ, 0);
	return true;
}

/* Returns whether the previous producer has ended; waits at most `seconds`. */
static bool has_ended(struct bp_kafka_link *l, time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (l->ending && pthread_timedjoin_np(l->end, NULL, &until) == 0)
		l->ending = false;
	return !l->ending;
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct bp_kafka_link *l = arg;
	char why[WHY_SIZE], error[512] = "";

	(void)fd;
	(void)what;
	if (l->failed) {
		snprintf(why, sizeof(why), "%s", l->failure);
		lost(l, why);
	} else if (!has_ended(l, 0)) {
		arm(l->retry_timer, END_CHECK_NS);
	} else if (!start_producer(l, error, sizeof(error))) {
		snprintf(why, sizeof(why), "cannot start a producer: %s", error);
		snprintf(l->error, sizeof(l->error), "%s", why);
		lost(l, why);
	}
}

struct bp_kafka_link *bp_kafka_link_new(
	struct event_base *base, const struct bp_link_events *events, void *arg)
{
	struct bp_kafka_link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->base = base;
	l->events = *events;
	l->arg = arg;
	l->backoff_ns = BACKOFF_MIN_NS;
	l->pipe[0] = l->pipe[1] = -1;
	if (pipe2(l->pipe, O_CLOEXEC | O_NONBLOCK) == 0) {
		l->retry_timer = evtimer_new(base, on_retry, l);
		l->queue_event = event_new(base, l->pipe[0], EV_READ | EV_PERSIST, on_queue, l);
	}
	if (l->retry_timer == NULL || l->queue_event == NULL ||
		event_add(l->queue_event, NULL) != 0) {
		bp_kafka_link_free(l);
		return NULL;
	}
	return l;
}

void bp_kafka_link_free(struct bp_kafka_link *l)
{
	if (l == NULL)
		return;
	if (l->retry_timer != NULL) {
		has_ended(l, END_WAIT_S); /* of an earlier producer */
		if (l->ending)
			pthread_detach(l->end);
		l->ending = false;
		tear_down(l);
		if (!has_ended(l, END_WAIT_S))
			pthread_detach(l->end);
		event_free(l->retry_timer);
	}
	if (l->queue_event != NULL)
		event_free(l->queue_event);
	if (l->pipe[0] >= 0)
		close(l->pipe[0]);
	if (l->pipe[1] >= 0)
		close(l->pipe[1]);
	explicit_bzero(l->settings.password, sizeof(l->settings.password));
	free(l);
}

static bool same_settings(
	const struct bp_kafka_link_settings *a, const struct bp_kafka_link_settings *b)
{
	return strcmp(a->brokers, b->brokers) == 0 && strcmp(a->topic, b->topic) == 0 &&
	       strcmp(a->client_id, b->client_id) == 0 && strcmp(a->username, b->username) == 0 &&
	       strcmp(a->password, b->password) == 0 && strcmp(a->mechanism, b->mechanism) == 0 &&
	       a->tls == b->tls && strcmp(a->ca_file, b->ca_file) == 0 &&
	       strcmp(a->cert_file, b->cert_file) == 0 && strcmp(a->key_file, b->key_file) == 0 &&
	       a->max_message_size == b->max_message_size;
}

void bp_kafka_link_configure(struct bp_kafka_link *l, const struct bp_kafka_link_settings *settings)
{
	const bool existed = l->producer != NULL;

	if (l->configured && same_settings(&l->settings, settings))
		return;
	tear_down(l);
	l->settings = *settings;
	l->configured = true;
	l->backoff_ns = BACKOFF_MIN_NS;
	l->failure[0] = '\0';
	arm(l->retry_timer, 0);
	if (existed)
		l->events.down(l->arg);
}

bool bp_kafka_link_up(const struct bp_kafka_link *l)
{
	return l->up && !l->failed;
}

void bp_kafka_link_brokers(const struct bp_kafka_link *l, uint32_t *known, uint32_t *connected)
{
	*known = l->brokers;
	*connected = l->brokers_connected;
}

const char *bp_kafka_link_error(const struct bp_kafka_link *l)
{
	return l->failure[0] != '\0' ? l->failure : l->error;
}

/* Returns a free message id, or 0. */
static uint16_t next_mid(struct bp_kafka_link *l)
{
	for (unsigned tries = 0; tries < MIDS; tries++)
		if (++l->mid != 0 && !l->in_flight[l->mid])
			return l->mid;
	return 0;
}

/* The key of a message: rule and topic, so that alarms whose order matters are in one partition. A
 * rule's name has no colon. */
static size_t key_of(const struct bp_alarm *a, char *out)
{
	memcpy(out, bp_alarm_rule(a), a->rule_len);
	out[a->rule_len] = ':';
	memcpy(out + a->rule_len + 1, bp_alarm_topic(a), a->topic_len);
	return (size_t)a->rule_len + 1 + a->topic_len;
}

/* NULL: no memory. */
static rd_kafka_headers_t *headers_of(const struct bp_alarm *a)
{
	const char *severity = bp_severity_name(a->severity);
	rd_kafka_headers_t *h = rd_kafka_headers_new(5);
	char id[24], uid[BP_ALARM_UID_LEN + 1];

	if (h == NULL)
		return NULL;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)a->id);
	bp_alarm_uid(a, uid);
	rd_kafka_header_add(h, "id", -1, id, -1);
	rd_kafka_header_add(h, "uid", -1, uid, -1);
	rd_kafka_header_add(h, "rule", -1, bp_alarm_rule(a), a->rule_len);
	rd_kafka_header_add(
		h, "state", -1, a->state == BP_ALARM_CLEARED ? "cleared" : "raised", -1);
	if (severity != NULL)
		rd_kafka_header_add(h, "severity", -1, severity, -1);
	return h;
}

int bp_kafka_link_send(struct bp_kafka_link *l, const struct bp_link_message *m, uint16_t *mid)
{
	static char key[2 * (UINT16_MAX + 1)]; /* only the event loop uses it */
	const struct bp_alarm *a = m->alarm;
	rd_kafka_headers_t *headers;
	rd_kafka_resp_err_t err;

	if (!bp_kafka_link_up(l) || (*mid = next_mid(l)) == 0 || (headers = headers_of(a)) == NULL)
		return -1;
	err = rd_kafka_producev(l->producer, RD_KAFKA_V_TOPIC(l->settings.topic),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_of(a, key)),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)m->payload, m->len),
		RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE((void *)(uintptr_t)*mid),
		RD_KAFKA_V_END);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) { /* the library owns the headers now */
		l->in_flight[*mid] = true;
		return 0;
	}
	rd_kafka_headers_destroy(headers);
	if (err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
		return 1;
	if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL)
		fail(l, rd_kafka_err2str(err));
	return -1;
}

void bp_kafka_link_reset(struct bp_kafka_link *l, const char *why)
{
	if (l->producer != NULL)
		lost(l, why);
}
