/* SPDX-License-Identifier: BSD-3-Clause */
/* Gateways of a fleet with a real Redis and a real mosquitto: one dies, another one publishes its
 * unacknowledged alarms. */
#include "tests/unit/controlplane/fleet/redis_rig.h"
#include "tests/unit/times.h"

#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/mqtt/settings.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/alarms/publisher.h"
#include "controlplane/fleet/alarm_store.h"
#include "controlplane/fleet/state.h"
#include "controlplane/mqtt/adopted_alarm.h"
#include "controlplane/mqtt/alarm_copies.h"
#include "controlplane/mqtt/copy_table.h"
#include "controlplane/process/ring_events.h"
#include "services/mqtt/connection_record.h"

#define GATEWAYS 3u

struct gateway {
	char dir[128];
	struct bp_config config;
	struct bp_config_mqtt mqtt;
	struct bp_shm shm;
	struct event_base *base;
	struct bp_ring_events *rings;
	struct bp_fleet_state *fleet;
	struct bp_alarm_copies *copies;
	struct bp_publisher *publisher;
	bool paused;
};

struct fixture {
	char dir[64];
	struct test_broker broker;
	struct test_subscriber *subscriber;
	struct test_redis redis;
	struct bp_config *fleet; /* its section fleet */
	struct gateway gateway[GATEWAYS];
	uint8_t flags; /* of the alarms */
};

static void make(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];

	snprintf(g->dir, sizeof(g->dir), "%s/%u", f->dir, i);
	assert_int_equal(mkdir(g->dir, 0755), 0);
	test_config(&g->config, &g->mqtt, g->dir, f->broker.port, 2, 1 << 20);
	snprintf(g->config.name, sizeof(g->config.name), "gw%u", i);
	snprintf(g->mqtt.publisher.client_id, sizeof(g->mqtt.publisher.client_id), "gw%u", i);
	g->config.fleet = f->fleet->fleet;
	test_shm_make(&g->shm, &g->config);
}

/* As the service does. */
static void start(struct gateway *g)
{
	char err[512];

	g->base = event_base_new();
	g->rings = bp_ring_events_new(g->base, &g->shm.control->cp_sleeps, NULL, NULL);
	g->fleet = bp_fleet_state_new(g->base, &g->config.fleet, err, sizeof(err));
	assert_non_null(g->fleet);
	g->copies = bp_alarm_copies_new(
		g->base, &g->shm, g->rings, g->fleet, &g->config, err, sizeof(err));
	assert_non_null(g->copies);
	g->publisher = bp_publisher_new(g->base, &g->shm, g->rings, &g->mqtt, err, sizeof(err));
	assert_non_null(g->publisher);
	bp_alarm_copies_start(g->copies, g->publisher);
}

/* The process ends at once: nothing is drained. */
static void kill_process(struct gateway *g)
{
	bp_ring_events_free(g->rings);
	bp_fleet_state_free(g->fleet);
	bp_alarm_copies_free(g->copies);
	bp_publisher_free(g->publisher);
	event_base_free(g->base);
	g->base = NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char text[512];

	test_dir_make(f->dir, sizeof(f->dir));
	test_broker_make(&f->broker, f->dir, "");
	test_broker_start(&f->broker);
	f->subscriber = test_subscriber_start(&f->broker);
	test_redis_make(&f->redis, f->dir, "redis", test_redis_user());
	test_redis_start(&f->redis);
	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\nfleet: {name: "
		"plant, "
		"state: {server: \"redis://127.0.0.1:%u\", timeout: 1s%s}}\n",
		f->redis.port, test_redis_login(f->dir));
	f->fleet = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(f->fleet);
	for (unsigned i = 0; i < GATEWAYS; i++)
		make(f, i);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < GATEWAYS; i++) {
		if (f->gateway[i].base != NULL)
			kill_process(&f->gateway[i]);
		test_shm_free(&f->gateway[i].shm);
	}
	bp_config_free(f->fleet);
	test_redis_assert_access(&f->redis);
	test_redis_kill(&f->redis);
	test_subscriber_stop(f->subscriber);
	test_broker_stop(&f->broker);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static void run_once(struct fixture *f)
{
	for (unsigned i = 0; i < GATEWAYS; i++)
		if (f->gateway[i].base != NULL && !f->gateway[i].paused)
			event_base_loop(f->gateway[i].base, EVLOOP_NONBLOCK);
	test_nap();
}

