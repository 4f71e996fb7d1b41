/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring to Kafka, with librdkafka's mock cluster and its injected errors. */
#include "kafka_rig.h"

#include <dirent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controlplane/alarms/envelope.h"
#include "controlplane/alarms/kafka_conf.h"
#include "shm/events/event_ring.h"
#include "shm/fault.h"

static bool ring_is_empty(struct fixture *f)
{
	return bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
	       bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0;
}

static void put_many(struct fixture *f, uint64_t from, uint64_t to, uint8_t flags)
{
	for (uint64_t id = from; id <= to; id++)
		kafka_put(f, id % 2, id, id % 5, flags);
}

static bool is_connected(struct fixture *f)
{
	return atomic_load(&f->c->connected) != 0;
}

static bool is_active(struct fixture *f, enum bp_fault_kind kind)
{
	struct bp_fault_record t;

	return bp_fault_read(&f->shm.cp_faults[kind - BP_FAULT_CONTROLPLANE_FIRST], &t) &&
	       t.active == 1;
}

/* Whether the newest events have this one of a fault. */
static bool has_event(struct fixture *f, enum bp_fault_kind kind, uint32_t action)
{
	const struct bp_event_ring *r = &f->shm.main_events;
	struct bp_event_cursor c;
	struct bp_event e;
	uint64_t lost;

	bp_event_cursor_open(&c, r->slot, sizeof(*r->slot), r->size, r->size);
	while (bp_event_cursor_read(&c, &e, &lost) != BP_EVENT_GOT_NONE)
		if (e.type == BP_EVENT_FAULT && e.action == action && e.number[1] == kind)
			return true;
	return false;
}

static void a_message_has_key_value_and_headers(void **state)
{
	struct fixture *f = *state;

	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	kafka_put(f, 0, 7, 1, KAFKA_ONLY);
	kafka_put(f, 1, 8, 2, KAFKA_ONLY | BP_ALARM_F_ENVELOPE);
	RUN_UNTIL(f, kafka_has_all(f, 7, 8) && get(&f->c->acked) == 2);
	RUN_UNTIL(f, ring_is_empty(f));
	for (unsigned i = 0; i < 2; i++) {
		const struct kafka_message *m = &f->message[i];

		assert_string_equal(m->key, m->id == 7 ? "r:t1" : "r:t2");
		assert_string_equal(m->rule, "r");
		assert_string_equal(m->state, "raised");
		assert_string_equal(m->severity, m->id == 8 ? "major" : "");
		if (m->id == 7)
			assert_string_equal(m->value, "7");
		else
			assert_memory_equal(m->value, "{\"id\":8,\"uid\":\"", 15);
		assert_int_equal(strlen(m->uid), BP_ALARM_UID_LEN);
		if (m->id == 8)
			assert_memory_equal(m->value + 15, m->uid, BP_ALARM_UID_LEN);
	}
	assert_int_equal(f->n, 2);
	assert_int_equal(get(&f->c->spooled), 0);
	assert_int_equal(get(&f->c->connects), 1);
	assert_int_equal(get(&f->shm.control->cp_alarms_read), 2);
}

/* Errors that a cluster returns while leaders move or replicas are missing. */
static void order_survives_retriable_errors(void **state)
{
	static const rd_kafka_resp_err_t errors[] = {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
		RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
		RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT,
		RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR};
	struct fixture *f = *state;
	uint64_t id = 1;

	kafka_start(f);
	put_many(f, 1, 50, KAFKA_ONLY);
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		rd_kafka_mock_push_request_errors(
			f->cluster, KAFKA_PRODUCE, 2, errors[i], errors[i]);
		rd_kafka_mock_partition_set_leader(
			f->cluster, KAFKA_TOPIC, (int32_t)i % KAFKA_PARTITIONS, 1 + (int)i % 3);
		id = 51 + 100 * i;
		put_many(f, id, id + 99, KAFKA_ONLY);
	}
	RUN_UNTIL(f, kafka_has_all(f, 1, id + 99) && get(&f->c->acked) == id + 99);
	RUN_UNTIL(f, ring_is_empty(f));
	kafka_assert_order(f);
	assert_int_equal(get(&f->c->rejected), 0);
	assert_int_equal(get(&f->c->invalid), 0);
}

