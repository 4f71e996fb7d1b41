/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_KAFKA_LINK_H
#define BP_CONTROLPLANE_ALARMS_KAFKA_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/alarms/destination.h"

/*
 * The producer of a Kafka cluster: librdkafka in a libevent loop. The library has threads of its
 * own, which connect, send and repeat; this loop reads its events from one queue, of which a pipe
 * reports that it is not empty, and never waits for it.
 *
 * The producer is idempotent, with acks=all and without a timeout of messages: the library repeats
 * each message in the order of its partition until the brokers have stored it or refuse it for
 * ever. So while no broker can be reached, messages stay in flight.
 *
 * When the producer cannot continue (a fatal error of the library, a topic that does not exist or
 * is not permitted), it is replaced by a new one after a backoff of 100 ms to 5 s. The old one ends
 * in a thread, because the library then waits for its threads. The next one starts after this end,
 * so that no message of the old one arrives after those of the new one.
 */
struct bp_kafka_link;

struct bp_kafka_link_settings {
	char brokers[1024]; /* HOST:PORT,... */
	char topic[250];
	char client_id[128];
	char username[128]; /* "": no SASL */
	char password[256];
	const char *mechanism; /* a constant */
	bool tls;
	char ca_file[512]; /* "": the system's certificate store */
	char cert_file[512], key_file[512];
	uint64_t max_message_size;
};

/* NULL without memory. Starts no thread before the first bp_kafka_link_configure(). */
struct bp_kafka_link *bp_kafka_link_new(
	struct event_base *base, const struct bp_link_events *events, void *arg);
/* Waits at most a second for the threads of the library. */
void bp_kafka_link_free(struct bp_kafka_link *l);

/* Applies the settings; replaces the producer, and calls `down`, if they differ from the current
 * ones. */
void bp_kafka_link_configure(
	struct bp_kafka_link *l, const struct bp_kafka_link_settings *settings);

/* Returns whether a broker is connected. */
bool bp_kafka_link_up(const struct bp_kafka_link *l);
/* How many brokers the library knows from the cluster, and how many connections it has. */
void bp_kafka_link_brokers(const struct bp_kafka_link *l, uint32_t *known, uint32_t *connected);
int bp_kafka_link_send(struct bp_kafka_link *l, const struct bp_link_message *m, uint16_t *mid);
/* Replaces the producer. Calls `down`. */
void bp_kafka_link_reset(struct bp_kafka_link *l, const char *why);
/* Why alarms are not stored: the reason for which the last producer could not continue, or the last
 * error of the library; "": none since an alarm was stored or a broker was connected. */
const char *bp_kafka_link_error(const struct bp_kafka_link *l);

#endif