#define RUN(f, condition)                                                                          \
	do {                                                                                       \
		uint64_t end_ = test_now_ns() + TEST_DEADLINE_NS;                                  \
		while (!(condition)) {                                                             \
			if (test_now_ns() > end_)                                                  \
				fail_msg("never came true: %s", #condition);                       \
			run_once(f);                                                               \
		}                                                                                  \
	} while (0)

static uint64_t counter(const struct gateway *g, const char *name)
{
	json_t *answer = json_object();
	uint64_t n;

	bp_alarm_copies_status(g->copies, answer);
	n = (uint64_t)json_integer_value(
		json_object_get(json_object_get(answer, "fleet_alarms"), name));
	json_decref(answer);
	return n;
}

static bool is_leased(const struct gateway *g)
{
	json_t *answer = json_object();
	bool leased;

	bp_alarm_copies_status(g->copies, answer);
	leased = json_is_true(json_object_get(json_object_get(answer, "fleet_alarms"), "leased"));
	json_decref(answer);
	return leased;
}

static uint64_t get_spooled(const struct gateway *g)
{
	return atomic_load(&g->shm.control->publisher[BP_TO_MQTT].spooled);
}

static unsigned copies(const struct fixture *f, unsigned gateway)
{
	char words[96];

	snprintf(words, sizeof(words), "hlen biplane:plant:alarms:copies:gw%u", gateway);
	return (unsigned)strtoul(test_redis_cli(&f->redis, words), NULL, 10);
}

static void put_sized(struct fixture *f, unsigned gateway, uint64_t from, uint64_t to, size_t size)
{
	struct gateway *g = &f->gateway[gateway];

	for (uint64_t id = from; id <= to; id++) {
		struct bp_alarm *a = test_alarm_number(id, "alarm/x", size);

		a->flags |= f->flags;
		RUN(f, test_ring_put(bp_shm_ring(&g->shm, id % 2), a));
		free(a);
		atomic_store(&g->shm.shared->next_alarm_id, id + 1);
	}
}

/* Without running the gateway. */
static void put_waiting(struct gateway *g, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++) {
		struct bp_alarm *a = test_alarm_number(id, "alarm/x", 0);

		assert_true(test_ring_put(bp_shm_ring(&g->shm, id % 2), a));
		free(a);
		atomic_store(&g->shm.shared->next_alarm_id, id + 1);
	}
}

static void put(struct fixture *f, unsigned gateway, uint64_t from, uint64_t to)
{
	put_sized(f, gateway, from, to, 0);
}

static void assert_each_once(struct fixture *f, uint64_t from, uint64_t to)
{
	for (uint64_t id = from; id <= to; id++)
		assert_int_equal(test_subscriber_times(f->subscriber, id), 1);
}

static void acknowledged_alarms_leave_no_copy(void **state)
{
	struct fixture *f = *state;

	start(&f->gateway[0]);
	put(f, 0, 1, 300);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 300) &&
			counter(&f->gateway[0], "unacknowledged") == 0);
	/* those that waited for more than 10 ms */
	assert_int_equal(counter(&f->gateway[0], "stored"), counter(&f->gateway[0], "removed"));
	assert_int_equal(copies(f, 0), 0);
	assert_each_once(f, 1, 300);
}

/* More alarms than are read in one iteration of the event loop. */
static void alarms_of_a_full_ring(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	start(g);
	test_broker_stop(&f->broker);
	put_waiting(g, 1, 3000);
	RUN(f, counter(g, "unacknowledged") == 3000);
	RUN(f, counter(g, "stored") == 3000);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 3000) &&
			counter(g, "unacknowledged") == 0);
	assert_each_once(f, 1, 3000);
}

/* A scan of the connections asks for each of them: all calls together read no more alarms than the
 * event loop does at one time. */
static void alarms_that_a_scan_reads(void **state)
{
	static const struct bp_connection_key key = {.client_port = 1};
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	start(g);
	RUN(f, is_leased(g));
	put_waiting(g, 1, 300);
	assert_true(bp_alarm_copies_states_stored(g->copies, &key));
	assert_int_equal(counter(g, "unacknowledged"), 300);
	put_waiting(g, 301, 2000);
	for (unsigned i = 0; i < 64; i++)
		assert_false(bp_alarm_copies_states_stored(g->copies, &key));
	assert_int_equal(counter(g, "unacknowledged"), 512);
	/* the event loop reads the rest, and then it is known for the next scan */
	RUN(f, bp_alarm_copies_states_stored(g->copies, &key));
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 2000) &&
			counter(g, "unacknowledged") == 0);
	assert_each_once(f, 1, 2000);
}

