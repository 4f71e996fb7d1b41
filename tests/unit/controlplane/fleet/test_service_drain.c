/* SPDX-License-Identifier: BSD-3-Clause */
/* The service mqtt of a gateway that ends: with its worker and a real Redis. */
#include "tests/unit/controlplane/fleet/shared_steps.h"

#include "controlplane/fleet/state.h"
#include "controlplane/process/ring_events.h"
#include "controlplane/service.h"

extern const struct bp_controlplane_service bp_controlplane_mqtt;

static const struct bp_controlplane_service *const mqtt = &bp_controlplane_mqtt;
static struct bp_plane_context plane;
static void *service;

/* No broker answers: alarms stay in the spool. */
static void set_publisher(struct rig *r, const char *dir)
{
	struct bp_config own;
	struct bp_config_mqtt m;

	test_config(&own, &m, dir, test_free_port(), 1, r->mqtt.alarm_queue_size);
	r->mqtt.publisher = m.publisher;
	r->mqtt.spool = m.spool;
}

static void start_service(struct fixture *f)
{
	struct rig *r = f->gateway[0].rig;
	char err[512];

	set_publisher(r, f->dir);
	r->config.fleet = f->config->fleet;
	snprintf(r->config.name, sizeof(r->config.name), "gw0");
	plane = (struct bp_plane_context){.base = f->base,
		.shm = &r->shm,
		.config = &r->config,
		.rings = bp_ring_events_new(f->base, &r->shm.control->cp_sleeps, NULL, NULL),
		.fleet = bp_fleet_state_new(f->base, &r->config.fleet, err, sizeof(err)),
		.first_start = true};
	assert_non_null(plane.rings);
	assert_non_null(plane.fleet);
	service = mqtt->create(&plane, err, sizeof(err));
	assert_non_null(service);
	if (mqtt->start(service, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

static int setup_service(void **state)
{
	struct fixture *f;

	setup(state);
	f = *state;
	/* this part is the service's */
	stop_control(&f->gateway[0]);
	start_service(f);
	return 0;
}

static int teardown_service(void **state)
{
	bp_ring_events_free(plane.rings);
	bp_fleet_state_free(plane.fleet);
	mqtt->free(service);
	rig_close(&one);
	return teardown(state);
}

static json_int_t status_of(const char *part, const char *name)
{
	json_t *answer = json_object();
	const json_t *value;
	json_int_t n;

	mqtt->status(service, answer);
	value = json_object_get(json_object_get(answer, part), name);
	n = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
	json_decref(answer);
	return n;
}

static json_int_t records(void)
{
	return status_of("fleet_connections", "stored");
}

static void set_true(void *arg)
{
	*(bool *)arg = true;
}

static void send_value(struct peer *c, const char *value)
{
	one.mono_ns = bp_mono_ns();
	one.now_ns = bp_unix_ns();
	rig_advance(&one, 0);
	rig_publish_text(&one, c, "t/x", value);
	rig_ack(&one, c, BROKER);
	rig_flush(&one);
}

/* The last value raises, and the process ends: the position behind it follows the state to Redis,
 * so that the next gateway neither reads the value again nor raises a second time. */
static void last_record_follows_its_state(void **state)
{
	struct fixture *f = *state;
	struct peer *c = &f->gateway[0].client;
	bool drained = false;
	json_int_t before;

	send_value(c, "70");
	RUN(f, records() != 0 && status_of("fleet_alarms", "leased") == 1);
	before = records();
	send_value(c, "81");
	mqtt->drain(service, TEST_DEADLINE_NS, set_true, &drained);
	assert_int_equal(records(), before);
	RUN(f, drained);
	assert_string_equal(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1");
	assert_int_equal(records(), before + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			last_record_follows_its_state, setup_service, teardown_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
