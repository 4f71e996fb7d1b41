/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the reports of holds cost a worker: the same publications for a rule with hold, in a
 * gateway of a fleet and in one without a fleet, by turns. The control plane of the first one is
 * not part of the time: its ring of reports is emptied in between. Prints a JSON object with the
 * CPU time of a publication, ns, as the median of all turns, and the median and the quartiles of
 * the differences of pairs of turns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "biplane/counters/mqtt.h"
#include "shm/mqtt/mqtt_tables.h"
#include "tests/unit/services/mqtt/rig.h"

#define TOPICS 256u
#define PUBLICATIONS 2048u /* of a turn */
#define CHUNK 128u         /* their reports fit in half of the ring */
#define PAIRS_MAX 10000u

static struct gateway {
	struct rig rig;
	struct peer client;
} gateway[2]; /* without and with a fleet */

static void die(const char *what)
{
	fprintf(stderr, "hold_reports: %s\n", what);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void open_gateway(struct gateway *g, bool fleet)
{
	struct bp_rule_spec rule = rig_rule("r", "t/#", BP_COND_GT, 80),
			    clear = rig_rule("r", "t/#", BP_COND_LT, 75);

	rule.has_clear = true;
	rule.clear = clear.raise;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rule.hold = BP_HOLD_COUNT;
	rule.hold_count = 1000000000; /* never raised */
	rig_defaults(&g->rig);
	g->rig.config.fleet.state.enabled = fleet;
	g->rig.mqtt.max_alarm_states = 65536;
	g->rig.trust_checksums = true;
	rig_open(&g->rig);
	rig_rules(&g->rig, &rule, 1);
	peer_init(&g->client, false, 1, 1, 2);
	rig_connect(&g->rig, &g->client, 4, "sensor");
}

/* Values of two rounds over the topics, each the same for all of them. */
static double turn(struct gateway *g, const char *const value[2])
{
	struct rig_frames f = {0};
	uint64_t sum = 0;
	char topic[16];

	rig_advance(&g->rig, 1000000);
	g->rig.record = &f;
	for (unsigned i = 0; i < PUBLICATIONS; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i % TOPICS);
		rig_publish_text(&g->rig, &g->client, topic, value[i / TOPICS % 2]);
	}
	g->rig.record = NULL;
	for (size_t at = 0; at < f.n; at += CHUNK) {
		const uint64_t before = cpu_ns();

		for (size_t i = at; i < at + CHUNK && i < f.n; i++)
			rig_frame(&g->rig, f.frame[i].p, f.frame[i].n);
		rig_flush(&g->rig);
		sum += cpu_ns() - before;
		bp_ring_release_all(&g->rig.shm.adopt_requests[0]);
	}
	rig_frames_free(&f);
	return (double)sum / PUBLICATIONS;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(const char *name, const char *first, const char *second, unsigned pairs)
{
	static double without[PAIRS_MAX], with[PAIRS_MAX], difference[PAIRS_MAX];
	const char *const value[2] = {first, second};

	for (unsigned i = 0; i < pairs; i++) {
		if (i % 2 == 0)
			without[i] = turn(&gateway[0], value);
		with[i] = turn(&gateway[1], value);
		if (i % 2 != 0)
			without[i] = turn(&gateway[0], value);
		difference[i] = with[i] - without[i];
	}
	qsort(without, pairs, sizeof(double), compare);
	qsort(with, pairs, sizeof(double), compare);
	qsort(difference, pairs, sizeof(double), compare);
	printf("\"%s\": {\"without_ns\": %.1f, \"with_ns\": %.1f, \"difference_ns\": %.1f, "
	       "\"quartiles_ns\": [%.1f, %.1f]}",
		name, without[pairs / 2], with[pairs / 2], difference[pairs / 2],
		difference[pairs / 4], difference[3 * pairs / 4]);
}

int main(int argc, char **argv)
{
	const int pairs = argc > 1 ? atoi(argv[1]) : 300;

	if (pairs < 4 || pairs > (int)PAIRS_MAX)
		die("usage: hold_reports [PAIRS], from 4 to 10000");
	open_gateway(&gateway[0], false);
	open_gateway(&gateway[1], true);
	printf("{");
	measure("count", "81", "81", (unsigned)pairs);
	printf(", ");
	measure("begin_and_end", "81", "70", (unsigned)pairs);
	printf(", ");
	measure("no_hold", "70", "70", (unsigned)pairs);
	printf(", \"not_reported\": %" PRIu64 "}\n",
		rig_count(&gateway[1].rig, BP_C_FLEET_HOLD_NOT_REPORTED));
	for (unsigned i = 0; i < 2; i++)
		rig_close(&gateway[i].rig);
	return 0;
}