/* Nothing is acknowledged: all alarms go to the disk, also those in flight. */
static void go_down(struct fixture *f, uint64_t from, uint64_t to, uint8_t flags)
{
	kafka_down(f);
	put_many(f, from, to, flags);
	RUN_UNTIL(f, !is_connected(f) && get(&f->c->spool_rows) == to - from + 1);
	RUN_UNTIL(f, ring_is_empty(f));
}

static void alarms_wait_in_the_spool(void **state)
{
	struct fixture *f = *state;

	f->mqtt.kafka.unreachable_after_ns = 1000000000ull;
	kafka_start(f);
	put_many(f, 1, 20, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 20 && ring_is_empty(f));
	RUN_UNTIL(f, atomic_load(&f->c->brokers) == KAFKA_BROKERS &&
			     atomic_load(&f->c->brokers_connected) != 0);
	go_down(f, 21, 500, KAFKA_ONLY);
	RUN_UNTIL(f, is_active(f, BP_FAULT_KAFKA_UNREACHABLE));
	assert_true(has_event(f, BP_FAULT_KAFKA_UNREACHABLE, BP_EVENT_FAULT_RAISED));
	assert_false(has_event(f, BP_FAULT_KAFKA_UNREACHABLE, BP_EVENT_FAULT_CLEARED));
	RUN_UNTIL(f, atomic_load(&f->c->brokers_connected) == 0);
	assert_false(is_active(f, BP_FAULT_EDGE_UNREACHABLE));
	kafka_up(f);
	put_many(f, 501, 600, KAFKA_ONLY);
	RUN_UNTIL(f, kafka_has_all(f, 1, 600) && get(&f->c->spool_rows) == 0);
	RUN_UNTIL(f, !is_active(f, BP_FAULT_KAFKA_UNREACHABLE) && ring_is_empty(f));
	assert_true(has_event(f, BP_FAULT_KAFKA_UNREACHABLE, BP_EVENT_FAULT_CLEARED));
	kafka_assert_order(f);
	assert_true(is_connected(f));
	assert_int_equal(get(&f->c->disconnects), 1);
	assert_int_equal(get(&f->c->connects), 2);
}

/* The control plane ends while the cluster is away, and another one continues. */
static void a_restart_loses_nothing(void **state)
{
	struct fixture *f = *state;

	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	go_down(f, 1, 300, KAFKA_ONLY);
	put_many(f, 301, 310, KAFKA_ONLY); /* in the rings or in the spool */
	kafka_stop_publisher(f);
	kafka_up(f);
	kafka_start_publisher(f);
	put_many(f, 311, 320, KAFKA_ONLY);
	RUN_UNTIL(f, kafka_has_all(f, 1, 320) && get(&f->c->spool_rows) == 0);
	RUN_UNTIL(f, ring_is_empty(f));
	kafka_assert_order(f);
}

/* The control plane ends while alarms are in flight. */
static void a_restart_repeats_what_is_not_acknowledged(void **state)
{
	struct fixture *f = *state;

	kafka_start(f);
	put_many(f, 1, 50, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 50 && ring_is_empty(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 500);
	put_many(f, 51, 200, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->inflight) != 0);
	kafka_stop_publisher(f);
	assert_false(ring_is_empty(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 0);
	kafka_start_publisher(f);
	RUN_UNTIL(f, kafka_has_all(f, 1, 200) && ring_is_empty(f));
	kafka_assert_order(f);
}

static bool is_drained;

static void on_drained(void *arg)
{
	(void)arg;
	is_drained = true;
}

static void the_rest_is_spooled_at_the_end(void **state)
{
	struct fixture *f = *state;

	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 30000);
	put_many(f, 1, 100, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->inflight) == 100);
	is_drained = false;
	bp_publisher_drain(f->publisher, 1000000, on_drained, NULL);
	RUN_UNTIL(f, is_drained);
	assert_int_equal(get(&f->c->spool_rows), 100);
	assert_true(ring_is_empty(f));
}