/* As a control plane has it that has loaded this rule. */
static void use_rule(struct gateway *g)
{
	struct bp_rule_spec rule = {.name = "r", .filter = "t", .to = "alarm/x"};
	char err[256];

	rule.value.kind = BP_VALUE_TEXT;
	rule.raise.op = BP_COND_GT;
	rule.raise.a = 80;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	assert_int_equal(
		bp_ruleset_build((void *)bp_shm_rules(&g->shm, 1 << 1), g->shm.rules.bank_size,
			&rule, 1, g->shm.max_rules, NULL, NULL, 1, 1, err, sizeof(err)),
		0);
	atomic_store(&g->shm.control->rules_active, 1 << 1);
}

static void set_true(void *arg)
{
	*(bool *)arg = true;
}

static unsigned raised_states(const struct fixture *f)
{
	return (unsigned)strtoul(
		test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), NULL, 10);
}

/* The gateway is stopped with an alarm in its ring: the gateway that continues has its state, and
 * does not raise it again with another number. */
static void stopped_gateway_leaves_its_states(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	struct bp_alarm *a = test_alarm_number(1, "alarm/x", 0);
	bool drained = false;

	start(g);
	use_rule(g);
	RUN(f, is_leased(g));
	test_broker_stop(&f->broker);
	bp_alarm_set_transition(a, 1000);
	assert_true(test_ring_put(bp_shm_ring(&g->shm, 1), a));
	free(a);
	bp_publisher_drain(g->publisher, 1000000000, set_true, &drained);
	RUN(f, drained);
	drained = false;
	bp_alarm_copies_drain(g->copies, TEST_DEADLINE_NS, set_true, &drained);
	RUN(f, drained);
	kill_process(g);
	assert_int_equal(raised_states(f), 1);
	assert_int_equal(copies(f, 0), 1);
}

/* Nothing is awaited of a Redis that is away. */
static void stopped_gateway_without_redis(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	bool drained = false;

	start(g);
	test_broker_stop(&f->broker);
	RUN(f, is_leased(g));
	test_redis_kill(&f->redis);
	put_waiting(g, 1, 5);
	bp_alarm_copies_drain(g->copies, TEST_DEADLINE_NS * 2, set_true, &drained);
	RUN(f, drained);
	test_redis_start(&f->redis);
}

/* The first one dies with alarms in its ring and in its spool. */
static void store_and_die(struct fixture *f, uint64_t n)
{
	test_broker_stop(&f->broker);
	put(f, 0, 1, n);
	RUN(f, counter(&f->gateway[0], "stored") == n);
	assert_int_equal(copies(f, 0), n);
	kill_process(&f->gateway[0]);
}

static void survivor_publishes_and_the_dead_does_not(void **state)
{
	struct fixture *f = *state;

	start(&f->gateway[0]);
	start(&f->gateway[1]);
	store_and_die(f, 100);
	RUN(f, counter(&f->gateway[1], "adopted") == 100);
	assert_int_equal(counter(&f->gateway[1], "claimed"), 100);
	assert_int_equal(copies(f, 0), 0);
	assert_int_equal(copies(f, 1), 100);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 100) && copies(f, 1) == 0);
	/* in the order of the dead one */
	for (uint64_t id = 2; id <= 100; id++)
		assert_true(test_subscriber_place(f->subscriber, id) >
			    test_subscriber_place(f->subscriber, id - 1));
	/* the dead one returns, with its ring and its spool */
	start(&f->gateway[0]);
	put(f, 0, 101, 110);
	RUN(f, test_subscriber_has_all(f->subscriber, 101, 110) &&
			counter(&f->gateway[0], "unacknowledged") == 0);
	assert_int_equal(counter(&f->gateway[0], "taken"), 100);
	assert_each_once(f, 1, 110);
}

static void survivor_of_the_survivor(void **state)
{
	struct fixture *f = *state;

	start(&f->gateway[0]);
	start(&f->gateway[1]);
	store_and_die(f, 40);
	RUN(f, counter(&f->gateway[1], "adopted") == 40);
	kill_process(&f->gateway[1]);
	start(&f->gateway[2]);
	RUN(f, counter(&f->gateway[2], "adopted") == 40);
	/* both return before the broker does */
	start(&f->gateway[0]);
	start(&f->gateway[1]);
	RUN(f, counter(&f->gateway[0], "taken") == 40 && counter(&f->gateway[1], "taken") == 40);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 40) && copies(f, 2) == 0);
	RUN(f, counter(&f->gateway[0], "unacknowledged") == 0 &&
			counter(&f->gateway[1], "unacknowledged") == 0);
	assert_each_once(f, 1, 40);
}

