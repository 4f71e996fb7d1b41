/* SPDX-License-Identifier: BSD-3-Clause */
#include "kafka_rig.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"

static rd_kafka_conf_t *conf_of(const char *const (*pairs)[2], size_t n)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char err[256];

	for (size_t i = 0; i < n; i++)
		if (rd_kafka_conf_set(conf, pairs[i][0], pairs[i][1], err, sizeof(err)) !=
			RD_KAFKA_CONF_OK)
			fail_msg("%s", err);
	return conf;
}

static rd_kafka_t *handle(rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
	char err[256];
	rd_kafka_t *k = rd_kafka_new(type, conf, err, sizeof(err));

	if (k == NULL)
		fail_msg("%s", err);
	return k;
}

static void start_consumer(struct fixture *f)
{
	const char *const pairs[][2] = {
		{"bootstrap.servers", rd_kafka_mock_cluster_bootstraps(f->cluster)},
		{"group.id", "g"}, {"log_level", "0"}, {"reconnect.backoff.max.ms", "200"},
		{"socket.timeout.ms", "10000"}};
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(KAFKA_PARTITIONS);

	f->consumer = handle(RD_KAFKA_CONSUMER, conf_of(pairs, sizeof(pairs) / sizeof(pairs[0])));
	for (int i = 0; i < KAFKA_PARTITIONS; i++)
		rd_kafka_topic_partition_list_add(list, KAFKA_TOPIC, i)->offset =
			RD_KAFKA_OFFSET_BEGINNING;
	assert_int_equal(rd_kafka_assign(f->consumer, list), 0);
	rd_kafka_topic_partition_list_destroy(list);
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

int kafka_setup(void **state)
{
	static const char *const quiet[][2] = {{"log_level", "0"}};
	static const struct timeval beat = {0, 2000};
	struct fixture *f = calloc(1, sizeof(*f));
	struct bp_config_kafka *k = &f->mqtt.kafka;

	test_dir_make(f->dir, sizeof(f->dir));
	test_config(&f->config, &f->mqtt, f->dir, 1, 2, 1 << 20);
	f->mqtt.publisher.enabled = false;
	f->owner = handle(RD_KAFKA_PRODUCER, conf_of(quiet, 1));
	f->cluster = rd_kafka_mock_cluster_new(f->owner, KAFKA_BROKERS);
	assert_non_null(f->cluster);
	assert_int_equal(
		rd_kafka_mock_topic_create(f->cluster, KAFKA_TOPIC, KAFKA_PARTITIONS, 3), 0);
	start_consumer(f);
	k->enabled = true;
	snprintf(k->brokers.list, sizeof(k->brokers.list), "%s",
		rd_kafka_mock_cluster_bootstraps(f->cluster));
	snprintf(k->topic, sizeof(k->topic), KAFKA_TOPIC);
	snprintf(k->client_id, sizeof(k->client_id), "test");
	k->max_inflight = 1000;
	k->max_message_size = 1000000;
	k->ack_timeout_ns = 5000000000ull;
	k->unreachable_after_ns = 60000000000ull;
	f->base = event_base_new();
	f->beat = event_new(f->base, -1, EV_PERSIST, on_beat, NULL);
	event_add(f->beat, &beat);
	*state = f;
	return 0;
}

void kafka_stop_publisher(struct fixture *f)
{
	bp_ring_events_free(f->rings);
	bp_publisher_free(f->publisher);
	f->rings = NULL;
	f->publisher = NULL;
}

int kafka_teardown(void **state)
{
	struct fixture *f = *state;

	kafka_stop_publisher(f);
	event_free(f->beat);
	event_base_free(f->base);
	if (f->shm.segment != NULL)
		test_shm_free(&f->shm);
	rd_kafka_destroy(f->consumer);
	rd_kafka_mock_cluster_destroy(f->cluster);
	rd_kafka_destroy(f->owner);
	test_dir_remove(f->dir);
	free(f->message);
	free(f);
	return 0;
}

void kafka_start_publisher(struct fixture *f)
{
	char err[256] = "";

	f->rings = bp_ring_events_new(f->base, &f->shm.control->cp_sleeps, NULL, NULL);
	f->publisher = bp_publisher_new(f->base, &f->shm, f->rings, &f->mqtt, err, sizeof(err));
	if (f->publisher == NULL)
		fail_msg("no publisher: %s", err);
}

void kafka_start(struct fixture *f)
{
	test_shm_make(&f->shm, &f->config);
	bp_shm_events_begin(&f->shm, BP_EVENTS_CONTROLPLANE);
	f->c = &f->shm.control->publisher[BP_TO_KAFKA];
	kafka_start_publisher(f);
}

void kafka_down(struct fixture *f)
{
	for (int32_t i = 1; i <= KAFKA_BROKERS; i++)
		rd_kafka_mock_broker_set_down(f->cluster, i);
}

void kafka_up(struct fixture *f)
{
	for (int32_t i = 1; i <= KAFKA_BROKERS; i++)
		rd_kafka_mock_broker_set_up(f->cluster, i);
}

void kafka_put(struct fixture *f, unsigned worker, uint64_t id, unsigned key, uint8_t flags)
{
	char topic[16], payload[32];
	struct bp_alarm *a;

	snprintf(topic, sizeof(topic), "t%u", key);
	snprintf(payload, sizeof(payload), "%" PRIu64, id);
	a = test_alarm_make(&(struct test_alarm){.id = id,
		.time_ns = bp_unix_ns(),
		.value = 81.5,
		.state = BP_ALARM_RAISED,
		.flags = flags,
		.severity = id % 2 == 0 ? BP_SEVERITY_MAJOR : BP_SEVERITY_NONE,
		.rule = "r",
		.topic = topic,
		.to = "alarm/x",
		.payload = payload});
	RUN_UNTIL(f, test_ring_put(bp_shm_ring(&f->shm, worker), a));
	free(a);
}

static void copy_text(char *out, size_t size, const void *text, size_t len)
{
	snprintf(out, size, "%.*s", (int)len, (const char *)text);
}

static void header(const rd_kafka_message_t *m, const char *name, char *out, size_t size)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t len;

	assert_int_equal(rd_kafka_message_headers(m, &headers), 0);
	assert_int_equal(rd_kafka_header_get_last(headers, name, &value, &len), 0);
	copy_text(out, size, value, len);
}