/* An alarm that is not acknowledged in time is on disk, too, and is sent only once. */
static void slow_acknowledgements_spool_alarms_in_flight(void **state)
{
	struct fixture *f = *state;

	f->mqtt.kafka.ack_timeout_ns = 100000000ull;
	kafka_start(f);
	put_many(f, 1, 5, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 5 && ring_is_empty(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 2000);
	put_many(f, 6, 10, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 5 && ring_is_empty(f));
	assert_int_equal(get(&f->c->inflight), 5);
	RUN_UNTIL(f, get(&f->c->acked) == 10 && get(&f->c->spool_rows) == 0);
	RUN_UNTIL(f, kafka_has_all(f, 1, 10));
	assert_int_equal(f->n, 10);
	assert_int_equal(get(&f->c->disconnects), 0);
	kafka_assert_order(f);
}

static void an_alarm_without_times_is_not_overdue(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a = test_alarm_number(1, "alarm/x", 0);

	a->flags |= KAFKA_ONLY;
	f->mqtt.kafka.ack_timeout_ns = 60000000000ull;
	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 500);
	assert_true(test_ring_put_times(bp_shm_ring(&f->shm, 0), a, NULL));
	free(a);
	RUN_UNTIL(f, get(&f->c->acked) == 1 && ring_is_empty(f));
	assert_int_equal(get(&f->c->spooled), 0);
}

/* Each with a key of its own, so that none waits for another one. */
static void put_keys(struct fixture *f, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++)
		kafka_put(f, id % 2, id, (unsigned)id, KAFKA_ONLY);
}

/* Also an alarm for which the window has no space is on disk in time. */
static void unread_alarms_become_overdue(void **state)
{
	struct fixture *f = *state;

	f->mqtt.kafka.ack_timeout_ns = 500000000ull;
	f->mqtt.kafka.max_inflight = 5;
	kafka_start(f);
	put_keys(f, 1, 5);
	RUN_UNTIL(f, get(&f->c->acked) == 5 && get(&f->c->spool_rows) == 0 && ring_is_empty(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 300000);
	put_keys(f, 6, 12);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 7 && ring_is_empty(f));
	put_keys(f, 13, 20);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 15 && ring_is_empty(f));
	assert_int_equal(get(&f->c->inflight), 5);
	assert_int_equal(get(&f->c->disconnects), 0);
}

/* An alarm that the brokers refuse for ever is counted and leaves the others alone. */
static void refused_alarms_are_counted(void **state)
{
	struct fixture *f = *state;

	kafka_start(f);
	kafka_put(f, 0, 1, 1, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 1);
	rd_kafka_mock_push_request_errors(
		f->cluster, KAFKA_PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	kafka_put(f, 0, 2, 1, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->rejected) == 1);
	put_many(f, 3, 50, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 49 && kafka_has_all(f, 3, 50) && ring_is_empty(f));
	assert_int_equal(kafka_times(f, 2), 0);
	RUN_UNTIL(f, is_active(f, BP_FAULT_ALARMS_REJECTED));
	assert_int_equal(get(&f->c->disconnects), 0);
	kafka_assert_order(f);
}

static void an_alarm_over_the_size_limit_is_counted(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a;

	f->mqtt.kafka.max_message_size = 16384;
	kafka_start(f);
	a = test_alarm_number(1, "alarm/x", 20000);
	a->flags |= KAFKA_ONLY;
	assert_true(test_ring_put(bp_shm_ring(&f->shm, 0), a));
	free(a);
	kafka_put(f, 0, 2, 1, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 1 && ring_is_empty(f));
	assert_int_equal(get(&f->c->invalid), 1);
}

/* A right that an operator adds later: the alarms wait, and the producer is replaced. */
static void a_missing_right_loses_nothing(void **state)
{
	static const rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	struct fixture *f = *state;

	f->mqtt.kafka.ack_timeout_ns = 100000000ull;
	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	rd_kafka_mock_push_request_errors(f->cluster, KAFKA_PRODUCE, 3, error, error, error);
	put_many(f, 1, 100, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->disconnects) >= 1);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 0 && kafka_has_all(f, 1, 100) && ring_is_empty(f));
	kafka_assert_order(f);
	assert_int_equal(get(&f->c->rejected), 0);
}

