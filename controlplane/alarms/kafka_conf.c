/* SPDX-License-Identifier: BSD-3-Clause */
/* The properties of the producer. */
#include "controlplane/alarms/kafka_conf.h"

#include <stdio.h>

/*
 * Maximum size of a batch of several messages, bytes. A larger message is a batch of its own, so a
 * batch that the brokers refuse for its size is one alarm, where a topic accepts this size.
 */
#define BATCH_SIZE "16384"
/* The state of connections is reported at this interval, the shortest one of the library. */
#define STATISTICS_MS "1000"
#define RECONNECT_MAX_MS "5000"

struct property {
	const char *name, *value;
};

/* Returns a configuration, or NULL with a sentence in `why`. */
static rd_kafka_conf_t *new_conf(const struct property *p, size_t n, char *why, size_t size)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	for (size_t i = 0; i < n; i++) {
		if (p[i].value[0] == '\0' || rd_kafka_conf_set(conf, p[i].name, p[i].value, why,
						     size) == RD_KAFKA_CONF_OK)
			continue;
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	return conf;
}

rd_kafka_conf_t *bp_kafka_conf(const struct bp_kafka_link_settings *s, char *why, size_t size)
{
	const bool sasl = s->username[0] != '\0';
	char max_size[24];
	const struct property properties[] = {
		{"bootstrap.servers", s->brokers},
		{"client.id", s->client_id},
		{"security.protocol", sasl ? (s->tls ? "sasl_ssl" : "sasl_plaintext")
					   : (s->tls ? "ssl" : "plaintext")},
		{"sasl.mechanism", sasl ? s->mechanism : ""},
		{"sasl.username", s->username},
		{"sasl.password", s->password},
		{"ssl.ca.location", s->ca_file},
		{"ssl.certificate.location", s->cert_file},
		{"ssl.key.location", s->key_file},
		{"ssl.endpoint.identification.algorithm", "https"},
		{"enable.idempotence", "true"},
		{"acks", "all"},
		{"message.timeout.ms", "0"}, /* none */
		{"linger.ms", "0"},
		{"batch.size", BATCH_SIZE},
		{"message.max.bytes", max_size},
		{"partitioner", "murmur2_random"}, /* as the clients in Java */
		{"statistics.interval.ms", STATISTICS_MS},
		{"reconnect.backoff.max.ms", RECONNECT_MAX_MS},
		{"log.queue", "true"},
	};

	snprintf(max_size, sizeof(max_size), "%llu", (unsigned long long)s->max_message_size);
	return new_conf(properties, sizeof(properties) / sizeof(properties[0]), why, size);
}
