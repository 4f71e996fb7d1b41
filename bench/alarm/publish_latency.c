/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from a PUBLISH of QoS 1 to its PUBACK, one at a time: the way to a broker and back, and
 * what is in it.
 */
#include <getopt.h>
#include <mosquitto.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/harness/percentiles.h"

#define COUNT_MAX 100000

static sem_t acknowledged;
static uint64_t acknowledged_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_publish(struct mosquitto *m, void *arg, int mid)
{
	(void)m, (void)arg, (void)mid;
	acknowledged_ns = now_ns();
	sem_post(&acknowledged);
}

static void on_connect(struct mosquitto *m, void *arg, int rc)
{
	(void)m, (void)arg;
	if (rc == 0)
		sem_post(&acknowledged);
}

static void await(const char *what)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	if (sem_timedwait(&acknowledged, &end) != 0) {
		fprintf(stderr, "publish_latency: no %s in 20 s\n", what);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static uint64_t took_ns[COUNT_MAX];
	const char *broker = NULL;
	unsigned count = 1000, interval_us = 2000;
	struct mosquitto *m;
	int c;

	while ((c = getopt(argc, argv, "p:n:i:")) != -1) {
		if (c == 'p')
			broker = optarg;
		else if (c == 'n')
			count = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'i')
			interval_us = (unsigned)strtoul(optarg, NULL, 10);
	}
	if (broker == NULL || count == 0 || count > COUNT_MAX) {
		fputs("usage: publish_latency -p BROKER [-n COUNT] [-i MICROSECONDS]\n", stderr);
		return 64;
	}
	sem_init(&acknowledged, 0, 0);
	mosquitto_lib_init();
	m = mosquitto_new(NULL, true, NULL);
	mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_connect_callback_set(m, on_connect);
	mosquitto_publish_callback_set(m, on_publish);
	if (mosquitto_connect(m, broker, 1883, 60) != MOSQ_ERR_SUCCESS) {
		fprintf(stderr, "publish_latency: %s: no connection\n", broker);
		return 1;
	}
	mosquitto_loop_start(m);
	await("CONNACK");
	for (unsigned i = 0; i < count; i++) {
		const uint64_t began = now_ns();

		mosquitto_publish(m, NULL, "plant/1/temperature", 2, "20", 1, false);
		await("PUBACK");
		took_ns[i] = acknowledged_ns - began;
		usleep(interval_us);
	}
	printf("{\"messages\": %u, ", count);
	bench_percentiles(took_ns, count);
	puts("}");
	return 0;
}