/* Each producer is connected and then fails: the fault counts from the first alarm. */
static void a_missing_right_is_a_fault(void **state)
{
	static const rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	struct fixture *f = *state;

	f->mqtt.kafka.unreachable_after_ns = 3000000000ull;
	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	rd_kafka_mock_push_request_errors(f->cluster, KAFKA_PRODUCE, 4, error, error, error, error);
	kafka_put(f, 0, 1, 1, KAFKA_ONLY);
	RUN_UNTIL(f, is_active(f, BP_FAULT_KAFKA_UNREACHABLE));
	assert_int_equal(get(&f->c->acked), 0);
	RUN_UNTIL(f, get(&f->c->acked) == 1 && !is_active(f, BP_FAULT_KAFKA_UNREACHABLE));
}

/* A topic that an operator creates later. */
static void a_missing_topic_loses_nothing(void **state)
{
	struct fixture *f = *state;

	f->mqtt.kafka.ack_timeout_ns = 100000000ull;
	rd_kafka_mock_topic_set_error(
		f->cluster, KAFKA_TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	kafka_start(f);
	put_many(f, 1, 100, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 100 && get(&f->c->inflight) != 0);
	assert_int_equal(get(&f->c->acked), 0);
	rd_kafka_mock_topic_set_error(f->cluster, KAFKA_TOPIC, RD_KAFKA_RESP_ERR_NO_ERROR);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 0 && kafka_has_all(f, 1, 100));
	kafka_assert_order(f);
	assert_int_equal(get(&f->c->rejected), 0);
}

/* A reload with another broker list and topic. */
static void new_settings_replace_the_producer(void **state)
{
	struct fixture *f = *state;
	struct bp_config_mqtt other;
	char err[256];

	kafka_start(f);
	put_many(f, 1, 10, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 10);
	other = f->mqtt;
	snprintf(other.kafka.password_file, sizeof(other.kafka.password_file), "/missing");
	assert_int_equal(bp_publisher_check(&other, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "Kafka's password file /missing cannot be read"));
	assert_int_equal(bp_publisher_configure(f->publisher, &other, err, sizeof(err)), -1);
	snprintf(f->mqtt.kafka.client_id, sizeof(f->mqtt.kafka.client_id), "other");
	assert_int_equal(bp_publisher_configure(f->publisher, &f->mqtt, err, sizeof(err)), 0);
	put_many(f, 11, 20, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 20 && kafka_has_all(f, 1, 20));
	assert_int_equal(get(&f->c->connects), 2);
}

/* Each destination has its own spool, and the tail of a ring waits for both. */
static void a_dead_destination_does_not_stop_the_other(void **state)
{
	struct fixture *f = *state;
	const struct bp_publisher_counters *mqtt;
	struct test_broker broker;
	struct test_subscriber *subscriber;

	test_broker_make(&broker, f->dir, "");
	f->mqtt.publisher.enabled = true;
	f->mqtt.publisher.broker.tcp_port = broker.port;
	kafka_start(f);
	mqtt = &f->shm.control->publisher[BP_TO_MQTT];
	/* no MQTT broker */
	put_many(f, 1, 100, BP_ALARM_F_KAFKA);
	RUN_UNTIL(f, get(&f->c->acked) == 100 && get(&mqtt->spool_rows) == 100);
	RUN_UNTIL(f, ring_is_empty(f) && get(&f->c->spool_rows) == 0);
	assert_int_equal(get(&f->shm.control->cp_alarms_read), 100);
	kafka_stop_publisher(f);
	/* then no Kafka, after a restart */
	kafka_down(f);
	test_broker_start(&broker);
	subscriber = test_subscriber_start(&broker);
	kafka_start_publisher(f);
	put_many(f, 101, 200, BP_ALARM_F_KAFKA);
	RUN_UNTIL(f, test_subscriber_has_all(subscriber, 1, 200) && get(&mqtt->spool_rows) == 0);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 100 && ring_is_empty(f));
	kafka_up(f);
	RUN_UNTIL(f, kafka_has_all(f, 1, 200) && get(&f->c->spool_rows) == 0);
	kafka_assert_order(f);
	/* only to one of them */
	kafka_put(f, 0, 201, 1, 0);
	kafka_put(f, 0, 202, 1, KAFKA_ONLY);
	RUN_UNTIL(f, test_subscriber_times(subscriber, 201) == 1 && kafka_times(f, 202) == 1);
	RUN_UNTIL(f, ring_is_empty(f));
	assert_int_equal(kafka_times(f, 201), 0);
	assert_int_equal(test_subscriber_times(subscriber, 202), 0);
	kafka_stop_publisher(f);
	test_subscriber_stop(subscriber);
	test_broker_stop(&broker);
}

