/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_TEST_H
#define BP_TESTS_UNIT_CONTROLPLANE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/types.h>

#include "config/config.h"
#include "shm/layout.h"

/*
 * Common parts of the control plane's tests: a directory of their own, alarms, a segment, a real
 * mosquitto on a free loopback port, and a subscriber that records received alarms.
 */

/* A deadline that a loaded machine does not reach; tests wait for a condition. */
#define TEST_DEADLINE_NS 120000000000ull

uint64_t test_now_ns(void); /* monotonic */
void test_nap(void);        /* a millisecond, between two checks of a condition */

#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		uint64_t end_ = test_now_ns() + TEST_DEADLINE_NS;                                  \
		while (!(condition)) {                                                             \
			if (test_now_ns() > end_)                                                  \
				fail_msg("never came true: %s", #condition);                       \
			test_nap();                                                                \
		}                                                                                  \
	} while (0)

/* Lets the event loop of (f)->base run until the condition holds. */
#define RUN_UNTIL(f, condition)                                                                    \
	do {                                                                                       \
		uint64_t end_ = test_now_ns() + TEST_DEADLINE_NS;                                  \
		while (!(condition)) {                                                             \
			if (test_now_ns() > end_)                                                  \
				fail_msg("never came true: %s", #condition);                       \
			event_base_loop((f)->base, EVLOOP_ONCE);                                   \
		}                                                                                  \
	} while (0)

/* A fresh directory; test_dir_remove() deletes it with all it holds. */
void test_dir_make(char *path, size_t size);
void test_dir_remove(const char *path);
void test_write_file(const char *path, const char *text);

/* A generator with a seed, so that what fails once fails again (xorshift64*). */
uint64_t test_random(uint64_t *state);

/* An alarm in memory of its own (free()): the texts may be NULL for empty. */
struct test_alarm {
	uint64_t id, time_ns;
	double value;
	uint8_t state, flags, qos, severity;
	const char *rule, *client_id, *topic, *to, *payload;
	enum bp_alarm_value value_type;
	const char *value_string; /* of a string */
};
struct bp_alarm *test_alarm_make(const struct test_alarm *t);
/* Rule "r", topic "t", published on `to`; payload is the id in decimal, filled up to `pad` bytes.
 */
struct bp_alarm *test_alarm_number(uint64_t id, const char *to, size_t pad);
/* Writes the alarm to the ring; false when the ring is full. */
/* Received and evaluated now. */
bool test_ring_put(struct bp_ring *ring, const struct bp_alarm *a);
/* NULL: without times. */
bool test_ring_put_times(
	struct bp_ring *ring, const struct bp_alarm *a, const struct bp_alarm_times *times);

/* A configuration for a segment of its own, in memory, with these settings of mqtt; ring: bytes per
 * worker. */
struct bp_config_mqtt;
void test_config(struct bp_config *c, struct bp_config_mqtt *m, const char *dir, uint16_t port,
	uint32_t workers, uint64_t ring);
/* An anonymous segment for it. */
void test_shm_make(struct bp_shm *m, const struct bp_config *c);
void test_shm_free(struct bp_shm *m);

uint16_t test_free_port(void);
bool test_takes_connections(uint16_t port); /* on the loopback */

/* A mosquitto with its own configuration and directory; keeps its state over stop and start. */
struct test_broker {
	char dir[256];
	uint16_t port;
	pid_t pid; /* 0: stopped */
};
void test_broker_make(struct test_broker *b, const char *dir, const char *more_config);
void test_broker_start(struct test_broker *b); /* returns when it takes connections */
void test_broker_stop(struct test_broker *b);  /* SIGTERM: it saves its state */

/* A subscriber to "#" with a session that outlives connections. Payloads begin with the id. */
struct test_subscriber;
struct test_subscriber *test_subscriber_start(const struct test_broker *b);
void test_subscriber_stop(struct test_subscriber *s);
unsigned test_subscriber_count(struct test_subscriber *s); /* messages so far */
/* How often id arrived, and the place of its first arrival; -1 when it has not. */
unsigned test_subscriber_times(struct test_subscriber *s, uint64_t id);
int test_subscriber_place(struct test_subscriber *s, uint64_t id);
/* Whether every id in [from, to] arrived. */
bool test_subscriber_has_all(struct test_subscriber *s, uint64_t from, uint64_t to);
/* The id at a place; topic and payload of the last message with that id (copied). */
uint64_t test_subscriber_id(struct test_subscriber *s, unsigned place);
void test_subscriber_text(
	struct test_subscriber *s, uint64_t id, char *topic, char *payload, size_t size);
bool test_subscriber_retained(struct test_subscriber *s); /* any message had RETAIN */

#endif
