/* SPDX-License-Identifier: BSD-3-Clause */
/* Two gateways share connections in a real Redis: inspection and control plane of both, in one
 * process. */
#include "tests/unit/controlplane/fleet/redis_rig.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "controlplane/fleet/state.h"
#include "controlplane/mqtt/connections.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"
#include "tests/unit/services/mqtt/fleet_steps.h"

#define URL "redis://127.0.0.1:%u"

struct gateway {
	struct rig *rig;
	struct bp_fleet_state *state;
	struct bp_ring_events *rings;
	struct bp_connections *connections;
};

struct fixture {
	char dir[64];
	struct test_redis redis;
	struct event_base *base;
	struct bp_config *config;
	struct gateway gateway[2];
};

static void start(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];
	char err[512];

	g->rig = i == 0 ? &one : &two;
	open_gateway(g->rig, i + 1);
	g->state = bp_fleet_state_new(f->base, &f->config->fleet, err, sizeof(err));
	assert_non_null(g->state);
	/* as for rings that this process writes: examined by timer */
	g->rings = bp_ring_events_new(f->base, &g->rig->shm.control->cp_sleeps, NULL, NULL);
	assert_non_null(g->rings);
	g->connections = bp_connections_new(f->base, &g->rig->shm, g->rings, g->state,
		g->rig->mqtt.connection_timeout_ns, err, sizeof(err));
	assert_non_null(g->connections);
}

/* As at the end of the control plane. */
static void finish(struct gateway *g)
{
	bp_ring_events_free(g->rings);
	bp_fleet_state_free(g->state);
	bp_connections_free(g->connections);
	*g = (struct gateway){.rig = g->rig};
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char text[512];

	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	test_redis_make(&f->redis, f->dir, "redis", test_redis_user());
	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\n"
		"fleet: {name: plant, state: {server: \"" URL "\", timeout: 300ms%s}}\n",
		f->redis.port, test_redis_login(f->dir));
	f->config = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(f->config);
	test_redis_start(&f->redis);
	*state = f;
	for (unsigned i = 0; i < 2; i++)
		start(f, i);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 2; i++) {
		finish(&f->gateway[i]);
		rig_close(f->gateway[i].rig);
	}
	bp_config_free(f->config);
	event_base_free(f->base);
	test_redis_assert_access(&f->redis);
	test_redis_kill(&f->redis);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

/* The clock of the control planes. */
static void set_time(struct rig *r)
{
	rig_advance(r, bp_mono_ns() - r->mono_ns);
	bp_mqtt_worker_tick(r->in, r->mono_ns);
}

static bool redis_has(struct fixture *f, const char *pattern)
{
	char words[128];

	snprintf(words, sizeof(words), "keys *%s*", pattern);
	return strstr(test_redis_cli(&f->redis, words), pattern) != NULL;
}

/* Whether the record of a connection is one with this topic. */
static bool record_has(struct fixture *f, const char *topic)
{
	char words[256];

	snprintf(words, sizeof(words),
		"--no-raw get \"$(redis-cli -p %u keys '*-192.0.2.1:1883*')\"", f->redis.port);
	return strstr(test_redis_cli(&f->redis, words), topic) != NULL;
}

/* The loop runs, and so do both workers. */
#define RUN(f, condition)                                                                          \
	while (!(condition)) {                                                                     \
		set_time(&one);                                                                    \
		set_time(&two);                                                                    \
		event_base_loop((f)->base, EVLOOP_ONCE);                                           \
	}

static struct peer connected(struct fixture *f)
{
	struct peer c;

	RUN(f, bp_fleet_state_epoch(f->gateway[0].state) != 0 &&
			bp_fleet_state_epoch(f->gateway[1].state) != 0);
	set_time(&one);
	peer_init(&c, false, 1, 0xffffff00u, 7);
	rig_connect_alias(&one, &c, "sensor", 10, 10);
	publish_alias(&one, &c, "t/x", 3, "1");
	RUN(f, redis_has(f, "-192.0.2.1:1883"));
	return c;
}

/* The first gateway is gone; the client knows nothing of it. */
static void adopted(void **state)
{
	struct fixture *f = *state;
	struct told_list l;
	struct peer c = connected(f);

	publish_alias(&two, &c, "", 3, "90");
	RUN(f, rig_count(&two, BP_C_FLEET_ADOPTED) == 1);
	l = rig_told(&two);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.a[0].topic, "t/x");
	assert_string_equal(l.a[0].client, "sensor");
	told_free(&l);
	/* and back: the record is of the second one now, whichever of them started first */
	publish_alias(&two, &c, "t/y", 4, "2");
	/* not by the number of records: there may be one of before this publication */
	RUN(f, record_has(f, "t/y"));
	finish(&f->gateway[0]);
	rig_close(&one);
	start(f, 0);
	RUN(f, bp_fleet_state_connected(f->gateway[0].state));
	set_time(&one);
	publish_alias(&one, &c, "", 4, "91");
	RUN(f, rig_count(&one, BP_C_FLEET_ADOPTED) == 1);
	l = rig_told(&one);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.a[0].topic, "t/y");
	told_free(&l);
}

struct states {
	unsigned asked, known_after; /* 0: never */
	uint64_t asked_ns;
	uint64_t adopted_before;
};