/* Two gateways restart in turn while the broker is away: each claims the alarms of the other. */
static void claimed_back_from_the_survivor(void **state)
{
	struct fixture *f = *state;

	start(&f->gateway[0]);
	start(&f->gateway[1]);
	store_and_die(f, 40);
	RUN(f, counter(&f->gateway[1], "adopted") == 40);
	start(&f->gateway[0]);
	RUN(f, counter(&f->gateway[0], "taken") == 40);
	kill_process(&f->gateway[1]);
	RUN(f, copies(f, 0) == 40);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 40) &&
			counter(&f->gateway[0], "unacknowledged") == 0);
	start(&f->gateway[1]);
	RUN(f, counter(&f->gateway[1], "taken") == 40 &&
			counter(&f->gateway[1], "unacknowledged") == 0);
	assert_int_equal(copies(f, 0), 0);
	assert_each_once(f, 1, 40);
}

static void lose_spool(const struct gateway *g)
{
	char path[600];

	snprintf(path, sizeof(path), "%s", g->mqtt.spool.path);
	(void)remove(path);
	strcat(path, "-wal");
	(void)remove(path);
}

static void alarms_of_a_lost_disk(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	start(g);
	store_and_die(f, 30);
	test_shm_free(&g->shm);
	lose_spool(g);
	test_shm_make(&g->shm, &g->config);
	start(g);
	RUN(f, counter(g, "adopted") == 30);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 30) && copies(f, 0) == 0);
	assert_each_once(f, 1, 30);
}

static void overwrite(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char junk[512];
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	memset(junk, 0x5a, sizeof(junk));
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(junk))
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
}

/* The spool loses its rows while the gateway runs: the copies are all that is left. */
static void spool_is_damaged(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	char path[600];

	g->mqtt.spool.max_bytes = 64 << 20;
	start(g);
	test_broker_stop(&f->broker);
	put_sized(f, 0, 1, 600, 8000);
	RUN(f, get_spooled(g) == 600 && counter(g, "stored") == 600);
	snprintf(path, sizeof(path), "%s", g->mqtt.spool.path);
	overwrite(path);
	strcat(path, "-wal");
	overwrite(path);
	/* its size is checked, or it is written: whichever meets the damage */
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 600) && copies(f, 0) == 0);
	assert_true(counter(g, "adopted") > 0);
}

/* Alarms of this gateway are also for a Kafka that is not there. */
static void use_kafka(struct gateway *g)
{
	struct bp_config_kafka *k = &g->mqtt.kafka;

	k->enabled = true;
	snprintf(k->brokers.list, sizeof(k->brokers.list), "127.0.0.1:%u", test_free_port());
	snprintf(k->topic, sizeof(k->topic), "alarms");
	snprintf(k->client_id, sizeof(k->client_id), "%s", g->config.name);
	k->max_inflight = 100;
	k->max_message_size = 65536;
	k->ack_timeout_ns = 30000000000ull;
}

/* Its spool cannot be opened. */
static void break_kafka_spool(struct gateway *g, char path[600])
{
	snprintf(path, 600, "%s.kafka", g->mqtt.spool.path);
	(void)remove(path);
	assert_int_equal(mkdir(path, 0755), 0);
}

static uint64_t kafka_counter(const struct gateway *g, size_t offset)
{
	const struct bp_publisher_counters *c = &g->shm.control->publisher[BP_TO_KAFKA];

	return atomic_load((const _Atomic uint64_t *)(const void *)((const char *)c + offset));
}
#define KAFKA(g, field) kafka_counter(g, offsetof(struct bp_publisher_counters, field))

/* The first destination has the adopted alarms once, however often the second one fails. */
static void disk_of_one_destination_fails(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	uint64_t errors;
	char path[600];

	use_kafka(g);
	f->flags = BP_ALARM_F_KAFKA;
	start(g);
	store_and_die(f, 30);
	test_shm_free(&g->shm);
	lose_spool(g);
	break_kafka_spool(g, path);
	test_shm_make(&g->shm, &g->config);
	test_broker_start(&f->broker);
	start(g);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 30));
	errors = KAFKA(g, spool_errors);
	RUN(f, KAFKA(g, spool_errors) >= errors + 3);
	assert_each_once(f, 1, 30);
	assert_int_equal(copies(f, 0), 30);
	assert_int_equal(remove(path), 0);
	RUN(f, KAFKA(g, spooled) == 30);
	assert_each_once(f, 1, 30);
}

