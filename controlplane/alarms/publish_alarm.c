/* SPDX-License-Identifier: BSD-3-Clause */
/* Publication of one alarm to the link. */
#include <inttypes.h>
#include <mosquitto.h>
#include <string.h>

#include "controlplane/alarms/publisher_internal.h"
#include "proto/mqtt/mqtt.h"

/* Returns whether the alarm can be published at all. Ids are signed 64-bit numbers in the spool. */
bool bp_publishable(const struct bp_alarm *a)
{
	return a->id <= INT64_MAX && bp_mqtt_topic_valid(bp_alarm_to(a), a->to_len) &&
	       mosquitto_pub_topic_check2(bp_alarm_to(a), a->to_len) == MOSQ_ERR_SUCCESS;
}

void bp_publish_invalid(struct bp_publisher *p, const struct bp_alarm *a, const char *why)
{
	char rule[BP_NAME_MAX + 1] = "";

	if (a != NULL)
		snprintf(rule, sizeof(rule), "%.*s", (int)a->rule_len, bp_alarm_rule(a));
	bp_count(&p->c->invalid, 1);
	bp_log_limited(&p->log_invalid, BP_LOG_ERROR,
		BP_LOG_FIELDS(BP_LOG_STR("rule", rule), BP_LOG_NUM("alarm", a == NULL ? 0 : a->id)),
		"alarm not published: %s", why);
}

void bp_publish_rejected(struct bp_publisher *p, uint64_t id, const char *why)
{
	struct bp_log_field field[BP_DESTINATION_FIELDS + 2] = {{.key = NULL}};

	p->to->fields(&p->settings, field);
	field[BP_DESTINATION_FIELDS] = (struct bp_log_field)BP_LOG_NUM("alarm", id);
	bp_log_limited(&p->log_rejected, BP_LOG_ERROR, field,
		"alarm refused for ever, it is not delivered: %s", why);
}

bool bp_publish_taken(const struct bp_publisher *p, uint64_t id)
{
	if (p->keeper == NULL || !p->keeper->taken(p->keeper->arg, id))
		return false;
	bp_publish_finished(p, id);
	return true;
}

void bp_publish_finished(const struct bp_publisher *p, uint64_t id)
{
	if (p->keeper != NULL)
		p->keeper->finished(p->keeper->arg, p->to->id, id);
}

/* Returns 0 with *mid; > 0: the alarm can never be sent; < 0: it cannot be sent now. */
int bp_publish_alarm(struct bp_publisher *p, const struct bp_alarm *a, uint16_t *mid)
{
	const void *payload = bp_alarm_payload(a);
	size_t len = a->payload_len;
	int rc;

	if ((a->flags & BP_ALARM_F_ENVELOPE) != 0) {
		if (!bp_envelope(a, bp_annotations_of(&p->first->annotations, a), &p->envelope))
			return -1;
		payload = p->envelope.data;
		len = p->envelope.len;
	}
	memcpy(p->topic, bp_alarm_to(a), a->to_len);
	p->topic[a->to_len] = '\0';
	rc = p->to->send(p->link,
		&(const struct bp_link_message){
			.alarm = a, .topic = p->topic, .payload = payload, .len = (uint32_t)len},
		mid);
	if (rc == 0 && p->unacked_ns == 0)
		p->unacked_ns = p->now_ns;
	return rc;
}

/* Returns whether the alarm has this publisher's destination. */
bool bp_publish_is_for(const struct bp_publisher *p, const struct bp_alarm *a)
{
	return p->to->id == BP_TO_KAFKA ? (a->flags & BP_ALARM_F_KAFKA) != 0
					: (a->flags & BP_ALARM_F_NOT_MQTT) == 0;
}

/* An alarm only for Kafka, of a time when the configuration had mqtt.kafka, has none. */
static bool has_publisher(const struct bp_publisher *p, const struct bp_alarm *a)
{
	return (a->flags & BP_ALARM_F_NOT_MQTT) == 0 || p->first->next != NULL;
}

/* Counts and logs a record when it is read for the first time. Returns whether it is to be
 * published. */
bool bp_publish_check(struct bp_publisher *p, struct bp_lane *l, uint64_t start, uint64_t end,
	const struct bp_alarm *a)
{
	struct bp_alarm_flow flow;
	bool clone = a != NULL && (a->flags & BP_ALARM_F_MIRROR) != 0;
	bool good = a != NULL && (clone || (bp_publishable(a) && has_publisher(p, a)));

	if (bp_lane_see(l, end)) {
		bp_count(&p->g->cp_alarms_read, 1);
		if (a == NULL)
			bp_log_limited(&p->log_damaged, BP_LOG_ERROR, NULL,
				"alarm queue: damaged record skipped");
		if (good)
			bp_alarm_log_add(
				&p->first->log, a, bp_lane_flow(l, start, &flow) ? &flow : NULL);
		else
			bp_publish_invalid(p, a, "its topic, record or destination is not valid");
		if (!good && a != NULL)
			bp_publish_finished(p, a->id);
		if (good && !clone && p->keeper != NULL)
			p->keeper->seen(p->keeper->arg, a, l->ring, start, end);
	}
	return good && !clone && bp_publish_is_for(p, a);
}
