/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring to broker to subscriber, with a real mosquitto that comes and goes. */
#include "publisher_rig.h"

#include <event2/event.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/alarms/alarm_log.h"

/* Of another topic: it need not wait for those of rig_put(). */
static void put_live(struct fixture *f, unsigned worker, uint64_t id)
{
	char payload[32];
	struct bp_alarm *a;

	snprintf(payload, sizeof(payload), "%llu", (unsigned long long)id);
	a = test_alarm_make(&(struct test_alarm){.id = id,
		.time_ns = 1763694245123456789ull,
		.value = 1,
		.state = BP_ALARM_RAISED,
		.rule = "r",
		.topic = "live",
		.to = "alarm/x",
		.payload = payload});
	RUN_UNTIL(f, test_ring_put(bp_shm_ring(&f->shm, worker), a));
	free(a);
}

static void exactly_these_arrive(void **state)
{
	struct fixture *f = *state;

	rig_start(f);
	for (uint64_t id = 1; id <= 3000; id++)
		rig_put(f, id % 2, id);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 3000));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 3000);
	assert_int_equal(test_subscriber_count(f->subscriber), 3000);
	assert_int_equal(get(&f->shm.control->cp_alarms_read), 3000);
	assert_false(test_subscriber_retained(f->subscriber));
	/* The rings are empty, and so is the disk: it is used if the broker takes its time. */
	RUN_UNTIL(f, bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
			     get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 0);
	/* The last ones are in the log, in order. */
	struct bp_alarm_log *log = calloc(BP_ALARM_LOG_LEN, sizeof(*log));

	assert_int_equal(bp_alarm_log_read(f->shm.alarm_log, log, 5), 5);
	assert_int_equal(atomic_load(&log[4].seq) / 2, 3000);
	assert_string_equal(log[4].to, "alarm/x");
	free(log);
}

static void payload_modes_and_topics(void **state)
{
	struct fixture *f = *state;
	char topic[64], payload[512];
	struct test_alarm t = {.id = 7,
		.time_ns = 1763694245123456789ull,
		.value = 81.5,
		.state = BP_ALARM_RAISED,
		.flags = BP_ALARM_F_ENVELOPE | BP_ALARM_F_RETAIN,
		.rule = "overheat",
		.client_id = "dev\"1",
		.topic = "plant/1/temperature",
		.to = "alarm/plant/1/temperature",
		.payload = "ignored"};
	struct bp_alarm *a;
	struct bp_ring *ring;

	rig_start(f);
	ring = bp_shm_ring(&f->shm, 0);
	a = test_alarm_make(&t);
	assert_true(test_ring_put(ring, a));
	free(a);
	/* No such topic can be published: counted, passed over. */
	static const char *const bad[] = {"a/+/b", "#", "", "x\xff"};

	for (unsigned i = 0; i < 4; i++) {
		t.to = bad[i];
		t.id = 100 + i;
		a = test_alarm_make(&t);
		assert_true(test_ring_put(ring, a));
		free(a);
	}
	/* An id that the spool could not order. */
	t.to = "alarm/huge";
	t.id = UINT64_MAX;
	a = test_alarm_make(&t);
	assert_true(test_ring_put(ring, a));
	free(a);
	/* An alarm that the data plane sent itself. */
	t.id = 8;
	t.flags = BP_ALARM_F_MIRROR;
	a = test_alarm_make(&t);
	assert_true(test_ring_put(ring, a));
	free(a);
	rig_put(f, 0, 9);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 2);
	RUN_UNTIL(f, test_subscriber_count(f->subscriber) == 2);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].invalid), 5);
	assert_int_equal(get(&f->shm.control->cp_alarms_read), 8);
	assert_false(test_subscriber_retained(f->subscriber));
	RUN_UNTIL(f, bp_ring_used(ring) == 0);
	test_subscriber_text(f->subscriber, 7, topic, payload, sizeof(topic));
	assert_string_equal(topic, "alarm/plant/1/temperature");
	test_subscriber_text(f->subscriber, 7, topic, payload, 64);
	assert_int_equal(strncmp(payload, "{\"id\":7,\"uid\":\"", 15), 0);
	test_subscriber_text(f->subscriber, 9, topic, payload, 64);
	assert_string_equal(payload, "9");
}