/* Whose disk fails leaves the alarms of a dead gateway to others. */
static void broken_gateway_claims_nothing(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[1];
	uint64_t errors;
	char path[600];

	use_kafka(g);
	snprintf(path, sizeof(path), "%s", g->mqtt.spool.path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(mkdir(path, 0755), 0);
	break_kafka_spool(g, path);
	start(&f->gateway[0]);
	start(g);
	store_and_die(f, 20);
	RUN(f, strcmp(test_redis_cli(&f->redis, "exists biplane:plant:alarms:lease:gw0"), "0") ==
			0);
	errors = KAFKA(g, spool_errors);
	RUN(f, KAFKA(g, spool_errors) >= errors + 3);
	assert_int_equal(counter(g, "claimed"), 0);
	start(&f->gateway[2]);
	RUN(f, counter(&f->gateway[2], "adopted") == 20);
	assert_int_equal(counter(g, "claimed"), 0);
}

/* With its old id, an adopted alarm is too large for a copy. */
static void large_alarm_is_adopted_once(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[1];
	struct bp_alarm *a = test_alarm_number(1, "alarm/x", 0);
	const size_t head = bp_alarm_size(a) - 1;

	free(a);
	start(&f->gateway[0]);
	start(g);
	test_broker_stop(&f->broker);
	put_sized(f, 0, 1, 1, BP_FLEET_VALUE_MAX - head);
	RUN(f, counter(&f->gateway[0], "stored") == 1);
	kill_process(&f->gateway[0]);
	RUN(f, counter(g, "adopted") == 1);
	(void)test_redis_cli(&f->redis, "client kill type normal");
	/* it is sent after the copies were listed */
	RUN(f, counter(g, "too_large") == 1);
	put(f, 1, 100, 100);
	RUN(f, counter(g, "stored") == 1);
	assert_int_equal(counter(g, "adopted"), 1);
	assert_int_equal(counter(g, "unacknowledged"), 2);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 1) && copies(f, 1) == 0);
	assert_each_once(f, 1, 1);
}

/* Stopped, as by SIGSTOP, for longer than its lease. */
static void paused_gateway_asks_first(void **state)
{
	struct fixture *f = *state;

	start(&f->gateway[0]);
	start(&f->gateway[1]);
	test_broker_stop(&f->broker);
	put(f, 0, 1, 20);
	RUN(f, counter(&f->gateway[0], "stored") == 20);
	f->gateway[0].paused = true;
	RUN(f, counter(&f->gateway[1], "adopted") == 20);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 20));
	f->gateway[0].paused = false;
	put(f, 0, 21, 25);
	RUN(f, test_subscriber_has_all(f->subscriber, 21, 25) &&
			counter(&f->gateway[0], "unacknowledged") == 0);
	assert_int_equal(counter(&f->gateway[0], "taken"), 20);
	assert_each_once(f, 1, 25);
}

static void redis_is_away_and_returns(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	start(g);
	RUN(f, bp_fleet_state_connected(g->fleet));
	test_redis_kill(&f->redis);
	put(f, 0, 1, 50);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 50) && counter(g, "unacknowledged") == 0);
	test_broker_stop(&f->broker);
	put(f, 0, 51, 80);
	RUN(f, get_spooled(g) == 30);
	/* without its data */
	test_redis_start(&f->redis);
	RUN(f, counter(g, "stored") == 30);
	assert_int_equal(copies(f, 0), 30);
	test_redis_kill(&f->redis);
	RUN(f, !bp_fleet_state_connected(g->fleet));
	test_redis_start(&f->redis);
	RUN(f, copies(f, 0) == 30);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 80) && copies(f, 0) == 0);
	assert_each_once(f, 51, 80);
}

static bool has_error(const struct gateway *g, enum bp_fleet_error why, const char *text)
{
	json_t *status = bp_fleet_state_status(g->fleet);
	const bool has =
		bp_fleet_state_counters(g->fleet)->error[why] != 0 &&
		strstr(json_string_value(json_object_get(status, "last_error")), text) != NULL;

	json_decref(status);
	return has;
}

