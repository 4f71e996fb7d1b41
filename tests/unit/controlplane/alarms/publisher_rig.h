/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_ALARMS_PUBLISHER_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_ALARMS_PUBLISHER_RIG_H

#include "config/mqtt/settings.h"
#include "controlplane/alarms/publisher.h"
#include "tests/unit/controlplane/test.h"

struct bp_ring_events;
struct event_base;

/* A publisher with a segment of two workers, a real mosquitto, and a subscriber. */
struct fixture {
	char dir[64];
	struct test_broker broker;
	struct test_subscriber *subscriber;
	struct bp_config config;
	struct bp_config_mqtt mqtt;
	struct bp_shm shm;
	struct event_base *base;
	struct bp_ring_events *rings;
	struct bp_publisher *publisher;
};

/* For cmocka. The broker runs; the publisher does not. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* The segment and a publisher on it, with the current configuration. */
void rig_start(struct fixture *f);
void rig_start_publisher(struct fixture *f);
void rig_stop_publisher(struct fixture *f);

/* Puts an alarm into the ring of a worker. */
void rig_put(struct fixture *f, unsigned worker, uint64_t id);

static inline uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