/*
 * One destination still has an old alarm of a key in the ring of a worker; a newer one, in the ring
 * of another worker, is only for the other destination, which has both. After a restart the other
 * one gets both again, and not only the old one.
 */
static void a_restart_repeats_no_old_alarm_last(void **state)
{
	struct fixture *f = *state;
	const struct bp_publisher_counters *mqtt;
	struct test_broker broker;

	test_broker_make(&broker, f->dir, "");
	test_broker_start(&broker);
	f->mqtt.publisher.enabled = true;
	f->mqtt.publisher.broker.tcp_port = broker.port;
	kafka_start(f);
	mqtt = &f->shm.control->publisher[BP_TO_MQTT];
	RUN_UNTIL(f, is_connected(f) && atomic_load(&mqtt->connected) != 0);
	kill(broker.pid, SIGSTOP);
	kafka_put(f, 0, 1, 1, BP_ALARM_F_KAFKA);
	RUN_UNTIL(f, get(&mqtt->inflight) == 1 && get(&f->c->acked) == 1);
	kafka_put(f, 1, 2, 1, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 2);
	kafka_stop_publisher(f);
	assert_false(ring_is_empty(f));
	kill(broker.pid, SIGCONT);
	kafka_start_publisher(f);
	RUN_UNTIL(f, kafka_times(f, 1) == 2 && ring_is_empty(f));
	kafka_assert_order(f);
	kafka_stop_publisher(f);
	test_broker_stop(&broker);
}

/* More than one batch of the spool; neither destination waits for the other. */
static void each_destination_spools_the_rest_at_the_end(void **state)
{
	struct fixture *f = *state;
	const struct bp_publisher_counters *mqtt;
	struct test_broker broker;

	test_broker_make(&broker, f->dir, "");
	test_broker_start(&broker);
	f->mqtt.publisher.enabled = true;
	f->mqtt.publisher.broker.tcp_port = broker.port;
	f->mqtt.publisher.max_inflight = 1000;
	kafka_start(f);
	mqtt = &f->shm.control->publisher[BP_TO_MQTT];
	RUN_UNTIL(f, is_connected(f) && atomic_load(&mqtt->connected) != 0);
	kill(broker.pid, SIGSTOP);
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 30000);
	put_many(f, 1, 900, BP_ALARM_F_KAFKA);
	RUN_UNTIL(f, get(&f->c->inflight) == 900 && get(&mqtt->inflight) == 900);
	is_drained = false;
	bp_publisher_drain(f->publisher, 1000000, on_drained, NULL);
	RUN_UNTIL(f, is_drained);
	assert_int_equal(get(&f->c->spool_rows), 900);
	assert_int_equal(get(&mqtt->spool_rows), 900);
	assert_true(ring_is_empty(f));
	kafka_stop_publisher(f);
	kill(broker.pid, SIGCONT);
	test_broker_stop(&broker);
}