/* A record with wrong lengths must not block the records after it. */
static void damaged_records_are_passed_over(void **state)
{
	struct fixture *f = *state;
	struct bp_ring *ring;
	uint64_t mark;

	rig_start(f);
	ring = bp_shm_ring(&f->shm, 1);
	for (unsigned kind = 0; kind < 3; kind++) {
		struct bp_alarm *a = bp_ring_reserve(ring, 128, &mark);

		memset(a, 0, 128);
		a->state = kind == 0 ? 99 : BP_ALARM_RAISED;
		a->payload_len = kind == 1 ? UINT32_MAX : 0;
		a->to_len = kind == 2 ? UINT16_MAX : 0;
		bp_ring_commit(ring, mark);
	}
	rig_put(f, 1, 5);
	RUN_UNTIL(f, test_subscriber_times(f->subscriber, 5) == 1);
	RUN_UNTIL(f, bp_ring_used(ring) == 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].invalid), 3);
}

static void broker_away_then_back(void **state)
{
	struct fixture *f = *state;
	const unsigned backlog = 4000;
	unsigned last_backlog, live = 0;
	uint64_t previous = 1;

	f->mqtt.publisher.max_inflight = 8; /* two of them for the backlog: it takes a while */
	rig_start(f);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 2; id <= backlog; id++)
		rig_put(f, id % 2, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spooled) >= backlog - 1 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows), backlog - 1);
	assert_true(get(&f->shm.control->publisher[BP_TO_MQTT].spool_bytes) >
		    backlog * sizeof(struct bp_alarm));
	test_broker_start(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].unspooled) > 0);
	/* The backlog is on its way: live alarms go next to it. */
	for (uint64_t id = backlog + 1; id <= backlog + 50; id++)
		put_live(f, 0, id);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, backlog + 50));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
			     get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 0);
	last_backlog = (unsigned)test_subscriber_place(f->subscriber, backlog);
	for (uint64_t id = backlog + 1; id <= backlog + 50; id++)
		live += (unsigned)test_subscriber_place(f->subscriber, id) < last_backlog;
	assert_int_equal(live, 50);
	/* The backlog came in the order of its ids, each once. */
	for (unsigned i = 0; i < test_subscriber_count(f->subscriber); i++) {
		uint64_t id = test_subscriber_id(f->subscriber, i);

		/* The first went through the broker before it stopped, which may have saved it
		 * before it had seen the subscriber's acknowledgement. */
		if (id > backlog || id == 1)
			continue;
		assert_true(id == previous + 1);
		previous = id;
	}
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].unspooled), backlog - 1);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].acked), backlog + 50);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].connects), 2);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].disconnects), 1);
}

/* The broker comes and goes while alarms flow: each one arrives. */
static void broker_restarts_under_load(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0;

	rig_start(f);
	for (unsigned round = 0; round < 4; round++) {
		uint64_t acked = get(&f->shm.control->publisher[BP_TO_MQTT].acked);

		for (unsigned i = 0; i < 3000; i++)
			rig_put(f, i % 2, ++id);
		RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) > acked + 500);
		test_broker_stop(&f->broker); /* with alarms in flight */
		for (unsigned i = 0; i < 500; i++)
			rig_put(f, i % 2, ++id);
		test_broker_start(&f->broker);
	}
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, id));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0);
	assert_int_equal(get(&f->shm.control->cp_alarms_read), id);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spooled),
		get(&f->shm.control->publisher[BP_TO_MQTT].unspooled));
}

/* A broker that stops answering, not closing: SIGSTOP. */
static void silent_broker(void **state)
{
	struct fixture *f = *state;

	f->mqtt.publisher.puback_timeout_ns = 200000000;
	rig_start(f);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	kill(f->broker.pid, SIGSTOP);
	for (uint64_t id = 2; id <= 500; id++)
		rig_put(f, 0, id);
	/* All are safe on disk and the ring is free, though none was acknowledged. */
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 499 &&
			     bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].inflight), 0);
	kill(f->broker.pid, SIGCONT);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 500));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0);
}

/* More than the broker takes: the excess goes to the spool, nothing is lost in a small ring. */
static void overflow_goes_to_the_spool(void **state)
{
	struct fixture *f = *state;
	struct bp_ring *ring;

	f->mqtt.alarm_queue_size = 64 << 10;
	f->mqtt.publisher.max_inflight = 4;
	rig_start(f);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	ring = bp_shm_ring(&f->shm, 0);
	kill(f->broker.pid, SIGSTOP); /* ack_timeout is 30 s: only the overflow can help */
	for (uint64_t id = 2; id <= 5000; id++)
		rig_put(f, 0, id);
	assert_true(get(&f->shm.control->publisher[BP_TO_MQTT].spooled) > 3000);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].disconnects), 0);
	assert_true(bp_ring_used(ring) <= ring->capacity);
	kill(f->broker.pid, SIGCONT);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 5000));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
			     bp_ring_used(ring) == 0);
	assert_int_equal(test_subscriber_count(f->subscriber), 5000);
}

