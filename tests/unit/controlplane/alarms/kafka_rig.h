/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_ALARMS_KAFKA_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_ALARMS_KAFKA_RIG_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "config/mqtt/settings.h"
#include "controlplane/alarms/publisher.h"
#include "tests/unit/controlplane/test.h"

struct bp_ring_events;
struct event_base;
struct event;

#define KAFKA_TOPIC "alarms"
#define KAFKA_BROKERS 3
#define KAFKA_PARTITIONS 4
#define KAFKA_ONLY (BP_ALARM_F_KAFKA | BP_ALARM_F_NOT_MQTT)
#define KAFKA_PRODUCE 0 /* number of the request in Kafka's protocol */

/* A message as the consumer has received it. */
struct kafka_message {
	uint64_t id; /* header */
	char key[64], value[512], uid[40], rule[64], state[16];
	char severity[16]; /* "": no such header */
};

/* A publisher with a segment of two workers, librdkafka's mock cluster, and a consumer. */
struct fixture {
	char dir[64];
	struct bp_config config;
	struct bp_config_mqtt mqtt;
	struct bp_shm shm;
	struct bp_publisher_counters *c; /* of Kafka */
	struct event_base *base;
	struct event *beat; /* lets conditions be checked without another event */
	struct bp_ring_events *rings;
	struct bp_publisher *publisher;
	rd_kafka_t *owner, *consumer;
	rd_kafka_mock_cluster_t *cluster;
	struct kafka_message *message;
	unsigned n, size;
};

int kafka_setup(void **state);
int kafka_teardown(void **state);

/* The segment and a publisher on it, with the current configuration. */
void kafka_start(struct fixture *f);
void kafka_start_publisher(struct fixture *f);
void kafka_stop_publisher(struct fixture *f);
/* All brokers. */
void kafka_down(struct fixture *f);
void kafka_up(struct fixture *f);

/* Puts an alarm with rule "r", topic "tK" and its id as payload into the ring of a worker. */
void kafka_put(struct fixture *f, unsigned worker, uint64_t id, unsigned key, uint8_t flags);

/* Reads what the consumer has; returns the number of messages so far. */
unsigned kafka_received(struct fixture *f);
/* How many times the id arrived. */
unsigned kafka_times(struct fixture *f, uint64_t id);
/* Whether each id in [from, to] arrived. */
bool kafka_has_all(struct fixture *f, uint64_t from, uint64_t to);
/* Fails if an alarm arrived for the first time after a newer one of its key, or if the last one of
 * a key is not its newest. */
void kafka_assert_order(struct fixture *f);

static inline uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
