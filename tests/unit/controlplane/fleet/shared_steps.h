/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_FLEET_SHARED_STEPS_H
#define BP_TESTS_UNIT_CONTROLPLANE_FLEET_SHARED_STEPS_H

#include "tests/unit/controlplane/fleet/redis_rig.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "config/mqtt/settings.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/fleet/alarm_store.h"
#include "controlplane/mqtt/shared_holds.h"
#include "controlplane/mqtt/shared_states.h"
#include "controlplane/process/clock.h"
#include "tests/unit/services/mqtt/fleet_steps.h"

/* Two gateways share raised states in a real Redis: inspection of both, and this part of their
 * control planes, in one process. */

/* Of fleet.state, for all tests of a file. */
#ifndef SETTINGS
#define SETTINGS ", max_alarm_states: 65536, max_alarm_states_per_client: 65536"
#endif

struct gateway {
	struct rig *rig;
	struct bp_alarm_store *store;
	struct bp_shared_states *states;
	struct peer client;
	bool up;
	unsigned downs; /* connections that ended */
};

struct fixture {
	char dir[64];
	struct test_redis redis;
	struct event_base *base;
	struct bp_config *config;
	struct gateway gateway[2];
};

static inline void on_up(void *arg)
{
	struct gateway *g = arg;

	g->up = true;
	bp_shared_states_up(g->states, g->store);
}

static inline void on_down(void *arg)
{
	struct gateway *g = arg;

	g->up = false;
	g->downs++;
	bp_shared_states_down(g->states);
}

static inline void on_failed(void *arg, enum bp_fleet_error why, const char *text)
{
	(void)arg;
	(void)why;
	(void)text;
}

static inline void on_state(void *arg, const void *bytes, size_t len)
{
	bp_shared_states_state(((struct gateway *)arg)->states, bytes, len);
}

static inline void on_put(void *arg, const char *uid, enum bp_alarm_state_put result)
{
	bp_shared_states_put(((struct gateway *)arg)->states, uid, result);
}

static inline void on_gap(void *arg)
{
	bp_shared_holds_gap(bp_shared_states_holds(((struct gateway *)arg)->states));
}

static inline struct bp_rule_spec rule(const char *name, uint8_t repeat)
{
	struct bp_rule_spec r = rig_rule(name, "t/#", BP_COND_GT, 80),
			    clear = rig_rule(name, "t/#", BP_COND_LT, 75);

	r.has_clear = true;
	r.clear = clear.raise;
	r.repeat = repeat;
	return r;
}

/* As a reload does. */
static inline void use_rules(struct rig *r, const struct bp_rule_spec *spec, unsigned n)
{
	rig_rules(r, spec, n);
	atomic_store(&r->shm.control->rules_active, r->generation);
}

static inline void use_rule(struct rig *r, struct bp_rule_spec spec)
{
	use_rules(r, &spec, 1);
}

static inline const char *name_of(unsigned i)
{
	return i == 0 ? "gw0" : "gw1";
}

static inline void start_store(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];
	const struct bp_alarm_store_owner owner = {.up = on_up,
		.down = on_down,
		.failed = on_failed,
		.state = on_state,
		.state_put = on_put,
		.hold_gap = on_gap,
		.arg = g};
	char err[512];

	g->store = bp_alarm_store_new(
		f->base, &f->config->fleet, name_of(i), &owner, err, sizeof(err));
	assert_non_null(g->store);
}

static inline void start_control(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];

	g->states = bp_shared_states_new(&g->rig->shm, &f->config->fleet.state, name_of(i));
	assert_non_null(g->states);
	start_store(f, i);
}

static inline void start(struct fixture *f, unsigned i)
{
	struct gateway *g = &f->gateway[i];

	g->rig = i == 0 ? &one : &two;
	open_gateway(g->rig, i + 1);
	use_rule(g->rig, rule("r", BP_REPEAT_ON_CHANGE));
	peer_init(&g->client, false, 1 + i, 1, 2);
	rig_connect(g->rig, &g->client, 4, "sensor");
	start_control(f, i);
}