/* The lease continues, and acknowledged alarms free memory. */
static void redis_has_no_memory(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	start(g);
	test_broker_stop(&f->broker);
	put(f, 0, 1, 20);
	RUN(f, counter(g, "stored") == 20);
	(void)test_redis_cli(&f->redis, "config set maxmemory 1");
	put(f, 0, 21, 25);
	/* tried again each second, longer than a lease lasts */
	RUN(f, counter(g, "full") >= 20);
	assert_true(has_error(g, BP_FLEET_ERROR_FULL, "full: "));
	assert_string_equal(
		test_redis_cli(&f->redis, "exists biplane:plant:alarms:lease:gw0"), "1");
	assert_int_equal(copies(f, 0), 20);
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 25) && copies(f, 0) == 0);
	(void)test_redis_cli(&f->redis, "config set maxmemory 0");
	assert_each_once(f, 1, 25);
}

/* Also one that only scripts run. Redis 7.2 changed both texts. */
static void missing_permission_is_counted(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	(void)test_redis_cli(&f->redis, "acl setuser biplane -zrangebyscore");
	start(g);
	test_broker_stop(&f->broker);
	put(f, 0, 1, 5);
	RUN(f, has_error(g, BP_FLEET_ERROR_AUTH,
		       " has no permissions to run the 'zrangebyscore' command"));
	(void)test_redis_cli(&f->redis, "acl setuser biplane +zrangebyscore");
	RUN(f, copies(f, 0) == 5);
	(void)test_redis_cli(&f->redis, "acl setuser biplane -hlen");
	put(f, 0, 6, 6);
	RUN(f, has_error(g, BP_FLEET_ERROR_AUTH,
		       "auth: alarms: ERR The user executing the script can't run this command") ||
			has_error(g, BP_FLEET_ERROR_AUTH,
				" has no permissions to run the 'hlen' command"));
	assert_int_equal(copies(f, 0), 5);
	(void)test_redis_cli(&f->redis, "acl setuser biplane +hlen");
	RUN(f, copies(f, 0) == 6);
	(void)test_redis_cli(&f->redis, "acl log reset");
}

/* The other connection is not the one that fails. */
static void errors_of_copies_are_counted(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	(void)test_redis_cli(&f->redis, "set biplane:plant:alarms:copies:gw0 text");
	start(g);
	test_broker_stop(&f->broker);
	put(f, 0, 1, 1);
	RUN(f, has_error(g, BP_FLEET_ERROR_REFUSED, "refused: alarms: "));
	assert_true(bp_fleet_state_connected(g->fleet));
	assert_int_equal(bp_fleet_state_counters(g->fleet)->connects, 1);
}

static void sizes(void **state)
{
	static const char *const uid[2] = {
		"00112233445566778899aabbccddeef0", "00112233445566778899aabbccddeef1"};
	struct bp_copy_table t;
	struct bp_copy *a, *b;

	(void)state;
	assert_true(bp_copy_table_init(&t, 2));
	a = bp_copy_add(&t, 1, uid[0], BP_COPY_WAITING);
	b = bp_copy_add(&t, 2, uid[1], BP_COPY_WAITING);
	assert_true(bp_copy_set_size(&t, a, BP_COPIES_BYTES_MAX - 1));
	assert_false(bp_copy_set_size(&t, b, 2));
	assert_true(bp_copy_set_size(&t, b, 1));
	assert_true(bp_copy_set_size(&t, a, BP_COPIES_BYTES_MAX - 1));
	assert_int_equal(t.bytes, BP_COPIES_BYTES_MAX);
	bp_copy_delete(&t, a);
	assert_int_equal(t.bytes, 1);
	bp_copy_table_end(&t);
}

/* Who can write to Redis adds what no gateway has written. */
static void copies_are_not_believed(void **state)
{
	struct fixture *f = *state;

	(void)test_redis_cli(&f->redis, "sadd biplane:plant:alarms:gateways dead");
	(void)test_redis_cli(&f->redis,
		"hset biplane:plant:alarms:copies:dead 00112233445566778899aabbccddeeff record");
	(void)test_redis_cli(&f->redis,
		"zadd biplane:plant:alarms:order:dead 1 00112233445566778899aabbccddeeff");
	start(&f->gateway[0]);
	/* moved, and so counted once */
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:rejected:gw0"), "1") ==
			0);
	assert_int_equal(copies(f, 0), 0);
	assert_string_equal(test_redis_cli(&f->redis, "zcard biplane:plant:alarms:order:gw0"), "0");
	(void)test_redis_cli(&f->redis, "client kill type normal");
	put(f, 0, 1, 10);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 10) &&
			counter(&f->gateway[0], "unacknowledged") == 0);
	assert_int_equal(counter(&f->gateway[0], "invalid"), 1);
	/* no uid: it is skipped */
	(void)test_redis_cli(&f->redis, "zadd biplane:plant:alarms:order:gw0 2 '\"; DROP'");
	kill_process(&f->gateway[0]);
	start(&f->gateway[0]);
	RUN(f, is_leased(&f->gateway[0]) && counter(&f->gateway[0], "invalid") == 1);
	put(f, 0, 11, 20);
	RUN(f, test_subscriber_has_all(f->subscriber, 11, 20));
	assert_each_once(f, 1, 20);
}