static void finished(void *arg)
{
	*(bool *)arg = true;
}

static void drain_saves_remaining_alarms(void **state)
{
	struct fixture *f = *state;
	bool done = false;

	rig_start(f);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	kill(f->broker.pid, SIGSTOP);
	for (uint64_t id = 2; id <= 400; id++)
		rig_put(f, id % 2, id);
	bp_publisher_drain(f->publisher, 50000000, finished, &done);
	RUN_UNTIL(f, done);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->shm, 0)), 0);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->shm, 1)), 0);
	rig_stop_publisher(f);
	kill(f->broker.pid, SIGCONT);
	/* The next one finds them, and new alarms get higher ids. */
	rig_start_publisher(f);
	assert_true(get(&f->shm.shared->next_alarm_id) >= 401);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 400));
}

/* The disk fails while the broker is away: alarms stay in the ring, and go out after all. */
static void unwritable_spool(void **state)
{
	struct fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/spool", f->dir);
	test_write_file(path, "a file where a directory must be");
	rig_start(f);
	assert_true(get(&f->shm.control->publisher[BP_TO_MQTT].spool_errors) > 0);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	test_broker_stop(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].disconnects) == 1);
	uint64_t errors = get(&f->shm.control->publisher[BP_TO_MQTT].spool_errors);

	for (uint64_t id = 2; id <= 300; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_errors) > errors);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spooled), 0);
	assert_true(bp_ring_used(bp_shm_ring(&f->shm, 0)) > 0);
	/* The disk is back before the broker. */
	unlink(path);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 299);
	test_broker_start(&f->broker);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 300));
	for (uint64_t id = 2; id <= 300; id++)
		assert_int_equal(test_subscriber_times(f->subscriber, id), 1);
}

/* A spool that cannot be opened at the start is checked again, though no new alarm needs it. */
static void spool_recovers(void **state)
{
	struct fixture *f = *state;
	char path[128], no_reply[128];

	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 1; id <= 100; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 100);
	rig_stop_publisher(f);
	f->publisher = NULL;
	snprintf(path, sizeof(path), "%s/spool", f->dir);
	snprintf(no_reply, sizeof(no_reply), "%s/away", f->dir);
	assert_int_equal(rename(path, no_reply), 0);
	test_write_file(path, "a file where a directory must be");
	test_broker_start(&f->broker);
	rig_start_publisher(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 2);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows), 0);
	unlink(path);
	assert_int_equal(rename(no_reply, path), 0);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 100));
}

/* Turns of the loop in which nothing may change; each waits for the publisher's own clock. */
static void turns(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		event_base_loop(f->base, EVLOOP_ONCE);
}

/* A quarter of the window is the backlog's, the rest stays free for live alarms. */
static void backlog_is_sent_at_its_share(void **state)
{
	struct fixture *f = *state;

	f->mqtt.publisher.max_inflight = 8;
	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 1; id <= 2000; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 2000);
	test_broker_start(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) > 10);
	kill(f->broker.pid, SIGSTOP);
	/* The acknowledgements sent before arrive; then only the others are in flight. */
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 2);
	turns(f, 50);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].inflight), 2);
	for (uint64_t id = 2001; id <= 2020; id++)
		put_live(f, 1, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 8);
	turns(f, 50);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].inflight), 8);
	kill(f->broker.pid, SIGCONT);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 2020));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0);
}

/* The link is lost with rows of the spool in flight: they go out again. */
static void link_lost_with_backlog_in_flight(void **state)
{
	struct fixture *f = *state;
	uint64_t last;

	f->mqtt.publisher.puback_timeout_ns = 200000000;
	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 1; id <= 3000; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 3000);
	test_broker_start(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) > 0);
	kill(f->broker.pid, SIGSTOP);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].disconnects) == 2);
	/* Only what was acknowledged may leave the disk. */
	last = get(&f->shm.control->publisher[BP_TO_MQTT].acked);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].unspooled) == last);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows), 3000 - last);
	assert_true(last < 3000);
	kill(f->broker.pid, SIGCONT);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, 3000));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0);
}

/* Two alarms with one id, as after a lost segment: both arrive, one under a new id. */
static void same_id_twice(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a, *b;

	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	test_broker_stop(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].disconnects) == 1);
	a = test_alarm_number(50, "alarm/a", 0);
	b = test_alarm_number(50, "alarm/b", 0);
	assert_true(test_ring_put(bp_shm_ring(&f->shm, 0), a));
	assert_true(test_ring_put(bp_shm_ring(&f->shm, 0), b));
	assert_true(test_ring_put(bp_shm_ring(&f->shm, 0), a)); /* the same once more */
	free(a);
	free(b);
	RUN_UNTIL(f, bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows), 2);
	test_broker_start(&f->broker);
	RUN_UNTIL(f, test_subscriber_times(f->subscriber, 50) == 2);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0);
}

