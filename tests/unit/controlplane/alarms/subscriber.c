/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/test.h"

#include <mosquitto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct message {
	uint64_t id;
	char topic[64], payload[512];
};

struct test_subscriber {
	struct mosquitto *m;
	pthread_mutex_t lock;
	struct message *message; /* under lock */
	unsigned count, size;
	unsigned *times;
	size_t times_size;
	/* ids from complete_from on have arrived up to complete_to, which is not known to have */
	uint64_t complete_from, complete_to;
	bool retained;
	atomic_bool ready;
};

/* The arrival counts, grown to hold id; ids of one test are close together. */
static unsigned *times_of(struct test_subscriber *s, uint64_t id)
{
	static unsigned none;

	if (id >= 10000000)
		return &none;
	if (id >= s->times_size) {
		size_t bigger = (size_t)id * 2 + 1024;

		s->times = realloc(s->times, bigger * sizeof(*s->times));
		memset(s->times + s->times_size, 0, (bigger - s->times_size) * sizeof(*s->times));
		s->times_size = bigger;
	}
	return &s->times[id];
}

static void on_connect(struct mosquitto *m, void *arg, int rc)
{
	(void)arg;
	if (rc == 0)
		mosquitto_subscribe(m, NULL, "#", 1);
}

static void on_subscribe(struct mosquitto *m, void *arg, int mid, int n, const int *granted)
{
	struct test_subscriber *s = arg;

	(void)m;
	(void)mid;
	(void)n;
	(void)granted;
	s->ready = true;
}

/* Ids are at the payload's start, or in an envelope. */
static uint64_t id_of(const char *payload)
{
	const char *p = strncmp(payload, "{\"id\":", 6) == 0 ? payload + 6 : payload;

	return strtoull(p, NULL, 10);
}

static void on_message(struct mosquitto *m, void *arg, const struct mosquitto_message *got)
{
	struct test_subscriber *s = arg;
	struct message *e;
	size_t n = (size_t)got->payloadlen;

	(void)m;
	pthread_mutex_lock(&s->lock);
	if (s->count == s->size) {
		s->size = s->size == 0 ? 1024 : s->size * 2;
		s->message = realloc(s->message, s->size * sizeof(*s->message));
	}
	e = &s->message[s->count++];
	memset(e, 0, sizeof(*e));
	memcpy(e->payload, got->payload, n < sizeof(e->payload) ? n : sizeof(e->payload) - 1);
	strncpy(e->topic, got->topic, sizeof(e->topic) - 1);
	e->id = id_of(e->payload);
	(*times_of(s, e->id))++;
	s->retained |= got->retain;
	pthread_mutex_unlock(&s->lock);
}

struct test_subscriber *test_subscriber_start(const struct test_broker *b)
{
	struct test_subscriber *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	pthread_mutex_init(&s->lock, NULL);
	mosquitto_lib_init();
	s->m = mosquitto_new("subscriber", false, s);
	assert_non_null(s->m);
	mosquitto_connect_callback_set(s->m, on_connect);
	mosquitto_subscribe_callback_set(s->m, on_subscribe);
	mosquitto_message_callback_set(s->m, on_message);
	mosquitto_reconnect_delay_set(s->m, 1, 1, false);
	assert_int_equal(mosquitto_connect(s->m, "127.0.0.1", b->port, 30), 0);
	assert_int_equal(mosquitto_loop_start(s->m), 0);
	WAIT_UNTIL(s->ready);
	return s;
}

void test_subscriber_stop(struct test_subscriber *s)
{
	mosquitto_disconnect(s->m);
	mosquitto_loop_stop(s->m, true);
	mosquitto_destroy(s->m);
	free(s->message);
	free(s->times);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

unsigned test_subscriber_count(struct test_subscriber *s)
{
	unsigned n;

	pthread_mutex_lock(&s->lock);
	n = s->count;
	pthread_mutex_unlock(&s->lock);
	return n;
}

unsigned test_subscriber_times(struct test_subscriber *s, uint64_t id)
{
	unsigned n;

	pthread_mutex_lock(&s->lock);
	n = *times_of(s, id);
	pthread_mutex_unlock(&s->lock);
	return n;
}

int test_subscriber_place(struct test_subscriber *s, uint64_t id)
{
	int place = -1;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->count && place < 0; i++)
		if (s->message[i].id == id)
			place = (int)i;
	pthread_mutex_unlock(&s->lock);
	return place;
}

bool test_subscriber_has_all(struct test_subscriber *s, uint64_t from, uint64_t to)
{
	bool all;

	/* a test asks again with each event: without what it knows, that takes its time squared */
	pthread_mutex_lock(&s->lock);
	if (s->complete_from != from) {
		s->complete_from = from;
		s->complete_to = from;
	}
	while (s->complete_to <= to && *times_of(s, s->complete_to) != 0)
		s->complete_to++;
	all = s->complete_to > to;
	pthread_mutex_unlock(&s->lock);
	return all;
}

uint64_t test_subscriber_id(struct test_subscriber *s, unsigned place)
{
	uint64_t id;

	pthread_mutex_lock(&s->lock);
	id = s->message[place].id;
	pthread_mutex_unlock(&s->lock);
	return id;
}

void test_subscriber_text(
	struct test_subscriber *s, uint64_t id, char *topic, char *payload, size_t size)
{
	topic[0] = '\0';
	payload[0] = '\0';
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->count; i++) {
		if (s->message[i].id != id)
			continue;
		strncpy(topic, s->message[i].topic, size - 1);
		strncpy(payload, s->message[i].payload, size - 1);
		topic[size - 1] = payload[size - 1] = '\0';
	}
	pthread_mutex_unlock(&s->lock);
}

bool test_subscriber_retained(struct test_subscriber *s)
{
	bool retained;

	pthread_mutex_lock(&s->lock);
	retained = s->retained;
	pthread_mutex_unlock(&s->lock);
	return retained;
}