/* The data plane continues. */
static inline void stop_control(struct gateway *g)
{
	bp_alarm_store_free(g->store);
	bp_shared_states_free(g->states);
	g->store = NULL;
	g->states = NULL;
	g->up = false;
}

static inline void finish(struct gateway *g)
{
	if (g->store == NULL)
		return;
	stop_control(g);
	rig_close(g->rig);
	*g = (struct gateway){0};
}

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char text[512];

	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	test_redis_make(&f->redis, f->dir, "redis", test_redis_user());
	test_redis_start(&f->redis);
	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\nfleet: {name: "
		"plant, "
		"state: {server: \"redis://127.0.0.1:%u\"%s%s}}\n",
		f->redis.port, test_redis_login(f->dir), SETTINGS);
	f->config = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(f->config);
	*state = f;
	start(f, 0);
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 2; i++)
		finish(&f->gateway[i]);
	bp_config_free(f->config);
	event_base_free(f->base);
	test_redis_assert_access(&f->redis);
	test_redis_kill(&f->redis);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static inline void run_once(struct fixture *f)
{
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	for (unsigned i = 0; i < 2; i++) {
		struct gateway *g = &f->gateway[i];

		if (g->store == NULL)
			continue;
		bp_shared_states_tick(g->states, g->store);
		bp_mqtt_worker_tick(g->rig->in, g->rig->mono_ns);
	}
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

static inline uint64_t number(const struct gateway *g, const char *name)
{
	json_t *answer = json_object();
	uint64_t n;

	bp_shared_states_status(g->states, answer);
	n = (uint64_t)json_integer_value(
		json_object_get(json_object_get(answer, "fleet_states"), name));
	json_decref(answer);
	return n;
}

/* The device publishes through this gateway. The alarm is the control plane's, too. */
struct result {
	uint8_t state; /* 0: no alarm */
	uint8_t flags;
	uint64_t transition;
	char uid[BP_ALARM_UID_LEN + 1];
};
static inline struct result take_alarm(struct gateway *g)
{
	struct bp_ring *ring = bp_shm_ring(&g->rig->shm, 0);
	struct result result = {0};
	const struct bp_alarm *a;
	uint64_t cursor;
	uint32_t size;

	cursor = bp_ring_tail(ring);
	while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL) {
		assert_int_equal(result.state, 0);
		result.state = a->state;
		result.flags = a->flags;
		result.transition = bp_alarm_transition(a);
		bp_alarm_uid(a, result.uid);
		bp_shared_states_alarm(g->states, a);
	}
	bp_ring_release(ring, cursor);
	return result;
}

static inline struct result publish_at(struct gateway *g, const char *topic, const char *value)
{
	rig_advance(g->rig, 1000000);
	rig_publish_text(g->rig, &g->client, topic, value);
	rig_flush(g->rig);
	return take_alarm(g);
}

static inline struct result publish(struct gateway *g, const char *value)
{
	return publish_at(g, "t/x", value);
}

/* What the control plane reads of the worker: changes of holds, and requests for connections. */
static inline void take_reports(struct gateway *g)
{
	struct bp_ring *ring = &g->rig->shm.adopt_requests[0];
	uint64_t cursor = bp_ring_tail(ring);
	const void *p;
	uint32_t size;

	while ((p = bp_ring_peek(ring, &cursor, &size)) != NULL)
		if (size > sizeof(struct bp_connection_key))
			bp_shared_holds_report(bp_shared_states_holds(g->states), p, size, 0);
	bp_ring_release(ring, cursor);
}

/* The Unix time of both gateways is the same. */
static inline struct result hold(struct gateway *g, const char *value)
{
	const struct rig *other = g->rig == &one ? &two : &one;
	struct result r;

	if (other->now_ns > g->rig->now_ns)
		rig_advance(g->rig, other->now_ns - g->rig->now_ns);
	r = publish(g, value);
	take_reports(g);
	return r;
}

static inline void both_up(struct fixture *f)
{
	start(f, 1);
	RUN(f, f->gateway[0].up && f->gateway[1].up);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