static void spool_bounds_are_counted(void **state)
{
	struct fixture *f = *state;
	uint64_t dropped;

	f->mqtt.spool.max_bytes = 64 << 10;
	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 1; id <= 3000; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0);
	dropped = get(&f->shm.control->publisher[BP_TO_MQTT].dropped_size);
	assert_true(dropped > 0);
	assert_true(get(&f->shm.control->publisher[BP_TO_MQTT].spool_bytes) <= 64 << 10);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) + dropped, 3000);
	test_broker_start(&f->broker);
	/* The newest are those that are left. */
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, dropped + 1, 3000));
	assert_int_equal(test_subscriber_times(f->subscriber, dropped), 0);
}

static void settings_change_while_running(void **state)
{
	struct fixture *f = *state;
	struct bp_config_mqtt changed = f->mqtt;
	char err[256], path[128];

	rig_start(f);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 1);
	/* The same: no reconnect. */
	changed.publisher.max_inflight = 50;
	assert_int_equal(bp_publisher_configure(f->publisher, &changed, err, sizeof(err)), 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].disconnects), 0);
	/* A password file that is not there: refused, and the link stays. */
	snprintf(changed.publisher.username, sizeof(changed.publisher.username), "gateway");
	snprintf(path, sizeof(path), "%s/password", f->dir);
	snprintf(changed.publisher.password_file, sizeof(changed.publisher.password_file), "%s",
		path);
	assert_int_equal(bp_publisher_configure(f->publisher, &changed, err, sizeof(err)), -1);
	assert_non_null(strstr(err, path));
	assert_int_equal(atomic_load(&f->shm.control->publisher[BP_TO_MQTT].connected), 1);
	test_write_file(path, "secret\nsecond line\n");
	assert_int_equal(bp_publisher_configure(f->publisher, &changed, err, sizeof(err)), 0);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].disconnects), 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].connects) == 2);
	/* So is a TLS file that is not there, by its name. */
	snprintf(changed.publisher.ca_file, sizeof(changed.publisher.ca_file), "%s/ca.pem", f->dir);
	assert_int_equal(bp_publisher_configure(f->publisher, &changed, err, sizeof(err)), -1);
	assert_non_null(strstr(err, changed.publisher.ca_file));
	assert_non_null(strstr(err, "mqtt.publisher.tls.ca"));
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
}

/* A broker that asks for a password gets the file's first line. */
static void password_is_used(void **state)
{
	struct fixture *f = *state;
	struct test_broker guarded;
	char dir[160], passwords[256], command[512], config[512];

	snprintf(dir, sizeof(dir), "%s/guarded", f->dir);
	snprintf(passwords, sizeof(passwords), "%s/passwords", f->dir);
	snprintf(command, sizeof(command), "mkdir %s && mosquitto_passwd -c -b %s gateway secret",
		dir, passwords);
	assert_int_equal(system(command), 0);
	snprintf(config, sizeof(config), "allow_anonymous false\npassword_file %s\n", passwords);
	test_broker_make(&guarded, dir, config);
	test_broker_start(&guarded);
	f->mqtt.publisher.broker.tcp_port = guarded.port;
	snprintf(f->mqtt.publisher.username, sizeof(f->mqtt.publisher.username), "gateway");
	snprintf(f->mqtt.publisher.password_file, sizeof(f->mqtt.publisher.password_file),
		"%s/password", f->dir);
	test_write_file(f->mqtt.publisher.password_file, "wrong\n");
	rig_start(f);
	rig_put(f, 0, 1);
	/* Refused for now: the alarm is kept. */
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 1);
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].connects), 0);
	test_write_file(f->mqtt.publisher.password_file, "secret\r\nsecond line\n");
	char err[256];

	assert_int_equal(bp_publisher_configure(f->publisher, &f->mqtt, err, sizeof(err)), 0);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	test_broker_stop(&guarded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exactly_these_arrive, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(payload_modes_and_topics, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			damaged_records_are_passed_over, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(broker_away_then_back, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			broker_restarts_under_load, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(silent_broker, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			overflow_goes_to_the_spool, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			drain_saves_remaining_alarms, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(unwritable_spool, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(spool_recovers, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			backlog_is_sent_at_its_share, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			link_lost_with_backlog_in_flight, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(same_id_twice, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(spool_bounds_are_counted, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			settings_change_while_running, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(password_is_used, rig_setup, rig_teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("publisher", tests, NULL, NULL);
}