static void optional_header(const rd_kafka_message_t *m, const char *name, char *out, size_t size)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t len;

	out[0] = '\0';
	if (rd_kafka_message_headers(m, &headers) == 0 &&
		rd_kafka_header_get_last(headers, name, &value, &len) == 0)
		copy_text(out, size, value, len);
}

static void record(struct fixture *f, const rd_kafka_message_t *m)
{
	struct kafka_message *to;
	char id[32];

	if (f->n == f->size) {
		f->size = f->size == 0 ? 1024 : 2 * f->size;
		f->message = realloc(f->message, f->size * sizeof(*f->message));
		assert_non_null(f->message);
	}
	to = &f->message[f->n++];
	copy_text(to->key, sizeof(to->key), m->key, m->key_len);
	copy_text(to->value, sizeof(to->value), m->payload, m->len);
	header(m, "id", id, sizeof(id));
	header(m, "uid", to->uid, sizeof(to->uid));
	header(m, "rule", to->rule, sizeof(to->rule));
	header(m, "state", to->state, sizeof(to->state));
	optional_header(m, "severity", to->severity, sizeof(to->severity));
	to->id = strtoull(id, NULL, 10);
}

unsigned kafka_received(struct fixture *f)
{
	rd_kafka_message_t *m;

	while ((m = rd_kafka_consumer_poll(f->consumer, 0)) != NULL) {
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			record(f, m);
		rd_kafka_message_destroy(m);
	}
	return f->n;
}

unsigned kafka_times(struct fixture *f, uint64_t id)
{
	unsigned times = 0;

	kafka_received(f);
	for (unsigned i = 0; i < f->n; i++)
		times += f->message[i].id == id;
	return times;
}

bool kafka_has_all(struct fixture *f, uint64_t from, uint64_t to)
{
	if (kafka_received(f) < to - from + 1)
		return false;
	for (uint64_t id = from; id <= to; id++)
		if (kafka_times(f, id) == 0)
			return false;
	return true;
}

void kafka_assert_order(struct fixture *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct kafka_message *m = &f->message[i];
		uint64_t newest = 0, last = 0;
		bool repeated = false;

		for (unsigned k = 0; k < f->n; k++) {
			const struct kafka_message *o = &f->message[k];

			if (strcmp(o->key, m->key) != 0)
				continue;
			last = o->id;
			if (o->id > newest)
				newest = o->id;
			repeated |= k < i && o->id == m->id;
			if (k < i && o->id > m->id && !repeated)
				fail_msg("%s: alarm %" PRIu64 " arrived after %" PRIu64, m->key,
					m->id, o->id);
		}
		if (last != newest)
			fail_msg("%s: the last alarm is %" PRIu64 ", the newest %" PRIu64, m->key,
				last, newest);
	}
}
