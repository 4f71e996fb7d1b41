/* SPDX-License-Identifier: BSD-3-Clause */
/* The Kafka cluster as a destination: kafka_link.c with its settings. */
#include <stdio.h>
#include <string.h>

#include "controlplane/alarms/credentials.h"
#include "controlplane/alarms/destination.h"
#include "controlplane/alarms/kafka_link.h"
#include "controlplane/alarms/publisher.h"

#define WHO "Kafka's"

static void limits(const struct bp_destination_settings *s, struct bp_destination_limits *out)
{
	out->enabled = s->kafka.enabled;
	out->max_inflight = s->kafka.max_inflight;
	out->ack_timeout_ns = s->kafka.ack_timeout_ns;
	out->unreachable_after_ns = s->kafka.unreachable_after_ns;
}

static void fields(
	const struct bp_destination_settings *s, struct bp_log_field out[BP_DESTINATION_FIELDS])
{
	out[0] = (struct bp_log_field)BP_LOG_STR("brokers", s->kafka.brokers.list);
	out[1] = (struct bp_log_field)BP_LOG_STR("topic", s->kafka.topic);
}

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static int read_settings(const struct bp_config_kafka *k, struct bp_kafka_link_settings *out,
	char *err, size_t err_size)
{
	static const char *const mechanisms[] = {[BP_SASL_SCRAM_SHA_512] = "SCRAM-SHA-512",
		[BP_SASL_SCRAM_SHA_256] = "SCRAM-SHA-256",
		[BP_SASL_PLAIN] = "PLAIN"};

	memset(out, 0, sizeof(*out));
	copy(out->brokers, sizeof(out->brokers), k->brokers.list);
	copy(out->topic, sizeof(out->topic), k->topic);
	copy(out->client_id, sizeof(out->client_id), k->client_id);
	copy(out->username, sizeof(out->username), k->username);
	copy(out->ca_file, sizeof(out->ca_file), k->ca_file);
	copy(out->cert_file, sizeof(out->cert_file), k->cert_file);
	copy(out->key_file, sizeof(out->key_file), k->key_file);
	out->mechanism = mechanisms[k->sasl];
	out->tls = k->brokers.tls;
	out->max_message_size = k->max_message_size;
	if (bp_tls_file_check(WHO, "mqtt.kafka.tls.ca", k->ca_file, err, err_size) != 0 ||
		bp_tls_file_check(WHO, "mqtt.kafka.tls.cert", k->cert_file, err, err_size) != 0 ||
		bp_tls_file_check(WHO, "mqtt.kafka.tls.key", k->key_file, err, err_size) != 0)
		return -1;
	if (k->password_file[0] == '\0')
		return 0;
	return bp_password_read(
		WHO, k->password_file, out->password, sizeof(out->password), err, err_size);
}

static int check(const struct bp_destination_settings *s, char *err, size_t err_size)
{
	struct bp_kafka_link_settings link;
	int rc = s->kafka.enabled ? read_settings(&s->kafka, &link, err, err_size) : 0;

	explicit_bzero(&link, sizeof(link));
	return rc;
}

static void *new_link(struct event_base *base, const struct bp_link_events *events, void *arg)
{
	return bp_kafka_link_new(base, events, arg);
}

static void free_link(void *link)
{
	bp_kafka_link_free(link);
}

static int configure(
	void *link, const struct bp_destination_settings *s, char *err, size_t err_size)
{
	struct bp_kafka_link_settings settings;
	int rc = read_settings(&s->kafka, &settings, err, err_size);

	if (rc == 0)
		bp_kafka_link_configure(link, &settings);
	explicit_bzero(&settings, sizeof(settings));
	return rc;
}

static bool up(const void *link)
{
	return bp_kafka_link_up(link);
}

static void brokers(const void *link, uint32_t *known, uint32_t *connected)
{
	bp_kafka_link_brokers(link, known, connected);
}

static const char *link_error(const void *link)
{
	return bp_kafka_link_error(link);
}

static int send_message(void *link, const struct bp_link_message *m, uint16_t *mid)
{
	return bp_kafka_link_send(link, m, mid);
}

/* The library sends by itself. */
static void flush(void *link)
{
	(void)link;
}

static void reset(void *link, const char *why)
{
	bp_kafka_link_reset(link, why);
}

const struct bp_destination bp_kafka_destination = {
	.id = BP_TO_KAFKA,
	.repeats = true,
	.window_max = BP_PUBLISHER_WINDOW_MAX,
	.spool_suffix = ".kafka",
	.unreachable = BP_FAULT_KAFKA_UNREACHABLE,
	.settings = BP_FAULT_KAFKA_SETTINGS,
	.backlog = BP_FAULT_KAFKA_BACKLOG,
	.spool_error = BP_FAULT_KAFKA_SPOOL_ERROR,
	.limits = limits,
	.fields = fields,
	.check = check,
	.new = new_link,
	.free = free_link,
	.configure = configure,
	.up = up,
	.brokers = brokers,
	.error = link_error,
	.send = send_message,
	.flush = flush,
	.reset = reset,
};
