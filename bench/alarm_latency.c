/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from a device's publish to its alarm at a subscriber, both in this process and so by one
 * clock. --decide is the other half of the paper's scenario A: the application in the cloud that
 * subscribes, compares and publishes the alarm.
 */
#include <getopt.h>
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOPIC "plant/1/temperature"
#define ALARM_TOPIC "alarm/" TOPIC
#define BASE 1000 /* message i carries the value BASE + i: over every threshold, and its number */
#define COUNT_MAX 100000

static uint64_t sent_ns[COUNT_MAX], took_ns[COUNT_MAX];
static _Atomic unsigned arrived;
static atomic_bool ready;
static unsigned count = 1000;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, int rc)
{
	fprintf(stderr, "alarm_latency: %s: %s\n", what, mosquitto_strerror(rc));
	exit(1);
}

static void on_subscribed(struct mosquitto *m, void *arg, int mid, int n, const int *qos)
{
	(void)m, (void)arg, (void)mid, (void)n, (void)qos;
	atomic_store(&ready, true);
}

/* The value is the payload, or the member "value" of an envelope. */
static double value_of(const struct mosquitto_message *msg)
{
	char text[1024];
	const char *at;
	size_t n = (size_t)msg->payloadlen < sizeof(text) - 1 ? (size_t)msg->payloadlen
							      : sizeof(text) - 1;

	memcpy(text, msg->payload, n);
	text[n] = '\0';
	at = strstr(text, "\"value\":");
	return strtod(at != NULL ? at + 8 : text, NULL);
}

static void on_alarm(struct mosquitto *m, void *arg, const struct mosquitto_message *msg)
{
	uint64_t now = now_ns();
	double v = value_of(msg) - BASE;

	(void)m, (void)arg;
	if (v < 0 || v >= count || took_ns[(unsigned)v] != 0)
		return;
	took_ns[(unsigned)v] = now - sent_ns[(unsigned)v];
	atomic_fetch_add(&arrived, 1);
}

static void on_reading(struct mosquitto *m, void *arg, const struct mosquitto_message *msg)
{
	(void)arg;
	if (value_of(msg) > 80)
		mosquitto_publish(m, NULL, ALARM_TOPIC, msg->payloadlen, msg->payload, 1, false);
}

static struct mosquitto *client(const char *host, const char *subscribe,
	void (*on_message)(struct mosquitto *, void *, const struct mosquitto_message *))
{
	struct mosquitto *m = mosquitto_new(NULL, true, NULL);
	int rc;

	mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_message_callback_set(m, on_message);
	mosquitto_subscribe_callback_set(m, on_subscribed);
	rc = mosquitto_connect(m, host, 1883, 60);
	if (rc != MOSQ_ERR_SUCCESS)
		die(host, rc);
	if (subscribe != NULL) {
		rc = mosquitto_subscribe(m, NULL, subscribe, 1);
		if (rc != MOSQ_ERR_SUCCESS)
			die(subscribe, rc);
	}
	return m;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double percentile_us(double p)
{
	unsigned i = (unsigned)(p * (count - 1) + 0.5);

	return (double)took_ns[i] / 1e3;
}

int main(int argc, char **argv)
{
	const char *to = NULL, *alarms = NULL;
	bool decide = false;
	unsigned interval_us = 2000;
	struct mosquitto *device, *edge;
	int c;

	while ((c = getopt(argc, argv, "p:a:n:i:d")) != -1) {
		if (c == 'p')
			to = optarg;
		else if (c == 'a')
			alarms = optarg;
		else if (c == 'n')
			count = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'i')
			interval_us = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'd')
			decide = true;
	}
	if (to == NULL || (alarms == NULL && !decide) || count == 0 || count > COUNT_MAX) {
		fprintf(stderr, "usage: alarm_latency -p BROKER -a ALARM_BROKER [-n COUNT] "
				"[-i MICROSECONDS] | -d -p BROKER\n");
		return 64;
	}
	mosquitto_lib_init();
	if (decide) {
		device = client(to, TOPIC, on_reading);
		return mosquitto_loop_forever(device, -1, 1) != MOSQ_ERR_SUCCESS;
	}
	edge = client(alarms, ALARM_TOPIC, on_alarm);
	mosquitto_loop_start(edge);
	for (unsigned i = 0; !atomic_load(&ready); i++) {
		if (i == 5000)
			die("subscription", MOSQ_ERR_NO_CONN);
		usleep(1000);
	}
	device = client(to, NULL, NULL);
	mosquitto_loop_start(device);
	usleep(200000); /* CONNECT and CONNACK of both are through */
	for (unsigned i = 0; i < count; i++) {
		char text[16];
		int n = snprintf(text, sizeof(text), "%u", BASE + i);

		sent_ns[i] = now_ns();
		mosquitto_publish(device, NULL, TOPIC, n, text, 0, false);
		usleep(interval_us);
	}
	for (unsigned i = 0; atomic_load(&arrived) < count && i < 5000; i++)
		usleep(1000);
	if (atomic_load(&arrived) < count) {
		fprintf(stderr, "alarm_latency: %u of %u alarms arrived\n", atomic_load(&arrived),
			count);
		return 1;
	}
	qsort(took_ns, count, sizeof(took_ns[0]), by_value);
	printf("{\"alarms\": %u, \"median_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n",
		count, percentile_us(0.5), percentile_us(0.99), percentile_us(0.999));
	return 0;
}
