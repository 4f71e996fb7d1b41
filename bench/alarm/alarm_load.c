/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements at a rate, from several devices with a connection each, of which every so many is
 * over the threshold and must come back as an alarm. Sender and subscriber are in this process and
 * so by one clock. Prints one JSON object: what was sent, which alarms came, how late the last one
 * was after the last measurement and how many a second that makes of all, the latency of all, and
 * the processor time of those who worked on it.
 *
 *   alarm_load -p BROKER -a ALARM_BROKER [-r RATE] [-t SECONDS] [-o PERCENT] [-c DEVICES]
 *              [-N NETNS] [-T PLANT] [-j] [-P NAME=PID,...]...
 *
 * -N: the subscriber is in this network namespace, at the side of the alarm's broker.
 * -T: number in the topics; processes with different numbers can run at the same time.
 * -j: a measurement is the JSON object {"value": N} instead of the text N.
 *
 * Each device's measurement is a segment of its own, as devices send them. Where the rate cannot be
 * kept up since TCP holds a device back, less is sent, and `per_second` says how much.
 */
#include <getopt.h>
#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/alarm/alarm_client.h"
#include "bench/harness/cpu_of.h"
#include "bench/harness/percentiles.h"

#define ALARMS_MAX (1u << 20)
#define DEVICES_MAX 64u
#define STEP_MS 10
#define QUIET_MS 3000u /* without an alarm: the rest will not come */
/* What is late by more than this part of a second, after a pause of this process, is not sent at
 * once: a burst is not what is measured. */
#define LATE 20u

static uint64_t sent_ns[ALARMS_MAX], took_ns[ALARMS_MAX];
static _Atomic unsigned arrived, made;
static _Atomic uint64_t last_ns;
static atomic_bool ready;
static char topic[32] = BENCH_TOPIC, alarm_topic[48] = BENCH_ALARM_TOPIC;
static bool json;

static void on_alarm(struct mosquitto *m, void *arg, const struct mosquitto_message *msg)
{
	const uint64_t now = bench_alarm_now_ns();
	const double v = bench_alarm_value(msg) - BENCH_ALARM_BASE;

	(void)m, (void)arg;
	/* an alarm that comes again counts once */
	if (v < 0 || v >= atomic_load(&made) || took_ns[(unsigned)v] != 0)
		return;
	took_ns[(unsigned)v] = now - sent_ns[(unsigned)v];
	atomic_store(&last_ns, now);
	atomic_fetch_add(&arrived, 1);
}

static void step(struct mosquitto *m)
{
	const int rc = mosquitto_loop(m, STEP_MS, 1);

	if (rc != MOSQ_ERR_SUCCESS)
		bench_alarm_die("a device", rc);
}

static void publish(struct mosquitto *m, const char *text, int len)
{
	int rc = mosquitto_publish(m, NULL, topic, len, text, 0, false);

	if (rc != MOSQ_ERR_SUCCESS)
		bench_alarm_die("a measurement", rc);
	while (mosquitto_want_write(m)) /* TCP holds it back */
		step(m);
}

/* The number of measurements. */
static uint64_t send_all(
	struct mosquitto *device[], unsigned n, double rate, double seconds, unsigned percent)
{
	uint64_t begin = bench_alarm_now_ns(), sent = 0;
	const uint64_t end = begin + (uint64_t)(seconds * 1e9);
	char text[BENCH_PAYLOAD_MAX];

	for (uint64_t now = begin; now < end; now = bench_alarm_now_ns()) {
		const uint64_t due = (uint64_t)((double)(now - begin) * rate / 1e9);
		const unsigned a = atomic_load(&made);

		if (sent >= due) {
			nanosleep(&(struct timespec){0, 50000}, NULL);
			continue;
		}
		if (due - sent > rate / LATE + 1) {
			begin += (uint64_t)((double)(due - sent) / rate * 1e9);
			continue;
		}
		if (sent * percent / 100 != (sent + 1) * percent / 100 && a < ALARMS_MAX) {
			sent_ns[a] = now;
			atomic_store(&made, a + 1);
			publish(device[sent % n], text,
				bench_alarm_payload(text, BENCH_ALARM_BASE + a, json));
		} else {
			publish(device[sent % n], text, bench_alarm_payload(text, 20, json));
		}
		sent++;
	}
	return sent;
}

