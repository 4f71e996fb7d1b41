/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from a device's publish to its alarm at a subscriber, both in this process and so by one
 * clock. -d is the other half of the paper's scenario A: the application in the cloud that
 * subscribes, compares and publishes the alarm. -f: the device publishes the alarm itself, so
 * that nothing lies between its publish and the alarm's broker: what no decision can be faster
 * than. -N: the subscriber is in this network namespace, at the side of the alarm's broker.
 * -j: the payload is the JSON object {"value": N} instead of the text N.
 */
#include <getopt.h>
#include <inttypes.h>
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/alarm/alarm_client.h"
#include "bench/harness/percentiles.h"

#define COUNT_MAX 100000
#define PATIENCE 250u
#define PATIENCE_US 20000u

static uint64_t sent_ns[COUNT_MAX], took_ns[COUNT_MAX];
static _Atomic unsigned arrived;
static atomic_bool ready, connected;
static unsigned count = 1000;
static bool json;

static void on_alarm(struct mosquitto *m, void *arg, const struct mosquitto_message *msg)
{
	uint64_t now = bench_alarm_now_ns();
	double v = bench_alarm_value(msg) - BENCH_ALARM_BASE;

	(void)m, (void)arg;
	atomic_store(&connected, true);
	if (v < 0 || v >= count || took_ns[(unsigned)v] != 0)
		return;
	took_ns[(unsigned)v] = now - sent_ns[(unsigned)v];
	atomic_fetch_add(&arrived, 1);
}

static void on_reading(struct mosquitto *m, void *arg, const struct mosquitto_message *msg)
{
	(void)arg;
	if (bench_alarm_value(msg) > 80)
		mosquitto_publish(
			m, NULL, BENCH_ALARM_TOPIC, msg->payloadlen, msg->payload, 1, false);
}

/* Publishes values of no alarm that is counted until one arrives: the whole path works. */
static void await_path(struct mosquitto *device, const char *topic)
{
	char text[BENCH_PAYLOAD_MAX];
	const int n = bench_alarm_payload(text, BENCH_ALARM_BASE + count, json);

	for (unsigned i = 0; !atomic_load(&connected); i++) {
		if (i == PATIENCE)
			bench_alarm_die("no alarm", MOSQ_ERR_NO_CONN);
		mosquitto_publish(device, NULL, topic, n, text, 0, false);
		usleep(PATIENCE_US);
	}
	usleep(PATIENCE_US);
}

static void print(unsigned n)
{
	printf("{\"alarms\": %u, ", n);
	bench_percentiles(took_ns, n);
	puts("}");
}

/* Prints the percentiles of the times of several runs. */
static int merge(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned n = 0;

	while (f != NULL && n < COUNT_MAX && fscanf(f, "%" SCNu64, &took_ns[n]) == 1)
		n++;
	if (n == 0) {
		fprintf(stderr, "alarm_latency: no times in %s\n", path);
		return 1;
	}
	fclose(f);
	print(n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *to = NULL, *alarms = NULL, *times = NULL, *netns = NULL, *topic = BENCH_TOPIC;
	bool decide = false;
	unsigned interval_us = 2000;
	struct mosquitto *device, *edge;
	int c;

	while ((c = getopt(argc, argv, "p:a:n:i:w:m:N:dfj")) != -1) {
		if (c == 'p')
			to = optarg;
		else if (c == 'a')
			alarms = optarg;
		else if (c == 'n')
			count = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'i')
			interval_us = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'w')
			times = optarg;
		else if (c == 'm')
			return merge(optarg);
		else if (c == 'N')
			netns = optarg;
		else if (c == 'd')
			decide = true;
		else if (c == 'f')
			topic = BENCH_ALARM_TOPIC;
		else if (c == 'j')
			json = true;
	}
	if (to == NULL || (alarms == NULL && !decide) || count == 0 || count > COUNT_MAX) {
		fprintf(stderr, "usage: alarm_latency -p BROKER -a ALARM_BROKER [-n COUNT] "
				"[-i MICROSECONDS] [-w TIMES] [-N NETNS] [-f] [-j] | -d -p BROKER "
				"| -m TIMES\n");
		return 64;
	}
	mosquitto_lib_init();
	if (decide) {
		device = bench_alarm_client(to, BENCH_TOPIC, on_reading, &ready);
		return mosquitto_loop_forever(device, -1, 1) != MOSQ_ERR_SUCCESS;
	}
	if (netns != NULL)
		bench_alarm_netns(netns);
	edge = bench_alarm_client(alarms, BENCH_ALARM_TOPIC, on_alarm, &ready);
	mosquitto_loop_start(edge);
	bench_alarm_await(&ready);
	bench_alarm_netns(NULL);
	device = bench_alarm_device(to);
	await_path(device, topic);
	for (unsigned i = 0; i < count; i++) {
		char text[BENCH_PAYLOAD_MAX];
		const int n = bench_alarm_payload(text, BENCH_ALARM_BASE + i, json);

		sent_ns[i] = bench_alarm_now_ns();
		mosquitto_publish(device, NULL, topic, n, text, 0, false);
		usleep(interval_us);
	}
	for (unsigned i = 0; atomic_load(&arrived) < count && i < 5000; i++)
		usleep(1000);
	if (atomic_load(&arrived) < count) {
		fprintf(stderr, "alarm_latency: %u of %u alarms arrived\n", atomic_load(&arrived),
			count);
		return 1;
	}
	if (times != NULL)
		bench_alarm_append(times, took_ns, count);
	print(count);
	return 0;
}