struct changing {
	_Atomic(volatile uint16_t *) len;
	atomic_bool begun, end;
};

/* They hide no copy, and end no connection. */
static void foreign_members_of_the_order(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[1];

	start(&f->gateway[0]);
	store_and_die(f, 20);
	(void)test_redis_cli(&f->redis,
		"eval \"for i = 1, 40 do redis.call('ZADD', KEYS[1], i / 100, 'x' .. i) end\" 1 "
		"biplane:plant:alarms:order:gw1");
	(void)test_redis_cli(&f->redis, "zadd biplane:plant:alarms:order:gw1 1 "
					"0123456789abcdef0123456789ABCDEF");
	start(g);
	RUN(f, counter(g, "adopted") == 20 && counter(g, "invalid") >= 41);
	assert_true(is_leased(g));
	test_broker_start(&f->broker);
	RUN(f, test_subscriber_has_all(f->subscriber, 1, 20) && copies(f, 1) == 0);
	assert_each_once(f, 1, 20);
	assert_int_equal(bp_fleet_state_counters(g->fleet)->error[BP_FLEET_ERROR_PROTOCOL], 0);
}

/* A copy and a note of a claim that are longer than an answer can be. */
static void foreign_copies_of_any_length(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];

	(void)test_redis_cli(&f->redis,
		"eval \"local x = string.rep('x', 3000000) local uid = string.rep('0', 32) "
		"redis.call('HSET', KEYS[1], uid, x) redis.call('ZADD', KEYS[2], 1, uid) "
		"redis.call('SADD', KEYS[3], x)\" 3 biplane:plant:alarms:copies:gw0 "
		"biplane:plant:alarms:order:gw0 biplane:plant:alarms:taken:gw0");
	start(g);
	RUN(f, counter(g, "invalid") == 1);
	RUN(f, copies(f, 0) == 0);
	test_broker_stop(&f->broker);
	put(f, 0, 1, 5);
	RUN(f, counter(g, "stored") == 5);
	assert_int_equal(bp_fleet_state_counters(g->fleet)->error[BP_FLEET_ERROR_PROTOCOL], 0);
}

/* A lease that no gateway has written is replaced: it fences none. */
static void foreign_lease(void **state)
{
	static const char *const lease[] = {"zzzz", "zzzzzzzzzzzzzzzz", "400000000001ffff",
		"ffffffffffffffff", "3fffffffffffffff0", "3FFFFFFFFFFFFFFF"};
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	char words[128];

	for (unsigned i = 0; i < sizeof(lease) / sizeof(lease[0]); i++) {
		snprintf(words, sizeof(words), "set biplane:plant:alarms:lease:gw0 %s", lease[i]);
		assert_string_equal(test_redis_cli(&f->redis, words), "OK");
		if (i == 0)
			start(g);
		RUN(f, strcmp(test_redis_cli(&f->redis, "get biplane:plant:alarms:lease:gw0"),
			       lease[i]) != 0);
	}
	RUN(f, is_leased(g));
	assert_int_equal(counter(g, "fenced"), 0);
	/* of another type */
	(void)test_redis_cli(&f->redis, "del biplane:plant:alarms:lease:gw0");
	(void)test_redis_cli(&f->redis, "lpush biplane:plant:alarms:lease:gw0 x");
	RUN(f, strcmp(test_redis_cli(&f->redis, "type biplane:plant:alarms:lease:gw0"), "string") ==
			0);
	test_broker_stop(&f->broker);
	(void)test_redis_cli(&f->redis, "set biplane:plant:alarms:lease:gw0 zzzz");
	put(f, 0, 1, 5);
	RUN(f, counter(g, "stored") == 5);
	assert_int_equal(counter(g, "fenced"), 0);
	/* a process with the name of this gateway, and a higher epoch */
	(void)test_redis_cli(
		&f->redis, "set biplane:plant:alarms:lease:gw0 400000000000ffff px 60000");
	RUN(f, counter(g, "fenced") != 0);
	assert_false(is_leased(g));
}