static bool states_known(void *arg, uint64_t since_ns)
{
	struct states *s = arg;

	assert_true(since_ns <= bp_mono_ns() && since_ns >= s->asked_ns); /* the record was read */
	s->adopted_before = rig_count(&two, BP_C_FLEET_ADOPTED);
	return ++s->asked == s->known_after;
}

/* An answer waits for the states of others, but not longer than the worker. */
static void states_come_first(void **state)
{
	struct fixture *f = *state;

	for (unsigned never = 0; never < 2; never++) {
		struct states s = {.known_after = never ? 0 : 5};
		struct peer c;

		if (never) {
			teardown(state);
			setup(state);
			f = *state;
		}
		c = connected(f);
		bp_connections_share(f->gateway[1].connections,
			&(struct bp_connection_states){.known = states_known, .arg = &s});
		s.asked_ns = bp_mono_ns();
		publish_alias(&two, &c, "", 3, "90");
		RUN(f, rig_count(&two, BP_C_FLEET_ADOPTED) == 1);
		assert_int_equal(s.adopted_before, 0);
		assert_true(never ? s.asked > 1 : s.asked == 5);
		assert_int_equal(rig_count(&two, BP_C_FLEET_TIMEOUT), 0);
	}
}

static void unknown_connection(void **state)
{
	struct fixture *f = *state;
	struct peer c;

	RUN(f, bp_fleet_state_connected(f->gateway[1].state));
	set_time(&two);
	peer_init(&c, true, 5, 1, 2);
	rig_publish_text(&two, &c, "t/x", "81");
	RUN(f, rig_count(&two, BP_C_FLEET_NOT_FOUND) == 1);
}

static void ended(void **state)
{
	struct fixture *f = *state;
	struct peer c = connected(f);

	rig_fin_both(&one, &c);
	RUN(f, strcmp(test_redis_cli(&f->redis, "dbsize"), "") != 0 &&
			bp_fleet_state_counters(f->gateway[0].state)->stored >= 2);
	publish_alias(&two, &c, "", 3, "90");
	RUN(f, rig_count(&two, BP_C_FLEET_NOT_FOUND) == 1);
}

/* Redis is away, then another, empty one is there. */
static void redis_restarts(void **state)
{
	struct fixture *f = *state;
	struct peer c = connected(f), other;

	test_redis_kill(&f->redis);
	RUN(f, !bp_fleet_state_connected(f->gateway[0].state) &&
			!bp_fleet_state_connected(f->gateway[1].state));
	set_time(&two);
	peer_init(&other, false, 9, 1, 2);
	rig_publish_text(&two, &other, "t/x", "81");
	RUN(f, rig_count(&two, BP_C_FLEET_NOT_FOUND) == 1);
	test_redis_start(&f->redis);
	RUN(f, bp_fleet_state_connected(f->gateway[0].state) &&
			bp_fleet_state_connected(f->gateway[1].state) &&
			redis_has(f, "-192.0.2.1:1883"));
	publish_alias(&two, &c, "", 3, "90");
	RUN(f, rig_count(&two, BP_C_FLEET_ADOPTED) == 1);
	assert_string_equal(rig_told_values(&two), "90");
}

static void key_texts(void **state)
{
	struct bp_connection_key k = {.client_ip = {10, 0, 0, 5},
		.broker_ip = {192, 0, 2, 1},
		.client_port = 40312,
		.broker_port = 1883};
	char text[BP_CONNECTION_KEY_TEXT];

	(void)state;
	bp_connection_key_text(&k, text);
	assert_string_equal(text, "mqtt:10.0.0.5:40312-192.0.2.1:1883");
	k.vlan_inner = 7;
	k.tunnel = 0xabc;
	bp_connection_key_text(&k, text);
	assert_string_equal(text, "mqtt:10.0.0.5:40312-192.0.2.1:1883/0/7/abc");
	k.vlan_inner = 0;
	k.tunnel = 0;
	strcpy(k.network, "line-1");
	bp_connection_key_text(&k, text);
	assert_string_equal(text, "mqtt:10.0.0.5:40312-192.0.2.1:1883@line-1");
	memset(k.client_ip, 0xff, 16);
	memset(k.broker_ip, 0xff, 16);
	k = (struct bp_connection_key){.ip6 = 1,
		.client_port = 65535,
		.broker_port = 65535,
		.vlan_outer = 4095,
		.vlan_inner = 4095,
		.tunnel = UINT32_MAX};
	memset(k.client_ip, 0xff, 16);
	memset(k.broker_ip, 0xff, 16);
	bp_connection_key_text(&k, text);
	assert_true(strlen(text) < BP_CONNECTION_KEY_TEXT - 1);
	assert_non_null(strstr(text, "]:65535/4095/4095/ffffffff"));
	memset(k.network, 'x', BP_NAME_MAX);
	bp_connection_key_text(&k, text);
	assert_true(strlen(text) < BP_CONNECTION_KEY_TEXT - 1);
	assert_string_equal(strchr(text, '@'), "@xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_texts),
		cmocka_unit_test_setup_teardown(adopted, setup, teardown),
		cmocka_unit_test_setup_teardown(states_come_first, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(ended, setup, teardown),
		cmocka_unit_test_setup_teardown(redis_restarts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
