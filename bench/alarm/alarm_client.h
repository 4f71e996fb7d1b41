/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ALARM_ALARM_CLIENT_H
#define BP_BENCH_ALARM_ALARM_CLIENT_H

#include <mosquitto.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the programs have in common that send measurements and wait for their alarms. */
#define BENCH_TOPIC "plant/1/temperature"
#define BENCH_ALARM_TOPIC "alarm/" BENCH_TOPIC
#define BENCH_PAYLOAD_MAX 32
#define BENCH_ALARM_BASE 1000 /* alarm i is of the value BASE + i: over every threshold */

uint64_t bench_alarm_now_ns(void); /* monotonic */
/* Ends the process with a sentence about one of libmosquitto's results. */
void bench_alarm_die(const char *what, int rc) __attribute__((noreturn));
/* Appends a line a time to the file. Ends the process when that fails. */
void bench_alarm_append(const char *path, const uint64_t *ns, unsigned n);
/* A value as payload: its text, or with `json` the object {"value": N}, for rules over members of
 * an object. Returns the length. */
int bench_alarm_payload(char text[static BENCH_PAYLOAD_MAX], unsigned value, bool json);
/* The value that is the payload, or the member "value" of an envelope. */
double bench_alarm_value(const struct mosquitto_message *msg);
/*
 * A client that has asked for a connection to `host`, without Nagle's delay; with `subscribe` it
 * has asked for that topic, too, and `*ready` becomes true when it has it. Ends the process when
 * something is refused.
 */
struct mosquitto *bench_alarm_client(const char *host, const char *subscribe,
	void (*on_message)(struct mosquitto *, void *, const struct mosquitto_message *),
	atomic_bool *ready);
/* Waits until `*ready` is true; ends the process when that takes too long. */
void bench_alarm_await(const atomic_bool *ready);
/*
 * A connected client that only publishes. It has no thread: mosquitto_publish() of QoS 0 writes to
 * the socket.
 */
struct mosquitto *bench_alarm_device(const char *host);
/*
 * Sockets of this thread are in this network namespace from now on ("/run/netns/NAME"), or again in
 * that of the process (NULL). Ends the process when that is refused.
 */
void bench_alarm_netns(const char *path);

#endif