static void *change(void *arg)
{
	struct changing *c = arg;
	volatile uint16_t *len;

	atomic_store(&c->begun, true);
	while (!atomic_load(&c->end))
		if ((len = atomic_load(&c->len)) != NULL)
			*len ^= UINT16_MAX;
	return NULL;
}

/* The data plane process is compromised: it changes a length after the check. Each record is valid
 * or damaged, as it was when it was copied. */
static void length_changes_while_it_is_read(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[0];
	struct bp_ring *ring = bp_shm_ring(&g->shm, 0);
	struct changing c = {.len = NULL};
	pthread_t thread;

	start(g);
	RUN(f, bp_fleet_state_connected(g->fleet));
	assert_int_equal(pthread_create(&thread, NULL, change, &c), 0);
	WAIT_UNTIL(atomic_load(&c.begun));
	for (uint64_t id = 1; id <= TEST_TIMES(1200); id++) {
		uint64_t at = bp_ring_written(ring);
		struct bp_alarm *a = test_alarm_number(id, "alarm/x", 0);
		uint32_t size;

		a->flags |= BP_ALARM_F_ENVELOPE;
		a->payload_len = 0;
		RUN(f, test_ring_put(ring, a));
		free(a);
		a = (struct bp_alarm *)(uintptr_t)bp_ring_peek(ring, &at, &size);
		assert_non_null(a);
		atomic_store(&c.len, &a->topic_len);
		RUN(f, bp_ring_used(ring) == 0);
		atomic_store(&c.len, NULL);
	}
	atomic_store(&c.end, true);
	pthread_join(thread, NULL);
}

static void records(void **state)
{
	struct bp_alarm *a = test_alarm_number(7, "alarm/x", 100), *b;
	char uid[BP_ALARM_UID_LEN + 1], same[BP_ALARM_UID_LEN + 1];
	const size_t len = bp_alarm_size(a);

	(void)state;
	bp_alarm_uid(a, uid);
	b = bp_adopted_alarm(a, len, uid);
	assert_non_null(b);
	assert_int_equal(bp_alarm_size(b), len + 8);
	b->id = 99;
	bp_alarm_uid(b, same);
	assert_string_equal(uid, same);
	assert_int_equal(bp_alarm_origin(b), 7);
	/* a second time, by the survivor of the survivor */
	{
		struct bp_alarm *c = bp_adopted_alarm(b, len + 8, uid);

		assert_non_null(c);
		assert_int_equal(bp_alarm_size(c), len + 8);
		assert_int_equal(bp_alarm_origin(c), 7);
		free(c);
	}
	free(b);
	/* each shorter or longer one, another uid, each changed byte of the head */
	for (size_t n = 0; n < len; n++)
		assert_null(bp_adopted_alarm(a, n, uid));
	assert_null(bp_adopted_alarm(a, len, "00112233445566778899aabbccddeeff"));
	a->flags |= BP_ALARM_F_MIRROR;
	assert_null(bp_adopted_alarm(a, len, uid));
	a->flags = BP_ALARM_F_ORIGIN;
	assert_null(bp_adopted_alarm(a, len, uid));
	a->flags = 0;
	a->to_len = 0;
	assert_null(bp_adopted_alarm(a, len, uid));
	free(a);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		CASE(acknowledged_alarms_leave_no_copy),
		CASE(stopped_gateway_leaves_its_states),
		CASE(stopped_gateway_without_redis),
		CASE(alarms_of_a_full_ring),
		CASE(alarms_that_a_scan_reads),
		CASE(survivor_publishes_and_the_dead_does_not),
		CASE(survivor_of_the_survivor),
		CASE(claimed_back_from_the_survivor),
		CASE(alarms_of_a_lost_disk),
		CASE(spool_is_damaged),
		CASE(disk_of_one_destination_fails),
		CASE(broken_gateway_claims_nothing),
		CASE(large_alarm_is_adopted_once),
		CASE(paused_gateway_asks_first),
		CASE(redis_is_away_and_returns),
		CASE(redis_has_no_memory),
		CASE(copies_are_not_believed),
		CASE(foreign_members_of_the_order),
		CASE(foreign_copies_of_any_length),
		CASE(foreign_lease),
		CASE(missing_permission_is_counted),
		CASE(errors_of_copies_are_counted),
		CASE(length_changes_while_it_is_read),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
