/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of rules with absent for a worker without traffic: 1,000,000 topics are watched, and
 * none is silent for too long. The clock is virtual, with a tick each 10 ms, as of a worker that
 * sleeps; other workers publish on each topic half a second before its deadline, which is not
 * timed. So an alarm may be due in each second, and the worker searches the whole table each
 * second, the most that it ever does. Prints a JSON object.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/topic_hash.h"
#include "tests/unit/services/mqtt/rig.h"

#define TOPICS 1000000u
#define SECOND 1000000000ull
#define TICK_NS 10000000ull
#define ABSENT_NS (10 * SECOND)
#define PERIOD_TICKS ((ABSENT_NS - SECOND / 2) / TICK_NS)
#define SECONDS 30u
#define OVER_TARGET 3 /* exit status: measured, but over the target */
#define TARGET 0.02

static struct rig rig;

static void die(const char *what)
{
	fprintf(stderr, "absence: %s\n", what);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void open_rig(void)
{
	struct bp_rule_spec rule = rig_rule("dead", "plant/#", BP_COND_GE, 10);

	rule.absent_ns = ABSENT_NS;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rig_defaults(&rig);
	rig.live = true;
	rig.mqtt.max_watched_topics = TOPICS;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

/* A publication on a topic through another worker. */
static void publish(uint32_t i)
{
	const struct bp_rule *rule = bp_ruleset_rule(rig.rules, 0);
	struct bp_watch_topic by = {.client = 1};
	uint64_t before, hash;

	by.topic_len = (uint16_t)snprintf(by.topic, sizeof(by.topic), "plant/%u/temperature", i);
	hash = bp_topic_hash_by(rig.shm.global->hash_key, (const uint8_t *)by.topic, by.topic_len);
	if (bp_watch_see(&rig.shm.watch, bp_watch_key(rule->uid, hash, rule->slot), rig.mono_ns,
		    false, &by, &before) == BP_WATCH_FULL)
		die("a topic is not watched");
}

int main(void)
{
	uint64_t spent = 0, longest = 0;

	open_rig();
	for (uint32_t i = 0; i < TOPICS; i++)
		publish(i);
	for (uint64_t n = 0; n < SECONDS * SECOND / TICK_NS; n++) {
		uint64_t begin, took;

		rig_advance(&rig, TICK_NS);
		for (uint64_t i = n % PERIOD_TICKS; i < TOPICS; i += PERIOD_TICKS)
			publish((uint32_t)i);
		begin = cpu_ns();
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
		took = cpu_ns() - begin;
		spent += took;
		longest = took > longest ? took : longest;
	}
	if (rig_count(&rig, BP_C_ALARM_RAISED) != 0)
		die("an alarm was raised");
	printf("{\"topics\": %u, \"share\": %.5f, \"longest_tick_us\": %.1f}\n", TOPICS,
		(double)spent / (SECONDS * (double)SECOND), (double)longest / 1e3);
	rig_close(&rig);
	return (double)spent > TARGET * SECONDS * (double)SECOND ? OVER_TARGET : 0;
}
