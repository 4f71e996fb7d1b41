/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from a PUBLISH of QoS 1 to its PUBACK, one at a time: the way to a broker and back, and
 * what is in it.
 */
#include <getopt.h>
#include <mosquitto.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/alarm/alarm_client.h"
#include "bench/harness/percentiles.h"

#define COUNT_MAX 100000
#define STEP_MS 1000
#define STEPS 20u

static bool acknowledged;

static void on_publish(struct mosquitto *m, void *arg, int mid)
{
	(void)m, (void)arg, (void)mid;
	acknowledged = true;
}

/* One thread sends and receives, as in a device: handing over to another is not measured. */
static void await_puback(struct mosquitto *m)
{
	int rc = MOSQ_ERR_SUCCESS;

	for (unsigned i = 0; !acknowledged && i < STEPS && rc == MOSQ_ERR_SUCCESS; i++)
		rc = mosquitto_loop(m, STEP_MS, 1);
	if (!acknowledged)
		bench_alarm_die("no PUBACK", rc);
	acknowledged = false;
}

int main(int argc, char **argv)
{
	static uint64_t took_ns[COUNT_MAX];
	const char *broker = NULL, *times = NULL;
	unsigned count = 1000, interval_us = 2000;
	struct mosquitto *m;
	int c;

	while ((c = getopt(argc, argv, "p:n:i:w:")) != -1) {
		if (c == 'p')
			broker = optarg;
		else if (c == 'n')
			count = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'i')
			interval_us = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'w')
			times = optarg;
	}
	if (broker == NULL || count == 0 || count > COUNT_MAX) {
		fputs("usage: publish_latency -p BROKER [-n COUNT] [-i MICROSECONDS] [-w TIMES]\n",
			stderr);
		return 64;
	}
	mosquitto_lib_init();
	m = bench_alarm_device(broker);
	mosquitto_publish_callback_set(m, on_publish);
	for (unsigned i = 0; i < count; i++) {
		const uint64_t began = bench_alarm_now_ns();

		mosquitto_publish(m, NULL, BENCH_TOPIC, 2, "20", 1, false);
		await_puback(m);
		took_ns[i] = bench_alarm_now_ns() - began;
		usleep(interval_us);
	}
	if (times != NULL)
		bench_alarm_append(times, took_ns, count);
	printf("{\"messages\": %u, ", count);
	bench_percentiles(took_ns, count);
	puts("}");
	return 0;
}
