/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/alarm/alarm_client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000u
#define STEP_MS 10

uint64_t bench_alarm_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_alarm_die(const char *what, int rc)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		mosquitto_strerror(rc));
	exit(1);
}

void bench_alarm_append(const char *path, const uint64_t *ns, unsigned n)
{
	FILE *f = fopen(path, "a");

	for (unsigned i = 0; f != NULL && i < n; i++)
		fprintf(f, "%" PRIu64 "\n", ns[i]);
	if (f == NULL || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

int bench_alarm_payload(char text[static BENCH_PAYLOAD_MAX], unsigned value, bool json)
{
	return snprintf(text, BENCH_PAYLOAD_MAX, json ? "{\"value\": %u}" : "%u", value);
}

double bench_alarm_value(const struct mosquitto_message *msg)
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

static void on_subscribed(struct mosquitto *m, void *ready, int mid, int n, const int *qos)
{
	(void)m, (void)mid, (void)n, (void)qos;
	if (ready != NULL)
		atomic_store((atomic_bool *)ready, true);
}

struct mosquitto *bench_alarm_client(const char *host, const char *subscribe,
	void (*on_message)(struct mosquitto *, void *, const struct mosquitto_message *),
	atomic_bool *ready)
{
	struct mosquitto *m = mosquitto_new(NULL, true, ready);
	int rc;

	mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_message_callback_set(m, on_message);
	mosquitto_subscribe_callback_set(m, on_subscribed);
	rc = mosquitto_connect(m, host, 1883, 60);
	if (rc != MOSQ_ERR_SUCCESS)
		bench_alarm_die(host, rc);
	if (subscribe != NULL) {
		rc = mosquitto_subscribe(m, NULL, subscribe, 1);
		if (rc != MOSQ_ERR_SUCCESS)
			bench_alarm_die(subscribe, rc);
	}
	return m;
}

void bench_alarm_await(const atomic_bool *ready)
{
	for (unsigned i = 0; !atomic_load(ready); i++) {
		if (i == PATIENCE_MS)
			bench_alarm_die("subscription", MOSQ_ERR_NO_CONN);
		usleep(1000);
	}
}

static void on_connect(struct mosquitto *m, void *connected, int rc)
{
	(void)m;
	if (rc != 0)
		bench_alarm_die("connection", MOSQ_ERR_CONN_REFUSED);
	atomic_store((atomic_bool *)connected, true);
}

struct mosquitto *bench_alarm_device(const char *host)
{
	atomic_bool connected = false;
	struct mosquitto *m = bench_alarm_client(host, NULL, NULL, &connected);
	int rc;

	mosquitto_connect_callback_set(m, on_connect);
	while (!atomic_load(&connected)) {
		rc = mosquitto_loop(m, STEP_MS, 1);
		if (rc != MOSQ_ERR_SUCCESS)
			bench_alarm_die(host, rc);
	}
	mosquitto_user_data_set(m, NULL); /* `connected` ends */
	return m;
}

void bench_alarm_netns(const char *path)
{
	static int own = -1;
	int fd;

	if (own < 0)
		own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : own;
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
		fprintf(stderr, "%s: network namespace %s: %s\n", program_invocation_short_name,
			path != NULL ? path : "of the process", strerror(errno));
		exit(1);
	}
	if (path != NULL)
		close(fd);
}
