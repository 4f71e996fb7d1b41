/* SPDX-License-Identifier: BSD-3-Clause */
/* All connections of a gateway move to another one in the same moment: with a real Redis, and
 * inspection and control plane of both gateways in one process. */
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

#define MOVED 10000u
#define BOUND 256u /* requests of a worker without an answer */

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
	struct peer peer[MOVED];
};

static void many_connections(struct rig *r)
{
	r->mqtt.max_connections = r->mqtt.max_unestablished = 2 * MOVED;
	r->mqtt.reassembly_total = 64 << 20;
}

static void start(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];
	char err[512];

	g->rig = i == 0 ? &one : &two;
	open_gateway(g->rig, i + 1);
	g->state = bp_fleet_state_new(f->base, &f->config->fleet, err, sizeof(err));
	assert_non_null(g->state);
	g->rings = bp_ring_events_new(f->base, &g->rig->shm.control->cp_sleeps, NULL, NULL);
	assert_non_null(g->rings);
	g->connections = bp_connections_new(f->base, &g->rig->shm, g->rings, g->state,
		g->rig->mqtt.connection_timeout_ns, err, sizeof(err));
	assert_non_null(g->connections);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char text[512];

	configure = many_connections;
	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	test_redis_make(&f->redis, f->dir, "redis", test_redis_user());
	/* a timeout for any machine */
	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\n"
		"fleet: {name: plant, state: {server: \"redis://127.0.0.1:%u\", timeout: 10s%s}}\n",
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
		struct gateway *g = &f->gateway[i];

		bp_ring_events_free(g->rings);
		bp_fleet_state_free(g->state);
		bp_connections_free(g->connections);
		rig_close(g->rig);
	}
	bp_config_free(f->config);
	event_base_free(f->base);
	test_redis_assert_access(&f->redis);
	test_redis_kill(&f->redis);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

/* Connections that were adopted, or are searched. */
static uint64_t ended(void)
{
	return answers() + rig_count(&two, BP_C_FLEET_NOT_FOUND) +
	       rig_count(&two, BP_C_FLEET_ASK_FULL);
}

static json_int_t counted(const struct gateway *g, const char *counter)
{
	json_t *status = json_object();
	json_int_t n;

	bp_connections_status(g->connections, status);
	n = json_integer_value(
		json_object_get(json_object_get(status, "fleet_connections"), counter));
	json_decref(status);
	return n;
}

/* Answers that have waited for space in the ring. */
static json_int_t deferred(const struct gateway *g)
{
	return counted(g, "answers_deferred");
}

/* The worker is slower than Redis: answers wait for space in its ring, and none is lost. The
 * requests are of the test, which reads the answers. */
static void answers_wait_for_the_ring(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[1];
	struct bp_ring *requests = &two.shm.adopt_requests[0], *offers = &two.shm.adopt_offers[0];
	struct bp_connection_key k = {
		.client_ip = {10}, .broker_ip = {192, 0, 2, 1}, .broker_port = 1883};
	const uint64_t each = sizeof(struct bp_adopt_offer) + sizeof(k) + 8;
	const unsigned n = (unsigned)(offers->capacity / each) + 100;
	uint64_t mark, cursor = bp_ring_tail(offers);
	unsigned asked = 0, answered = 0;
	uint32_t size;

	while (!bp_fleet_state_connected(g->state))
		event_base_loop(f->base, EVLOOP_ONCE);
	while (asked < n || deferred(g) == 0) {
		const bool may = asked < n && asked < bp_ring_used(offers) / each + BOUND;
		void *p = may ? bp_ring_reserve(requests, sizeof(k), &mark) : NULL;

		if (p != NULL) {
			k.client_port = (uint16_t)++asked;
			memcpy(p, &k, sizeof(k));
			bp_ring_commit(requests, mark);
		}
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	while (answered < n) {
		while (bp_ring_peek(offers, &cursor, &size) != NULL)
			answered++;
		bp_ring_release(offers, cursor);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_true(deferred(g) > 0 && deferred(g) <= 100 + 1);
}

/* Reports of holds come behind requests in the ring, which may be of a worker that ignores the
 * bound: the control plane leaves none there. */
static void requests_do_not_stay_in_the_ring(void **state)
{
	struct fixture *f = *state;
	struct gateway *g = &f->gateway[1];
	struct bp_ring *requests = &two.shm.adopt_requests[0];
	struct bp_connection_key k = {
		.client_ip = {10}, .broker_ip = {192, 0, 2, 1}, .broker_port = 1883};
	uint64_t mark;

	while (!bp_fleet_state_connected(g->state))
		event_base_loop(f->base, EVLOOP_ONCE);
	while (k.client_port < 1200) {
		void *p = bp_ring_reserve(requests, sizeof(k), &mark);

		assert_non_null(p);
		k.client_port++;
		memcpy(p, &k, sizeof(k));
		bp_ring_commit(requests, mark);
	}
	while (counted(g, "requests") == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	assert_int_equal(counted(g, "requests"), 1200);
	assert_int_equal(counted(g, "not_answered"), 1200 - 1024);
	assert_int_equal(bp_ring_used(requests), 0);
}

static void all_are_adopted(void **state)
{
	struct fixture *f = *state;

	while (bp_fleet_state_epoch(f->gateway[0].state) == 0 ||
		bp_fleet_state_epoch(f->gateway[1].state) == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	rig_advance(&one, bp_mono_ns() - one.mono_ns);
	for (uint32_t i = 0; i < MOVED; i++) {
		peer_init(&f->peer[i], false, i + 1, 0xffffff00u, 7);
		rig_connect_alias(&one, &f->peer[i], "sensor", 10, 10);
		publish_alias(&one, &f->peer[i], "t/x", 3, "1");
	}
	while (bp_fleet_state_counters(f->gateway[0].state)->stored < MOVED) {
		rig_advance(&one, bp_mono_ns() - one.mono_ns);
		event_base_loop(f->base, EVLOOP_ONCE);
	}
	/* the clock of the second one stands still: no answer is too late on a slow machine */
	rig_advance(&two, bp_mono_ns() - two.mono_ns);
	for (uint32_t i = 0; i < MOVED; i++)
		publish_alias(&two, &f->peer[i], "", 3, "90");
	assert_true(rig_count(&two, BP_C_FLEET_ASK_DEFERRED) > MOVED / 2);
	while (ended() < MOVED) {
		bp_mqtt_worker_tick(two.in, two.mono_ns);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), MOVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_are_adopted, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_wait_for_the_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_do_not_stay_in_the_ring, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