/* A destination that can neither send nor spool must not fill the rings for the other one. */
static void a_dead_disk_does_not_stop_the_other_destination(void **state)
{
	struct fixture *f = *state;
	const struct bp_publisher_counters *mqtt;
	struct test_broker broker;
	struct test_subscriber *subscriber;
	char path[600];
	uint64_t dropped;

	test_broker_make(&broker, f->dir, "");
	test_broker_start(&broker);
	subscriber = test_subscriber_start(&broker);
	f->mqtt.publisher.enabled = true;
	f->mqtt.publisher.broker.tcp_port = broker.port;
	f->mqtt.alarm_queue_size = 64 << 10;
	snprintf(path, sizeof(path), "%s/spool", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s.kafka", f->mqtt.spool.path);
	assert_int_equal(mkdir(path, 0755), 0);
	kafka_down(f);
	kafka_start(f);
	mqtt = &f->shm.control->publisher[BP_TO_MQTT];
	put_many(f, 1, 1300, BP_ALARM_F_KAFKA);
	RUN_UNTIL(f, test_subscriber_has_all(subscriber, 1, 1300));
	dropped = get(&f->c->dropped_disk);
	assert_true(dropped > 0);
	assert_int_equal(get(&mqtt->dropped_disk), 0);
	RUN_UNTIL(f, is_active(f, BP_FAULT_ALARMS_DROPPED));
	assert_int_equal(rmdir(path), 0);
	kafka_up(f);
	RUN_UNTIL(f, get(&f->c->acked) == 1300 - dropped && ring_is_empty(f));
	RUN_UNTIL(f, kafka_has_all(f, dropped + 1, 1300));
	assert_int_equal(get(&f->c->dropped_disk), dropped);
	kafka_assert_order(f);
	kafka_stop_publisher(f);
	test_subscriber_stop(subscriber);
	test_broker_stop(&broker);
}

/* Rows that the spool's limit drops while they are in flight, or when they were delivered. */
static void each_alarm_is_delivered_or_dropped(void **state)
{
	struct fixture *f = *state;
	uint64_t lost = 0;

	f->mqtt.kafka.ack_timeout_ns = 100000000ull;
	f->mqtt.kafka.max_inflight = 5;
	f->mqtt.spool.max_bytes = 8192;
	kafka_start(f);
	RUN_UNTIL(f, is_connected(f));
	kafka_put(f, 0, 1, 1, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->acked) == 1 && ring_is_empty(f));
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 3000);
	put_many(f, 2, 6, KAFKA_ONLY);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 5 && ring_is_empty(f));
	put_many(f, 7, 300, KAFKA_ONLY);
	RUN_UNTIL(f, ring_is_empty(f) && get(&f->c->dropped_size) != 0);
	assert_int_equal(get(&f->c->inflight), 5);
	rd_kafka_mock_broker_set_rtt(f->cluster, -1, 0);
	RUN_UNTIL(f, get(&f->c->spool_rows) == 0 && get(&f->c->inflight) == 0 &&
			     get(&f->c->acked) + get(&f->c->dropped_size) >= 300);
	RUN_UNTIL(f, kafka_received(f) >= get(&f->c->acked));
	for (uint64_t id = 1; id <= 300; id++)
		lost += kafka_times(f, id) == 0;
	assert_int_equal(kafka_times(f, 2), 1); /* in flight when its row was dropped */
	assert_int_equal(get(&f->c->dropped_size), lost);
	assert_int_equal(get(&f->c->acked), 300 - lost);
	kafka_assert_order(f);
}

static void assert_property(const rd_kafka_conf_t *conf, const char *name, const char *expected)
{
	char value[512] = "";
	size_t size = sizeof(value);

	assert_int_equal(rd_kafka_conf_get(conf, name, value, &size), RD_KAFKA_CONF_OK);
	assert_string_equal(value, expected);
}

static rd_kafka_conf_t *conf_of(const struct bp_kafka_link_settings *s)
{
	char why[256] = "";
	rd_kafka_conf_t *conf = bp_kafka_conf(s, why, sizeof(why));

	if (conf == NULL)
		fail_msg("%s", why);
	/* of each producer: what alarms rely on */
	assert_property(conf, "enable.idempotence", "true");
	assert_property(conf, "acks", "-1");
	assert_property(conf, "message.timeout.ms", "0");
	assert_property(conf, "ssl.endpoint.identification.algorithm", "https");
	assert_property(conf, "enable.ssl.certificate.verification", "true");
	return conf;
}