static void await_alarms(void)
{
	unsigned before = atomic_load(&arrived), quiet = 0;

	while (atomic_load(&arrived) < atomic_load(&made) && quiet < QUIET_MS) {
		usleep(1000);
		quiet = atomic_load(&arrived) == before ? quiet + 1 : 0;
		before = atomic_load(&arrived);
	}
}

static void print_latency(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < atomic_load(&made); i++)
		if (took_ns[i] != 0)
			took_ns[n++] = took_ns[i];
	if (n != 0) {
		printf(", \"latency\": {");
		bench_percentiles(took_ns, n);
		putchar('}');
	} else {
		printf(", \"latency\": null");
	}
}

/* Topics of this plant: several processes at a time receive their own alarms. */
static void set_plant(unsigned plant)
{
	snprintf(topic, sizeof(topic), "plant/%u/temperature", plant);
	snprintf(alarm_topic, sizeof(alarm_topic), "alarm/%s", topic);
}

int main(int argc, char **argv)
{
	static struct mosquitto *device[DEVICES_MAX];
	static struct bench_cpu cpu;
	const char *to = NULL, *alarms = NULL, *netns = NULL;
	double rate = 1000, seconds = 1;
	unsigned percent = 10, n = 16;
	uint64_t sent, begin, end, last;
	struct mosquitto *edge;
	bool usage = false;
	int c;

	while ((c = getopt(argc, argv, "p:a:r:t:o:c:N:T:jP:")) != -1) {
		if (c == 'p')
			to = optarg;
		else if (c == 'a')
			alarms = optarg;
		else if (c == 'r')
			rate = strtod(optarg, NULL);
		else if (c == 't')
			seconds = strtod(optarg, NULL);
		else if (c == 'o')
			percent = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'N')
			netns = optarg;
		else if (c == 'T')
			set_plant((unsigned)strtoul(optarg, NULL, 10));
		else if (c == 'c')
			n = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'j')
			json = true;
		else if (c != 'P' || bench_cpu_add(&cpu, optarg) != 0)
			usage = true;
	}
	if (usage || to == NULL || alarms == NULL || !(rate > 0) || !(seconds > 0) ||
		percent == 0 || percent > 100 || n == 0 || n > DEVICES_MAX) {
		fprintf(stderr,
			"usage: alarm_load -p BROKER -a ALARM_BROKER [-r RATE] "
			"[-t SECONDS] [-o PERCENT] [-c DEVICES] [-N NETNS] [-T PLANT] [-j] [-P "
			"NAME=PID,...]...\n");
		return 64;
	}
	mosquitto_lib_init();
	if (netns != NULL)
		bench_alarm_netns(netns);
	edge = bench_alarm_client(alarms, alarm_topic, on_alarm, &ready);
	mosquitto_loop_start(edge);
	bench_alarm_await(&ready);
	bench_alarm_netns(NULL);
	for (unsigned i = 0; i < n; i++)
		device[i] = bench_alarm_device(to);
	bench_cpu_begin(&cpu);
	begin = bench_alarm_now_ns();
	sent = send_all(device, n, rate, seconds, percent);
	end = bench_alarm_now_ns();
	await_alarms();
	last = atomic_load(&last_ns) > end ? atomic_load(&last_ns) : end;
	printf("{\"rate\": %.0f, \"sent\": %llu, \"per_second\": %.0f"
	       ", \"finished_per_second\": %.0f, \"due\": %u, \"alarms\": %u"
	       ", \"lost\": %u, \"behind_ms\": %.1f, ",
		rate, (unsigned long long)sent, (double)sent / ((double)(end - begin) / 1e9),
		(double)sent / ((double)(last - begin) / 1e9), atomic_load(&made),
		atomic_load(&arrived), atomic_load(&made) - atomic_load(&arrived),
		(double)(last - end) / 1e6);
	bench_cpu_print(&cpu);
	print_latency();
	puts("}");
	return 0;
}
