/* SPDX-License-Identifier: BSD-3-Clause */
/* The edge broker as a destination: mosquitto_link.c with its settings. */
#include <string.h>

#include "controlplane/alarms/destination.h"
#include "controlplane/alarms/edge_settings.h"
#include "controlplane/alarms/publisher.h"

static void limits(const struct bp_destination_settings *s, struct bp_destination_limits *out)
{
	out->enabled = s->publisher.enabled;
	out->max_inflight = s->publisher.max_inflight;
	out->ack_timeout_ns = s->publisher.puback_timeout_ns;
	out->unreachable_after_ns = s->publisher.unreachable_after_ns;
}

static void fields(
	const struct bp_destination_settings *s, struct bp_log_field out[BP_DESTINATION_FIELDS])
{
	out[0] = (struct bp_log_field)BP_LOG_STR("broker", s->publisher.broker.host);
	out[1] = (struct bp_log_field)BP_LOG_NUM("tcp_port", s->publisher.broker.tcp_port);
}

static int check(const struct bp_destination_settings *s, char *err, size_t err_size)
{
	struct bp_edge_link_settings link;
	int rc = bp_edge_settings(&s->publisher, &link, err, err_size);

	explicit_bzero(&link, sizeof(link));
	return rc;
}

static void *new_link(struct event_base *base, const struct bp_link_events *events, void *arg)
{
	const struct bp_edge_link_events edge = {
		events->up, events->down, events->acked, events->ready};

	return bp_edge_link_new(base, &edge, arg);
}

static void free_link(void *link)
{
	bp_edge_link_free(link);
}

static int configure(
	void *link, const struct bp_destination_settings *s, char *err, size_t err_size)
{
	struct bp_edge_link_settings settings;
	int rc = bp_edge_settings(&s->publisher, &settings, err, err_size);

	if (rc == 0 && s->publisher.enabled)
		bp_edge_link_configure(link, &settings);
	explicit_bzero(&settings, sizeof(settings));
	return rc;
}

static bool up(const void *link)
{
	return bp_edge_link_up(link);
}

/* Its lines in the log have the reasons. */
static const char *link_error(const void *link)
{
	(void)link;
	return "";
}

static int send_message(void *link, const struct bp_link_message *m, uint16_t *mid)
{
	return bp_edge_link_publish(link, m->topic, m->payload, m->len, mid);
}

static void flush(void *link)
{
	bp_edge_link_flush(link);
}

static void reset(void *link, const char *why)
{
	bp_edge_link_reset(link, why);
}

const struct bp_destination bp_mqtt_destination = {
	.id = BP_TO_MQTT,
	.window_max = BP_PUBLISHER_WINDOW_MAX,
	.spool_suffix = "",
	.unreachable = BP_FAULT_EDGE_UNREACHABLE,
	.settings = BP_FAULT_EDGE_SETTINGS,
	.backlog = BP_FAULT_SPOOL_BACKLOG,
	.spool_error = BP_FAULT_SPOOL_ERROR,
	.limits = limits,
	.fields = fields,
	.check = check,
	.new = new_link,
	.free = free_link,
	.configure = configure,
	.up = up,
	.error = link_error,
	.send = send_message,
	.flush = flush,
	.reset = reset,
};