static void tls_and_sasl_reach_the_library(void **state)
{
	static const char *const mechanisms[] = {"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"};
	struct bp_kafka_link_settings s = {.brokers = "a:1,b:2",
		.topic = "t",
		.client_id = "gw",
		.mechanism = mechanisms[0],
		.max_message_size = 20000};
	rd_kafka_conf_t *conf = conf_of(&s);

	(void)state;
	assert_property(conf, "bootstrap.servers", "a:1,b:2");
	assert_property(conf, "client.id", "gw");
	assert_property(conf, "message.max.bytes", "20000");
	assert_property(conf, "security.protocol", "plaintext");
	rd_kafka_conf_destroy(conf);
	s.tls = true;
	snprintf(s.ca_file, sizeof(s.ca_file), "/ca");
	snprintf(s.cert_file, sizeof(s.cert_file), "/cert");
	snprintf(s.key_file, sizeof(s.key_file), "/key");
	conf = conf_of(&s);
	assert_property(conf, "security.protocol", "ssl");
	assert_property(conf, "ssl.ca.location", "/ca");
	assert_property(conf, "ssl.certificate.location", "/cert");
	assert_property(conf, "ssl.key.location", "/key");
	rd_kafka_conf_destroy(conf);
	snprintf(s.username, sizeof(s.username), "u");
	snprintf(s.password, sizeof(s.password), "p w");
	for (unsigned i = 0; i < sizeof(mechanisms) / sizeof(mechanisms[0]); i++) {
		s.mechanism = mechanisms[i];
		s.tls = i % 2 == 0;
		conf = conf_of(&s);
		assert_property(conf, "security.protocol", s.tls ? "sasl_ssl" : "sasl_plaintext");
		assert_property(conf, "sasl.mechanism", mechanisms[i]);
		assert_property(conf, "sasl.username", "u");
		assert_property(conf, "sasl.password", "p w");
		rd_kafka_conf_destroy(conf);
	}
}

static unsigned threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void without_its_section_no_thread_starts(void **state)
{
	struct fixture *f = *state;
	unsigned before = threads();

	f->mqtt.kafka.enabled = false;
	kafka_start(f);
	put_many(f, 1, 10, KAFKA_ONLY); /* of an earlier configuration */
	RUN_UNTIL(f, ring_is_empty(f));
	assert_int_equal(threads(), before);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].invalid), 10);
	assert_int_equal(get(&f->c->max_inflight), 0);
}

int main(void)
{
#define WITH_KAFKA(name_) cmocka_unit_test_setup_teardown(name_, kafka_setup, kafka_teardown)
	const struct CMUnitTest tests[] = {
		WITH_KAFKA(a_message_has_key_value_and_headers),
		WITH_KAFKA(order_survives_retriable_errors),
		WITH_KAFKA(alarms_wait_in_the_spool),
		WITH_KAFKA(a_restart_loses_nothing),
		WITH_KAFKA(a_restart_repeats_what_is_not_acknowledged),
		WITH_KAFKA(the_rest_is_spooled_at_the_end),
		WITH_KAFKA(slow_acknowledgements_spool_alarms_in_flight),
		WITH_KAFKA(an_alarm_without_times_is_not_overdue),
		WITH_KAFKA(unread_alarms_become_overdue),
		WITH_KAFKA(refused_alarms_are_counted),
		WITH_KAFKA(an_alarm_over_the_size_limit_is_counted),
		WITH_KAFKA(a_missing_right_loses_nothing),
		WITH_KAFKA(a_missing_right_is_a_fault),
		WITH_KAFKA(a_missing_topic_loses_nothing),
		WITH_KAFKA(new_settings_replace_the_producer),
		WITH_KAFKA(a_dead_destination_does_not_stop_the_other),
		WITH_KAFKA(a_restart_repeats_no_old_alarm_last),
		WITH_KAFKA(each_destination_spools_the_rest_at_the_end),
		WITH_KAFKA(a_dead_disk_does_not_stop_the_other_destination),
		WITH_KAFKA(each_alarm_is_delivered_or_dropped),
		cmocka_unit_test(tls_and_sasl_reach_the_library),
		WITH_KAFKA(without_its_section_no_thread_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
